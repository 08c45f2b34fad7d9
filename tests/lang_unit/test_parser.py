"""What the parser makes of programs, right and wrong."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.parser.source_parser import is_incomplete_source, parse_source, parse_type_source
from antiphon.lang.syntax.source import Source


def program(text: str) -> n.Program:
    source = Source("test.vibe", text)
    tree, diagnostics = parse_source(source)
    assert [each.render(source) for each in diagnostics] == []
    return tree


def only(text: str) -> Any:
    (statement,) = program(text).statements
    return statement


def value(text: str) -> Any:
    return only(f"x = {text}").value


def codes(text: str) -> list[str]:
    return [each.code for each in parse_source(Source("test.vibe", text))[1]]


def shape(node: Any) -> str:
    """An expression with all its brackets."""
    match node:
        case n.Binary():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case n.Unary():
            return f"({node.op} {shape(node.operand)})"
        case n.Range():
            return f"({shape(node.first)} .. {shape(node.last)})"
        case n.Member():
            return f"{shape(node.object)}.{node.name}"
        case n.Name():
            return node.name
        case n.NumberLit():
            return str(node.value)
        case n.ModelCall():
            return f"[{node.kind} {shape(node.prompt)}]"
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("-a ** b ** c", "(- (a ** (b ** c)))"),
        ("a ** -b", "(a ** (- b))"),
        ("-a * b", "((- a) * b)"),
        ("not a == b and c or d", "(((not (a == b)) and c) or d)"),
        ("a ?? b or c", "(a ?? (b or c))"),
        ("1..n + 1", "(1 .. (n + 1))"),
        ("a..b == c", "((a .. b) == c)"),
        ("a - b - c", "((a - b) - c)"),
        ("-a.b", "(- a.b)"),
        ("do a + b == c", "([do (a + b)] == c)"),
        ("do a ?? b", "([do a] ?? b)"),
        ("a\n  .b\n  ?? c\n  and d", "(a.b ?? (c and d))"),
        ("(a\n+ b)", "(a + b)"),
        ("a +\n  b", "(a + b)"),
    ],
)
def test_operators_bind_as_they_should(text: str, expected: str):
    assert shape(value(text)) == expected


def test_an_operator_that_begins_a_line_begins_a_statement():
    assert [type(each) for each in program("let a = b\n-c\n[d]\n(e)").statements] == [n.Let] + [n.ExprStatement] * 3


def test_models_and_contexts_follow_a_prompt_on_its_line():
    ask = value('do "x" + y coder local')
    assert (ask.model.name, ask.context, ask.says_model) == ("coder", "local", False)
    ask = value('vibe "x" model default')
    assert (ask.kind, ask.model, ask.context, ask.says_model) == ("vibe", None, "default", True)
    assert value('do "x" none').context == "none"
    first, second = program('do "x"\ncoder').statements
    assert first.value.model is None
    assert second.value.name == "coder"


def test_a_pattern_tells_nested_patterns_from_types():
    fields = only(
        'const {private a: text "d" = "x", b: {c: number}, d: {e: text}[], f: {} | null, g} = h'
    ).pattern.fields
    assert [each.name for each in fields] == ["a", "b", "d", "f", "g"]
    assert (fields[0].is_private, fields[0].description, fields[0].default.parts) == (True, "d", ["x"])
    assert fields[1].nested.fields[0].name == "c"
    assert isinstance(fields[2].declared, n.ArrayType)
    assert isinstance(fields[3].declared, n.UnionType)
    assert (fields[4].declared, fields[4].nested) == (None, None)


def test_soft_words_are_names_where_no_declaration_follows():
    text = "model = 1\ntype.x = tool(test)\nprivate = async\nlet from = as\npy = none\n{ let default = local }"
    assert [type(each) for each in program(text).statements] == [n.Assign, n.Assign, n.Assign, n.Let, n.Assign, n.Block]


def test_reserved_words_are_members_keys_and_fields():
    program("a.if.do = { if: 1, let: 2 }\ntype T { in: text, for?: number }")
    assert codes("let if = 1") == ["V0118"]
    assert codes("const { if: text } = x") == ["V0118"]


def test_objects_and_types_are_separated_by_commas_or_lines():
    assert [each.key for each in value('{ a: 1\n "b c": 2,\n d\n, }').entries] == ["a", "b c", "d"]
    declared = only('type P {\n  name: text "full"\n  age?: number,\n}').declared
    assert [(each.name, each.optional, each.description) for each in declared.fields] == [
        ("name", False, "full"),
        ("age", True, ""),
    ]


def test_a_union_may_stand_on_several_lines():
    assert len(only('type A =\n  | "x"\n  | -1\n  | true').declared.options) == 3
    assert isinstance(only("let a: (text | null)[][]").declared.item.item, n.UnionType)


def test_a_tool_has_its_description_and_the_comment_above():
    tool = only('// One\n// two\nexport tool t(a: text "A" = "b"): json\n  @description "D"\n{ return a }')
    assert (tool.description, tool.doc, tool.exported, tool.is_tool) == ("D", "One\ntwo", True, True)
    assert (tool.parameters[0].description, tool.parameters[0].default.parts) == ("A", ["b"])
    assert only("/**\n * One\n * two\n */\nfunction f() { }").doc == "One\ntwo"
    assert program("let a = 1 // no\nfunction f() { }").statements[1].doc == ""
    assert program("// no\n\nfunction f() { }").statements[0].doc == ""


@pytest.mark.parametrize(
    ("text", "kind", "how", "model"),
    [
        ("verbose", "verbose", False, None),
        ("compress", "compress", False, None),
        ('compress("short")', "compress", True, None),
        ("compress(m)", "compress", False, "m"),
        ("compress(how, m)", "compress", True, "m"),
    ],
)
def test_a_loop_has_a_mode(text: str, kind: str, how: bool, model: str | None):
    mode = only(f"for a in b {{ }} {text}").mode
    assert (mode.kind, mode.how is not None, mode.model and mode.model.name) == (kind, how, model)
    assert program(f"while a {{ }}\n{text}").statements[0].mode is None


def test_spans_are_places_in_the_file():
    text = 'let é = "a {b.c} ${ (d + e).f }"'
    literal = only(text).value
    path, hole = literal.parts[1], literal.parts[3]
    assert [text[each.start : each.end] for each in (literal, path, path.value, hole, hole.value)] == [
        '"a {b.c} ${ (d + e).f }"',
        "{b.c}",
        "b.c",
        "${ (d + e).f }",
        "(d + e).f",
    ]
    assert text[hole.value.object.start : hole.value.object.end] == "d + e"


def test_python_is_kept_as_it_is_written():
    text = "x = py(a, b,) { return {a: b} }"
    block = only(text).value
    assert [each.name for each in block.parameters] == ["a", "b"]
    assert text[block.code_start :].startswith(block.code)
    assert block.code == " return {a: b} "


def test_an_else_and_a_catch_may_stand_on_the_next_line():
    node = only("if a { }\n// why\nelse if b { }\nelse { c }")
    assert isinstance(node.otherwise.otherwise, n.Block)
    assert only("try { }\ncatch { }").name is None


MISTAKES = """
V0103|print("abc\\nlet x = 1
V0101|let y = f(a, @b,\\n  c)\\nlet x = 2
V0107|print(a\\nlet y = 2
V0107|print(a\\nprint(b)
V0101|foo(a\\n  b)\\nlet x = 1
V0107|function f() {\\n  if x {\\n    print(1)\\n}\\nfunction g() { return 1 }
V0101|if x\\n  print(1)\\n}\\nlet a = 1
V0101|function f() {\\n  if x\\n    print(1)\\n  }\\n  return 2\\n}\\nlet a = 1
V0101|if (x) return 1\\nlet y = 2
V0109|if x:\\n  print(1)\\nlet y = 2
V0112|if x = 5 { print(1) }
V0107|if (x { print(1) }\\nlet y = 1
V0109|x++
V0109|x--
V0109|let a = b not in c
V0109|let a = b is not text
V0101|let a = b ? c
V0101|let a = b?.(c)
V0114|a?.b = 1
V0114|a?.[0].b += 1
V0150|f(a: 1, b)
V0151|f(...xs)
V0151|const [a, ...b] = xs
V0152|const a = match b { 1 => { print(b) } }
V0152|match b { 1 => if c { d() } }
V0101|match b { low => 1 }
V0110|match b { _ => 1 }
V0110|match b { case 1 => 1 }
V0101|finally { }
V0109|let a = b && c
V0109|let a = b || c
V0109|let a = !b
V0140|let a = 3 => x
V0110|if a { } elif b { } else { }
V0110|if a { }\\nelseif b { }
V0110|var x = 1
V0110|var { a: text } = b
V0110|def f(a) { return a }
V0110|let a = None
V0110|let a = undefined
V0111|# it's a comment
V0113|let a = b < c < d
V0113|for i in 1..2..3 { }
V0114|f() = 3
V0119|let x = py(a) { return ( }\\nlet y = 1
V0101|let x = py(a.b) { return 1 }
V0127|let x = 5 y
V0110|print "hello"
V0127|fucntion f() {\\n  return 1\\n}\\nlet z = 1
V0110|class A { }
V0127|{ a 1 }
V0108|)\\nlet x = 1
V0108|}\\nlet x = 1
V0108|let x = f(1, 2))
V0101|let x = [1, 2)]
V0101|else { print(1) }
V0101|if x { } else if { }
V0109|for (let i = 0; i < 3; i++) { print(i) }\\nlet z = 1
V0101|a.b.\\nlet x = 1
V0109|const f = function(x) { return x }
V0101|const {a: text}
V0101|function f( { }\\nlet y = 1
V0107|function f(a: text {\\n  return 1\\n}\\nlet y = 1
V0101|let s: text[ = x
V0101|for x in y { } compress("a", "b")
V0102|let x = “hello”
V0102|let a§b = 1
V0106|let a = .5
V0120|test "x {y}" { }
V0122|export if x { }
"""


@pytest.mark.parametrize("line", MISTAKES.strip().split("\n"))
def test_one_mistake_is_told_once(line: str):
    code, text = line.split("|", 1)
    assert codes(text.replace("\\n", "\n")) == [code]


def test_all_mistakes_are_told_and_names_are_declared_all_the_same():
    text = "let a = @\nlet b: = 1\nfunction f() { let c = ) }\nlet d = (1 + ) * 2\nlet e = 1"
    tree, diagnostics = parse_source(Source("test.vibe", text))
    assert len(diagnostics) == 4
    assert [each.name for each in tree.statements if isinstance(each, n.Let)] == ["a", "b", "d", "e"]


def test_a_label_shows_the_bracket_that_is_open():
    (diagnostic,) = parse_source(Source("test.vibe", "function f() {\n  g(\n"))[1]
    assert diagnostic.labels[0].start == 18


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = " + "(" * 101 + "1" + ")" * 101, "V0115"),
        ("x = " + "[" * 5000, "V0115"),
        ("{" * 101 + "}" * 101, "V0115"),
        ("x = " + "-" * 101 + "1", "V0115"),
        ("x = " + "not " * 200 + "a", "V0115"),
        ("x = " + '"${' * 200 + "a" + '}"' * 200, "V0115"),
        ("let x: " + "{a: " * 101 + "text" + "}" * 101, "V0115"),
        ("x = " + "1 + " * 1001 + "1", "V0116"),
        ("x = a" + ".b" * 1001, "V0116"),
        ("if a { }" + " else if a { }" * 1001, "V0116"),
        ("let x: text" + "[]" * 1001, "V0116"),
        ("x = " + "(" * 9 + "1" + (" + 1" * 500 + ")") * 9, "V0116"),
        ("f([" * 5 + "1" + (" + 1" * 500 + ", 2])") * 5, "V0116"),
        ("for a in b { " * 17 + "}" * 17, "V0117"),
    ],
)
def test_what_is_too_deep_or_too_long_is_told_once(text: str, code: str):
    assert codes(f"{text}\nlet y = 1") == [code]


def test_what_is_just_short_of_a_limit_is_read():
    program("x = " + "(" * 100 + "1" + ")" * 100)
    program("x = " + "1 + " * 1000 + "1")
    program("for a in b { " * 16 + "}" * 16)
    program("for a in b { function f() { " * 16 + "} }" * 16)


@pytest.mark.parametrize(
    "text",
    [
        "f(",
        "let x =",
        "if a {",
        "1 +",
        "`abc",
        "/* abc",
        "[1,",
        "if a",
        "do",
        "tool t()",
        "`${a",
        "py() { x",
        "a.",
        "x = {",
    ],
)
def test_a_text_that_could_go_on_is_incomplete(text: str):
    assert is_incomplete_source(text)
    assert is_incomplete_source(text + "\n")


@pytest.mark.parametrize("text", ["", "f()", "let x = 1", '"abc', ")", "let 5 = (", "// abc", "x = = ("])
def test_a_text_that_is_done_or_wrong_is_not_incomplete(text: str):
    assert not is_incomplete_source(text)


def test_a_type_can_be_read_alone():
    assert isinstance(parse_type_source(Source("type", "{name: text,\n age: number}"))[0], n.ObjectType)
    assert parse_type_source(Source("type", "text[]"))[1] == []
    assert [each.code for each in parse_type_source(Source("type", "text ]"))[1]] == ["V0101"]
    assert [each.code for each in parse_type_source(Source("type", ""))[1]] == ["V0101"]
