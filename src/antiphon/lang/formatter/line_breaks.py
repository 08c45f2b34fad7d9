"""Tokens on a line, and where it may break: after operators, and before the members of a long chain."""

from __future__ import annotations

from itertools import pairwise, takewhile

from antiphon.lang.formatter.layout import (
    HARD_BREAK,
    SOFT_BREAK,
    SPACE_OR_BREAK,
    IfBroken,
    LayoutDoc,
    LineSuffix,
    make_group,
    make_indent,
)
from antiphon.lang.formatter.tokens import BREAK_POWERS, FormatToken, needs_space

#: A chain of this many calls is broken before each member, if it does not fit on one line.
_MIN_CHAIN_CALLS = 3


def layout_tokens(pieces: list[FormatToken], by: int = 2) -> list[LayoutDoc]:
    """Return the document of a sequence of tokens; continuation lines are indented by `by`."""
    if len(pieces) == 1:
        return [pieces[0].doc]
    if len(pieces) > 1 and pieces[-1].kind == "match" and pieces[-2].kind != "//":
        # The arms are on lines of their own, whatever precedes them.
        return [*layout_tokens(pieces[:-1], by), " ", pieces[-1].doc]
    powers = [piece.power for piece in pieces]
    known = [power for power in powers if power is not None]
    if not known:
        return _layout_chain(pieces, by)
    loosest = min(known)
    operands: list[list[FormatToken]] = [[]]
    signs: list[FormatToken] = []
    for piece, power in zip(pieces, powers, strict=True):
        if power != loosest:
            operands[-1].append(piece)
            continue
        signs.append(piece)
        operands.append(_take_line_comments(operands[-1]))
    if loosest == BREAK_POWERS["|"] and (at := _find_type_definition(operands[0])):
        return _layout_type_options(operands[0][:at], [operands[0][at:], *operands[1:]])
    rest: list[LayoutDoc] = []
    for sign, operand in zip(signs, operands[1:], strict=True):
        rest += [" ", sign.doc, *_layout_operand(operand)]
    return [make_group([*layout_tokens(operands[0]), make_indent(rest, by)])]


def _find_type_definition(pieces: list[FormatToken]) -> int:
    """Return the index where the definition after `type Name =` begins, or 0."""
    for at in (2, 3):
        if at < len(pieces) and pieces[at].kind == "=" and pieces[at - 2].doc == "type":
            return at + 1
    return 0


def _layout_type_options(head: list[FormatToken], operands: list[list[FormatToken]]) -> list[LayoutDoc]:
    """Return the document of a type with several options: on one line, or each option on its own line after its `|`."""
    rest: list[LayoutDoc] = []
    for before, operand in zip([IfBroken("| "), *("| " for _ in operands[1:])], operands, strict=True):
        comments = list(takewhile(lambda piece: piece.kind == "//", operand))
        rest += [part for each in comments for part in _layout_comment(each)]
        rest += [HARD_BREAK if comments else SPACE_OR_BREAK, before, *layout_tokens(operand[len(comments) :])]
    return [make_group([*layout_tokens(head), make_indent(rest)])]


def _layout_comment(comment: FormatToken) -> list[LayoutDoc]:
    return [HARD_BREAK, comment.doc] if comment.lines else [LineSuffix(f" {comment.text}")]


def _take_line_comments(operand: list[FormatToken]) -> list[FormatToken]:
    """Remove the line comments from the end of an operand and return them: they follow the operator."""
    at = len(operand)
    while at and operand[at - 1].is_comment:
        at -= 1
    while at < len(operand) and operand[at].kind != "//":
        at += 1
    taken = operand[at:]
    del operand[at:]
    return taken


def _layout_operand(pieces: list[FormatToken]) -> list[LayoutDoc]:
    """Return the document of what follows an operator, including the space after it."""
    out: list[LayoutDoc] = []
    at = 0
    while at < len(pieces) and pieces[at].kind == "//":
        comment = pieces[at]
        out += [LineSuffix(f" {comment.text}")] if not at and not comment.lines else [HARD_BREAK, comment.doc]
        at += 1
    return [*out, HARD_BREAK if at else SPACE_OR_BREAK, *layout_tokens(pieces[at:])]


def _layout_chain(pieces: list[FormatToken], by: int) -> list[LayoutDoc]:
    """Return the document of tokens without operators; a long chain of calls may break before its members."""
    dots = [at for at in range(1, len(pieces) - 2) if _is_called_member(pieces, at)]
    if len(dots) < _MIN_CHAIN_CALLS:
        return _layout_unbroken(pieces)
    links: list[LayoutDoc] = []
    for first, last in pairwise([*dots, len(pieces)]):
        links += [HARD_BREAK if pieces[first - 1].kind == "//" else SOFT_BREAK, *_layout_unbroken(pieces[first:last])]
    return [make_group([*_layout_unbroken(pieces[: dots[0]]), make_indent(links, by)])]


def _is_called_member(pieces: list[FormatToken], at: int) -> bool:
    """Return True if a called member begins here.

    After an object there is no break, since the object could look like a block.
    """
    return (
        pieces[at].kind in (".", "?.")
        and pieces[at + 2].kind == "call"
        and pieces[at - 1].kind not in ("object", "match")
    )


def _layout_unbroken(pieces: list[FormatToken]) -> list[LayoutDoc]:
    out: list[LayoutDoc] = []
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if before is None:
            out.append(piece.doc)
        elif piece.kind == "//":
            out += [make_indent([HARD_BREAK]), piece.doc] if piece.lines else [LineSuffix(f" {piece.text}")]
        elif before.kind == "//":
            out += [make_indent([HARD_BREAK]), piece.doc]
        else:
            out += [" ", piece.doc] if needs_space(before.kind, piece.kind) else [piece.doc]
    return out
