"""Syntax highlighting of code and diffs, and parsing of Markdown, in the JSON of views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from antiphon.views.markdown import markdown_json

#: CSS classes by the prefix of a token type's name.
_CLASS_BY_TOKEN = (
    ("Token.Comment", "c"), ("Token.Keyword.Constant", "n"), ("Token.Keyword", "k"), ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"), ("Token.Name.Function", "f"), ("Token.Name.Class", "f"), ("Token.Name.Builtin", "b"),
    ("Token.Name.Decorator", "d"), ("Token.Name.Tag", "k"), ("Token.Name.Attribute", "b"), ("Token.Operator.Word", "k"),
    ("Token.Name.Exception", "b"), ("Token.Generic.Heading", "k"),
)  # fmt: skip
#: Longer code is not highlighted, because that would take too long.
_MAX_CHARACTERS = 200_000


def highlight_view(view: dict[str, Any]) -> dict[str, Any]:
    """Add `tokens` to code and diffs, and `blocks` to Markdown, in the JSON of a view and its nested views."""
    body = view.get("body")
    if isinstance(body, dict):
        known = cast(dict[str, Any], body)
        if known["type"] == "code":
            known |= _tokenize_lines(known["lines"], known.get("language", ""), "")
        elif known["type"] == "markdown":
            known["blocks"] = markdown_json("\n".join(map(_piece_text, known["lines"])))
        elif known["type"] == "diff":
            for hunk in known["hunks"]:
                _highlight_hunk(hunk, _piece_text(known.get("path", "")))
    for inner in view.get("inside", ()):
        highlight_view(inner["view"])
    return view


def _highlight_hunk(hunk: dict[str, Any], path: str) -> None:
    """Highlight the old and the new lines of a hunk separately: mixed, they are no valid code."""
    for marks in (("-", " "), ("+", " ")):
        lines = [line for line in hunk["lines"] if line["mark"] in marks]
        found = _tokenize_lines([line["text"] for line in lines], "", path).get("tokens", [])
        for line, tokens in zip(lines, found, strict=False):
            line["tokens"] = tokens


def _tokenize_lines(lines: Sequence[Any], language: str, path: str) -> dict[str, Any]:
    texts = [_piece_text(each) for each in lines]
    lexer = _find_lexer(language, path.rpartition("/")[2])
    if lexer is None or sum(map(len, texts)) > _MAX_CHARACTERS:
        return {}
    found: list[list[list[str]]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(texts)):
        for number, piece in enumerate(value.split("\n")):
            if number:
                found.append([])
            if piece:
                found[-1].append([_css_class(str(kind)), piece])
    # Discard the tokens of a lexer that alters the text.
    same = ["".join(piece for _, piece in line) for line in found[: len(texts)]] == texts
    return {"tokens": found[: len(texts)]} if same else {}


@cache
def _css_class(kind: str) -> str:
    return next((name for beginning, name in _CLASS_BY_TOKEN if kind.startswith(beginning)), "")


@cache
def _find_lexer(language: str, file: str) -> Any:
    if not language and not file:
        return None
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    options: dict[str, Any] = {"stripnl": False, "ensurenl": False}
    if language == "vibe" or file.endswith(".vibe"):
        from antiphon.lang import VibeLexer

        return VibeLexer(**options)
    try:
        return get_lexer_by_name(language, **options) if language else get_lexer_for_filename(file, **options)
    except ClassNotFound:
        return None


def _piece_text(piece: Any) -> str:
    return piece if isinstance(piece, str) else str(piece["text"])
