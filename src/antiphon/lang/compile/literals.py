"""Literals, names and strings with holes, compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from antiphon.lang.check.sharing import agree, holds_values, is_fresh
from antiphon.lang.check.types import (
    AI,
    JSON,
    NUMBER,
    TEXT,
    TOOL,
    Array,
    Field,
    Map,
    Object,
    Simple,
    Type,
    base,
    is_mutable,
)
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.guards import is_a, once
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import has_no_others, there
from antiphon.lang.compile.wholes import is_fraction, is_whole
from antiphon.lang.syntax import nodes as n


def literal(c: Compiler, node: n.NumberLit | n.BoolLit) -> ast.expr:
    """`3`, `true`."""
    return emit.constant(node.value, c.place(node))


def null(c: Compiler, node: n.NullLit) -> ast.expr:
    """`null`."""
    return emit.constant(None, c.place(node))


def text(c: Compiler, node: n.TextLit) -> ast.expr:
    """A string, with what stands in its holes."""
    place = c.place(node)
    parts = node.parts
    if not parts or (len(parts) == 1 and type(parts[0]) is str):
        return emit.constant(parts[0] if parts else "", place)
    values: list[ast.expr] = []
    for part in parts:
        if isinstance(part, str):
            values.append(emit.constant(part, place))
        else:
            values.append(at(ast.FormattedValue(as_text(c, part.value, in_hole=True), -1, None), place))
    return at(ast.JoinedStr(values), place)


def as_text(c: Compiler, node: n.Expr, in_hole: bool = False) -> ast.expr:
    """An expression as `print` would show it. In a hole, whole numbers are left to Python: by far the most are."""
    value, type_ = c.expr(node), type_of(node)
    kind = base(type_)
    if kind == TEXT and not isinstance(type_, AI):
        return value
    place = c.place(node)
    if kind == NUMBER and not isinstance(type_, AI):
        return number_text(c, node, value, place, in_hole)
    return emit.call("_vtext", [value], place)


def number_text(c: Compiler, node: n.Expr, value: ast.expr, place: Place, in_hole: bool = False) -> ast.expr:
    """A number as text."""
    if is_whole(c, node):
        return value if in_hole else emit.call("_vstr", [value], place)
    if is_fraction(node):
        return emit.call("_vnumbertext", [value], place)
    test, again = is_a(c, value, "_vint", place)
    whole = again if in_hole else emit.call("_vstr", [again], place)
    return emit.either(test, whole, emit.call("_vtext", [again], place), place)


def name(c: Compiler, node: n.Name) -> ast.expr:
    """A variable where it is read; of an `async let`, when it is there."""
    symbol, place = node.symbol, c.place(node)
    if symbol is None:
        return emit.constant(None, place)
    if isinstance(symbol.type, Signature) and node.type is not TOOL:
        from antiphon.lang.compile.function_values import function_name

        value = function_name(c, node, symbol)
        return emit.call("_vwait", [value], place) if symbol.is_async else value
    value = emit.name(f"_vb_{symbol.name}", place) if symbol.kind == "builtin" else c.read(symbol, place)
    if symbol.is_async:
        value = emit.call("_vwait", [value], place)
    if symbol.type == JSON and node.type not in (JSON, None):
        # It was found to be something in particular: the value of an answer, if it is one.
        return emit.call("_vunwrap", [value], place)
    return value


def array(c: Compiler, node: n.ArrayLit) -> ast.expr:
    """`[a, ...b]`."""
    inner = node.type.item if isinstance(node.type, Array) else None
    items = [
        _spread_items(c, each, inner) if isinstance(each, n.Spread) else c.cast(each, inner) for each in node.items
    ]
    return at(ast.List(items, ast.Load()), c.place(node))


def _spread_items(c: Compiler, node: n.Spread, inner: Type | None) -> ast.expr:
    """`...value` of an array."""
    place, type_ = c.place(node), type_of(node.value)
    # Nothing is kept of it but its items.
    take = c.lend if holds_values(type_) else c.cast
    value = take(node.value, Array(inner) if inner is not None else None)
    if inner == JSON and isinstance(type_, Array) and not agree(type_.item, JSON) and not is_fresh(node.value):
        value = emit.call("_vcopy", [value], place)
    if not isinstance(type_, Array) or not isinstance(base(type_.item), Simple) or type_.item == JSON:
        value = emit.call("_vspread", [value], place)
    return at(ast.Starred(value, ast.Load()), place)


def object_(c: Compiler, node: n.ObjectLit) -> ast.expr:
    """`{ key: value, ...other }`."""
    if isinstance(node.type, Map):
        return _map(c, node, node.type)
    fields = node.type.fields if isinstance(node.type, Object) else {}
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    spreads = any(isinstance(each, n.Spread) for each in node.entries)
    for place, entry in enumerate(node.entries):
        # What is put over another is all that has to fit.
        later = {name for each in node.entries[place + 1 :] for name in _sure_names(each)} if spreads else ()
        if isinstance(entry, n.Spread):
            spread = _spread_fields(c, entry, {name: fields[name] for name in fields if name not in later})
            keys += (key for key, _ in spread)
            values += (value for _, value in spread)
        else:
            keys.append(emit.constant(entry.key, c.place(entry)))
            known = entry.key in fields and entry.key not in later
            values.append(c.cast(entry.value, fields[entry.key].read if known else None))
    return at(ast.Dict(keys, values), c.place(node))


def _map(c: Compiler, node: n.ObjectLit, type_: Map) -> ast.expr:
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            keys.append(None)
            values.append(emit.call("_vspreadfields", [_spread_values(c, entry, type_)], c.place(entry)))
        else:
            keys.append(emit.constant(entry.key, c.place(entry)))
            values.append(c.cast(entry.value, type_.value))
    return at(ast.Dict(keys, values), c.place(node))


def _spread_values(c: Compiler, node: n.Spread, wanted: Map) -> ast.expr:
    """What is put into a map: another, or an object of which each field fits."""
    kind = base(type_of(node.value))
    if isinstance(kind, Object):
        fields = {name: Field(wanted.value, each.optional) for name, each in kind.fields.items()}
        return there(c.cast(node.value, Object(fields)), kind, c.place(node))
    return c.cast(node.value, wanted)


def _sure_names(node: n.Entry | n.Spread) -> Iterable[str]:
    """The fields that an entry puts in, whatever was there before."""
    if isinstance(node, n.Entry):
        return (node.key,)
    given = base(type_of(node.value))
    return (name for name, each in given.fields.items() if not each.optional) if isinstance(given, Object) else ()


def _spread_fields(c: Compiler, node: n.Spread, fields: dict[str, Field]) -> list[tuple[ast.expr | None, ast.expr]]:
    """`...value` of an object, with those of its fields looked at that stay."""
    given = base(type_of(node.value))
    own = given.fields if isinstance(given, Object) else {}
    wanted = Object({name: Field(fields[name].type, field.optional) for name, field in own.items() if name in fields})
    value = c.cast(node.value, wanted if own else None)
    place = c.place(node)
    if isinstance(type_of(node.value), Object) and not any(is_mutable(each.type) for each in own.values()):
        return _one_by_one(c, value, own, place) or [(None, there(value, given, place))]
    spread = emit.call("_vspreadfields", [there(value, given, place)], place)
    test = has_no_others(value, given, place) if isinstance(given, Object) else None
    return [(None, spread if test is None else emit.either(test, value, spread, place))]


def _one_by_one(
    c: Compiler, value: ast.expr, fields: dict[str, Field], place: Place
) -> list[tuple[ast.expr | None, ast.expr]]:
    """The fields of an object, where it is certain that it has them."""
    if any(each.optional for each in fields.values()):
        return []
    out: list[tuple[ast.expr | None, ast.expr]] = []
    value, again = once(c, value, place)
    for name in fields:
        out.append((emit.constant(name, place), emit.item(value, emit.constant(name, place), place)))
        value = again
    return out


def bad(_: Compiler, node: n.BadExpr) -> ast.expr:
    """A program with mistakes is never compiled."""
    raise AssertionError(f"compiling what could not be read, at {node.start}")
