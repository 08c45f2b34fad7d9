"""Whoever sits at the terminal: allows calls or forbids them, and answers the questions of tools."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from antiphon.conversation import ToolCall
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

    def settle(self, waiting: Waiting) -> None:
        """Ask about what `described` has shown. Anything but a yes is a no, and its words go to the model."""
        self._forget_typed()
        if waiting.kind == "question":
            waiting.answer(self._line("> "))
            return
        call = waiting.call
        always = "this very command" if call.name == _SHELL else call.name
        said = self._line(f"[y]es, [n]o, [a]lways ({always}): ").strip()
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


def described(call: ToolCall) -> str:
    """The call to be allowed, each argument on lines of its own: nothing in them can pass for a line of ours."""
    shown = [f"May `{call.name}` run?"]
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        name = safe_line(name)
        if "\n" in text:
            shown += [f"  {name}:", *(f"    {line}" for line in text.replace("\r\n", "\n").split("\n"))]
        else:
            shown.append(f"  {name}: {text}")
    return "\n".join(shown)


def _kind(call: ToolCall) -> tuple[str, str]:
    """What an `always` covers: the tool; of a shell, which can do anything, only the very same command."""
    return call.name, call.arguments_json if call.name == _SHELL else ""
