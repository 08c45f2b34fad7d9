"""Compile members, items and slices of values.

A value may have more fields than its type (width subtyping); code sees only those of the type.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import is_integer
from antiphon.lang.codegen.compiler import Compiler, get_expression_type, has_plain_type, is_plain_type, make_class_test
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t

_IN = ast.In()


def compile_member(c: Compiler, node: n.Member, value: ast.expr, lenient: bool, place: SourceLocation) -> ast.expr:
    """Compile `value.name`; a missing field is null if `lenient`, else an error."""
    type_, name = get_expression_type(node.object), node.name
    key = emit.make_constant(name, place)
    if isinstance(type_, t.AIResultType):
        if name in t.AI_MEMBER_NAMES:
            return emit.make_call("get_answer_member", [value, key], place)
        value, type_ = emit.make_call("unwrap_answer", [value], place), type_.inner
    kind = t.get_base_type(t.remove_null(type_)) if node.optional else t.get_base_type(type_)
    if isinstance(kind, t.Union) and all(
        isinstance(each, t.Object) and _has_required_field(each, name) for each in kind.options
    ):
        return emit.make_item(value, key, place)
    if isinstance(kind, t.Object) and name in kind.fields:
        if kind.fields[name].optional:
            return emit.make_method_call(value, "get", [key], place)
        return emit.make_item(value, key, place)
    if name == "length" and (kind == t.TEXT or isinstance(kind, t.Array | t.Object | t.Map)):
        return emit.make_call("len", [hide_extra_fields(value, kind, place)], place)
    if lenient:
        return emit.make_call("get_optional_member", [value, key], place)
    test, value = make_class_test(c, value, "dict", place)
    there = set_location(ast.BoolOp(ast.And(), [test, emit.make_comparison(key, _IN, value, place)]), place)
    return emit.make_conditional(
        there, emit.make_item(value, key, place), emit.make_call("get_member", [value, key], place), place
    )


def _has_required_field(type_: t.Type, name: str) -> bool:
    return isinstance(type_, t.Object) and name in type_.fields and not type_.fields[name].optional


def compile_item(c: Compiler, node: n.Index, value: ast.expr, lenient: bool, place: SourceLocation) -> ast.expr:
    """Compile `value[key]`; a missing field is null if `lenient`, else an error."""
    key, type_ = c.expr(node.index), get_expression_type(node.object)
    type_ = t.remove_null(type_) if node.optional else type_
    if isinstance(type_, t.Map) and has_plain_type(node.index, t.TEXT):
        return emit.make_method_call(value, "get", [key], place) if lenient else emit.make_item(value, key, place)
    if is_python_sequence(type_) and t.get_base_type(get_expression_type(node.index)) == t.NUMBER:
        return emit.make_item(value, compile_index(c, node.index, key, place), place)
    if isinstance(key, ast.Constant) and key.value.__class__ is int and not lenient:
        test, value = make_class_test(c, value, "list", place)
        return emit.make_conditional(
            test, emit.make_item(value, key, place), emit.make_call("get_item", [value, key], place), place
        )
    kind = t.get_base_type(type_)
    if isinstance(kind, t.Object) and not isinstance(key, ast.Constant):
        value = hide_extra_fields(value, kind, place)
    found = emit.make_call("get_optional_item" if lenient else "get_item", [value, key], place)
    return copy_untyped_fields(found, kind, get_expression_type(node), place) if isinstance(kind, t.Object) else found


def compile_slice(c: Compiler, node: n.Slice, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `value[first:last:step]`."""
    bounds = [node.first, node.last, node.step]
    kind = get_expression_type(node.object)
    kind = t.remove_null(kind) if node.optional else kind
    if _is_valid_step(node.step) and is_python_sequence(kind) and all(map(is_number_or_absent, bounds)):
        found = [None if each is None else compile_index(c, each, c.expr(each), place) for each in bounds]
        return emit.make_slice(value, found, place)
    return emit.make_call(
        "slice_value", [value, *(c.expr(each) if each else emit.make_constant(None, place) for each in bounds)], place
    )


