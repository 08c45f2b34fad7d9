"""A line diff in bounded time, and the changed words of two lines.

Lines that occur once on either side, in the same order, are anchors (patience diff). The stretches between
them are compared in full if small enough, else divided again or replaced as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

#: A stretch of equal (`same`) or changed lines: its start and end in the old and in the new text.
DiffStretch = tuple[bool, int, int, int, int]
#: Unchanged lines around changes.
CONTEXT_LINES = 3
#: Stretches whose product of lengths is larger than this are not compared in full; neither are all of them together
#: beyond the second number.
_MAX_COMPARED, _MAX_COMPARED_TOTAL = 40_000, 10_000_000
_MAX_DEPTH = 8


def diff_lines(old: list[str], new: list[str]) -> list[DiffStretch]:
    """Return equal and changed stretches in order; neighbours are never both equal or both changed."""
    budget = [_MAX_COMPARED_TOTAL]
    merged: list[DiffStretch] = []
    for found in _diff_range(old, new, 0, len(old), 0, len(new), _MAX_DEPTH, budget):
        same, i1, i2, j1, j2 = found
        if i1 == i2 and j1 == j2:
            continue
        if merged and merged[-1][0] == same:
            merged[-1] = (same, merged[-1][1], i2, merged[-1][3], j2)
        else:
            merged.append((same, i1, i2, j1, j2))
    return merged


def group_hunks(found: list[DiffStretch], around: int = CONTEXT_LINES) -> Iterator[list[DiffStretch]]:
    """Yield the changes with unchanged lines around them; changes near to each other form one hunk."""
    hunk: list[DiffStretch] = []
    for number, (same, i1, i2, j1, j2) in enumerate(found):
        if not same:
            hunk.append((same, i1, i2, j1, j2))
            continue
        first, last = number == 0, number == len(found) - 1
        if not first and (last or i2 - i1 > 2 * around):
            end = min(around, i2 - i1)
            yield [*hunk, (True, i1, i1 + end, j1, j1 + end)]
            hunk = []
        if not last:
            cut = max(i2 - i1 - around, 0) if first or not hunk else 0
            hunk.append((True, i1 + cut, i2, j1 + cut, j2))
    if any(not same for same, *_ in hunk):
        yield hunk


def _diff_range(
    old: list[str], new: list[str], i1: int, i2: int, j1: int, j2: int, depth: int, budget: list[int]
) -> Iterator[DiffStretch]:
    start = i1
    while i1 < i2 and j1 < j2 and old[i1] == new[j1]:
        i1, j1 = i1 + 1, j1 + 1
    yield True, start, i1, j1 - (i1 - start), j1
    end = i2
    while i1 < i2 and j1 < j2 and old[i2 - 1] == new[j2 - 1]:
        i2, j2 = i2 - 1, j2 - 1
    yield from _diff_middle(old, new, i1, i2, j1, j2, depth, budget)
    yield True, i2, end, j2, j2 + end - i2


def _diff_middle(
    old: list[str], new: list[str], i1: int, i2: int, j1: int, j2: int, depth: int, budget: list[int]
) -> Iterator[DiffStretch]:
    """Yield the stretches of a range whose first and last lines differ."""
    product = (i2 - i1) * (j2 - j1)
    if product <= 1:
        yield False, i1, i2, j1, j2
    elif product <= _MAX_COMPARED and budget[0] >= product:
        budget[0] -= product
        matcher = SequenceMatcher(None, old[i1:i2], new[j1:j2], autojunk=False)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes():
            yield tag == "equal", i1 + a1, i1 + a2, j1 + b1, j1 + b2
    elif depth and (fixed := _find_anchors(old, new, i1, i2, j1, j2)):
        for i, j in [*fixed, (i2, j2)]:
            yield from _diff_range(old, new, i1, i, j1, j, depth - 1, budget)
            if i < i2:
                yield True, i, i + 1, j, j + 1
            i1, j1 = i + 1, j + 1
    else:
        yield False, i1, i2, j1, j2


def _find_anchors(old: list[str], new: list[str], i1: int, i2: int, j1: int, j2: int) -> list[tuple[int, int]]:
    """Return the longest sequence of lines, unique on both sides, that occur in the same order."""
    before, after = Counter(old[i1:i2]), Counter(new[j1:j2])
    where = {new[j]: j for j in range(j1, j2) if after[new[j]] == 1}
    pairs = [(i, where[old[i]]) for i in range(i1, i2) if before[old[i]] == 1 and old[i] in where]
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(tops, j)
        previous.append(ends[at - 1] if at else -1)
        tops[at : at + 1], ends[at : at + 1] = [j], [number]
    run: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        run.append(pairs[number])
        number = previous[number]
    return run[::-1]


#: Start and end of a changed stretch of a line.
Span = tuple[int, int]
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_CHARACTERS, _MAX_PAIRS = 500, 40
#: Lines that have less in common are different lines: marks would say nothing.
_MIN_RATIO = 0.4


def find_changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return the stretches of both lines that differ; none if the lines are long or have little in common."""
    if max(len(old), len(new)) > _MAX_CHARACTERS:
        return [], []
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    codes = matcher.get_opcodes()
    same = sum(len("".join(before[start:end])) for tag, start, end, _, _ in codes if tag == "equal")
    if 2 * same < _MIN_RATIO * (len(old) + len(new)):
        return [], []
    removed, added = list[Span](), list[Span]()
    for tag, i1, i2, j1, j2 in codes:
        if tag != "equal":
            removed += _locate(before, i1, i2)
            added += _locate(after, j1, j2)
    return removed, added


def pair_changed_lines(marks: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of removed and added lines that replace each other, given the mark of each line."""
    place = count = 0
    while place < len(marks):
        start = place
        while place < len(marks) and marks[place] == "-":
            place += 1
        middle = place
        while place < len(marks) and marks[place] == "+":
            place += 1
        if middle - start == place - middle and middle > start and count < _MAX_PAIRS:
            count += middle - start
            yield from zip(range(start, middle), range(middle, place), strict=True)
        place += place == start


def _locate(words: list[str], start: int, end: int) -> list[Span]:
    begins = len("".join(words[:start]))
    length = len("".join(words[start:end]))
    return [(begins, begins + length)] if length else []
