"""Streamed Markdown, cut where a block is complete and can be shown without knowing the rest."""

from __future__ import annotations

import re

from antiphon.render.safe import safe
from antiphon.views.markdown_tokens import begins_block

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
#: HTML that goes on over empty lines, and what ends it.
_HTML = tuple(
    (re.compile(rf" {{0,3}}{begin}", re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for begin, end in (
        (r"<(?:script|pre|style|textarea)(?:\s|>|$)", r"</(?:script|pre|style|textarea)>"),
        (r"<!--", r"-->"),
        (r"<\?", r"\?>"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (r"<![a-z]", r">"),
    )
)
#: So many lines of a table say how the rest of it looks.
_HEADS = 2


class Blocks:
    """Takes text in any pieces and gives back whole blocks: paragraphs, lists, tables, HTML, fenced code.

    Two blocks are parted by an empty line, and the second begins at the left margin. What belongs to a list, and what
    stands in a fence or in HTML, stays together: drawn one after the other, the blocks look as the whole text would.
    With `by_line`, every line is a block.
    """

    def __init__(self, *, by_line: bool = False) -> None:
        self._by_line = by_line
        self._pieces: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._lines: list[str] = []
        #: What ends the fence that is open, if one is, and the line that opened it.
        self._fence = self._opener = ""
        #: What ends the HTML that is open, if some is.
        self._html_end: re.Pattern[str] | None = None
        self._has_list = False
        self._is_parted = False
        #: How many lines there are before the parser is asked again.
        self._asked_from = 0

    def feed(self, text: str) -> list[str]:
        """The blocks that this text completes."""
        if "\n" not in text:
            self._pieces.append(text)
            return []
        *whole, rest = ("".join(self._pieces) + text).split("\n")
        self._pieces = [rest] if rest else []
        if self._by_line:
            return whole
        return [block for line in whole if (block := self._take(line))]

    def finish(self) -> str:
        """What is left when no more text will come."""
        block = "\n".join([*self._lines, *self._last()])
        self._pieces = []
        self._begin()
        return block

    def __bool__(self) -> bool:
        return bool(self._lines or self._pieces)

    def rest(self, lines: int, columns: int) -> str:
        """What is not complete, or so much of its end that it surely fills so many lines of so many columns.

        Cheap for any amount of text: of what is left out, only what says how the end looks is there.
        """
        room = 2 * lines * columns
        # A line of code is at least one on the screen; of other text, several may be one.
        most = lines if self._fence else 4 * lines
        tail = [*self._lines[-most:], *(["".join(self._pieces[-room:])[-room:]] if self._pieces else [])]
        if len(self._lines) <= most:
            return "\n".join(tail)
        heads = [self._opener] if self._fence else self._lines[: _HEADS * self._lines[0].startswith("|")]
        return "\n".join([*heads, *tail])

    def _last(self) -> list[str]:
        return ["".join(self._pieces)] if self._pieces else []

    def _take(self, line: str) -> str:
        """Add a line; what is complete with it, or before it, comes back."""
        is_empty, block = not line.removesuffix("\r").strip(" \t"), ""
        if self._is_parted and not is_empty and self._begins_block(line):
            block = self._completed()
        if self._lines or not is_empty:
            self._lines.append(line)
            self._note(line, is_empty)
        return self._completed() if self._is_complete(is_empty) else block

    def _completed(self) -> str:
        block = "\n".join(self._lines).rstrip()
        self._begin()
        return block

    def _begins_block(self, line: str) -> bool:
        """Whether a line after an empty one does."""
        if line[0] in " \t" or self._fence or self._html_end:
            return False
        if not self._has_list:
            return True
        if _ITEM.match(line) or len(self._lines) < self._asked_from:
            return False
        # What a line after a list belongs to is not for a few rules to say. A long one is not looked at for each line.
        self._asked_from = 2 * len(self._lines)
        return begins_block([*map(safe, self._lines)], safe(line))

    def _is_complete(self, is_empty: bool) -> bool:
        """Whether no line that follows could belong to what there is."""
        if self._has_list or self._fence or self._html_end or not self._lines:
            return False
        if not is_empty:
            return self._is_parted
        return len(self._lines) > 1 and self._lines[-2][:1] not in " \t"

    def _note(self, line: str, is_empty: bool) -> None:
        """Whether a fence is open now, whether there is a list, and whether a block may begin with the next line."""
        self._is_parted = is_empty
        if self._has_list:
            return
        if not self._fence and not self._html_end:
            self._html_end = next((end for begin, end in _HTML if begin.match(line)), None)
        if self._html_end:
            if self._html_end.search(line):
                self._html_end, self._is_parted = None, True
            return
        mark = _FENCE.match(line)
        if not self._fence:
            self._fence, self._opener = (mark[1], line) if mark else ("", "")
            self._has_list = not mark and _ITEM.match(line) is not None
        elif mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
            self._fence, self._is_parted = "", True
