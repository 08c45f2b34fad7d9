"""Colours: the Pygments lexer and the editors' grammar know the words of the language and lose no character."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.token import Token

from antiphon.lang import highlight
from antiphon.lang.highlight import VibeLexer
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import RESERVED_WORDS
from tests.lang_unit.programs import programs

EDITOR = Path(__file__).parent.parent.parent / "editors" / "vscode"
GRAMMARS = sorted((EDITOR / "syntaxes").glob("*.json"))
ALWAYS = {
    *highlight.DECLARATION_KEYWORDS,
    *highlight.CONTROL_KEYWORDS,
    *highlight.ASK_KEYWORDS,
    *highlight.MODULE_KEYWORDS,
    *highlight.CONSTANT_KEYWORDS,
    *highlight.OPERATOR_KEYWORDS,
}
IN_PLACE = {
    *highlight.MODIFIER_KEYWORDS,
    *highlight.CONTEXTUAL_DECLARATION_KEYWORDS,
    *highlight.IMPORT_KEYWORDS,
    *highlight.CONTEXT_KEYWORDS,
    *highlight.LOOP_MODE_KEYWORDS,
    *highlight.PYTHON_KEYWORDS,
    *highlight.MATCH_KEYWORDS,
}


def kinds(text: str) -> list[tuple[str, str]]:
    """What stands in a text, and as what it is coloured."""
    return [(value, str(kind)[6:]) for kind, value in VibeLexer().get_tokens(text) if value.strip()]


# The lexer


def test_the_words_are_those_of_the_parser():
    assert ALWAYS == RESERVED_WORDS
    for word in IN_PLACE:
        assert parse_source(Source("", f"let {word} = {word}"))[1] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('do "x" model default', ["Keyword.Reserved", *["Literal.String"] * 3, "Keyword.Pseudo", "Keyword.Pseudo"]),
        ("tool weather(", ["Keyword.Declaration", "Name.Function", "Punctuation"]),
        ("tool = type", ["Name", "Operator", "Name"]),
        ("input a: json", ["Keyword.Declaration", "Name.Attribute", "Punctuation", "Keyword.Type"]),
        ("private input a:", ["Keyword.Declaration", "Keyword.Declaration", "Name.Attribute", "Punctuation"]),
        ("returns text", ["Keyword.Declaration", "Keyword.Type"]),
        ("returns Report", ["Keyword.Declaration", "Name"]),
        ("input = returns", ["Name", "Operator", "Name"]),
        ("a.model", ["Name", "Punctuation", "Name.Attribute"]),
        (
            "let n: text[]",
            ["Keyword.Declaration", "Name.Attribute", "Punctuation", "Keyword.Type", *["Punctuation"] * 2],
        ),
        (
            "f: (text, number) => json",
            [
                *("Name.Attribute", "Punctuation", "Punctuation", "Keyword.Type", "Punctuation", "Keyword.Type"),
                *("Punctuation", "Operator", "Keyword.Type"),
            ],
        ),
        (
            "(a, b) => text.b",
            [
                "Punctuation",
                "Name",
                "Punctuation",
                "Name",
                "Punctuation",
                "Operator",
                "Name",
                "Punctuation",
                "Name.Attribute",
            ],
        ),
        ("{ [text]: n", ["Punctuation", "Punctuation", "Keyword.Type", "Punctuation", "Punctuation", "Name"]),
        ("1..0x1F", ["Literal.Number.Integer", "Operator", "Literal.Number.Hex"]),
        ("} forget", ["Punctuation", "Keyword"]),
        ("// do", ["Comment.Single"]),
        ("/* do\n*/ 1.5e3", [*["Comment.Multiline"] * 3, "Literal.Number.Float"]),
        ("#!do", ["Comment.Hashbang"]),
        ("@description", ["Name.Decorator"]),
        (
            "print(null and f)",
            ["Name.Builtin", "Punctuation", "Keyword.Constant", "Operator.Word", "Name", "Punctuation"],
        ),
    ],
)
def test_words_are_coloured_by_their_place(text: str, expected: list[str]):
    assert [kind for _, kind in kinds(text)] == expected


def test_holes_of_strings_are_coloured_as_what_they_are():
    found = kinds('"a {user.name[0]} ${f({x: 1})} \\{b} {c d}"')
    assert ("user.name[0]", "Name.Variable") in found
    assert ("f", "Name.Function") in found
    assert ("1", "Literal.Number.Integer") in found
    assert ("\\{", "Literal.String.Escape") in found
    assert [value for value, kind in found if kind == "Literal.String.Interpol"] == ["{", "}", "${", "}"]


def test_a_pure_block_is_coloured_as_one_and_pure_is_a_name_elsewhere():
    found = kinds("pure py(a) { return a }\npure + pure(1)")
    assert found[:2] == [("pure", "Keyword"), ("py", "Keyword")]
    assert [kind for value, kind in found[3:] if value == "pure"] == ["Name", "Name.Function"]


def test_python_blocks_are_coloured_as_python_up_to_their_brace():
    found = kinds("let x = py(a) {\n  import json # }\n  return {'}': f\"{a}\", 2: '''}'''}\n}\ndo x")
    assert ("import", "Keyword.Namespace") in found
    assert ("# }", "Comment.Single") in found
    assert found[-2:] == [("do", "Keyword.Reserved"), ("x", "Name")]


@given(st.one_of(st.text(), st.text(alphabet="py(){}\"'`$\\/*#\na."), programs(3)))
@settings(max_examples=100, deadline=None)
def test_no_character_is_lost_whatever_the_text(text: str):
    found = list(VibeLexer().get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in found) == text
    assert all(kind is not Token.Error for _, kind, _ in found)


@pytest.mark.parametrize(
    "piece",
    ["{", '"${', "py(){", "py(", '"""', "/*", "a.", "{a[", "py() {'''\\'''", "a ", "} ", "model a", "\\", "f'", "a:"],
)
def test_long_texts_take_no_long_time(piece: str):
    # With a square in it, this would take minutes rather than a second.
    text = piece * 20_000
    begin = process_time()
    assert sum(len(value) for _, _, value in VibeLexer().get_tokens_unprocessed(text)) == len(text)
    assert process_time() - begin < 60


def test_the_language_does_not_need_a_highlighter():
    code = "import sys, antiphon.lang, antiphon.lang.formatter; print('pygments' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# The grammar for editors


def rules(value: Any) -> Iterator[dict[str, Any]]:
    """Everything in a grammar that is an object."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from rules(each)


@pytest.mark.parametrize("path", GRAMMARS, ids=lambda path: path.name)
def test_every_include_of_a_grammar_leads_somewhere(path: Path):
    grammar = json.loads(path.read_text())
    names = {rule["include"] for rule in rules(grammar) if "include" in rule}
    others = {json.loads(each.read_text())["scopeName"] for each in GRAMMARS} | {"source.python"}
    assert {name[1:] for name in names if name.startswith("#")} == set(grammar["repository"])
    assert {name for name in names if not name.startswith("#")} <= others


def test_the_grammar_has_the_words_of_the_lexer():
    text = (EDITOR / "syntaxes" / "vibe.tmLanguage.json").read_text()
    words = {word for group in re.findall(r"\\\\b\(([a-z|]+)\)", text) for word in group.split("|")}
    assert words == ALWAYS | IN_PLACE | {*highlight.TYPE_KEYWORDS}


def test_the_extension_names_files_that_are_there():
    package = json.loads((EDITOR / "package.json").read_text())["contributes"]
    configuration = EDITOR / package["languages"][0]["configuration"]
    assert json.loads(configuration.read_text())["comments"] == {"lineComment": "//", "blockComment": ["/*", "*/"]}
    assert {(EDITOR / each["path"]).resolve() for each in package["grammars"]} == {path.resolve() for path in GRAMMARS}
    for each in package["grammars"]:
        assert json.loads((EDITOR / each["path"]).read_text())["scopeName"] == each["scopeName"]
