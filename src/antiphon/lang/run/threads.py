"""Threads of a program: where each of them is, and what is begun in one and used in another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from antiphon.lang.run.models import ModelValue

if TYPE_CHECKING:
    from antiphon.lang.run.history import History
    from antiphon.lang.run.variables import Frame
    from antiphon.session import Run
    from antiphon.session.portal import CancelScope


def _nothing() -> History:
    # A program that asks nobody has no history, and needs nothing to keep one.
    from antiphon.lang.run.history import History

    return History()


@dataclass(slots=True)
class State:
    """Where a thread of the program is: what happened so far, and the model that is in force."""

    history: History = field(default_factory=_nothing)
    #: What had happened when the current function was entered.
    base: History = field(default_factory=_nothing)
    model: ModelValue | None = None
    #: The variables of the functions around, where this is a thread of its own.
    around: tuple[Frame, ...] = ()
    #: The round of a loop that this is, and the run of it once a model is asked there.
    round: Round | None = None
    #: The `async let` that were used here: their values and what they asked are part of what models are shown.
    joined: frozenset[Pending] = frozenset()
    #: Where chance comes from here, once it is wanted.
    chance: Random | None = None
    #: What it comes of, if whoever began this thread had chance before.
    seed: str = ""

    def fork(self, around: Iterable[Frame]) -> State:
        """The same for a thread of its own."""
        return State(self.history.apart(), self.base, self.model, tuple(around), self.round, self.joined)


@dataclass(slots=True)
class Round:
    """A round of an `async for`, which is a run of its own as soon as it asks somebody."""

    number: int
    outside: State
    run: Run[Any] | None = None


class Pending:
    """The value of an `async let` that is still to come."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.seen = False
        #: What it waits for belongs to this, where it can be given up.
        self.scope: CancelScope | None = None
        #: Called when its value is used, to take over what happened on the way to it; and whether that is so here.
        self.join: Callable[[], None] | None = None
        self.is_known: Callable[[], bool] = lambda: False

    def result(self) -> Any:
        """Wait for it. From its first use on it is part of what models are shown, whenever it was there."""
        self.done.wait()
        self.seen = True
        if self.error is not None:
            raise self.error
        if self.join is not None:
            self.join()
        return self.value


def wait(value: Any) -> Any:
    """The value of a variable declared with `async`."""
    return value.result() if type(value) is Pending else value
