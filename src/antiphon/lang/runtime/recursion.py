"""Recursion depth: let calls nest deeper than Python's default, if the machine's stack can hold them.

From Python 3.12 on, a call of a Python function takes no machine stack, and Python itself guards calls
that do. Before that, the stack of the main thread grows only on Linux, when its limit is raised. Other
threads get a large stack on every system.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

#: The recursion limit: a call of a function is one frame, of a tool two, and the runtime needs some itself.
_FRAMES = 21_000
#: Enough for so many frames: calls through C (a sort with a recursive key) were measured at under 1 KB each.
_STACK_BYTES = 64 << 20
#: `is_deep` is set in threads that were started with a large stack.
_thread_flags = threading.local()


def run_with_deep_stack(work: Callable[[], Any]) -> Any:
    """Run work that may recurse deeply: in this thread if its stack is large enough, else in another thread."""
    if _has_deep_stack():
        _raise_recursion_limit()
        return work()
    if threading.current_thread() is threading.main_thread():
        # Ctrl-C reaches only the main thread, so stay in it, with Python's default recursion limit.
        return work()
    done: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        _thread_flags.is_deep = True
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    _raise_recursion_limit()
    thread = threading.Thread(target=copy_context().run, args=(run,), name="antiphon: program")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _raise_recursion_limit() -> None:
    if sys.getrecursionlimit() < _FRAMES:
        threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(_FRAMES)


def _has_deep_stack() -> bool:
    if sys.version_info >= (3, 12) or getattr(_thread_flags, "is_deep", False):
        return True
    at_home = sys.platform == "linux" and threading.current_thread() is threading.main_thread()
    return at_home and _raise_stack_limit()


def _raise_stack_limit() -> bool:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY or soft >= _STACK_BYTES:
        return True
    if hard != resource.RLIM_INFINITY and hard < _STACK_BYTES:
        return False
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK_BYTES, hard))
    return True
