"""What models are doing while a program runs: a few moving lines, and one that stays for each answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from antiphon.render import console, lines
from antiphon.render.blocks import Blocks
from antiphon.render.moving import Moving
from antiphon.render.scroll import Scroll
from antiphon.render.status import Now, Status, now_of
from antiphon.session import CallFinished, Event, RequestStarted, RunEnded
from antiphon.views.run import RunView, RunViews
from antiphon.wire import TextDelta

#: How much of a prompt is in the line about it.
_PROMPT = 60
#: The runs in which a model is asked; programs and rounds are told of by these.
_ASKS = ("do", "vibe", "chat", "go_on")
_STATES = {"done": "done", "failed": "failed"}


class Progress:
    """Shows on standard error what goes on. Several models may be asked at once, from any thread."""

    def __init__(self) -> None:
        self._page = Scroll(console(sys.stderr))
        self._moving = Moving(self._page.console, Status(self._now))
        self._views = RunViews()
        self._speeches: dict[str, Blocks] = {}
        self._held = 0
        #: Prints lines that stay, and wait until a person has answered: what is typed belongs under the question.
        self._later: list[Callable[[], None]] = []
        self._is_closed = False

    @contextmanager
    def quiet(self) -> Generator[None]:
        """While a person is asked, nothing moves."""
        with self._moving.together():
            self._held += 1
            self._moving.stop()
        try:
            yield
        finally:
            with self._moving.together():
                self._held -= 1
                self._print_later()
                if self._asking():
                    self._move()

    def close(self) -> None:
        """Give the terminal back, whatever threads may still be at."""
        with self._moving.together():
            self._held += 1
            self._is_closed = True
            self._moving.stop()
            self._print_later()

    def show(self, event: Event) -> None:
        """Take in what happens."""
        with self._moving.together():
            run = self._views.take(event)
            match event.body:
                case TextDelta(text):
                    self._speeches.setdefault(run.id, Blocks()).feed(text)
                case RequestStarted():
                    self._speeches.pop(run.id, None)
                case CallFinished(call, result, record):
                    self._print(partial(self._page.call, call, result, record.duration / 1000, 1))
                case RunEnded():
                    self._speeches.pop(run.id, None)
                    if run.kind in _ASKS:
                        self._tell(run)
                case _:
                    pass
            if not self._asking():
                self._moving.stop()
            elif not self._held:
                self._move()

    def _asking(self) -> list[RunView]:
        return [each for each in self._views.active if each.kind in _ASKS]

    def _tell(self, run: RunView) -> None:
        """The line that stays."""
        prompt = " ".join(run.title.split())
        shown = prompt if len(prompt) <= _PROMPT else prompt[: _PROMPT - 1] + "…"
        used = lines.spent(run.usage, run.cost) if run.requests else []
        taken = lines.duration((run.ended or run.began) - run.began)
        about = " · ".join([run.model, *used])
        line = lines.StateLine(_STATES.get(run.state, "stopped"), f"{run.kind} {shown}", about, taken)
        self._print(partial(self._page.line, line))

    def _print(self, what: Callable[[], None]) -> None:
        self._later.append(what)
        if not self._held or self._is_closed:
            self._print_later()

    def _print_later(self) -> None:
        for what in self._later:
            what()
        self._later.clear()

    # The moving lines

    def _now(self) -> Now:
        asking = self._asking()
        speech = self._speeches.get(asking[-1].id) if asking else None
        return now_of(asking, time.time(), speech)

    def _move(self) -> None:
        if not self._held and not self._page.is_plain:
            self._moving.start()
