"""Streamed Markdown, cut where a block is complete and can be shown without knowing the rest."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class Blocks:
    """Takes text in any pieces and gives back whole blocks: paragraphs, lists, tables, fenced code.

    Two blocks are parted by an empty line. What belongs to a list, and what stands in a fence, stays together. With
    `by_line`, every line is a block.
    """

    def __init__(self, *, by_line: bool = False) -> None:
        self._by_line = by_line
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._fence = ""
        self._parted = False

    def feed(self, text: str) -> list[str]:
        """The blocks that this text completes."""
        if "\n" not in text:
            self._pieces.append(text)
            return []
        *whole, rest = ("".join(self._pieces) + text).split("\n")
        self._pieces = [rest] if rest else []
        if self._by_line:
            return whole
        return [block for line in whole if (block := self._take(line)) is not None]

    def finish(self) -> str:
        """What is left when no more text will come."""
        block = "\n".join([*self._lines, *self._last()])
        self.__init__(by_line=self._by_line)
        return block

    def __bool__(self) -> bool:
        return bool(self._lines or self._pieces)

    def rest(self, lines: int, columns: int) -> str:
        """The end of what is not complete, at most so many lines of so many columns; cheap for any amount of text."""
        room = lines * columns
        tail = [*self._lines[-lines:], *(["".join(self._pieces[-room:])] if self._pieces else [])]
        return "\n".join(line[-room:] for line in tail[-lines:]).rstrip("\n")

    def _last(self) -> list[str]:
        return ["".join(self._pieces)] if self._pieces else []

    def _take(self, line: str) -> str | None:
        """Add a line; what stood before it comes back if the line begins a new block."""
        block: str | None = None
        if self._begins_block(line):
            block = "\n".join(self._lines).rstrip()
            self._lines = []
        self._note(line)
        if line.strip() or self._lines:
            self._lines.append(line)
        return block or None

    def _begins_block(self, line: str) -> bool:
        if self._fence or not self._parted or not line.strip() or line[0] in " \t" or not self._lines:
            return False
        return not (_ITEM.match(line) and _ITEM.match(self._lines[0]))

    def _note(self, line: str) -> None:
        """Whether a fence is open now, and whether a block may begin with the next line."""
        mark = _FENCE.match(line)
        if self._fence:
            if mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
                self._fence = ""
                self._parted = True
            return
        if mark:
            self._fence = mark[1]
        self._parted = not line.strip() or (self._parted and not self._lines)
