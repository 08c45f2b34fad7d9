"""The terminal of this process: who types there, and who holds it while lines move or a question is asked."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import IO

_holder = threading.Lock()
_stops: set[Callable[[], None]] = set()


def begin_moving(stop: Callable[[], None]) -> bool:
    """Register lines that begin to move and return True; return False while a question holds the terminal."""
    # Registered first: a question that is asked at this moment sees either the lines or its own lock.
    _stops.add(stop)
    if _holder.locked():
        _stops.discard(stop)
        return False
    return True


def end_moving(stop: Callable[[], None]) -> None:
    """Forget lines that have stopped."""
    _stops.discard(stop)


@contextmanager
def hold_terminal() -> Generator[None]:
    """Stop all lines that move, and let none begin inside; one thread at a time holds the terminal."""
    with _holder:
        for stop in tuple(_stops):
            stop()
        yield


def can_ask() -> bool:
    """Return True if somebody at a terminal sees standard error and types for this process."""
    for stream in (sys.stdin, sys.stderr):
        if stream is None or stream.closed or not stream.isatty():
            return False
    return os.name != "posix" or _keyboard() is not None


def read_answer(prompt: str, stop: threading.Event | None = None) -> str:
    """Return the line that is typed after the prompt; an empty one at the end of the input or when `stop` is set."""
    forget_typed()
    print(prompt, end="", file=sys.stderr, flush=True)
    if os.name != "posix":
        return sys.stdin.readline()
    import select

    while stop is None or not stop.is_set():
        if select.select([sys.stdin], [], [], 0.1)[0]:
            return sys.stdin.readline()
    return ""


@contextmanager
def unseen() -> Generator[None]:
    """Hide what is typed inside, which would tear moving lines apart; it is read later all the same."""
    keyboard = _keyboard() if os.name == "posix" else None
    if keyboard is None:
        yield
        return
    import termios

    before = termios.tcgetattr(keyboard)
    changed = [*before]
    changed[3] = before[3] & ~termios.ECHO
    try:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, changed)
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _keyboard() -> int | None:
    """Return the file of the terminal that types for this process; None where there is none, or in the background.

    The system stops a background process that reads from its terminal or changes it.
    """
    try:
        keyboard = sys.stdin.fileno()
        return keyboard if os.tcgetpgrp(keyboard) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError):
        return None


def forget_typed(keyboard: IO[str] | None = None) -> None:
    """Discard what was typed before a question was shown: it is no answer to it."""
    typed = keyboard or sys.stdin
    if os.name == "posix" and typed is not None and not typed.closed and typed.isatty():
        import termios

        with suppress(termios.error, ValueError):
            termios.tcflush(typed.fileno(), termios.TCIFLUSH)
