"""Merging of diagnostics: at most one syntax diagnostic per line, with the line's other hints as labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from antiphon.lang.syntax.diagnostics import Diagnostic, DiagnosticLabel
from antiphon.lang.syntax.source import Source


def merge_diagnostics(source: Source, unread: Iterable[Diagnostic], found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Merge the diagnostics of the parser and the checker, ordered by position.

    On a line with a syntax error the checker's diagnostics are guesses and left out. Several diagnostics of
    foreign syntax on one line become one, with the others as labels.
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
    # At one position the first diagnostic is enough.
    judged = list({(each.start, each.end): each for each in reversed(judged)}.values())
    return sorted([*map(_merge_line, lines.values()), *judged], key=lambda each: (each.start, each.end, each.code))


def _merge_line(found: list[Diagnostic]) -> Diagnostic:
    found.sort(key=lambda each: each.start)
    first, *others = [each for each in found if each.is_habit] or found
    # At one position the first diagnostic is enough.
    apart = {each.start: each for each in reversed(others) if each.is_habit and each.hint and each.start != first.start}
    labels = (DiagnosticLabel(each.start, each.end, each.hint) for _, each in sorted(apart.items()))
    return replace(first, labels=(*first.labels, *labels))
