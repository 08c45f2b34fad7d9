"""Objects as their types say, compiled: a value may have more fields than its type."""

from __future__ import annotations

import ast
from typing import TypeGuard

from antiphon.lang.check.types import JSON, Array, Object, Type, is_mutable, may_be_null
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place


def picked(value: ast.expr, kind: Type, place: Place) -> ast.expr:
    """An object with the fields of its type alone: it may have more than that says."""
    if not isinstance(kind, Object):
        return value
    return emit.call("_vpick", [value, emit.constant(tuple(kind.fields), place)], place)


def there(value: ast.expr, kind: Type, place: Place) -> ast.expr:
    """The same without optional fields that are null."""
    optional = _may_be_missing(kind)
    if not isinstance(kind, Object) or not optional:
        return picked(value, kind, place)
    return emit.call(
        "_vthere", [value, *(emit.constant(each, place) for each in (tuple(kind.fields), optional))], place
    )


def _may_be_missing(kind: Type) -> tuple[str, ...]:
    fields = kind.fields if isinstance(kind, Object) else {}
    return tuple(name for name, each in fields.items() if each.optional and not may_be_null(each.type))


def named_field(key: ast.expr, kind: Object, place: Place) -> ast.expr:
    """The name of a field that only the running program knows: one that the type has."""
    if isinstance(key, ast.Constant):
        return key
    return emit.call("_vnamed", [key, emit.constant(tuple(kind.fields), place)], place)


def of_fields(value: ast.expr, kind: Object, type_: Type, place: Place) -> ast.expr:
    """What fields give that only the running program names; where that is json, it is a copy."""
    if any(is_mutable(each.type) for each in kind.fields.values()) and not _is_typed(type_):
        return emit.call("_vcopy", [value], place)
    return value


def _is_typed(type_: Type) -> bool:
    """Whether what a method gives of the fields is of a known type."""
    if isinstance(type_, Array):
        return _is_typed(type_.item)
    return _is_typed(type_.fields["value"].type) if _is_entry(type_) else type_ != JSON


def _is_entry(type_: Type) -> TypeGuard[Object]:
    return isinstance(type_, Object) and not type_.name and [*type_.fields] == ["key", "value"]
