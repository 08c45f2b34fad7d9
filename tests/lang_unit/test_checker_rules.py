"""What the checker finds wrong, and what it leaves alone."""

from __future__ import annotations

import re

import pytest

from antiphon.lang.runtime.modules import ModuleLoader
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.codes import explain_code
from antiphon.lang.typecheck.codes import list_codes as all_codes
from tests.lang_unit.checking import codes, messages

#: Their examples need other files, modules of the system, or settings of the run.
OF_MODULES = {"V0601", "V0602", "V0603", "V0604", "V0605", "V0606", "V0607", "V0610", "V0709"}
CHECKED = [each for each in all_codes() if "V0200" < each < "V0800" and each not in OF_MODULES]


@pytest.mark.parametrize("code", CHECKED)
def test_the_wrong_example_of_an_explanation_is_wrong_and_the_right_one_right(code: str) -> None:
    text = explain_code(code)
    assert text is not None
    wrong, right = re.findall(r"```vibe\n(.*?)```", text, re.DOTALL)
    assert set(codes(wrong)) == {code}
    assert codes(right) == []


PERSON = "type Person { name: text, age?: number }\nlet p: Person = { name: 'Ada' }\n"
TOOL = "// Looks.\ntool look(a: text): text { return a }\n"


@pytest.mark.parametrize(
    "text",
    [
        # Operators and conditions
        "let n: number | null = null\nprint((n ?? 0) + 1, n == 2)",
        "let t: text | null = null\nif t { print(t.upper()) }\nif not t { print(1) }",
        "const r = do 'x'\nif r { print(r) }\nif r == '4' and r.ok { print(r + 1, r > 3) }",
        "print(null == 1, 'a' == null)",
        "const level = 'low'\nif level == 'high' { print(1) }",
        "print('a' + 1 + true + [1] + {a: 1})",
        "print(-1, - (2 ** 3), 7 % 2)",
        # What may be null
        "function f(a: text | null): text { if a == null { return '' }\n return a }\nprint(f('a'))",
        "function f(a: text | null): text { if a != null and a.length > 0 { return a }\n return '' }\nprint(f('a'))",
        "function f(a: text | null): text { if a == null or a == '' { return '' } else { return a } }\nprint(f('a'))",
        "let a: text | null = null\na = 'x'\nlet b: text = a\nprint(b)",
        f"{PERSON}if p.age != null {{ let n: number = p.age\nprint(n) }}",
        "let a: text | null = null\nwhile a != null { let b: text = a\nprint(b)\na = null }",
        # Loops
        "for i in 3 { print(i) }\nfor i in 1..3 { print(i) }\nfor i in [1] { print(i) }",
        "const xs: text[] = do 'x'\nfor x in xs { print(x.upper()) }",
        "const j = parseJson('[]')\nfor x in j { print(x) }",
        "const r = do 'x'\nfor c in r.toolCalls { if c.error { print(c.tool + c.error) } else { print(c.result) } }",
        "const r = do 'x'\nfor x in r.value { print(x) }",
        "for i in 3 { print(i) } forget",
        "model m = { name: 'x' }\nfor i in 3 { print(i) } compress('short', m)",
        # Declarations
        "let a: text | null\nlet b: json\nprint(a, b)",
        "{ let len = 3\nlen = 4\nprint(len) }",
        "let a = 1\n{ let a = 'x'\nprint(a) }\nprint(a + 1)",
        "let counts = {}\ncounts['a'] = 1\ncounts.b = 2\nprint(counts)",
        "let xs = []\nxs.push(1)\nxs.push('a')\nprint(xs)",
        f"{PERSON}p.age = 3\np.age = null\np['name'] = 'x'\nprint(p)",
        "const {a: text, b: number = 1} = { a: 'x', c: 3 }\nprint(a, b)",
        f"{PERSON}function get(): Person {{ return p }}\nconst {{name: text, age: number = 0}} = get()",
        "const {a: text} = parseJson('{}')\nprint(a)",
        "const {a: {b: text[]}, c: 'x' | 'y'} = ask 'x'\nprint(b, c)",
        "type Level = 'low' | 'high'\nfunction f(l: Level) { print(l) }\nf('low')\nconst l = 'high'\nf(l)",
        "type A { b: B | null }\ntype B { a: A | null }\nlet a: A = { b: { a: null } }\nprint(a)",
        # Functions
        "print(f(1))\nfunction f(n: number): number { if n == 0 { return 1 }\n return n * f(n - 1) }",
        "function f(n: number): number { while true { if n > 3 { return n }\n n += 1 } }\nprint(f(1))",
        "function f(n: number): number { throw 'never' }\nprint(f(1))",
        "function f(n: number): number { try { return n } catch e { throw e.message } }\nprint(f(1))",
        "function f(n: number): number { if n > 1 { return 1 } else if n > 0 { return 2 } else { return 3 } }\nf(1)",
        "function f(a: number, b: text = 'x') { print(a, b) }\nf(1)\nf(1, 'y')",
        "function f(a: number | null): number | null { return a }\nf(null)\nf(3)",
        "function f(m: model) { print(do 'x' m) }\nmodel fast = { name: 'x' }\nf(fast)",
        "return 5",
        # Models and tools
        f"{TOOL}model m = {{ name: 'x', tools: [look], reasoning: 'high', strategy: 'native' }}\nlook('a')",
        f"{TOOL}const mine = [look]\nmodel m = {{ name: 'x', tools: mine, reasoning: 20, timeout: 2.5 }}",
        "model m = { name: 'x', system: 'Be brief' }\nconst n = m\nprint(do 'x' n local, vibe 'y' m none)",
        # Asking
        "const x: number = do 'a' + 'b'\nprint(x.toolCalls.length, x.run.cost, x.run.model, x.value + x)",
        "async let a = do 'x'\nasync const b = len('x')\nprint(a, b)",
        "let found: number[] = async for i in 3 { let n = i\n n += 1\n yield n }\nprint(found)",
        'const name = "Ada"\nprint("{name} {name.length} {name[0]} ${name + 1} {not a hole} {}")',
        # json is looked at when the program runs
        "let j: json = 1\nprint(j.a.b[0](1), j + 1, j < 'a', -j, j.push(1), j[1:2], j['a'])\nif j { print(1) }",
        "import { a, b as c } from './x.vibe'\nprint(a, c(1), a.b)",
        "const x = 1\nprint(py(x) { return x }, py() { pass })",
    ],
)
def test_nothing_is_wrong_with_sound_programs(text: str) -> None:
    assert messages(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print(prnt)", "there is no `prnt` here (did you mean `print`?)"),
        ('print("{nme}")', "there is no `nme` here (for a brace as such, write `\\{nme`)"),
        ("{ print(a)\nlet a = 1 }", "`a` is used before its declaration (move the declaration up)"),
        ("let a = a + 1", "`a` is used in its own declaration"),
        ("let a: Strin = 1\nprint(a)", "there is no type `Strin`"),
        ("let a: nubmer = 1\nprint(a)", "there is no type `nubmer` (did you mean `number`?)"),
        ("let a = 1\na = 'x'\nprint(a)", "expected `number` for `a`, found `text`"),
        ("let a = 1\na += 'x'\nprint(a)", "expected `number` for `a`, found `text`"),
        ("function f(n: number) { print(n) }\nf([1])", "expected `number` for `n`, found `number[]`"),
        ("function f(): number { return 'x' }\nf()", "expected `number` for `f()`, found `text`"),
        ("let l: 'a' | 'b' = 'c'\nprint(l)", 'expected `"a" | "b"` for `l`, found `"c"`'),
        ("let a: number[] = [1, 'x']\nprint(a)", "expected `number`, found `text`"),
        ("function f(a: number) { print(a) }\nf()", "`f` expects 1 argument, got 0 (it is `f(a: number)`)"),
        ("'a'.replace('b')", "`replace` expects 2 arguments, got 1"),
        ("'a'.padStart()", "`padStart` expects 1 to 2 arguments, got 0"),
        ("note()", "`note` expects at least 1 argument, got 0"),
        ("[1].push('a')", "expected `number` for `push`, found `text`"),
        ("print(['a'].sum())", "`sum` adds numbers, found `text[]`"),
        ("print([1].lenght)", "`number[]` has no member `lenght` (did you mean `length`?)"),
        (
            "const r = do 'x'\nfor x in r { print(x) }",
            "Cannot iterate over AIResult directly. Use .toolCalls or .value",
        ),
        ("const r: number = do 'x'\nr.toolCalls = []", "`toolCalls` of an AI result cannot be assigned"),
        ("for i in 3 { i = 1 }", "`i` is a loop variable, and cannot be assigned"),
        ("function f() { }\nf = 1", "`f` is a function, and cannot be assigned"),
        ("print = 1", "`print` is built in, and cannot be assigned"),
        (f"{PERSON}p.nam = 'x'", "`Person` has no field `nam` (did you mean `name`?)"),
        (f"{PERSON}let q: text = p.age\nprint(q)", "expected `text` for `q`, found `number | null`"),
        (f"{PERSON}const {{age: number}} = p\nprint(age)", "the field `age` may be missing"),
        (f"{PERSON}const {{nam: text}} = p\nprint(nam)", "`Person` has no field `nam` (did you mean `name`?)"),
        (f"{PERSON}const {{name: number}} = p\nprint(name)", "expected `number` for `name`, found `text`"),
        ("model m = { name: 5 }", "expected `text` for `name`, found `number`"),
        ("model m = { name: 'x', tools: [3] }", "expected `tool` for `tools`, found `number`"),
        ("model m = { name: 'x', maxTokens: 1.5 }", "`maxTokens` is a whole number, found 1.5"),
        ("model m = { name: 'x', temperature: -1 }", "`temperature` is from 0 to 2, found -1"),
        ("do 'x' m", 'there is no `m` here (declare it: `model m = { name: "…" }`)'),
        ("let m: model = null\nprint(1)", "model values are const only"),
        ("type A = B\ntype B = A", "the type `A` is defined by itself"),
        ("type A = A | null", "the type `A` is defined by itself"),
        ("const x = async for i in 3 { return i }\nprint(x)", "`return` would leave an `async for`"),
        ("let s = 0\nasync for i in 3 { s += i }\nprint(s)", "`s` is outside this `async for`"),
        ("print([1, 2]['a'])", "`number[]` is indexed by number, found `text`"),
        ("print([1][::0])", "the step of a slice cannot be 0"),
        ("const x: text = do 'x' + 5 - 3\nprint(x)", "`-` needs two numbers, found `text` and `number`"),
        ("for k in {a: 1} { print(k) }", "a `for` loop cannot go through `{a: number}`"),
        ("for k in null { print(k) }", "a `for` loop cannot go through `null`"),
    ],
)
def test_messages_say_what_was_expected_and_what_was_found(text: str, expected: str) -> None:
    found = messages(text)
    assert len(found) >= 1
    assert found[0].startswith(expected), found


