"""Text that knows where it may be broken, and fitting it into lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

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

    `hugging`, where it gives something, is tried before it is broken: the same with only its last part broken, as in
    `f(a, {` … `})`.
    """

    parts: list[Doc]
    hard: bool
    hugging: Callable[[], list[Doc] | None] | None = None


@dataclass(slots=True, frozen=True)
class Folded:
    """What is written as `text` if there is room for it; only if there is not, it is taken apart.

    Its first line end would come after so many characters, the `head`.
    """

    text: str
    unfolded: Callable[[], list[Doc]]
    head: int


Doc = str | Line | IfBroken | Suffix | Indent | Group | Folded


#: What may need a line end.
_BREAKING = frozenset((Line, Indent, Group))


def _is_hard(parts: Iterable[Any]) -> bool:
    return any(part.hard for part in parts if part.__class__ in _BREAKING)


def indent(parts: list[Doc], by: int = 2) -> Indent:
    """Parts whose lines begin further to the right."""
    return Indent(parts, by, _is_hard(parts))


def group(parts: list[Doc], *, broken: bool = False, hugging: Callable[[], list[Doc] | None] | None = None) -> Group:
    """Parts on one line if they fit, and if nothing in them needs a line end."""
    return Group(parts, broken or _is_hard(parts), hugging)


#: Where lines begin, whether the group is broken, and what is to be printed.
_Task = tuple[int, bool, Doc]


def printed(parts: list[Doc]) -> str:
    """The text, broken into lines where it has to be; no line ends in a space."""
    out: list[str] = []
    column = 0
    # The spaces a line begins with are written when something follows them.
    waiting = 0
    tasks: list[tuple[int, bool, Any]] = [(0, True, part) for part in reversed(parts)]
    while tasks:
        margin, broken, doc = tasks.pop()
        kind = doc.__class__
        if kind is str:
            text = doc
        elif kind is Line:
            if doc.hard or broken:
                out.append("\n")
                column = waiting = margin
                continue
            text = doc.flat
        elif kind is Indent:
            tasks += [(margin + doc.by, broken, part) for part in reversed(doc.parts)]
            continue
        elif kind is Group:
            broken, chosen = _choice(doc, broken, WIDTH - column, tasks)
            tasks += [(margin, broken, part) for part in reversed(chosen)]
            continue
        elif kind is Folded:
            text = doc.text
            if broken and not _fits([text], WIDTH - column, tasks):
                tasks += [(margin, True, part) for part in reversed(doc.unfolded())]
                continue
        else:
            text = doc.text if broken or kind is Suffix else ""
        if text:
            out.append(" " * waiting + text if waiting and text != "\n" else text)
            column = column + len(text) if "\n" not in text else len(text) - text.rindex("\n") - 1
            waiting = 0
    return "".join(out)


def _choice(doc: Group, broken: bool, room: int, rest: list[_Task]) -> tuple[bool, list[Doc]]:
    """Whether a group is broken, and which parts are printed; one in a group that is not broken is not, either."""
    if not doc.hard and (not broken or _fits(doc.parts, room, rest)):
        return False, doc.parts
    hugged = doc.hugging() if doc.hugging is not None else None
    if hugged is not None and _fits(hugged, room, rest):
        return False, hugged
    return True, doc.parts


def _fits(parts: list[Doc], room: int, rest: list[_Task]) -> bool:
    """Whether there is room for parts without line ends, and for the rest up to its first one."""
    tasks: list[tuple[bool, Any]] = [(False, part) for part in reversed(parts)]
    behind = len(rest)
    while room >= 0:
        if not tasks:
            if not behind:
                return True
            behind -= 1
            tasks.append(rest[behind][1:])
        broken, doc = tasks.pop()
        kind = doc.__class__
        if kind is str:
            if "\n" in doc:
                if room < doc.index("\n"):
                    return False
                # What follows on the last line of a text over several needs room there.
                room = WIDTH + doc.rindex("\n") + 1
            room -= len(doc)
        elif kind is Line:
            if doc.hard or broken:
                return True
            room -= len(doc.flat)
        elif kind is Indent:
            tasks += [(broken, part) for part in reversed(doc.parts)]
        elif kind is Group:
            broken = doc.hard or broken
            tasks += [(broken, part) for part in reversed(doc.parts)]
        elif kind is Folded:
            if broken and doc.head < len(doc.text):
                return room >= doc.head
            room -= len(doc.text)
        elif kind is IfBroken and broken:
            room -= len(doc.text.strip())
    return False
