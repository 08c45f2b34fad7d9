"""The fast path of the formatter: statements that fit on one line are printed without layout."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import chain, compress, pairwise

from antiphon.lang.formatter.token_roles import VALUE_KINDS, TokenRoles
from antiphon.lang.formatter.tokens import COMMENT_KINDS, FormatTokens, needs_space

_OPENERS, _CLOSERS = frozenset(("(", "[", "[key", "{")), frozenset(")]}")
_STATEMENT_ENDS = frozenset(("}", "end", ";"))
#: Kinds that may be inside brackets although a line ends before them.
_INNER_STOPS = COMMENT_KINDS | {"{", ";"}
_VALUE_ENDS = VALUE_KINDS | {")", "]", "}"}
#: The width of ` {` after the line, and of `} ` before it.
_BRACES_WIDTH = 4
_BRACKET = re.compile(rb"[(){}]")
#: Patterns on the shape of a text. A comma before a closing bracket is removed.
_BRACE, _STOP, _MINUS = (re.compile(letters) for letters in (rb"[{}]", rb"[;/]", rb"-"))
_NEEDS_LAYOUT, _LAST_COMMA, _MEMBER = (re.compile(letters) for letters in (rb"[@/{}]", rb",[)}]", rb"\.w"))
_OPENING_LETTER, _CLOSING_LETTER = b"(", b")"
#: Marks a token that needs layout. It cannot occur in a text with LF line ends.
_LAYOUT_MARK = "\r"


class _GapTable(dict[tuple[str, str], str]):
    """The space between two tokens on a line, by their kinds."""

    def __missing__(self, kinds: tuple[str, str]) -> str:
        self[kinds] = gap = _choose_gap(*kinds)
        return gap


def _choose_gap(before: str, after: str) -> str:
    if before in ("(", "[", "[key", "{pattern") or after in (")", "]", "}pattern"):
        return ""
    if before == "{" or after == "}":
        return "" if before == "{" and after == "}" else " "
    if after in ("(", "[") and before in _VALUE_ENDS:
        return ""
    return " " if needs_space(before, after) else ""


_GAPS = _GapTable()


class SingleLineRenderer:
    """All tokens as printed on one line, with the space before each. The work is done for all tokens at once."""

    def __init__(self, pieces: FormatTokens, roles: TokenRoles) -> None:
        self._pieces = pieces
        self._roles = roles
        self._statement_starts = roles.statements.union(*roles.blocks.values())
        #: Marks the tokens before which a line ends.
        self._stops = bytearray(map(self._statement_starts.__contains__, pieces.starts))
        for found in _STOP.finditer(pieces.shape):
            self._stops[found.start()] = 1
        #: The shape of the tokens, with braces only for blocks that take several lines.
        self._shape = pieces.shape.copy()
        kinds = self._resolve_kinds()
        #: The space before each token, and the token.
        self._written = [""] * (2 * len(kinds))
        self._written[2::2] = map(_GAPS.__getitem__, pairwise(kinds))
        self._written[1::2] = pieces.texts
        for found in chain(_NEEDS_LAYOUT.finditer(self._shape), _LAST_COMMA.finditer(self._shape)):
            self._written[2 * found.start() + 1] = _LAYOUT_MARK
        self._lines = self._split()

    def _split(self) -> dict[int, tuple[str, int]]:
        """Return the text between two line ends and the index of the second, by the index of its first token."""
        stops = [*compress(range(len(self._stops)), self._stops)]
        for at in stops:
            self._written[2 * at] = "\n"
        lines = "".join(self._written).split("\n")
        return dict(zip(stops, zip(lines[1:], stops[1:], strict=False), strict=False))

    def line(self, at: int, room: int) -> tuple[str, int] | None:
        """Return the text from here up to a block or the end of the statement, and the index after it.

        Return None if it needs more room, spans several lines now, or must do so: then it needs layout.
        """
        line = self._lines.get(at)
        if line is None or len(line[0]) > room:
            return None
        pieces, (text, stop) = self._pieces, line
        # Most source is already formatted.
        if not pieces.text.startswith(text, pieces.starts[at]) and self._needs_layout(text, at, stop):
            return None
        return line if pieces.kinds[stop] not in _INNER_STOPS or self._is_whole(text, at, stop, room) else None

    def _is_whole(self, line: str, at: int, stop: int, room: int) -> bool:
        """Return True if a line does not end inside brackets or a statement, and has room for a brace."""
        pieces, shape = self._pieces, self._shape
        if shape.count(_OPENING_LETTER, at, stop) != shape.count(_CLOSING_LETTER, at, stop):
            return False
        if pieces.kinds[stop] in COMMENT_KINDS:
            return self._ends_statement(stop)
        return (
            pieces.kinds[stop] == ";"
            or pieces.starts[stop] in self._statement_starts
            or len(line) <= room - _BRACES_WIDTH
        )

    def rest(self, at: int, room: int) -> tuple[str, int] | None:
        """Return the line that follows a block, or None if it contains another brace."""
        line = self.line(at, room)
        return None if line is not None and self._pieces.shape.find(b"{", at, line[1]) >= 0 else line

    def part(self, at: int, after: int) -> str | None:
        """Return a range of tokens as text, or None if it needs layout."""
        text = "".join(self._written[2 * at + 1 : 2 * after])
        return None if "\n" in text or self._needs_layout(text, at, after) else text

    def render_bracket(self, at: int) -> tuple[str | None, int]:
        """Return the bracket that opens here as text, or None if it needs layout; and the index after it."""
        depth = 0
        for found in _BRACKET.finditer(self._pieces.shape, at):
            depth += 1 if found[0] in b"({" else -1
            if not depth:
                return self.part(at, found.end()), found.end()
        raise AssertionError("a bracket is never closed in a text without errors")

    def _needs_layout(self, text: str, at: int, after: int) -> bool:
        pieces = self._pieces
        return _LAYOUT_MARK in text or pieces.text.find("\n", pieces.starts[at], pieces.ends[after - 1]) >= 0

    def _ends_statement(self, at: int) -> bool:
        """Return True if the statement ends with the comments here."""
        while self._pieces.kinds[at] in COMMENT_KINDS:
            at += 1
        return self._pieces.kinds[at] in _STATEMENT_ENDS or self._pieces.starts[at] in self._statement_starts

    def _resolve_kinds(self) -> list[str]:
        """Return the kind of each token that determines the space around it."""
        pieces, roles = self._pieces, self._roles
        kinds, starts = pieces.kinds.copy(), pieces.starts
        for found in _MINUS.finditer(pieces.shape):
            at = found.start()
            kinds[at] = roles.get_token_kind("-", starts[at])
        for found in _MEMBER.finditer(pieces.shape):
            kinds[found.start() + 1] = "name"
        for kind, places in (("choice", roles.choices), ("word", roles.words), ("[key", roles.keys)):
            for place in places:
                kinds[bisect_left(starts, place)] = kind
        for end in roles.slice_ends:
            self._mark_slice_colons(kinds, bisect_left(starts, end) - 1)
        self._resolve_braces(kinds)
        return kinds

    def _resolve_braces(self, kinds: list[str]) -> None:
        pieces, roles, stops, shape = self._pieces, self._roles, self._stops, self._shape
        # The kinds of the enclosing braces.
        around: list[str] = []
        for found in _BRACE.finditer(pieces.shape):
            at = found.start()
            if kinds[at] == "{":
                what = roles.get_brace_kind(pieces.starts[at])
                if what == "block" and self._is_one_line_block(at):
                    what = "short"
                    stops[at + 1] = 0
                around.append(what)
            else:
                what = around.pop()
            if what == "block":
                # What follows the closing brace is treated as a new line.
                stops[at] = stops[at + (kinds[at] == "}")] = 1
                continue
            if what == "pattern":
                kinds[at] += what
            shape[at] = (_OPENING_LETTER if shape[at] == b"{"[0] else _CLOSING_LETTER)[0]

    def _is_one_line_block(self, at: int) -> bool:
        """Return True if a block is on one line and may stay there."""
        starts = self._pieces.starts
        end = self._roles.short.get(starts[at], -1)
        return (
            end >= 0 and starts[at + 1] in self._statement_starts and self._pieces.text.find("\n", starts[at], end) < 0
        )

    def _mark_slice_colons(self, kinds: list[str], closer: int) -> None:
        """Mark the colons in the brackets of a slice."""
        depth, at = 1, closer
        while depth:
            at -= 1
            depth += (kinds[at] in _CLOSERS) - (kinds[at] in _OPENERS)
            if depth == 1 and kinds[at] == ":":
                kinds[at] = "slice"
