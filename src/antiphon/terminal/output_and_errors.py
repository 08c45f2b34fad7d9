"""Rendering of command output, errors and questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines, TextRow, hang_indent
from antiphon.terminal.render_context import Context
from antiphon.terminal.sanitizer import strip_colors
from antiphon.terminal.text_rendering import make_styled_rows
from antiphon.terminal.trees import render_tree
from antiphon.terminal.values import format_cell_value
from antiphon.views import Cut, MaybeTruncated


def render_output(view: views.Output, context: Context) -> Lines:
    """Render the beginning and the end of a command's output; the end shows how it ended."""
    command = hang_indent(Text("$ ", "dim"), context.text(view.command), context.width)
    asked: list[TextRow] = [command] if view.command else []
    ended = list(_render_ending(view, context))
    left_out = view.more + len(view.tail)
    last = view.tail if view.more else (*view.lines, *view.tail)
    return Lines(
        chain(asked, _render_lines(view.lines, context), () if left_out else ended),
        len(asked) + len(view.lines) + left_out + len(ended),
        tail=chain(reversed(ended), _render_lines(reversed(last), context)),
    )


def _render_lines(lines: Iterable[MaybeTruncated], context: Context) -> Iterator[TextRow]:
    return (context.text(_strip_line_colors(line)) for line in lines)


def _strip_line_colors(line: MaybeTruncated) -> MaybeTruncated:
    return Cut(strip_colors(line.text), line.more) if isinstance(line, Cut) else strip_colors(line)


def _render_ending(view: views.Output, context: Context) -> Iterator[Text]:
    if view.dropped:
        yield Text(f"({view.dropped:,} characters were dropped)", "dim italic")
    if view.exit_code not in (None, 0):
        yield Text(f"exit code {format_cell_value(view.exit_code, '', context)[0]}", "red")


def render_failure(view: views.Failure, context: Context) -> Lines:
    """Render the message, then the details."""
    message, details = view.message, view.details
    said, lines = make_styled_rows(message.lines, "red", context), len(message.lines) + message.more
    if details is None:
        return Lines(said, lines, words=True)
    if isinstance(details, views.Text):
        below = make_styled_rows(details.lines, "", context)
        return Lines(chain(said, below), lines + len(details.lines) + details.more, words=True)
    grown = render_tree(details, context)
    return Lines(chain(said, grown.rows), lines + (grown.total or 0), words=True, at_least=grown.at_least)


def render_question(view: views.Question, context: Context) -> Lines:
    """Render the question with its options, and the answer if there is one."""
    asked = view.question
    listed: Iterator[TextRow] = (
        hang_indent(Text(f"{number}. ", "dim"), context.text(option), context.width)
        for number, option in enumerate(view.options, 1)
    )
    arrow = Text(context.sign("→ ", "> "), "green")
    said = [] if view.answer is None else [hang_indent(arrow, context.text(view.answer, "green"), context.width)]
    total = len(asked.lines) + asked.more + len(view.options) + view.more_options + len(said)
    return Lines(chain(make_styled_rows(asked.lines, "", context), listed, said), total, words=True)
