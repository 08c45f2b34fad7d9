"""Streamed Markdown, split where a block is complete and can be rendered without the remainder."""

from __future__ import annotations

import re

from antiphon.terminal.sanitizer import sanitize_text
from antiphon.views.markdown_tokens import begins_block

_FENCE_MARK = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
#: HTML blocks that continue over empty lines, and what ends them.
_HTML_BLOCKS = tuple(
    (re.compile(rf" {{0,3}}{begin}", re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for begin, end in (
        (r"<(?:script|pre|style|textarea)(?:\s|>|$)", r"</(?:script|pre|style|textarea)>"),
        (r"<!--", r"-->"),
        (r"<\?", r"\?>"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (r"<![a-z]", r">"),
    )
)
#: How many lines of a table determine its rendering.
_TABLE_HEAD_LINES = 2


class MarkdownBlocks:
    """A splitter for streamed text that returns complete blocks: paragraphs, lists, tables, HTML, fenced
    code.

    Two blocks are separated by an empty line, and the second begins at the left margin. A list, a fence or an
    HTML block stays together, so that the blocks rendered one by one look like the whole text. With
    `by_line`, every line is a block.
    """

    def __init__(self, *, by_line: bool = False) -> None:
        self._by_line = by_line
        self._pieces: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._lines: list[str] = []
        #: The mark that ends the open fence, if any, and the line that opened it.
        self._fence = self._fence_line = ""
        #: The pattern that ends the open HTML block, if any.
        self._html_end: re.Pattern[str] | None = None
        self._has_list = False
        self._is_separated = False
        #: The number of lines at which the parser is consulted again.
        self._next_parse_length = 0

    def feed(self, text: str) -> list[str]:
        """Add text and return the blocks that it completes."""
        if "\n" not in text:
            self._pieces.append(text)
            return []
        *whole, rest = ("".join(self._pieces) + text).split("\n")
        self._pieces = [rest] if rest else []
        if self._by_line:
            return whole
        return [block for line in whole if (block := self._take(line))]

    def finish(self) -> str:
        """Return the remaining text when no more will come."""
        block = "\n".join([*self._lines, *self._last()])
        self._pieces = []
        self._begin()
        return block

    def __bool__(self) -> bool:
        return bool(self._lines or self._pieces)

    def rest(self, lines: int, columns: int) -> str:
        """Return the incomplete text, or enough of its end to fill so many lines and columns.

        The cost is bounded for any amount of text. Of the omitted part, only lines that affect the rendering
        are included.
        """
        room = 2 * lines * columns
        # A line of code takes at least one line on the screen; several lines of other text may be joined into one.
        most = lines if self._fence else 4 * lines
        tail = [*self._lines[-most:], *(["".join(self._pieces[-room:])[-room:]] if self._pieces else [])]
        if len(self._lines) <= most:
            return "\n".join(tail)
        heads = [self._fence_line] if self._fence else self._lines[: _TABLE_HEAD_LINES * self._lines[0].startswith("|")]
        return "\n".join([*heads, *tail])

    def _last(self) -> list[str]:
        return ["".join(self._pieces)] if self._pieces else []

    def _take(self, line: str) -> str:
        """Add a line. Return a block that is complete with it or before it, or ""."""
        is_empty, block = not line.removesuffix("\r").strip(" \t"), ""
        if self._is_separated and not is_empty and self._starts_block(line):
            block = self._completed()
        if self._lines or not is_empty:
            self._lines.append(line)
            self._note(line, is_empty)
        return self._completed() if self._is_complete(is_empty) else block

    def _completed(self) -> str:
        block = "\n".join(self._lines).rstrip()
        self._begin()
        return block

    def _starts_block(self, line: str) -> bool:
        """Return whether a line after an empty one begins a new block."""
        if line[0] in " \t" or self._fence or self._html_end:
            return False
        if not self._has_list:
            return True
        if _LIST_ITEM.match(line) or len(self._lines) < self._next_parse_length:
            return False
        # Whether a line belongs to the list needs a full parse. A long list is not parsed for each line.
        self._next_parse_length = 2 * len(self._lines)
        return begins_block([*map(sanitize_text, self._lines)], sanitize_text(line))

    def _is_complete(self, is_empty: bool) -> bool:
        """Return whether no following line can belong to the current block."""
        if self._has_list or self._fence or self._html_end or not self._lines:
            return False
        if not is_empty:
            return self._is_separated
        return len(self._lines) > 1 and self._lines[-2][:1] not in " \t"

    def _note(self, line: str, is_empty: bool) -> None:
        """Track open fences, HTML and lists, and whether a block may begin with the next line."""
        self._is_separated = is_empty
        if self._has_list:
            return
        if not self._fence and not self._html_end:
            self._html_end = next((end for begin, end in _HTML_BLOCKS if begin.match(line)), None)
        if self._html_end:
            if self._html_end.search(line):
                self._html_end, self._is_separated = None, True
            return
        mark = _FENCE_MARK.match(line)
        if not self._fence:
            self._fence, self._fence_line = (mark[1], line) if mark else ("", "")
            self._has_list = not mark and _LIST_ITEM.match(line) is not None
        elif mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
            self._fence, self._is_separated = "", True
