"""Values built from other values: which parts are fresh, and which are shared."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.mutability.invariance import (
    can_share,
    is_fresh_value,
    iterate_alternatives,
    returned_expressions,
    yielded_expressions,
)
from antiphon.lang.typecheck.types import (
    JSON,
    Array,
    CallableType,
    Object,
    ObjectField,
    Type,
    is_mutable,
    strip_ai_result,
    union_options,
    widen_type,
)

#: A shared value, its type, and the type of the place that it was put into.
SharedValue = tuple[n.Expr, Type, Type]


def widen_fresh(node: n.Expr, type_: Type, *, whole: bool = True) -> Type:
    """Return the type of a reassignable variable with this value; shared parts keep their types."""
    if not is_mutable(type_) or is_fresh_value(node):
        return widen_type(type_, whole=whole)
    if isinstance(node, n.ObjectLit) and isinstance(type_, Object) and not type_.name:
        return _widen_fields(node, type_, whole)
    if isinstance(node, n.Name | n.Member | n.Index | n.Call):
        return type_
    return widen_type(type_, whole=whole, literals=False)


def _widen_fields(node: n.ObjectLit, type_: Object, whole: bool) -> Type:
    values: dict[str, n.Expr | None] = dict.fromkeys(type_.fields)
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            values = dict.fromkeys(values)
        else:
            values[entry.key] = entry.value
    fields: dict[str, ObjectField] = {}
    for name, field in type_.fields.items():
        value = values[name]
        kind = field.type if value is None and is_mutable(field.type) else widen_type(field.type, whole=whole)
        kind = kind if value is None else widen_fresh(value, field.type, whole=whole)
        fields[name] = ObjectField(kind, field.optional, field.description)
    return Object(fields)


def find_mismatched_shares(node: n.Expr) -> list[SharedValue]:
    """Return the shared values in an expression that would have another type there."""
    todo, found = [*_iterate_components(node)], list[SharedValue]()
    while todo:
        each, given, wanted = todo.pop()
        if given is wanted or wanted is JSON or not is_mutable(given):
            continue
        if (inside := [*_iterate_nested(each, wanted)]) and each is not node:
            todo += inside
        elif not is_fresh_value(each) and not can_share(given, wanted):
            found.append((each, given, wanted))
    return found


def _iterate_components(node: n.Expr) -> Iterator[SharedValue]:
    """Yield the components of an array, `+`, a conditional value or `async for`, or the results of a function."""
    whole = strip_ai_result(node.type or JSON)
    match node:
        case n.Binary(op="+"):
            yield from ((each, _get_item_type(each.type), _get_item_type(whole)) for each in (node.left, node.right))
        case n.Binary():
            yield from ((each, each.type or JSON, whole) for each in (node.left, node.right))
        case n.Lambda() if isinstance(whole, CallableType):
            yield from ((each, each.type or JSON, whole.returns) for each in returned_expressions(node))
        case n.AsyncFor():
            yield from ((each, each.type or JSON, _get_item_type(whole)) for each in yielded_expressions(node))
        case _:
            yield from _iterate_nested(node, whole)


def _iterate_nested(node: n.Expr, wanted: Type) -> Iterator[SharedValue]:
    """Yield the values written in an array, an object or a conditional value, with their types there."""
    match node:
        case n.ArrayLit():
            items = _get_item_type(_find_only_option(wanted, Array))
            for item in node.items:
                if isinstance(item, n.Spread):
                    yield item.value, _get_item_type(item.value.type), items
                else:
                    yield item, item.type or JSON, items
        case n.ObjectLit():
            kind = _find_only_option(wanted, Object)
            for entry in node.entries:
                yield from _iterate_entry_fields(entry, kind.fields if isinstance(kind, Object) else {})
        case n.Conditional() | n.Match():
            yield from ((each, each.type or JSON, wanted) for each in iterate_alternatives(node))
        case _:
            pass


def _iterate_entry_fields(entry: n.ObjectEntry | n.Spread, fields: dict[str, ObjectField]) -> Iterator[SharedValue]:
    if isinstance(entry, n.ObjectEntry):
        given = {entry.key: entry.value.type or JSON}
    else:
        spread = strip_ai_result(entry.value.type or JSON)
        given = {name: each.type for name, each in spread.fields.items()} if isinstance(spread, Object) else {}
    for name, type_ in given.items():
        if name in fields:
            yield entry.value, type_, fields[name].type


def _find_only_option(type_: Type, kind: type[Array | Object]) -> Type | None:
    found = [each for each in union_options(type_) if isinstance(each, kind)]
    return found[0] if len(found) == 1 else None


def _get_item_type(type_: Type | None) -> Type:
    kind = strip_ai_result(type_) if type_ is not None else JSON
    return kind.item if isinstance(kind, Array) else JSON
