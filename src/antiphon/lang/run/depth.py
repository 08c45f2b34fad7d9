"""How deep calls may nest: deeper than Python allows by itself, where the machine's stack can be made to hold them."""

from __future__ import annotations

import sys
import threading

#: Frames of Python: a call of a function is one of them, of a tool two; and there must be room for those around.
_FRAMES = 21_000
#: What so many take at most: calls that go through C (a function that sorts by itself) were measured at under 1 KB.
_STACK = 64 << 20


def allow_deep_calls() -> None:
    """Let calls nest. Only on Linux does the stack of the main thread grow when its limit is raised."""
    at_home = sys.platform == "linux" and threading.current_thread() is threading.main_thread()
    if at_home and sys.getrecursionlimit() < _FRAMES and _stack_is_raised():
        threading.stack_size(_STACK)
        sys.setrecursionlimit(_FRAMES)


def _stack_is_raised() -> bool:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY or soft >= _STACK:
        return True
    if hard != resource.RLIM_INFINITY and hard < _STACK:
        return False
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK, hard))
    return True
