"""Declarations: variables, patterns, types, and the hoisting of names in a block."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.syntax.nodes import (
    AsyncAsk,
    AsyncFor,
    Call,
    Destructure,
    Expr,
    Function,
    Lambda,
    Let,
    Member,
    ModelCall,
    ModelDecl,
    Node,
    NullLit,
    Statement,
    TypeDecl,
)
from antiphon.lang.typecheck.checker import HOISTED_NODES, Checker
from antiphon.lang.typecheck.destructuring import infer_destructured
from antiphon.lang.typecheck.fix_hints import hint_no_result
from antiphon.lang.typecheck.functions import declare_function
from antiphon.lang.typecheck.imports import hoist_imported_types
from antiphon.lang.typecheck.iteration import infer_literal_items
from antiphon.lang.typecheck.mutability.freshness import widen_fresh
from antiphon.lang.typecheck.narrowing import record_assignment
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_annotations import resolve_annotation, resolve_declared_types
from antiphon.lang.typecheck.type_printer import format_type_short
from antiphon.lang.typecheck.types import (
    JSON,
    MODEL,
    NULL,
    AIResultType,
    Type,
    is_json_data,
    is_mutable,
    is_nullable,
    strip_ai_result,
)


def hoist_declarations(c: Checker, statements: Iterable[Statement]) -> None:
    """Declare the functions, tools and types of a block, which may be used before their declaration."""
    if c.scope is c.module:
        hoist_imported_types(c, statements)
    found = [each for each in statements if type(each) in HOISTED_NODES]
    types: list[Symbol] = []
    for each in found:
        if isinstance(each, TypeDecl):
            symbol = each.symbol = c.symbol(each.name, "type", JSON, each.name_start, c.scope.start, node=each)
            c.declare_symbol(symbol)
            types.append(symbol)
    resolve_declared_types(c, types)
    for each in found:
        if isinstance(each, Function):
            declare_function(c, each)


def check_let(c: Checker, node: Let) -> bool:
    """Check `let name: type = value`."""
    declared = resolve_annotation(c, node.declared) if node.declared is not None else None
    value = node.value
    if value is None:
        type_ = declared or JSON
        _check_missing_value(c, node, declared)
    elif declared is None:
        type_ = c.expr(value)
        if type_ is NULL and isinstance(value, Call) and isinstance(value.callee, Member):
            c.warn("V0704", "nothing is given here: it is always null", value, hint_no_result(c, value))
        type_ = type_ if node.is_const and not is_mutable(type_) else widen_fresh(value, type_)
    else:
        if type(value) is Lambda:
            # Declared first, since a lambda may call itself.
            _declare_variable(c, node, declared)
        c.want(value, declared, node.name)
        type_ = (
            AIResultType(strip_ai_result(declared)) if type(value) is ModelCall and is_json_data(declared) else declared
        )
    if not node.is_const and strip_ai_result(type_) is MODEL:
        hint = f"write `const {node.name} = …`"
        c.report("V0405", "model values are const only", _name_span(node), hint)
    if node.is_async:
        _check_async_value(c, value)
    symbol = node.symbol or _declare_variable(c, node, type_)
    symbol.is_async = node.is_async
    symbol.items = infer_literal_items(value) if declared is None else None
    symbol.node = value if node.is_const and type(value) is Lambda else None
    if node.exported:
        _export_constant(c, node, symbol)
    symbol.is_open = declared is None and type(value) is NullLit and not node.is_const
    if value is not None and (declared is not None or symbol.is_open) and value.type is not None:
        record_assignment(c, symbol, value.type)
    return False


def check_async_ask(c: Checker, node: AsyncAsk) -> bool:
    """Check `async do …` as a statement."""
    c.expr(node.value)
    _check_async_value(c, node.value)
    return False


def _declare_variable(c: Checker, node: Let, type_: Type) -> Symbol:
    kind = "const" if node.is_const else "let"
    symbol = node.symbol = c.symbol(node.name, kind, type_, node.name_start, node.end, private=node.is_private)
    c.declare_symbol(symbol)
    return symbol


def check_destructure(c: Checker, node: Destructure) -> bool:
    """Check `const { name: text } = value` or `const [a, b] = value`."""
    kind = "const" if node.is_const else "let"
    for symbol in infer_destructured(c, node, kind):
        symbol.is_async = node.is_async
        if node.exported:
            _export_constant(c, node, symbol)
        c.declare_symbol(symbol)
    if node.is_async:
        _check_async_value(c, node.value)
    return False


def check_type_declaration(c: Checker, node: TypeDecl) -> bool:
    """Check `type Name …`, which was declared when its block began."""
    if node.exported and node.symbol is not None:
        mark_exported(c, node, node.symbol)
    return False


def _export_constant(c: Checker, node: Let | Destructure, symbol: Symbol) -> None:
    """Mark a constant as exported; report a `let`, since importers would see only the value at import time."""
    if not node.is_const:
        hint = "write `export const`, or export a function that gives its value"
        c.report("V0508", "a variable that can change cannot be exported", (node.start, node.start + 6), hint)
    mark_exported(c, node, symbol)


def mark_exported(c: Checker, node: Node, symbol: Symbol) -> None:
    """Mark a symbol as exported; report one that is not at the top level of its module."""
    symbol.exported = True
    if c.scope is not c.module:
        c.report("V0507", "only what stands at the top level of a file can be exported", (node.start, node.start + 6))


def _name_span(node: Let | ModelDecl) -> tuple[int, int]:
    return node.name_start, node.name_start + len(node.name)


def _check_missing_value(c: Checker, node: Let, declared: Type | None) -> None:
    if node.is_const:
        c.report(
            "V0404", f"the constant `{node.name}` has no value", _name_span(node), f"write `const {node.name} = …`"
        )
    elif declared is None:
        hint = f"write `let {node.name} = …`, or `let {node.name}: text | null` for one that is null at first"
        c.report("V0404", f"`{node.name}` has neither a value nor a type", _name_span(node), hint)
    elif declared is not JSON and not is_nullable(declared):
        text = format_type_short(declared)
        hint = f"give it one, or let it be null at first: `let {node.name}: {text} | null`"
        if c.scope is c.module:
            hint += f"; what is given from outside is `input {node.name}: {text}`"
        c.report("V0404", f"`{node.name}` needs a value: `{text}` is never null", _name_span(node), hint)


def _check_async_value(c: Checker, value: Expr | None) -> None:
    if value is not None and not isinstance(value, ModelCall | Call | AsyncFor):
        message = "only a call can be started with `async`: `do`, `vibe`, a function, or `async for`"
        c.report("V0416", message, value, "leave out `async`")
