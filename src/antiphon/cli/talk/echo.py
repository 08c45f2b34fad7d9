"""Whether the terminal shows what is typed: while lines move on it, that would tear them apart."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def echoing(shown: bool) -> Generator[None]:
    """Show what is typed, or do not, and go back to what was before. What is typed unseen is still read later."""
    try:
        import termios
    except ImportError:
        yield
        return
    try:
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (termios.error, OSError, ValueError, AttributeError):
        # No terminal, or no standard input at all.
        yield
        return
    changed = [*before]
    changed[3] = before[3] | termios.ECHO if shown else before[3] & ~termios.ECHO
    try:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, changed)
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
