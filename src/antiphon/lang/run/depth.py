"""How deep calls may nest: deeper than Python allows by itself, where the machine's stack can be made to hold them.

From Python 3.12 on a call of a function of Python takes nothing of the machine's stack, and what does is looked after
by itself. Before that, the stack of the main thread grows only on Linux, when its limit is raised; other threads get
one that is large enough, everywhere.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

#: Frames of Python: a call of a function is one of them, of a tool two; and there must be room for those around.
_FRAMES = 21_000
#: What so many take at most: calls that go through C (a function that sorts by itself) were measured at under 1 KB.
_STACK = 64 << 20
#: Whether this thread was made for calls that nest.
_here = threading.local()


def deeply(work: Callable[[], Any]) -> Any:
    """Do work in which calls may nest: in this thread if its stack holds them, else in one that was made for that."""
    if _holds_calls():
        _allow()
        return work()
    if threading.current_thread() is threading.main_thread():
        # To no other thread would Ctrl-C come: calls nest as deep as Python allows by itself.
        return work()
    return _elsewhere(work)


def _allow() -> None:
    if sys.getrecursionlimit() < _FRAMES:
        threading.stack_size(_STACK)
        sys.setrecursionlimit(_FRAMES)


def _holds_calls() -> bool:
    if sys.version_info >= (3, 12) or getattr(_here, "is_deep", False):
        return True
    at_home = sys.platform == "linux" and threading.current_thread() is threading.main_thread()
    return at_home and _stack_is_raised()


def _elsewhere(work: Callable[[], Any]) -> Any:
    done: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        _here.is_deep = True
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    _allow()
    thread = threading.Thread(target=copy_context().run, args=(run,), name="antiphon: program")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _stack_is_raised() -> bool:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY or soft >= _STACK:
        return True
    if hard != resource.RLIM_INFINITY and hard < _STACK:
        return False
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK, hard))
    return True
