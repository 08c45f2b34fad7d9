"""Declarations: variables, patterns, types, and what is known in a block before it begins."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.check.functions import declare_function
from antiphon.lang.check.narrowing import assigned
from antiphon.lang.check.settling import check_shared, check_taken
from antiphon.lang.check.state import HOISTED, Checker, general, shown
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    JSON,
    MODEL,
    Field,
    Object,
    Type,
    assignable,
    base,
    may_be_null,
    plain,
    widen,
    without_null,
)
from antiphon.lang.check.written_types import declare_types, meaning
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.nodes import (
    Ask,
    AskHuman,
    AsyncFor,
    Call,
    Destructure,
    Expr,
    Function,
    Lambda,
    Let,
    ModelDecl,
    Node,
    Pattern,
    PatternField,
    Statement,
    TypeDecl,
)


def hoist(c: Checker, statements: Iterable[Statement]) -> None:
    """Make the functions, tools and types of a block known, which may be used before they are declared."""
    found = [each for each in statements if type(each) in HOISTED]
    if not found:
        return
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
        type_ = type_ if node.is_const else widen(type_)
    else:
        if type(value) is Lambda:
            # It may call itself.
            _declare(c, node, declared)
        (c.fit if node.is_const else c.want)(value, declared, node.name)
        type_ = AI(plain(declared)) if type(value) is Ask else declared
    if not node.is_const and plain(type_) is MODEL:
        hint = f"write `const {node.name} = …`"
        c.report("V0405", "model values are const only", _name(node), hint)
    if node.is_async:
        _check_async(c, value)
    symbol = node.symbol or _declare(c, node, type_)
    symbol.is_async = node.is_async
    if node.exported:
        _export_constant(c, node, symbol)
    if value is not None and not node.is_const:
        check_taken(c, value, symbol)
    if value is not None and declared is not None and may_be_null(declared) and value.type is not None:
        assigned(c, symbol, value.type)
    return False


def _declare(c: Checker, node: Let, type_: Type) -> Symbol:
    kind = "const" if node.is_const else "let"
    symbol = node.symbol = c.symbol(node.name, kind, type_, node.name_start, node.end, private=node.is_private)
    c.declare(symbol)
    return symbol


def destructure(c: Checker, node: Destructure) -> bool:
    """`const { name: text } = value`."""
    leaves: list[PatternField] = []
    wanted = _pattern(c, node.pattern, leaves, set())
    # Of an object that is there already, a pattern takes what it names; of an answer, it says what is expected.
    type_ = c.expr(node.value, wanted if isinstance(node.value, Ask | AskHuman) else None)
    _check_taken_apart(c, node, type_, wanted)
    if node.is_async:
        _check_async(c, node.value)
    kind = "const" if node.is_const else "let"
    taken: dict[str, PatternField] = {}
    for each in leaves:
        if each.name in taken:
            first = Label(taken[each.name].name_start, taken[each.name].name_start + len(each.name), "first here")
            c.report("V0407", f"`{each.name}` is in the pattern twice", _name(each), labels=(first,))
            each.symbol = taken[each.name].symbol
            continue
        taken[each.name] = each
        private = node.is_private or each.is_private
        found = each.declared.type if each.declared is not None and each.declared.type is not None else JSON
        symbol = each.symbol = c.symbol(each.name, kind, found, each.name_start, node.end, private=private)
        symbol.is_async = node.is_async
        if node.exported:
            _export_constant(c, node, symbol)
        c.declare(symbol)
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


def _name(node: Let | PatternField | ModelDecl) -> tuple[int, int]:
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
        c.report("V0404", f"`{node.name}` needs a value: `{text}` is never null", _name(node), hint)


def _check_async(c: Checker, value: Expr | None) -> None:
    if value is not None and not isinstance(value, Ask | Call | AsyncFor):
        message = "only a call can be started with `async`: `do`, `vibe`, a function, or `async for`"
        c.report("V0416", message, value, "leave out `async`")


def _pattern(c: Checker, node: Pattern, leaves: list[PatternField], names: set[str]) -> Object:
    if not node.fields:
        c.report("V0417", "the pattern is empty: it takes nothing", node, "name a field: `{ name: text }`")
    fields: dict[str, Field] = {}
    for each in node.fields:
        type_, optional = _pattern_field(c, each, leaves, names), each.default is not None
        fields[each.name] = Field(type_, optional, each.description)
    node.type = Object(fields)
    return node.type


def _pattern_field(c: Checker, node: PatternField, leaves: list[PatternField], names: set[str]) -> Type:
    if node.nested is not None:
        type_ = _pattern(c, node.nested, leaves, names)
        if node.default is not None:
            c.want(node.default, type_, node.name)
        return type_
    leaves.append(node)
    if node.declared is None:
        hint = f"write `{node.name}: text`, or another type"
        c.report("V0406", f"the field `{node.name}` has no type", _name(node), hint)
        type_: Type = JSON
    else:
        type_ = meaning(c, node.declared)
        if type_ is MODEL:
            c.report("V0301", f"the field `{node.name}` cannot be a model", node.declared)
    if node.default is not None:
        c.want(node.default, type_, node.name)
    return type_


def _check_taken_apart(c: Checker, node: Destructure, type_: Type, wanted: Object) -> None:
    kind = plain(type_)
    if kind is JSON or kind is wanted:
        return
    if not isinstance(base(without_null(kind)), Object):
        message = f"only an object can be taken apart, found `{general(kind)}`"
        c.report("V0408", message, node.value, "an AI call, json, a function that gives an object, or an object")
        return
    if assignable(kind, wanted):
        if not node.is_const:
            check_shared(c, node.value, kind, wanted)
        return
    if not isinstance(kind, Object):
        c.mismatch(node.value, kind, wanted, "")
        return
    _check_pattern_fields(c, node.pattern, kind)


def _check_pattern_fields(c: Checker, pattern: Pattern, kind: Object) -> None:
    """Say which fields of the pattern the object does not have, or has otherwise."""
    for each in pattern.fields:
        given = kind.fields.get(each.name)
        inner = given.type if given is not None else None
        if given is None and each.default is None:
            hint = c.meant(each.name, kind.fields)
            c.report("V0306", f"`{general(kind)}` has no field `{each.name}`", _name(each), hint)
        elif given is not None and given.optional and each.default is None:
            hint = f"give it a default: `{each.name}: {shown(given.type)} = …`"
            c.report("V0301", f"the field `{each.name}` may be missing", _name(each), hint)
        elif each.nested is not None and isinstance(inner, Object):
            _check_pattern_fields(c, each.nested, inner)
        elif inner is not None and (wanted := _leaf_type(each)) is not None and not assignable(inner, wanted):
            c.mismatch(each, inner, wanted, each.name)


def _leaf_type(node: PatternField) -> Type | None:
    return node.declared.type if node.declared is not None else node.nested.type if node.nested is not None else None
