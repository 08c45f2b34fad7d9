"""Compile width subtyping: a value may have more fields than its type, and code sees only those of the type."""

from __future__ import annotations

import ast
from typing import TypeGuard

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.typecheck.types import JSON, Array, Object, Type, is_mutable, is_nullable


def hide_extra_fields(value: ast.expr, kind: Type, place: SourceLocation) -> ast.expr:
    """Return an object restricted to the fields of its type; other values stay as they are."""
    if not isinstance(kind, Object):
        return value
    found = emit.make_global_call("_vpick", [value, emit.make_constant(frozenset(kind.fields), place)], place)
    test = make_exact_fields_test(value, kind, place)
    return found if test is None else emit.make_conditional(test, value, found, place)


def make_exact_fields_test(value: ast.expr, kind: Object, place: SourceLocation) -> ast.expr | None:
    """Return a test that a value has exactly its type's fields; None unless it is a variable and all are required."""
    if not isinstance(value, ast.Name) or any(each.optional for each in kind.fields.values()):
        return None
    is_plain = emit.make_comparison(
        emit.make_attribute(value, "__class__", place), ast.Is(), emit.make_name("_vdict", place), place
    )
    count = emit.make_constant(len(kind.fields), place)
    is_all = emit.make_comparison(emit.make_global_call("_vpylen", [value], place), ast.Eq(), count, place)
    return set_location(ast.BoolOp(ast.And(), [is_plain, is_all]), place)


def drop_null_fields(value: ast.expr, kind: Type, place: SourceLocation) -> ast.expr:
    """Return an object restricted to the fields of its type, without optional fields that are null."""
    optional = _list_omittable_fields(kind)
    if not isinstance(kind, Object) or not optional:
        return hide_extra_fields(value, kind, place)
    return emit.make_global_call(
        "_vthere", [value, *(emit.make_constant(each, place) for each in (frozenset(kind.fields), optional))], place
    )


def _list_omittable_fields(kind: Type) -> tuple[str, ...]:
    fields = kind.fields if isinstance(kind, Object) else {}
    return tuple(name for name, each in fields.items() if each.optional and not is_nullable(each.type))


def check_field_name(key: ast.expr, kind: Object, place: SourceLocation) -> ast.expr:
    """Return a field name computed at run time, with a check that the type has such a field."""
    if isinstance(key, ast.Constant):
        return key
    return emit.make_global_call("_vnamed", [key, emit.make_constant(tuple(kind.fields), place)], place)


def copy_untyped_fields(value: ast.expr, kind: Object, type_: Type, place: SourceLocation) -> ast.expr:
    """Return field values selected at run time, copied if their type is `json`."""
    if any(is_mutable(each.type) for each in kind.fields.values()) and not _has_known_type(type_):
        return emit.make_global_call("_vcopy", [value], place)
    return value


def _has_known_type(type_: Type) -> bool:
    """Return True if the field values that a method returns have a known type."""
    if isinstance(type_, Array):
        return _has_known_type(type_.item)
    return _has_known_type(type_.fields["value"].type) if _is_entry_type(type_) else type_ != JSON


def _is_entry_type(type_: Type) -> TypeGuard[Object]:
    return isinstance(type_, Object) and not type_.name and [*type_.fields] == ["key", "value"]
