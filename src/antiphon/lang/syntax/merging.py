"""One diagnostic for each line: what is wrong there first, and at its side what else is written otherwise here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from antiphon.lang.syntax.diagnostics import Diagnostic, Label
from antiphon.lang.syntax.source import Source


def merged(source: Source, unread: Iterable[Diagnostic], found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is wrong with a text and its tree, in order of place.

    Where a line could not be read, what the checker made of the rest of it is a guess and left out; and several habits
    on one line are one diagnostic that says all there is to write.
    """
    lines: dict[int, list[Diagnostic]] = {}
    for each in unread:
        lines.setdefault(source.place(each.start)[0], []).append(each)
    judged: list[Diagnostic] = []
    for each in found:
        line = source.place(each.start)[0] if lines or each.is_habit else 0
        if each.is_habit:
            lines.setdefault(line, []).append(each)
        elif line not in lines:
            judged.append(each)
    return sorted([*map(_together, lines.values()), *judged], key=lambda each: (each.start, each.end, each.code))


def _together(found: list[Diagnostic]) -> Diagnostic:
    found.sort(key=lambda each: each.start)
    first, *others = [each for each in found if each.is_habit] or found
    labels = (Label(each.start, each.end, each.hint) for each in others if each.is_habit and each.hint)
    return replace(first, labels=(*first.labels, *labels))
