"""What the page cannot find itself in a view: the colours of code, line by line, and the blocks of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from antiphon.views.markdown import markdown_json

#: Classes of the style sheet by the beginning of the name of a token's type.
_CLASSES = (
    ("Token.Comment", "c"), ("Token.Keyword.Constant", "n"), ("Token.Keyword", "k"), ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"), ("Token.Name.Function", "f"), ("Token.Name.Class", "f"), ("Token.Name.Builtin", "b"),
    ("Token.Name.Decorator", "d"), ("Token.Name.Tag", "k"), ("Token.Name.Attribute", "b"), ("Token.Operator.Word", "k"),
    ("Token.Name.Exception", "b"), ("Token.Generic.Heading", "k"),
)  # fmt: skip
#: More characters than these are shown without colours: nobody is to wait for them.
_MOST = 200_000


def coloured(view: dict[str, Any]) -> dict[str, Any]:
    """Add `tokens` to the code and the diffs of a view in JSON, and `blocks` to its Markdown, also inside it."""
    body = view.get("body")
    if isinstance(body, dict):
        known = cast(dict[str, Any], body)
        if known["type"] == "code":
            known |= _tokens("tokens", known["lines"], known.get("language", ""), "")
        elif known["type"] == "markdown":
            known["blocks"] = markdown_json("\n".join(map(_text, known["lines"])))
        elif known["type"] == "diff":
            for hunk in known["hunks"]:
                _colour_hunk(hunk, _text(known.get("path", "")))
    for inner in view.get("inside", ()):
        coloured(inner["view"])
    return view


def _colour_hunk(hunk: dict[str, Any], path: str) -> None:
    """What is old and what is new are read apart: together they are no code."""
    for marks in (("-", " "), ("+", " ")):
        lines = [line for line in hunk["lines"] if line["mark"] in marks]
        found = _tokens("tokens", [line["text"] for line in lines], "", path).get("tokens", [])
        for line, tokens in zip(lines, found, strict=False):
            line["tokens"] = tokens


def _tokens(name: str, lines: Sequence[Any], language: str, path: str) -> dict[str, Any]:
    texts = [_text(each) for each in lines]
    lexer = _lexer(language, path.rpartition("/")[2])
    if lexer is None or sum(map(len, texts)) > _MOST:
        return {}
    found: list[list[list[str]]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(texts)):
        for number, piece in enumerate(value.split("\n")):
            if number:
                found.append([])
            if piece:
                found[-1].append([_class(str(kind)), piece])
    # A lexer that changes what it reads would show something else than what is there.
    same = ["".join(piece for _, piece in line) for line in found[: len(texts)]] == texts
    return {name: found[: len(texts)]} if same else {}


@cache
def _class(kind: str) -> str:
    return next((name for beginning, name in _CLASSES if kind.startswith(beginning)), "")


@cache
def _lexer(language: str, file: str) -> Any:
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


def _text(piece: Any) -> str:
    return piece if isinstance(piece, str) else str(piece["text"])
