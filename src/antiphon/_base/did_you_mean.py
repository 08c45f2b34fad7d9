"""Suggestions for misspelled names: find the closest known name."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

#: Only this many names are compared, however many a program has.
MAX_NAMES = 4000


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None if no name is close enough."""
    allowed = 1 if len(name) < 5 else 2 if len(name) < 8 else 3
    if len(name) > 60:
        return None
    lowered, best = name.lower(), None
    for each in islice(known, MAX_NAMES):
        if abs(len(each) - len(name)) > allowed or each == name or (each.startswith("_") and not name.startswith("_")):
            continue
        distance = _compute_edit_distance(lowered, each.lower(), allowed)
        if distance <= allowed and distance < len(name):
            best, allowed = each, distance - 1
            if distance == 0:
                break
    return best


def _compute_edit_distance(first: str, second: str, most: int) -> int:
    """Return the edit distance between two words, where swapping two adjacent letters counts as one edit.

    Once the distance exceeds `most`, return any number greater than `most`.
    """
    if first == second:
        return 0
    if len(set(first) ^ set(second)) > 2 * most:
        return most + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, before, row = before, row, [i]
        for j, b in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and b == first[i - 2]:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
