"""Which part of the data is seen, and how it is taken out: only what is seen is looked at, the rest is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar, cast

from antiphon.errors import OptionError
from antiphon.views.data import Cell, Cut, Json, Piece, Scalar

T = TypeVar("T")

#: Rows of a view, and characters of one of them, unless somebody asks for more.
ROWS, CHARACTERS = 200, 2000
#: Characters of a name: a path, a key, a label.
NAME = 200


@dataclass(frozen=True, slots=True)
class Part:
    """So many rows from the first one on, and so many characters of each."""

    start: int = 0
    rows: int = ROWS
    characters: int = CHARACTERS

    def __post_init__(self) -> None:
        for name, least in (("start", 0), ("rows", 1), ("characters", 1)):
            if (given := getattr(self, name)) < least:
                raise OptionError(f"`{name}` is a number from {least} on, not {given!r}")

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """What is seen of a sequence."""
        return items[self.start : self.start + self.rows]

    def more(self, total: int) -> int:
        """How many of a sequence follow what is seen of it."""
        return max(total - self.start - self.rows, 0)

    def lines(self, text: str) -> tuple[Piece, ...]:
        """What is seen of the lines of a text."""
        return tuple(self.piece(line) for line in islice(forwards(text), self.start, self.start + self.rows))

    def after(self, total: int) -> Part | None:
        """What is seen of things that follow so many others; nothing if those take all the room."""
        left = self.rows - max(min(total - self.start, self.rows), 0)
        return replace(self, start=max(self.start - total, 0), rows=left) if left else None

    def shared(self, count: int) -> Part:
        """The part of each of several things that share the rows."""
        return replace(self, start=0, rows=max(self.rows // max(count, 1), 1))

    def piece(self, text: str) -> Piece:
        """A text, as much of it as is seen."""
        return piece(text, self.characters)

    def scalar(self, value: object) -> Scalar:
        """A plain value, as much of it as is seen."""
        return self.piece(value) if isinstance(value, str) else cast(Scalar, value)

    def cell(self, value: object) -> Cell:
        """Any value in a line."""
        return json_cell(cast(object, value), self.characters) if isinstance(value, dict | list) else self.scalar(value)


def piece(text: str, limit: int = NAME) -> Piece:
    """A text, or its beginning."""
    return text if len(text) <= limit else Cut(text[:limit], len(text) - limit)


def media_type(given: str) -> str:
    """A MIME type without what is said beside it."""
    return given.partition(";")[0].strip().lower()


def forwards(text: str) -> Iterator[str]:
    """The lines of a text, found one by one. A newline at its very end does not begin another."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end].removesuffix("\r")
        start = end + 1


def backwards(text: str) -> Iterator[str]:
    """The lines from the last to the first."""
    end = len(text) - text.endswith("\n")
    while text and end >= 0:
        start = text.rfind("\n", 0, end)
        yield text[start + 1 : end].removesuffix("\r")
        end = start


def count_lines(text: str) -> int:
    """How many lines a text has."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def json_cell(value: object, limit: int) -> Json:
    """A value as JSON in a line, no further than the limit: what is beyond it is not even written."""
    pieces: list[str] = []
    size = 0
    for written, _ in json_pieces(value, limit):
        pieces.append(written)
        size += len(written)
        if size > limit:
            return Json("".join(pieces)[:limit], cut=True)
    return Json("".join(pieces))


def json_lines(value: object, limit: int) -> Iterator[Piece]:
    """A value as JSON in lines, as far as they are asked for; each no further than the limit."""
    line, unwritten = "", 0
    for written, more in json_pieces(value, limit, indent=2):
        before, *lines = written.split("\n")
        line, unwritten = line + before, unwritten + more
        for each in lines:
            yield _cut(line, unwritten, limit)
            line, unwritten = each, 0
    yield _cut(line, unwritten, limit)


def _cut(line: str, unwritten: int, limit: int) -> Piece:
    return Cut(line[:limit], len(line) - limit + unwritten) if len(line) > limit else line


def json_pieces(value: object, longest: int, indent: int = 0, level: int = 1) -> Iterator[tuple[str, int]]:
    """JSON piece by piece, in lines where there is an indentation.

    A text is written until it is longer than said; each piece comes with how many characters of it are left out.
    """
    if isinstance(value, dict | list) and value:
        compound = cast(dict[str, Any] | list[Any], value)
        opening, closing = "{}" if isinstance(compound, dict) else "[]"
        parting = f",\n{' ' * indent * level}" if indent else ", "
        yield opening + (parting[1:] if indent else ""), 0
        for number, (key, inner) in enumerate(items_of(compound)):
            yield parting if number else "", 0
            if isinstance(key, str):
                yield _plain_json(key, longest)
                yield ": ", 0
            yield from json_pieces(inner, longest, indent, level + 1)
        yield (f"\n{' ' * indent * (level - 1)}" if indent else "") + closing, 0
    else:
        yield _plain_json(cast(object, value), longest)


def items_of(compound: dict[str, Any] | list[Any]) -> Iterator[tuple[str | int, Any]]:
    """What is in a list or an object, with its place or its name."""
    return iter(compound.items()) if isinstance(compound, dict) else enumerate(compound)


def _plain_json(value: object, longest: int) -> tuple[str, int]:
    if isinstance(value, str) and len(value) > longest:
        return json.dumps(value[:longest], ensure_ascii=False), len(value) - longest
    return json.dumps(value, ensure_ascii=False), 0
