"""The terminal of this process: keyboard input, and the lock between live output and questions."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import IO

_terminal_lock = threading.Lock()
_live_region_stops: set[Callable[[], None]] = set()


def register_live_region(stop: Callable[[], None]) -> bool:
    """Register live output and return True; return False while a question holds the terminal."""
    # Register first, so that a question asked at this moment either stops this output or is seen as the lock.
    _live_region_stops.add(stop)
    if _terminal_lock.locked():
        _live_region_stops.discard(stop)
        return False
    return True


def unregister_live_region(stop: Callable[[], None]) -> None:
    """Unregister live output that has stopped."""
    _live_region_stops.discard(stop)


@contextmanager
def hold_terminal() -> Generator[None]:
    """Stop all live output, and let none start inside the block. Only one thread holds the terminal at a time."""
    with _terminal_lock:
        for stop in tuple(_live_region_stops):
            stop()
        yield


def can_prompt_user() -> bool:
    """Return True if a person at a terminal sees standard error and can type input for this process."""
    for stream in (sys.stdin, sys.stderr):
        if stream is None or stream.closed or not stream.isatty():
            return False
    return os.name != "posix" or _find_keyboard() is not None


def read_typed_line(prompt: str, stop: threading.Event | None = None) -> str:
    """Print a prompt and return the typed line; an empty one at the end of the input or when `stop` is set."""
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
def delay_interrupts() -> Generator[None]:
    """Let the block complete before a Ctrl-C has an effect: for code that restores the terminal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_interrupted = False

    def note(*_: object) -> None:
        nonlocal is_interrupted
        is_interrupted = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if is_interrupted and callable(before):
        before(signal.SIGINT, None)


@contextmanager
def hide_typed_input() -> Generator[None]:
    """Hide typed characters inside the block, because they would break live output.

    They can still be read later.
    """
    keyboard = _find_keyboard() if os.name == "posix" else None
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


def _find_keyboard() -> int | None:
    """Return the file descriptor of the terminal, or None if there is none or the process is in the background.

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
