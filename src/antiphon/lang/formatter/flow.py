"""Pieces on a line, and where the line may be broken: after operators, and before the members of a long chain."""

from __future__ import annotations

from itertools import pairwise, takewhile

from antiphon.lang.formatter.layout import HARD, LINE, SOFT, Doc, IfBroken, Suffix, group, indent
from antiphon.lang.formatter.pieces import POWERS, Piece, spaced

#: From how many calls on the members of a chain get lines of their own, if they do not fit on one.
_CHAIN = 3


def flowing(pieces: list[Piece], by: int = 2) -> list[Doc]:
    """Pieces one after another; lines that it is broken into begin further to the right."""
    if len(pieces) == 1:
        return [pieces[0].doc]
    if len(pieces) > 1 and pieces[-1].kind == "match" and pieces[-2].kind != "//":
        # The arms stand on lines of their own, whatever they follow on.
        return [*flowing(pieces[:-1], by), " ", pieces[-1].doc]
    powers = [piece.power for piece in pieces]
    known = [power for power in powers if power is not None]
    if not known:
        return _chained(pieces, by)
    loosest = min(known)
    operands: list[list[Piece]] = [[]]
    signs: list[Piece] = []
    for piece, power in zip(pieces, powers, strict=True):
        if power != loosest:
            operands[-1].append(piece)
            continue
        signs.append(piece)
        operands.append(_line_comments_off(operands[-1]))
    if loosest == POWERS["|"] and (at := _declared(operands[0])):
        return _options(operands[0][:at], [operands[0][at:], *operands[1:]])
    rest: list[Doc] = []
    for sign, operand in zip(signs, operands[1:], strict=True):
        rest += [" ", sign.doc, *_operand(operand)]
    return [group([*flowing(operands[0]), indent(rest, by)])]


def _declared(pieces: list[Piece]) -> int:
    """Where what `type Name =` declares begins."""
    for at in (2, 3):
        if at < len(pieces) and pieces[at].kind == "=" and pieces[at - 2].doc == "type":
            return at + 1
    return 0


def _options(head: list[Piece], operands: list[list[Piece]]) -> list[Doc]:
    """The declaration of a type with several options: on one line, or each on its own behind its sign."""
    rest: list[Doc] = []
    for before, operand in zip([IfBroken("| "), *("| " for _ in operands[1:])], operands, strict=True):
        comments = list(takewhile(lambda piece: piece.kind == "//", operand))
        rest += [part for each in comments for part in _beside(each)]
        rest += [HARD if comments else LINE, before, *flowing(operand[len(comments) :])]
    return [group([*flowing(head), indent(rest)])]


def _beside(comment: Piece) -> list[Doc]:
    return [HARD, comment.doc] if comment.lines else [Suffix(f" {comment.text}")]


def _line_comments_off(operand: list[Piece]) -> list[Piece]:
    """Take the comments that end lines off the end of an operand: they follow the operator."""
    at = len(operand)
    while at and operand[at - 1].is_comment:
        at -= 1
    while at < len(operand) and operand[at].kind != "//":
        at += 1
    taken = operand[at:]
    del operand[at:]
    return taken


def _operand(pieces: list[Piece]) -> list[Doc]:
    """What follows an operator, from the space after it on."""
    out: list[Doc] = []
    at = 0
    while at < len(pieces) and pieces[at].kind == "//":
        comment = pieces[at]
        out += [Suffix(f" {comment.text}")] if not at and not comment.lines else [HARD, comment.doc]
        at += 1
    return [*out, HARD if at else LINE, *flowing(pieces[at:])]


def _chained(pieces: list[Piece], by: int) -> list[Doc]:
    """Pieces without operators; the members of a long chain of calls may be broken."""
    dots = [at for at in range(1, len(pieces) - 2) if _is_link(pieces, at)]
    if len(dots) < _CHAIN:
        return _plain(pieces)
    links: list[Doc] = []
    for first, last in pairwise([*dots, len(pieces)]):
        links += [HARD if pieces[first - 1].kind == "//" else SOFT, *_plain(pieces[first:last])]
    return [group([*_plain(pieces[: dots[0]]), indent(links, by)])]


def _is_link(pieces: list[Piece], at: int) -> bool:
    """Whether a member that is called begins here. After an object the line goes on, else it could be a block."""
    return (
        pieces[at].kind in (".", "?.")
        and pieces[at + 2].kind == "call"
        and pieces[at - 1].kind not in ("object", "match")
    )


def _plain(pieces: list[Piece]) -> list[Doc]:
    out: list[Doc] = []
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if before is None:
            out.append(piece.doc)
        elif piece.kind == "//":
            out += [indent([HARD]), piece.doc] if piece.lines else [Suffix(f" {piece.text}")]
        elif before.kind == "//":
            out += [indent([HARD]), piece.doc]
        else:
            out += [" ", piece.doc] if spaced(before.kind, piece.kind) else [piece.doc]
    return out
