"""Functions of either kind, called from an event loop: ordinary ones have a thread of their own."""

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


async def called(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What a function, a coroutine function or a generator of either kind gives; generators are read to their end."""
    if _is_async(function):
        value = function(*args, **kwargs)
    else:
        value = await in_thread(function, *args, **kwargs)
    if inspect.isawaitable(value):
        return await value
    if inspect.isgenerator(value):
        return await in_thread(cast(Callable[..., Any], list), value)
    if inspect.isasyncgen(value):
        return [item async for item in value]
    return value


async def in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call an ordinary function in a thread of its own, which nobody waits for once the call is cancelled.

    Threads that have nothing to do are used again, but none is ever waited for: a pool of fixed size would run out when
    functions hang, or when they wait for others that wait for a place in it.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    over: asyncio.Future[_Outcome] = loop.create_future()
    work = partial(contextvars.copy_context().run, function, *args, **kwargs)
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue[_Job]()
        # A daemon: the interpreter does not wait for it.
        threading.Thread(target=_serve, args=(jobs,), name="antiphon: tools", daemon=True).start()
    jobs.put((work, loop, over))
    value, error = await over
    if error is not None:
        raise error
    return value


_Outcome = tuple[Any, BaseException | None]
#: What is to be done, and whom to tell.
_Job = tuple[Callable[[], Any], "asyncio.AbstractEventLoop", "asyncio.Future[_Outcome]"]
_IDLE_AT_MOST = 16
_idle: list[SimpleQueue[_Job]] = []
if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle.clear)


def _serve(jobs: SimpleQueue[_Job]) -> None:
    while _done(jobs, *jobs.get()):
        pass


def _done(
    jobs: SimpleQueue[_Job],
    work: Callable[[], Any],
    loop: asyncio.AbstractEventLoop,
    over: asyncio.Future[_Outcome],
) -> bool:
    """Do a job, and tell; whether the thread stays for another one."""
    try:
        outcome = work(), None
    except BaseException as error:
        outcome = None, error
    stays = len(_idle) < _IDLE_AT_MOST
    if stays:
        # Before anybody is told: who goes on at once finds this thread, and wakes no other.
        _idle.append(jobs)
    # A loop that is closed by now has nobody who waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, over, outcome)
    return stays


def _settle(over: asyncio.Future[_Outcome], outcome: _Outcome) -> None:
    if not over.done():
        over.set_result(outcome)


def _is_async(function: Callable[..., Any]) -> bool:
    own_call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own_call)
