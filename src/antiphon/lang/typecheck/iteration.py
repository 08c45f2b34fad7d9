"""The types of items that a loop iterates over."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.assignability import join_types
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import check_integer
from antiphon.lang.typecheck.dynamic_fields import union_field_types
from antiphon.lang.typecheck.invariance import yielded_expressions
from antiphon.lang.typecheck.type_printer import format_type_general
from antiphon.lang.typecheck.types import (
    JSON,
    NUMBER,
    TEXT,
    AIResultType,
    Array,
    Map,
    Object,
    Type,
    Union,
    get_base_type,
    get_operand_type,
    strip_ai_result,
    widen_type,
)
from antiphon.lang.typecheck.unions import inhabited_options, make_union, union_of_literals


def infer_loop_item(c: Checker, node: n.Expr, type_: Type) -> Type:
    """Return the type of a loop variable."""
    type_ = c.require_non_null(node, type_)
    kind = get_operand_type(type_)
    if isinstance(kind, Array):
        return infer_literal_items(node) or kind.item
    arrays = [each for each in kind.options if isinstance(each, Array)] if isinstance(kind, Union) else []
    if arrays and len(arrays) == len(inhabited_options(kind)):
        return make_union(each.item for each in arrays)
    if isinstance(type_, AIResultType):
        message = "Cannot iterate over AIResult directly. Use .toolCalls or .value"
        text = c.quote_receiver(node)
        c.report("V0305", message, node, f"write `{text}.value` or `{text}.toolCalls`")
        return JSON
    if kind is NUMBER or kind is JSON:
        check_integer(c, node, "the number of rounds")
        return kind
    c.report(
        "V0305",
        f"a `for` loop cannot go through `{format_type_general(kind)}`",
        node,
        _hint_not_iterable(c, node, kind),
    )
    return JSON


def refine_receiver_items(node: n.Member, receiver: Array) -> Array:
    """Return the array type of a method's receiver, with the precise item type of a literal where it would be json."""
    return Array(infer_literal_items(node.object) or JSON) if receiver.item is JSON else receiver


def refine_initial_items(node: n.Member, receiver: Array) -> Array:
    """Return the array type of a receiver, refined also by the literal that its variable was declared with."""
    symbol = node.object.symbol if isinstance(node.object, n.Name) else None
    if receiver.item is JSON and symbol is not None and symbol.items is not None and not symbol.is_assigned:
        return Array(symbol.items)
    return refine_receiver_items(node, receiver)


def infer_literal_items(node: n.Expr | None) -> Type | None:
    """Return the item type of an array literal, where it is more precise than its type, or None."""
    parts = _component_types(node)
    known = [each for each in parts if each is not None]
    if node is None or not known or len(known) < len(parts):
        return None
    return union_of_literals(known) or (_union_of_kinds(known) if node.type == Array(JSON) else None)


def _component_types(node: n.Expr | None) -> list[Type | None]:
    """Return the types of the components of an array expression; None for an unknown one."""
    match node:
        case n.ArrayLit():
            return [_get_item_type(each.value.type) if isinstance(each, n.Spread) else each.type for each in node.items]
        case n.Binary(op="+"):
            return [_get_item_type(node.left.type), _get_item_type(node.right.type)]
        case n.AsyncFor():
            return [each.type for each in yielded_expressions(node)]
        case _:
            return []


def _get_item_type(type_: Type | None) -> Type | None:
    kind = get_operand_type(type_) if type_ is not None else JSON
    return kind.item if isinstance(kind, Array) else None


def _union_of_kinds(types: list[Type]) -> Type | None:
    """Return the union of the items' kinds, which would otherwise be json, or None."""
    found: dict[object, Type] = {}
    for each in types:
        kind = get_base_type(widen_type(strip_ai_result(each), whole=False))
        # All objects share one key, and so do all arrays, so that they are joined.
        key = type(kind) if isinstance(kind, Object | Array) else kind
        found[key] = join_types(found[key], kind) if key in found else kind
    several = make_union(found.values())
    return several if isinstance(several, Union) and JSON not in several.members else None


def infer_loop_entry(c: Checker, node: n.Expr, type_: Type) -> tuple[Type, Type]:
    """Return the types of key and value in `for key, value in …`; report a value without keys."""
    kind = get_operand_type(c.require_non_null(node, type_))
    if isinstance(kind, Map):
        return TEXT, kind.value
    if isinstance(kind, Object):
        return TEXT, union_field_types(kind)
    if kind is JSON:
        return TEXT, JSON
    hint = "with two names, a loop goes through a map or an object"
    if isinstance(kind, Array):
        text = c.quote_receiver(node)
        hint = f"go through the positions: `for i in {text}.length`, with `{text}[i]`"
        if isinstance(item := get_base_type(kind.item), Object) and item.fields:
            names = ", ".join(list(item.fields)[:2])
            hint = f"its items are taken apart with `for {{{names}}} in {text}`; {hint}"
    c.report("V0305", f"there are no keys in `{format_type_general(kind)}`", node, hint)
    return JSON, JSON


def _hint_not_iterable(c: Checker, node: n.Expr, kind: Type) -> str:
    text = c.quote_receiver(node)
    if kind is TEXT:
        return f'go through its characters, `{text}.split("")`, or its lines, `{text}.lines()`'
    if isinstance(kind, Object):
        return f"go through its fields: `{text}.keys()`"
    if isinstance(kind, Map):
        return f"write `for key, value in {text}`, or go through `{text}.keys()` or `{text}.values()`"
    return "arrays, ranges `a..b` and numbers can be gone through"


def is_private_value(node: n.Expr) -> bool:
    """Return True if a value comes from a private variable: then each item of it is private."""
    root = n.get_root_symbol(node)
    return root is not None and root.is_private
