"""Rendering of directories and git status."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rich.cells import set_cell_size
from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines, TextRow, fold, hang_indent
from antiphon.terminal.render_context import Context
from antiphon.terminal.theme import ACCENT
from antiphon.terminal.values import format_byte_size, format_cell_value

_TYPE_SUFFIXES = {"directory": "/", "symlink": "@"}
_TYPE_STYLES = {"directory": ACCENT, "symlink": "italic"}
_STATE_MARKS = {
    "staged": ("+ ", "green"),
    "modified": ("~ ", "yellow"),
    "conflicted": ("! ", "red"),
    "untracked": ("? ", "red"),
}


def render_files(view: views.Files, context: Context) -> Lines:
    """Render the entries with size and date."""
    dated = context.width >= 60 and any(entry.modified for entry in view.entries)
    rows: Iterator[TextRow] = (_render_entry(entry, dated, context) for entry in view.entries)
    notes = _make_incomplete_note(view.is_complete, "listing")
    # The count of omitted entries replaces the notes.
    return Lines(chain(rows, () if view.more else notes), len(view.entries) + view.more + len(notes), words=True)


def _render_entry(entry: views.Entry, dated: bool, context: Context) -> TextRow:
    name = Text(context.line(entry.name) + _TYPE_SUFFIXES.get(entry.type, ""), _TYPE_STYLES.get(entry.type, ""))
    modified = format_cell_value(entry.modified, "date", context)[0] if dated else ""
    # Dates to the minute; other values are cut to the same width.
    details = f"{format_byte_size(entry.size):>8}  " + (set_cell_size(modified, 16) + "  " if dated else "")
    return hang_indent(Text(details, "dim"), name, context.width)


def _make_incomplete_note(is_complete: bool, what: str) -> list[TextRow]:
    return [] if is_complete else [Text(f"(the {what} is not complete)", "dim italic")]


def render_git_status(view: views.Status, context: Context) -> Lines:
    """Render the branch, its distance from its upstream, and the changed files."""
    notes = _make_incomplete_note(view.is_complete, "status")
    nothing: list[TextRow] = [Text("nothing to commit", "dim")] if not view.files and not view.start else []
    rows: Iterator[TextRow] = (
        hang_indent(Text(*_STATE_MARKS[each.state]), context.text(each.path), context.width) for each in view.files
    )
    total = 1 + len(nothing) + len(view.files) + view.more + len(notes)
    return Lines(chain([_render_branch(view, context)], nothing, rows, () if view.more else notes), total)


def _render_branch(view: views.Status, context: Context) -> TextRow:
    ahead = f" {context.sign('↑', 'ahead ')}{view.ahead}" if view.ahead else ""
    behind = f" {context.sign('↓', 'behind ')}{view.behind}" if view.behind else ""
    branch = context.line(view.branch or "(no branch)")
    return fold(Text.assemble((branch, "bold"), (ahead, "green"), (behind, "red")), context.width)
