"""Objects as their types say, compiled: a value may have more fields than its type."""

from __future__ import annotations

import ast
from typing import TypeGuard

from antiphon.lang.check.types import JSON, Array, Object, Type, is_mutable, may_be_null
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at


def picked(value: ast.expr, kind: Type, place: Place) -> ast.expr:
    """An object with the fields of its type alone: it may have more than that says."""
    if not isinstance(kind, Object):
        return value
    found = emit.call("_vpick", [value, emit.constant(frozenset(kind.fields), place)], place)
    test = has_no_others(value, kind, place)
    return found if test is None else emit.either(test, value, found, place)


def has_no_others(value: ast.expr, kind: Object, place: Place) -> ast.expr | None:
    """A test whether the value of a variable has just the fields of its type, where it has all of them for certain."""
    if not isinstance(value, ast.Name) or any(each.optional for each in kind.fields.values()):
        return None
    is_plain = emit.compare(emit.attribute(value, "__class__", place), ast.Is(), emit.name("_vdict", place), place)
    count = emit.constant(len(kind.fields), place)
    is_all = emit.compare(emit.call("_vpylen", [value], place), ast.Eq(), count, place)
    return at(ast.BoolOp(ast.And(), [is_plain, is_all]), place)


def there(value: ast.expr, kind: Type, place: Place) -> ast.expr:
    """The same without optional fields that are null."""
    optional = _may_be_missing(kind)
    if not isinstance(kind, Object) or not optional:
        return picked(value, kind, place)
    return emit.call(
        "_vthere", [value, *(emit.constant(each, place) for each in (frozenset(kind.fields), optional))], place
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
