"""Declarations: variables, patterns, types, and what is known in a block before it begins."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.check.functions import declare_function
from antiphon.lang.check.imports import hoist_types
from antiphon.lang.check.iteration import literal_items
from antiphon.lang.check.making import widened
from antiphon.lang.check.narrowing import assigned
from antiphon.lang.check.notation import shown
from antiphon.lang.check.patterns import taken_apart
from antiphon.lang.check.remedies import nothing_hint
from antiphon.lang.check.state import HOISTED, Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, JSON, MODEL, NULL, Type, is_data, is_mutable, may_be_null, plain
from antiphon.lang.check.written_types import declare_types, meaning
from antiphon.lang.syntax.nodes import (
    Ask,
    AsyncFor,
    Call,
    Destructure,
    Expr,
    Function,
    Lambda,
    Let,
    Member,
    ModelDecl,
    Node,
    NullLit,
    Started,
    Statement,
    TypeDecl,
)


def hoist(c: Checker, statements: Iterable[Statement]) -> None:
    """Make the functions, tools and types of a block known, which may be used before they are declared."""
    if c.scope is c.module:
        hoist_types(c, statements)
    found = [each for each in statements if type(each) in HOISTED]
    types: list[Symbol] = []
    for each in found:
        if isinstance(each, TypeDecl):
            symbol = each.symbol = c.symbol(each.name, "type", JSON, each.name_start, c.scope.start, node=each)
            c.declare(symbol)
            types.append(symbol)
    declare_types(c, types)
    for each in found:
        if isinstance(each, Function):
            declare_function(c, each)


def let(c: Checker, node: Let) -> bool:
    """`let name: type = value`."""
    declared = meaning(c, node.declared) if node.declared is not None else None
    value = node.value
    if value is None:
        type_ = declared or JSON
        _check_empty(c, node, declared)
    elif declared is None:
        type_ = c.expr(value)
        if type_ is NULL and isinstance(value, Call) and isinstance(value.callee, Member):
            c.warn("V0704", "nothing is given here: it is always null", value, nothing_hint(c, value))
        type_ = type_ if node.is_const and not is_mutable(type_) else widened(value, type_)
    else:
        if type(value) is Lambda:
            # It may call itself.
            _declare(c, node, declared)
        c.want(value, declared, node.name)
        type_ = AI(plain(declared)) if type(value) is Ask and is_data(declared) else declared
    if not node.is_const and plain(type_) is MODEL:
        hint = f"write `const {node.name} = …`"
        c.report("V0405", "model values are const only", _name(node), hint)
    if node.is_async:
        _check_async(c, value)
    symbol = node.symbol or _declare(c, node, type_)
    symbol.is_async = node.is_async
    symbol.items = literal_items(value) if declared is None else None
    symbol.node = value if node.is_const and type(value) is Lambda else None
    if node.exported:
        _export_constant(c, node, symbol)
    symbol.is_open = declared is None and type(value) is NullLit and not node.is_const
    if value is not None and (declared is not None or symbol.is_open) and value.type is not None:
        assigned(c, symbol, value.type)
    return False


def started(c: Checker, node: Started) -> bool:
    """`async do …` on its own."""
    c.expr(node.value)
    _check_async(c, node.value)
    return False


def _declare(c: Checker, node: Let, type_: Type) -> Symbol:
    kind = "const" if node.is_const else "let"
    symbol = node.symbol = c.symbol(node.name, kind, type_, node.name_start, node.end, private=node.is_private)
    c.declare(symbol)
    return symbol


def destructure(c: Checker, node: Destructure) -> bool:
    """`const { name: text } = value`, `const [a, b] = value`."""
    kind = "const" if node.is_const else "let"
    for symbol in taken_apart(c, node, kind):
        symbol.is_async = node.is_async
        if node.exported:
            _export_constant(c, node, symbol)
        c.declare(symbol)
    if node.is_async:
        _check_async(c, node.value)
    return False


def type_declaration(c: Checker, node: TypeDecl) -> bool:
    """`type Name …`: known since the block began."""
    if node.exported and node.symbol is not None:
        export(c, node, node.symbol)
    return False


def _export_constant(c: Checker, node: Let | Destructure, symbol: Symbol) -> None:
    """Others get the value that a name has when they import it: one that changes would be something else for them."""
    if not node.is_const:
        hint = "write `export const`, or export a function that gives its value"
        c.report("V0508", "a variable that can change cannot be exported", (node.start, node.start + 6), hint)
    export(c, node, symbol)


def export(c: Checker, node: Node, symbol: Symbol) -> None:
    """Mark what a module gives to others, which is only what stands at its top level."""
    symbol.exported = True
    if c.scope is not c.module:
        c.report("V0507", "only what stands at the top level of a file can be exported", (node.start, node.start + 6))


def _name(node: Let | ModelDecl) -> tuple[int, int]:
    return node.name_start, node.name_start + len(node.name)


def _check_empty(c: Checker, node: Let, declared: Type | None) -> None:
    if node.is_const:
        c.report("V0404", f"the constant `{node.name}` has no value", _name(node), f"write `const {node.name} = …`")
    elif declared is None:
        hint = f"write `let {node.name} = …`, or `let {node.name}: text | null` for one that is null at first"
        c.report("V0404", f"`{node.name}` has neither a value nor a type", _name(node), hint)
    elif declared is not JSON and not may_be_null(declared):
        text = shown(declared)
        hint = f"give it one, or let it be null at first: `let {node.name}: {text} | null`"
        if c.scope is c.module:
            hint += f"; what is given from outside is `input {node.name}: {text}`"
        c.report("V0404", f"`{node.name}` needs a value: `{text}` is never null", _name(node), hint)


def _check_async(c: Checker, value: Expr | None) -> None:
    if value is not None and not isinstance(value, Ask | Call | AsyncFor):
        message = "only a call can be started with `async`: `do`, `vibe`, a function, or `async for`"
        c.report("V0416", message, value, "leave out `async`")
