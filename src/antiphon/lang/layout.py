"""Text that knows where it may be broken, and fitting it into lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

WIDTH = 100


@dataclass(slots=True, frozen=True)
class Line:
    """A place for a line end; where none is needed, `flat` stands there. A `hard` one is always needed."""

    flat: str = ""
    hard: bool = False


LINE, SOFT, HARD = Line(" "), Line(), Line(hard=True)


@dataclass(slots=True, frozen=True)
class IfBroken:
    """What stands there only if the group around it is broken: a last comma, an empty line."""

    text: str


@dataclass(slots=True, frozen=True)
class Suffix:
    """A comment at the end of a line; for its sake nothing is broken."""

    text: str


@dataclass(slots=True, frozen=True)
class Indent:
    """Parts whose lines begin further to the right."""

    parts: list[Doc]
    by: int
    hard: bool


@dataclass(slots=True, frozen=True)
class Group:
    """Parts that stand on one line together, or are broken at each of their lines.

    `hugging`, where there is one, is tried before it is broken: the same with only its last part broken, as in
    `f(a, {` … `})`.
    """

    parts: list[Doc]
    hard: bool
    hugging: list[Doc] | None = None


Doc = str | Line | IfBroken | Suffix | Indent | Group


def _is_hard(parts: Iterable[Doc]) -> bool:
    return any(isinstance(part, Line | Indent | Group) and part.hard for part in parts)


def indent(parts: list[Doc], by: int = 2) -> Indent:
    """Parts whose lines begin further to the right."""
    return Indent(parts, by, _is_hard(parts))


def group(parts: list[Doc], *, broken: bool = False, hugging: list[Doc] | None = None) -> Group:
    """Parts on one line if they fit, and if nothing in them needs a line end."""
    return Group(parts, broken or _is_hard(parts), hugging)


Mode = Literal["flat", "broken"]
Task = tuple[int, Mode, Doc]


def printed(parts: list[Doc]) -> str:
    """The text, broken into lines where it has to be; no line ends in a space."""
    out: list[str] = []
    column = 0
    # The spaces a line begins with are written when something follows them.
    waiting = 0
    tasks: list[Task] = [(0, "broken", part) for part in reversed(parts)]
    while tasks:
        margin, mode, doc = tasks.pop()
        match doc:
            case Indent(inner, by):
                tasks += [(margin + by, mode, part) for part in reversed(inner)]
                continue
            case Group():
                mode, chosen = _choice(doc, mode, WIDTH - column, tasks)
                tasks += [(margin, mode, part) for part in reversed(chosen)]
                continue
            case Line(flat, hard) if hard or mode == "broken":
                out.append("\n")
                column = waiting = margin
                continue
            case Line(flat):
                text = flat
            case Suffix(text):
                pass
            case IfBroken(broken):
                text = broken if mode == "broken" else ""
            case str(text):
                pass
        if text:
            out.append(" " * waiting + text if waiting and text != "\n" else text)
            column = column + len(text) if "\n" not in text else len(text) - text.rindex("\n") - 1
            waiting = 0
    return "".join(out)


def _choice(doc: Group, mode: Mode, room: int, rest: list[Task]) -> tuple[Mode, list[Doc]]:
    """How a group is printed, and as which parts."""
    if not doc.hard and (mode == "flat" or _fits(doc.parts, room, rest)):
        return "flat", doc.parts
    if doc.hugging is not None and _fits(doc.hugging, room, rest):
        return "flat", doc.hugging
    return "broken", doc.parts


def _fits(parts: list[Doc], room: int, rest: list[Task]) -> bool:
    """Whether there is room for parts without line ends, and for the rest up to its first one."""
    tasks: list[tuple[Mode, Doc]] = [("flat", part) for part in reversed(parts)]
    behind = len(rest)
    while room >= 0:
        if not tasks:
            if not behind:
                return True
            behind -= 1
            tasks.append(rest[behind][1:])
        mode, doc = tasks.pop()
        match doc:
            case str():
                if "\n" in doc:
                    return room >= doc.index("\n")
                room -= len(doc)
            case Suffix():
                pass
            case IfBroken(text):
                room -= len(text.strip()) if mode == "broken" else 0
            case Line(flat, hard):
                if hard or mode == "broken":
                    return True
                room -= len(flat)
            case Indent(inner):
                tasks += [(mode, part) for part in reversed(inner)]
            case Group(inner, hard):
                tasks += [("broken" if hard else mode, part) for part in reversed(inner)]
    return False
