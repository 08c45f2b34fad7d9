"""Data of any shape: as a tree, or raw as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.text import Text

from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.render.prose import code
from antiphon.render.registry import register_renderer
from antiphon.render.safe import json_text
from antiphon.render.values import formatted
from antiphon.results import Result

#: Lists of so few plain values stay in one line, if they fit.
_INLINE = 8


@register_renderer("structured", page="A tree whose branches open and close, or the JSON itself.")
def show_structured(result: Result, context: Context) -> Lines:
    """A `structured`: a tree, or the JSON where `raw` is asked for."""
    return raw(result.data, context) if result.display.preferred_view == "raw" else tree(result.data, context)


def raw(data: object, context: Context) -> Lines:
    """The JSON, as much of it as there is room for."""
    limit = context.height * max(context.width, 80) * (10 if context.full else 1)
    return code(json_text(data, limit, indent=2), "json", context)


def tree(data: object, context: Context) -> Lines:
    """A tree. Its rows are made one by one, and counted only as far as somebody would read."""
    return Lines(tree_rows(data, context))


def tree_rows(data: object, context: Context) -> Iterator[Row]:
    """The rows of a tree, the outermost level without branches."""
    if isinstance(data, dict | list) and data:
        yield from _branches(cast(Any, data), "", 0, context)
    else:
        text, style = formatted(data, "", context, null="null")
        yield Text(text if data not in ({}, []) else str(data), style)


def _branches(data: dict[str, Any] | list[Any], indent: str, depth: int, context: Context) -> Iterator[Row]:
    items = data.items() if isinstance(data, dict) else enumerate(data)
    last = len(data) - 1
    corner, fork, line = (context.sign(*pair) for pair in (("└─ ", "`- "), ("├─ ", "|- "), ("│  ", "|  ")))
    for number, (key, value) in enumerate(items):
        branch = "" if not depth else corner if number == last else fork
        label = Text.assemble((indent + branch, "dim"), _label(key, context))
        if _opens(value, depth, context):
            size = f"{{{len(value)}}}" if isinstance(value, dict) else f"[{len(value)}]"
            yield fold(Text.assemble(label, (" " + size, "dim")), context.width)
            below = indent if not depth else indent + ("   " if number == last else line)
            yield from _branches(value, below, depth + 1, context)
        else:
            yield hang(Text.assemble(label, " "), _leaf(key, value, context), context.width)


def _label(key: str | int, context: Context) -> tuple[str, str]:
    return (f"{key}:", "dim") if isinstance(key, int) else (f"{context.line(key, 200)}:", "bold")


def _opens(value: object, depth: int, context: Context) -> bool:
    """Whether a value gets branches: not when it is plain, fits in a line, or is too deep for the width."""
    if not isinstance(value, dict | list) or not value or 3 * (depth + 1) > max(context.width - 20, 6):
        return False
    values = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else cast(list[Any], value)
    small = isinstance(value, list) and len(values) <= _INLINE
    plain = small and not any(isinstance(inner, dict | list) for inner in values)
    return not plain or len(json_text(cast(object, value), context.width)) > context.width - 3 * depth - 16


def _leaf(key: str | int, value: object, context: Context) -> Text:
    if isinstance(value, dict | list):
        return Text(context.line(json_text(cast(object, value), context.line_limit)), "" if value else "dim")
    kind = context.field_types.get(key, "") if isinstance(key, str) else ""
    return Text(*formatted(value, kind, context, null="null"))
