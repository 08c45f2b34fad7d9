"""Text to tokens: strings, numbers, comments, Python blocks and what does not belong."""

from __future__ import annotations

import pytest

from antiphon.lang.syntax.lexer import tokenize_program
from antiphon.lang.syntax.parser.types import InvalidNumberLiteral, parse_number


def kinds(text: str) -> list[str]:
    return tokenize_program(text).kinds[:-3]


def codes(text: str) -> list[str]:
    return [each.code for each in tokenize_program(text).diagnostics]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("3.14", 3.14),
        ("2.0", 2.0),
        ("1e6", 1_000_000),
        ("1e22", 10**22),
        ("1e23", 10**23),
        ("5e-1", 0.5),
        ("1_000", 1000),
        ("0x1f", 31),
        ("0", 0),
        ("0.5", 0.5),
        ("9" * 4300, int("9" * 4300)),
    ],
)
def test_a_number_has_its_exact_value(text: str, value: float):
    assert kinds(text) == ["number"]
    assert parse_number(text) == value
    assert type(parse_number(text)) is type(value)


@pytest.mark.parametrize("text", ["007", "1__0", "1_", "12abc", "1e999", "0x", "0xg", "1٣", "9" * 4301, "1e", "00.5"])
def test_what_is_no_number_is_refused(text: str):
    with pytest.raises(InvalidNumberLiteral):
        parse_number(text)


def test_a_range_of_numbers_is_three_tokens():
    assert kinds("1..5") == ["number", "..", "number"]


def test_a_string_without_holes_is_one_token_of_what_it_says():
    assert tokenize_program(r'"a\n\t\r\\\"\'\`\{\$\u{1F600}"').values[0] == "a\n\t\r\\\"'`{$\U0001f600"
    assert kinds('"{"') == kinds("'{ a }'") == kinds('"{\\"json\\": [1]}"') == kinds("`$5 {1} {} {a b}`") == ["text"]


@pytest.mark.parametrize("path", ["a", "a.b.c", "a[0]", "a[-1].b", "a[i]", "a[1:2]", "a[:n]", "a[i:]", "a['k'].if"])
def test_a_path_in_braces_is_a_hole(path: str):
    tokens = tokenize_program(f'"x {{{path}}} y"')
    assert tokens.kinds[1:3] == ["piece", "{path"]
    assert tokens.kinds[-6:-3] == ["}hole", "piece", "endquote"]


@pytest.mark.parametrize(
    "text", ["{ a}", "{a }", "{a+b}", "{1}", "{a[}", "{if}", "{a.}", "{a()}", '{"a": 1}', "{a[true]}"]
)
def test_any_other_brace_is_text(text: str):
    assert tokenize_program(f"`{text}`").values[0] == text


def test_a_string_ends_at_its_own_quote_whatever_stands_in_a_brace():
    assert kinds('"{a[" + "]}"') == ["text", "+", "text"]


def test_strings_and_objects_nest_in_holes():
    assert codes('"${f({a: "${b}"}, `}`)} x"') == []
    assert kinds('"${"}"}"') == ["quote", "${", "text", "}hole", "endquote"]


def test_a_string_in_backticks_spans_lines_and_others_do_not():
    assert tokenize_program("`a\r\nb`").values[0] == "a\nb"
    assert codes("`a\nb`") == []
    assert codes("'a\nb") == ["V0103"]
    assert codes('"${a\n}"') == ["V0123", "V0103"]


@pytest.mark.parametrize("text", [r'"\q"', r'"\u{}"', r'"\u{D800}"', r'"\u{110000}"', r'"\u1234"', "`\\\n`"])
def test_an_unknown_escape_is_told(text: str):
    assert codes(text) == ["V0104"]


def test_comments_are_kept_by_their_places_and_are_no_tokens():
    tokens = tokenize_program("#!/usr/bin/env antiphon\na // b\n/* c\nd */ e")
    assert tokens.values[:2] == ["a", "e"]
    assert tokens.comments == [(26, 30), (31, 40)]


def test_line_ends_of_every_kind_end_a_line():
    for end in ("\n", "\r\n", "\r"):
        assert tokenize_program(f"a{end}b // c{end}d").fresh == {1, 2, 3}


@pytest.mark.parametrize("text", ["\u202e", "\u200b", "\x00", "§", "\x07", "\\", "$"])
def test_a_character_that_means_nothing_is_told_once_and_left_out(text: str):
    assert codes(f"a {text} b") == ["V0102"]
    assert kinds(f"a {text} b") == ["name", "name"]


def test_a_byte_order_mark_is_skipped():
    assert kinds("\ufefflet") == ["let"]
    assert codes("\ufefflet") == []


def test_names_may_be_of_any_script_but_not_look_like_others():
    assert codes("größe 名前 переменная") == []
    assert codes("ﬁle") == ["V0126"]
    assert codes("x²") == ["V0126"]


@pytest.mark.parametrize(
    "code",
    [
        " return 1 ",
        " return {'a': {1: 2}} ",
        ' return f"{a}}}" ',
        " return '}' # }\n",
        ' return """}\n}"""',
        "\n    x = 1\n  return x\n",
        " return [i for i in ({1},)] ",
        "\r\n  x = '{'\r\n",
        "\r  x = '{'\r",
    ],
)
def test_a_python_block_ends_at_its_own_brace(code: str):
    tokens = tokenize_program(f"py(a, b) {{{code}}}.x")
    assert tokens.kinds[:-3] == ["py", ".", "name"]
    assert tokens.values[0] == code
    assert tokens.diagnostics == []


@pytest.mark.parametrize("code", [" return (1 ", " x = 'a\n", " x = 1 ? 2 "])
def test_a_python_block_that_python_cannot_read_is_told_once_and_ended(code: str):
    tokens = tokenize_program(f"py() {{{code}}}\nlet x = 1")
    assert [each.code for each in tokens.diagnostics] == ["V0119"]
    assert tokens.kinds[:-3] == ["py", "let", "name", "=", "number"]


def test_a_pure_block_is_one_token_and_says_so():
    tokens = tokenize_program("pure \t py(a) { return a }.x; py(a) { return a }")
    assert tokens.kinds[:-3] == ["py", ".", "name", ";", "py"]
    assert [each.is_pure for each in tokens.python.values()] == [True, False]


def test_pure_is_a_name_where_no_block_follows():
    assert kinds("pure; x.pure; pure(a)") == ["name", ";", "name", ".", "name", ";", "name", "(", "name", ")"]
    assert kinds("pure\npy() { }") == ["name", "py"]


def test_py_is_a_name_where_no_block_follows():
    assert kinds("py.x; a.py(b); py") == ["name", ".", "name", ";", "name", ".", "name", "(", "name", ")", ";", "name"]
