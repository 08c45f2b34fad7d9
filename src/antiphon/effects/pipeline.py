"""The effect pipeline: every effect passes the middleware, which may answer, reject or record it.

A thread of execution counts its effects, so that each has a path that does not depend on timing. `3` is
the third effect, and `3.1` the first effect of a task started there with `async`. `3[7].1` is the first
effect in the eighth iteration of a loop. `3/r2` is the second request of a session, `3/call_ab` a tool
call of its model, and `3/call_ab/1` the first effect inside that call.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.effects import instrumentation
from antiphon.effects.types import Effect, Outcome
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.providers.batches import Deferral
    from antiphon.providers.continuation import Pending


class IndeterminateEffect(AntiphonError):
    """An effect started but has no recorded outcome, so it is unknown whether it completed."""


@dataclass(frozen=True, slots=True)
class EffectCall:
    """An effect and its path. `preview` returns the body of a model request; `subject` is the call of a tool."""

    path: str
    effect: Effect
    preview: Callable[[], bytes] | None = field(default=None, compare=False)
    subject: Any = field(default=None, compare=False, repr=False)
    #: Is told how many seconds the effect is delayed, and why.
    report_delay: Callable[[float, str], object] | None = field(default=None, compare=False, repr=False)


class Middleware:
    """Base class of middleware. It lets every effect pass; subclasses override what they need."""

    #: True if it saves effects, so that a run that needs a person can be suspended.
    is_durable: bool = False

    @property
    def run(self) -> str:
        """The id of the run in which effects are saved; empty if they are not saved."""
        return ""

    def get_trace_seed(self) -> str:
        """Return a text that is the same in all processes that work on the run, and unique; empty if there is none."""
        return ""

    def before(self, step: EffectCall) -> Outcome | None:
        """Return a known or substitute outcome to skip the effect, or None to let it pass. Raise to reject it."""
        del step

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Handle the outcome, wherever it came from.

        The error `Suspended` is not final: something inside the effect is still pending.
        """
        del step, outcome

    def handle_performed(self, step: EffectCall, outcome: Outcome) -> None:
        """Handle the outcome of an effect that was performed, before `after`. It is not called in a replay."""
        del step, outcome

    def delay(self, step: EffectCall) -> float:
        """Return the seconds to wait before the effect is performed."""
        del step
        return 0.0

    def pending(self, path: str) -> Pending | None:
        """Return where it keeps the id of a response that is made in the background, if it does."""
        del path

    def deferral(self, path: str) -> Deferral | None:
        """Return what answers the requests of a step from batches, if they are collected."""
        del path

    def stream_listener(self, path: str) -> AbstractContextManager[Callable[[str], object] | None]:
        """Return a context with a function that receives the streamed text of a model's answer, or with None."""
        del path
        return nullcontext()


class PathCounter:
    """Numbers the effects of one thread of execution."""

    __slots__ = ("_count", "prefix")

    def __init__(self, prefix: str = "", count: int = 0) -> None:
        self.prefix = prefix
        self._count = count

    @property
    def last(self) -> str:
        """The path that was assigned last."""
        return f"{self.prefix}{self._count}"

    def next(self) -> str:
        """Return the path for the next effect, or for a task that starts here."""
        self._count += 1
        return f"{self.prefix}{self._count}"


@dataclass(frozen=True, slots=True)
class EffectContext:
    """The context of the running code: its path counter and its middleware, outermost first."""

    node: PathCounter = field(default_factory=PathCounter)
    performers: tuple[Middleware, ...] = ()

    @property
    def is_durable(self) -> bool:
        """True if some middleware saves the effects, so that a run that needs a person can be suspended."""
        return any(each.is_durable for each in self.performers)

    @property
    def run(self) -> str:
        """The id of the run in which some middleware saves the effects; empty if none does."""
        return next((each.run for each in self.performers if each.run), "")

    def perform(
        self, name: str, effect: Callable[[], Effect], do: Callable[[], Awaitable[Any]], **more: Any
    ) -> Awaitable[Any]:
        """Perform an effect under a given name. Without middleware and instrumentation, call `do` directly."""
        if not self.performers and instrumentation.installed is None:
            return do()
        return aperform(EffectCall(f"{self.node.prefix}{name}", effect(), **more), do)

    def pending(self, name: str) -> Pending | None:
        """Return where a middleware keeps the id of a response that is made in the background."""
        path = f"{self.node.prefix}{name}"
        return next((found for each in self.performers if (found := each.pending(path)) is not None), None)

    def deferral(self, name: str) -> Deferral | None:
        """Return what answers the requests of the step with this name from batches."""
        path = f"{self.node.prefix}{name}"
        return next((found for each in self.performers if (found := each.deferral(path)) is not None), None)

    @contextmanager
    def stream_listeners(self, name: str) -> Generator[list[Callable[[str], object]]]:
        """Yield the functions that receive the streamed text of the effect with this name."""
        with ExitStack() as stack:
            path = f"{self.node.prefix}{name}"
            heard = [stack.enter_context(each.stream_listener(path)) for each in self.performers]
            if instrumentation.installed is not None:
                heard.append(instrumentation.installed.stream_listener())
            yield [each for each in heard if each is not None]


