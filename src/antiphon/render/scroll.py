"""A console that is written to from top to bottom: lines about calls, text that stands apart from them, and blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from antiphon.conversation import ToolCall, ToolResult
from antiphon.render.drawing import Drawing
from antiphon.render.lines import StateLine, call_head, duration, has_failed, indentation, summary
from antiphon.render.safe import safe
from antiphon.results import Result
from antiphon.results import text as text_result
from antiphon.views.part import count_lines, forwards

#: A line may be as long as it likes, but not so long that it fills the screen many times.
LONG_LINE = 2000
#: Lines shown of a change, below the call that made it.
CHANGED = 16


@dataclass(frozen=True, slots=True)
class Indented:
    """Something further to the right, with nothing added at the ends of its lines."""

    what: RenderableType
    indent: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = indentation(self.indent, options.max_width)
        inner = options.update(width=max(options.max_width - indent, 1), height=None)
        for line in console.render_lines(self.what, inner, pad=False):
            yield Segment(" " * indent)
            yield from line
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class Question:
    """A text that somebody is to agree to: wherever its lines are folded, none of it can pass for a line of ours.

    The rest of a folded line is further to the right than any line begins.
    """

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, line in enumerate(self.text.split("\n", allow_blank=True)):
            lead = len(line.plain) - len(line.plain.lstrip(" "))
            hanging = indentation(lead + 6, options.max_width)
            begins = "  " * bool(number) + " " * min(lead, max(hanging - 4, 0))
            pieces = line[lead:].wrap(console, max(options.max_width - hanging, 1), overflow="fold")
            for place, piece in enumerate(pieces):
                piece.rstrip()
                mark = ("" if number else "? ", "yellow")
                yield Text.assemble(mark, begins, piece) if not place else Text.assemble(" " * hanging, piece)


class Scroll:
    """Prints to a console what came from outside, made harmless, and indented by the depth of the run it belongs to."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._last = ""

    @property
    def is_plain(self) -> bool:
        """Whether what was printed stays as it is: no cursor can be moved, or nobody looks."""
        return not (self.console.is_terminal and self.console.is_interactive) or self.console.legacy_windows

    def text(self, text: str, style: str = "") -> Text:
        """Text as it is, long lines folded."""
        return Text(safe(text, self.console.encoding), style, overflow="fold")

    def line(self, line: StateLine) -> None:
        """Print one line; lines stand close together."""
        self.stand_apart("line")
        self.console.print(line)

    def call(self, call: ToolCall, result: ToolResult, seconds: float, depth: int = 0) -> None:
        """Print a call and what came of it: a line; errors below it, what was changed, and what asks to be seen."""
        note, head = duration(seconds) if seconds else "", call_head(call)
        if result.is_error:
            self.line(StateLine("failed", head, note=note, indent=2 * depth))
            self.open(result.text, depth, "red")
            return
        self.line(StateLine("failed" if has_failed(result) else "done", head, summary(result), note, 2 * depth))
        semantic = result.semantic
        if semantic is None or semantic.display.hidden:
            return
        display = semantic.display
        if semantic.kind == "diff" and display.collapsed is None:
            semantic = replace(semantic, display=replace(display, max_height=display.max_height or CHANGED))
        elif display.collapsed is not False:
            return
        self.put(opened(semantic, full=False), depth, 2)

    def open(self, text: str, depth: int, style: str = "", limit: int = 20) -> None:
        """Print text below the line it belongs to; beyond the limit, lines are counted."""
        shown = [_cut(line) for line in islice(forwards(text), limit)]
        more = [f"[{left:,} more lines]"] if (left := count_lines(text) - len(shown)) > 0 else []
        self.put(self.text("\n".join([*shown, *more]), style), depth, 2)

    def put(self, what: RenderableType, depth: int = 0, more: int = 0) -> None:
        """Print anything, indented."""
        self.console.print(Indented(what, 2 * depth + more))

    def stand_apart(self, kind: str) -> None:
        """An empty line between text and what comes before it, and after it."""
        if self.is_apart(kind):
            self.console.print()
        self._last = kind

    def is_apart(self, kind: str) -> bool:
        """Whether there is an empty line before what comes next, if it is of this kind."""
        return bool(self._last) and (self._last, kind) != ("line", "line")

    def follow(self) -> None:
        """Let what comes next stand close to what was printed last."""
        self._last = ""


class _Opened(Drawing):
    """A result that is not folded away, whatever its hints say."""

    @property
    def opened(self) -> bool:
        """Always."""
        return True


def opened(result: Result, *, full: bool = True, header: bool = False) -> RenderableType:
    """What is in a result, without the line that stands for it when it is folded away, unless `header` asks for it."""
    return _Opened(result, full, header=header)


def markdown(text: str) -> RenderableType:
    """Text that may be Markdown, as such."""
    return opened(text_result(text, markdown=True))


def _cut(line: str) -> str:
    return line if len(line) <= LONG_LINE else f"{line[:LONG_LINE]} [+{len(line) - LONG_LINE:,} characters]"
