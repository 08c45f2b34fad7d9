"""What models are doing while a program runs: a few moving lines, and one that stays for each answer."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.live import Live

from antiphon.render import console, lines
from antiphon.render.blocks import Blocks
from antiphon.render.live import REFRESHES
from antiphon.render.scroll import Scroll
from antiphon.render.status import Now, Running, Status
from antiphon.session import CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from antiphon.lang.run.effects import AskModel

#: How much of a prompt is in the line about it.
_PROMPT = 60


@dataclass(slots=True)
class _Asking:
    """A model that is being asked."""

    effect: AskModel
    began: float
    speech: Blocks = field(default_factory=Blocks)
    thought: str = ""
    writing: str = ""
    used: UsageChanged | None = None
    running: dict[str, Running] = field(default_factory=dict[str, Running])
    is_done: bool = False


class Progress:
    """Shows on standard error what goes on. Several models may be asked at once, each from a thread of its own."""

    def __init__(self) -> None:
        self._page = Scroll(console(sys.stderr))
        self._lock = threading.RLock()
        self._asking: dict[int, _Asking] = {}
        self._live: Live | None = None
        self._held = 0

    @contextmanager
    def asking(self, effect: AskModel) -> Generator[None]:
        """While this thread asks."""
        me = threading.get_ident()
        with self._lock:
            around = self._asking.get(me)
            self._asking[me] = _Asking(effect, time.monotonic())
            self._move()
        try:
            yield
        finally:
            with self._lock:
                asked = self._asking.pop(me)
                if around is not None:
                    self._asking[me] = around
                self._rest()
                self._tell(asked)

    @contextmanager
    def quiet(self) -> Generator[None]:
        """While a human is asked, nothing moves."""
        with self._lock:
            self._held += 1
            self._stop()
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1
                if self._asking:
                    self._move()

    def close(self) -> None:
        """Give the terminal back, whatever threads may still be at."""
        with self._lock:
            self._held += 1
            self._stop()

    def show(self, event: Event) -> None:
        """Take in what happens to the model that this thread asks."""
        with self._lock:
            asking = self._asking.get(threading.get_ident())
            if asking is not None:
                self._take(asking, event)

    def _take(self, asking: _Asking, event: Event) -> None:
        match event:
            case TextDelta(text):
                asking.thought = ""
                asking.speech.feed(text)
            case ReasoningDelta(text):
                asking.thought = (asking.thought + text)[-2000:]
            case CallDelta(_, name, _):
                asking.writing = name or asking.writing
            case CallStarted(call):
                asking.running[call.id] = Running(call, time.monotonic(), 0)
            case CallFinished():
                asking.running.pop(event.call.id, None)
                state = "failed" if lines.has_failed(event.result) else "done"
                taken = lines.duration(event.record.duration / 1000)
                told = lines.summary(event.result)
                self._page.line(lines.StateLine(state, lines.call_head(event.call), told, taken, 2))
            case UsageChanged():
                asking.used, asking.writing, asking.thought = event, "", ""
                asking.speech = Blocks()
            case Waiting():
                pass
            case Done(result):
                asking.is_done = result.run.outcome == "done"

    def _tell(self, asked: _Asking) -> None:
        """The line that stays."""
        effect = asked.effect
        prompt = " ".join(effect.prompt.split())
        shown = prompt if len(prompt) <= _PROMPT else prompt[: _PROMPT - 1] + "…"
        used = lines.spent(asked.used.usage, asked.used.cost) if asked.used else []
        taken = lines.duration(time.monotonic() - asked.began)
        state = "done" if asked.is_done else "stopped"
        self._page.line(lines.StateLine(state, f"{effect.kind} {shown}", " · ".join([effect.model.name, *used]), taken))

    # The moving lines

    def _now(self) -> Now:
        """What is drawn. Without the lock: whoever draws holds a lock that others wait for while they hold ours."""
        now, asking = time.monotonic(), list(self._asking.values())
        began = min((each.began for each in asking), default=now)
        running = [call for each in asking for call in list(each.running.values())]
        used = [each.used for each in asking if each.used]
        if not asking:
            return Now(now, began, running, None, False, "", "", used)
        newest = asking[-1]
        return Now(now, began, running, newest.speech, False, newest.thought, newest.writing, used)

    def _move(self) -> None:
        if self._live is None and not self._held and not self._page.is_plain:
            self._live = Live(
                Status(self._now),
                console=self._page.console,
                refresh_per_second=REFRESHES,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),
                redirect_stderr=sys.stderr.isatty(),
                vertical_overflow="crop",
            )
            self._live.start(refresh=True)

    def _rest(self) -> None:
        if not self._asking:
            self._stop()

    def _stop(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()