@pytest.mark.parametrize(
    "text",
    [
        "let a: text | null = null\nif a == null { print(1) }\nlet b: text = a\nprint(b)",
        "let a: text | null = null\nif a != null { a = null\nlet b: text = a\nprint(b) }",
        "let a: text | null = null\nif a != null { for i in 2 { let b: text = a\nprint(b)\na = null } }",
        "let a: text | null = null\nif a != null or true { let b: text = a\nprint(b) }",
        "let a: text | null = null\nlet c = false\nif a != null and c or c { let b: text = a\nprint(b) }",
        "let a: text | null = null\nfunction f(): text { return a }\nif a != null { print(f()) }",
    ],
)
def test_what_a_condition_says_holds_only_where_it_does(text: str) -> None:
    assert "V0301" in codes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const a = foo(1).bar + 2\nprint(a.baz, a - 1)", ["V0201"]),
        ("let a: Foo = 1\nprint(a.b)", ["V0206"]),
        ("type A = A\nlet a: A = 1\nprint(a - 1)", ["V0316"]),
        ("function f(): number { return foo }\nprint(f() - 1)", ["V0201"]),
        ("print((1 - 'a') * 2)", ["V0302"]),
        ("const {a, b: Foo} = do 'x'\nprint(a - 1, b)", ["V0406"]),
        ("let p = { name: 'x' }\np.nam.upper()", ["V0306"]),
    ],
)
def test_one_mistake_gives_one_diagnostic(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_what_could_not_be_read_is_not_reported_again() -> None:
    found = codes("let a = 1 + )\nprint(a + 1)\nlet b = 1 - 'x'\n")
    assert [each for each in found if not each.startswith("V01")] == ["V0302"]


def test_unused_variables_count_as_used_where_a_model_is_shown_them() -> None:
    unused = "function f() { const notes = 'x'\n %s }\nf()"
    assert codes(unused % "print(1)") == ["V0702"]
    assert codes(unused % "print(do 'Sum up the notes' default)") == []
    assert codes(unused % "print(do 'Sum up the notes')") == ["V0702"]
    assert codes(unused % "print(do 'Say hello' none)") == ["V0702"]
    assert codes("function f() { private const notes = 'x'\n print(do 'y' local) }\nf()") == ["V0702"]
    assert codes("function f() { const _notes = 'x' }\nf()") == []
    assert codes("const notes = 'x'") == []


def test_of_a_loop_with_two_names_through_an_array_only_that_is_told() -> None:
    assert codes("const xs = [1, 2]\nfor i, x in xs { print(xs[i] + x, i % 2) }") == ["V0305"]


def test_unreachable_code_is_told_once_in_a_block() -> None:
    assert codes("function f() { return\n print(1)\n print(2) }\nf()") == ["V0701"]
    assert codes("while true { print(1) }\nprint(2)") == ["V0701"]
    assert codes('print(1)\nreturn 2\ntest "a" { assert(true) }\nfunction _f() { print(1) }') == []
    assert codes("while true { break }\nprint(2)") == []
    assert codes("function f(): number { return g()\n function g(): number { return 1 } }\nf()") == []


def test_the_last_value_of_a_program_is_its_result() -> None:
    assert codes("let a = 1\na + 1") == []
    assert codes("let a = 1\na + 1\na") == ["V0704"]
    assert codes("{ let a = 1\na + 1 }") == ["V0704"]


def test_labels_point_to_the_first_declaration() -> None:
    from antiphon.lang.analysis import analyse
    from antiphon.lang.syntax.source import Source

    [found] = analyse(Source("t", "let a = 1\nlet a = 2")).diagnostics
    assert [(each.start, each.end) for each in found.labels] == [(4, 5)]


def test_without_python_blocks_and_modules_are_refused() -> None:
    text = "import { sqrt } from 'py:math'\nimport { f } from './f.py'\nprint(sqrt(2), f(1), py() { return 1 })"
    assert codes(text, untrusted=True) == ["V0603", "V0603", "V0603"]
    assert codes(text) == []


def test_an_error_in_python_is_told_where_it_is() -> None:
    from antiphon.lang.analysis import analyse
    from antiphon.lang.syntax.source import Source

    text = "let x = py() {\n  a = 1\n  b = = 2\n  return a\n}\n"
    [found] = analyse(Source("t", text)).diagnostics
    assert (found.code, found.start) == ("V0608", text.index("= 2"))


def test_explanations_exist_for_every_code_in_use_and_for_no_other() -> None:
    from pathlib import Path

    import antiphon.lang.typecheck

    folder = Path(antiphon.lang.typecheck.__file__).parent
    used = {code for file in folder.rglob("*.py") for code in re.findall(r'"(V0\d{3})"', file.read_text())}
    assert used - {"V0119"} | OF_MODULES == {*CHECKED, *OF_MODULES}
    assert explain_code("V9999") is None
    assert explain_code(" v0201 ") == explain_code("V0201")


def test_a_call_in_braces_is_warned_of_whatever_is_called():
    declared = "function f(n: number): number { return n }\n"
    assert codes(declared + 'print("{f(1)}", f(2))') == ["V0707"]
    assert codes('print("{len(args)} and {now()}")') == ["V0707", "V0707"]
    assert codes(declared + 'print("\\{f(1)} {color(red)}", f(1))') == []


SHAPES = (
    'type Shape = { kind: "c", r: number } | { kind: "s", w: number }\n'
    'function mk(): Shape { return { kind: "s", w: 2 } }\nlet s = mk()\n'
)


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        (SHAPES + "print(s.r)", 'look which it is: `s.kind == "c"`'),
        (SHAPES + 's.kind = "c"', "assign a whole one: `s = { … }`"),
        ("try { throw 'a' } catch e { print(e.upper()) }", "the text of an error is `e.message`"),
        ("try { throw 'a' } catch e { print(e == 'a') }", "compare its text, `e.message`"),
        ("function f(): text { try { throw 'x' } catch e { return e } }", "its text is `e.message`"),
        ("function f() { print(1) }\nmodel m = { name: 'a/b', tools: [f] }", "declare it with `tool`"),
        ("model m = { name: 'a/b', tools: ['f'] }", "name it without quotes"),
        ("type A { t?: text }\nlet a: A = {}\nlet b: { t: text } = a", "its field `t` may be missing"),
        ("let a = { n: 'x' }\nlet b: { n: number } = a", "its field `n` is `text`, and `number` is wanted"),
        ("let a = { n: 'x' }\nlet b: { m: number } = a", "it has no field `m`"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_what_to_write(program: str, hint: str):
    assert any(hint in each for each in messages(program)), messages(program)


def test_a_call_is_too_early_for_a_constant_that_its_function_only_tries_to_assign() -> None:
    assert codes("function f() { k = 2 }\nf()\nconst k = 1\nprint(k)") == ["V0401", "V0202"]


@pytest.mark.parametrize("call", [r'replace("\\d+", "a 1", "x")', r'matches("^\\d+$", "a 1")'])
def test_a_pattern_in_place_of_the_text_is_told(call: str):
    name = call.partition("(")[0]
    text = f'import {{ {name} }} from "system/text"\nprint({call})\n'
    assert [each.code for each in ModuleLoader().add(Source("x.vibe", text)).diagnostics] == ["V0709"]
