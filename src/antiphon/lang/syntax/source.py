"""The text of a program, and conversion between offsets and lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_FIRST_COMMENT = re.compile(
    r"\ufeff?(?:#![^\n]*(?=\n|\Z))?\s*(?:/\*(?P<block>.*?)\*/|(?P<lines>//[^\n]*(?:\n[ \t]*//[^\n]*)*))", re.DOTALL
)
_COMMENT_MARGIN = re.compile(r"^[ \t]*(?://|\*)?[ \t]?", re.MULTILINE)


@dataclass(slots=True, eq=False)
class Source:
    """The text of one file. Positions are offsets into `text`; lines and columns count from 1."""

    name: str
    text: str
    #: The offset of each line's first character.
    line_starts: list[int] = field(init=False, repr=False)
    _is_ascii: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.line_starts = [0]
        find, at = self.text.find, 0
        while (at := find("\n", at) + 1) > 0:
            self.line_starts.append(at)
        self._is_ascii = self.text.isascii()

    @property
    def line_count(self) -> int:
        """The number of lines; an empty text has one."""
        return len(self.line_starts)

    def line_number(self, offset: int) -> int:
        """Return the number of the line that contains an offset."""
        return bisect_right(self.line_starts, offset)

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, in characters."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def python_position(self, offset: int) -> tuple[int, int]:
        """Return the line, and the column as Python's `ast` counts: from 0, in bytes of UTF-8."""
        line = bisect_right(self.line_starts, offset)
        start = self.line_starts[line - 1]
        return line, offset - start if self._is_ascii else len(self.text[start:offset].encode(errors="replace"))

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and of a column as Python's `ast` counts it."""
        start = self.line_starts[min(line, len(self.line_starts)) - 1]
        if self._is_ascii:
            return start + column
        return start + len(self.line(line).encode(errors="replace")[:column].decode(errors="replace"))

    def line(self, number: int) -> str:
        """Return the text of a line, without its line end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")

    def around(self, offset: int, before: int, after: int) -> tuple[str, str]:
        """Return the text of an offset's line before and after it, limited to `before` and `after` characters."""
        number = bisect_right(self.line_starts, offset)
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        start = max(self.line_starts[number - 1], offset - before)
        return self.text[start:offset], self.text[offset : min(end, offset + after)].removesuffix("\r")


def extract_first_comment(text: str) -> str:
    """Return the text of the comment that a text begins with: consecutive `//` lines, or one `/* */`."""
    found = _FIRST_COMMENT.match(text)
    if found is None:
        return ""
    said = found["block"] if found["block"] is not None else found["lines"]
    return "\n".join(line.rstrip() for line in _COMMENT_MARGIN.sub("", said).split("\n")).strip()
