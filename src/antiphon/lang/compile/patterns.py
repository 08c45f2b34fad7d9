"""Patterns, compiled: taking objects and arrays apart."""

from __future__ import annotations

import ast
from typing import Any

from antiphon.lang.check.parts import options
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Array, Literal, Object, Simple, Type, Union, base, plain
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import once
from antiphon.lang.compile.state import Compiler
from antiphon.lang.syntax import nodes as n


def taken_apart(
    c: Compiler, pattern: n.Pattern | n.ArrayPattern, value: ast.expr, given: Type, place: Place
) -> list[ast.stmt]:
    """Assign what a pattern names. Everything is taken out before anything is assigned: failure assigns nothing."""
    out: list[ast.stmt] = []
    if isinstance(pattern, n.ArrayPattern):
        items = _all_items(c, value, len(pattern.items), given, place)
        if _are_plain(pattern, given):
            return [_unpacked(c, pattern, items, place)]
        name, whole = _held(c, items, place)
        bindings = _items(c, pattern, name, given, out)
    else:
        fitted = c.fitted(value, given, pattern.type, place)
        is_known = fitted is value and isinstance(given, Object)
        name, whole = _held(c, fitted if is_known else emit.call("_vunwrap", [fitted], place), place)
        bindings = _fields(c, pattern, name, given if is_known else JSON, out)
    if all(isinstance(each, ast.Assign) and isinstance(each.value, ast.Subscript) for each in out):
        # What is there for certain needs no place to wait in.
        return whole + [_bound(c, each, {held: symbol for symbol, held in bindings}, place) for each in out]
    return whole + out + [c.bind(symbol, emit.name(held, place), place) for symbol, held in bindings]


def _are_plain(pattern: n.ArrayPattern, given: Type) -> bool:
    """Whether each of the items goes into a variable as it is."""
    if not isinstance(given, Array) or not _is_scalar(given.item):
        return False
    return all(each.symbol is not None and each.symbol.type == given.item for each in pattern.items)


def _unpacked(c: Compiler, pattern: n.ArrayPattern, items: ast.expr, place: Place) -> ast.stmt:
    """`a, b = items`."""
    bound: list[Any] = [c.bind(each.symbol, items, c.place(each)) for each in pattern.items if each.symbol is not None]
    targets = [target for each in bound for target in each.targets]
    return at(ast.Assign([at(ast.Tuple(targets, ast.Store()), place)], items), place)


def _held(c: Compiler, value: ast.expr, place: Place) -> tuple[str, list[ast.stmt]]:
    """The name of a variable that has the value, and what puts it there."""
    if isinstance(value, ast.Name):
        return value.id, []
    name = c.temporary()
    return name, [emit.assign(name, value, place)]


def _bound(c: Compiler, taken: Any, bindings: dict[str, Symbol], place: Place) -> ast.stmt:
    symbol = bindings.get(taken.targets[0].id)
    return taken if symbol is None else c.bind(symbol, taken.value, place)


def _all_items(c: Compiler, value: ast.expr, count: int, given: Type, place: Place) -> ast.expr:
    """An array that is taken apart; it has as many items as there are names for."""
    wanted = emit.constant(count, place)
    if not isinstance(given, Array):
        return emit.call("_vitems", [value, wanted], place)
    if isinstance(value, ast.List) and len(value.elts) == count and not any(map(_is_spread, value.elts)):
        return at(ast.Tuple(value.elts, ast.Load()), place)
    first, value = once(c, value, place)
    fits = emit.compare(emit.call("_vpylen", [first], place), ast.Eq(), wanted, place)
    return emit.either(fits, value, emit.call("_vitems", [value, wanted], place), place)


def _is_spread(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _items(
    c: Compiler, pattern: n.ArrayPattern, name: str, given: Type, out: list[ast.stmt]
) -> list[tuple[Symbol, str]]:
    kind = base(plain(given))
    item = kind.item if isinstance(kind, Array) else JSON
    bindings: list[tuple[Symbol, str]] = []
    for index, each in enumerate(pattern.items):
        if each.symbol is None:
            continue
        place, held = c.place(each), c.temporary()
        value = emit.item(emit.name(name, place), emit.constant(index, place), place)
        value = c.fitted(value, item, each.symbol.type, place)
        out.append(emit.assign(held, value, place))
        bindings.append((each.symbol, held))
    return bindings


def _fields(c: Compiler, pattern: n.Pattern, name: str, given: Type, out: list[ast.stmt]) -> list[tuple[Symbol, str]]:
    bindings: list[tuple[Symbol, str]] = []
    for each in pattern.fields:
        place = c.place(each)
        key, held = emit.constant(each.name, place), c.temporary()
        field = given.fields.get(each.name) if isinstance(given, Object) else None
        if field is not None and not field.optional and each.default is None:
            value = emit.item(emit.name(name, place), key, place)
        else:
            value = _field_value(c, each, name, key, _may_be_missing(pattern, each), place)
        if each.nested is not None:
            out.append(emit.assign(held, value, place))
            bindings += _fields(c, each.nested, held, field.type if field is not None else JSON, out)
        elif each.symbol is not None:
            out.append(emit.assign(held, value, place))
            bindings.append((each.symbol, held))
    return bindings


def _may_be_missing(pattern: n.Pattern, field: n.PatternField) -> bool:
    return isinstance(pattern.type, Object) and pattern.type.fields[field.name].optional


def _field_value(
    c: Compiler, each: n.PatternField, name: str, key: ast.expr, may_be_missing: bool, place: Place
) -> ast.expr:
    whole = emit.name(name, place)
    if each.default is None:
        return emit.call("_voptional" if may_be_missing else "_vfield", [whole, key], place)
    found = c.temporary()
    read = emit.named(found, emit.call("_voptional", [whole, key], place), place)
    test = emit.compare(read, ast.IsNot(), emit.constant(None, place), place)
    wanted = each.symbol.type if each.symbol else None
    return emit.either(test, emit.name(found, place), c.cast(each.default, wanted), place)


def private_fields(pattern: n.Pattern | n.ArrayPattern) -> tuple[str, ...]:
    """The fields that go to private variables; all of it, where the items of an array do."""
    if isinstance(pattern, n.Pattern):
        return tuple(each.name for each in pattern.fields if _is_private(each))
    return ("",) if any(each.symbol is not None and each.symbol.is_private for each in pattern.items) else ()


def _is_private(field: n.PatternField) -> bool:
    if field.nested is not None:
        return any(map(_is_private, field.nested.fields))
    return field.symbol is not None and field.symbol.is_private


def _is_scalar(type_: Type) -> bool:
    if isinstance(plain(type_), Union):
        return all(map(_is_scalar, options(type_)))
    kind = base(type_)
    if isinstance(kind, Literal):
        return True
    return isinstance(kind, Simple) and kind.name in ("text", "number", "boolean", "null", "prompt", "model")
