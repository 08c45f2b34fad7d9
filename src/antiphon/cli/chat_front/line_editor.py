"""Input of a chat: messages of several lines with history, completion and folded pastes, and short answers.

At a terminal, prompt_toolkit edits the text. It reads Ctrl-C as a key, so that none is lost. Other input, and
that of a terminal without cursor movement, is read line by line.
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from antiphon._base.terminal import forget_typed
from antiphon.cli.output import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.cli.chat_front.busy_keyboard import BusyKeyboard
    from antiphon.cli.chat_front.completion import CompletionMenu
    from antiphon.cli.chat_front.terminal_prompt import TerminalPrompt

QUOTES = '"""'
#: Values of TERM for terminals without cursor movement; they edit lines themselves.
_PLAIN_TERMINALS = ("dumb", "unknown")
_SIGNAL_SECONDS = 0.2


class LineEditor:
    """Reads from the `keyboard`, which is standard input by default.

    `menu` lists completions, and `history` is the file for messages.
    """

    def __init__(
        self,
        menu: CompletionMenu | None = None,
        history: Path | None = None,
        keyboard: IO[str] | None = None,
    ) -> None:
        self._keyboard = keyboard if keyboard is not None else sys.stdin
        self._screen = sys.stdout if is_terminal(sys.stdout) and keyboard is None else sys.stderr
        self.is_terminal = is_terminal(self._keyboard)
        self._prompt = self._make_prompt(menu, history) if is_terminal(self._screen) else None
        if keyboard is None and sys.stdin is not None and hasattr(sys.stdin, "reconfigure"):
            # Invalid bytes must not end the chat.
            sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]

    def read_message(self, prompt: str, status: str = "", draft: str = "") -> str | None:
        """Return a message, which may have several lines; `None` at the end of the input.

        `status` is shown below the input, and `draft` is text to begin with. Ctrl-C raises KeyboardInterrupt.
        """
        if self._prompt is not None:
            text = self._prompt.read_message(prompt, status, draft)
            return None if text is None else _strip_quotes(text)
        line = self._read_plain_line(prompt)
        if line is None:
            return None
        if line.lstrip().startswith(QUOTES):
            return self._read_quoted(line.lstrip())
        return self._read_continued(line)

    def read_line(self, prompt: str) -> str:
        """Return a short answer, which is not added to the history; "" at the end of the input.

        What was typed before is not read.
        """
        return (self._prompt.read_answer(prompt) if self._prompt is not None else self._read_plain_line(prompt)) or ""

    def make_busy_keyboard(self, send: Callable[[str], object]) -> BusyKeyboard | None:
        """Return the keyboard for the time in which no message is read, if there is a terminal for it."""
        if self._prompt is None or os.name != "posix":
            return None
        from antiphon.cli.chat_front.busy_keyboard import BusyKeyboard

        return BusyKeyboard(self._keyboard, self._screen, send)

    def forget_typed(self) -> None:
        """Discard what was typed before a question was shown: it is no answer to it."""
        forget_typed(self._keyboard)
        if self._prompt is not None:
            self._prompt.forget_typed()

    def _make_prompt(self, menu: CompletionMenu | None, history: Path | None) -> TerminalPrompt | None:
        if not self.is_terminal or os.environ.get("TERM") in _PLAIN_TERMINALS:
            return None
        from antiphon.cli.chat_front.terminal_prompt import TerminalPrompt

        return TerminalPrompt(self._keyboard, self._screen, menu, history)

    def _read_plain_line(self, prompt: str) -> str | None:
        if self._keyboard is None:
            return None
        if self.is_terminal:
            print(prompt, end="", file=self._screen, flush=True)
            self._wait_for_line(self._keyboard)
        line = self._keyboard.readline()
        return line.removesuffix("\n").removesuffix("\r") if line else None

    def _wait_for_line(self, keyboard: IO[str]) -> None:
        """Wait with a timeout, because a Ctrl-C just before a blocking read has no effect until that returns."""
        if os.name == "posix":
            while not select.select([keyboard], [], [], _SIGNAL_SECONDS)[0]:
                pass

    def _read_quoted(self, line: str) -> str:
        lines = [line]
        while not is_quote_closed("\n".join(lines)) and (following := self._read_plain_line("")) is not None:
            lines.append(following)
        return _strip_quotes("\n".join(lines))

    def _read_continued(self, line: str) -> str:
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            following = self._read_plain_line("")
            if following is None:
                break
            lines.append(following)
        return "\n".join(lines)


def is_quote_closed(text: str) -> bool:
    """Return whether a message that begins with triple quotes also ends with them."""
    return text.lstrip().removeprefix(QUOTES).rstrip().endswith(QUOTES)


def _strip_quotes(text: str) -> str:
    """Return the text between triple quotes, or the text itself without them."""
    if not text.lstrip().startswith(QUOTES):
        return text
    return text.lstrip().removeprefix(QUOTES).rstrip().removesuffix(QUOTES).strip("\n")
