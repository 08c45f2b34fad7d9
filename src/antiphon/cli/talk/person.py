"""Whoever sits at the terminal: allows calls or forbids them, and answers the questions of tools."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.conversation import ToolCall

if TYPE_CHECKING:
    from antiphon.session import Waiting

_SHELL = "run_shell"


class Person:
    """Asks with `line`, a function from a prompt to an answer, and remembers what is always allowed."""

    def __init__(self, line: Callable[[str], str]) -> None:
        self._line = line
        self._always: set[tuple[str, str]] = set()

    def allows(self, waiting: Waiting) -> bool:
        """Whether this was allowed once for all."""
        return waiting.kind == "approval" and _kind(waiting.call) in self._always

    def settle(self, waiting: Waiting) -> None:
        """Ask about what `described` has shown. Anything but a yes is a no, and its words go to the model."""
        _forget_typed()
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
        _forget_typed()
        return self._line(f"{question} [y]es, [n]o: ").strip().lower() in ("y", "yes")


def described(call: ToolCall) -> str:
    """The call to be allowed, each argument on lines of its own: nothing in them can pass for a line of ours."""
    shown = [f"May `{call.name}` run?"]
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if "\n" in text or "\r" in text:
            shown += [f"  {name}:", *(f"    {line}" for line in text.splitlines())]
        else:
            shown.append(f"  {name}: {text}")
    return "\n".join(shown)


def _kind(call: ToolCall) -> tuple[str, str]:
    """What an `always` covers: the tool; of a shell, which can do anything, only the very same command."""
    return call.name, call.arguments_json if call.name == _SHELL else ""


def _forget_typed() -> None:
    """What was typed before a question was asked is no answer to it."""
    if os.name == "posix" and sys.stdin is not None and sys.stdin.isatty():
        import termios

        with suppress(termios.error, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
