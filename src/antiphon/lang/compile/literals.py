"""Literals, names and strings with holes, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import AI, NUMBER, TEXT, TOOL, Array, Map, Object, base
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import at
from antiphon.lang.compile.guards import class_of
from antiphon.lang.compile.state import Compiler, type_of
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
            values.append(at(ast.FormattedValue(as_text(c, part.value), -1, None), place))
    return at(ast.JoinedStr(values), place)


def as_text(c: Compiler, node: n.Expr) -> ast.expr:
    """An expression as `print` would show it."""
    value, type_ = c.expr(node), type_of(node)
    kind = base(type_)
    if kind == TEXT and not isinstance(type_, AI):
        return value
    place = c.place(node)
    if kind == NUMBER and isinstance(value, ast.Name) and not isinstance(type_, AI):
        # Whole numbers, by far the most, need no call.
        test = emit.compare(class_of(value, place), ast.Is(), emit.name("_vint", place), place)
        return emit.either(test, value, emit.call("_vtext", [value], place), place)
    return emit.call("_vtext", [value], place)


def name(c: Compiler, node: n.Name) -> ast.expr:
    """A variable where it is read; of an `async let`, when it is there."""
    symbol, place = node.symbol, c.place(node)
    if symbol is None:
        return emit.constant(None, place)
    if isinstance(symbol.type, Signature) and node.type is not TOOL:
        from antiphon.lang.compile.function_values import function_name

        value = function_name(c, node, symbol)
        return emit.call("_vwait", [value], place) if symbol.is_async else value
    python = f"_vb_{symbol.name}" if symbol.kind == "builtin" else symbol.python
    value = emit.name(python, place)
    return emit.call("_vwait", [value], place) if symbol.is_async else value


def array(c: Compiler, node: n.ArrayLit) -> ast.expr:
    """`[a, b]`."""
    inner = node.type.item if isinstance(node.type, Array) else None
    return at(ast.List([c.cast(item, inner) for item in node.items], ast.Load()), c.place(node))


def object_(c: Compiler, node: n.ObjectLit) -> ast.expr:
    """`{ key: value }`."""
    if isinstance(node.type, Map):
        keys: list[ast.expr | None] = [emit.constant(entry.key, c.place(entry)) for entry in node.entries]
        return at(ast.Dict(keys, [c.cast(entry.value, node.type.value) for entry in node.entries]), c.place(node))
    fields = node.type.fields if isinstance(node.type, Object) else {}
    keys = [emit.constant(entry.key, c.place(entry)) for entry in node.entries]
    values = [c.cast(entry.value, fields[entry.key].read if entry.key in fields else None) for entry in node.entries]
    return at(ast.Dict(list(keys), values), c.place(node))


def bad(_: Compiler, node: n.BadExpr) -> ast.expr:
    """A program with mistakes is never compiled."""
    raise AssertionError(f"compiling what could not be read, at {node.start}")
