"""Notification of a person who may look elsewhere: the bell, and a message of the desktop where the terminal has it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

#: Who typed less long ago still looks here.
ABSENT_SECONDS = 5.0
_OSC_9_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty")
_OSC_777_TERMS = ("rxvt", "foot", "xterm-ghostty")


class Notifier:
    """Notifies of a wait for the person, if nothing was typed for a while. `clock` returns seconds."""

    def __init__(
        self,
        screen: IO[str] | None,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = screen
        self._environment = environment
        self._clock = clock
        self._last_input = clock()

    def note_input(self) -> None:
        """Note that the person has typed something."""
        self._last_input = self._clock()

    def notify(self, text: str) -> None:
        """Notify the person of a wait."""
        if self._screen is None or self._clock() - self._last_input < ABSENT_SECONDS:
            return
        with suppress(OSError, ValueError):
            self._screen.write(format_notification(text, self._environment))
            self._screen.flush()


def format_notification(text: str, environment: Mapping[str, str]) -> str:
    """Return the bell, after a message of the desktop if the terminal is known to show one."""
    term = environment.get("TERM", "")
    if environment.get("TMUX") or term.startswith(("screen", "tmux")):
        return "\a"
    if environment.get("TERM_PROGRAM") in _OSC_9_PROGRAMS or term == "xterm-kitty" or "WT_SESSION" in environment:
        return f"\x1b]9;{text}\x07\a"
    if term.startswith(_OSC_777_TERMS) or "VTE_VERSION" in environment:
        return f"\x1b]777;notify;antiphon;{text}\x07\a"
    return "\a"
