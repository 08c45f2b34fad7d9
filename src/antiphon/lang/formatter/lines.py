"""The quick way: pieces that fit on a line are written on it. Most do, and need no layout."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import chain, compress, pairwise

from antiphon.lang.formatter.pieces import COMMENTS, Pieces, spaced
from antiphon.lang.formatter.roles import VALUES, Roles

_OPENERS, _CLOSERS = frozenset(("(", "[", "[key", "{")), frozenset(")]}")
_ENDS = frozenset(("}", "end", ";"))
#: What may stand in brackets, though a line ends before it.
_MIDDLE = COMMENTS | {"{", ";"}
_VALUES = VALUES | {")", "]", "}"}
#: A block takes a space and a brace after the line, and one before it may take as much.
_BRACES = 4
_BRACKET = re.compile(rb"[(){}]")
#: What the shape of a text is searched for. A comma before a bracket that closes goes.
_BRACE, _STOP, _MINUS = (re.compile(letters) for letters in (rb"[{}]", rb"[;/]", rb"-"))
_NO_LINE, _LAST_COMMA, _MEMBER = (re.compile(letters) for letters in (rb"[@/{}]", rb",[)}]", rb"\.w"))
_OPENS, _CLOSES = b"(", b")"
#: Stands for what is not just written. There is none in a text whose line ends are plain.
_ODD = "\r"


class _Gaps(dict[tuple[str, str], str]):
    """What stands between two pieces on a line."""

    def __missing__(self, kinds: tuple[str, str]) -> str:
        self[kinds] = gap = _gap(*kinds)
        return gap


def _gap(before: str, after: str) -> str:
    if before in ("(", "[", "[key", "{pattern") or after in (")", "]", "}pattern"):
        return ""
    if before == "{" or after == "}":
        return "" if before == "{" and after == "}" else " "
    if after in ("(", "[") and before in _VALUES:
        return ""
    return " " if spaced(before, after) else ""


_GAPS = _Gaps()


class Lines:
    """All pieces as they are written on a line, with the space before them. What can be is done for all at once."""

    def __init__(self, pieces: Pieces, roles: Roles) -> None:
        self._pieces = pieces
        self._roles = roles
        self._begins = roles.statements.union(*roles.blocks.values())
        #: Pieces before which a line ends.
        self._stops = bytearray(map(self._begins.__contains__, pieces.starts))
        for found in _STOP.finditer(pieces.shape):
            self._stops[found.start()] = 1
        #: As that of the pieces; but braces stay only where they are those of blocks that take several lines.
        self._shape = pieces.shape.copy()
        kinds = self._kinds()
        #: The space before each piece, and the piece.
        self._written = [""] * (2 * len(kinds))
        self._written[2::2] = map(_GAPS.__getitem__, pairwise(kinds))
        self._written[1::2] = pieces.texts
        for found in chain(_NO_LINE.finditer(self._shape), _LAST_COMMA.finditer(self._shape)):
            self._written[2 * found.start() + 1] = _ODD
        self._lines = self._split()

    def _split(self) -> dict[int, tuple[str, int]]:
        """What stands between two line ends, and where the second is, by where it begins."""
        stops = [*compress(range(len(self._stops)), self._stops)]
        for at in stops:
            self._written[2 * at] = "\n"
        lines = "".join(self._written).split("\n")
        return dict(zip(stops, zip(lines[1:], stops[1:], strict=False), strict=False))

    def line(self, at: int, room: int) -> tuple[str, int] | None:
        """The pieces from here up to a block or the end of the statement as text, and where they end.

        Nothing if they need more room, stand on several lines now, or must do so: then they are laid out.
        """
        line = self._lines.get(at)
        if line is None or len(line[0]) > room:
            return None
        pieces, (text, stop) = self._pieces, line
        # Most of what is formatted is already as it should be.
        if not pieces.text.startswith(text, pieces.starts[at]) and self._needs_layout(text, at, stop):
            return None
        return line if pieces.kinds[stop] not in _MIDDLE or self._is_whole(text, at, stop, room) else None

    def _is_whole(self, line: str, at: int, stop: int, room: int) -> bool:
        """Whether a line does not end in brackets, nor at a comment in a statement, and has room for a brace."""
        pieces, shape = self._pieces, self._shape
        if shape.count(_OPENS, at, stop) != shape.count(_CLOSES, at, stop):
            return False
        if pieces.kinds[stop] in COMMENTS:
            return self._ends_statement(stop)
        return pieces.kinds[stop] == ";" or pieces.starts[stop] in self._begins or len(line) <= room - _BRACES

    def rest(self, at: int, room: int) -> tuple[str, int] | None:
        """The same, of what follows on a block: if that takes several lines, another one cannot be on one."""
        line = self.line(at, room)
        return None if line is not None and self._pieces.shape.find(b"{", at, line[1]) >= 0 else line

    def part(self, at: int, after: int) -> str | None:
        """The pieces from one up to another as text; nothing if they must be laid out."""
        text = "".join(self._written[2 * at + 1 : 2 * after])
        return None if "\n" in text or self._needs_layout(text, at, after) else text

    def bracket(self, at: int) -> tuple[str | None, int]:
        """The same of all pieces of the bracket that opens here, and where it ends."""
        depth = 0
        for found in _BRACKET.finditer(self._pieces.shape, at):
            depth += 1 if found[0] in b"({" else -1
            if not depth:
                return self.part(at, found.end()), found.end()
        raise AssertionError("a bracket is never closed in a text without errors")

    def _needs_layout(self, text: str, at: int, after: int) -> bool:
        pieces = self._pieces
        return _ODD in text or pieces.text.find("\n", pieces.starts[at], pieces.ends[after - 1]) >= 0

    def _ends_statement(self, at: int) -> bool:
        """Whether nothing of the statement follows on a comment."""
        while self._pieces.kinds[at] in COMMENTS:
            at += 1
        return self._pieces.kinds[at] in _ENDS or self._pieces.starts[at] in self._begins

    def _kinds(self) -> list[str]:
        """What the pieces are for those beside them."""
        pieces, roles = self._pieces, self._roles
        kinds, starts = pieces.kinds.copy(), pieces.starts
        for found in _MINUS.finditer(pieces.shape):
            at = found.start()
            kinds[at] = roles.kind_of("-", starts[at])
        for found in _MEMBER.finditer(pieces.shape):
            kinds[found.start() + 1] = "name"
        for kind, places in (("choice", roles.choices), ("word", roles.words), ("[key", roles.keys)):
            for place in places:
                kinds[bisect_left(starts, place)] = kind
        for end in roles.slices:
            self._look_at_slice(kinds, bisect_left(starts, end) - 1)
        self._look_at_braces(kinds)
        return kinds

    def _look_at_braces(self, kinds: list[str]) -> None:
        pieces, roles, stops, shape = self._pieces, self._roles, self._stops, self._shape
        #: What the braces around are.
        around: list[str] = []
        for found in _BRACE.finditer(pieces.shape):
            at = found.start()
            if kinds[at] == "{":
                what = roles.brace_kind(pieces.starts[at])
                if what == "block" and self._is_on_a_line(at):
                    what = "short"
                    stops[at + 1] = 0
                around.append(what)
            else:
                what = around.pop()
            if what == "block":
                # What follows on the closing one begins a line of its own as far as we are concerned.
                stops[at] = stops[at + (kinds[at] == "}")] = 1
                continue
            if what == "pattern":
                kinds[at] += what
            shape[at] = (_OPENS if shape[at] == b"{"[0] else _CLOSES)[0]

    def _is_on_a_line(self, at: int) -> bool:
        """Whether a block stands on one line and may stay there."""
        starts = self._pieces.starts
        end = self._roles.short.get(starts[at], -1)
        return end >= 0 and starts[at + 1] in self._begins and self._pieces.text.find("\n", starts[at], end) < 0

    def _look_at_slice(self, kinds: list[str], closer: int) -> None:
        """What the colons in the brackets of a slice are."""
        depth, at = 1, closer
        while depth:
            at -= 1
            depth += (kinds[at] in _CLOSERS) - (kinds[at] in _OPENERS)
            if depth == 1 and kinds[at] == ":":
                kinds[at] = "slice"
