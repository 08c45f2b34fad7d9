"""A terminal with its scrollback, for tests: what is drawn into it is what a person would see."""

import threading
from io import StringIO
from typing import Any

import pyte
from rich.console import Console, ConsoleDimensions


class Emulator(StringIO):
    """A file that believes to be a terminal; `lines` is all that can be seen by scrolling."""

    encoding = "utf-8"

    def __init__(self, columns: int = 60, rows: int = 20) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(columns, rows, history=200_000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)
        self._lock = threading.Lock()
        #: What was written, a piece for each time.
        self.pieces: list[str] = []

    def write(self, text: str, /) -> int:
        with self._lock:
            self.pieces.append(text)
            self._stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return len(text)

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        with self._lock:
            found = ["".join(row[place].data for place in range(self.screen.columns)).rstrip() for row in self._rows()]
        while found and not found[-1]:
            found.pop()
        return found

    def resize(self, columns: int, rows: int, *, folds: bool = False) -> None:
        """As terminals do it: what has no room scrolls by; long lines are cut, or folded anew."""
        with self._lock:
            screen, above = self.screen, len(self.screen.history.top)
            seen = [[row[place] for place in range(screen.columns)] for row in self._rows()][
                : above + screen.cursor.y + 1
            ]
            at = screen.cursor.x
            if folds and columns < screen.columns:
                at = (at - 1) % columns + 1
                seen = [piece for row in seen for piece in _folded(row, columns)]
            screen.history.top.clear()
            screen.buffer.clear()
            screen.lines, screen.columns, screen.margins = rows, columns, None
            kept = seen[-rows:]
            screen.history.top.extend(_row(screen, row) for row in seen[: len(seen) - len(kept)])
            screen.buffer.update({place: _row(screen, row) for place, row in enumerate(kept)})
            screen.cursor.y, screen.cursor.x = len(kept) - 1, min(at, columns)

    def _rows(self) -> list[Any]:
        return [*self.screen.history.top, *(self.screen.buffer[row] for row in range(self.screen.lines))]


def _folded(row: list[Any], columns: int) -> list[list[Any]]:
    used = max((place + 1 for place, each in enumerate(row) if each.data != " "), default=1)
    return [row[start : start + columns] for start in range(0, used, columns)]


def _row(screen: pyte.Screen, cells: list[Any]) -> Any:
    row = type(screen.buffer[0])(screen.default_char)
    row.update(dict(enumerate(cells[: screen.columns])))
    return row


class Window(Console):
    """The console of an emulator, as wide and as high as that is at the moment."""

    def __init__(self, emulator: Emulator, **settings: Any) -> None:
        self._emulator = emulator
        super().__init__(file=emulator, force_terminal=True, _environ={"TERM": "xterm"}, **settings)

    @property
    def size(self) -> ConsoleDimensions:
        return ConsoleDimensions(self._emulator.screen.columns, self._emulator.screen.lines)

    @property
    def width(self) -> int:
        return self.size.width
