"""Errors and warnings of a program as values: merged, and rendered for the terminal, for JSON and for editors."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.errors import AntiphonError
from antiphon.lang.syntax.source import Source

Severity = Literal["error", "warning"]
#: Styles a text by its role: error, warning, place, caret or hint.
StyleText = Callable[[str, str], str]
#: Rendered messages are truncated to this length; JSON has all of it.
_MAX_MESSAGE_LENGTH = 4_000
#: How many characters of a line an excerpt shows before and after the start of the span.
_EXCERPT_BEFORE, _EXCERPT_AFTER = 60, 120


@dataclass(frozen=True, slots=True)
class DiagnosticLabel:
    """A secondary span of a diagnostic, with its note."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning: its code, span, message and hint."""

    code: str
    message: str
    start: int
    end: int
    hint: str = ""
    labels: tuple[DiagnosticLabel, ...] = ()
    severity: Severity = "error"
    #: True if it reports syntax of another language and says what to write instead.
    is_habit: bool = False

    def to_json(self, source: Source) -> dict[str, Any]:
        """Return the diagnostic as JSON data; lines and columns count from 1."""
        out: dict[str, Any] = {"code": self.code, "severity": self.severity, "message": self.message}
        out |= _range_to_json(source, self.start, self.end)
        if self.hint:
            out["hint"] = self.hint
        if self.labels:
            out["labels"] = [
                {"message": each.text, **_range_to_json(source, each.start, each.end)} for each in self.labels
            ]
        return out

    def render(self, source: Source, paint: StyleText = lambda _, text: text) -> str:
        """Return the diagnostic as text: the message, the line with the span underlined, and the hint."""
        head = f"{paint(self.severity, f'{self.severity}[{self.code}]')}: {truncate_message(self.message)}"
        parts = [head, render_excerpt(source, self.start, self.end, "", paint)]
        parts += [render_excerpt(source, each.start, each.end, each.text, paint) for each in self.labels]
        if self.hint:
            parts.append(f"  {paint('hint', 'hint')}: {escape_unprintable(self.hint)}")
        return "\n".join(parts)


class ProgramErrors(AntiphonError):
    """Raised for a program that cannot run; `found` holds all diagnostics of it and its modules."""

    def __init__(self, found: Iterable[tuple[Source, Diagnostic]]) -> None:
        self.found = tuple(found)
        super().__init__("\n".join(each.render(source) for source, each in self.found))


def render_excerpt(
    source: Source, start: int, end: int, note: str = "", paint: StyleText = lambda _, text: text
) -> str:
    """Return the source line of a span with the span underlined; of a multi-line span, its first line."""
    line, column = source.place(start)
    # A line may be arbitrarily long, so only the part around the span is shown.
    before, after = source.around(start, _EXCERPT_BEFORE, _EXCERPT_AFTER)
    width = max(1, min(end - start, len(after)))
    lead = ("…" if column - 1 > _EXCERPT_BEFORE else "") + before
    number = str(line)
    caret = "^" * max(1, _display_width(escape_unprintable(after[:width])))
    shown_note = f" {escape_unprintable(note)}" if note else ""
    return "\n".join(
        (
            f"  {' ' * len(number)}{paint('place', '-->')} {escape_unprintable_line(source.name)}:{line}:{column}",
            f"  {number} | {escape_unprintable(lead + after)}",
            f"  {' ' * len(number)} |"
            f" {' ' * _display_width(escape_unprintable(lead))}{paint('caret', caret)}{shown_note}",
        )
    )


def _range_to_json(source: Source, start: int, end: int) -> dict[str, Any]:
    line, column = source.place(start)
    end_line, end_column = source.place(max(start, end))
    return {"file": source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}


def truncate_message(message: str) -> str:
    """Return a message for people, truncated and escaped: a value in it may be long and hold anything."""
    if len(message) <= _MAX_MESSAGE_LENGTH:
        return escape_unprintable(message)
    return f"{escape_unprintable(message[:_MAX_MESSAGE_LENGTH])}… [{len(message):,} characters in all]"


def _display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


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
