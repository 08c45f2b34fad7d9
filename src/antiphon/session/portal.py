"""Running asynchronous code for callers who are not: one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from types import AsyncGeneratorType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_END_SECONDS = 2.0


class CancelScope:
    """What threads wait for through the portal, so that all of it can be cancelled at once.

    Scopes nest: cancelling one cancels those inside it.
    """

    def __init__(self, outer: CancelScope | None = None) -> None:
        self.cancelled = False
        self._lock = threading.Lock()
        self._cancels: list[Callable[[], object]] = []
        self._outer = outer
        if outer is not None:
            outer.add(self.cancel)

    def add(self, cancel: Callable[[], object]) -> None:
        """Cancel this too; at once, where the scope is cancelled already."""
        with self._lock:
            self._cancels.append(cancel)
            cancelled = self.cancelled
        if cancelled:
            cancel()

    def remove(self, cancel: Callable[[], object]) -> None:
        """It is over."""
        with self._lock:
            self._cancels = [each for each in self._cancels if each is not cancel and each != cancel]

    def cancel(self) -> None:
        """Cancel whatever is waited for, and what will be."""
        with self._lock:
            self.cancelled = True
            cancels = list(self._cancels)
        for cancel in cancels:
            cancel()

    def close(self) -> None:
        """Take leave of the scope outside."""
        if self._outer is not None:
            self._outer.remove(self.cancel)

    @contextmanager
    def active(self) -> Generator[None, None, None]:
        """What this thread waits for belongs to the scope."""
        token = _scope.set(self)
        try:
            yield
        finally:
            _scope.reset(token)


_scope: ContextVar[CancelScope | None] = ContextVar("antiphon_cancel_scope", default=None)


def current_scope() -> CancelScope | None:
    """The scope this thread works in."""
    return _scope.get()


class Portal:
    """An event loop that stays, so that connections and servers outlive single calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._process = os.getpid()
        self._below: Portal | None = None
        self._thread = threading.Thread(target=self._serve, name="antiphon", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def is_alive(self) -> bool:
        """Whether this process has its thread: a forked one has not."""
        return self._process == os.getpid()

    @property
    def free(self) -> Portal:
        """This one; but on its own thread, which cannot wait for itself, the next one below."""
        if threading.current_thread() is not self._thread:
            return self
        if self._below is None:
            self._below = Portal()
        return self._below.free

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. Ctrl-C cancels it and waits until it has cleaned up."""
        if self._closed:
            coroutine.close()
            raise RuntimeError("the interpreter is about to exit; nothing more can be run")
        work, scope = _Work(self, self._loop, coroutine), _scope.get()
        try:
            # Ctrl-C may come while it is begun: what waits then is known already, and can be cancelled.
            work.begin()
            if scope is not None:
                scope.add(work.cancel)
            return work.outcome.result()
        except KeyboardInterrupt:
            work.cancel()
            concurrent.futures.wait([work.outcome])
            raise
        finally:
            if scope is not None:
                scope.remove(work.cancel)

    def iterate(self, events: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """The generator's values, one at a time; leaving the iteration closes it."""
        try:
            while True:
                try:
                    yield self.run(_next(events))
                except StopAsyncIteration:
                    return
        finally:
            if threading.current_thread() is self._thread:
                # Collected as garbage where nobody can wait.
                _Work(self, self._loop, _close(events)).begin()
            elif not self._closed:
                self.run(_close(events))

    def close(self) -> None:
        """Cancel what still runs and end the loop."""
        if self._closed or not self.is_alive:
            return
        ending = _Work(self, self._loop, self._end())
        ending.begin()
        with suppress(TimeoutError):
            ending.outcome.result(_END_SECONDS)
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_SECONDS)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    def _serve(self) -> None:
        while not self._closed:
            # A task that exits stops the loop as well; whoever waits for the task is told.
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()


class _Work(Generic[T]):
    """A coroutine for the loop of a portal, and what will become of it."""

    def __init__(self, home: Portal, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop, self._coroutine = loop, coroutine
        self._task: asyncio.Task[T] | None = None
        self._context = copy_context()
        self._context.run(_current.set, home)

    def begin(self) -> None:
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._stop)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coroutine, context=self._context)
        self._task.add_done_callback(self._hand_over)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif not self.outcome.done():
            # The loop takes things in their order: this one was never begun.
            self._coroutine.close()
            self.outcome.set_exception(_cancelled())

    def _hand_over(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(_cancelled())
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


def _cancelled() -> concurrent.futures.CancelledError:
    return concurrent.futures.CancelledError("the run was cancelled")


#: The portal whose work this is: functions it runs in threads come back to it, and not to one that waits for them.
_current: ContextVar[Portal | None] = ContextVar("antiphon_portal", default=None)
_first: list[Portal] = []
_making = threading.Lock()


def portal() -> Portal:
    """The one of this process, or of the work that this is a part of."""
    current = _current.get()
    if current is None or not current.is_alive:
        with _making:
            if not _first or not _first[0].is_alive:
                _first[:] = [Portal()]
            current = _first[0]
    return current.free


@contextmanager
def entered(context: AbstractAsyncContextManager[T]) -> Generator[T, None, None]:
    """An asynchronous context, such as `McpTools`, for ordinary code: `with entered(McpTools(servers)) as mcp: …`."""
    home = portal()
    value = home.run(_entered(context))
    try:
        yield value
    finally:
        home.run(_left(context))


async def _entered(context: AbstractAsyncContextManager[T]) -> T:
    return await context.__aenter__()


async def _left(context: AbstractAsyncContextManager[Any]) -> None:
    await context.__aexit__(None, None, None)


async def _next(events: AsyncGenerator[T, None]) -> T:
    return await anext(events)


async def _close(events: AsyncGenerator[Any, None]) -> None:
    # Nobody may have waited until it came to its end when it was cancelled: a second Ctrl-C. It ends by itself.
    if not (isinstance(events, AsyncGeneratorType) and events.ag_running):
        await events.aclose()
