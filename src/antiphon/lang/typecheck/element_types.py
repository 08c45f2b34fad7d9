"""Types of elements: the items that a loop visits, and the fields of objects that a key or a method reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import (
    inhabited_options,
    join_or_union,
    join_types,
    make_union,
    union_of_literals,
)
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.constants import check_integer
from antiphon.lang.typecheck.invariance import can_share, yielded_expressions
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.type_printer import format_type_general, hint_fields


def infer_loop_item(c: Checker, node: n.Expr, type_: t.Type) -> t.Type:
    """Return the type of a loop variable."""
    type_ = c.require_non_null(node, type_)
    kind = t.get_operand_type(type_)
    if isinstance(kind, t.Array):
        return infer_literal_items(node) or kind.item
    arrays = [each for each in kind.options if isinstance(each, t.Array)] if isinstance(kind, t.Union) else []
    if arrays and len(arrays) == len(inhabited_options(kind)):
        return make_union(each.item for each in arrays)
    if isinstance(type_, t.AIResultType):
        message = "Cannot iterate over AIResult directly. Use .toolCalls or .value"
        text = c.quote_receiver(node)
        c.report("V0305", message, node, f"write `{text}.value` or `{text}.toolCalls`")
        return t.JSON
    if kind is t.NUMBER or kind is t.JSON:
        check_integer(c, node, "the number of rounds")
        return kind
    c.report(
        "V0305",
        f"a `for` loop cannot go through `{format_type_general(kind)}`",
        node,
        _hint_not_iterable(c, node, kind),
    )
    return t.JSON


def refine_receiver_items(node: n.Member, receiver: t.Array) -> t.Array:
    """Return the array type of a method's receiver, with the precise item type of a literal where it would be json."""
    return t.Array(infer_literal_items(node.object) or t.JSON) if receiver.item is t.JSON else receiver


def refine_initial_items(node: n.Member, receiver: t.Array) -> t.Array:
    """Return the array type of a receiver, refined also by the literal that its variable was declared with."""
    symbol = node.object.symbol if isinstance(node.object, n.Name) else None
    if receiver.item is t.JSON and symbol is not None and symbol.items is not None and not symbol.is_assigned:
        return t.Array(symbol.items)
    return refine_receiver_items(node, receiver)


def infer_literal_items(node: n.Expr | None) -> t.Type | None:
    """Return the item type of an array literal, where it is more precise than its type, or None."""
    parts = _component_types(node)
    known = [each for each in parts if each is not None]
    if node is None or not known or len(known) < len(parts):
        return None
    return union_of_literals(known) or (_union_of_kinds(known) if node.type == t.Array(t.JSON) else None)


def _component_types(node: n.Expr | None) -> list[t.Type | None]:
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


def _get_item_type(type_: t.Type | None) -> t.Type | None:
    kind = t.get_operand_type(type_) if type_ is not None else t.JSON
    return kind.item if isinstance(kind, t.Array) else None


def _union_of_kinds(types: list[t.Type]) -> t.Type | None:
    """Return the union of the items' kinds, which would otherwise be json, or None."""
    found: dict[object, t.Type] = {}
    for each in types:
        kind = t.get_base_type(t.widen_type(t.strip_ai_result(each), whole=False))
        # All objects share one key, and so do all arrays, so that they are joined.
        key = type(kind) if isinstance(kind, t.Object | t.Array) else kind
        found[key] = join_types(found[key], kind) if key in found else kind
    several = make_union(found.values())
    return several if isinstance(several, t.Union) and t.JSON not in several.members else None


def infer_loop_entry(c: Checker, node: n.Expr, type_: t.Type) -> tuple[t.Type, t.Type]:
    """Return the types of key and value in `for key, value in …`; report a value without keys."""
    kind = t.get_operand_type(c.require_non_null(node, type_))
    if isinstance(kind, t.Map):
        return t.TEXT, kind.value
    if isinstance(kind, t.Object):
        return t.TEXT, union_field_types(kind)
    if kind is t.JSON:
        return t.TEXT, t.JSON
    hint = "with two names, a loop goes through a map or an object"
    if isinstance(kind, t.Array):
        text = c.quote_receiver(node)
        hint = f"go through the positions: `for i in {text}.length`, with `{text}[i]`"
        if isinstance(item := t.get_base_type(kind.item), t.Object) and item.fields:
            names = ", ".join(list(item.fields)[:2])
            hint = f"its items are taken apart with `for {{{names}}} in {text}`; {hint}"
    c.report("V0305", f"there are no keys in `{format_type_general(kind)}`", node, hint)
    return t.JSON, t.JSON


def _hint_not_iterable(c: Checker, node: n.Expr, kind: t.Type) -> str:
    text = c.quote_receiver(node)
    if kind is t.TEXT:
        return f'go through its characters, `{text}.split("")`, or its lines, `{text}.lines()`'
    if isinstance(kind, t.Object):
        return f"go through its fields: `{text}.keys()`"
    if isinstance(kind, t.Map):
        return f"write `for key, value in {text}`, or go through `{text}.keys()` or `{text}.values()`"
    return "arrays, ranges `a..b` and numbers can be gone through"


