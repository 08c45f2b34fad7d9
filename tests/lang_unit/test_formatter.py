"""The formatter: what programs look like, and that they stay what they are."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from textwrap import dedent

import pytest
from hypothesis import given, settings

from antiphon.lang.formatter import format_source
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from tests.lang_unit.programs import program_text, programs


def formatted(text: str) -> str:
    return format_source(Source("a.vibe", text))


@cache
def names_of(kind: type[n.Node]) -> list[str]:
    return list(kind.given)


def walk(node: n.Node) -> list[n.Node]:
    found, waiting = [], [node]
    while waiting:
        found.append(waiting.pop())
        for name in names_of(type(found[-1])):
            value = getattr(found[-1], name)
            waiting += [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, n.Node)]
    return found


def with_plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_without_edges(text: str) -> str:
    return "\n".join(line.strip() for line in with_plain_lines(text).split("\n"))


def tree(text: str) -> n.Program:
    """The tree, with the space that may change in Python blocks and above functions taken out."""
    program, diagnostics = parse_source(Source("a.vibe", text))
    assert not diagnostics, diagnostics[0].render(Source("a.vibe", text))
    for node in walk(program):
        if isinstance(node, n.PyBlock):
            first, _, rest = with_plain_lines(node.code).partition("\n")
            node.code = "\n".join(line.rstrip() for line in f"{first.strip()}\n{dedent(rest)}".strip().split("\n"))
    return program


def docs(text: str) -> list[str]:
    return [lines_without_edges(node.doc) for node in walk(tree(text)) if isinstance(node, n.Function)]


def comments(text: str) -> Counter[str]:
    return Counter(lines_without_edges(text[start:end]) for start, end in tree(text).comments)


# What it looks like


PAIRS = {
    "space and separators": (
        "let   a=1;const b = -a**2  ;;  print( a,b ) ;  x.y [ 0 ]+=f (1)(2)",
        """
        let a = 1
        const b = -a ** 2
        print(a, b)
        x.y[0] += f(1)(2)
        """,
    ),
    "signs": (
        "x = - - 1 - -a\ny = s[ 1 : -1 ]\nfor i in 1 .. n {}\nz = not(a)and(b)",
        """
        x = - -1 - -a
        y = s[1:-1]
        for i in 1..n {}
        z = not (a) and (b)
        """,
    ),
    "objects, types and patterns": (
        'const o={a:1,"b c":[{x:1}],and:{}}\n'
        'const { name:text,tags : {a:text} [ ] } = o\ntype P{a?:number"years",b:(A|B)[]}',
        """
        const o = { a: 1, "b c": [{ x: 1 }], and: {} }
        const {name: text, tags: { a: text }[]} = o
        type P { a?: number "years", b: (A | B)[] }
        """,
    ),
    "an object that begins on a new line stays so": (
        "model m = {\n name: 'x'\n\n\n tools: [a,\n b] }\ntype P {\n a: text }",
        """
        model m = {
          name: 'x',

          tools: [a, b],
        }
        type P {
          a: text,
        }
        """,
    ),
    "blocks": (
        "if a{b}\n\nelse if c { }\nelse{d;e}\ntry{a}\ncatch  e{throw e}\nwhile a{break}forget\n\n\n\n{ x }",
        """
        if a {
          b
        } else if c {} else {
          d
          e
        }
        try {
          a
        } catch e {
          throw e
        }
        while a { break } forget

        {
          x
        }
        """,
    ),
    "a block with one plain statement that was on one line stays there, unless there is another": (
        "function f(){return 1}\nif a{\nb}\nif a{b;}\nif a{b}else{c}\nfor x in y{if a{b}}\ntest 't'{a // c\n}",
        """
        function f() { return 1 }
        if a {
          b
        }
        if a { b }
        if a {
          b
        } else {
          c
        }
        for x in y {
          if a { b }
        }
        test 't' {
          a // c
        }
        """,
    ),
    "a tool": (
        'export tool w(city:text"City name",n:number=1):json'
        ' @description "Weather" { return py( city ) {return city} }',
        """
        export tool w(city: text "City name", n: number = 1): json
          @description "Weather"
        {
          return py(city) { return city }
        }
        """,
    ),
    "asking, and gathering on one line": (
        'const r=do"Who?"model  default\n'
        'const s:text[]=async for m in xs{yield do"Sum up {m}"m}\nprivate  const z = ask "?"',
        """
        const r = do "Who?" model default
        const s: text[] = async for m in xs { yield do "Sum up {m}" m }
        private const z = ask "?"
        """,
    ),
    "gathering on several lines": (
        "const s = async for m in xs { let a = m; yield a }",
        """
        const s = async for m in xs {
          let a = m
          yield a
        }
        """,
    ),
    "long calls, parameters and arrays": (
        f"call({'a' * 50}, {'b' * 50})\n"
        f"function f({'a' * 50}: text, {'b' * 50}: text) {{}}\nx = [{'1' * 60}, {'2' * 60}]",
        f"""
        call(
          {"a" * 50},
          {"b" * 50},
        )
        function f(
          {"a" * 50}: text,
          {"b" * 50}: text,
        ) {{}}
        x = [
          {"1" * 60},
          {"2" * 60},
        ]
        """,
    ),
    "a last argument that is an object keeps the others on the line": (
        f"result('kind', data, {{ summary: {'s' * 50}, display: {{ preferredView: 'tree', language: 'text' }} }})",
        f"""
        result('kind', data, {{
          summary: {"s" * 50},
          display: {{ preferredView: 'tree', language: 'text' }},
        }})
        """,
    ),
    "long operations": (
        f"const x = {'a' * 40} + {'b' * 40} * {'c' * 40} + d\nif {'a' * 60} == 1 and {'b' * 40} {{ c }}",
        f"""
        const x = {"a" * 40} +
          {"b" * 40} * {"c" * 40} +
          d
        if {"a" * 60} == 1 and
            {"b" * 40} {{
          c
        }}
        """,
    ),
    "a long chain of calls": (
        f"const x = {'a' * 40}.trim().split(',').slice(1, 2).join({'b' * 40})\ny = a\n  .b()\n  .c",
        f"""
        const x = {"a" * 40}
          .trim()
          .split(',')
          .slice(1, 2)
          .join({"b" * 40})
        y = a.b().c
        """,
    ),
    "comments between statements": (
        "#!/usr/bin/env antiphon\n\n\n// one\n\n\n"
        "  /* two */ a // three\nb; /* four */ c\n{ // five\n d\n // six\n}\n// seven",
        """
        #!/usr/bin/env antiphon

        // one

        /* two */ a // three
        b /* four */
        c
        { // five
          d
          // six
        }
        // seven
        """,
    ),
    "comments in brackets": (
        "x = [ // one\n 1, // two\n 2 // three\n , /* four */ 3 /* five */\n\n"
        " // six\n]\nf(/* seven */)\no = { a: 1 // eight\n b: 2 }",
        """
        x = [ // one
          1, // two
          2, // three
          /* four */ 3 /* five */,

          // six
        ]
        f(/* seven */)
        o = {
          a: 1, // eight
          b: 2,
        }
        """,
    ),
    "comments in expressions": (
        "x = a // one\n and b or // two\n // three\n c\ny = a /* four */ + b\nz = a // five\n .b",
        """
        x = a and // one
          b or // two
          // three
          c
        y = a /* four */ + b
        z = a // five
          .b
        """,
    ),
    "comments around `else`": (
        "if a { b } // one\n// two\nelse { c } // three",
        """
        if a {
          b
        } // one
        // two
        else {
          c
        } // three
        """,
    ),
    "comments that are drawn as a box move with their line": (
        "function f() {\n/**\n      * one\n * two\n    */\na\n}",
        """
        function f() {
          /**
           * one
           * two
           */
          a
        }
        """,
    ),
    "the options of a long type have lines of their own": (
        """export type Shape = { kind: "circle", radius: number } | { kind: "square", side: number } | { kind: "none" }