_EMPTY_CONTEXT = EffectContext()
_current_context: ContextVar[EffectContext] = ContextVar("antiphon_place", default=_EMPTY_CONTEXT)


def current_context() -> EffectContext:
    """Return the effect context of the current thread or task."""
    return _current_context.get()


@contextmanager
def use_context(where: EffectContext) -> Generator[EffectContext]:
    """Use another effect context inside the block. Threads and tasks started there inherit it."""
    token = _current_context.set(where)
    try:
        yield where
    finally:
        _current_context.reset(token)


_is_private_context: ContextVar[bool] = ContextVar("antiphon_private", default=False)


def is_effect_private() -> bool:
    """Return whether effects here are private, so that a journal encrypts them."""
    return _is_private_context.get()


@contextmanager
def private_effects() -> Generator[None]:
    """Mark the effects inside the block as private, including those of tasks started there."""
    token = _is_private_context.set(True)
    try:
        yield
    finally:
        _is_private_context.reset(token)


def child_context(path: str, performers: tuple[Middleware, ...] | None = None) -> EffectContext:
    """Return a context whose effects are numbered below a path: `3.`, `3[7].` or `3/`."""
    return EffectContext(PathCounter(path), current_context().performers if performers is None else performers)


def perform(step: EffectCall, do: Callable[[], Any]) -> Any:
    """Return the result of an effect: from the middleware, or by performing it."""
    passed: list[Middleware] = []
    outcome = _find_known_outcome(step, passed)
    if outcome is None:
        if wait := _compute_delay(step, passed):
            time.sleep(wait)
        with _observe(step) as observe:
            try:
                outcome = Outcome(do())
            except Exception as error:
                outcome = Outcome(error=error)
            observe(outcome)
        for each in passed:
            each.handle_performed(step, outcome)
    return _notify_after(step, outcome, passed)


async def aperform(step: EffectCall, do: Callable[[], Awaitable[Any]]) -> Any:
    """Like `perform`, but asynchronous."""
    passed: list[Middleware] = []
    outcome = _find_known_outcome(step, passed)
    if outcome is None:
        if wait := _compute_delay(step, passed):
            from asyncio import sleep

            await sleep(wait)
        with _observe(step) as observe:
            try:
                outcome = Outcome(await do())
            except Exception as error:
                outcome = Outcome(error=error)
            observe(outcome)
        for each in passed:
            each.handle_performed(step, outcome)
    return _notify_after(step, outcome, passed)


_UNOBSERVED: nullcontext[Callable[[Outcome], object]] = nullcontext(lambda _: None)


def _observe(step: EffectCall) -> AbstractContextManager[Callable[[Outcome], object]]:
    return _UNOBSERVED if instrumentation.installed is None else instrumentation.installed.effect(step)


def _find_known_outcome(step: EffectCall, passed: list[Middleware]) -> Outcome | None:
    for each in current_context().performers:
        outcome = each.before(step)
        if outcome is not None:
            return outcome
        passed.append(each)
    return None


def _compute_delay(step: EffectCall, passed: list[Middleware]) -> float:
    """Return the longest delay in seconds that the middleware asks for."""
    return max([each.delay(step) for each in passed], default=0.0)


def _notify_after(step: EffectCall, outcome: Outcome, passed: list[Middleware]) -> Any:
    for each in reversed(passed):
        each.after(step, outcome)
    return outcome.result()
