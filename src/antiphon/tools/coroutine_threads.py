"""Coroutines of tools, which may block their event loop or continue when they are cancelled.

In synchronous sessions they run on an event loop of their own, so that they stop no other session. A coroutine that
does not end in time is abandoned.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from antiphon.tools.worker_threads import ToolTimeout

log = logging.getLogger("antiphon.tools")
#: The time for cleaning up after a cancellation, before a coroutine is abandoned.
_GRACE_SECONDS = 0.5
_MAX_IDLE = 8
#: The value of a coroutine, or the error that it raised.
_Outcome = tuple[Any, BaseException | None]


class _CoroutineThread:
    """An event loop in a thread of its own, for the tools of one run at a time."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        # A daemon thread, so that the interpreter does not wait for what blocks it.
        threading.Thread(target=self._serve, name="antiphon: async tools", daemon=True).start()

    def _serve(self) -> None:
        self.loop.run_forever()
        self.loop.close()


_idle_threads: list[_CoroutineThread] = []
if hasattr(os, "register_at_fork"):
    # A forked child has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle_threads.clear)


class CoroutineThreads:
    """The event loop for the tools of one run, from its first call to the end of its last one.

    A later run gets the same loop if it is free, so what a tool keeps for its loop stays usable.
    """

    def __init__(self) -> None:
        self._thread: _CoroutineThread | None = None
        self._calls = 0

    def take(self) -> asyncio.AbstractEventLoop:
        """Return the loop for one call."""
        if self._thread is None:
            try:
                self._thread = _idle_threads.pop()
            except IndexError:
                self._thread = _CoroutineThread()
        self._calls += 1
        return self._thread.loop

    def give_back(self, loop: asyncio.AbstractEventLoop, *, is_free: bool) -> None:
        """End a call. A loop that is not free may be blocked, so it is not used again."""
        thread = self._thread
        if thread is None or thread.loop is not loop:
            return
        self._calls -= 1
        if is_free and self._calls:
            return
        self._thread, self._calls = None, 0
        if is_free and len(_idle_threads) < _MAX_IDLE:
            _idle_threads.append(thread)
        elif is_free:
            loop.call_soon_threadsafe(loop.stop)


async def run_coroutine(
    start: Callable[[], Awaitable[Any]], name: str, timeout: float | None, threads: CoroutineThreads | None
) -> Any:
    """Return the value of a coroutine of the tool `name`. Raise a `ToolTimeout` if it is not there in time.

    With `threads`, it runs on a loop of these. If it continues after its cancellation, it is abandoned with a warning.
    """
    work = _Local(start) if threads is None else _Remote(start, threads)
    try:
        await asyncio.wait({work.over}, timeout=timeout)
        if not work.over.done():
            await _stop(work, name, f"its time-out of {timeout:g} seconds")
            raise ToolTimeout
    except asyncio.CancelledError:
        await _stop(work, name, "its cancellation")
        raise
    finally:
        work.leave()
    value, error = work.over.result()
    if error is not None:
        raise error
    return value


async def _stop(work: _Local | _Remote, name: str, why: str) -> None:
    work.cancel()
    await asyncio.wait({work.over}, timeout=_GRACE_SECONDS)
    if not work.over.done():
        log.warning("the tool `%s` keeps running after %s; its result is ignored", name, why)
        work.abandon()


async def _catch(start: Callable[[], Awaitable[Any]]) -> _Outcome:
    """Return the outcome of a coroutine. No exception may end its loop, not even SystemExit."""
    try:
        return await start(), None
    except BaseException as error:
        return None, error


class _Local:
    """A coroutine on the current event loop."""

    def __init__(self, start: Callable[[], Awaitable[Any]]) -> None:
        self.over: asyncio.Task[_Outcome] = asyncio.ensure_future(_catch(start))

    def cancel(self) -> None:
        self.over.cancel()

    def abandon(self) -> None:
        """Make the end of the loop not wait for the task: `asyncio.run` waits for all that it knows."""
        _abandoned.add(self.over)
        self.over.add_done_callback(_abandoned.discard)
        asyncio._unregister_task(self.over)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType]

    def leave(self) -> None:
        """Do nothing: it has no loop of its own."""


#: Strong references, because the event loop alone does not keep tasks alive.
_abandoned: set[asyncio.Task[_Outcome]] = set()


class _Remote:
    """A coroutine on the event loop of another thread."""

    def __init__(self, start: Callable[[], Awaitable[Any]], threads: CoroutineThreads) -> None:
        self._start, self._threads = start, threads
        self._here, self._there = asyncio.get_running_loop(), threads.take()
        self.over: asyncio.Future[_Outcome] = self._here.create_future()
        self._task: asyncio.Task[_Outcome] | None = None
        # The callback has a copy of the current context, and so has its task.
        self._there.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._task = asyncio.ensure_future(_catch(self._start))
        self._task.add_done_callback(self._report)

    def _report(self, task: asyncio.Task[_Outcome]) -> None:
        # A task that was cancelled before its first step has no outcome of its own.
        outcome = (None, asyncio.CancelledError()) if task.cancelled() else task.result()
        # If the session's loop is closed by now, nothing awaits the outcome.
        try:
            self._here.call_soon_threadsafe(self._set, outcome)
        except RuntimeError:
            return

    def _set(self, outcome: _Outcome) -> None:
        if not self.over.done():
            self.over.set_result(outcome)

    def cancel(self) -> None:
        self._there.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def abandon(self) -> None:
        """Do nothing: its thread does not hold the process up."""

    def leave(self) -> None:
        self._threads.give_back(self._there, is_free=self.over.done())