def _is_valid_step(node: n.Expr | None) -> bool:
    """Return True if a step is absent, or a literal other than 0."""
    if isinstance(node, n.Unary):
        node = node.operand
    return node is None or (isinstance(node, n.NumberLit) and type(node.value) is int and node.value != 0)


def compile_index(c: Compiler, node: n.Expr, key: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile a number as an index; a float with an integer value, such as 0.5 * 4, is one too."""
    if is_integer(c, node):
        return key
    test, key = make_class_test(c, key, "int", place)
    return emit.make_conditional(test, key, emit.make_call("require_index", [key], place), place)


def is_python_sequence(type_: t.Type) -> bool:
    """Return True if Python's own indexing and slicing of a type are those of the language."""
    return isinstance(type_, t.Array) or is_plain_type(type_, t.TEXT)


def is_number_or_absent(node: n.Expr | None) -> bool:
    """Return True if a bound is known to be a number, or absent."""
    return node is None or has_plain_type(node, t.NUMBER)


def hide_extra_fields(value: ast.expr, kind: t.Type, place: SourceLocation) -> ast.expr:
    """Return an object restricted to the fields of its type; other values stay as they are."""
    if not isinstance(kind, t.Object):
        return value
    found = emit.make_call("pick_known_fields", [value, emit.make_constant(frozenset(kind.fields), place)], place)
    test = make_exact_fields_test(value, kind, place)
    return found if test is None else emit.make_conditional(test, value, found, place)


def make_exact_fields_test(value: ast.expr, kind: t.Object, place: SourceLocation) -> ast.expr | None:
    """Return a test that a value has exactly its type's fields; None unless it is a variable and all are required."""
    if not isinstance(value, ast.Name) or any(each.optional for each in kind.fields.values()):
        return None
    is_plain = emit.make_class_comparison(value, "dict", place)
    count = emit.make_constant(len(kind.fields), place)
    is_all = emit.make_comparison(emit.make_call("len", [value], place), ast.Eq(), count, place)
    return set_location(ast.BoolOp(ast.And(), [is_plain, is_all]), place)


def drop_null_fields(value: ast.expr, kind: t.Type, place: SourceLocation) -> ast.expr:
    """Return an object restricted to the fields of its type, without optional fields that are null."""
    fields = kind.fields if isinstance(kind, t.Object) else {}
    optional = tuple(name for name, each in fields.items() if each.optional and not t.is_nullable(each.type))
    if not optional:
        return hide_extra_fields(value, kind, place)
    return emit.make_call(
        "drop_null_optional_fields",
        [value, *(emit.make_constant(each, place) for each in (frozenset(fields), optional))],
        place,
    )


def check_field_name(key: ast.expr, kind: t.Object, place: SourceLocation) -> ast.expr:
    """Return a field name computed at run time, with a check that the type has such a field."""
    if isinstance(key, ast.Constant):
        return key
    return emit.make_call("require_known_field", [key, emit.make_constant(tuple(kind.fields), place)], place)


def copy_untyped_fields(value: ast.expr, kind: t.Object, type_: t.Type, place: SourceLocation) -> ast.expr:
    """Return field values selected at run time, copied if their type is `json`."""
    if any(t.is_mutable(each.type) for each in kind.fields.values()) and not _has_known_type(type_):
        return emit.make_call("copy_value", [value], place)
    return value


def _has_known_type(type_: t.Type) -> bool:
    """Return True if the field values that a method returns have a known type."""
    if isinstance(type_, t.Array):
        return _has_known_type(type_.item)
    return _has_known_type(type_.fields["value"].type) if _is_entry_type(type_) else type_ != t.JSON


def _is_entry_type(type_: t.Type) -> TypeGuard[t.Object]:
    return isinstance(type_, t.Object) and not type_.name and [*type_.fields] == ["key", "value"]
