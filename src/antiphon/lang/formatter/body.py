"""What stands in a block, line by line."""

from __future__ import annotations

from antiphon.lang.formatter.layout import HARD, WIDTH, Doc, Group, Indent, Suffix

#: What stands between two lines of a block, by how many line ends stood there: an empty line at most.
_BETWEEN: tuple[list[Doc], ...] = ([" "], [HARD], [HARD, HARD])


class Body:
    """The lines of a block. Those that are known as text are joined to one, so that most blocks need no layout."""

    def __init__(self, room: int) -> None:
        self._docs: list[Doc] = []
        self._text: list[str] = []
        #: Comments beside the opening brace.
        self._beside: list[Doc] = []
        # Where lines begin is known only if there is room for some.
        self._is_known = room > 0
        line = "\n" + " " * (WIDTH - room)
        self._between = (" ", line, f"\n{line}")

    def add(self, docs: list[Doc], lines: int) -> None:
        """Add a statement or a comment that stands so many lines after the last, or on its line."""
        lines = lines if lines < 2 else 2
        if self._is_known and len(docs) == 1 and docs[0].__class__ is str:
            if self._text:
                self._text.append(self._between[lines])
            elif self._docs:
                self._docs += _BETWEEN[lines]
            self._text += docs  # type: ignore[arg-type]
            return
        self._flush()
        if self._docs:
            self._docs += _BETWEEN[lines]
        self._docs += docs

    def add_beside(self, comment: str) -> None:
        """Add a comment at the end of a line."""
        if self._text:
            self._text.append(f" {comment}")
        else:
            (self._docs or self._beside).append(Suffix(f" {comment}"))

    def _flush(self) -> None:
        if self._text:
            self._docs.append("".join(self._text))
            self._text = []

    def docs(self) -> list[Doc]:
        """All of it."""
        self._flush()
        return self._docs

    def text(self) -> str | None:
        """All of it in braces, if it is text."""
        if self._docs or self._beside or not self._is_known:
            return None
        outer = self._between[1][:-2]
        return f"{{{self._between[1]}{''.join(self._text)}{outer}}}" if self._text else "{}"

    def block(self) -> Doc:
        """All of it in braces."""
        docs = self.docs()
        if not self._beside and not docs:
            return "{}"
        return Group(["{", *self._beside, *([Indent([HARD, *docs], 2, True)] if docs else []), HARD, "}"], True)
