"""Documents with optional line breaks, the lines of a block, and their layout into text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MAX_LINE_WIDTH = 100


@dataclass(slots=True, frozen=True)
class LineBreak:
    """A possible line break; where it is not needed, `flat` is printed instead. A `hard` one is always a line end."""

    flat: str = ""
    hard: bool = False


SPACE_OR_BREAK, SOFT_BREAK, HARD_BREAK = LineBreak(" "), LineBreak(), LineBreak(hard=True)


@dataclass(slots=True, frozen=True)
class IfBroken:
    """Text that is printed only if the enclosing group is broken: a trailing comma, an empty line."""

    text: str


@dataclass(slots=True, frozen=True)
class LineSuffix:
    """A comment at the end of a line; it does not count for the line's width."""

    text: str


@dataclass(slots=True, frozen=True)
class IndentedDoc:
    """Parts whose lines are indented further."""

    parts: list[LayoutDoc]
    by: int
    hard: bool


@dataclass(slots=True, frozen=True)
class BreakGroup:
    """Parts that are on one line together, or broken at each of their line breaks.

    `hugging` may return an alternative that is tried before breaking: the group with only its last part broken,
    as in `f(a, {` … `})`.
    """

    parts: list[LayoutDoc]
    hard: bool
    hugging: Callable[[], list[LayoutDoc] | None] | None = None


@dataclass(slots=True, frozen=True)
class FoldedDoc:
    """A document that is printed as `text` if that fits; only otherwise it is unfolded.

    `head` is the number of characters before its first possible line end.
    """

    text: str
    unfolded: Callable[[], list[LayoutDoc]]
    head: int


LayoutDoc = str | LineBreak | IfBroken | LineSuffix | IndentedDoc | BreakGroup | FoldedDoc


#: Documents that may require a line end.
_BREAKING_CLASSES = frozenset((LineBreak, IndentedDoc, BreakGroup))


def _has_hard_break(parts: Iterable[Any]) -> bool:
    return any(part.hard for part in parts if part.__class__ in _BREAKING_CLASSES)


def make_indent(parts: list[LayoutDoc], by: int = 2) -> IndentedDoc:
    """Return the parts as a document whose lines are indented further."""
    return IndentedDoc(parts, by, _has_hard_break(parts))


def make_group(
    parts: list[LayoutDoc], *, broken: bool = False, hugging: Callable[[], list[LayoutDoc] | None] | None = None
) -> BreakGroup:
    """Return the parts as a group that is on one line if it fits and needs no line end."""
    return BreakGroup(parts, broken or _has_hard_break(parts), hugging)


#: The indentation, whether the enclosing group is broken, and the document to print.
_PrintTask = tuple[int, bool, LayoutDoc]


def render_layout(parts: list[LayoutDoc]) -> str:
    """Return the document as text, broken into lines where necessary, without trailing spaces."""
    out: list[str] = []
    column = 0
    # Indentation is written only when something follows it.
    waiting = 0
    tasks: list[tuple[int, bool, Any]] = [(0, True, part) for part in reversed(parts)]
    while tasks:
        margin, broken, doc = tasks.pop()
        kind = doc.__class__
        if kind is str:
            text = doc
        elif kind is LineBreak:
            if doc.hard or broken:
                out.append("\n")
                column = waiting = margin
                continue
            text = doc.flat
        elif kind is IndentedDoc:
            tasks += [(margin + doc.by, broken, part) for part in reversed(doc.parts)]
            continue
        elif kind is BreakGroup:
            broken, chosen = _choose_group_layout(doc, broken, MAX_LINE_WIDTH - column, tasks)
            tasks += [(margin, broken, part) for part in reversed(chosen)]
            continue
        elif kind is FoldedDoc:
            text = doc.text
            if broken and not _fits_in_line([text], MAX_LINE_WIDTH - column, tasks):
                tasks += [(margin, True, part) for part in reversed(doc.unfolded())]
                continue
        else:
            text = doc.text if broken or kind is LineSuffix else ""
        if text:
            out.append(" " * waiting + text if waiting and text != "\n" else text)
            column = column + len(text) if "\n" not in text else len(text) - text.rindex("\n") - 1
            waiting = 0
    return "".join(out)


def _choose_group_layout(
    doc: BreakGroup, broken: bool, room: int, rest: list[_PrintTask]
) -> tuple[bool, list[LayoutDoc]]:
    """Return whether a group is broken, and the parts to print; a group inside an unbroken one is never broken."""
    if not doc.hard and (not broken or _fits_in_line(doc.parts, room, rest)):
        return False, doc.parts
    hugged = doc.hugging() if doc.hugging is not None else None
    if hugged is not None and _fits_in_line(hugged, room, rest):
        return False, hugged
    return True, doc.parts


def _fits_in_line(parts: list[LayoutDoc], room: int, rest: list[_PrintTask]) -> bool:
    """Return True if the parts fit without line ends, with the following documents up to their first line end."""
    tasks: list[tuple[bool, Any]] = [(False, part) for part in reversed(parts)]
    behind = len(rest)
    while room >= 0:
        if not tasks:
            if not behind:
                return True
            behind -= 1
            tasks.append(rest[behind][1:])
        broken, doc = tasks.pop()
        kind = doc.__class__
        if kind is str:
            if "\n" in doc:
                if room < doc.index("\n"):
                    return False
                # What follows a multi-line text must fit on its last line.
                room = MAX_LINE_WIDTH + doc.rindex("\n") + 1
            room -= len(doc)
        elif kind is LineBreak:
            if doc.hard or broken:
                return True
            room -= len(doc.flat)
        elif kind is IndentedDoc:
            tasks += [(broken, part) for part in reversed(doc.parts)]
        elif kind is BreakGroup:
            broken = doc.hard or broken
            tasks += [(broken, part) for part in reversed(doc.parts)]
        elif kind is FoldedDoc:
            if broken and doc.head < len(doc.text):
                return room >= doc.head
            room -= len(doc.text)
        elif kind is IfBroken and broken:
            room -= len(doc.text.strip())
    return False


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
