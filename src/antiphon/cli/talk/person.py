"""Whoever sits at the terminal: allows calls or forbids them, and answers the questions of tools."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from antiphon.conversation import ToolCall
from antiphon.render.people import call_lines, settled, shortened
from antiphon.render.safe import safe_line

if TYPE_CHECKING:
    from antiphon.session import Waiting

_SHELL = "run_shell"


class Person:
    """Asks with `line`, a function from a prompt to what is typed on the `keyboard`, and remembers every `always`."""

    def __init__(self, line: Callable[[str], str], keyboard: IO[str]) -> None:
        self._line = line
        self._keyboard = keyboard
        self._always: set[tuple[str, str]] = set()

    def allows(self, waiting: Waiting) -> bool:
        """Whether this was allowed once for all."""
        return waiting.kind == "approval" and _kind(waiting.call) in self._always

    def settle(self, waiting: Waiting, lines: list[str], hidden: int, show: Callable[[str], None]) -> None:
        """Ask about a call whose `lines` were shown but for those that are `hidden`.

        Anything but a yes is a no, and its words go to the model.
        """
        self._forget_typed()
        if waiting.kind == "question":
            waiting.answer(self._line("> "))
            return
        call = waiting.call
        always = "this very command" if call.name == _SHELL else call.name
        said = settled(self._line, show, lines, hidden, f"[y]es, [n]o, [a]lways ({always})")
        if said.lower() in ("a", "always"):
            self._always.add(_kind(call))
        if said.lower() in ("y", "yes", "a", "always"):
            waiting.allow()
        else:
            waiting.deny("" if said.lower() in ("", "n", "no") else f"the user said: {said}")

    def agrees(self, question: str) -> bool:
        """A yes to a question of ours; no answer is a no."""
        self._forget_typed()
        return self._line(f"{safe_line(question)} [y]es, [n]o: ").strip().lower() in ("y", "yes")

    def _forget_typed(self) -> None:
        """What was typed before a question was asked is no answer to it."""
        if os.name == "posix":
            import termios

            with suppress(termios.error, ValueError):
                termios.tcflush(self._keyboard.fileno(), termios.TCIFLUSH)


def described(call: ToolCall, width: int = 80) -> tuple[str, list[str], int]:
    """The call to be allowed as it is shown at first, all of its lines, and how many of them are not shown.

    Each argument is on lines of its own: nothing in them can pass for a line of ours.
    """
    lines = [f"  {each}" for each in call_lines(call, width - 6)]
    short, hidden = shortened(lines)
    return "\n".join([f"May `{safe_line(call.name)}` run?", *short]), lines, hidden


def _kind(call: ToolCall) -> tuple[str, str]:
    """What an `always` covers: the tool; of a shell, which can do anything, only the very same command."""
    return call.name, call.arguments_json if call.name == _SHELL else ""
