"""Compile patterns: destructuring of objects and arrays."""

from __future__ import annotations

import ast
from typing import Any

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import Compiler, evaluate_once
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import inhabited_options
from antiphon.lang.typecheck.symbols import Symbol


def compile_pattern(
    c: Compiler, pattern: n.Pattern | n.ArrayPattern, value: ast.expr, given: t.Type, place: SourceLocation
) -> list[ast.stmt]:
    """Compile the assignments of a pattern.

    All values are read before any is assigned, so that a failure assigns nothing.
    """
    out: list[ast.stmt] = []
    if isinstance(pattern, n.ArrayPattern):
        items = _compile_counted_items(c, value, len(pattern.items), given, place)
        if _can_unpack_directly(pattern, given):
            return [_make_unpacking(c, pattern, items, place)]
        name, whole = _hold_in_variable(c, items, place)
        bindings = _take_items(c, pattern, name, given, out)
    else:
        fitted = c.convert_value(value, given, pattern.type, place)
        is_known = fitted is value and isinstance(given, t.Object)
        name, whole = _hold_in_variable(
            c, fitted if is_known else emit.make_call("unwrap_answer", [fitted], place), place
        )
        bindings = _take_fields(c, pattern, name, given if is_known else t.JSON, out)
    if all(isinstance(each, ast.Assign) and isinstance(each.value, ast.Subscript) for each in out):
        # Values that certainly exist need no temporary variable.
        return whole + [_bind_taken_value(c, each, {held: symbol for symbol, held in bindings}, place) for each in out]
    return whole + out + [c.bind(symbol, emit.make_name(held, place), place) for symbol, held in bindings]


def _can_unpack_directly(pattern: n.ArrayPattern, given: t.Type) -> bool:
    """Return True if each item goes into its variable without conversion."""
    if not isinstance(given, t.Array) or not _is_scalar(given.item):
        return False
    return all(each.symbol is not None and each.symbol.type == given.item for each in pattern.items)


def _make_unpacking(c: Compiler, pattern: n.ArrayPattern, items: ast.expr, place: SourceLocation) -> ast.stmt:
    """Return `a, b = items`."""
    bound: list[Any] = [c.bind(each.symbol, items, c.place(each)) for each in pattern.items if each.symbol is not None]
    targets = [target for each in bound for target in each.targets]
    return set_location(ast.Assign([set_location(ast.Tuple(targets, ast.Store()), place)], items), place)


def _hold_in_variable(c: Compiler, value: ast.expr, place: SourceLocation) -> tuple[str, list[ast.stmt]]:
    """Return the name of a variable that holds the value, and the statements that assign it."""
    if isinstance(value, ast.Name):
        return value.id, []
    name = c.make_temporary()
    return name, [emit.make_assignment(name, value, place)]


def _bind_taken_value(c: Compiler, taken: Any, bindings: dict[str, Symbol], place: SourceLocation) -> ast.stmt:
    symbol = bindings.get(taken.targets[0].id)
    return taken if symbol is None else c.bind(symbol, taken.value, place)


def _compile_counted_items(c: Compiler, value: ast.expr, count: int, given: t.Type, place: SourceLocation) -> ast.expr:
    """Compile the array that is destructured, with a check that it has as many items as the pattern."""
    wanted = emit.make_constant(count, place)
    if not isinstance(given, t.Array):
        return emit.make_call("unpack_items", [value, wanted], place)
    if (
        isinstance(value, ast.List)
        and len(value.elts) == count
        and not any(isinstance(each, ast.Starred) for each in value.elts)
    ):
        return set_location(ast.Tuple(value.elts, ast.Load()), place)
    first, value = evaluate_once(c, value, place)
    fits = emit.make_comparison(emit.make_call("len", [first], place), ast.Eq(), wanted, place)
    return emit.make_conditional(fits, value, emit.make_call("unpack_items", [value, wanted], place), place)


def _take_items(
    c: Compiler, pattern: n.ArrayPattern, name: str, given: t.Type, out: list[ast.stmt]
) -> list[tuple[Symbol, str]]:
    kind = t.get_base_type(t.strip_ai_result(given))
    item = kind.item if isinstance(kind, t.Array) else t.JSON
    bindings: list[tuple[Symbol, str]] = []
    for index, each in enumerate(pattern.items):
        if each.symbol is None:
            continue
        place, held = c.place(each), c.make_temporary()
        value = emit.make_item(emit.make_name(name, place), emit.make_constant(index, place), place)
        value = c.convert_value(value, item, each.symbol.type, place)
        out.append(emit.make_assignment(held, value, place))
        bindings.append((each.symbol, held))
    return bindings


def _take_fields(
    c: Compiler, pattern: n.Pattern, name: str, given: t.Type, out: list[ast.stmt]
) -> list[tuple[Symbol, str]]:
    bindings: list[tuple[Symbol, str]] = []
    for each in pattern.fields:
        place = c.place(each)
        key, held = emit.make_constant(each.name, place), c.make_temporary()
        may_be_missing = isinstance(pattern.type, t.Object) and pattern.type.fields[each.name].optional
        field = given.fields.get(each.name) if isinstance(given, t.Object) else None
        if field is not None and not field.optional and each.default is None:
            value = emit.make_item(emit.make_name(name, place), key, place)
        else:
            value = _compile_field_value(c, each, name, key, may_be_missing, place)
        if each.nested is not None:
            out.append(emit.make_assignment(held, value, place))
            bindings += _take_fields(c, each.nested, held, field.type if field is not None else t.JSON, out)
        elif each.symbol is not None:
            out.append(emit.make_assignment(held, value, place))
            bindings.append((each.symbol, held))
    return bindings


def _compile_field_value(
    c: Compiler, each: n.PatternField, name: str, key: ast.expr, may_be_missing: bool, place: SourceLocation
) -> ast.expr:
    whole = emit.make_name(name, place)
    if each.default is None:
        return emit.make_call("get_optional_member" if may_be_missing else "get_required_field", [whole, key], place)
    found = c.make_temporary()
    read = emit.make_named_expression(found, emit.make_call("get_optional_member", [whole, key], place), place)
    test = emit.make_comparison(read, ast.IsNot(), emit.make_constant(None, place), place)
    wanted = each.symbol.type if each.symbol else None
    return emit.make_conditional(test, emit.make_name(found, place), c.cast(each.default, wanted), place)


def list_private_fields(pattern: n.Pattern | n.ArrayPattern) -> tuple[str, ...]:
    """Return the fields that go to private variables; for an array pattern with one, the empty name for all of it."""
    if isinstance(pattern, n.Pattern):
        return tuple(each.name for each in pattern.fields if _has_private_symbol(each))
    return ("",) if any(each.symbol is not None and each.symbol.is_private for each in pattern.items) else ()


def _has_private_symbol(field: n.PatternField) -> bool:
    if field.nested is not None:
        return any(map(_has_private_symbol, field.nested.fields))
    return field.symbol is not None and field.symbol.is_private


def _is_scalar(type_: t.Type) -> bool:
    if isinstance(t.strip_ai_result(type_), t.Union):
        return all(map(_is_scalar, inhabited_options(type_)))
    kind = t.get_base_type(type_)
    if isinstance(kind, t.Literal):
        return True
    return isinstance(kind, t.SimpleType) and kind.name in ("text", "number", "boolean", "null", "prompt", "model")
