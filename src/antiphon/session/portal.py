"""Running asynchronous code for callers who are not: one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from antiphon.errors import NotReadyError

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
        self._closed = False
        self._process = os.getpid()
        self._below: Portal | None = None
        self._made: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._serve, name="antiphon", daemon=True)
        self._thread.start()
        # Made in its own thread, where no Ctrl-C can leave half of it.
        self._loop = self._made.result()
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

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Callable[[], None]:
        """Begin it, and go on; gives the function that cancels it, though not before its first step."""
        work = _Work(self, self._loop, coroutine)
        try:
            work.begin()
            return work.cancel_soon
        except KeyboardInterrupt:
            work.cancel()
            concurrent.futures.wait([work.outcome])
            raise

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
        loop = asyncio.new_event_loop()
        self._made.set_result(loop)
        while not self._closed:
            # A task that exits stops the loop as well; whoever waits for the task is told.
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()


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

    def cancel_soon(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.call_soon, self._stop)

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


def start_task(home: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> Callable[[], object]:
    """Begin a coroutine on an event loop of somebody else's; gives the function that cancels it, for any thread."""
    begun: list[asyncio.Task[Any]] = []

    def begin() -> None:
        task = home.create_task(work)
        begun.append(task)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

    def cancel() -> None:
        # Not before its first step: what never began could not say how it ended.
        home.call_soon(begun[0].cancel)

    home.call_soon_threadsafe(begin)
    return partial(home.call_soon_threadsafe, cancel)


#: The event loop alone does not keep them from being collected.
_tasks: set[asyncio.Task[Any]] = set()


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


def check_no_loop(name: str, twin: str = "") -> None:
    """Refuse to wait on a thread that an event loop runs on: nothing else would move there meanwhile."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    instead = twin or f"await …a{name}(…)"
    raise NotReadyError(f"`{name}` would block the running event loop; in asynchronous code it is `{instead}`")


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
