"""What a loop goes through."""

from __future__ import annotations

from antiphon.lang.check.fields import any_type
from antiphon.lang.check.fitting import join
from antiphon.lang.check.notation import general
from antiphon.lang.check.null import present
from antiphon.lang.check.parts import of_literals, options, union
from antiphon.lang.check.sharing import yielded_by
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    AI,
    JSON,
    NUMBER,
    TEXT,
    Array,
    Map,
    Object,
    Type,
    Union,
    base,
    operand,
    plain,
    widen,
)
from antiphon.lang.check.whole import check_whole
from antiphon.lang.syntax.nodes import ArrayLit, AsyncFor, Binary, Expr, Member, Name, Spread, root_symbol


def item_type(c: Checker, node: Expr, type_: Type) -> Type:
    """The type of what a loop variable holds, one after the other."""
    type_ = present(c, node, type_)
    kind = operand(type_)
    if isinstance(kind, Array):
        return written_items(node) or kind.item
    arrays = [each for each in kind.options if isinstance(each, Array)] if isinstance(kind, Union) else []
    if arrays and len(arrays) == len(options(kind)):
        return union(each.item for each in arrays)
    if isinstance(type_, AI):
        message = "Cannot iterate over AIResult directly. Use .toolCalls or .value"
        text = c.object_text_of(node)
        c.report("V0305", message, node, f"write `{text}.value` or `{text}.toolCalls`")
        return JSON
    if kind is NUMBER or kind is JSON:
        check_whole(c, node, "the number of rounds")
        return kind
    c.report("V0305", f"a `for` loop cannot go through `{general(kind)}`", node, _hint(c, node, kind))
    return JSON


def written_items(node: Expr) -> Type | None:
    """What is gone through, where it is written out: each of the items is one of these."""
    return literal_items(node)


def known_items(node: Member, receiver: Array) -> Array:
    """The array that has a method, with what is known of its items where it is written out, and they are json."""
    return Array(written_items(node.object) or JSON) if receiver.item is JSON else receiver


def first_items(node: Member, receiver: Array) -> Array:
    """The same, and of a variable what its items were when it was declared, if it has not been assigned since."""
    symbol = node.object.symbol if isinstance(node.object, Name) else None
    if receiver.item is JSON and symbol is not None and symbol.items is not None and not symbol.assigned:
        return Array(symbol.items)
    return known_items(node, receiver)


def literal_items(node: Expr | None) -> Type | None:
    """What the items of an array are that is written out, where that is more than its type says."""
    parts = _parts(node)
    known = [each for each in parts if each is not None]
    if node is None or not known or len(known) < len(parts):
        return None
    return of_literals(known) or (_several_kinds(known) if node.type == Array(JSON) else None)


def _parts(node: Expr | None) -> list[Type | None]:
    """The types of what an array is made of, where that is seen."""
    match node:
        case ArrayLit():
            return [_item(each.value.type) if isinstance(each, Spread) else each.type for each in node.items]
        case Binary(op="+"):
            return [_item(node.left.type), _item(node.right.type)]
        case AsyncFor():
            return [each.type for each in yielded_by(node)]
        case _:
            return []


def _item(type_: Type | None) -> Type | None:
    kind = operand(type_) if type_ is not None else JSON
    return kind.item if isinstance(kind, Array) else None


def _several_kinds(types: list[Type]) -> Type | None:
    """What items of several kinds are, one by one, which beside each other are json."""
    found: dict[object, Type] = {}
    for each in types:
        kind = base(widen(plain(each), whole=False))
        # Objects have something in common, and so have arrays.
        key = type(kind) if isinstance(kind, Object | Array) else kind
        found[key] = join(found[key], kind) if key in found else kind
    several = union(found.values())
    return several if isinstance(several, Union) and JSON not in several.members else None


def entry_types(c: Checker, node: Expr, type_: Type) -> tuple[Type, Type]:
    """The types of the keys and values that `for key, value in …` goes through; of what has none, nothing is known."""
    kind = operand(present(c, node, type_))
    if isinstance(kind, Map):
        return TEXT, kind.value
    if isinstance(kind, Object):
        return TEXT, any_type(kind)
    if kind is JSON:
        return TEXT, JSON
    hint = "with two names, a loop goes through a map or an object"
    if isinstance(kind, Array):
        text = c.object_text_of(node)
        hint = f"go through the positions: `for i in {text}.length`, with `{text}[i]`"
        if isinstance(item := base(kind.item), Object) and item.fields:
            names = ", ".join(list(item.fields)[:2])
            hint = f"its items are taken apart with `for {{{names}}} in {text}`; {hint}"
    c.report("V0305", f"there are no keys in `{general(kind)}`", node, hint)
    return JSON, JSON


def _hint(c: Checker, node: Expr, kind: Type) -> str:
    text = c.object_text_of(node)
    if kind is TEXT:
        return f'go through its characters, `{text}.split("")`, or its lines, `{text}.lines()`'
    if isinstance(kind, Object):
        return f"go through its fields: `{text}.keys()`"
    if isinstance(kind, Map):
        return f"write `for key, value in {text}`, or go through `{text}.keys()` or `{text}.values()`"
    return "arrays, ranges `a..b` and numbers can be gone through"


def is_private(node: Expr) -> bool:
    """Whether what a loop goes through is private: then each item is."""
    root = root_symbol(node)
    return root is not None and root.is_private