type Size = | "small"
  | "large"
type Tree = // of numbers
  // at the end
  | number // a leaf
  // inside
  | Tree[]
""",
        """
        export type Shape =
          | { kind: "circle", radius: number }
          | { kind: "square", side: number }
          | { kind: "none" }
        type Size = "small" | "large"
        type Tree = // of numbers
          // at the end
          | number // a leaf
          // inside
          | Tree[]
        """,
    ),
    "an object that a function gives is broken inside of its parentheses": (
        """const rows = sales.map(sale => ({ item: sale.item, total: sale.count * sale.price, note: sale.note ?? "" }))
const made = (a, b) => ({
  a, b })
f(x => ({ a: x }))
""",
        """
        const rows = sales.map(sale => ({
          item: sale.item,
          total: sale.count * sale.price,
          note: sale.note ?? "",
        }))
        const made = (a, b) => ({
          a,
          b,
        })
        f(x => ({ a: x }))
        """,
    ),
    "Python is indented as a whole": (
        "x = py( a ) {\n        if a:\n            return {1: '}'}\n\n        return a }\ny = pure   py() {}",
        """
        x = py(a) {
          if a:
              return {1: '}'}

          return a
        }
        y = pure py() {}
        """,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_program_is_laid_out_in_the_one_style(name: str):
    before, after = PAIRS[name]
    assert formatted(before) == dedent(after).lstrip("\n")
    assert formatted(formatted(before)) == formatted(before)


@pytest.mark.parametrize(
    "line",
    [
        "x = s[1:-1][a ? b : c:f(k: 1, v: - -2)]",
        "x.if(1, 2).in[0].do(3)?.[4]",
        "let m: { [text]: number } = f({}, [], [{ a: 1 }])",
        "const {a: text, b: {c, d}} = f({ a: [1, -2], and: 3 })",
        "if a and f(x => { return -x }, 1) { g(in: 1, or: not (b)) }",
        "const y = match (a) { 0, -1 => [b], is text | null => c, else => x => { d } }",
        "while f(1, 2) { a } forget",
        "function f(x: { a?: text }[], y: (text, number) => null) { return x }",
    ],
)
def test_what_has_room_on_a_line_is_the_same_wherever_its_lines_ended(line: str):
    assert formatted(f"{line}\n") == f"{line}\n"
    assert formatted(line.replace(", ", "\t,")) == f"{line}\n"
    if "{ 0" not in line:
        assert formatted(line.replace("(", "(\n", 1)) == f"{line}\n"


def test_what_has_no_room_in_an_object_or_a_function_is_broken_there_alone():
    long, longer = "a" * 40, "b" * 48
    text = f"""
        x = {{
          short: f(1, 2),
          {long}: f({longer}, 12),
          {long}: f({longer}, 123),
        }}
        match x {{
          1, 2 => f(1)
          3, 4 => {long} + {longer[1:]}
          5, 6 => {long} - {longer}
        }}
        f(x => {{
          g({long}, {longer}, 123)
          g({long}, {longer}, 1234)
          if a {{ g({long}, {longer[4:]}) }}
          if a {{ h({long}, {longer[3:]}) }}
        }})
        """
    broken = {
        f"  {long}: f({longer}, 123),": f"  {long}: f(\n    {longer},\n    123,\n  ),",
        f"  5, 6 => {long} - {longer}": f"  5, 6 => {long} -\n    {longer}",
        f"  g({long}, {longer}, 1234)": f"  g(\n    {long},\n    {longer},\n    1234,\n  )",
        f"  if a {{ h({long}, {longer[3:]}) }}": f"  if a {{\n    h({long}, {longer[3:]})\n  }}",
    }
    out = dedent(text).lstrip("\n")
    for line, lines in broken.items():
        out = out.replace(line, lines)
    assert formatted(dedent(text)) == out


def test_a_last_comma_goes_where_all_is_on_one_line():
    assert formatted("f(1, 2,)\nx = [1,]\ny = { a: 1, }\nz = match a { 1 => b, }\n") == (
        "f(1, 2)\nx = [1]\ny = { a: 1 }\nz = match a { 1 => b }\n"
    )


def test_a_block_with_another_of_several_lines_in_it_takes_several():
    out = "while a {\n  x = b => {\n    c\n    d\n  }\n}\n"
    assert formatted("while a { x = b => { c; d } }") == formatted(out) == out


@pytest.mark.parametrize("length", range(84, 95))
def test_the_brace_of_a_block_has_room_on_the_line_before_it(length: int):
    out = formatted(f"if {'a' * length} == b {{\n  c\n}} else if {'a' * (length - 10)} == b {{\n  d\n}}")
    assert all(len(line) <= 100 for line in out.split("\n"))
    assert formatted(out) == out


def test_after_a_block_on_several_lines_none_stays_on_one():
    text = "for y in async for x in z { a\nyield x } { b }\n"
    out = "for y in async for x in z {\n  a\n  yield x\n} {\n  b\n}\n"
    assert formatted(text) == formatted(out) == out


def test_a_chain_of_three_calls_that_has_no_room_is_broken_before_each():
    calls = (".filter(each => each.price > the_lowest_price)", ".map(each => each.name.upper())", '.join(", and ")')
    text = f"const names = everything{''.join(calls)}\n"
    assert formatted(text) == "const names = everything\n" + "".join(f"  {call}\n" for call in calls)
    assert formatted(text.replace(calls[2], ".x" * 20)).startswith("const names = everything.filter(")


def test_strings_and_numbers_stay_as_they_were_written():
    text = "x = 'a  {b}'\ny = \"${ a+b } \\n\"\nz = `line  \n   next  \n`\nn = 1_000 + 0xFF + 1e6\n"
    assert formatted(text) == text


def test_python_with_a_string_over_several_lines_stays_as_it_is():
    text = 'if a {\n  x = py() {\n s = """\n  keep\n    """\n return s }\n}\n'
    assert formatted(text) == text


def test_a_variable_called_async_does_not_take_the_loop_on_the_next_line():
    text = "let async = 1\nconst x = async\nfor n in 1..2 { print(n, x, async) }\n"
    assert formatted(text) == text


def test_python_whose_code_stands_beside_its_brace_gets_no_empty_line():
    text = "x = py() { return 1 # one\n}\ny = py() {\n\n\n    if a:\n        b\n  \n }\n"
    out = "x = py() {\n  return 1 # one\n}\ny = py() {\n  if a:\n      b\n}\n"
    assert formatted(text) == formatted(out) == out


@pytest.mark.parametrize(
    "text",
    [
        "async; for i in n { c }",
        "x = async; for i in n { c }",
        "async; private let y = 1",
        'private; async let z = do "x"',
    ],
)
def test_statements_that_a_semicolon_parts_stay_two(text: str):
    out = formatted(text)
    assert out == text.replace("; ", "\n") + "\n"
    assert tree(out) == tree(text)
    assert formatted(out) == out


def test_line_ends_become_plain_and_there_is_one_at_the_end():
    assert formatted("\ufeffa\r\nb\rc = `x\r\ny`\r\n\r\n\r\n") == "a\nb\nc = `x\ny`\n"
    assert formatted("") == formatted(" \n\n") == ""
    assert formatted("#!x") == "#!x\n"


def test_lines_longer_than_the_page_are_only_those_that_cannot_be_broken():
    for seed in range(30):
        for line in formatted(program_text(seed, 4)).split("\n"):
            assert len(line) <= 100 or any(sign in line for sign in (*"\"'`/", "py("))


def test_a_program_with_errors_is_refused_with_all_of_them():
    with pytest.raises(ProgramErrors) as caught:
        formatted("let = 1\r\nlet y = )\n")
    assert len(caught.value.found) == 2


def test_the_colons_of_a_slice_are_no_sign_of_another_language():
    assert formatted("let a = xs[: :-{ a: 1 }]") == "let a = xs[::-{ a: 1 }]\n"
    assert formatted("let a = xs[::-{ a: 1 }]") == "let a = xs[::-{ a: 1 }]\n"


def test_the_deepest_and_the_longest_programs_are_formatted():
    for text in (
        "x = " + "f([" * 49 + "1" + "])" * 49,
        "{" * 99 + "}" * 99,
        "x = a" + " + a" * 999,
        "x = a" + "(1)" * 990,
    ):
        assert formatted(formatted(text)) == formatted(text)


# What must hold for any program


@given(programs())
@settings(max_examples=60, deadline=None)
def test_formatting_changes_neither_the_tree_nor_the_comments_and_is_done_after_once(text: str):
    out = formatted(text)
    assert tree(out) == tree(text)
    assert comments(out) == comments(text)
    assert docs(out) == docs(text)
    assert formatted(out) == out
    assert out == "" or (out.endswith("\n") and not out.endswith("\n\n"))
    assert "\r" not in out


def test_the_random_programs_have_every_kind_of_node():
    seen = {type(node) for seed in range(60) for node in walk(tree(program_text(seed, 8)))}
    kinds = {kind for kind in vars(n).values() if isinstance(kind, type) and issubclass(kind, n.Node)}
    assert kinds - seen == {n.Node, n.TypedNode, n.NamingNode, n.BadExpr, n.BadStatement}


def test_only_space_at_the_edges_of_lines_is_lost_from_random_programs():
    """The same letters in the same order, but for commas and semicolons that separate, and comments that moved."""
    for seed in random.Random(1).sample(range(10_000), 30):
        text = program_text(seed, 3)
        kept = Counter(letter for letter in formatted(text) if letter.isalnum())
        assert kept == Counter(letter for letter in text if letter.isalnum())
