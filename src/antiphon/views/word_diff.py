"""The changed words of two lines, to mark them in a diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

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
