"""What a command printed, what went wrong, what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

from rich.text import Text

from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, hang
from antiphon.render.prose import plain
from antiphon.render.registry import register_renderer
from antiphon.render.safe import backwards, count_lines, forwards, without_colors
from antiphon.render.trees import tree_rows
from antiphon.render.values import needed_text, object_of, text_of
from antiphon.results import Result


@register_renderer("terminal", page="The command, what it printed, and its exit code.")
def show_terminal(result: Result, context: Context) -> Lines:
    """A `terminal`: the beginning and the end of what was printed, for the end says how it went."""
    data = object_of(result.data, "what a terminal showed")
    output, command = needed_text(data, "output", "what a terminal showed"), text_of(data, "command")
    asked: list[Row] = [hang(Text("$ ", "dim"), context.text(command, "bold"), context.width)] if command else []
    ended = list(_ending(data, context))

    def printed(lines: Iterator[str]) -> Iterator[Row]:
        return (context.text(without_colors(line)) for line in lines)

    return Lines(
        chain(asked, printed(forwards(output)), ended),
        len(asked) + count_lines(output) + len(ended),
        tail=chain(reversed(ended), printed(backwards(output))),
    )


def _ending(data: dict[str, Any], context: Context) -> Iterator[Text]:
    dropped, code = data.get("dropped"), data.get("exitCode")
    if isinstance(dropped, int) and not isinstance(dropped, bool) and dropped:
        yield Text(f"({dropped:,} characters were dropped)", "dim italic")
    if code not in (None, 0):
        yield context.text(f"exit code {code}", "red")


@register_renderer("error", page="What went wrong, and the details.")
def show_error(result: Result, context: Context) -> Lines:
    """An `error`: the message, then the details."""
    data = object_of(result.data, "an error")
    message = plain(needed_text(data, "message", "an error"), context, "red")
    details: object = data.get("details")
    if details is None:
        return message
    if isinstance(details, str):
        below = plain(details, context)
        return Lines(chain(message.rows, below.rows), (message.total or 0) + (below.total or 0), words=True)
    return Lines(chain(message.rows, tree_rows(details, context)), words=True)


@register_renderer("question", page="The question, its options, and the answer once there is one.")
def show_question(result: Result, context: Context) -> Lines:
    """A `question`: with its options, and the answer if there is one."""
    data = object_of(result.data, "a question")
    asked = plain(needed_text(data, "question", "a question"), context, "bold")
    options: object = data.get("options")
    given = cast(list[Any], options) if isinstance(options, list) else []
    listed: Iterator[Row] = (
        hang(Text(f"{number}. ", "dim"), context.text(str(option)), context.width)
        for number, option in enumerate(given, 1)
    )
    answer = data.get("answer")
    arrow = Text(context.sign("→ ", "> "), "green")
    said = [hang(arrow, context.text(answer, "green"), context.width)] if isinstance(answer, str) else []
    return Lines(chain(asked.rows, listed, said), (asked.total or 0) + len(given) + len(said), words=True)
