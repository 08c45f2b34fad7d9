"""Live progress of model requests while a program runs, and one permanent line for each answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from antiphon.session import CallFinished, Event, RequestStarted, RunEnded
from antiphon.terminal import make_console
from antiphon.terminal import state_lines as lines
from antiphon.terminal.live_region import LiveRegion
from antiphon.terminal.markdown_blocks import MarkdownBlocks
from antiphon.terminal.scrollback import Scrollback
from antiphon.terminal.status_line import StatusRenderable, StatusSnapshot
from antiphon.views.run_state import RunView, RunViews
from antiphon.wire import TextDelta

#: Characters of a prompt in the line about its run.
_MAX_PROMPT_LENGTH = 60
#: Kinds of runs that ask a model; only these are shown.
_MODEL_RUN_KINDS = ("do", "vibe", "chat", "go_on")
_LINE_STATES = {"done": "done", "failed": "failed"}


class ProgramProgress:
    """Shows progress on standard error. Events of several models may arrive at once, from any thread."""

    def __init__(self) -> None:
        self._page = Scrollback(make_console(sys.stderr))
        self._moving = LiveRegion(self._page.console, StatusRenderable(self._now))
        self._views = RunViews()
        self._speeches: dict[str, MarkdownBlocks] = {}
        self._held = 0
        #: Permanent lines held back until a person has answered, so that typed text stays below the question.
        self._later: list[Callable[[], None]] = []
        self._is_closed = False

    @contextmanager
    def quiet(self) -> Generator[None]:
        """Stop the live display while a person is asked."""
        with self._moving.batch():
            self._held += 1
            self._moving.stop()
        try:
            yield
        finally:
            with self._moving.batch():
                self._held -= 1
                self._flush_pending()
                if self._asking():
                    self._move()

    def close(self) -> None:
        """Restore the terminal, even if threads are still at work."""
        with self._moving.batch():
            self._held += 1
            self._is_closed = True
            self._moving.stop()
            self._flush_pending()

    def show(self, event: Event) -> None:
        """Update the display with an event."""
        with self._moving.batch():
            run = self._views.take(event)
            match event.body:
                case TextDelta(text):
                    self._speeches.setdefault(run.id, MarkdownBlocks()).feed(text)
                case RequestStarted():
                    self._speeches.pop(run.id, None)
                case CallFinished(call, result, record):
                    self._print(partial(self._page.call, call, result, record.duration / 1000, 1))
                case RunEnded():
                    self._speeches.pop(run.id, None)
                    if run.kind in _MODEL_RUN_KINDS:
                        self._tell(run)
                case _:
                    pass
            if not self._asking():
                self._moving.stop()
            elif not self._held:
                self._move()

    def _asking(self) -> list[RunView]:
        return [each for each in self._views.active if each.kind in _MODEL_RUN_KINDS]

    def _tell(self, run: RunView) -> None:
        """Print the permanent line of a finished run."""
        prompt = " ".join(run.title.split())
        shown = prompt if len(prompt) <= _MAX_PROMPT_LENGTH else prompt[: _MAX_PROMPT_LENGTH - 1] + "…"
        used = lines.format_usage(run.usage, run.cost) if run.requests else []
        taken = lines.format_duration((run.ended or run.began) - run.began)
        about = " · ".join([run.model, *used])
        line = lines.StateLine(_LINE_STATES.get(run.state, "stopped"), f"{run.kind} {shown}", about, taken)
        self._print(partial(self._page.line, line))

    def _print(self, what: Callable[[], None]) -> None:
        self._later.append(what)
        if not self._held or self._is_closed:
            self._flush_pending()

    def _flush_pending(self) -> None:
        for what in self._later:
            what()
        self._later.clear()

    # The live display

    def _now(self) -> StatusSnapshot:
        asking = self._asking()
        speech = self._speeches.get(asking[-1].id) if asking else None
        return StatusSnapshot(asking, time.time(), speech)

    def _move(self) -> None:
        if not self._held and not self._page.is_plain:
            self._moving.start()
