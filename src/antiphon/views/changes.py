"""Diffs: of a file before and after, of hunks that somebody made, and of a diff that came as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.views.data import Change as Kind
from antiphon.views.data import Diff, Hunk, Line, Mark, Piece
from antiphon.views.differences import Change, changes, hunks
from antiphon.views.fields import Unfit, content_of, needed_text, object_of, text_of
from antiphon.views.part import Part, count_lines, forwards, piece

_HEADING = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
# What git writes between the lines of one file and those of the next.
_ABOUT = re.compile(r"(?:diff|index|---|\+\+\+|new file|deleted file|old mode|new mode|similarity|rename|copy|Binary) ")
_MARKS: dict[str, Mark] = {"+": "+", "-": "-", " ": " ", "": " "}


def diff(result: Result, part: Part) -> Diff:
    """The changed lines, unified or side by side, with the path above."""
    data = object_of(result.data, "a diff")
    path = piece(text_of(data, "path"))
    given = data.get("hunks")
    if isinstance(given, list) and given and not isinstance(data.get("original"), str):
        made = [_given(hunk) for hunk in cast(list[Any], given)]
        total = sum(1 + len(lines) for _, lines in made)
        return _read((line for heading, lines in made for line in (heading, *map(_flat, lines))), total, part, path)
    modified, original = needed_text(data, "modified", "a diff"), text_of(data, "original")
    if original:
        return _compared(original, modified, part, path)
    return _whole(modified, part, path, "changed" if data.get("isNew") is False else "new")


def any_diff(result: Result, part: Part) -> Diff:
    """Data of any kind that is to be seen as a diff: a file before and after, or the text of a diff."""
    data: object = result.data
    fields = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    if isinstance(fields.get("modified"), str):
        return diff(result, part)
    content = content_of(cast(object, data))
    whole = fields.get("truncated") is not True
    return _read(forwards(content), count_lines(content), part, piece(text_of(fields, "path")), whole)


# A file before and after


def _compared(original: str, modified: str, part: Part, path: Piece) -> Diff:
    old, new = _lines(original, modified)
    found = changes(old, new)
    if all(same for same, *_ in found):
        return Diff((), path, "unchanged" if original == modified else "line_ends", 0, 0)
    removed = sum(i2 - i1 for same, i1, i2, _, _ in found if not same)
    added = sum(j2 - j1 for same, _, _, j1, j2 in found if not same)
    taken: list[Hunk] = []
    at = more = more_rows = 0
    for hunk in hunks(found):
        size = 1 + sum(_rows(change) for change in hunk)
        # The heading is the first of the rows.
        first, last = max(part.start - at, 0), min(part.start + part.rows - at, size)
        if first < last:
            taken.append(_hunk(hunk, old, new, max(first - 1, 0), last - 1, part))
        if last < size:
            more += (last <= 0) + sum(_lines_after(hunk, max(last - 1, 0)))
            more_rows += size - max(last, 0)
        at += size
    return Diff(tuple(taken), path, "changed", added, removed, True, True, part.start, more, more_rows)


def _lines(original: str, modified: str) -> tuple[list[str], list[str]]:
    # Where both have the line ends of Windows, those are no news; where one has, they are.
    if "\r\n" in original and "\r\n" in modified:
        original, modified = original.replace("\r\n", "\n"), modified.replace("\r\n", "\n")
    return original.removesuffix("\n").split("\n"), modified.removesuffix("\n").split("\n")


def _rows(change: Change) -> int:
    _, i1, i2, j1, j2 = change
    return max(i2 - i1, j2 - j1)


def _lines_after(hunk: list[Change], row: int) -> Iterator[int]:
    """How many lines there are of each change, from a row of the hunk on."""
    for change in hunk:
        same, i1, i2, j1, j2 = change
        old, new = max(i2 - i1 - max(row, 0), 0), max(j2 - j1 - max(row, 0), 0)
        yield old if same else old + new
        row -= _rows(change)


def _hunk(hunk: list[Change], old: list[str], new: list[str], first: int, last: int, part: Part) -> Hunk:
    """The rows of a hunk from the first to before the last."""
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
        first, last = first - _rows(change), last - _rows(change)
    return Hunk(_heading(hunk), tuple(lines))


def _heading(hunk: list[Change]) -> str:
    i, j = hunk[0][1], hunk[0][3]
    old, new = hunk[-1][2] - i, hunk[-1][4] - j
    return f"@@ -{i + bool(old)},{old} +{j + bool(new)},{new} @@"


def _whole(modified: str, part: Part, path: Piece, change: Kind) -> Diff:
    """A file whose content before is not known, or was none."""
    total = count_lines(modified)
    shown = part.lines(modified)
    lines = tuple(Line("+", text, None, number) for number, text in enumerate(shown, part.start + 1))
    more = part.more(total)
    return Diff((Hunk("", lines),), path, change, total, 0, False, True, part.start, more, more)


# A diff that was made by others


def _given(hunk: object) -> tuple[str, list[Any]]:
    fields = object_of(hunk, "a hunk")
    lines: object = fields.get("lines")
    if not isinstance(lines, list):
        raise Unfit("a hunk has a list `lines`")
    numbers = [str(fields.get(key, "?"))[:12] for key in ("oldStart", "oldLines", "newStart", "newLines")]
    return "@@ -{},{} +{},{} @@".format(*numbers), cast(list[Any], lines)


def _flat(line: object) -> str:
    return str(line).replace("\n", " ")


def _read(lines: Iterable[str], total: int, part: Part, path: Piece, is_complete: bool = True) -> Diff:
    """What is seen of lines with a sign in front. Each heading begins a hunk; so do lines before the first."""
    taken: list[Hunk] = []
    heading, found = "", list[Line]()
    for number, (is_heading, line) in enumerate(_marked(islice(lines, part.start + part.rows), part)):
        if is_heading:
            taken += [Hunk(part.piece(heading), tuple(found))] if found or (heading and number > part.start) else []
            heading, found = cast(str, line.text), []
        elif number >= part.start:
            found.append(line)
    taken += [Hunk(part.piece(heading), tuple(found))] if found or heading else []
    more = part.more(total)
    return Diff(tuple(taken), path, "changed", None, None, False, is_complete, part.start, more, more)


def _marked(lines: Iterable[str], part: Part) -> Iterator[tuple[bool, Line]]:
    """Each line with its sign and its numbers, and whether it is a heading.

    A heading says how many lines follow: only after those can a line be about the next file.
    """
    old = new = old_left = new_left = 0
    for line in lines:
        within = old_left > 0 or new_left > 0
        if line.startswith("@@") and not within:
            if found := _HEADING.match(line):
                old, new = int(found[1]), int(found[3])
                old_left, new_left = int(found[2] or 1), int(found[4] or 1)
            yield True, Line("", line)
            continue
        mark = _MARKS.get(line[:1], "") if within or not _ABOUT.match(line) else ""
        counted = within and mark != ""
        in_old, in_new = counted and mark != "+", counted and mark != "-"
        text = part.piece(line[1:] if mark else line)
        yield False, Line(mark, text, old if in_old else None, new if in_new else None)
        old, old_left, new, new_left = old + in_old, old_left - in_old, new + in_new, new_left - in_new
