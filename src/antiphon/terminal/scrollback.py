"""Permanent console output from top to bottom: lines about calls, separated text, and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from antiphon.conversation import ToolCall, ToolResult
from antiphon.results import Result
from antiphon.results import text as text_result
from antiphon.terminal.result_renderable import ResultRenderable
from antiphon.terminal.sanitizer import sanitize_text
from antiphon.terminal.state_lines import (
    StateLine,
    format_duration,
    format_tool_call,
    has_failed_result,
    limit_indent,
    summarize_tool_result,
)
from antiphon.views.data_window import count_text_lines, iter_lines

#: Maximum length of a line, so that it cannot fill the screen many times.
MAX_LINE_CHARACTERS = 2000
#: Maximum lines of a diff below the call that made it.
MAX_DIFF_LINES = 16


@dataclass(frozen=True, slots=True)
class IndentedRenderable:
    """An indented renderable, without padding at the ends of its lines."""

    what: RenderableType
    indent: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = limit_indent(self.indent, options.max_width)
        inner = options.update(width=max(options.max_width - indent, 1), height=None)
        for line in console.render_lines(self.what, inner, pad=False):
            yield Segment(" " * indent)
            yield from line
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class ConsentText:
    """A text for a person to approve; no wrapped part of it can imitate a line of ours.

    Continuations of a wrapped line are indented further than any line begins.
    """

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, line in enumerate(self.text.split("\n", allow_blank=True)):
            lead = len(line.plain) - len(line.plain.lstrip(" "))
            hanging = limit_indent(lead + 6, options.max_width)
            begins = "  " * bool(number) + " " * min(lead, max(hanging - 4, 0))
            pieces = line[lead:].wrap(console, max(options.max_width - hanging, 1), overflow="fold")
            for place, piece in enumerate(pieces):
                piece.rstrip()
                mark = ("" if number else "? ", "yellow")
                yield Text.assemble(mark, begins, piece) if not place else Text.assemble(" " * hanging, piece)


class Scrollback:
    """Prints sanitized text to a console, indented by the depth of its run.

    Of the output of a command, the last `output_lines` lines are printed.
    """

    def __init__(self, console: Console, output_lines: int = 0) -> None:
        self.console = console
        self._output_lines = output_lines
        self._last = ""

    @property
    def is_plain(self) -> bool:
        """Return whether output cannot be redrawn: no cursor control, or not an interactive terminal."""
        return not (self.console.is_terminal and self.console.is_interactive) or self.console.legacy_windows

    def text(self, text: str, style: str = "") -> Text:
        """Return sanitized text with long lines folded."""
        return Text(sanitize_text(text, self.console.encoding), style, overflow="fold")

    def line(self, line: StateLine) -> None:
        """Print one line; consecutive lines have no gap between them."""
        self.separate("line")
        self.console.print(line)

    def call(
        self, call: ToolCall, result: ToolResult, seconds: float, depth: int = 0, *, is_change_known: bool = False
    ) -> None:
        """Print a call and its result: a line; below it errors, changes, and results that are not collapsed.

        With `is_change_known`, changes to a file are left out.
        """
        note, head = format_duration(seconds) if seconds else "", format_tool_call(call)
        if result.is_error:
            self.line(StateLine("failed", head, note=note, indent=2 * depth))
            self.open(result.text, depth, "red")
            return
        state = "failed" if has_failed_result(result) else "done"
        self.line(StateLine(state, head, summarize_tool_result(result), note, 2 * depth))
        semantic = result.semantic
        if semantic is None or semantic.display.hidden:
            return
        display = semantic.display
        if semantic.kind == "terminal" and self._output_lines and display.collapsed is None:
            self._tail(get_command_output(semantic), depth)
            return
        if semantic.kind == "diff" and is_change_known:
            return
        if semantic.kind == "diff" and display.collapsed is None:
            semantic = replace(semantic, display=replace(display, max_height=display.max_height or MAX_DIFF_LINES))
        elif display.collapsed is not False:
            return
        self.put(make_expanded(semantic, full=False), depth, 2)

    def _tail(self, text: str, depth: int) -> None:
        found = text.rstrip().split("\n") if text.strip() else []
        shown = [_truncate_line(line) for line in found[-self._output_lines :]]
        left = len(found) - len(shown)
        above = [f"[{left:,} more lines above; /show shows all]"] if left else []
        if shown:
            self.put(self.text("\n".join([*above, *shown]), "dim"), depth, 2)

    def open(self, text: str, depth: int, style: str = "", limit: int = 20) -> None:
        """Print text below the line it belongs to; lines beyond the limit are counted."""
        shown = [_truncate_line(line) for line in islice(iter_lines(text), limit)]
        more = [f"[{left:,} more lines]"] if (left := count_text_lines(text) - len(shown)) > 0 else []
        self.put(self.text("\n".join([*shown, *more]), style), depth, 2)

    def paragraph(self, text: str, style: str = "", depth: int = 0) -> None:
        """Print text, apart from what precedes it."""
        self.separate("text")
        self.put(self.text(text, style), depth)

    def put(self, what: RenderableType, depth: int = 0, more: int = 0) -> None:
        """Print any renderable, indented."""
        self.console.print(IndentedRenderable(what, 2 * depth + more))

    def separate(self, kind: str) -> None:
        """Print an empty line if one is needed before output of this kind."""
        if self.is_apart(kind):
            self.console.print()
        self._last = kind

    def is_apart(self, kind: str) -> bool:
        """Return whether output of this kind needs an empty line before it."""
        return bool(self._last) and (self._last, kind) != ("line", "line")

    def follow(self) -> None:
        """Print the next output without an empty line before it."""
        self._last = ""


class _ExpandedResult(ResultRenderable):
    """A result that is always expanded, whatever its hints say."""

    @property
    def is_expanded(self) -> bool:
        """Return True."""
        return True


def make_expanded(result: Result, *, full: bool = True, header: bool = False) -> RenderableType:
    """Return the body of a result, without its headline unless `header` is set."""
    return _ExpandedResult(result, full, header=header)


def make_markdown(text: str) -> RenderableType:
    """Return text rendered as Markdown."""
    return make_expanded(text_result(text, markdown=True))


def get_command_output(result: Result) -> str:
    """Return what a command printed."""
    data: object = result.data
    return str(cast("Mapping[str, object]", data).get("output", "")) if isinstance(data, Mapping) else ""


def _truncate_line(line: str) -> str:
    return (
        line
        if len(line) <= MAX_LINE_CHARACTERS
        else f"{line[:MAX_LINE_CHARACTERS]} [+{len(line) - MAX_LINE_CHARACTERS:,} characters]"
    )
