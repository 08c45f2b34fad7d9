"""The state of each thread of a program, and values that one thread starts and another uses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from antiphon.lang.runtime.models import ModelValue

if TYPE_CHECKING:
    from antiphon.lang.runtime.history import ProgramHistory
    from antiphon.lang.runtime.variable_updates import VariableFrame
    from antiphon.session import Run
    from antiphon.session.sync_bridge import CancelScope


def _make_empty_history() -> ProgramHistory:
    # Imported late: a program that asks nobody need not load the history's dependencies.
    from antiphon.lang.runtime.history import ProgramHistory

    return ProgramHistory()


@dataclass(slots=True)
class ThreadState:
    """The state of a thread of the program: its history and its current model."""

    history: ProgramHistory = field(default_factory=_make_empty_history)
    #: The history when the current function was entered.
    base: ProgramHistory = field(default_factory=_make_empty_history)
    model: ModelValue | None = None
    #: The variables of the enclosing functions, if this is a thread of its own.
    around: tuple[VariableFrame, ...] = ()
    #: The iteration of `async for` that this thread runs.
    iteration: LoopIteration | None = None
    #: The `async let` values used here: models see them and the history that led to them.
    joined: frozenset[PendingValue] = frozenset()
    #: The random generator of this thread, once it is needed.
    chance: Random | None = None
    #: The seed of the generator, if the parent thread had one.
    seed: str = ""

    def fork(self, around: Iterable[VariableFrame]) -> ThreadState:
        """Return a copy of the state for another thread."""
        return ThreadState(self.history.apart(), self.base, self.model, tuple(around), self.iteration, self.joined)


@dataclass(slots=True)
class LoopIteration:
    """An iteration of an `async for`; it becomes a run of its own with its first model call."""

    number: int
    outside: ThreadState
    run: Run[Any] | None = None


class PendingValue:
    """The future value of an `async let`."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.seen = False
        #: The scope by which its work can be cancelled.
        self.scope: CancelScope | None = None
        #: `join` adds its history to the thread that uses its value; `is_joined` tells if that has happened here.
        self.join: Callable[[], None] | None = None
        self.is_known: Callable[[], bool] = lambda: False

    def result(self) -> Any:
        """Wait for the value and return it; from its first use on, models are shown it."""
        self.done.wait()
        self.seen = True
        if self.error is not None:
            raise self.error
        if self.join is not None:
            self.join()
        return self.value


def wait_for_value(value: Any) -> Any:
    """Return the value of a variable declared with `async`, and wait for it if necessary."""
    return value.result() if type(value) is PendingValue else value
