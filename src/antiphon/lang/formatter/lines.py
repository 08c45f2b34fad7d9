"""The quick way: pieces that fit on a line are written on it. Most do, and need no layout."""

from __future__ import annotations

from antiphon.lang.formatter.pieces import AMBIGUOUS, COMMENTS, Pieces, spaced
from antiphon.lang.formatter.roles import Roles
from antiphon.lang.syntax.tokens import PAIRS

_ENDS = frozenset(("}", "end", ";"))
_CLOSERS = frozenset(")]}")
#: What is not always written on the line: comments, Python, lines that begin with an `@`, blocks, broken objects.
_SPECIAL = COMMENTS | {"py", "@", "{"}
#: A block takes a space and a brace after the line, and one before it may take as much.
_BRACES = 4


def one_line(pieces: Pieces, at: int, room: int, starts: frozenset[int], roles: Roles) -> tuple[str, int] | None:
    """The pieces from here up to a block or the end of the statement as text, and where they end.

    Nothing if they need more room, or a line end among them: then they are laid out.
    """
    text, kinds, places, ends, fields = pieces.text, pieces.kinds, pieces.starts, pieces.ends, roles.fields
    out: list[str] = []
    swapped = pieces.swapped
    # The brackets around a piece: what they are, and the space at their edges.
    around: list[tuple[str, str]] = []
    first, last, before = at, "", ""
    while True:
        kind, place = kinds[at], places[at]
        if not around and at > first and (kind in _ENDS or place in starts):
            break
        written = swapped.get(at) or text[place : ends[at]]
        if kind in _SPECIAL:
            if kind in COMMENTS and not around and _ends_statement(pieces, at, starts):
                break
            if kind == "{" and place in roles.blocks and not around:
                room -= _BRACES
                break
            if kind != "{" or place in roles.blocks or place in roles.matches or pieces.lines(at + 1):
                return None
        elif kind == "text" and "\n" in written:
            return None
        if at - first > room:
            return None
        if kind in _CLOSERS:
            kind, edge = around.pop()
            if last == ",":
                out.pop()
            out.append(f"{edge}{written}" if last != "open" else written)
        elif kind in PAIRS:
            edge = " " if kind == "{" and place not in roles.patterns else ""
            kind = roles.bracket_kind(kind, place, last, before)
            out.append(_gap(last, kind, around) + written)
            around.append((kind, edge))
            kind = "open"
        else:
            if kind in AMBIGUOUS:
                kind = roles.kind_of(kind, place)
                if kind == ":" and around and around[-1][0] == "index":
                    kind = "slice"
            if around and place in fields and last != "," and last != "open":
                out.append(",")
                last = ","
            out.append(_gap(last, kind, around) + written)
        last, before = kind, last
        at += 1
    line = "".join(out)
    return (line, at) if line and len(line) <= room else None


def _gap(last: str, kind: str, around: list[tuple[str, str]]) -> str:
    if last == "open":
        return around[-1][1]
    return " " if last and spaced(last, kind) else ""


def _ends_statement(pieces: Pieces, at: int, starts: frozenset[int]) -> bool:
    """Whether nothing of the statement follows on a comment."""
    while pieces.kinds[at] in COMMENTS:
        at += 1
    return pieces.kinds[at] in _ENDS or pieces.starts[at] in starts
