"""The live region: the last lines of a terminal, redrawn repeatedly below all permanent output."""

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

from antiphon._base.terminal import delay_interrupts, hide_typed_input, register_live_region, unregister_live_region

#: Short enough for a spinner and streamed words, long enough to cost little.
REFRESH_SECONDS = 0.1
#: Environment variables of terminals that reflow long lines when they get narrower.
_REFLOWING_VARIABLES = (
    *("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID"),
    *("WEZTERM_PANE", "ITERM_SESSION_ID", "GHOSTTY_RESOURCES_DIR"),
)
_REFLOWING_TERMS = ("tmux", "alacritty", "xterm-kitty", "xterm-ghostty", "foot", "wezterm")
_SGR_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")
_HIDE_CURSOR, _SHOW_CURSOR, _ERASE_BELOW = "\x1b[?25l", "\x1b[?25h", "\x1b[J"
#: Terminals disagree about the width of some characters, so a line that is too long must not wrap.
_DISABLE_WRAP, _ENABLE_WRAP = "\x1b[?7l", "\x1b[?7h"


class LiveRegion:
    """Draws `what` as the last lines of a console, from `start` to `stop`, without echo of typed text.

    Everything printed meanwhile, to this console or to the terminal, appears above and is never changed
    again. Every change of the screen is a single write under `lock`, so that the content of the screen is
    always known.
    """

    def __init__(self, console: Console, what: RenderableType) -> None:
        self.lock = threading.RLock()
        self._console = console
        self._content = what
        self._file: IO[str] = console.file
        self._memory_console = _make_memory_console(console)
        self._printed: deque[str] = deque()
        self._drawn: list[str] = []
        self._width = 0
        self._open = 0
        self._given: ExitStack | None = None

    @property
    def is_active(self) -> bool:
        """Return whether the region is currently displayed."""
        return self._given is not None

    def start(self) -> None:
        """Start drawing."""
        with delay_interrupts(), self.lock:
            if self._given is not None or not register_live_region(self.stop):
                return
            self._file, self._memory_console, self._drawn = self._console.file, _make_memory_console(self._console), []
            over = threading.Event()
            with ExitStack() as given:
                given.callback(over.set)
                given.enter_context(hide_typed_input())
                given.enter_context(self._redirect_output())
                self._given = given.pop_all()
            self._change(_HIDE_CURSOR)
            threading.Thread(target=self._refresh_loop, args=(over,), name="moving lines", daemon=True).start()

    def stop(self) -> None:
        """Erase the region and restore the terminal; only printed output remains."""
        with delay_interrupts(), self.lock:
            if self._given is not None:
                given, self._given = self._given, None
                unregister_live_region(self.stop)
                given.close()
                self._change(end=_SHOW_CURSOR)
        self._put()

    def draw(self) -> None:
        """Redraw now, without waiting for the next refresh."""
        with self.lock:
            if self.is_active and not self._open:
                self._change()

    @contextmanager
    def batch(self) -> Generator[None]:
        """Display everything printed inside at once."""
        with self.lock:
            self._open += 1
            try:
                yield
            finally:
                self._open -= 1
                self._put()

    def _refresh_loop(self, over: threading.Event) -> None:
        while not over.wait(REFRESH_SECONDS):
            with self.lock:
                if not over.is_set():
                    self.draw()

    def _print(self, text: str) -> None:
        self._printed.append(text)
        self._put()

    def _put(self) -> None:
        """Display printed text, or leave it to the holder of the lock.

        A printing thread never waits: it holds the lock of its console, for which the holder of our lock may
        wait.
        """
        while self._printed and self.lock.acquire(blocking=False):
            try:
                if self._open:
                    return
                self._change()
            finally:
                self.lock.release()

    def _change(self, begin: str = "", end: str = "") -> None:
        """Print pending text in place of the region, and redraw the region below it from the first changed row."""
        printed = "".join(self._printed.popleft() for _ in range(len(self._printed)))
        rows = self._rows() if self.is_active else []
        kept = 0 if printed or not rows or self._console.width != self._width else _count_equal_rows(self._drawn, rows)
        if not begin and not end and not printed and rows == self._drawn and kept:
            return
        drawn = "\n".join(rows[kept:])
        text = f"{begin}{self._move_up_to(kept)}{_ERASE_BELOW}{printed}{_DISABLE_WRAP}{drawn}{_ENABLE_WRAP}{end}"
        try:
            self._file.write(text)
            self._file.flush()
        finally:
            self._drawn, self._width = rows, self._console.width

    def _rows(self) -> list[str]:
        """Return the rows to draw; only the last ones if the screen is too low for all."""
        size = self._console.size
        self._memory_console.size = size
        assert isinstance(self._memory_console.file, StringIO)
        self._memory_console.file.seek(0)
        self._memory_console.file.truncate()
        self._memory_console.print(self._content, end="")
        return self._memory_console.file.getvalue().rstrip("\n").split("\n")[-size.height :]

    def _move_up_to(self, row: int) -> str:
        """Return the sequence that moves the cursor from the end of the last row to the start of a drawn row."""
        size, rows = self._console.size, self._drawn[row:]
        up = len(rows) - 1
        if size.width < self._width and reflows_on_resize():
            up = sum(max(-(-cell_len(_SGR_SEQUENCE.sub("", each)) // size.width), 1) for each in rows) - 1
        up = min(up, size.height - 1)
        return f"\r\x1b[{up}A" if up > 0 else "\r"

    @contextmanager
    def _redirect_output(self) -> Generator[None]:
        """Redirect all terminal output through the region; at its end, print an incomplete line."""
        before = sys.stdout, sys.stderr
        above = _RedirectedStream(self._file, self._print)
        self._console.file = cast(IO[str], above)
        # Standard output may be a file even if the console is a terminal.
        if _is_terminal(sys.stdout):
            sys.stdout = _RedirectedStream(sys.stdout, self._print)
        if _is_terminal(sys.stderr):
            sys.stderr = _RedirectedStream(sys.stderr, self._print)
        taken = above, sys.stdout, sys.stderr
        try:
            yield
        finally:
            self._console.file = self._file
            sys.stdout, sys.stderr = before
            self._printed += [each.rest for each in taken if isinstance(each, _RedirectedStream)]


class _RedirectedStream(TextIOBase):
    """A stream for output while the region is active; it passes on only complete lines, in one piece."""

    def __init__(self, file: Any, put: Callable[[str], None]) -> None:
        self._file = file
        self._put = put
        self.rest = ""

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            # click writes bytes to detect the type of the stream.
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


class _MemoryFile(StringIO):
    """An in-memory file with the encoding of a terminal."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def reflows_on_resize(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal is known to reflow long lines when it gets narrower; others cut them.

    For an unknown terminal, lines are assumed not to reflow, so that printed output is never erased.
    """
    return any(name in environment for name in _REFLOWING_VARIABLES) or environment.get("TERM", "").startswith(
        _REFLOWING_TERMS
    )


def _make_memory_console(console: Console) -> Console:
    """Return a console like this one that writes into memory; nothing else uses it, so it needs no lock."""
    return Console(
        file=_MemoryFile(console.encoding),
        force_terminal=True,
        color_system=console.color_system,  # type: ignore[arg-type]
        no_color=console.no_color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _count_equal_rows(before: list[str], now: list[str]) -> int:
    """Return how many rows at the top can stay; the last drawn row never does, as the cursor is there."""
    most = min(len(before), len(now)) - 1
    return next((place for place in range(most) if before[place] != now[place]), max(most, 0))


def _is_terminal(stream: Any) -> bool:
    return stream is not None and not stream.closed and stream.isatty()
