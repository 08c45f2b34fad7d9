"""The quick way: pieces that fit on a line are written on it. Most do, and need no layout."""

from __future__ import annotations

from itertools import takewhile
from operator import add

from antiphon.lang.formatter.pieces import AMBIGUOUS, COMMENTS, Pieces, spaced
from antiphon.lang.formatter.roles import Roles
from antiphon.lang.syntax.tokens import PAIRS

_ENDS = frozenset(("}", "end", ";"))
_CLOSERS = frozenset(")]}")
#: What is not just written, with a space before it or without.
_LOOKED_AT = COMMENTS | _ENDS | _CLOSERS | AMBIGUOUS | PAIRS.keys() | {"text", "py", "@"}
#: A block takes a space and a brace after the line, and one before it may take as much.
_BRACES = 4


class _Gaps(dict[tuple[str, str], str]):
    """What stands between two pieces: what the first is for those after it, and the second for those before it."""

    def __missing__(self, kinds: tuple[str, str]) -> str:
        before, after = kinds
        if before.startswith("open") or after.startswith("close"):
            is_wide = "wide" in before or "wide" in after
            gap = " " if is_wide and not (before.startswith("open") and after.startswith("close")) else ""
        else:
            gap = " " if spaced(before, after) else ""
        self[kinds] = gap
        return gap


_GAPS = _Gaps()


class Lines:
    """All pieces as they are written on a line, with the space before them. What can be is done for all at once."""

    def __init__(self, pieces: Pieces, roles: Roles) -> None:
        self._pieces = pieces
        self._roles = roles
        self._begins = roles.statements.union(*roles.blocks.values())
        #: Pieces before which a line ends, and those that cannot be on one.
        self._stops = bytearray(map(self._begins.__contains__, pieces.starts))
        self._odd = bytearray(len(pieces.kinds))
        #: What pieces are for those before them, and for those after them.
        self._first, self._last = pieces.kinds.copy(), pieces.kinds.copy()
        self._look_at_kinds()
        self._look_at_fields()
        self._texts = [pieces.text[start:end] for start, end in zip(pieces.starts, pieces.ends, strict=True)]
        for at, text in pieces.swapped.items():
            self._texts[at] = text
        gaps = map(_GAPS.__getitem__, zip(self._last, self._first[1:], strict=False))
        self._written = [self._texts[0], *map(add, gaps, self._texts[1:])]

    def line(self, at: int, room: int) -> tuple[str, int] | None:
        """The pieces from here up to a block or the end of the statement as text, and where they end.

        Nothing if they need more room, or a line end among them: then they are laid out.
        """
        stop = self._stops.find(1, at + 1)
        if stop - at > room or self._odd.find(1, at, stop) >= 0:
            return None
        kind = self._pieces.kinds[stop]
        if kind == "{" and self._pieces.starts[stop] not in self._begins:
            room -= _BRACES
        elif kind in COMMENTS and not self._ends_statement(stop):
            return None
        line = self._texts[at] + "".join(self._written[at + 1 : stop])
        return (line, stop) if len(line) <= room else None

    def _ends_statement(self, at: int) -> bool:
        """Whether nothing of the statement follows on a comment."""
        while self._pieces.kinds[at] in COMMENTS:
            at += 1
        return self._pieces.kinds[at] in _ENDS or self._pieces.starts[at] in self._begins

    def _look_at_kinds(self) -> None:
        kinds, starts, ends = self._pieces.kinds, self._pieces.starts, self._pieces.ends
        # The brackets around a piece: what they are, whether there is space at their edges, and where they open.
        around: list[tuple[str, bool, int]] = []
        for at in [at for at, kind in enumerate(kinds) if kind in _LOOKED_AT]:
            kind, place = kinds[at], starts[at]
            if kind == "text":
                self._odd[at] = self._pieces.text.find("\n", place, ends[at]) >= 0
            elif kind in AMBIGUOUS:
                kind = self._roles.kind_of(kind, place)
                kind = "slice" if kind == ":" and around and around[-1][0] == "index" else kind
                self._first[at] = self._last[at] = kind
            elif kind == "{" and place in self._roles.blocks:
                self._stop(at, around)
                around.append(("block", False, at))
            elif kind in PAIRS:
                around.append(self._opened(at, kind, place))
            elif kind in _CLOSERS:
                self._closed(at, *around.pop()[:2])
            elif kind in COMMENTS:
                self._stop(at, around)
            else:
                self._stops[at] = kind in _ENDS
                self._odd[at] = 1

    def _stop(self, at: int, around: list[tuple[str, bool, int]]) -> None:
        """A line ends before a comment or a block, but not in brackets: these are not on one line."""
        self._stops[at] = self._odd[at] = 1
        for _, _, opener in takewhile(lambda each: each[0] != "block", reversed(around)):
            self._odd[opener] = 1

    def _opened(self, at: int, kind: str, place: int) -> tuple[str, bool, int]:
        roles = self._roles
        last, before = (self._last[at - 1], self._last[at - 2]) if place not in self._begins else ("", "")
        self._first[at] = found = roles.bracket_kind(kind, place, last, before)
        if kind == "{":
            self._odd[at] = place in roles.matches or self._pieces.lines(at + 1) > 0
        is_wide = kind == "{" and place not in roles.patterns
        self._last[at] = "open wide" if is_wide else "open"
        return found, is_wide, at

    def _closed(self, at: int, kind: str, is_wide: bool) -> None:
        if kind == "block":
            self._stops[at] = self._odd[at] = 1
            return
        # A comma before it goes.
        self._odd[at] = self._last[at - 1] == ","
        self._first[at] = "close wide" if is_wide else "close"
        self._last[at] = kind

    def _look_at_fields(self) -> None:
        """Where the commas between fields are line ends they have to be written."""
        fields = bytearray(map(self._roles.fields.__contains__, self._pieces.starts))
        at = fields.find(1)
        while at >= 0:
            if self._last[at - 1] not in (",", "open", "open wide"):
                self._odd[at] = 1
            at = fields.find(1, at + 1)
