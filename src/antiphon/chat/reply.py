"""The reply to a message of a chat: its events as they happen, its result, and a way to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from antiphon.errors import NotReadyError
from antiphon.session import AIResult, Event, Run


class Reply:
    """The reply to a message, which a thread of its own works on.

    `stop` ends it for good, `cancel` and `close` so that it can be resumed. All methods are thread-safe.
    """

    def __init__(self) -> None:
        #: True if a person stopped it.
        self.is_stopped = False
        self._is_cancelled = False
        self._started: Future[Run[Any] | None] = Future()
        self._ended: Future[AIResult[Any]] = Future()

    @property
    def run(self) -> Run[Any] | None:
        """The run of the session, once it has started."""
        return self._started.result() if self._started.done() else None

    @property
    def is_over(self) -> bool:
        """True once everything is saved."""
        return self._ended.done()

    def events(self) -> Generator[Event]:
        """Yield the events until the reply ends or waits for a person."""
        run = self._started.result()
        if run is not None:
            yield from run.events()

    async def aevents(self) -> AsyncGenerator[Event]:
        """Like `events`, but asynchronous."""
        run = await asyncio.shield(asyncio.wrap_future(self._started))
        if run is not None:
            async for event in run.aevents():
                yield event

    def result(self) -> AIResult[Any]:
        """Wait until the reply has ended and is saved. Return the result, or raise why there is none."""
        return self._ended.result()

    async def aresult(self) -> AIResult[Any]:
        """Like `result`, but asynchronous."""
        return await asyncio.shield(asyncio.wrap_future(self._ended))

    def stop(self) -> None:
        """Stop for good: what was said stays, questions are closed, and the message is not resumed."""
        self.is_stopped = True
        self.cancel()

    def cancel(self) -> None:
        """Interrupt the work, which can be resumed."""
        self._is_cancelled = True
        if (run := self.run) is not None and not self.is_over:
            run.cancel()

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
        """Start the run."""
        if self._is_cancelled:
            raise NotReadyError("the answer was stopped before it began")
        run = start()
        self._started.set_result(run)
        if self._is_cancelled:
            run.cancel()
        return run

    def finish(self, result: AIResult[Any] | BaseException) -> None:
        """End with a result, or with the reason why there is none."""
        if not self._started.done():
            self._started.set_result(None)
        if isinstance(result, BaseException):
            self._ended.set_exception(result)
        else:
            self._ended.set_result(result)
