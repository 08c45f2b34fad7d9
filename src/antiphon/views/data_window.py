"""The window of data that a view shows, and lazy extraction: only visible data is read, the rest is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar, cast

from antiphon.errors import OptionError
from antiphon.views.types import CellValue, Cut, Json, MaybeTruncated, ScalarValue

T = TypeVar("T")

#: The default number of rows of a view, and of characters of a row.
DEFAULT_ROWS, DEFAULT_CHARACTERS = 200, 2000
#: Maximum characters of a name: a path, a key, a label.
MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Window:
    """A window on data: `rows` rows from `start` on, with `characters` characters of each."""

    start: int = 0
    rows: int = DEFAULT_ROWS
    characters: int = DEFAULT_CHARACTERS

    def __post_init__(self) -> None:
        for name, least in (("start", 0), ("rows", 1), ("characters", 1)):
            if (given := getattr(self, name)) < least:
                raise OptionError(f"`{name}` must be at least {least}, not {given!r}")

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """Return the visible items of a sequence."""
        return items[self.start : self.start + self.rows]

    def more(self, total: int) -> int:
        """Return how many items of a sequence follow the window."""
        return max(total - self.start - self.rows, 0)

    def lines(self, text: str) -> tuple[MaybeTruncated, ...]:
        """Return the visible lines of a text."""
        return tuple(self.piece(line) for line in islice(iter_lines(text), self.start, self.start + self.rows))

    def after(self, total: int) -> Window | None:
        """Return the window on items that follow `total` others; `None` if those fill it."""
        left = self.rows - max(min(total - self.start, self.rows), 0)
        return replace(self, start=max(self.start - total, 0), rows=left) if left else None

    def shared(self, count: int) -> Window:
        """Return the window for each of several items that share the rows."""
        return replace(self, start=0, rows=max(self.rows // max(count, 1), 1))

    def piece(self, text: str) -> MaybeTruncated:
        """Return a text, truncated to the window."""
        return truncate_text(text, self.characters)

    def scalar(self, value: object) -> ScalarValue:
        """Return a plain value, truncated if it is text."""
        return self.piece(value) if isinstance(value, str) else cast(ScalarValue, value)

    def cell(self, value: object) -> CellValue:
        """Return any value as one line."""
        if isinstance(value, dict | list):
            return make_json_cell(cast(object, value), self.characters)
        return self.scalar(value)


def truncate_text(text: str, limit: int = MAX_NAME_LENGTH) -> MaybeTruncated:
    """Return a text, or its beginning if it is longer than the limit."""
    return text if len(text) <= limit else Cut(text[:limit], len(text) - limit)


def strip_media_type(given: str) -> str:
    """Return a MIME type without its parameters."""
    return given.partition(";")[0].strip().lower()


def iter_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text lazily. A newline at the end does not begin another line."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end].removesuffix("\r")
        start = end + 1


def iter_lines_reversed(text: str) -> Iterator[str]:
    """Yield the lines from the last to the first."""
    end = len(text) - text.endswith("\n")
    while text and end >= 0:
        start = text.rfind("\n", 0, end)
        yield text[start + 1 : end].removesuffix("\r")
        end = start


def count_text_lines(text: str) -> int:
    """Return how many lines a text has."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def make_json_cell(value: object, limit: int) -> Json:
    """Return a value as JSON in one line, encoded no further than the limit."""
    pieces: list[str] = []
    size = 0
    for written, _ in iter_json_pieces(value, limit):
        pieces.append(written)
        size += len(written)
        if size > limit:
            return Json("".join(pieces)[:limit], cut=True)
    return Json("".join(pieces))


def iter_json_lines(value: object, limit: int) -> Iterator[MaybeTruncated]:
    """Yield a value as indented JSON lines, each truncated to the limit."""
    line, unwritten = "", 0
    for written, more in iter_json_pieces(value, limit, indent=2):
        before, *lines = written.split("\n")
        line, unwritten = line + before, unwritten + more
        for each in lines:
            yield _truncate_json_line(line, unwritten, limit)
            line, unwritten = each, 0
    yield _truncate_json_line(line, unwritten, limit)


def _truncate_json_line(line: str, unwritten: int, limit: int) -> MaybeTruncated:
    return Cut(line[:limit], len(line) - limit + unwritten) if len(line) > limit else line


def iter_json_pieces(value: object, longest: int, indent: int = 0, level: int = 1) -> Iterator[tuple[str, int]]:
    """Yield JSON piece by piece, on several lines if there is an indentation.

    A text is truncated to `longest`; each piece comes with the number of omitted characters.
    """
    if isinstance(value, dict | list) and value:
        compound = cast(dict[str, Any] | list[Any], value)
        opening, closing = "{}" if isinstance(compound, dict) else "[]"
        parting = f",\n{' ' * indent * level}" if indent else ", "
        yield opening + (parting[1:] if indent else ""), 0
        for number, (key, inner) in enumerate(iter_items(compound)):
            yield parting if number else "", 0
            if isinstance(key, str):
                yield _encode_scalar(key, longest)
                yield ": ", 0
            yield from iter_json_pieces(inner, longest, indent, level + 1)
        yield (f"\n{' ' * indent * (level - 1)}" if indent else "") + closing, 0
    else:
        yield _encode_scalar(cast(object, value), longest)


def iter_items(compound: dict[str, Any] | list[Any]) -> Iterator[tuple[str | int, Any]]:
    """Return the items of a list or an object, with index or key."""
    return iter(compound.items()) if isinstance(compound, dict) else enumerate(compound)


def _encode_scalar(value: object, longest: int) -> tuple[str, int]:
    if isinstance(value, str) and len(value) > longest:
        return json.dumps(value[:longest], ensure_ascii=False), len(value) - longest
    return json.dumps(value, ensure_ascii=False), 0
