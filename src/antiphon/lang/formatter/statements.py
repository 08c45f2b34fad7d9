"""Formatting of a program's statements and blocks, and of the comments between them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile

from antiphon._base.gc_pause import gc_paused
from antiphon.lang.formatter.fast_path import SingleLineRenderer
from antiphon.lang.formatter.layout import (
    HARD_BREAK,
    MAX_LINE_WIDTH,
    SPACE_OR_BREAK,
    BlockLines,
    BreakGroup,
    FoldedDoc,
    LayoutDoc,
    LineSuffix,
    make_group,
    make_indent,
    render_layout,
)
from antiphon.lang.formatter.line_breaks import layout_bracket, layout_tokens
from antiphon.lang.formatter.token_roles import TokenRoles
from antiphon.lang.formatter.tokens import AMBIGUOUS_KINDS, COMMENT_KINDS, FormatToken, FormatTokens
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.lexer import tokenize_program
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import BRACKET_PAIRS

_STATEMENT_ENDS = frozenset(("}", "end", ";"))


@gc_paused()
def format_source(source: Source) -> str:
    """Return the formatted program; raise `ProgramErrors` if it has syntax errors."""
    text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    tokens = tokenize_program(text)
    program, diagnostics = parse_source(Source(source.name, text), tokens)
    if any(each.severity == "error" for each in diagnostics):
        # Errors are reported at their positions in the original text.
        raise ProgramErrors((source, each) for each in parse_source(source, tokenize_program(source.text))[1])
    pieces = FormatTokens(text, tokens)
    body = render_layout(_StatementFormatter(pieces, TokenRoles.of(program)).program())
    head = ""
    if text.startswith("#!"):
        gap = "\n" if pieces.lines(0) > 1 and body else ""
        head = text.partition("\n")[0].rstrip() + "\n" + gap
    return f"{head}{body}\n" if body else head


class _StatementFormatter:
    """Converts the tokens in order to documents that can be printed."""

    def __init__(self, pieces: FormatTokens, roles: TokenRoles) -> None:
        self._pieces = pieces
        self._roles = roles
        self._written = SingleLineRenderer(pieces, roles)
        self._at = 0
        #: The room on a line of the current block.
        self._room = MAX_LINE_WIDTH

    def program(self) -> list[LayoutDoc]:
        """Return the document of the whole file."""
        return self._body(self._roles.statements).docs()

    # Blocks and statements

    def _body(self, starts: frozenset[int]) -> BlockLines:
        """Format the contents of a block up to its closing brace."""
        pieces, body = self._pieces, BlockLines(self._room)
        goes_on = False
        while (kind := pieces.kinds[self._at]) not in ("}", "end"):
            if kind == ";":
                pieces.skip(self._at)
                self._at += 1
                continue
            before = pieces.lines(self._at)
            if kind not in COMMENT_KINDS:
                body.add(self._statement(starts, 0 if goes_on else self._room), 0 if goes_on else before or 1)
                goes_on = False
            elif before == 0 and self._at:
                body.add_trailing_comment(pieces.comment(self._at))
                self._at += 1
            else:
                body.add(self._comment(), 0 if goes_on else before or 1)
                goes_on = kind != "//" and not self._ends_line(self._at)
        return body

    def _ends_line(self, at: int) -> bool:
        """Return True if only comments follow on the line."""
        while True:
            kind = self._pieces.kinds[at]
            if kind in ("}", "end") or self._pieces.lines(at):
                return True
            if kind not in COMMENT_KINDS and kind != ";":
                return False
            at += 1

    def _comment(self) -> list[LayoutDoc]:
        at = self._at
        self._at += 1
        if self._pieces.kinds[at] == "//":
            return [self._pieces.comment(at)]
        return self._pieces.piece(at).layout_comment_line()

    def _statement(self, starts: frozenset[int], room: int) -> list[LayoutDoc]:
        """Format the statement that begins here, without the comments after it; `room` is left on its line."""
        at, kinds, places = self._at, self._pieces.kinds, self._pieces.starts
        line = self._written.line(at, room if self._room > 0 else MAX_LINE_WIDTH)
        if line is None or not (
            kinds[line[1]] in _STATEMENT_ENDS or places[line[1]] in starts or kinds[line[1]] in COMMENT_KINDS
        ):
            return self._laid_out(starts, room, line if self._room > 0 else None)
        self._at = line[1]
        return [
            line[0] if self._room > 0 else FoldedDoc(line[0], lambda: self._unfold_statement(at, starts), len(line[0]))
        ]

    def _unfold_statement(self, at: int, starts: frozenset[int]) -> list[LayoutDoc]:
        self._at = at
        return self._laid_out(starts, 0, None)

    def _laid_out(self, starts: frozenset[int], room: int, line: tuple[str, int] | None) -> list[LayoutDoc]:
        """Format a statement token by token; `line` is its first line, if that is already rendered."""
        kinds, places = self._pieces.kinds, self._pieces.starts
        pieces: list[FormatToken] = []
        kept, after = 0, self._at
        while (kind := kinds[self._at]) not in _STATEMENT_ENDS and not (pieces and places[self._at] in starts):
            if pieces:
                is_after = pieces[-1].kind == "block"
                line = self._written.rest(self._at, room) if is_after else None
            if line is not None:
                pieces.append(FormatToken("line", line[0], places[self._at], self._pieces.lines(self._at), line[0]))
                self._at = line[1]
            else:
                pieces.append(self._piece(pieces))
            if kind not in COMMENT_KINDS:
                kept, after = len(pieces), self._at
        self._at = after
        del pieces[kept:]
        texts = [piece.whole for piece in pieces if piece.whole is not None]
        return [" ".join(texts)] if len(texts) == len(pieces) else _layout_statement(pieces)

    def _piece(self, before: list[FormatToken]) -> FormatToken:
        """Return the next token; if it opens a bracket, the whole bracket."""
        kind, start = self._pieces.kinds[self._at], self._pieces.starts[self._at]
        if kind in BRACKET_PAIRS:
            return self._block() if start in self._roles.blocks else self._format_bracket(kind, start, before)
        piece = self._pieces.piece(self._at)
        self._at += 1
        if kind in AMBIGUOUS_KINDS or start in self._roles.words:
            piece.kind = self._roles.get_token_kind(kind, start)
        return piece

    def _format_bracket(self, opener: str, start: int, before: list[FormatToken]) -> FormatToken:
        """Format a bracket: as text, if it can be on one line."""
        at, lines = self._at, self._pieces.lines(self._at)
        kind = self._roles.get_bracket_kind(opener, start, before)
        text, self._at = self._written.render_bracket(at)
        if text is None:
            return FormatToken(kind, self._listed(at, kind), start, lines)
        # An empty bracket cannot be broken.
        head = 1 if len(text) > 2 else 2
        return FormatToken(kind, FoldedDoc(text, lambda: [self._listed(at, kind)], head), start, lines)

    def _listed(self, at: int, kind: str) -> LayoutDoc:
        """Return the document of a bracket that may take several lines."""
        opener = self._pieces.piece(at)
        ends = {"match": self._roles.arms, "object": self._roles.fields}.get(kind)
        inner: list[FormatToken] = []
        self._at = at + 1
        # The indentation of a block in a bracket is not known yet.
        self._room -= MAX_LINE_WIDTH
        while self._pieces.kinds[self._at] != BRACKET_PAIRS[opener.kind]:
            item = self._format_item(ends) if ends is not None else None
            inner.append(item or self._piece(inner))
        self._room += MAX_LINE_WIDTH
        self._at += 1
        return layout_bracket(kind, opener, inner, self._pieces.piece(self._at - 1), self._roles)

    def _format_item(self, ends: dict[int, int]) -> FormatToken | None:
        """Return the field or arm that begins here, if it can be on one line, else None."""
        at, places = self._at, self._pieces.starts
        if places[at] not in ends:
            return None
        after = bisect_left(places, ends[places[at]], at)
        text = self._written.part(at, after)
        if text is None:
            return None
        self._at = after
        doc = FoldedDoc(text, lambda: self._layout_range(at, after), len(text))
        return FormatToken("item", doc, places[at], self._pieces.lines(at))

    def _layout_range(self, at: int, after: int) -> list[LayoutDoc]:
        self._at = at
        pieces: list[FormatToken] = []
        while self._at < after:
            pieces.append(self._piece(pieces))
        return layout_tokens(pieces)

    def _block(self) -> FormatToken:
        opener, start = self._at, self._pieces.starts[self._at]
        lines = self._pieces.lines(opener)
        is_short = self._is_one_line_block(opener, start)
        self._room -= 2
        self._at += 1
        body = self._body(self._roles.blocks[start])
        self._room += 2
        self._at += 1
        if is_short:
            return FormatToken(
                "block",
                make_group(["{", make_indent([SPACE_OR_BREAK, *body.docs()]), SPACE_OR_BREAK, "}"]),
                start,
                lines,
            )
        text = body.text()
        return FormatToken("block", body.block(), start, lines, text)

    def _is_one_line_block(self, opener: int, start: int) -> bool:
        """Return True if a block is on one line and may stay there."""
        end = self._roles.short.get(start)
        if end is None:
            return False
        closer = bisect_left(self._pieces.starts, end) - 1
        return not any(map(self._prevents_one_line, range(opener + 1, closer + 1)))

    def _prevents_one_line(self, at: int) -> bool:
        """Return True if a token is a comment or begins a line, so that its block is not put on one line."""
        return self._pieces.kinds[at] in COMMENT_KINDS or self._pieces.lines(at) > 0


def _layout_statement(pieces: list[FormatToken]) -> list[LayoutDoc]:
    """Return the document of a statement: its blocks, and what is before, between and after them."""
    if len(pieces) == 1:
        return layout_tokens(pieces, 2)
    out: list[LayoutDoc] = []
    part: list[FormatToken] = []
    for piece in pieces:
        if piece.kind != "block":
            part.append(piece)
            continue
        out += _layout_between_blocks(out, part, 4)
        # After the lines that describe a tool, its block begins on a new line.
        apart = part and (part[-1].kind == "//" or (len(part) > 1 and any(each.kind == "@" for each in part)))
        out += [HARD_BREAK] if apart else [" "] if out else []
        # A block is on one line only if everything before it is, too.
        out = (
            [make_group([*out, *piece.doc.parts])]
            if isinstance(piece.doc, BreakGroup) and not piece.doc.hard
            else [*out, piece.doc]
        )
        part = []
    return [*out, *_layout_between_blocks(out, part, 2)]


def _layout_between_blocks(before: list[LayoutDoc], part: list[FormatToken], by: int) -> list[LayoutDoc]:
    """Return the document of a statement's part before, between or after its blocks.

    It continues on the line of the brace, unless a comment prevents that.
    """
    if not part:
        return []
    if len(part) == 1 and part[0].kind == "line":
        return [" ", part[0].doc] if before else [part[0].doc]
    comments = list(takewhile(lambda piece: piece.is_comment, part))
    out: list[LayoutDoc] = []
    rest = part[len(comments) :]
    for piece in comments:
        out += [HARD_BREAK, *piece.layout_comment_line()] if piece.lines else [LineSuffix(f" {piece.text}")]
    if rest:
        apart = comments and (comments[-1].kind == "//" or rest[0].lines > 0)
        out += [HARD_BREAK] if apart else [" "] if before or comments else []
    lines: list[list[FormatToken]] = [[]]
    for piece in rest:
        if piece.kind == "@":
            lines.append([])
        lines[-1].append(piece)
    out += layout_tokens(lines[0], by)
    for line in lines[1:]:
        out.append(make_indent([HARD_BREAK, *layout_tokens(line, 2)]))
    return out
