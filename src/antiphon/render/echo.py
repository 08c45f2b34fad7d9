"""Whether the terminal shows what is typed: while lines move on it, that would tear them apart."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def unseen() -> Generator[None]:
    """What is typed meanwhile is not shown; it is read later all the same."""
    try:
        import termios
    except ImportError:
        yield
        return
    keyboard = _keyboard()
    if keyboard is None:
        yield
        return
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
    """Where somebody types for us; not where that is for another program, for whoever changes a terminal is stopped."""
    try:
        keyboard = sys.stdin.fileno()
        return keyboard if os.tcgetpgrp(keyboard) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError):
        # No terminal, or no standard input at all.
        return None
