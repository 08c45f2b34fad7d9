"""What is typed: lines with editing and history where there is a terminal, messages of several lines, pasted text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Offers = Callable[[str], tuple[int, list[str]]]

_QUOTES = '"""'
_MORE = "... "
_LONGEST_HISTORY = 1000
#: Pasted lines follow each other faster than anybody types.
_PASTE_SECONDS = 0.03


class LineEditor:
    """Reads from standard input. `history` is the file that messages are kept in.

    What Tab offers is said by `offers`: of a line up to the cursor, where its last word begins, and what could stand
    there.
    """

    def __init__(self, offers: Offers | None = None, history: Path | None = None) -> None:
        self.is_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._readline: Any = _editing() if self.is_terminal else None
        self._history = history
        self._offers = offers
        self._offered: list[str] = []
        if sys.stdin is not None and hasattr(sys.stdin, "reconfigure"):
            # A byte that is no text must not end the chat.
            sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
        if self._readline is not None:
            self._prepare(self._readline)

    def message(self, prompt: str) -> str | None:
        """What the user says: a line, lines that end in a backslash, or lines between triple quotes; `None` is the end.

        Ctrl-C raises KeyboardInterrupt.
        """
        line = self._line(prompt)
        if line is None:
            return None
        if line.lstrip().startswith(_QUOTES):
            text = self._quoted(line.lstrip().removeprefix(_QUOTES))
        else:
            text = self._continued(line)
        self._remember(text)
        return text

    def line(self, prompt: str) -> str:
        """A short answer, which is not kept; nothing at the end of the input."""
        return self._line(prompt) or ""

    def _quoted(self, line: str) -> str:
        lines: list[str] = []
        while not line.rstrip().endswith(_QUOTES):
            lines.append(line)
            following = self._line(_MORE)
            if following is None:
                return "\n".join(lines)
            line = following
        return "\n".join([*lines, line.rstrip().removesuffix(_QUOTES)]).strip("\n")

    def _continued(self, line: str) -> str:
        lines = [line, *self._pasted()]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            following = self._line(_MORE)
            if following is None:
                break
            lines.append(following)
        return "\n".join(lines)

    def _line(self, prompt: str) -> str | None:
        if not self.is_terminal:
            line = sys.stdin.readline() if sys.stdin is not None else ""
            return line.removesuffix("\n").removesuffix("\r") if line else None
        try:
            if sys.stdout is not None and sys.stdout.isatty():
                return input(prompt)
            print(prompt, end="", file=sys.stderr, flush=True)
            return input()
        except EOFError:
            return None

    def _pasted(self) -> list[str]:
        """The other lines of what was pasted; GNU's library gives all of it as one line by itself."""
        if not self.is_terminal or os.name != "posix" or _is_gnu(self._readline):
            return []
        import select

        lines: list[str] = []
        while select.select([sys.stdin], [], [], _PASTE_SECONDS)[0]:
            line = self._line("")
            if line is None:
                break
            lines.append(line)
        return lines

    # History and completion

    def _prepare(self, readline: Any) -> None:
        readline.set_auto_history(False)
        readline.set_history_length(_LONGEST_HISTORY)
        readline.set_completer(self._completed)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("tab: complete" if _is_gnu(readline) else "bind ^I rl_complete")
        # Python turns off what makes pasted lines one message instead of several.
        if os.environ.get("TERM") not in ("dumb", "unknown"):
            readline.parse_and_bind("set enable-bracketed-paste on")
        if self._history is not None:
            with suppress(OSError):
                readline.read_history_file(self._history)

    def _remember(self, text: str) -> None:
        readline = self._readline
        if readline is None or not text.strip():
            return
        readline.add_history(text)
        # The file has a line for each message.
        if self._history is not None and "\n" not in text:
            with suppress(OSError):
                self._history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600))
                readline.append_history_file(1, self._history)

    def _completed(self, _: str, state: int) -> str | None:
        """What could be typed, for the editor, which knows only of the last word; a name may have blanks in it."""
        if state == 0 and self._offers is not None:
            readline = self._readline
            begin, found = self._offers(readline.get_line_buffer()[: readline.get_endidx()])
            self._offered = [each[max(readline.get_begidx() - begin, 0) :] for each in found]
        return self._offered[state] if state < len(self._offered) else None


def _editing() -> Any:
    try:
        import readline
    except ImportError:
        return None
    return readline


def _is_gnu(readline: Any) -> bool:
    return readline is not None and "libedit" not in (readline.__doc__ or "")
