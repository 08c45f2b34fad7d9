"""The lines of a block."""

from __future__ import annotations

from antiphon.lang.formatter.layout import HARD_BREAK, MAX_LINE_WIDTH, BreakGroup, IndentedDoc, LayoutDoc, LineSuffix

#: The separator of two lines of a block, by the number of line ends in the source: at most one empty line.
_SEPARATORS: tuple[list[LayoutDoc], ...] = ([" "], [HARD_BREAK], [HARD_BREAK, HARD_BREAK])


class BlockLines:
    """The lines of a block. Lines that are plain text are joined to one, so that most blocks need no layout."""

    def __init__(self, room: int) -> None:
        self._docs: list[LayoutDoc] = []
        self._text: list[str] = []
        #: Comments on the line of the opening brace.
        self._opener_comments: list[LayoutDoc] = []
        # The indentation is known only if the room is positive.
        self._is_indentation_known = room > 0
        line = "\n" + " " * (MAX_LINE_WIDTH - room)
        self._between = (" ", line, f"\n{line}")

    def add(self, docs: list[LayoutDoc], lines: int) -> None:
        """Add a statement or a comment that follows the last one after `lines` line ends; 0 means on its line."""
        lines = lines if lines < 2 else 2
        if self._is_indentation_known and len(docs) == 1 and docs[0].__class__ is str:
            if self._text:
                self._text.append(self._between[lines])
            elif self._docs:
                self._docs += _SEPARATORS[lines]
            self._text += docs  # type: ignore[arg-type]
            return
        self._flush_text()
        if self._docs:
            self._docs += _SEPARATORS[lines]
        self._docs += docs

    def add_trailing_comment(self, comment: str) -> None:
        """Add a comment at the end of the last line."""
        if self._text:
            self._text.append(f" {comment}")
        else:
            (self._docs or self._opener_comments).append(LineSuffix(f" {comment}"))

    def _flush_text(self) -> None:
        if self._text:
            self._docs.append("".join(self._text))
            self._text = []

    def docs(self) -> list[LayoutDoc]:
        """Return the documents of all lines."""
        self._flush_text()
        return self._docs

    def text(self) -> str | None:
        """Return the block with its braces as text, or None if it needs layout."""
        if self._docs or self._opener_comments or not self._is_indentation_known:
            return None
        outer = self._between[1][:-2]
        return f"{{{self._between[1]}{''.join(self._text)}{outer}}}" if self._text else "{}"

    def block(self) -> LayoutDoc:
        """Return the block with its braces as a document."""
        docs = self.docs()
        if not self._opener_comments and not docs:
            return "{}"
        return BreakGroup(
            [
                "{",
                *self._opener_comments,
                *([IndentedDoc([HARD_BREAK, *docs], 2, True)] if docs else []),
                HARD_BREAK,
                "}",
            ],
            True,
        )
