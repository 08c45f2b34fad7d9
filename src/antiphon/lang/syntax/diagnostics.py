"""What is wrong with a program, as a value: one for the terminal, for JSON and for editors."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from antiphon._printable import printable, printable_line
from antiphon.errors import AntiphonError
from antiphon.lang.syntax.source import Source

Severity = Literal["error", "warning"]
#: Gives a piece of text its look; the word says what the piece is: error, warning, place, caret or hint.
Paint = Callable[[str, str], str]
#: How much of a message people are shown; data has all of it.
_MESSAGE = 4_000
#: How much of a line is shown on either side of where a mistake begins.
_BEFORE, _AFTER = 60, 120


@dataclass(frozen=True, slots=True)
class Label:
    """Another place that matters, and why."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong: its code, where it is, what was expected, and how to mend it."""

    code: str
    message: str
    start: int
    end: int
    hint: str = ""
    labels: tuple[Label, ...] = ()
    severity: Severity = "error"
    #: Whether it tells of a habit from another language, with what to write.
    is_habit: bool = False

    def to_json(self, source: Source) -> dict[str, Any]:
        """As data; lines and columns count from 1."""
        out: dict[str, Any] = {"code": self.code, "severity": self.severity, "message": self.message}
        out |= _range(source, self.start, self.end)
        if self.hint:
            out["hint"] = self.hint
        if self.labels:
            out["labels"] = [{"message": each.text, **_range(source, each.start, each.end)} for each in self.labels]
        return out

    def render(self, source: Source, paint: Paint = lambda _, text: text) -> str:
        """As people read it: the message, the line with the span underlined, the hint."""
        head = f"{paint(self.severity, f'{self.severity}[{self.code}]')}: {shown(self.message)}"
        parts = [head, excerpt(source, self.start, self.end, "", paint)]
        parts += [excerpt(source, each.start, each.end, each.text, paint) for each in self.labels]
        if self.hint:
            parts.append(f"  {paint('hint', 'hint')}: {printable(self.hint)}")
        return "\n".join(parts)


class ProgramErrors(AntiphonError):
    """A program that cannot be run; `found` says all that is wrong with it and its modules."""

    def __init__(self, found: Iterable[tuple[Source, Diagnostic]]) -> None:
        self.found = tuple(found)
        super().__init__("\n".join(each.render(source) for source, each in self.found))


def excerpt(source: Source, start: int, end: int, note: str = "", paint: Paint = lambda _, text: text) -> str:
    """The line of a position with the span underlined; of a longer span, its first line."""
    line, column = source.place(start)
    # A line may be as long as its writer likes; what is looked at is here.
    before, after = source.around(start, _BEFORE, _AFTER)
    width = max(1, min(end - start, len(after)))
    lead = ("…" if column - 1 > _BEFORE else "") + before
    number = str(line)
    caret = "^" * max(1, _width(printable(after[:width])))
    shown_note = f" {printable(note)}" if note else ""
    return "\n".join(
        (
            f"  {' ' * len(number)}{paint('place', '-->')} {printable_line(source.name)}:{line}:{column}",
            f"  {number} | {printable(lead + after)}",
            f"  {' ' * len(number)} | {' ' * _width(printable(lead))}{paint('caret', caret)}{shown_note}",
        )
    )


def _range(source: Source, start: int, end: int) -> dict[str, Any]:
    line, column = source.place(start)
    end_line, end_column = source.place(max(start, end))
    return {"file": source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}


def shown(message: str) -> str:
    """A message for people: a value in it may be as long as a model likes, and hold anything."""
    if len(message) <= _MESSAGE:
        return printable(message)
    return f"{printable(message[:_MESSAGE])}… [{len(message):,} characters in all]"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
