"""The lines of a program: its statements, its blocks, and the comments between them."""

from __future__ import annotations

from itertools import takewhile

from antiphon.lang.formatter.flow import flowing
from antiphon.lang.formatter.items import arms, bracket
from antiphon.lang.formatter.layout import HARD, LINE, Doc, Group, Suffix, group, indent, printed
from antiphon.lang.formatter.pieces import Piece, pieces_of
from antiphon.lang.formatter.roles import Roles
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.parser import parse
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import PAIRS


def format_source(source: Source) -> str:
    """The program in the style of the language; `ProgramErrors` if its syntax is wrong."""
    program, diagnostics = parse(source)
    if any(each.severity == "error" for each in diagnostics):
        raise ProgramErrors((source, each) for each in diagnostics)
    text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if text != source.text:
        program, _ = parse(Source(source.name, text))
    pieces = pieces_of(text)
    body = printed(_Formatter(pieces, Roles.of(program)).program())
    head = ""
    if text.startswith("#!"):
        gap = "\n" if pieces[0].lines > 1 and body else ""
        head = text.partition("\n")[0].rstrip() + "\n" + gap
    return f"{head}{body}\n" if body else head


class _Formatter:
    """Reads the pieces from the first to the last, and makes of them what can be printed."""

    def __init__(self, pieces: list[Piece], roles: Roles) -> None:
        self._pieces = pieces
        self._roles = roles
        self._at = 0

    def program(self) -> list[Doc]:
        """The whole file."""
        return self._lines(self._roles.statements)[1]

    # Blocks and statements

    def _lines(self, starts: frozenset[int]) -> tuple[list[Doc], list[Doc]]:
        """What stands in a block up to its brace: comments beside the opening one, and the lines."""
        beside: list[Doc] = []
        lines: list[Doc] = []
        goes_on = False
        while (piece := self._pieces[self._at]).kind not in ("}", "end"):
            if piece.kind == ";":
                self._at += 1
                self._pieces[self._at].lines += piece.lines
                continue
            if piece.is_comment and piece.lines == 0 and self._at:
                (lines or beside).append(Suffix(f" {piece.text}"))
                self._at += 1
                continue
            if lines:
                lines += [" "] if goes_on else [HARD, HARD] if piece.lines > 1 else [HARD]
            goes_on = piece.is_comment and not self._ends_line(self._at)
            lines += self._comment() if piece.is_comment else self._statement(starts)
        return beside, lines

    def _ends_line(self, at: int) -> bool:
        """Whether nothing but comments follows a comment on its line."""
        while True:
            at += 1
            piece = self._pieces[at]
            if piece.lines or piece.kind in ("}", "end"):
                return True
            if not piece.is_comment and piece.kind != ";":
                return False

    def _comment(self) -> list[Doc]:
        self._at += 1
        return self._pieces[self._at - 1].on_its_line()

    def _statement(self, starts: frozenset[int]) -> list[Doc]:
        """The statement that begins here, without the comments after it."""
        pieces: list[Piece] = []
        kept, after = 0, self._at
        while True:
            piece = self._pieces[self._at]
            if piece.kind in ("}", "end", ";") or (pieces and piece.start in starts):
                break
            pieces.append(self._piece(pieces))
            if not piece.is_comment:
                kept, after = len(pieces), self._at
        self._at = after
        return _statement(pieces[:kept])

    def _piece(self, before: list[Piece]) -> Piece:
        """The next piece; if it opens a bracket, the whole of it."""
        piece = self._pieces[self._at]
        self._at += 1
        if piece.kind == "{" and piece.start in self._roles.blocks:
            return self._block(piece)
        if piece.kind in PAIRS:
            inner: list[Piece] = []
            while self._pieces[self._at].kind != PAIRS[piece.kind]:
                inner.append(self._piece(inner))
            self._at += 1
            closer = self._pieces[self._at - 1]
            if piece.start in self._roles.matches:
                return arms(piece, inner, closer, self._roles)
            return bracket(piece, before, inner, closer, self._roles)
        piece.kind = self._kind(piece, before)
        return piece

    def _kind(self, piece: Piece, before: list[Piece]) -> str:
        """What a piece is in its place, where that is not what it says."""
        if piece.start in self._roles.choices:
            return "choice"
        if piece.start in self._roles.words:
            return "word"
        if not piece.power or piece.start in self._roles.operators:
            return piece.kind
        if piece.kind == "in" and before and self._pieces[self._at].kind != ":":
            # The word of a loop, unless it is a member.
            last = next(each.kind for each in reversed(before) if not each.is_comment)
            return "name" if last in (".", "?.") else "word"
        # A sign before its operand, or a word that is a key or a member here.
        return "unary" if piece.kind == "-" else "name"

    def _block(self, opener: Piece) -> Piece:
        first = self._at
        beside, lines = self._lines(self._roles.blocks[opener.start])
        self._at += 1
        inside = self._pieces[first : self._at]
        doc: Doc = "{}"
        if opener.start in self._roles.short and not any(map(_is_apart, inside)):
            doc = group(["{", indent([LINE, *lines]), LINE, "}"])
        elif beside or lines:
            doc = group(["{", *beside, *([indent([HARD, *lines])] if lines else []), HARD, "}"])
        return Piece("block", doc, opener.start, opener.lines)


def _is_apart(piece: Piece) -> bool:
    """Whether a piece is a reason not to put a block on one line."""
    return piece.is_comment or piece.lines > 0


def _statement(pieces: list[Piece]) -> list[Doc]:
    """A statement: what stands before, between and after its blocks, and the blocks."""
    out: list[Doc] = []
    part: list[Piece] = []
    for piece in pieces:
        if piece.kind != "block":
            part.append(piece)
            continue
        out += _between(out, part, 4)
        # After the lines that describe a tool its block begins on a line of its own.
        apart = part and (part[-1].kind == "//" or any(each.kind == "@" for each in part))
        out += [HARD] if apart else [" "] if out else []
        # A block stands on one line only if all that is before it does, too.
        out = (
            [group([*out, *piece.doc.parts])]
            if isinstance(piece.doc, Group) and not piece.doc.hard
            else [*out, piece.doc]
        )
        part = []
    return [*out, *_between(out, part, 2)]


def _between(before: list[Doc], part: list[Piece], by: int) -> list[Doc]:
    """A part of a statement. After a block it goes on on the line of its brace, if no comment is in the way."""
    comments = list(takewhile(lambda piece: piece.is_comment, part))
    out: list[Doc] = []
    rest = part[len(comments) :]
    for piece in comments:
        out += [HARD, *piece.on_its_line()] if piece.lines else [Suffix(f" {piece.text}")]
    if rest:
        apart = comments and (comments[-1].kind == "//" or rest[0].lines > 0)
        out += [HARD] if apart else [" "] if before or comments else []
    lines: list[list[Piece]] = [[]]
    for piece in rest:
        if piece.kind == "@":
            lines.append([])
        lines[-1].append(piece)
    out += flowing(lines[0], by)
    for line in lines[1:]:
        out.append(indent([HARD, *flowing(line, 2)]))
    return out
