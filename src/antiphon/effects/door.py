"""The one door through which effects go: whoever stands in it may answer for the world, refuse, or take notes.

A thread of work counts its effects, so that each has a path that does not depend on timing: `3` is the third, `3.1` the
first of what was begun with `async` there, `3[7].1` of the eighth round of a loop, `3/r2` the second request of a
session, `3/call_ab` a call of its model, and `3/call_ab/1` the first effect inside that call.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.effects.values import Effect, Outcome
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.providers.continuation import Pending


class HalfDone(AntiphonError):
    """An effect was begun and never ended, and it is not known whether it took effect."""


@dataclass(frozen=True, slots=True)
class Step:
    """An effect at its place. `preview` gives what asking a model would send; `subject` is the call of a tool."""

    path: str
    effect: Effect
    preview: Callable[[], bytes] | None = field(default=None, compare=False)
    subject: Any = field(default=None, compare=False, repr=False)


class Performer:
    """Somebody in the door. This one lets everything pass; others inherit from it."""

    #: Whether it keeps what is done, so that a run that needs a person can be left.
    waits: bool = False

    @property
    def run(self) -> str:
        """The name of the run under which it keeps what is done; none, where it keeps nothing."""
        return ""

    def before(self, step: Step) -> Outcome | None:
        """Give an outcome that is known already or stands for the world's; then nothing is done. Raising refuses it."""
        del step

    def after(self, step: Step, outcome: Outcome) -> None:
        """Take note of what came of it, whoever gave it. `Unsettled` is no end: it waits for something inside."""
        del step, outcome

    def delay(self, step: Step) -> float:
        """Return for how many seconds to wait, where the effect has to be done."""
        del step
        return 0.0

    def pending(self, path: str) -> Pending | None:
        """Return where it keeps the id of a response that is made in the background, if it does."""
        del path

    def hearing(self, path: str) -> AbstractContextManager[Callable[[str], object] | None]:
        """Return a context in which it takes the pieces of a model's answer as they come, if it wants them."""
        del path
        return nullcontext()


class Node:
    """A thread of work, which numbers its effects."""

    __slots__ = ("_count", "prefix")

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._count = 0

    @property
    def last(self) -> str:
        """The path of what it counted last."""
        return f"{self.prefix}{self._count}"

    def next(self) -> str:
        """The path of its next effect, or of what it starts."""
        self._count += 1
        return f"{self.prefix}{self._count}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where this code is: the node that counts, and who stands in the door, from the outside in."""

    node: Node = field(default_factory=Node)
    performers: tuple[Performer, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether somebody in the door keeps what is done here, so that a run that needs a person can be left."""
        return any(each.waits for each in self.performers)

    @property
    def run(self) -> str:
        """The name of the run under which somebody in the door keeps what is done here; none, if nobody does."""
        return next((each.run for each in self.performers if each.run), "")

    def perform(
        self, name: str, effect: Callable[[], Effect], do: Callable[[], Awaitable[Any]], **more: Any
    ) -> Awaitable[Any]:
        """What comes of an effect that has a name of its own here; where nobody stands in the door, it is just done."""
        if not self.performers:
            return do()
        return aperform(Step(f"{self.node.prefix}{name}", effect(), **more), do)

    def pending(self, name: str) -> Pending | None:
        """Return where somebody in the door keeps the id of a response that is made in the background."""
        path = f"{self.node.prefix}{name}"
        return next((found for each in self.performers if (found := each.pending(path)) is not None), None)

    @contextmanager
    def hearing(self, name: str) -> Generator[list[Callable[[str], object]]]:
        """Who in the door wants to hear the pieces of an answer to an effect that has a name of its own here."""
        with ExitStack() as stack:
            path = f"{self.node.prefix}{name}"
            heard = [stack.enter_context(each.hearing(path)) for each in self.performers]
            yield [each for each in heard if each is not None]


_nowhere = Place()
_place: ContextVar[Place] = ContextVar("antiphon_place", default=_nowhere)


def place() -> Place:
    """The place of this thread or task."""
    return _place.get()


@contextmanager
def at(where: Place) -> Generator[Place]:
    """Be at another place for a while; threads and tasks that are begun in it inherit it."""
    token = _place.set(where)
    try:
        yield where
    finally:
        _place.reset(token)


_private: ContextVar[bool] = ContextVar("antiphon_private", default=False)


def is_private() -> bool:
    """Whether what is done here is nobody's business: whoever writes it down seals it."""
    return _private.get()


@contextmanager
def privately() -> Generator[None]:
    """Do something that is nobody's business, and all that is begun in it."""
    token = _private.set(True)
    try:
        yield
    finally:
        _private.reset(token)


def below(path: str, performers: tuple[Performer, ...] | None = None) -> Place:
    """A place whose effects are numbered under a path: `3.`, `3[7].` or `3/`."""
    return Place(Node(path), place().performers if performers is None else performers)


def perform(step: Step, do: Callable[[], Any]) -> Any:
    """What comes of an effect: from whoever stands in the door, or of doing it."""
    passed: list[Performer] = []
    outcome = _known(step, passed)
    if outcome is None:
        if wait := _delay(step, passed):
            time.sleep(wait)
        try:
            outcome = Outcome(do())
        except Exception as error:
            outcome = Outcome(error=error)
    return _told(step, outcome, passed)


async def aperform(step: Step, do: Callable[[], Awaitable[Any]]) -> Any:
    """`perform`, asynchronously."""
    passed: list[Performer] = []
    outcome = _known(step, passed)
    if outcome is None:
        if wait := _delay(step, passed):
            from asyncio import sleep

            await sleep(wait)
        try:
            outcome = Outcome(await do())
        except Exception as error:
            outcome = Outcome(error=error)
    return _told(step, outcome, passed)


def _known(step: Step, passed: list[Performer]) -> Outcome | None:
    for each in place().performers:
        outcome = each.before(step)
        if outcome is not None:
            return outcome
        passed.append(each)
    return None


def _delay(step: Step, passed: list[Performer]) -> float:
    """For how many seconds to wait before it is done, if somebody in the door has a say in that."""
    return max([each.delay(step) for each in passed], default=0.0)


def _told(step: Step, outcome: Outcome, passed: list[Performer]) -> Any:
    for each in reversed(passed):
        each.after(step, outcome)
    return outcome.result()
