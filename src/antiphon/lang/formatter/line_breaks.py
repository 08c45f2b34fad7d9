"""Where lines may break: after operators, before the members of a long chain, and between the items of brackets."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from antiphon.lang.formatter.layout import (
    HARD_BREAK,
    SOFT_BREAK,
    SPACE_OR_BREAK,
    BreakGroup,
    FoldedDoc,
    IfBroken,
    LayoutDoc,
    LineBreak,
    LineSuffix,
    make_group,
    make_indent,
)
from antiphon.lang.formatter.token_roles import TokenRoles
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


@dataclass(slots=True)
class _BracketItem:
    """An item with the comments before it, and those after it on its line."""

    lead: list[FormatToken]
    body: list[FormatToken] = field(default_factory=list[FormatToken])
    trailing_comments: list[FormatToken] = field(default_factory=list[FormatToken])

    @property
    def is_apart(self) -> bool:
        """True if an empty line precedes it."""
        return [*self.lead, *self.body][0].lines > 1

    @property
    def has_comments(self) -> bool:
        return bool(self.lead or self.trailing_comments) or any(piece.is_comment for piece in self.body)


def layout_bracket(
    kind: str, opener: FormatToken, inner: list[FormatToken], closer: FormatToken, roles: TokenRoles
) -> LayoutDoc:
    """Return the document of a whole bracket. The arms of a `match` are separated by commas only on one line."""
    if kind == "index":
        for piece in inner:
            piece.kind = "slice" if piece.kind == ":" else piece.kind
    if kind == "match":
        _mark_pattern_commas(inner, roles)
    items, tail = _split_items(inner, closer, roles.arms if kind == "match" else roles.fields)
    padded = kind == "match" or (kind == "object" and opener.start not in roles.patterns)
    return _layout_items(kind, opener, items, tail, closer, SPACE_OR_BREAK if padded else SOFT_BREAK)


def _mark_pattern_commas(pieces: list[FormatToken], roles: TokenRoles) -> None:
    """Mark the commas between the patterns of an arm, to distinguish them from those between arms."""
    before_arrow = False
    for piece in pieces:
        before_arrow = piece.kind not in ("=>", "item") and (before_arrow or piece.start in roles.arms)
        if piece.kind == "," and before_arrow:
            piece.kind = "comma"


def _split_items(
    inner: list[FormatToken], closer: FormatToken, fields: dict[int, int]
) -> tuple[list[_BracketItem], list[FormatToken]]:
    """Split tokens into items, which end at a comma or where the next field begins, and the comments after the last."""
    items = [_BracketItem([])]
    after: list[FormatToken] = []
    # The number of comments before the comma; negative before a comma is seen.
    comma = -1
    for piece in inner:
        item = items[-1]
        if piece.is_comment:
            if after and after[-1].kind == "//":
                # A comma may have been on a line of its own between them.
                piece.lines = max(piece.lines, 1)
            (after if item.body else item.lead).append(piece)
        elif piece.kind == ",":
            comma = len(after)
        elif item.body and (comma >= 0 or piece.start in fields):
            item.trailing_comments, lead = _divide_comments(after, comma, piece)
            items.append(_BracketItem(lead, [piece]))
            after, comma = [], -1
        else:
            item.body += [*after, piece]
            after = []
    if not items[-1].body:
        return [], items[-1].lead
    items[-1].trailing_comments, tail = _divide_comments(after, len(after), closer)
    return items, tail


def _divide_comments(
    comments: list[FormatToken], comma: int, follows: FormatToken
) -> tuple[list[FormatToken], list[FormatToken]]:
    """Divide the comments between two items: those of the first, and those of the second."""
    beside = len(list(takewhile(lambda piece: not piece.lines, comments)))
    if beside == len(comments) and not follows.lines:
        beside = max(comma, 0)
    return comments[:beside], comments[beside:]


def _layout_items(
    kind: str,
    opener: FormatToken,
    items: list[_BracketItem],
    tail: list[FormatToken],
    closer: FormatToken,
    pad: LineBreak,
) -> LayoutDoc:
    if not items and not tail:
        return f"{opener.text}{closer.text}"
    lead = items[0].lead if items else tail
    first = items[0].body[0] if items else closer
    beside = _find_opener_comments(lead, first)
    del lead[: len(beside)]
    lines: list[LayoutDoc] = [pad] if items or tail else []
    separator = LineBreak(", ") if kind == "match" else SPACE_OR_BREAK
    for item in items:
        if item is not items[0]:
            lines += [IfBroken("\n"), separator] if item.is_apart else [separator]
        lines += _layout_item(item, _choose_comma(kind, item is items[-1]))
    lines += _layout_tail(tail, bool(items))
    comments = [LineSuffix(f" {piece.text}") for piece in beside]
    kept = kind in ("object", "match") and bool(items) and (lead[0] if lead else first).lines > 0
    broken = kept or bool(beside) or any(piece.kind == "//" for item in items for piece in item.trailing_comments)
    broken = broken or any(piece.kind == "//" or piece.lines for piece in tail)
    parts: list[LayoutDoc] = [opener.doc, *comments, make_indent(lines), pad, closer.doc]
    hugs = not beside and not tail and (kind == "call" or (kind in ("array", "paren") and len(items) == 1))
    return make_group(
        parts, broken=broken, hugging=(lambda: _hug_last_item(kind, opener, items, closer)) if hugs else None
    )


def _choose_comma(kind: str, is_last: bool) -> LayoutDoc:
    if kind == "match":
        return ""
    return "," if not is_last else IfBroken("," if kind not in ("paren", "index") else "")


def _find_opener_comments(comments: list[FormatToken], first: FormatToken) -> list[FormatToken]:
    """Return the comments on the line of the opening bracket, if the line ends after them."""
    beside = list(takewhile(lambda piece: not piece.lines, comments))
    follows = comments[len(beside)] if len(beside) < len(comments) else first
    return beside if follows.lines else []


def _layout_item(item: _BracketItem, comma: LayoutDoc) -> list[LayoutDoc]:
    out: list[LayoutDoc] = []
    for piece, follows in zip(item.lead, [*item.lead[1:], item.body[0]], strict=False):
        out += [*piece.layout_comment_line(), HARD_BREAK if piece.kind == "//" or follows.lines else " "]
    out += layout_tokens(item.body)
    out += [f" {piece.text}" for piece in item.trailing_comments if piece.kind == "/*"]
    return [*out, comma, *(LineSuffix(f" {piece.text}") for piece in item.trailing_comments if piece.kind == "//")]


def _layout_tail(comments: list[FormatToken], follow_items: bool) -> list[LayoutDoc]:
    """Return the document of the comments after the last item."""
    out: list[LayoutDoc] = []
    for at, piece in enumerate(comments):
        if at or follow_items:
            out += [HARD_BREAK, HARD_BREAK] if piece.lines > 1 else [HARD_BREAK] if piece.lines else [" "]
        out += piece.layout_comment_line()
    return out


def _hug_last_item(
    kind: str, opener: FormatToken, items: list[_BracketItem], closer: FormatToken
) -> list[LayoutDoc] | None:
    """Return the bracket with only its last item broken, if that is a bracket or a lambda with a block, else None."""
    if not items or any(item.has_comments for item in items):
        return None
    *head, last = items[-1].body
    is_function = len(head) > 1 and last.kind in ("block", "paren") and head[-1].kind == "=>"
    kinds = ("object",) if kind == "paren" else ("object", "array")
    if not (is_function or (not head and last.kind in kinds)):
        return None
    doc = last.doc.unfolded()[0] if isinstance(last.doc, FoldedDoc) else last.doc
    heads: list[LayoutDoc] = [part for item in items[:-1] for part in (*layout_tokens(item.body), ", ")]
    heads += [*layout_tokens(head), " "] if is_function else []
    broken = _break_last_item(last.kind, doc) if isinstance(doc, BreakGroup) else None
    return None if broken is None or make_group(heads).hard else [opener.doc, *heads, *broken, closer.doc]


def _break_last_item(kind: str, doc: BreakGroup) -> list[LayoutDoc] | None:
    """Return the last item over several lines; parentheses around an object break with it."""
    if kind != "paren":
        return [BreakGroup(doc.parts, True, doc.hugging)]
    return doc.hugging() if doc.hugging is not None else None
