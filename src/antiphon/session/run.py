"""A run: a task in the background with events, a cost and an end, whether or not anyone watches it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Literal

from antiphon.effects.budget import NO_LIMITS, Budget, Limits, Spending
from antiphon.effects.types import HumanAnswer
from antiphon.errors import NotReadyError
from antiphon.session.event_log import EventLog
from antiphon.session.events import (
    Event,
    EventBody,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunStarted,
    RunWaits,
    UsageChanged,
)
from antiphon.session.exceptions import Cancelled, NeedsHuman
from antiphon.session.human_input import HumanInput, Question, check_question_kind
from antiphon.session.result import AIResult, T
from antiphon.session.sync_bridge import check_no_running_loop
from antiphon.wire import Usage


@dataclass(slots=True)
class RunCounts:
    """The requests and tool calls that count for the limits of a run, and of those inside it that share them."""

    requests: int = 0
    tool_calls: int = 0


RunState = Literal["running", "waiting", "done", "failed", "cancelled"]
#: The run that the current code is part of, and the budget of what it starts.
_active: ContextVar[tuple[Run[Any], Budget] | None] = ContextVar("antiphon_run", default=None)


def current_run() -> Run[Any] | None:
    """Return the run that the current code is part of, or None."""
    active = _active.get()
    return None if active is None else active[0]


class Run(Generic[T]):
    """A running task: a model request with its tools, a program, or an iteration of a loop.

    `Session.start` creates one; in a journal it has the same `id`. `state` is running, waiting, done, failed
    or cancelled. `usage` and `cost` include the runs inside it. All methods are thread-safe.
    """

    def __init__(
        self,
        kind: str,
        title: str = "",
        *,
        model: str = "",
        people: HumanInput | None = None,
        parent: Run[Any] | None = None,
        id: str = "",
        limits: Limits = NO_LIMITS,
        shares_limits: bool = False,
    ) -> None:
        self.id = id or os.urandom(8).hex()
        self.kind = kind
        self.title = title
        around, budget = _active.get() or (None, None)
        if parent is not None and parent is not around:
            around, budget = parent, parent.budget
        self.parent = around
        #: The counts for the limits; with `shares_limits`, those of the run around it.
        self.counts = RunCounts()
        if shares_limits and self.parent is not None:
            self.counts, outer = self.parent.counts, self.parent.limits
            limits = replace(NO_LIMITS, requests=outer.requests, tool_calls=outer.tool_calls)
        #: The budget counts this run and the runs inside it.
        self.budget = Budget(limits, f"session:{self.id}", parent=budget)
        #: The budget whose limits hold now: that of the run, or that of the agent to which it was handed.
        self.limited, self.limits = self.budget, limits
        self.people = people if people is not None or self.parent is None else self.parent.people
        self.state: RunState = "running"
        self.children: list[Run[Any]] = []
        #: The questions that have no answer yet.
        self.waiting: tuple[Question, ...] = ()
        self._family_ids = {self.id}
        self._log = self.parent._log if self.parent is not None else EventLog()
        #: Emits an event. For the code that drives the run.
        self.tell: Callable[[EventBody], None] = partial(self._log.add, self.id)
        self._end: Future[AIResult[T]] = Future()
        self._said: dict[str, HumanAnswer] = {}
        self._cancel: Callable[[], object] | None = None
        self._resume: Callable[[], object] | None = None
        #: The number of the event that ended or suspended the run.
        self._last: int | None = None
        # A run that starts inside a cancelled run is cancelled too.
        self.is_cancel_requested = self.parent is not None and self.parent.is_cancel_requested
        if self.parent is not None:
            self.parent._add_child(self)
        self.tell(RunStarted(kind, title, model, self.parent.id if self.parent is not None else None))

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.kind} {self.title[:40]!r}: {self.state}>"

    @property
    def usage(self) -> Usage:
        """The tokens of this run and of the runs inside it."""
        return self.budget.spent.usage

    @property
    def cost(self) -> float | None:
        """The cost of this run and of the runs inside it in US dollars; `None` if unknown."""
        return self.budget.spent.cost

    @property
    def requests(self) -> int:
        """The number of model requests of this run and of the runs inside it."""
        return self.budget.spent.requests

    @property
    def is_suspended(self) -> bool:
        """True while the run waits for its answers and nothing drives it."""
        # Without the lock of the events, which listeners hold while they wait for locks of their own.
        return self.state == "waiting" and self._last is not None

    # Watching

    def wait(self, *, raises: bool = True) -> AIResult[T]:
        """Wait for the result and return it. Raise the error that ended the run, or `NeedsHuman` if it is suspended.

        With `raises=False` nothing is raised: `state` tells how the run ended, and there is a result only if it
        is `done`.
        """
        check_no_running_loop("wait", "await run")
        try:
            return self._end.result()
        except BaseException as error:
            if raises or isinstance(error, KeyboardInterrupt):
                raise
            return None  # type: ignore[return-value]

    def __await__(self) -> Generator[Any, None, AIResult[T]]:
        """Make `await run` the asynchronous form of `run.wait()`."""
        ended = asyncio.wrap_future(self._end)
        # Retrieve the exception even if the waiting task was cancelled, so that asyncio does not warn.
        ended.add_done_callback(lambda future: future.cancelled() or future.exception())
        return asyncio.shield(ended).__await__()

    def events(self, since: int = 0) -> Generator[Event]:
        """Yield the events from number `since` on, as they happen, until the run ends or is suspended.

        Leaving the iteration does not end the run. After a `QuestionAsked` is answered, the iteration continues.
        """
        check_no_running_loop("events", "aevents")
        return self._log.read(self._family_ids, since, self._is_past)

    def aevents(self, since: int = 0) -> AsyncGenerator[Event]:
        """Like `events`, but asynchronous."""
        return self._log.aread(self._family_ids, since, self._is_past)

    def _is_past(self, number: int) -> bool:
        last = self._last
        return last is not None and number > last

    def subscribe(self, listener: Callable[[Event], object], since: int = 0) -> Callable[[], None]:
        """Call a function with each event from number `since` on. Return the function that unsubscribes.

        It is called in the thread of the event, in order, and should be fast. A listener that raises is removed.
        """
        return self._log.subscribe(self._family_ids, listener, since)

    # Controlling

    def cancel(self) -> None:
        """Cancel the run and all runs inside it. Current work is interrupted, and the conversations can be resumed."""
        for run in list(self._all()):
            run._cancel_self()

    def _cancel_self(self) -> None:
        with self._log.lock:
            self.is_cancel_requested = self.is_cancel_requested or self._last is None
            cancel, waits = self._cancel, self._end.exception() if self._end.done() else None
            if isinstance(waits, NeedsHuman) and self._last is not None:
                why = "the run was cancelled"
                self.fail(Cancelled(why, replace(waits.run, outcome="cancelled", detail=why, waiting=())))
        if cancel is not None:
            cancel()

    def answer(self, question: Question | str, text: str) -> None:
        """Answer a question, given itself or by its id. The run resumes once no other question is open."""
        self._settle(question, HumanAnswer(text), "question")

    def allow(self, question: Question | str, *, always: bool = False) -> None:
        """Approve a call. `always` also covers later calls of this kind, as stored in the session's `policy`."""
        self._settle(question, HumanAnswer(allowed=True, always=always), "approval")

    def deny(self, question: Question | str, why: str = "", *, always: bool = False) -> None:
        """Deny a call. The model is told the reason."""
        self._settle(question, HumanAnswer(why, allowed=False, always=always), "approval")

    def deliver(self, question: Question | str, value: object = None, *, error: str = "") -> None:
        """Give the result of a call that runs elsewhere, or the reason why there is none."""
        from antiphon.session.pending_answers import make_delivery

        self._settle(question, make_delivery(value, error), "result")

    def settle(self, question: Question | str, said: HumanAnswer) -> None:
        """Submit the answer to a question of either kind. The run resumes once no other question is open."""
        self._settle(question, said, None)

    def _settle(self, question: Question | str, said: HumanAnswer, kind: str | None) -> None:
        run, found = self._asked(question)
        if kind is not None:
            check_question_kind(found, kind)
        if run.people is not None and found in run.people.open:
            run.people.settle(found, said)
        else:
            run.take(found, said)

    def _asked(self, question: Question | str) -> tuple[Run[Any], Question]:
        """Return an open question and the run that asks it.

        Ids are not unique across runs, because models may number their calls alike.
        """
        open_now = [(run, each) for run in self._all() for each in run.waiting]
        named = isinstance(question, str)
        meant = [(run, each) for run, each in open_now if (each.id == question if named else each == question)]
        if len(meant) == 1:
            return meant[0]
        id = question if isinstance(question, str) else question.id
        if meant:
            raise NotReadyError(f"{len(meant)} runs have an open question {id!r}; give the question, not its id")
        open_ids = ", ".join(each.id for _, each in open_now) or "none"
        raise NotReadyError(f"no question {id!r} is open in this run; open: {open_ids}")

    def take(self, question: Question, said: HumanAnswer) -> None:
        """Store an answer that arrives while the run is not listening. Resume the run if it was the last one."""
        with self._log.lock:
            if question.id in self._said or question not in self.waiting:
                raise NotReadyError(f"question {question.id!r} has its answer already")
            if self._last is not None and self._resume is None:
                raise NotReadyError("this run is not going on; give the answer to its session, and then `resume`")
            self._said[question.id] = said
            is_ready = all(each.id in self._said for each in self.waiting)
            resume = self._resume if is_ready else None
            if resume is not None:
                self._resume, self._last, self.state, self._end = None, None, "running", Future()
        if resume is not None:
            resume()

    # For the code that drives the run

    def set_cancel_callback(self, cancel: Callable[[], object]) -> None:
        """Set the function that cancels the run, unless the run is over. Call it now if cancellation was requested."""
        with self._log.lock:
            if self._last is None:
                self._cancel = cancel
                is_late = self.is_cancel_requested
            else:
                is_late = False
        if is_late:
            cancel()

    def count(self, spent: Spending) -> None:
        """Count the usage of a reply in this run and in all runs around it, and emit events."""
        with self._log.lock:
            total = self.limited.add(spent)
            if self.limited is not self.budget:
                total = self.budget.spent
            self.tell(UsageChanged(total.usage, total.cost))
            run = self.parent
            while run is not None:
                total = run.budget.spent
                run.tell(UsageChanged(total.usage, total.cost))
                run = run.parent

    def set_limits(self, limits: Limits) -> None:
        """Set other limits from here on. Those of the run still hold for tokens and cost."""
        self.counts = RunCounts()
        self.limited, self.limits = Budget(limits, self.budget.scope, parent=self.budget), limits

    def ask(self, question: Question) -> None:
        """Open a question to a person and emit an event. A question that is already open is ignored."""
        with self._log.lock:
            self.state = "waiting"
            if question not in self.waiting:
                self.waiting = (*self.waiting, question)
                self.tell(QuestionAsked(question))

    def close_question(self, question: Question, said: HumanAnswer) -> None:
        """Close a question that was answered, and emit an event."""
        with self._log.lock:
            self.waiting = tuple(each for each in self.waiting if each.id != question.id)
            if not self.waiting:
                self.state = "running"
            self.tell(QuestionAnswered(question, said))

    def said(self, id: str) -> HumanAnswer | None:
        """Return and remove an answer that arrived while the run was not listening."""
        with self._log.lock:
            return self._said.pop(id, None)

    def suspend(
        self, error: NeedsHuman, resume: Callable[[], object] | None, leave: Callable[[], object] = lambda: None
    ) -> bool:
        """Suspend the run until all questions are answered. Return False if answers are already there.

        `leave` is called before listeners are notified.
        """
        with self._log.lock:
            if self._said:
                self.state = "running"
                return False
            leave()
            self._stop("waiting", RunWaits(self.waiting))
            self._resume = resume
            self._end.set_exception(error)
            return True

    def finish(self, result: AIResult[T]) -> None:
        """End the run with a result."""
        with self._log.lock:
            self._stop("done", RunEnded("done", result))
            self._end.set_result(result)

    def fail(self, error: BaseException) -> None:
        """End the run with an error."""
        with self._log.lock:
            self.waiting = ()
            state: Literal["cancelled", "failed"] = "cancelled" if isinstance(error, Cancelled) else "failed"
            if self._end.done():
                self._end = Future()
            self._stop(state, RunEnded(state, error=error))
            self._end.set_exception(error)

    def _stop(self, state: RunState, body: EventBody) -> None:
        self.state, self._cancel, self._resume = state, None, None
        self._last = self._log.count
        self.tell(body)

    @contextmanager
    def active(self, budget: Budget | None = None) -> Generator[None]:
        """Make everything that this thread or task starts inside the block part of the run.

        `budget` counts it; the default is the budget that already counts in this run, or that of the run.
        """
        around, current = _active.get() or (None, None)
        token = _active.set((self, budget or (current if around is self else None) or self.limited))
        try:
            yield
        finally:
            _active.reset(token)

    def _all(self) -> Iterator[Run[Any]]:
        yield self
        for child in list(self.children):
            yield from child._all()

    def _add_child(self, child: Run[Any]) -> None:
        self.children.append(child)
        run: Run[Any] | None = self
        while run is not None:
            run._family_ids.add(child.id)
            run = run.parent
