"""A running session in the terminal: finished things scroll by as ordinary lines, the last lines say what runs now."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live

from antiphon.render import lines
from antiphon.render.blocks import Blocks
from antiphon.render.context import console as make_console
from antiphon.render.scroll import Question, Scroll, opened
from antiphon.render.status import Now, Running, Status
from antiphon.results import plain, structured
from antiphon.session import AIResult, CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
from antiphon.session.returns import parsed
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta

#: How many characters of a question are shown.
QUESTION = 8000
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
        self._page = Scroll(self.console)
        self._clock = clock
        self._levels: dict[int, _Level] = {}
        self._running: dict[tuple[int, str], Running] = {}
        self._spent: list[UsageChanged] = []
        self._live: Live | None = None
        self._entered = False

    def __enter__(self) -> Self:
        self._entered = True
        self._level(0)
        self._resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered = False
        self._pause()
        self._end()

    def show(self, event: Event, depth: int = 0) -> None:
        """Show one event; `depth` is 1 or more for those of a run inside a call."""
        if self._live is None and self._entered:
            self._resume()
        level = self._level(depth)
        # Whatever comes next, what was streamed before it is complete.
        if not isinstance(event, ReasoningDelta):
            self._end_thoughts(level, depth)
        if not isinstance(event, TextDelta):
            self._end_speech(level, depth)
        match event:
            case TextDelta(text):
                self._speak(level, text, depth)
            case ReasoningDelta(text):
                level.thoughts.append(text)
            case CallDelta(_, name, _):
                level.writing = name or level.writing
            case CallStarted(call):
                self._running[depth, call.id] = Running(call, self._clock(), depth)
            case CallFinished():
                self._finish_call(event, depth)
            case UsageChanged():
                level.usage, level.writing = event, ""
            case Waiting():
                self._ask(event, depth)
            case Done(result):
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
            deepest is not None and deepest.speaking and deepest.printed,
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
            self._page.stand_apart("text")
        elif level.gap or not self._page.is_plain:
            self.console.print()
        level.printed, level.gap = True, False
        self._page.put(self._page.text(block) if self._page.is_plain else self._page.markdown(block), depth)

    def _end_speech(self, level: _Level, depth: int) -> None:
        if level.speaking:
            self._print_speech(level, level.blocks.finish(), depth)
            level.speaking = False

    def _end_thoughts(self, level: _Level, depth: int) -> None:
        thought = "".join(level.thoughts)
        level.thoughts = []
        if thought.strip():
            self._page.line(lines.StateLine("thought", thought, indent=2 * depth))

    # Calls and questions

    def _finish_call(self, event: CallFinished, depth: int) -> None:
        self._running.pop((depth, event.call.id), None)
        result, taken = event.result, event.record.duration / 1000
        note = lines.duration(taken) if taken else ""
        name, indent = lines.call_head(event.call), 2 * depth
        if result.is_error:
            self._page.line(lines.StateLine("failed", name, note=note, indent=indent))
            self._page.open(result.text, depth, "red")
            return
        state = "failed" if lines.has_failed(result) else "done"
        self._page.line(lines.StateLine(state, name, lines.summary(result), note, indent))
        semantic = result.semantic
        # A result opens by itself only where its tool says so.
        if semantic is not None and semantic.display.collapsed is False and not semantic.display.hidden:
            self._page.put(opened(semantic, full=False), depth, 2)

    def _ask(self, event: Waiting, depth: int) -> None:
        """The whole question: nobody can answer for what they were not shown."""
        self._page.stand_apart("line")
        asked = event.question
        if len(asked) > QUESTION:
            left_out = len(asked) - QUESTION
            asked = f"{asked[: QUESTION // 2]}\n[{left_out:,} characters not shown]\n{asked[-QUESTION // 2 :]}"
        self._page.put(Question(self._page.text(asked, "bold")), depth)
        self._pause()

    # The end

    def _finish(self, level: _Level, result: AIResult, depth: int) -> None:
        if result.value is not None and not self._has_said(level, result.value):
            self._page.stand_apart("text")
            value = result.value
            self._page.put(self._page.markdown(value) if isinstance(value, str) else opened(structured(value)), depth)
        calls = len(result.tool_calls)
        told = [f"{calls} call{'s' if calls > 1 else ''}"] if calls else []
        told += lines.spent(result.run.usage, result.run.cost)
        state = _STATES.get(result.run.outcome, "stopped")
        taken = lines.duration(self._clock() - level.began)
        self._page.line(lines.StateLine(state, result.run.outcome, " · ".join(told), taken, 2 * depth))
        if result.run.detail:
            self._page.open(result.run.detail, depth)
        if depth and level.usage:
            self._spent.append(level.usage)
        del self._levels[depth]
        if not depth:
            self._spent.clear()
            # Nothing moves any more; another run may begin in the same view.
            self._pause()

    def _has_said(self, level: _Level, value: Any) -> bool:
        said = "".join(level.said)
        if isinstance(value, str):
            return value.strip() == said.strip()
        return bool(said) and plain(parsed(said)) == plain(value)

    def _end(self) -> None:
        """What is still open when the run is left: text that was cut, calls that were interrupted."""
        for depth, level in sorted(self._levels.items()):
            self._end_thoughts(level, depth)
            self._end_speech(level, depth)
        for running in self._running.values():
            note = lines.duration(self._clock() - running.since)
            name, indent = lines.call_head(running.call), 2 * running.depth
            self._page.line(lines.StateLine("stopped", name, "interrupted", note, indent))
        self._running.clear()
        self._levels.clear()

    # The moving lines

    def _level(self, depth: int) -> _Level:
        if depth not in self._levels:
            self._levels[depth] = _Level(self._clock(), Blocks(by_line=self._page.is_plain))
        return self._levels[depth]

    def _resume(self) -> None:
        if self._page.is_plain or self._live is not None:
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
