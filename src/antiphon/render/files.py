"""Files and directories."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

from rich.cells import set_cell_size
from rich.text import Text

from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, hang
from antiphon.render.prose import code_rows
from antiphon.render.registry import register_renderer
from antiphon.render.safe import count_lines
from antiphon.render.values import formatted, list_of, needed_text, object_of, size, text_of
from antiphon.results import Result
from antiphon.results.kinds import language

_SIGNS = {"directory": "/", "symlink": "@"}
_STYLES = {"directory": "bold blue", "symlink": "cyan"}


@register_renderer("file_content", page="The file with line numbers and the colours of its language.")
def show_file(result: Result, context: Context) -> Lines:
    """A `file_content`: numbered lines, from the line that the result's location names."""
    data = object_of(result.data, "a file")
    content = needed_text(data, "content", "a file")
    first = next((at.line for at in result.locations if at.line is not None and 0 < at.line < 10**9), 1)
    rows = code_rows(content, result.display.language or language(text_of(data, "path")), context)
    return Lines(numbered(rows, first, context), count_lines(content))


def numbered(rows: list[Text], first: int, context: Context) -> Iterator[Row]:
    """Rows with their numbers in a gutter."""
    digits = len(str(first + len(rows)))
    for number, row in enumerate(rows, first):
        yield hang(Text(f"{number:>{digits}}  ", "dim"), row, context.width)


@register_renderer("file_list", page="The entries, directories first, with size and date.")
def show_entries(result: Result, context: Context) -> Lines:
    """A `file_list`: directories first, otherwise in the order given."""
    data = object_of(result.data, "a directory")
    given = list_of(data, "entries", "a directory")
    entries = [cast(dict[str, Any], entry) for entry in given if isinstance(entry, dict)]
    if len(entries) < len(given):
        entries += [{"name": str(entry)} for entry in given if not isinstance(entry, dict)]
    first = (entry for entry in entries if _type(entry) == "directory")
    others = (entry for entry in entries if _type(entry) != "directory")
    dated = context.width >= 60 and any(entry.get("modified") for entry in entries[: context.height])
    rows: Iterator[Row] = (_entry(entry, dated, context) for entry in chain(first, others))
    notes = [Text("(the listing is not complete)", "dim italic")] if data.get("truncated") else []
    return Lines(chain(rows, notes), len(entries) + len(notes), words=True)


def _type(entry: dict[str, Any]) -> str:
    return text_of(entry, "type")


def _entry(entry: dict[str, Any], dated: bool, context: Context) -> Row:
    kind = _type(entry)
    name = Text(context.line(text_of(entry, "name")) + _SIGNS.get(kind, ""), _STYLES.get(kind, ""))
    modified = formatted(entry.get("modified"), "date", context)[0] if dated else ""
    # To the minute; whatever else may stand there gets no more room.
    details = f"{size(entry.get('size')):>8}  " + (set_cell_size(modified, 16) + "  " if dated else "")
    return hang(Text(details, "dim"), name, context.width)
