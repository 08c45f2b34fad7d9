"""Diff views: of a file before and after, of given hunks, and of a diff in text form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.views.data_window import Window, count_text_lines, iter_lines, truncate_text
from antiphon.views.line_diff import DiffStretch, diff_lines, group_hunks
from antiphon.views.types import Diff, Hunk, Line, LineMark, MaybeTruncated
from antiphon.views.types import DiffChange as Kind
from antiphon.views.validated_fields import InvalidField, find_text, require_content, require_object_data, require_text

_HUNK_HEADING = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
# Lines that git writes between the changes of one file and those of the next.
_FILE_HEADER = re.compile(
    r"(?:diff|index|---|\+\+\+|new file|deleted file|old mode|new mode|similarity|rename|copy|Binary) "
)
_LINE_MARKS: dict[str, LineMark] = {"+": "+", "-": "-", " ": " ", "": " "}


def build_diff_body(result: Result, part: Window) -> Diff:
    """The changed lines, unified or side by side, with the path above."""
    data = require_object_data(result.data, "a diff")
    path = truncate_text(find_text(data, "path"))
    given = data.get("hunks")
    if isinstance(given, list) and given and not isinstance(data.get("original"), str):
        made = [_read_given_hunk(hunk) for hunk in cast(list[Any], given)]
        total = sum(1 + len(lines) for _, lines in made)
        return _parse_diff(
            (line for heading, lines in made for line in (heading, *map(_flatten_line, lines))), total, part, path
        )
    modified, original = require_text(data, "modified", "a diff"), find_text(data, "original")
    if original:
        return _compare_texts(original, modified, part, path)
    return _build_new_file_diff(modified, part, path, "changed" if data.get("isNew") is False else "new")


def build_any_diff_body(result: Result, part: Window) -> Diff:
    """Build a diff from data of any kind: a file before and after, or the text of a diff."""
    data: object = result.data
    fields = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    if isinstance(fields.get("modified"), str):
        return build_diff_body(result, part)
    content = require_content(cast(object, data))
    whole = fields.get("truncated") is not True
    return _parse_diff(
        iter_lines(content), count_text_lines(content), part, truncate_text(find_text(fields, "path")), whole
    )


# A file before and after


def _compare_texts(original: str, modified: str, part: Window, path: MaybeTruncated) -> Diff:
    old, new = _split_lines(original, modified)
    found = diff_lines(old, new)
    if all(same for same, *_ in found):
        return Diff((), path, "unchanged" if original == modified else "line_ends", 0, 0)
    removed = sum(i2 - i1 for same, i1, i2, _, _ in found if not same)
    added = sum(j2 - j1 for same, _, _, j1, j2 in found if not same)
    taken: list[Hunk] = []
    at = more = more_rows = 0
    for hunk in group_hunks(found):
        size = 1 + sum(_count_rows(change) for change in hunk)
        # The heading is the first row.
        first, last = max(part.start - at, 0), min(part.start + part.rows - at, size)
        if first < last:
            taken.append(_build_hunk(hunk, old, new, max(first - 1, 0), last - 1, part))
        if last < size:
            more += (last <= 0) + sum(_count_lines_after(hunk, max(last - 1, 0)))
            more_rows += size - max(last, 0)
        at += size
    return Diff(tuple(taken), path, "changed", added, removed, True, True, part.start, more, more_rows)


def _split_lines(original: str, modified: str) -> tuple[list[str], list[str]]:
    # Ignore Windows line ends if both texts have them; if only one has, they are a change.
    if "\r\n" in original and "\r\n" in modified:
        original, modified = original.replace("\r\n", "\n"), modified.replace("\r\n", "\n")
    return original.removesuffix("\n").split("\n"), modified.removesuffix("\n").split("\n")


def _count_rows(change: DiffStretch) -> int:
    _, i1, i2, j1, j2 = change
    return max(i2 - i1, j2 - j1)


def _count_lines_after(hunk: list[DiffStretch], row: int) -> Iterator[int]:
    """Yield the number of lines of each change, from a row of the hunk on."""
    for change in hunk:
        same, i1, i2, j1, j2 = change
        old, new = max(i2 - i1 - max(row, 0), 0), max(j2 - j1 - max(row, 0), 0)
        yield old if same else old + new
        row -= _count_rows(change)


def _build_hunk(hunk: list[DiffStretch], old: list[str], new: list[str], first: int, last: int, part: Window) -> Hunk:
    """Return the rows of a hunk from `first` up to `last`, exclusive."""
    lines: list[Line] = []
    for change in hunk:
        same, i1, i2, j1, j2 = change
        begin, end = max(first, 0), max(last, 0)
        before, after = range(i1, i2)[begin:end], range(j1, j2)[begin:end]
        if same:
            lines += [Line(" ", part.piece(old[i]), i + 1, j + 1) for i, j in zip(before, after, strict=True)]
        else:
            lines += [Line("-", part.piece(old[i]), i + 1) for i in before]
            lines += [Line("+", part.piece(new[j]), None, j + 1) for j in after]
        first, last = first - _count_rows(change), last - _count_rows(change)
    return Hunk(_format_heading(hunk), tuple(lines))


def _format_heading(hunk: list[DiffStretch]) -> str:
    i, j = hunk[0][1], hunk[0][3]
    old, new = hunk[-1][2] - i, hunk[-1][4] - j
    return f"@@ -{i + bool(old)},{old} +{j + bool(new)},{new} @@"


def _build_new_file_diff(modified: str, part: Window, path: MaybeTruncated, change: Kind) -> Diff:
    """Return the diff of a file whose previous content is unknown or empty."""
    total = count_text_lines(modified)
    shown = part.lines(modified)
    lines = tuple(Line("+", text, None, number) for number, text in enumerate(shown, part.start + 1))
    more = part.more(total)
    return Diff((Hunk("", lines),), path, change, total, 0, False, True, part.start, more, more)


# A diff that was made by others


def _read_given_hunk(hunk: object) -> tuple[str, list[Any]]:
    fields = require_object_data(hunk, "a hunk")
    lines: object = fields.get("lines")
    if not isinstance(lines, list):
        raise InvalidField("a hunk has a list `lines`")
    numbers = [str(fields.get(key, "?"))[:12] for key in ("oldStart", "oldLines", "newStart", "newLines")]
    return "@@ -{},{} +{},{} @@".format(*numbers), cast(list[Any], lines)


def _flatten_line(line: object) -> str:
    return str(line).replace("\n", " ")


def _parse_diff(lines: Iterable[str], total: int, part: Window, path: MaybeTruncated, is_complete: bool = True) -> Diff:
    """Parse lines with a leading sign. Each heading begins a hunk; so do lines before the first."""
    taken: list[Hunk] = []
    heading, found = "", list[Line]()
    for number, (is_heading, line) in enumerate(_iter_marked_lines(islice(lines, part.start + part.rows), part)):
        if is_heading:
            taken += [Hunk(part.piece(heading), tuple(found))] if found or (heading and number > part.start) else []
            heading, found = cast(str, line.text), []
        elif number >= part.start:
            found.append(line)
    taken += [Hunk(part.piece(heading), tuple(found))] if found or heading else []
    more = part.more(total)
    return Diff(tuple(taken), path, "changed", None, None, False, is_complete, part.start, more, more)


def _iter_marked_lines(lines: Iterable[str], part: Window) -> Iterator[tuple[bool, Line]]:
    """Yield each line with its sign and numbers, and whether it is a heading.

    A heading says how many lines follow; only after those can a line belong to the next file.
    """
    old = new = old_left = new_left = 0
    for line in lines:
        within = old_left > 0 or new_left > 0
        if line.startswith("@@") and not within:
            if found := _HUNK_HEADING.match(line):
                old, new = int(found[1]), int(found[3])
                old_left, new_left = int(found[2] or 1), int(found[4] or 1)
            yield True, Line("", line)
            continue
        mark = _LINE_MARKS.get(line[:1], "") if within or not _FILE_HEADER.match(line) else ""
        counted = within and mark != ""
        in_old, in_new = counted and mark != "+", counted and mark != "-"
        text = part.piece(line[1:] if mark else line)
        yield False, Line(mark, text, old if in_old else None, new if in_new else None)
        old, old_left, new, new_left = old + in_old, old_left - in_old, new + in_new, new_left - in_new
