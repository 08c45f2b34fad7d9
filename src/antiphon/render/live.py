"""A running session in the terminal: finished things scroll by as ordinary lines, the last lines say what runs now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from antiphon.conversation import ToolCall
from antiphon.render import lines, renderable
from antiphon.render import console as make_console
from antiphon.render.blocks import Blocks
from antiphon.render.safe import safe
from antiphon.render.status import Now, Running, Status, is_terminal
from antiphon.results import plain, structured
from antiphon.results import text as text_result
from antiphon.session import AIResult, CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta

#: How much of an error's text is shown.
ERROR_LINES = 20
#: Often enough for a spinner, seldom enough to cost nothing.
REFRESHES = 8
_STATES = {"done": "done", "refused": "failed", "stuck": "failed", "empty": "failed"}


@dataclass(slots=True)
class _Level:
    """A run as far as it has come; nested runs have their own."""

    began: float
    blocks: Blocks = field(default_factory=Blocks)
    #: The text since it last began, to know at the end whether the answer has been seen.
    said: list[str] = field(default_factory=list[str])
    printed: bool = False
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
        level.said.append(text)
        if self._is_plain:
            for line in level.lines(text):
                self._print_speech(level, line, depth)
            return
        for block in level.blocks.feed(text):
            self._print_speech(level, block, depth)
