"""A run that is only begun in the journal when there is something to write down."""

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

#: A program that prints more than this is one to come back to, whatever else it does.
_MAX_BUFFERED_LINES = 1_000


class LazyRun(Middleware):
    """Stands in the door. What a program prints, it prints again when it is begun anew: that needs no journal.

    `begin` begins the run with what was printed so far, or gives nothing where nothing is to be written down. Where it
    cannot write, the first effect is refused: what cannot be written down is not done.
    """

    #: A run that is left can be gone on with.
    is_durable = True

    def __init__(self, begin: Callable[[Sequence[PrintedLine]], ActiveRun | None]) -> None:
        self._begin = begin
        self._running: ActiveRun | None = None
        self._printed: list[tuple[EffectCall, bool]] = []
        self._lock = threading.Lock()

    @classmethod
    def resume(cls, running: ActiveRun) -> LazyRun:
        """One that has been begun before."""
        late = cls(lambda _: running)
        late._running = running
        return late

    @property
    def running(self) -> ActiveRun | None:
        """The run, once it is begun."""
        return self._running

    @property
    def id(self) -> str:
        """The name of the run; none, while it has none."""
        return self._running.id if self._running is not None else ""

    @property
    def run(self) -> str:
        """The same, for whoever names what is done in it."""
        return self.id

    def pending(self, path: str) -> Pending | None:
        """Return where the journal keeps the id of a response that is made in the background."""
        return None if self._running is None else self._running.middleware.pending(path)

    def hearing(self, path: str) -> AbstractContextManager[Callable[[str], object] | None]:
        """Take the pieces of an answer as they come, for whoever looks at the run."""
        return nullcontext() if self._running is None else self._running.middleware.hearing(path)

    def before(self, step: EffectCall) -> Outcome | None:
        """Whatever the journal knows of it."""
        with self._lock:
            if self._running is None and self.is_durable:
                if step.effect.kind == "print" and len(self._printed) < _MAX_BUFFERED_LINES:
                    self._printed.append((step, is_effect_private()))
                    return None
                self._open()
        return None if self._running is None else self._running.middleware.before(step)

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Told to the journal, where there is a run in it."""
        if self._running is not None:
            self._running.middleware.after(step, outcome)

    def finish(self, state: str, ending: Mapping[str, Any]) -> None:
        """Let go of the run, if there is one."""
        if self._running is not None:
            self._running.finish(state, ending)

    def _open(self) -> None:
        from antiphon.durable import JournalFailed
        from antiphon.durable.journal_middleware import PrintedLine

        try:
            self._running = self._begin([PrintedLine(*each) for each in self._printed])
        except StoreError as error:
            raise JournalFailed(
                f"the program stops before its first effect, because that cannot be written down: {error};"
                " `--no-journal` runs it all the same"
            ) from error
        self.is_durable = self._running is not None
        self._printed.clear()
