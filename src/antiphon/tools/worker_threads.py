"""Calls of sync and async functions from an event loop; sync ones run in worker threads."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import os
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import asyncio


class ToolTimeout(Exception):
    """Raised for a tool that did not end in time."""


async def call_function(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function, coroutine function or generator of either kind. Return its value, or all yielded
    values as a list.
    """
    if is_coroutine_function(function):
        value = function(*args, **kwargs)
    else:
        value = await run_in_thread(function, *args, **kwargs)
    if inspect.isawaitable(value):
        return await value
    if inspect.isgenerator(value):
        return await run_in_thread(cast(Callable[..., Any], list), value)
    if inspect.isasyncgen(value):
        return [item async for item in value]
    return value


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Return whether a call of the function or object returns a coroutine."""
    own_call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own_call)


async def run_in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a sync function in a worker thread, which is abandoned if the call is cancelled.

    Idle threads are reused, but a call never waits for a thread. A pool of fixed size would be exhausted by
    functions that hang, or that wait for others which wait for a thread.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    over: asyncio.Future[_Outcome] = loop.create_future()
    work = partial(contextvars.copy_context().run, function, *args, **kwargs)
    try:
        jobs = _idle_queues.pop()
    except IndexError:
        jobs = SimpleQueue[_Job]()
        # A daemon thread, so that the interpreter does not wait for it.
        threading.Thread(target=_serve_jobs, args=(jobs,), name="antiphon: tools", daemon=True).start()
    jobs.put((work, loop, over))
    value, error = await over
    if error is not None:
        raise error
    return value


_Outcome = tuple[Any, BaseException | None]
#: The work, and the event loop and future that receive its outcome.
_Job = tuple[Callable[[], Any], "asyncio.AbstractEventLoop", "asyncio.Future[_Outcome]"]
_MAX_IDLE = 16
_idle_queues: list[SimpleQueue[_Job]] = []
if hasattr(os, "register_at_fork"):
    # A forked child has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle_queues.clear)


def _serve_jobs(jobs: SimpleQueue[_Job]) -> None:
    stays = True
    while stays:
        work, loop, over = jobs.get()
        try:
            outcome = work(), None
        except BaseException as error:
            outcome = None, error
        stays = len(_idle_queues) < _MAX_IDLE
        if stays:
            # Before the outcome is reported, so that a caller who continues at once reuses this thread.
            _idle_queues.append(jobs)
        # If the loop is closed by now, nothing awaits the outcome.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_set_outcome, over, outcome)
        # A waiting thread must not keep the objects of its last job alive.
        del work, loop, over, outcome


def _set_outcome(over: asyncio.Future[_Outcome], outcome: _Outcome) -> None:
    if not over.done():
        over.set_result(outcome)
