"""Brackets: what is listed in them stands on one line, or each item on its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile

from antiphon.lang.formatter.flow import flowing
from antiphon.lang.formatter.layout import HARD, LINE, SOFT, Doc, Folded, Group, IfBroken, Line, Suffix, group, indent
from antiphon.lang.formatter.pieces import Piece
from antiphon.lang.formatter.roles import Roles


@dataclass(slots=True)
class _Item:
    """An item with the comments before it, and those after it on its line."""

    lead: list[Piece]
    body: list[Piece] = field(default_factory=list[Piece])
    trail: list[Piece] = field(default_factory=list[Piece])

    @property
    def is_apart(self) -> bool:
        """Whether an empty line stands before it."""
        return [*self.lead, *self.body][0].lines > 1

    @property
    def has_comments(self) -> bool:
        return bool(self.lead or self.trail) or any(piece.is_comment for piece in self.body)


def listed(kind: str, opener: Piece, inner: list[Piece], closer: Piece, roles: Roles) -> Doc:
    """A whole bracket. The arms of a `match` have commas between them on one line, and none on lines of their own."""
    if kind == "index":
        for piece in inner:
            piece.kind = "slice" if piece.kind == ":" else piece.kind
    if kind == "match":
        _mark_commas(inner, roles)
    items, tail = _split(inner, closer, roles.arms if kind == "match" else roles.fields)
    padded = kind == "match" or (kind == "object" and opener.start not in roles.patterns)
    return _listed(kind, opener, items, tail, closer, LINE if padded else SOFT)


def _mark_commas(pieces: list[Piece], roles: Roles) -> None:
    """Tell the commas between what an arm is for from those between arms."""
    before_arrow = False
    for piece in pieces:
        before_arrow = piece.kind not in ("=>", "item") and (before_arrow or piece.start in roles.arms)
        if piece.kind == "," and before_arrow:
            piece.kind = "comma"


def _split(inner: list[Piece], closer: Piece, fields: dict[int, int]) -> tuple[list[_Item], list[Piece]]:
    """The items, which end at a comma or where the next field begins; and the comments after the last."""
    items = [_Item([])]
    after: list[Piece] = []
    # How many of the comments stand before the comma; none has been seen if it is negative.
    comma = -1
    for piece in inner:
        item = items[-1]
        if piece.is_comment:
            if after and after[-1].kind == "//":
                # There may have been a comma on a line of its own between them.
                piece.lines = max(piece.lines, 1)
            (after if item.body else item.lead).append(piece)
        elif piece.kind == ",":
            comma = len(after)
        elif item.body and (comma >= 0 or piece.start in fields):
            item.trail, lead = _shared(after, comma, piece)
            items.append(_Item(lead, [piece]))
            after, comma = [], -1
        else:
            item.body += [*after, piece]
            after = []
    if not items[-1].body:
        return [], items[-1].lead
    items[-1].trail, tail = _shared(after, len(after), closer)
    return items, tail


def _shared(comments: list[Piece], comma: int, follows: Piece) -> tuple[list[Piece], list[Piece]]:
    """Of the comments between two items, those of the first, and those of the second."""
    beside = len(list(takewhile(lambda piece: not piece.lines, comments)))
    if beside == len(comments) and not follows.lines:
        beside = max(comma, 0)
    return comments[:beside], comments[beside:]


def _listed(kind: str, opener: Piece, items: list[_Item], tail: list[Piece], closer: Piece, pad: Line) -> Doc:
    if not items and not tail:
        return f"{opener.text}{closer.text}"
    lead = items[0].lead if items else tail
    first = items[0].body[0] if items else closer
    beside = _beside_opener(lead, first)
    del lead[: len(beside)]
    lines: list[Doc] = [pad] if items or tail else []
    separator = Line(", ") if kind == "match" else LINE
    for item in items:
        if item is not items[0]:
            lines += [IfBroken("\n"), separator] if item.is_apart else [separator]
        lines += _item(item, _comma(kind, item is items[-1]))
    lines += _tail(tail, bool(items))
    comments = [Suffix(f" {piece.text}") for piece in beside]
    kept = kind in ("object", "match") and bool(items) and (lead[0] if lead else first).lines > 0
    broken = kept or bool(beside) or any(piece.kind == "//" for item in items for piece in item.trail)
    broken = broken or any(piece.kind == "//" or piece.lines for piece in tail)
    parts: list[Doc] = [opener.doc, *comments, indent(lines), pad, closer.doc]
    hugs = not beside and not tail and (kind == "call" or (kind in ("array", "paren") and len(items) == 1))
    return group(parts, broken=broken, hugging=(lambda: _hugging(kind, opener, items, closer)) if hugs else None)


def _comma(kind: str, is_last: bool) -> Doc:
    if kind == "match":
        return ""
    return "," if not is_last else IfBroken("," if kind not in ("paren", "index") else "")


def _beside_opener(comments: list[Piece], first: Piece) -> list[Piece]:
    """The comments on the line of the opening bracket, if the line ends after them."""
    beside = list(takewhile(lambda piece: not piece.lines, comments))
    follows = comments[len(beside)] if len(beside) < len(comments) else first
    return beside if follows.lines else []


def _item(item: _Item, comma: Doc) -> list[Doc]:
    out: list[Doc] = []
    for piece, follows in zip(item.lead, [*item.lead[1:], item.body[0]], strict=False):
        out += [*piece.on_its_line(), HARD if piece.kind == "//" or follows.lines else " "]
    out += flowing(item.body)
    out += [f" {piece.text}" for piece in item.trail if piece.kind == "/*"]
    return [*out, comma, *(Suffix(f" {piece.text}") for piece in item.trail if piece.kind == "//")]


def _tail(comments: list[Piece], follow_items: bool) -> list[Doc]:
    """The comments after the last item."""
    out: list[Doc] = []
    for at, piece in enumerate(comments):
        if at or follow_items:
            out += [HARD, HARD] if piece.lines > 1 else [HARD] if piece.lines else [" "]
        out += piece.on_its_line()
    return out


def _hugging(kind: str, opener: Piece, items: list[_Item], closer: Piece) -> list[Doc] | None:
    """The bracket with only its last item broken, where that item is itself a bracket, or a function with a block."""
    if not items or any(item.has_comments for item in items):
        return None
    *head, last = items[-1].body
    is_function = len(head) > 1 and last.kind in ("block", "paren") and head[-1].kind == "=>"
    kinds = ("object",) if kind == "paren" else ("object", "array")
    if not (is_function or (not head and last.kind in kinds)):
        return None
    doc = last.doc.unfolded()[0] if isinstance(last.doc, Folded) else last.doc
    heads: list[Doc] = [part for item in items[:-1] for part in (*flowing(item.body), ", ")]
    heads += [*flowing(head), " "] if is_function else []
    broken = _broken(last.kind, doc) if isinstance(doc, Group) else None
    return None if broken is None or group(heads).hard else [opener.doc, *heads, *broken, closer.doc]


def _broken(kind: str, doc: Group) -> list[Doc] | None:
    """The last item over several lines; parentheses around an object go with it."""
    if kind != "paren":
        return [Group(doc.parts, True, doc.hugging)]
    return doc.hugging() if doc.hugging is not None else None
