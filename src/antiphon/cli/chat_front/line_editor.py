"""Line input of a chat: editing, history, messages of several lines, and pasted text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ListCompletions = Callable[[str], tuple[int, list[str]]]

_QUOTES = '"""'
_MORE = "... "
_LONGEST_HISTORY = 1000
#: Pasted lines follow each other faster than anybody types.
_PASTE_SECONDS = 0.03


class LineEditor:
    """Reads from standard input; `history` is the file for messages.

    `completions` maps the line up to the cursor to the start of its last word, and words that fit there.
    """

    def __init__(self, completions: ListCompletions | None = None, history: Path | None = None) -> None:
        self.is_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._readline: Any = _import_readline() if self.is_terminal else None
        self._history = history
        self._completions = completions
        self._completed_words: list[str] = []
        if sys.stdin is not None and hasattr(sys.stdin, "reconfigure"):
            # Invalid bytes must not end the chat.
            sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
        if self._readline is not None:
            self._prepare(self._readline)

    def read_message(self, prompt: str) -> str | None:
        """Return a line, lines that end in a backslash, or lines between triple quotes; `None` at the end.

        Ctrl-C raises KeyboardInterrupt.
        """
        line = self._line(prompt)
        if line is None:
            return None
        if line.lstrip().startswith(_QUOTES):
            text = self._read_quoted(line.lstrip().removeprefix(_QUOTES))
        else:
            text = self._read_continued(line)
        self._remember(text)
        return text

    def read_line(self, prompt: str) -> str:
        """Return a short answer, which is not added to the history; "" at the end of the input."""
        return self._line(prompt) or ""

    def _read_quoted(self, line: str) -> str:
        lines: list[str] = []
        while not line.rstrip().endswith(_QUOTES):
            lines.append(line)
            following = self._line(_MORE)
            if following is None:
                return "\n".join(lines)
            line = following
        return "\n".join([*lines, line.rstrip().removesuffix(_QUOTES)]).strip("\n")

    def _read_continued(self, line: str) -> str:
        lines = [line, *self._read_pasted()]
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

    def _read_pasted(self) -> list[str]:
        """Return further pasted lines; GNU readline returns all of them as one line by itself."""
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
        readline.set_completer(self._complete)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("tab: complete" if _is_gnu(readline) else "bind ^I rl_complete")
        # Python disables bracketed paste, which makes pasted lines one message.
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

    def _complete(self, _: str, state: int) -> str | None:
        """Return the completion number `state` for the editor, whose word may be only the end of a name with spaces."""
        if state == 0 and self._completions is not None:
            readline = self._readline
            begin, found = self._completions(readline.get_line_buffer()[: readline.get_endidx()])
            self._completed_words = [each[max(readline.get_begidx() - begin, 0) :] for each in found]
        return self._completed_words[state] if state < len(self._completed_words) else None


def _import_readline() -> Any:
    try:
        import readline
    except ImportError:
        return None
    return readline


def _is_gnu(readline: Any) -> bool:
    return readline is not None and "libedit" not in (readline.__doc__ or "")
