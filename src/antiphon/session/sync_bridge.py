"""Run asynchronous code for synchronous callers, on one event loop in its own thread."""

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
_SHUTDOWN_SECONDS = 2.0


class CancelScope:
    """Groups the operations that threads wait for, so that all of them can be cancelled at once.

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
        """Add a callback for cancellation. If the scope is already cancelled, call it immediately."""
        with self._lock:
            self._cancels.append(cancel)
            cancelled = self.cancelled
        if cancelled:
            cancel()

    def remove(self, cancel: Callable[[], object]) -> None:
        """Remove the callback of a completed operation."""
        with self._lock:
            self._cancels = [each for each in self._cancels if each is not cancel and each != cancel]

    def cancel(self) -> None:
        """Cancel all current and future operations."""
        with self._lock:
            self.cancelled = True
            cancels = list(self._cancels)
        for cancel in cancels:
            cancel()

    def close(self) -> None:
        """Detach from the outer scope."""
        if self._outer is not None:
            self._outer.remove(self.cancel)

    @contextmanager
    def active(self) -> Generator[None, None, None]:
        """Assign everything that this thread waits for inside the block to the scope."""
        token = _current_scope.set(self)
        try:
            yield
        finally:
            _current_scope.reset(token)


_current_scope: ContextVar[CancelScope | None] = ContextVar("antiphon_cancel_scope", default=None)


def current_cancel_scope() -> CancelScope | None:
    """Return the cancel scope of this thread, or None."""
    return _current_scope.get()


class EventLoopThread:
    """A permanent event loop in a thread, so that connections and servers outlive single calls."""

    def __init__(self) -> None:
        self._closed = False
        self._process = os.getpid()
        self._nested_thread: EventLoopThread | None = None
        self._made: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._serve, name="antiphon", daemon=True)
        self._thread.start()
        # Created in its own thread, where Ctrl-C cannot interrupt it.
        self._loop = self._made.result()
        atexit.register(self.close)

    @property
    def is_alive(self) -> bool:
        """True if the thread belongs to this process; False after a fork."""
        return self._process == os.getpid()

    @property
    def is_current(self) -> bool:
        """True on this thread itself."""
        return threading.current_thread() is self._thread

    @property
    def free(self) -> EventLoopThread:
        """This thread, or a nested one if called on this thread, which cannot wait for itself."""
        if not self.is_current:
            return self
        if self._nested_thread is None:
            self._nested_thread = EventLoopThread()
        return self._nested_thread.free

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result. Ctrl-C cancels it and waits until it has cleaned up."""
        if self._closed:
            coroutine.close()
            raise RuntimeError("the interpreter is about to exit; nothing more can be run")
        work, scope = _LoopTask(self, self._loop, coroutine), _current_scope.get()
        try:
            # Ctrl-C may come while the task is scheduled; it exists already, so it can be cancelled.
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
        """Start a coroutine and return a function that cancels it, but not before its first step."""
        work = _LoopTask(self, self._loop, coroutine)
        try:
            work.begin()
            return work.cancel_after_start
        except KeyboardInterrupt:
            work.cancel()
            concurrent.futures.wait([work.outcome])
            raise

    def close(self) -> None:
        """Cancel all running tasks and stop the loop."""
        if self._closed or not self.is_alive:
            return
        ending = _LoopTask(self, self._loop, self._end())
        ending.begin()
        with suppress(TimeoutError):
            ending.outcome.result(_SHUTDOWN_SECONDS)
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SHUTDOWN_SECONDS)

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
            # A task that raises SystemExit also stops the loop; the waiting caller gets the exception.
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()


class _LoopTask(Generic[T]):
    """A coroutine for the loop of an `EventLoopThread`, and its future outcome."""

    def __init__(
        self, home: EventLoopThread, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]
    ) -> None:
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop, self._coroutine = loop, coroutine
        self._task: asyncio.Task[T] | None = None
        self._context = copy_context()
        self._context.run(_current_thread.set, home)

    def begin(self) -> None:
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._stop)

    def cancel_after_start(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.call_soon, self._stop)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coroutine, context=self._context)
        self._task.add_done_callback(self._set_outcome)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif not self.outcome.done():
            # The loop runs callbacks in order, so this task was never started.
            self._coroutine.close()
            self.outcome.set_exception(_make_cancelled_error())

    def _set_outcome(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(_make_cancelled_error())
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


def start_task(home: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> Callable[[], object]:
    """Start a coroutine on the caller's event loop, and return a function that cancels it from any thread."""
    begun: list[asyncio.Task[Any]] = []

    def begin() -> None:
        task = home.create_task(work)
        begun.append(task)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

    def cancel() -> None:
        # Not before its first step: a task that never started could not report its end.
        home.call_soon(begun[0].cancel)

    home.call_soon_threadsafe(begin)
    return partial(home.call_soon_threadsafe, cancel)


#: Strong references, because the event loop alone does not keep tasks alive.
_tasks: set[asyncio.Task[Any]] = set()


def _make_cancelled_error() -> concurrent.futures.CancelledError:
    return concurrent.futures.CancelledError("the run was cancelled")


#: The thread that runs the current work. Its functions in worker threads return to it, not to one that waits.
_current_thread: ContextVar[EventLoopThread | None] = ContextVar("antiphon_portal", default=None)
_process_threads: list[EventLoopThread] = []
_creation_lock = threading.Lock()


def get_event_loop_thread() -> EventLoopThread:
    """Return the event loop thread of this process, or the one that runs the current work."""
    current = _current_thread.get()
    if current is None or not current.is_alive:
        with _creation_lock:
            if not _process_threads or not _process_threads[0].is_alive:
                _process_threads[:] = [EventLoopThread()]
            current = _process_threads[0]
    return current.free


def are_coroutines_apart() -> bool:
    """Return whether the coroutines of tools need another event loop than this one, which synchronous sessions share.

    Inside a block of `entered` they may use what it opened on this loop.
    """
    current = _current_thread.get()
    return current is not None and current.is_current and not _entered_count.get()


def check_no_running_loop(name: str, twin: str = "") -> None:
    """Raise a NotReadyError if this thread runs an event loop, which waiting here would block."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    instead = twin or f"await …a{name}(…)"
    raise NotReadyError(f"`{name}` would block the running event loop; in asynchronous code it is `{instead}`")


def run_blocking(name: str, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine for the synchronous method `name`, and return its result."""
    try:
        check_no_running_loop(name)
    except NotReadyError:
        work.close()
        raise
    return get_event_loop_thread().run(work)


#: The blocks of `entered` around the current code.
_entered_count: ContextVar[int] = ContextVar("antiphon_entered", default=0)


@contextmanager
def entered(context: AbstractAsyncContextManager[T]) -> Generator[T, None, None]:
    """Enter an asynchronous context from synchronous code: `with sync_context(McpTools(servers)) as mcp: …`."""
    home = get_event_loop_thread()
    value = home.run(_enter_context(context))
    _entered_count.set(_entered_count.get() + 1)
    try:
        yield value
    finally:
        # Without a token, because an `ExitStack` may be closed in another context.
        _entered_count.set(max(_entered_count.get() - 1, 0))
        home.run(_exit_context(context))


async def _enter_context(context: AbstractAsyncContextManager[T]) -> T:
    return await context.__aenter__()


async def _exit_context(context: AbstractAsyncContextManager[Any]) -> None:
    await context.__aexit__(None, None, None)
