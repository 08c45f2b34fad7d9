"""Runs that are created in the journal at their first effect."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from antiphon.effects.pipeline import EffectCall, Middleware, is_effect_private
from antiphon.errors import StoreError

if TYPE_CHECKING:
    from antiphon.durable import ActiveRun
    from antiphon.durable.journal_middleware import PrintedLine
    from antiphon.effects import Outcome
    from antiphon.providers.continuation import Pending

#: After this many lines the run is created even without other effects.
_MAX_BUFFERED_LINES = 1_000


class LazyRun(Middleware):
    """Middleware that creates its run at the first effect that is more than a printed line.

    `begin` creates the run with the lines printed so far, or returns None to save nothing. If it cannot write, the
    first effect is rejected.
    """

    #: A suspended run can be resumed.
    is_durable = True

    def __init__(self, begin: Callable[[Sequence[PrintedLine]], ActiveRun | None]) -> None:
        self._begin = begin
        self._running: ActiveRun | None = None
        self._printed: list[tuple[EffectCall, bool]] = []
        self._lock = threading.Lock()

    @classmethod
    def resume(cls, running: ActiveRun) -> LazyRun:
        """Return a lazy run for a run that exists already."""
        late = cls(lambda _: running)
        late._running = running
        return late

    @property
    def running(self) -> ActiveRun | None:
        """The run, once it exists."""
        return self._running

    @property
    def id(self) -> str:
        """The id of the run; empty before it exists."""
        return self._running.id if self._running is not None else ""

    @property
    def run(self) -> str:
        """The id of the run, for the effect pipeline."""
        return self.id

    def pending(self, path: str) -> Pending | None:
        """Return where the journal keeps the id of a response that is made in the background."""
        return None if self._running is None else self._running.middleware.pending(path)

    def hearing(self, path: str) -> AbstractContextManager[Callable[[str], object] | None]:
        """Return a context with a function that publishes the chunks of an answer."""
        return nullcontext() if self._running is None else self._running.middleware.hearing(path)

    def before(self, step: EffectCall) -> Outcome | None:
        """Return the saved outcome; create the run if needed."""
        with self._lock:
            if self._running is None and self.is_durable:
                if step.effect.kind == "print" and len(self._printed) < _MAX_BUFFERED_LINES:
                    self._printed.append((step, is_effect_private()))
                    return None
                self._open()
        return None if self._running is None else self._running.middleware.before(step)

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Save the outcome, if the run exists."""
        if self._running is not None:
            self._running.middleware.after(step, outcome)

    def finish(self, state: str, ending: Mapping[str, Any]) -> None:
        """Release the run, if it exists."""
        if self._running is not None:
            self._running.finish(state, ending)

    def _open(self) -> None:
        from antiphon.durable import JournalFailed
        from antiphon.durable.journal_middleware import PrintedLine

        try:
            self._running = self._begin([PrintedLine(*each) for each in self._printed])
        except StoreError as error:
            raise JournalFailed(
                f"the program stops before its first step, because the database cannot be written: {error};"
                " run it without saving with `--no-save`"
            ) from error
        self.is_durable = self._running is not None
        self._printed.clear()
