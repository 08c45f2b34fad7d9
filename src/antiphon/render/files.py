"""Directories, and what git says of a working tree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rich.cells import set_cell_size
from rich.text import Text

from antiphon import views
from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.render.style import ACCENT
from antiphon.render.values import formatted, size

_SIGNS = {"directory": "/", "symlink": "@"}
_STYLES = {"directory": ACCENT, "symlink": "italic"}
_STATES = {
    "staged": ("+ ", "green"),
    "modified": ("~ ", "yellow"),
    "conflicted": ("! ", "red"),
    "untracked": ("? ", "red"),
}


def files(view: views.Files, context: Context) -> Lines:
    """The entries with size and date."""
    dated = context.width >= 60 and any(entry.modified for entry in view.entries)
    rows: Iterator[Row] = (_entry(entry, dated, context) for entry in view.entries)
    notes = _incomplete(view.is_complete, "listing")
    # What is left out of the view stands before the notes.
    return Lines(chain(rows, () if view.more else notes), len(view.entries) + view.more + len(notes), words=True)


def _entry(entry: views.Entry, dated: bool, context: Context) -> Row:
    name = Text(context.line(entry.name) + _SIGNS.get(entry.type, ""), _STYLES.get(entry.type, ""))
    modified = formatted(entry.modified, "date", context)[0] if dated else ""
    # To the minute; whatever else may stand there gets no more room.
    details = f"{size(entry.size):>8}  " + (set_cell_size(modified, 16) + "  " if dated else "")
    return hang(Text(details, "dim"), name, context.width)


def _incomplete(is_complete: bool, what: str) -> list[Row]:
    return [] if is_complete else [Text(f"(the {what} is not complete)", "dim italic")]


def status(view: views.Status, context: Context) -> Lines:
    """Branch, distance to the branch it follows, and the files that differ."""
    notes = _incomplete(view.is_complete, "status")
    nothing: list[Row] = [Text("nothing to commit", "dim")] if not view.files and not view.start else []
    rows: Iterator[Row] = (
        hang(Text(*_STATES[each.state]), context.text(each.path), context.width) for each in view.files
    )
    total = 1 + len(nothing) + len(view.files) + view.more + len(notes)
    return Lines(chain([_branch(view, context)], nothing, rows, () if view.more else notes), total)


def _branch(view: views.Status, context: Context) -> Row:
    ahead = f" {context.sign('↑', 'ahead ')}{view.ahead}" if view.ahead else ""
    behind = f" {context.sign('↓', 'behind ')}{view.behind}" if view.behind else ""
    branch = context.line(view.branch or "(no branch)")
    return fold(Text.assemble((branch, "bold"), (ahead, "green"), (behind, "red")), context.width)
