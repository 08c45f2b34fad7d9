"""A running session in the terminal: finished things scroll by as ordinary lines, the last lines say what runs now."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from antiphon.render import lines, renderable
from antiphon.render import console as make_console
from antiphon.render.blocks import Blocks
from antiphon.render.safe import head, safe
from antiphon.render.status import Now, Running, Status
from antiphon.results import plain, structured
from antiphon.results import text as text_result
from antiphon.session import AIResult, CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
from antiphon.session.returns import parsed
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta

#: How much of an error's text is shown, and of a question.
ERROR_LINES, LONG_LINE, QUESTION = 20, 2000, 8000
#: Often enough for a spinner, seldom enough to cost nothing.
REFRESHES = 8
_STATES = {"done": "done", "refused": "failed", "stuck": "failed", "empty": "failed"}


@dataclass(slots=True)
class _Level:
    """A run as far as it has come; nested runs have their own."""

    began: float
    blocks: Blocks
    #: The text since it last began, to know at the end whether the answer has been seen.
    said: list[str] = field(default_factory=list[str])
    speaking: bool = False
    printed: bool = False
    gap: bool = False
    thoughts: list[str] = field(default_factory=list[str])
    writing: str = ""
    usage: UsageChanged | None = None


class LiveView:
    """Shows events as they come: `with LiveView() as view: for event in events: view.show(event)`.

    In a terminal the last lines tell what is going on now; elsewhere there are only plain lines, none of which is
    ever changed. While a human is asked, nothing moves, so that there is a quiet line to answer on. However the `with`
    ends, the terminal is as it was before.
    """

    def __init__(self, console: Console | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console if console is not None else make_console()
        self._clock = clock
        self._levels: dict[int, _Level] = {}
        self._running: dict[tuple[int, str], Running] = {}
        self._spent: list[UsageChanged] = []
        self._live: Live | None = None
        self._entered = False
        # What was printed last: text stands apart from the lines about calls.
        self._last = ""

    def __enter__(self) -> Self:
        self._entered = True
        self._level(0)
        self._resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._end()
        finally:
            self._entered = False
            self._pause()

    def show(self, event: Event, depth: int = 0) -> None:
        """Show one event; `depth` is 1 or more for those of a run inside a call."""
        if self._live is None and self._entered:
            self._resume()
        level = self._level(depth)
        match event:
            case TextDelta(text):
                self._end_thoughts(level, depth)
                self._speak(level, text, depth)
            case ReasoningDelta(text):
                self._end_speech(level, depth)
                level.thoughts.append(text)
            case CallDelta(_, name, _):
                self._end_pieces(level, depth)
                level.writing = name or level.writing
            case CallStarted(call):
                self._end_pieces(level, depth)
                self._running[depth, call.id] = Running(call, self._clock(), depth)
            case CallFinished():
                self._end_pieces(level, depth)
                self._finish_call(event, depth)
            case UsageChanged():
                self._end_pieces(level, depth)
                level.usage, level.writing = event, ""
            case Waiting():
                self._end_pieces(level, depth)
                self._ask(event, depth)
            case Done(result):
                self._end_pieces(level, depth)
                self._finish(level, result, depth)

    def now(self) -> Now:
        """What is going on at this moment, for the last lines of the terminal."""
        levels = sorted(self._levels.items())
        began = levels[0][1].began if levels else self._clock()
        used = [*self._spent, *(level.usage for _, level in levels if level.usage)]
        deepest = levels[-1][1] if levels else None
        thought = "".join(deepest.thoughts[-50:]) if deepest else ""
        return Now(
            self._clock(),
            began,
            list(self._running.values()),
            deepest.blocks if deepest else None,
            thought,
            deepest.writing if deepest else "",
            used,
        )

    # Text and thoughts

    def _speak(self, level: _Level, text: str, depth: int) -> None:
        if not level.speaking:
            level.speaking, level.printed, level.gap = True, False, False
            level.said.clear()
        level.said.append(text)
        for block in level.blocks.feed(text):
            self._print_speech(level, block, depth)

    def _print_speech(self, level: _Level, block: str, depth: int) -> None:
        if not block.strip():
            level.gap = level.printed
            return
        if not level.printed:
            self._stand_apart("text")
        elif level.gap or not self._is_plain:
            self.console.print()
        level.printed, level.gap = True, False
        markdown = not self._is_plain
        self._print(renderable(text_result(block, markdown=True), full=True) if markdown else self._text(block), depth)

    def _end_speech(self, level: _Level, depth: int) -> None:
        if level.speaking:
            self._print_speech(level, level.blocks.finish(), depth)
            level.speaking = False

    def _end_thoughts(self, level: _Level, depth: int) -> None:
        thought = "".join(level.thoughts)
        level.thoughts = []
        if thought.strip():
            self._print_line(lines.StateLine("thought", thought, indent=2 * depth))

    def _end_pieces(self, level: _Level, depth: int) -> None:
        """Whatever comes next, what was streamed is complete."""
        self._end_thoughts(level, depth)
        self._end_speech(level, depth)

    # Calls and questions

    def _finish_call(self, event: CallFinished, depth: int) -> None:
        self._running.pop((depth, event.call.id), None)
        result, taken = event.result, event.record.duration / 1000
        note = lines.duration(taken) if taken else ""
        name, indent = lines.call_head(event.call), 2 * depth
        if result.is_error:
            self._print_line(lines.StateLine("failed", name, note=note, indent=indent))
            self._print_open(result.text, depth, "red")
            return
        self._print_line(lines.StateLine("done", name, lines.summary(result), note, indent))
        semantic = result.semantic
        # A result opens by itself only where its tool says so.
        if semantic is not None and semantic.display.collapsed is False and not semantic.display.hidden:
            self._print(renderable(semantic), depth, 2)

    def _ask(self, event: Waiting, depth: int) -> None:
        """The whole question: nobody can answer for what they were not shown."""
        self._stand_apart("line")
        asked = event.question
        if len(asked) > QUESTION:
            left_out = len(asked) - QUESTION
            asked = f"{asked[: QUESTION // 2]}\n[{left_out:,} characters not shown]\n{asked[-QUESTION // 2 :]}"
        self._print(Text.assemble(("? ", "yellow"), self._text(asked, "bold")), depth)
        self._pause()

    # The end

    def _finish(self, level: _Level, result: AIResult, depth: int) -> None:
        if result.value is not None and not self._has_said(level, result.value):
            self._stand_apart("text")
            shown = result.value if isinstance(result.value, str) else None
            told = text_result(shown, markdown=True) if shown is not None else structured(result.value)
            self._print(renderable(told, full=True), depth)
        calls = len(result.tool_calls)
        told = [f"{calls} call{'s' if calls > 1 else ''}"] if calls else []
        told += lines.spent(result.usage, result.cost)
        state = _STATES.get(result.outcome, "stopped")
        taken = lines.duration(self._clock() - level.began)
        self._print_line(lines.StateLine(state, result.outcome, " · ".join(told), taken, 2 * depth))
        if result.detail:
            self._print_open(result.detail, depth)
        if depth and level.usage:
            self._spent.append(level.usage)
        del self._levels[depth]

    def _has_said(self, level: _Level, value: Any) -> bool:
        said = "".join(level.said)
        if isinstance(value, str):
            return value.strip() == said.strip()
        return bool(said) and plain(parsed(said)) == plain(value)

    def _end(self) -> None:
        """What is still open when the run is left: text that was cut, calls that were interrupted."""
        for depth, level in sorted(self._levels.items()):
            self._end_pieces(level, depth)
        for running in self._running.values():
            note = lines.duration(self._clock() - running.since)
            name, indent = lines.call_head(running.call), 2 * running.depth
            self._print_line(lines.StateLine("stopped", name, "interrupted", note, indent))
        self._running.clear()
        self._levels.clear()

    # Printing

    @property
    def _is_plain(self) -> bool:
        return not (self.console.is_terminal and self.console.is_interactive)

    def _text(self, text: str, style: str = "") -> Text:
        return Text(safe(text, self.console.encoding), style, overflow="fold")

    def _print_line(self, line: lines.StateLine) -> None:
        self._stand_apart("line")
        self.console.print(line)

    def _print_open(self, text: str, depth: int, style: str = "") -> None:
        shown, count = head(text, ERROR_LINES)
        more = [f"[{count - len(shown):,} more lines]"] if count > len(shown) else []
        # A line may be as long as it likes, but not as long as to fill the screen many times.
        shown = [line if len(line) <= LONG_LINE else f"{line[:LONG_LINE]} […]" for line in shown]
        self._print(self._text("\n".join([*shown, *more]), style), depth, 2)

    def _print(self, what: RenderableType, depth: int, more: int = 0) -> None:
        indent = lines.indentation(2 * depth + more, self.console.width)
        self.console.print(Padding(what, (0, 0, 0, indent), expand=False) if indent else what)

    def _stand_apart(self, kind: str) -> None:
        """An empty line between text and what is not text."""
        if self._last and (self._last, kind) != ("line", "line"):
            self.console.print()
        self._last = kind

    # The moving lines

    def _level(self, depth: int) -> _Level:
        if depth not in self._levels:
            self._levels[depth] = _Level(self._clock(), Blocks(by_line=self._is_plain))
        return self._levels[depth]

    def _resume(self) -> None:
        if self._is_plain or self._live is not None:
            return
        self._live = Live(
            Status(self.now),
            console=self.console,
            refresh_per_second=REFRESHES,
            transient=True,
            # What others print appears above the moving lines, unless it goes elsewhere than to a terminal.
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
            vertical_overflow="crop",
        )
        try:
            self._live.start(refresh=True)
        except BaseException:
            self._pause()
            raise

    def _pause(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()
