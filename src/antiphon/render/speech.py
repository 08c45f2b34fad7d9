"""What a command printed, what went wrong, what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from rich.text import Text

from antiphon import views
from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, hang
from antiphon.render.prose import styled
from antiphon.render.safe import without_colors
from antiphon.render.trees import tree
from antiphon.render.values import formatted
from antiphon.views import Cut, Piece


def output(view: views.Output, context: Context) -> Lines:
    """The beginning and the end of what was printed, for the end says how it went."""
    command = hang(Text("$ ", "dim"), context.text(view.command), context.width)
    asked: list[Row] = [command] if view.command else []
    ended = list(_ending(view, context))
    left_out = view.more + len(view.tail)
    last = view.tail if view.more else (*view.lines, *view.tail)
    return Lines(
        chain(asked, _printed(view.lines, context), () if left_out else ended),
        len(asked) + len(view.lines) + left_out + len(ended),
        tail=chain(reversed(ended), _printed(reversed(last), context)),
    )


def _printed(lines: Iterable[Piece], context: Context) -> Iterator[Row]:
    return (context.text(_colourless(line)) for line in lines)


def _colourless(line: Piece) -> Piece:
    return Cut(without_colors(line.text), line.more) if isinstance(line, Cut) else without_colors(line)


def _ending(view: views.Output, context: Context) -> Iterator[Text]:
    if view.dropped:
        yield Text(f"({view.dropped:,} characters were dropped)", "dim italic")
    if view.exit_code not in (None, 0):
        yield Text(f"exit code {formatted(view.exit_code, '', context)[0]}", "red")


def failure(view: views.Failure, context: Context) -> Lines:
    """The message, then the details."""
    message, details = view.message, view.details
    said, lines = styled(message.lines, "red", context), len(message.lines) + message.more
    if details is None:
        return Lines(said, lines, words=True)
    if isinstance(details, views.Text):
        below = styled(details.lines, "", context)
        return Lines(chain(said, below), lines + len(details.lines) + details.more, words=True)
    grown = tree(details, context)
    return Lines(chain(said, grown.rows), lines + (grown.total or 0), words=True, at_least=grown.at_least)


def question(view: views.Question, context: Context) -> Lines:
    """The question with its options, and the answer if there is one."""
    asked = view.question
    listed: Iterator[Row] = (
        hang(Text(f"{number}. ", "dim"), context.text(option), context.width)
        for number, option in enumerate(view.options, 1)
    )
    arrow = Text(context.sign("→ ", "> "), "green")
    said = [] if view.answer is None else [hang(arrow, context.text(view.answer, "green"), context.width)]
    total = len(asked.lines) + asked.more + len(view.options) + view.more_options + len(said)
    return Lines(chain(styled(asked.lines, "", context), listed, said), total, words=True)
