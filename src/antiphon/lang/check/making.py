"""Values that are made of others: what is new in them, and what others have, too."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.check.sharing import agree, alternatives, given_by, is_fresh, yielded_by
from antiphon.lang.check.types import (
    JSON,
    Array,
    Callable,
    Field,
    Object,
    Type,
    is_mutable,
    options_of,
    plain,
    widen,
)
from antiphon.lang.syntax import nodes as n

#: A value that others have, too, its type, and what it is where it was put.
Shared = tuple[n.Expr, Type, Type]


def widened(node: n.Expr, type_: Type, *, whole: bool = True) -> Type:
    """The type of a variable that gets a value and may change; what others have, too, stays what it is for them."""
    if not is_mutable(type_) or is_fresh(node):
        return widen(type_, whole=whole)
    if isinstance(node, n.ObjectLit) and isinstance(type_, Object) and not type_.name:
        return _fields_widened(node, type_, whole)
    if isinstance(node, n.Name | n.Member | n.Index | n.Call):
        return type_
    return widen(type_, whole=whole, literals=False)


def _fields_widened(node: n.ObjectLit, type_: Object, whole: bool) -> Type:
    values: dict[str, n.Expr | None] = dict.fromkeys(type_.fields)
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            values = dict.fromkeys(values)
        else:
            values[entry.key] = entry.value
    fields: dict[str, Field] = {}
    for name, field in type_.fields.items():
        value = values[name]
        kind = field.type if value is None and is_mutable(field.type) else widen(field.type, whole=whole)
        kind = kind if value is None else widened(value, field.type, whole=whole)
        fields[name] = Field(kind, field.optional, field.description)
    return Object(fields)


def apart(node: n.Expr) -> list[Shared]:
    """What others have, too, of that of which something is made, where it would be of another type there."""
    todo, found = [*_put_together(node)], list[Shared]()
    while todo:
        each, given, wanted = todo.pop()
        if given is wanted or wanted is JSON or not is_mutable(given):
            continue
        if (inside := [*_inside(each, wanted)]) and each is not node:
            todo += inside
        elif not is_fresh(each) and not agree(given, wanted):
            found.append((each, given, wanted))
    return found


def _put_together(node: n.Expr) -> Iterator[Shared]:
    """What an array, a `+`, a choice or an `async for` is made of, or a function gives."""
    whole = plain(node.type or JSON)
    match node:
        case n.Binary(op="+"):
            yield from ((each, _items(each.type), _items(whole)) for each in (node.left, node.right))
        case n.Binary():
            yield from ((each, each.type or JSON, whole) for each in (node.left, node.right))
        case n.Lambda() if isinstance(whole, Callable):
            yield from ((each, each.type or JSON, whole.returns) for each in given_by(node))
        case n.AsyncFor():
            yield from ((each, each.type or JSON, _items(whole)) for each in yielded_by(node))
        case _:
            yield from _inside(node, whole)


def _inside(node: n.Expr, wanted: Type) -> Iterator[Shared]:
    """The values that are written in an array, an object or a choice, with what they are there."""
    match node:
        case n.ArrayLit():
            items = _items(_one(wanted, Array))
            for item in node.items:
                if isinstance(item, n.Spread):
                    yield item.value, _items(item.value.type), items
                else:
                    yield item, item.type or JSON, items
        case n.ObjectLit():
            kind = _one(wanted, Object)
            for entry in node.entries:
                yield from _fields_of(entry, kind.fields if isinstance(kind, Object) else {})
        case n.Conditional() | n.Match():
            yield from ((each, each.type or JSON, wanted) for each in alternatives(node))
        case _:
            pass


def _fields_of(entry: n.Entry | n.Spread, fields: dict[str, Field]) -> Iterator[Shared]:
    if isinstance(entry, n.Entry):
        given = {entry.key: entry.value.type or JSON}
    else:
        spread = plain(entry.value.type or JSON)
        given = {name: each.type for name, each in spread.fields.items()} if isinstance(spread, Object) else {}
    for name, type_ in given.items():
        if name in fields:
            yield entry.value, type_, fields[name].type


def _one(type_: Type, kind: type[Array | Object]) -> Type | None:
    found = [each for each in options_of(type_) if isinstance(each, kind)]
    return found[0] if len(found) == 1 else None


def _items(type_: Type | None) -> Type:
    kind = plain(type_) if type_ is not None else JSON
    return kind.item if isinstance(kind, Array) else JSON
