"""Functions of either kind, called from an event loop: ordinary ones have a thread of their own."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, cast


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
    over: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome = context.run(function, *args, **kwargs), None
        except BaseException as error:
            outcome = None, error
        # A loop that is closed by now has nobody who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, outcome)

    def settle(outcome: tuple[Any, BaseException | None]) -> None:
        if not over.done():
            over.set_result(outcome)

    _hand_over(work)
    value, error = await over
    if error is not None:
        raise error
    return value


_IDLE_AT_MOST = 16
_idle: list[SimpleQueue[Callable[[], None]]] = []
if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads.
    os.register_at_fork(after_in_child=_idle.clear)


def _hand_over(work: Callable[[], None]) -> None:
    """Give the work to a thread that is idle, or to a new one. Daemons: the interpreter does not wait for them."""
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue[Callable[[], None]]()
        threading.Thread(target=_serve, args=(jobs,), name="antiphon: tools", daemon=True).start()
    jobs.put(work)


def _serve(jobs: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        jobs.get()()
        if len(_idle) >= _IDLE_AT_MOST:
            return
        _idle.append(jobs)


def _is_async(function: Callable[..., Any]) -> bool:
    own_call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own_call)
