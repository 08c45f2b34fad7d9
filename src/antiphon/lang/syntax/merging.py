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
    others: list[Diagnostic] = []
    for each in found:
        if each.is_habit:
            lines.setdefault(source.place(each.start)[0], []).append(each)
        else:
            others.append(each)
    judged = [each for each in others if source.place(each.start)[0] not in lines] if lines else others
    # Of one place, the first that is said is enough.
    judged = list({(each.start, each.end): each for each in reversed(judged)}.values())
    return sorted([*map(_together, lines.values()), *judged], key=lambda each: (each.start, each.end, each.code))


def _together(found: list[Diagnostic]) -> Diagnostic:
    found.sort(key=lambda each: each.start)
    first, *others = [each for each in found if each.is_habit] or found
    # Of one place, the first that is said is enough.
    apart = {each.start: each for each in reversed(others) if each.is_habit and each.hint and each.start != first.start}
    labels = (Label(each.start, each.end, each.hint) for _, each in sorted(apart.items()))
    return replace(first, labels=(*first.labels, *labels))
