"""Functions as values and maps: what they are called and shown as, what they cost, and where they may not be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.cli.mcp_server import describe_program_tool
from antiphon.lang.analysis import analyse
from antiphon.lang.codegen import compile_program
from antiphon.lang.runtime.inputs import make_type_schema
from antiphon.lang.runtime.interactive import ReplSession
from antiphon.lang.runtime.program import Host, loads
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.type_printer import format_type
from tests.effort import calls_of
from tests.lang_unit.checking import codes, messages, sound, type_of
from tests.lang_unit.harness import every_api, ran
from tests.lang_unit.test_formatter import formatted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const x = (a: number, b: text) => a", "(number, text) => number"),
        ("const x = () => {}", "() => null"),
        ("const x = (a: number) => { if a > 1 { return a } }", "(number) => number | null"),
        ("const x: ((text) => number)[] = []", "((text) => number)[]"),
        ("let x: ((text) => number) | null = null", "((text) => number) | null"),
        ("const x = [1].map(n => [n.toString()])", "text[][]"),
        ("const x = ['a'].find(t => t == 'b')", "text | null"),
        ("const x = [1].zip(['a'])", "{first: number, second: text}[]"),
        ("const x = [1].groupBy(n => 'a')", "{ [text]: number[] }"),
        ("const x = [1].reduce((all, n) => all + [n.toString()], ['a'])", "text[]"),
        ("const x: { [text]: number } = [1].reduce((all, n) => all, {})", "{ [text]: number }"),
        ("const x = [[1], [2]].flat()", "number[]"),
        ("const m: { [text]: boolean } = {}\nconst x = m.entries()", "{key: text, value: boolean}[]"),
        ("const m: { [text]: boolean } = {}\nconst x = m.get('a')", "boolean | null"),
        ("const m: { [text]: boolean } = {}\nconst x = m['a'] ?? false", "boolean"),
        ("const x = parseJson('[]').map(n => 1)", "json"),
    ],
)
def test_a_function_and_what_a_method_gives_have_a_type(text: str, expected: str):
    assert format_type(type_of(text)) == expected


def test_a_written_type_reads_as_it_was_shown():
    for written in (
        "(number, text) => boolean",
        "(() => null)[]",
        "((text) => text) | null",
        "{ [text]: { [text]: number } }",
    ):
        assert (
            format_type(
                type_of(f"let y: json = 1\nfunction f(x: {written}) {{ return 1 }}\nconst x = f", "x").parameters[0]
            )
            == written
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1].forEach(x => x)", "write a `for` loop"),
        ("[1].flatMap(x => [x])", "write `map(…).flat()`"),
        ("let m: { [text]: number } = {}\nm.set('a', 1)", "write `m[key] = value`"),
        ("let m: { [text]: number } = {}\nm.items()", "for key, value in m"),
        ("const f = ({ a }) => a", "`x => x.name`"),
        ("const f = x => { a: x }", "write `x => ({ … })`"),
        ("const f = (x: number): text => 'a'", "leave it out"),
        ("const f = (x = 1) => x", "declare a `function`"),
        ("let f: (x: number) => text = n => 'a'", "write the types alone"),
        ("let m: { [key: text]: number } = {}", "write the types alone"),
        ("let m: Map = {}", "write `{ [text]: json }`"),
        ("const f = function(x) { return x }", "`(a, b) => …`"),
        ("const f = () => true\nif f { print(1) }", "call it: `f()`"),
        ("const a = { f: () => 1 }\nprint(a)", "there is a function in it"),
        ("const f = n => f(n)", "declare a `function`"),
    ],
)
def test_habits_are_told_what_to_write(text: str, said: str):
    found = messages(text)
    assert any(said in each for each in found), found


def test_one_mistake_in_a_function_is_told_once():
    assert codes("const f = ({ a }) => a") == ["V0140"]
    assert codes("const x = [1].map(x => { a: x })\nprint(x)") == ["V0140"]
    assert codes("const f: (number) => text = do 'x'\nprint(f(1))") == ["V0342"]
    assert codes("print([1].reduce((a, b) => a + b))") == ["V0310"]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [("a: number, b: number", ["V0301"]), ("a: number, b: number = 1", []), ("", ["V0301"])],
)
def test_a_function_takes_what_it_is_called_with(parameters: str, expected: list[str]):
    program = f"function f({parameters}): number {{ return 1 }}\nconst g: (number) => number = f\nprint(g(1))"
    assert codes(program) == expected


def test_a_function_of_a_loop_does_not_see_later_rounds_though_it_is_kept_in_an_object():
    program = """
    type Step { run: () => number }
    let steps: Step[] = []
    for i in 1..2 { for j in 1..2 { steps.push({ run: () => i * 10 + j }) } }
    print(steps.map(s => s.run()))
    """
    assert ran(program).prints == ["[11,12,21,22]"]


@every_api
def test_every_api_gives_a_map_and_is_told_what_does_not_fit(api: str):
    run = ran(
        'const m: { [text]: number } = do "count"\nprint(m)',
        {"returns": {"value": {"b": "x"}}},
        {"returns": {"value": {"b": 2, "a": 1}}},
        api=api,
    )
    assert run.prints == ['{"b":2,"a":1}']
    assert "'value.b' expected number" in run.prompts[-1]


def test_the_schema_of_a_map_says_what_its_values_are():
    schema = make_type_schema(type_of("let x: { [text]: number[] } = {}"))
    assert schema == {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}}


def test_a_client_of_a_served_program_is_told_of_a_map_as_it_will_come():
    tool = describe_program_tool(
        loads("returns { [text]: number }\nconst m: { [text]: number } = { a: 1 }\nm", "counts.vibe")
    )
    assert tool.output_schema == {"type": "object", "additionalProperties": {"type": "number"}}


def test_python_gets_data_of_a_run_and_no_functions():
    report = loads(
        "let m: { [text]: number } = { a: 1 }\nconst f = x => x\nconst o = { g: f }\nprint(o.g(m['a']))"
    ).run()
    assert report.variables == {"m": {"a": 1}}


def test_a_session_shows_that_a_value_is_a_function():
    session = ReplSession(Host())
    session.feed("const f = (x: number) => x * 2")
    assert session.infer_type("f") == "(number) => number"
    assert session.variables()[0][:2] == ("f", "(number) => number")


def test_functions_with_blocks_stay_on_the_line_of_their_call():
    text = "const a = xs.map(x=>{ let y = x\nreturn y }).filter((a,b)=>a>b)\nfor k,v in m{ print(k) }\n"
    text += "let f:(number)=>text=g\n"
    assert formatted(text) == (
        "const a = xs.map(x => {\n  let y = x\n  return y\n}).filter((a, b) => a > b)\n"
        "for k, v in m { print(k) }\nlet f: (number) => text = g\n"
    )


def test_a_variable_of_the_top_level_that_a_function_changes_is_changed():
    assert ran("let n = 0\nconst add = (by: number) => { n += by }\nadd(2)\n[1, 2].map(add)\nprint(n)").prints == ["5"]


@given(st.lists(st.integers(-5, 5)), st.lists(st.integers(-5, 5)))
def test_methods_over_functions_do_what_python_does(numbers: list[int], others: list[int]):
    run = _methods().run(xs=numbers, ys=others)
    assert run.value == [
        [n * 2 for n in numbers],
        [n for n in numbers if n > 0],
        next((n for n in numbers if n > 2), None),
        [any(n > 2 for n in numbers), all(n > 2 for n in numbers), sum(n > 2 for n in numbers)],
        sorted(numbers, key=lambda n: -n),
        list(dict.fromkeys(numbers)),
        [{"first": a, "second": b} for a, b in zip(numbers, others, strict=False)],
        sum(n * n for n in numbers),
        [n * i for i, n in enumerate(numbers)],
    ]


def _methods():
    return loads(
        """
        input xs: number[]
        input ys: number[]
        return [
          xs.map(n => n * 2), xs.filter(n => n > 0), xs.find(n => n > 2),
          [xs.some(n => n > 2), xs.every(n => n > 2), xs.count(n => n > 2)],
          xs.sortBy(n => -n), xs.unique(), xs.zip(ys), xs.sum(n => n * n), xs.map((n, i) => n * i),
        ]
        """
    )


@given(st.dictionaries(st.text(max_size=3), st.integers()))
def test_a_map_keeps_its_keys_in_their_order(values: dict[str, int]):
    program = "input m: { [text]: number }\nlet out: text[] = []\nfor k, v in m { out.push(k) }\nreturn { out, m }"
    run = loads(program).run(m=values)
    assert run.value["out"] == list(values)
    assert list(run.value["m"].items()) == list(values.items())


def test_what_is_known_of_variables_is_known_in_a_function_that_is_called_on_the_spot():
    program = """
    function others(of: text[], than: text | null): text[] {
      if than == null { return of }
      return of.filter(each => each.length > than.length)
    }
    print(others(["a"], null))
    """
    sound(program)


@pytest.mark.parametrize("start", ["xs", "[j.a.b ?? 1].map(x => 1)"])
def test_compiling_a_chain_costs_what_its_steps_cost(start: str):
    def cost(steps: int) -> int:
        chain = start + ".map(x => x + 1).filter(x => x > 1)" * steps
        source = Source("a.vibe", f"const xs = [1]\nconst j: json = {{}}\nprint({chain})")
        analysis = analyse(source)
        assert analysis.is_compilable
        return calls_of(lambda: compile_program(analysis.program, source))

    assert cost(40) < 2.5 * cost(20)


def test_a_chain_may_begin_with_what_binds_a_name():
    chain = "[j.a.b].map(x => x).filter(x => x != 1).map(x => x)"
    assert ran(f"const j: json = {{a: {{b: 2}}}}\nprint({chain})").prints == ["[2]"]
