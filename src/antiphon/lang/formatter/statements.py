"""The lines of a program: its statements, its blocks, and the comments between them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile

from antiphon.lang.formatter.body import Body
from antiphon.lang.formatter.flow import flowing
from antiphon.lang.formatter.items import listed
from antiphon.lang.formatter.layout import HARD, LINE, WIDTH, Doc, Folded, Group, Suffix, group, indent, printed
from antiphon.lang.formatter.lines import Lines
from antiphon.lang.formatter.pieces import AMBIGUOUS, COMMENTS, Piece, Pieces
from antiphon.lang.formatter.roles import Roles
from antiphon.lang.syntax.collector import without_collector
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.lexer import tokenize
from antiphon.lang.syntax.parser import parse
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import PAIRS

_ENDS = frozenset(("}", "end", ";"))


def format_source(source: Source) -> str:
    """The program in the style of the language; `ProgramErrors` if its syntax is wrong."""
    with without_collector():
        return _formatted(source)


def _formatted(source: Source) -> str:
    text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    tokens = tokenize(text)
    program, diagnostics = parse(Source(source.name, text), tokens)
    if any(each.severity == "error" for each in diagnostics):
        # What is wrong is told at its place in the text as it is.
        raise ProgramErrors((source, each) for each in parse(source, tokenize(source.text))[1])
    pieces = Pieces(text, tokens)
    body = printed(_Formatter(pieces, Roles.of(program)).program())
    head = ""
    if text.startswith("#!"):
        gap = "\n" if pieces.lines(0) > 1 and body else ""
        head = text.partition("\n")[0].rstrip() + "\n" + gap
    return f"{head}{body}\n" if body else head


class _Formatter:
    """Reads the pieces from the first to the last, and makes of them what can be printed."""

    def __init__(self, pieces: Pieces, roles: Roles) -> None:
        self._pieces = pieces
        self._roles = roles
        self._written = Lines(pieces, roles)
        self._at = 0
        #: How much fits on a line of the block that is being read.
        self._room = WIDTH

    def program(self) -> list[Doc]:
        """The whole file."""
        return self._body(self._roles.statements).docs()

    # Blocks and statements

    def _body(self, starts: frozenset[int]) -> Body:
        """What stands in a block up to its brace."""
        pieces, body = self._pieces, Body(self._room)
        goes_on = False
        while (kind := pieces.kinds[self._at]) not in ("}", "end"):
            if kind == ";":
                pieces.skip(self._at)
                self._at += 1
                continue
            before = pieces.lines(self._at)
            if kind not in COMMENTS:
                body.add(self._statement(starts, 0 if goes_on else self._room), 0 if goes_on else before or 1)
                goes_on = False
            elif before == 0 and self._at:
                body.add_beside(pieces.comment(self._at))
                self._at += 1
            else:
                body.add(self._comment(), 0 if goes_on else before or 1)
                goes_on = kind != "//" and not self._ends_line(self._at)
        return body

    def _ends_line(self, at: int) -> bool:
        """Whether nothing but comments follows on its line."""
        while True:
            kind = self._pieces.kinds[at]
            if kind in ("}", "end") or self._pieces.lines(at):
                return True
            if kind not in COMMENTS and kind != ";":
                return False
            at += 1

    def _comment(self) -> list[Doc]:
        at = self._at
        self._at += 1
        return [self._pieces.comment(at)] if self._pieces.kinds[at] == "//" else self._pieces.piece(at).on_its_line()

    def _statement(self, starts: frozenset[int], room: int) -> list[Doc]:
        """The statement that begins here, without the comments after it. There is room for so much on its line."""
        at, kinds, places = self._at, self._pieces.kinds, self._pieces.starts
        line = self._written.line(at, room if self._room > 0 else WIDTH)
        if line is None or not (kinds[line[1]] in _ENDS or places[line[1]] in starts or kinds[line[1]] in COMMENTS):
            return self._laid_out(starts, room, line if self._room > 0 else None)
        self._at = line[1]
        return [line[0] if self._room > 0 else Folded(line[0], lambda: self._unfolded(at, starts), len(line[0]))]

    def _unfolded(self, at: int, starts: frozenset[int]) -> list[Doc]:
        self._at = at
        return self._laid_out(starts, 0, None)

    def _laid_out(self, starts: frozenset[int], room: int, line: tuple[str, int] | None) -> list[Doc]:
        """The same, whose first line is known or is not."""
        kinds, places = self._pieces.kinds, self._pieces.starts
        pieces: list[Piece] = []
        kept, after = 0, self._at
        while (kind := kinds[self._at]) not in _ENDS and not (pieces and places[self._at] in starts):
            if pieces:
                is_after = pieces[-1].kind == "block"
                line = self._written.rest(self._at, room) if is_after else None
            if line is not None:
                pieces.append(Piece("line", line[0], places[self._at], self._pieces.lines(self._at), line[0]))
                self._at = line[1]
            else:
                pieces.append(self._piece(pieces))
            if kind not in COMMENTS:
                kept, after = len(pieces), self._at
        self._at = after
        del pieces[kept:]
        texts = [piece.whole for piece in pieces if piece.whole is not None]
        return [" ".join(texts)] if len(texts) == len(pieces) else _statement(pieces)

    def _piece(self, before: list[Piece]) -> Piece:
        """The next piece; if it opens a bracket, the whole of it."""
        kind, start = self._pieces.kinds[self._at], self._pieces.starts[self._at]
        if kind in PAIRS:
            return self._block() if start in self._roles.blocks else self._bracket(kind, start, before)
        piece = self._pieces.piece(self._at)
        self._at += 1
        if kind in AMBIGUOUS or start in self._roles.words:
            piece.kind = self._roles.kind_of(kind, start)
        return piece

    def _bracket(self, opener: str, start: int, before: list[Piece]) -> Piece:
        """A bracket: as text, if all of it can be on a line."""
        at, lines = self._at, self._pieces.lines(self._at)
        kind = self._roles.bracket_kind(opener, start, before)
        text, self._at = self._written.bracket(at)
        if text is None:
            return Piece(kind, self._listed(at, kind), start, lines)
        # An empty one cannot be broken.
        head = 1 if len(text) > 2 else 2
        return Piece(kind, Folded(text, lambda: [self._listed(at, kind)], head), start, lines)

    def _listed(self, at: int, kind: str) -> Doc:
        """A bracket that may take several lines."""
        opener = self._pieces.piece(at)
        ends = {"match": self._roles.arms, "object": self._roles.fields}.get(kind)
        inner: list[Piece] = []
        self._at = at + 1
        # Where the lines of a block in a bracket begin is not known yet.
        self._room -= WIDTH
        while self._pieces.kinds[self._at] != PAIRS[opener.kind]:
            item = self._item(ends) if ends is not None else None
            inner.append(item or self._piece(inner))
        self._room += WIDTH
        self._at += 1
        return listed(kind, opener, inner, self._pieces.piece(self._at - 1), self._roles)

    def _item(self, ends: dict[int, int]) -> Piece | None:
        """The field or arm that begins here, if all of it can be on a line."""
        at, places = self._at, self._pieces.starts
        if places[at] not in ends:
            return None
        after = bisect_left(places, ends[places[at]], at)
        text = self._written.part(at, after)
        if text is None:
            return None
        self._at = after
        doc = Folded(text, lambda: self._flowing(at, after), len(text))
        return Piece("item", doc, places[at], self._pieces.lines(at))

    def _flowing(self, at: int, after: int) -> list[Doc]:
        self._at = at
        pieces: list[Piece] = []
        while self._at < after:
            pieces.append(self._piece(pieces))
        return flowing(pieces)

    def _block(self) -> Piece:
        opener, start = self._at, self._pieces.starts[self._at]
        lines = self._pieces.lines(opener)
        is_short = self._is_short(opener, start)
        self._room -= 2
        self._at += 1
        body = self._body(self._roles.blocks[start])
        self._room += 2
        self._at += 1
        if is_short:
            return Piece("block", group(["{", indent([LINE, *body.docs()]), LINE, "}"]), start, lines)
        text = body.text()
        return Piece("block", body.block(), start, lines, text)

    def _is_short(self, opener: int, start: int) -> bool:
        """Whether a block may stand on one line, where it stands now."""
        end = self._roles.short.get(start)
        if end is None:
            return False
        closer = bisect_left(self._pieces.starts, end) - 1
        return not any(map(self._is_apart, range(opener + 1, closer + 1)))

    def _is_apart(self, at: int) -> bool:
        """Whether a piece is a reason not to put a block on one line."""
        return self._pieces.kinds[at] in COMMENTS or self._pieces.lines(at) > 0


def _statement(pieces: list[Piece]) -> list[Doc]:
    """A statement: what stands before, between and after its blocks, and the blocks."""
    if len(pieces) == 1:
        return flowing(pieces, 2)
    out: list[Doc] = []
    part: list[Piece] = []
    for piece in pieces:
        if piece.kind != "block":
            part.append(piece)
            continue
        out += _between(out, part, 4)
        # After the lines that describe a tool its block begins on a line of its own.
        apart = part and (part[-1].kind == "//" or (len(part) > 1 and any(each.kind == "@" for each in part)))
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
    if not part:
        return []
    if len(part) == 1 and part[0].kind == "line":
        return [" ", part[0].doc] if before else [part[0].doc]
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
