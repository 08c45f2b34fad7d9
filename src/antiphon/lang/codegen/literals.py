"""Compile literals, names and interpolated strings."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import is_float, is_integer
from antiphon.lang.codegen.compiler import Compiler, evaluate_once, get_expression_type, has_plain_type, make_class_test
from antiphon.lang.codegen.members import drop_null_fields, make_exact_fields_test
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.invariance import can_share, has_immutable_items, is_fresh_value


def compile_literal(c: Compiler, node: n.NumberLit | n.BoolLit | n.NullLit) -> ast.expr:
    """Compile `3`, `true` or `null`."""
    return emit.make_constant(None if isinstance(node, n.NullLit) else node.value, c.place(node))


def compile_text(c: Compiler, node: n.TextLit) -> ast.expr:
    """Compile a string with its interpolations."""
    place = c.place(node)
    parts = node.parts
    if not parts or (len(parts) == 1 and type(parts[0]) is str):
        return emit.make_constant(parts[0] if parts else "", place)
    values: list[ast.expr] = []
    for part in parts:
        if isinstance(part, str):
            values.append(emit.make_constant(part, place))
        else:
            values.append(
                set_location(ast.FormattedValue(compile_as_text(c, part.value, is_interpolated=True), -1, None), place)
            )
    return set_location(ast.JoinedStr(values), place)


def compile_as_text(c: Compiler, node: n.Expr, is_interpolated: bool = False) -> ast.expr:
    """Compile an expression as the text `print` would show.

    In an interpolation (`is_interpolated`), integers are left to Python's own formatting.
    """
    value, place = c.expr(node), c.place(node)
    if has_plain_type(node, t.TEXT):
        return value
    if has_plain_type(node, t.NUMBER):
        return compile_number_text(c, node, value, place, is_interpolated)
    return emit.make_call("to_text", [value], place)


def compile_number_text(
    c: Compiler, node: n.Expr, value: ast.expr, place: SourceLocation, is_interpolated: bool = False
) -> ast.expr:
    """Compile a number as text."""
    if is_integer(c, node):
        return value if is_interpolated else emit.make_call("str", [value], place)
    if is_float(node):
        return emit.make_call("format_float", [value], place)
    test, again = make_class_test(c, value, "int", place)
    whole = again if is_interpolated else emit.make_call("str", [again], place)
    return emit.make_conditional(test, whole, emit.make_call("to_text", [again], place), place)


def compile_name(c: Compiler, node: n.Name) -> ast.expr:
    """Compile a variable that is read; the value of an `async let` is waited for."""
    symbol, place = node.symbol, c.place(node)
    if symbol is None:
        return emit.make_constant(None, place)
    if isinstance(symbol.type, t.CallableType) and node.type is not t.TOOL:
        from antiphon.lang.codegen.lambdas import compile_function_name

        value = compile_function_name(c, node, symbol)
        return emit.make_call("wait_for_value", [value], place) if symbol.is_async else value
    value = emit.make_name(f"_vb_{symbol.name}", place) if symbol.kind == "builtin" else c.read(symbol, place)
    if symbol.is_async:
        value = emit.make_call("wait_for_value", [value], place)
    if symbol.type == t.JSON and node.type not in (t.JSON, None):
        # The type was narrowed: of an AI result, take its value.
        return emit.make_call("unwrap_answer", [value], place)
    return value


def compile_array(c: Compiler, node: n.ArrayLit) -> ast.expr:
    """Compile `[a, ...b]`."""
    inner = node.type.item if isinstance(node.type, t.Array) else None
    items = [
        _compile_spread_items(c, each, inner) if isinstance(each, n.Spread) else c.cast(each, inner)
        for each in node.items
    ]
    return set_location(ast.List(items, ast.Load()), c.place(node))


def _compile_spread_items(c: Compiler, node: n.Spread, inner: t.Type | None) -> ast.expr:
    """Compile `...value` in an array."""
    place, type_ = c.place(node), get_expression_type(node.value)
    # Only the items are kept, not the array.
    take = c.compile_borrowed if has_immutable_items(type_) else c.cast
    value = take(node.value, t.Array(inner) if inner is not None else None)
    if (
        inner == t.JSON
        and isinstance(type_, t.Array)
        and not can_share(type_.item, t.JSON)
        and not is_fresh_value(node.value)
    ):
        value = emit.make_call("copy_value", [value], place)
    if (
        not isinstance(type_, t.Array)
        or not isinstance(t.get_base_type(type_.item), t.SimpleType)
        or type_.item == t.JSON
    ):
        value = emit.make_call("spread_array", [value], place)
    return set_location(ast.Starred(value, ast.Load()), place)


def compile_object(c: Compiler, node: n.ObjectLit) -> ast.expr:
    """Compile `{ key: value, ...other }`."""
    if isinstance(node.type, t.Map):
        return _compile_map(c, node, node.type)
    fields = node.type.fields if isinstance(node.type, t.Object) else {}
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    spreads = any(isinstance(each, n.Spread) for each in node.entries)
    for place, entry in enumerate(node.entries):
        # Only the last value of a field must fit its type.
        later = {name for each in node.entries[place + 1 :] for name in _list_certain_names(each)} if spreads else ()
        if isinstance(entry, n.Spread):
            spread = _compile_spread_fields(c, entry, {name: fields[name] for name in fields if name not in later})
            keys += (key for key, _ in spread)
            values += (value for _, value in spread)
        else:
            keys.append(emit.make_constant(entry.key, c.place(entry)))
            known = entry.key in fields and entry.key not in later
            values.append(c.cast(entry.value, fields[entry.key].read if known else None))
    return set_location(ast.Dict(keys, values), c.place(node))


def _compile_map(c: Compiler, node: n.ObjectLit, type_: t.Map) -> ast.expr:
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    for entry in node.entries:
        if isinstance(entry, n.Spread):
            keys.append(None)
            values.append(emit.make_call("spread_object", [_compile_map_spread(c, entry, type_)], c.place(entry)))
        else:
            keys.append(emit.make_constant(entry.key, c.place(entry)))
            values.append(c.cast(entry.value, type_.value))
    return set_location(ast.Dict(keys, values), c.place(node))


def _compile_map_spread(c: Compiler, node: n.Spread, wanted: t.Map) -> ast.expr:
    """Compile what is spread into a map: another map, or an object whose fields all fit."""
    kind = t.get_base_type(get_expression_type(node.value))
    if isinstance(kind, t.Object):
        fields = {name: t.ObjectField(wanted.value, each.optional) for name, each in kind.fields.items()}
        return drop_null_fields(c.cast(node.value, t.Object(fields)), kind, c.place(node))
    return c.cast(node.value, wanted)


def _list_certain_names(node: n.ObjectEntry | n.Spread) -> Iterable[str]:
    """Return the fields that an entry always sets."""
    if isinstance(node, n.ObjectEntry):
        return (node.key,)
    given = t.get_base_type(get_expression_type(node.value))
    return (name for name, each in given.fields.items() if not each.optional) if isinstance(given, t.Object) else ()


def _compile_spread_fields(
    c: Compiler, node: n.Spread, fields: dict[str, t.ObjectField]
) -> list[tuple[ast.expr | None, ast.expr]]:
    """Compile `...value` in an object; only fields that are not overwritten later are type-checked."""
    given = t.get_base_type(get_expression_type(node.value))
    own = given.fields if isinstance(given, t.Object) else {}
    wanted = t.Object(
        {name: t.ObjectField(fields[name].type, field.optional) for name, field in own.items() if name in fields}
    )
    value = c.cast(node.value, wanted if own else None)
    place = c.place(node)
    if isinstance(get_expression_type(node.value), t.Object) and not any(
        t.is_mutable(each.type) for each in own.values()
    ):
        return _copy_fields_individually(c, value, own, place) or [(None, drop_null_fields(value, given, place))]
    spread = emit.make_call("spread_object", [drop_null_fields(value, given, place)], place)
    test = make_exact_fields_test(value, given, place) if isinstance(given, t.Object) else None
    return [(None, spread if test is None else emit.make_conditional(test, value, spread, place))]


def _copy_fields_individually(
    c: Compiler, value: ast.expr, fields: dict[str, t.ObjectField], place: SourceLocation
) -> list[tuple[ast.expr | None, ast.expr]]:
    """Return the fields of an object one by one, if all of them are required; else nothing."""
    if any(each.optional for each in fields.values()):
        return []
    out: list[tuple[ast.expr | None, ast.expr]] = []
    value, again = evaluate_once(c, value, place)
    for name in fields:
        out.append((emit.make_constant(name, place), emit.make_item(value, emit.make_constant(name, place), place)))
        value = again
    return out
