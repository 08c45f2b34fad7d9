"""A program's text, and where in it a position is."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_FIRST = re.compile(
    r"\ufeff?(?:#![^\n]*)?\s*(?:/\*(?P<block>.*?)\*/|(?P<lines>//[^\n]*(?:\n[ \t]*//[^\n]*)*))", re.DOTALL
)
_MARGIN = re.compile(r"^[ \t]*(?://|\*)?[ \t]?", re.MULTILINE)


@dataclass(slots=True, eq=False)
class Source:
    """The text of one file. Positions are offsets into `text`; lines and columns count from 1."""

    name: str
    text: str
    _starts: list[int] = field(init=False, repr=False)
    _ascii: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._starts = [0]
        find, at = self.text.find, 0
        while (at := find("\n", at) + 1) > 0:
            self._starts.append(at)
        self._ascii = self.text.isascii()

    @property
    def line_starts(self) -> list[int]:
        """Where each line begins."""
        return self._starts

    @property
    def line_count(self) -> int:
        """How many lines there are; an empty text has one."""
        return len(self._starts)

    def line_of(self, offset: int) -> int:
        """The number of the line that holds this position."""
        return bisect_right(self._starts, offset)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a position, in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def python_place(self, offset: int) -> tuple[int, int]:
        """Line, and column as Python's `ast` counts: from 0, in bytes of UTF-8."""
        line = bisect_right(self._starts, offset)
        start = self._starts[line - 1]
        return line, offset - start if self._ascii else len(self.text[start:offset].encode(errors="replace"))

    def offset(self, line: int, column: int) -> int:
        """The position of a line and a column as Python counts it."""
        start = self._starts[min(line, len(self._starts)) - 1]
        if self._ascii:
            return start + column
        return start + len(self.line(line).encode(errors="replace")[:column].decode(errors="replace"))

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")

    def around(self, offset: int, before: int, after: int) -> tuple[str, str]:
        """What stands in the line of a position, up to it and from it on; no more of it than so many characters."""
        number = bisect_right(self._starts, offset)
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        start = max(self._starts[number - 1], offset - before)
        return self.text[start:offset], self.text[offset : min(end, offset + after)].removesuffix("\r")


def first_comment(text: str) -> str:
    """What the comment says that a text begins with: all `//` lines of it, or one `/* */`."""
    found = _FIRST.match(text)
    if found is None:
        return ""
    said = found["block"] if found["block"] is not None else found["lines"]
    return "\n".join(line.rstrip() for line in _MARGIN.sub("", said).split("\n")).strip()
