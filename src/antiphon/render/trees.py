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
        yield Text(*formatted(cast(object, data), "", context, null="null"))


def _branches(data: dict[str, Any] | list[Any], indent: str, depth: int, context: Context) -> Iterator[Row]:
    items = data.items() if isinstance(data, dict) else enumerate(data)
    last = len(data) - 1
    corner, fork, line = (context.sign(*pair) for pair in (("└─ ", "`- "), ("├─ ", "|- "), ("│  ", "|  ")))
    for number, (key, value) in enumerate(items):
        branch = "" if not depth else corner if number == last else fork
        label = Text.assemble((indent + branch, "dim"), _label(key, context))
        inner = _inner(value, depth, context)
        if inner is None:
            yield hang(Text.assemble(label, " "), _leaf(key, value, context), context.width)
            continue
        count = f" {{{len(inner)}}}" if isinstance(inner, dict) else f" [{len(inner)}]"
        yield fold(Text.assemble(label, (count, "dim")), context.width)
        below = indent if not depth else indent + ("   " if number == last else line)
        yield from _branches(inner, below, depth + 1, context)


def _label(key: str | int, context: Context) -> tuple[str, str]:
    return (f"{key}:", "dim") if isinstance(key, int) else (f"{context.line(key, 200)}:", "bold")


def _inner(value: object, depth: int, context: Context) -> dict[str, Any] | list[Any] | None:
    """What gets branches: nothing that is plain, fits in a line, or is too deep for the width."""
    if not isinstance(value, dict | list) or not value or 3 * (depth + 1) > max(context.width - 20, 6):
        return None
    inner = cast(dict[str, Any] | list[Any], value)
    if isinstance(inner, dict) or len(inner) > _INLINE or any(isinstance(item, dict | list) for item in inner):
        return inner
    return inner if len(json_text(inner, context.width)) > context.width - 3 * depth - 16 else None


def _leaf(key: str | int, value: object, context: Context) -> Text:
    if isinstance(value, dict | list):
        return Text(context.line(json_text(cast(object, value), context.line_limit)), "" if value else "dim")
    kind = context.field_types.get(key, "") if isinstance(key, str) else ""
    return Text(*formatted(value, kind, context, null="null"))
