"""A run: something that goes on whether or not anybody looks, with events, a cost, and an end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Literal

from antiphon.effects.values import Said
from antiphon.errors import NotReadyError
from antiphon.session.endings import Cancelled, Waiting
from antiphon.session.events import (
    Asked,
    Body,
    Event,
    RunEnded,
    RunStarted,
    RunWaits,
    Settled,
    UsageChanged,
)
from antiphon.session.log import Log
from antiphon.session.people import People, Question, check_kind
from antiphon.session.portal import check_no_loop
from antiphon.session.result import AIResult, T
from antiphon.session.spent import current_spent, sum_of
from antiphon.wire import Usage

State = Literal["running", "waiting", "done", "failed", "cancelled"]
_current: ContextVar[Run[Any] | None] = ContextVar("antiphon_run", default=None)


def current_run() -> Run[Any] | None:
    """The run that this code is part of."""
    return _current.get()


class Run(Generic[T]):
    """Something that goes on: an asking of a model, a program, a round of a loop.

    Made by `Session.start`; in a journal it has the same `id`. `state` is one of running, waiting, done, failed,
    cancelled; `usage` and `cost` count the runs inside it too. All may be used from any thread.
    """

    def __init__(
        self,
        kind: str,
        title: str = "",
        *,
        model: str = "",
        people: People | None = None,
        parent: Run[Any] | None = None,
        id: str = "",
    ) -> None:
        self.id = id or os.urandom(8).hex()
        self.kind = kind
        self.title = title
        self.parent = parent if parent is not None else _current.get()
        self.people = people if people is not None or self.parent is None else self.parent.people
        self.state: State = "running"
        self.usage = Usage()
        self.cost: float | None = 0.0
        #: How often a model was asked.
        self.requests = 0
        self.children: list[Run[Any]] = []
        #: What it waits for.
        self.waiting: tuple[Question, ...] = ()
        self._spent = current_spent()
        self._family = {self.id}
        self._log = self.parent._log if self.parent is not None else Log()
        #: Something happened: for whoever makes it go on.
        self.tell: Callable[[Body], None] = partial(self._log.add, self.id)
        self._end: Future[AIResult[T]] = Future()
        self._said: dict[str, Said] = {}
        self._cancel: Callable[[], object] | None = None
        self._resume: Callable[[], object] | None = None
        #: The number of the event with which it ended, or since which nothing goes on.
        self._last: int | None = None
        # What a run begins after it was cancelled ends too.
        self.is_to_end = self.parent is not None and self.parent.is_to_end
        if self.parent is not None:
            self.parent._adopt(self)
        self.tell(RunStarted(kind, title, model, self.parent.id if self.parent is not None else None))

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.kind} {self.title[:40]!r}: {self.state}>"

    # Looking

    def wait(self, *, raises: bool = True) -> AIResult[T]:
        """The result, once it is there; what ended the run without one is raised, and `Waiting` where it waits.

        With `raises=False` nothing is raised: `state` says how it is, and there is a result only if it is `done`.
        """
        check_no_loop("wait", "await run")
        try:
            return self._end.result()
        except BaseException as error:
            if raises or isinstance(error, KeyboardInterrupt):
                raise
            return None  # type: ignore[return-value]

    def __await__(self) -> Generator[Any, None, AIResult[T]]:
        """`await run` is `run.wait()` for asynchronous code."""
        ended = asyncio.wrap_future(self._end)
        # Who was cancelled while waiting asks no more; asyncio would complain that nobody did.
        ended.add_done_callback(lambda future: future.cancelled() or future.exception())
        return asyncio.shield(ended).__await__()

    def events(self, since: int = 0) -> Generator[Event]:
        """What has happened from number `since` on, and then what happens, up to the end or until the run waits.

        Leaving the iteration ends nothing. Whoever answers what was `Asked` sees how it goes on.
        """
        check_no_loop("events", "aevents")
        return self._log.read(self._family, since, self._is_past)

    def aevents(self, since: int = 0) -> AsyncGenerator[Event]:
        """`events`, asynchronously."""
        return self._log.aread(self._family, since, self._is_past)

    def _is_past(self, number: int) -> bool:
        last = self._last
        return last is not None and number > last

    def subscribe(self, listener: Callable[[Event], object], since: int = 0) -> Callable[[], None]:
        """Have a function called with each event from number `since` on; gives the function that ends this.

        It is called where the event happens, in order, and should be quick. One that raises is not called again.
        """
        return self._log.subscribe(self._family, listener, since)

    # Acting

    def cancel(self) -> None:
        """End the run and those inside it: what is under way is interrupted, and the conversations can go on."""
        for run in list(self._all()):
            run._cancel_alone()

    def _cancel_alone(self) -> None:
        with self._log.lock:
            self.is_to_end = self.is_to_end or self._last is None
            cancel, waits = self._cancel, self._end.exception() if self._end.done() else None
            if isinstance(waits, Waiting) and self._last is not None:
                why = "the run was cancelled"
                self.fail(Cancelled(why, replace(waits.run, outcome="cancelled", detail=why, waiting=())))
        if cancel is not None:
            cancel()

    def answer(self, question: Question | str, text: str) -> None:
        """Answer a question, which may be named by its id; the run goes on once nothing else is open."""
        self._settle(question, Said(text), "question")

    def allow(self, question: Question | str, *, always: bool = False) -> None:
        """Let a call run; `always` holds for such calls from now on, as the session's `policy` says."""
        self._settle(question, Said(allowed=True, always=always), "approval")

    def deny(self, question: Question | str, why: str = "", *, always: bool = False) -> None:
        """Do not let it run; the model is told why."""
        self._settle(question, Said(why, allowed=False, always=always), "approval")

    def settle(self, question: Question | str, said: Said) -> None:
        """What a person said to a question of either kind; the run goes on once nothing else is open."""
        self._settle(question, said, None)

    def _settle(self, question: Question | str, said: Said, kind: str | None) -> None:
        run, found = self._asked(question)
        if kind is not None:
            check_kind(found, kind)
        if run.people is not None and found in run.people.open:
            run.people.settle(found, said)
        else:
            run.take(found, said)

    def _asked(self, question: Question | str) -> tuple[Run[Any], Question]:
        """The open question that is meant, and the run that asks it: models may number their calls alike."""
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

    def take(self, question: Question, said: Said) -> None:
        """An answer that comes while the run does not listen: it is there when it does, or makes it go on."""
        with self._log.lock:
            if question.id in self._said or question not in self.waiting:
                raise NotReadyError(f"question {question.id!r} has its answer already")
            if self._last is not None and self._resume is None:
                raise NotReadyError("this run is not going on; give the answer to its session, and then `go_on`")
            self._said[question.id] = said
            is_ready = all(each.id in self._said for each in self.waiting)
            resume = self._resume if is_ready else None
            if resume is not None:
                self._resume, self._last, self.state, self._end = None, None, "running", Future()
        if resume is not None:
            resume()

    # Telling: for whoever makes it go on

    def can_be_cancelled(self, cancel: Callable[[], object]) -> None:
        """This is how; unless it is over by now."""
        with self._log.lock:
            if self._last is None:
                self._cancel = cancel
                is_late = self.is_to_end
            else:
                is_late = False
        if is_late:
            cancel()

    def requested(self, times: int = 1) -> None:
        """A model is asked, here and so in all runs around."""
        with self._log.lock:
            run: Run[Any] | None = self
            while run is not None:
                run.requests += times
                if run._spent is not None:
                    run._spent.requests += times
                run = run.parent

    def count(self, usage: Usage, cost: float | None) -> None:
        """Add what was used, here and in all runs around."""
        with self._log.lock:
            run: Run[Any] | None = self
            while run is not None:
                run.usage = sum_of(run.usage, usage)
                run.cost = None if cost is None or run.cost is None else run.cost + cost
                if run._spent is not None:
                    run._spent.add(usage, cost)
                run.tell(UsageChanged(run.usage, run.cost))
                run = run.parent

    def ask(self, question: Question) -> None:
        """A person is asked; who is asked already is not told again."""
        with self._log.lock:
            self.state = "waiting"
            if question not in self.waiting:
                self.waiting = (*self.waiting, question)
                self.tell(Asked(question))

    def settled(self, question: Question, said: Said) -> None:
        """He has answered."""
        with self._log.lock:
            self.waiting = tuple(each for each in self.waiting if each.id != question.id)
            if not self.waiting:
                self.state = "running"
            self.tell(Settled(question, said))

    def said(self, id: str) -> Said | None:
        """The answer to a question that came while nobody listened; it is given once."""
        with self._log.lock:
            return self._said.pop(id, None)

    def suspend(
        self, error: Waiting, resume: Callable[[], object] | None, leave: Callable[[], object] = lambda: None
    ) -> bool:
        """Nothing goes on before its questions are answered. Whether that is so: answers may be there by now.

        `leave` is called before anybody is told.
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
        """It is done."""
        with self._log.lock:
            self._stop("done", RunEnded("done", result))
            self._end.set_result(result)

    def fail(self, error: BaseException) -> None:
        """It has ended without a result."""
        with self._log.lock:
            self.waiting = ()
            state: Literal["cancelled", "failed"] = "cancelled" if isinstance(error, Cancelled) else "failed"
            if self._end.done():
                self._end = Future()
            self._stop(state, RunEnded(state, error=error))
            self._end.set_exception(error)

    def _stop(self, state: State, body: Body) -> None:
        self.state, self._cancel, self._resume = state, None, None
        self._last = self._log.count
        self.tell(body)

    @contextmanager
    def active(self) -> Generator[None]:
        """What is begun in this thread or task is part of the run."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def _all(self) -> Iterator[Run[Any]]:
        yield self
        for child in list(self.children):
            yield from child._all()

    def _adopt(self, child: Run[Any]) -> None:
        self.children.append(child)
        run: Run[Any] | None = self
        while run is not None:
            run._family.add(child.id)
            run = run.parent
