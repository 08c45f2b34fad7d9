"""The reply to a message of a chat: its events as they happen, its result, and a way to stop it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from antiphon.session import AIResult, Event, Run, RunEnded, RunWaits


class Reply:
    """The reply to a message, which a thread of its own works on.

    `stop` ends it for good, `cancel` and `close` so that it can be resumed. All methods are thread-safe.
    """

    def __init__(self, since: int = 0, *, is_attended: bool = True) -> None:
        #: True if a person stopped it.
        self.is_stopped = False
        self._is_cancelled = False
        #: True if nobody who follows the events can answer a question any more.
        self._is_left = not is_attended
        self._run: Run[Any] | None = None
        #: The number of the first event; those before it belong to an earlier reply with the same run.
        self._since = since
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._wakers: list[Callable[[], object]] = []
        self._ended: Future[AIResult[Any]] = Future()

    @property
    def run(self) -> Run[Any] | None:
        """The run of the session, once it has started."""
        return self._run

    @property
    def is_over(self) -> bool:
        """True once everything is saved."""
        return self._ended.done()

    def events(self) -> Generator[Event]:
        """Yield the events, from the first one on, until the reply ends or waits for a person."""
        yield from self.read()
        self._leave()

    async def aevents(self) -> AsyncGenerator[Event]:
        """Like `events`, but asynchronous."""
        more, position = asyncio.Event(), 0
        wake = partial(asyncio.get_running_loop().call_soon_threadsafe, more.set)
        self._wakers = [*self._wakers, wake]
        try:
            while position < len(self._events) or not self.is_over:
                more.clear()
                if position == len(self._events) and not self.is_over:
                    await more.wait()
                    continue
                event, position = self._events[position], position + 1
                yield event
                if self._is_last(event, position):
                    break
        finally:
            self._wakers = [each for each in self._wakers if each is not wake]
            self._leave()

    def result(self) -> AIResult[Any]:
        """Wait until the reply has ended and is saved. Return the result, or raise why there is none."""
        self._leave()
        return self._ended.result()

    async def aresult(self) -> AIResult[Any]:
        """Like `result`, but asynchronous."""
        self._leave()
        return await asyncio.shield(asyncio.wrap_future(self._ended))

    def stop(self) -> None:
        """Stop for good: what was said stays, questions are closed, and the message is not resumed."""
        self.is_stopped = True
        self.cancel()

    def cancel(self) -> None:
        """Interrupt the work, which can be resumed."""
        self._is_cancelled = True
        self._leave()
        if self._run is not None and not self.is_over:
            self._run.cancel()

    def close(self) -> None:
        """Interrupt the work, unless it is over, and wait until everything is saved."""
        if not self.is_over:
            self.cancel()
        with suppress(Exception):
            self._ended.result()

    def follow(self) -> Generator[Event, None, None]:
        """Yield the events; closing the generator before the end closes the reply."""
        try:
            yield from self.events()
        except BaseException:
            self.close()
            raise

    # For the chat

    def start(self, start: Callable[[], Run[Any]]) -> Run[Any]:
        """Start the run. One that was stopped before keeps its message, and asks nothing."""
        run = start()
        self.listen(run)
        if self._is_cancelled:
            run.cancel()
        return run

    def listen(self, run: Run[Any]) -> None:
        """Take the events of the run. The first call counts, before the first request, so that no piece is missed."""
        with self._changed:
            is_first = self._run is None
            self._run = self._run or run
        if is_first:
            run.subscribe(self._put, self._since)
            if self._is_cancelled:
                # Before the first request, so that none is sent.
                run.cancel()

    def read(self, position: int = 0) -> Generator[Event]:
        """Yield the events from a position on, as `events` does, while others may answer questions."""
        while (event := self._wait_for_event(position)) is not None:
            position += 1
            yield event
            if self._is_last(event, position):
                return

    def _wait_for_event(self, position: int) -> Event | None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._events) > position or self.is_over)
            return self._events[position] if len(self._events) > position else None

    def wait_while_suspended(self) -> bool:
        """Wait until a suspended run goes on with its answers; return False if nobody can give them here."""
        with self._changed:
            self._changed.wait_for(lambda: self._run is None or not self._run.is_suspended or self._is_left)
            return self._run is not None and not self._run.is_suspended

    def finish(self, result: AIResult[Any] | BaseException) -> None:
        """End with a result, or with the reason why there is none."""
        if isinstance(result, BaseException):
            self._ended.set_exception(result)
        else:
            self._ended.set_result(result)
        self._notify()

    @property
    def next_number(self) -> int:
        """The number of the event after the last one."""
        return self._events[-1].seq + 1 if self._events else 0

    def _is_last(self, event: Event, position: int) -> bool:
        """Return whether the run ends or waits with this event, which stands before the position."""
        run = self._run
        if run is None or event.run != run.id:
            return False
        if isinstance(event.body, RunWaits):
            # Answered in the meantime, the run may wait for the next question already.
            with self._changed:
                return run.is_suspended and position == len(self._events)
        return isinstance(event.body, RunEnded)

    def _put(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
        self._notify()

    def _leave(self) -> None:
        self._is_left = True
        self._notify()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
        for wake in self._wakers:
            # The event loop of a reader that left may be closed.
            with suppress(RuntimeError):
                wake()