def is_private_value(node: n.Expr) -> bool:
    """Return True if a value comes from a private variable: then each item of it is private."""
    root = n.get_root_symbol(node)
    return root is not None and root.is_private


#: Objects with more fields have json as the common type.
_MAX_FIELDS = 12


def infer_keyed_field(c: Checker, node: n.Index, kind: t.Object) -> t.Type:
    """Return the type of `object[key]`: that of the named fields, or the common type of all fields."""
    keys = get_literal_keys(node.index)
    if keys is None:
        return join_field_types(kind)
    found: t.Type | None = None
    for key in keys:
        field = kind.fields.get(key)
        if field is None:
            hint = c.hint_similar(key, kind.fields) or hint_fields(kind)
            if not kind.name:
                hint += f"; for other keys declare a map, `{{ [text]: {format_type_general(join_field_types(kind))} }}`"
            c.report("V0306", f"`{format_type_general(kind)}` has no field `{key}`", node.index, hint)
            return t.JSON
        found = field.read if found is None else join_types(found, field.read)
    is_safe = found is not None and all(can_share(kind.fields[key].read, found) for key in keys)
    return found if found is not None and is_safe else t.JSON


def check_keyed_assignment(c: Checker, node: n.Index, kind: t.Object) -> None:
    """Report an assignment by a key of unknown value, unless all possible fields have the same type."""
    keys = get_literal_keys(node.index)
    fields = [kind.fields[each] for each in keys if each in kind.fields] if keys is not None else kind.fields.values()
    types = [each.read for each in fields]
    if any(each != types[0] for each in types[1:]):
        message = (
            f"which field this is, is not known, and the fields of `{format_type_general(kind)}` are of different types"
        )
        c.report("V0309", message, node.index, "name the field, or declare the object as `json`")


def join_field_types(kind: t.Object) -> t.Type:
    """Return one type for the values of all fields."""
    return _combine_field_types(kind, join_types)


def union_field_types(kind: t.Object) -> t.Type:
    """Return one type for the values of all fields, read one by one: a union if they are of several kinds."""
    return _combine_field_types(kind, join_or_union)


def _combine_field_types(kind: t.Object, join: Callable[[t.Type, t.Type], t.Type]) -> t.Type:
    if not 0 < len(kind.fields) <= _MAX_FIELDS:
        return t.JSON
    types = [each.read for each in kind.fields.values()]
    found = reduce(join, types)
    # If a field cannot be shared under the common type, the values are copied.
    if all(can_share(each, found) for each in types):
        return found
    return t.JSON if all(map(t.is_json_data, types)) else t.Union(tuple(dict.fromkeys(types)))


def infer_object_method(c: Checker, call: n.Call, node: n.Member, kind: t.Object) -> t.Type | None:
    """Return the result type of a method that reads the fields of an object, or None for other methods."""
    if node.name == "values":
        return t.Array(join_field_types(kind))
    if node.name == "entries":
        return t.Array(t.Object({"key": t.ObjectField(t.TEXT), "value": t.ObjectField(join_field_types(kind))}))
    if node.name == "get" and call.arguments:
        keys = get_literal_keys(call.arguments[0])
        # A missing field is not null: the default is returned.
        found = join_field_types(t.Object({name: t.ObjectField(each.type) for name, each in kind.fields.items()}))
        if keys is not None and len(keys) == 1:
            field = kind.fields.get(keys[0])
            if field is not None and not field.optional:
                return field.type
            found = field.type if field is not None else t.JSON
        if found == t.JSON:
            return t.JSON
        if len(call.arguments) == 1:
            return t.make_nullable(found)
        default = call.arguments[1].type
        return join_types(found, default) if default is not None else t.JSON
    if node.name == "remove" and call.arguments:
        keys = get_literal_keys(call.arguments[0])
        fields = [kind.fields.get(each) for each in keys] if keys is not None else [*kind.fields.values()]
        if any(each is None or not each.optional for each in fields) or not fields:
            where = get_name_span(node)
            message = f"a field that every `{format_type_general(kind)}` has cannot be removed"
            c.report("V0332", message, where, "declare it optional, `name?: text`, or the object as `json`")
            return t.JSON
        return join_field_types(t.Object({str(at): each for at, each in enumerate(fields) if each is not None}))
    return None


def get_literal_keys(node: n.Expr) -> list[str] | None:
    """Return the fields that a key may name, if its type consists of literals, or None."""
    type_ = node.type
    options = type_.options if isinstance(type_, t.Union) else (type_,)
    found = [each.value for each in options if isinstance(each, t.Literal) and isinstance(each.value, str)]
    return found if len(found) == len(options) else None
