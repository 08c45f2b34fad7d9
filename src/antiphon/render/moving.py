"""The last lines of a terminal, drawn over and over again, below all that is printed and stays."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from io import StringIO, TextIOBase
from typing import IO, Any, cast

from rich.cells import cell_len
from rich.console import Console, RenderableType

from antiphon._terminal import begin_moving, end_moving, unseen

#: Often enough for a spinner and for words that come, seldom enough to cost little.
SECONDS = 0.1
#: What the environment of terminals says that fold long lines anew when they get narrower.
_FOLDING = (
    *("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID"),
    *("WEZTERM_PANE", "ITERM_SESSION_ID", "GHOSTTY_RESOURCES_DIR"),
)
_FOLDING_TERMS = ("tmux", "alacritty", "xterm-kitty", "xterm-ghostty", "foot", "wezterm")
_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")
_HIDE, _SHOW, _ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[J"
#: Terminals disagree about how wide some characters are: a line that is too long must not become two.
_CROP, _WRAP = "\x1b[?7l", "\x1b[?7h"


class Moving:
    """Draws `what` as the last lines of a console, from `start` to `stop`, and keeps what is typed from showing there.

    Whatever is printed meanwhile, to this console or to the terminal, stands above and is never touched again. Every
    change of the screen is one write, made by whoever holds the `lock`: what is on the screen is always known.
    """

    def __init__(self, console: Console, what: RenderableType) -> None:
        self.lock = threading.RLock()
        self._console = console
        self._what = what
        self._file: IO[str] = console.file
        self._paper = _paper(console)
        self._printed: deque[str] = deque()
        self._drawn: list[str] = []
        self._width = 0
        self._open = 0
        self._given: ExitStack | None = None

    @property
    def is_on(self) -> bool:
        """Whether there are such lines now."""
        return self._given is not None

    def start(self) -> None:
        """Begin to draw."""
        with self.lock:
            if self._given is not None or not begin_moving(self.stop):
                return
            self._file, self._paper, self._drawn = self._console.file, _paper(self._console), []
            over = threading.Event()
            with ExitStack() as given:
                given.callback(over.set)
                given.enter_context(unseen())
                given.enter_context(self._above())
                self._given = given.pop_all()
            self._change(_HIDE)
        threading.Thread(target=self._tick, args=(over,), name="moving lines", daemon=True).start()

    def stop(self) -> None:
        """Give the terminal back: there is nothing but what was printed."""
        with self.lock:
            if self._given is not None:
                given, self._given = self._given, None
                end_moving(self.stop)
                given.close()
                self._change(end=_SHOW)
        self._put()

    def draw(self) -> None:
        """Draw what there is to see now, without waiting for the time to come."""
        with self.lock:
            if self.is_on and not self._open:
                self._change()

    @contextmanager
    def together(self) -> Generator[None]:
        """All that is printed inside appears at once."""
        with self.lock:
            self._open += 1
            try:
                yield
            finally:
                self._open -= 1
                self._put()

    def _tick(self, over: threading.Event) -> None:
        while not over.wait(SECONDS):
            with self.lock:
                if not over.is_set():
                    self.draw()

    def _print(self, text: str) -> None:
        self._printed.append(text)
        self._put()

    def _put(self) -> None:
        """Show what was printed, or leave it to whoever holds the lock.

        Nobody who prints waits for it: they hold a lock of their console, for which those wait who hold ours.
        """
        while self._printed and self.lock.acquire(blocking=False):
            try:
                if self._open:
                    return
                self._change()
            finally:
                self.lock.release()

    def _change(self, begin: str = "", end: str = "") -> None:
        """Put what was printed in the place of the moving lines, and these below it, from the first that differs."""
        printed = "".join(self._printed.popleft() for _ in range(len(self._printed)))
        rows = self._rows() if self.is_on else []
        kept = 0 if printed or not rows or self._is_resized() else _alike(self._drawn, rows)
        if not begin and not end and not printed and rows == self._drawn and kept:
            return
        text = f"{begin}{self._back_to(kept)}{_ERASE}{printed}{_CROP}{chr(10).join(rows[kept:])}{_WRAP}{end}"
        try:
            self._file.write(text)
            self._file.flush()
        finally:
            self._drawn, self._width = rows, self._console.width

    def _rows(self) -> list[str]:
        """What is to be drawn now: the end of it, if the screen is too low for all."""
        size = self._console.size
        self._paper.size = size
        assert isinstance(self._paper.file, StringIO)
        self._paper.file.seek(0)
        self._paper.file.truncate()
        self._paper.print(self._what, end="")
        return self._paper.file.getvalue().rstrip("\n").split("\n")[-size.height :]

    def _is_resized(self) -> bool:
        return self._console.width != self._width

    def _back_to(self, row: int) -> str:
        """To the beginning of a drawn row, from where the last one ends."""
        size, rows = self._console.size, self._drawn[row:]
        up = len(rows) - 1
        if size.width < self._width and folds_anew():
            up = sum(max(-(-_cells(each) // size.width), 1) for each in rows) - 1
        up = min(up, size.height - 1)
        return f"\r\x1b[{up}A" if up > 0 else "\r"

    @contextmanager
    def _above(self) -> Generator[None]:
        """What anybody prints to the terminal goes through here; a line without an end, when these lines are gone."""
        before = sys.stdout, sys.stderr
        above = _Above(self._file, self._print)
        self._console.file = cast(IO[str], above)
        # Standard output may be a file while there is a terminal.
        if _is_terminal(sys.stdout):
            sys.stdout = _Above(sys.stdout, self._print)
        if _is_terminal(sys.stderr):
            sys.stderr = _Above(sys.stderr, self._print)
        taken = above, sys.stdout, sys.stderr
        try:
            yield
        finally:
            self._console.file = self._file
            sys.stdout, sys.stderr = before
            self._printed += [each.rest for each in taken if isinstance(each, _Above)]


class _Above(TextIOBase):
    """A terminal for those who print while lines move on it. They get whole lines there, in one piece."""

    def __init__(self, file: Any, put: Callable[[str], None]) -> None:
        self._file = file
        self._put = put
        self.rest = ""

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            # click tries this to find out what it has before it.
            raise TypeError(f"a terminal takes text, not {type(text).__name__}")
        whole, end, self.rest = f"{self.rest}{text}".rpartition("\n")
        if end:
            self._put(whole + end)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        return self._file.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._file.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._file.errors

    @property
    def buffer(self) -> Any:
        return self._file.buffer


class _Paper(StringIO):
    """What is drawn before it is shown, for a terminal with this encoding."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def folds_anew(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal is known to fold long lines anew when it gets narrower; others cut them.

    Of a terminal that says nothing, the lines are not counted as folded: what was printed is never erased.
    """
    return any(name in environment for name in _FOLDING) or environment.get("TERM", "").startswith(_FOLDING_TERMS)


def _paper(console: Console) -> Console:
    """A console like this one that writes into memory; nobody else uses it, so nobody has to be waited for."""
    return Console(
        file=_Paper(console.encoding),
        force_terminal=True,
        color_system=console.color_system,  # type: ignore[arg-type]
        no_color=console.no_color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _alike(before: list[str], now: list[str]) -> int:
    """How many rows at the top can stay; the last that was drawn never does: it is where the cursor stands."""
    most = min(len(before), len(now)) - 1
    return next((place for place in range(most) if before[place] != now[place]), max(most, 0))


def _cells(row: str) -> int:
    return cell_len(_SEQUENCE.sub("", row))


def _is_terminal(stream: Any) -> bool:
    return stream is not None and not stream.closed and stream.isatty()
