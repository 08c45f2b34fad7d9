"""Inputs and the result of a program: `input` and `returns`."""

from __future__ import annotations

from typing import Any, TypeVar

from antiphon.lang.syntax.nodes import (
    ArrayLit,
    BadExpr,
    BoolLit,
    Destructure,
    Expr,
    ExprStatement,
    Function,
    Import,
    Input,
    Let,
    ModelDecl,
    NullLit,
    NumberLit,
    ObjectEntry,
    ObjectLit,
    Returns,
    Spread,
    Statement,
    Test,
    TextLit,
    TypeDecl,
    Unary,
)
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.type_annotations import resolve_annotation
from antiphon.lang.typecheck.type_printer import format_type_short
from antiphon.lang.typecheck.types import JSON, Type, has_function, is_nullable

_Part = TypeVar("_Part", Expr, ObjectEntry)
#: Statements that may precede `returns`: none of these can end the program.
_ALLOWED_BEFORE_RETURNS = (Import, Input, TypeDecl, Function, ModelDecl, Let, Destructure, Test)


class _NotConstant(Exception):
    """Raised for an expression that must be evaluated; `node` is the part that is not constant."""

    def __init__(self, node: Expr) -> None:
        super().__init__()
        self.node = node


def check_input(c: Checker, node: Input) -> bool:
    """Check `input name: type = default "description"` and declare it as a constant."""
    if not is_at_top_level(c):
        hint = "move it to the top; a test has what is the default there" if c.is_in_test else "move it to the top"
        c.report("V0507", "an input stands at the top level of a file", (node.start, node.name_start), hint)
    elif c.in_repl:
        message, hint = "there is no program here that could be given an input", f"write `const {node.name} = …`"
        c.report("V0507", message, (node.start, node.name_start), hint)
    type_ = _resolve_input_type(c, node)
    if node.default is not None:
        c.want(node.default, type_, node.name)
        _check_default(c, node.default)
    symbol = c.symbol(node.name, "const", type_, node.name_start, node.end, private=node.is_private, node=node)
    node.symbol = symbol
    c.declare_symbol(symbol)
    return False


def is_at_top_level(c: Checker) -> bool:
    """Return True at the top level of a file."""
    return c.scope is c.module and c.frame.node is None


def _reject_spread(node: _Part | Spread) -> _Part:
    """Return an item that is not a spread; raise `_NotConstant` for a spread."""
    if isinstance(node, Spread):
        raise _NotConstant(node.value)
    return node


def evaluate_constant(node: Expr) -> Any:
    """Return the value of a constant expression; raise `_NotConstant` if it must be evaluated."""
    match node:
        case NumberLit() | BoolLit():
            return node.value
        case NullLit():
            return None
        case TextLit(parts=parts) if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        case Unary(op="-", operand=NumberLit() as number):
            return -number.value
        case ArrayLit():
            return [evaluate_constant(_reject_spread(each)) for each in node.items]
        case ObjectLit():
            entries = [_reject_spread(each) for each in node.entries]
            return {each.key: evaluate_constant(each.value) for each in entries}
        case _:
            raise _NotConstant(node)


def is_required_input(type_: Type, default: Expr | None) -> bool:
    """Return True if an input must be given: it has no default, and cannot be null."""
    return default is None and not is_nullable(type_)


def check_returns(c: Checker, node: Returns) -> bool:
    """Check `returns type`: the type of the last expression, or of `return`."""
    type_ = resolve_annotation(c, node.declared)
    where = node.start, node.start + len("returns")
    if not is_at_top_level(c) or c.in_repl:
        c.report("V0507", "`returns` stands at the top level of a file", where, "a function says it as `f(): text`")
        return False
    if c.frame.returns is not None:
        c.report("V0419", "the program says twice what it returns", where, "keep one of them")
        return False
    if not all(isinstance(each, _ALLOWED_BEFORE_RETURNS) for each in _statements_before(c.module.statements, node)):
        c.report("V0419", "`returns` stands at the head of a program, behind its inputs", where, "move it up")
    if not is_assignable(type_, JSON):
        c.report("V0420", f"a program gives data, and no `{format_type_short(type_)}`", node.declared)
        type_ = JSON
    c.frame.returns = type_
    return False


def check_program_result(c: Checker, statements: list[Statement], ends: bool) -> None:
    """Check that a program with a declared result ends with a value."""
    wanted = c.frame.returns
    if wanted is None or ends or wanted == JSON or is_nullable(wanted):
        return
    if statements and isinstance(statements[-1], ExprStatement):
        return
    node = next(each for each in statements if isinstance(each, Returns))
    hint = "end it with a value, or every way through it with `return …`"
    c.report("V0501", f"the program does not always return `{format_type_short(wanted)}`", node, hint)


def _resolve_input_type(c: Checker, node: Input) -> Type:
    where = node.name_start, node.name_start + len(node.name)
    if node.declared is None:
        is_number, is_boolean = isinstance(node.default, NumberLit), isinstance(node.default, BoolLit)
        word = "number" if is_number else "boolean" if is_boolean else "text"
        hint = f"write `input {node.name}: {word}{' = …' if node.default is not None else ''}`, or another type"
        c.report("V0420", f"the input `{node.name}` has no type", where, hint)
        return JSON
    type_ = resolve_annotation(c, node.declared)
    if is_assignable(type_, JSON):
        return type_
    hint = f"take its name: `input {node.name}: text`, and `model chosen = {{ name: {node.name} }}`"
    hint = "" if has_function(type_) else hint
    c.report(
        "V0420", f"nobody can give a `{format_type_short(type_)}` from outside; inputs are data", node.declared, hint
    )
    return JSON


def _check_default(c: Checker, default: Expr) -> None:
    try:
        evaluate_constant(default)
    except _NotConstant as wrong:
        if not isinstance(wrong.node, BadExpr):
            hint = "write a value here; or let it be null, `text | null`, and work it out below: `x ?? …`"
            c.report("V0421", "the default of an input is a value that needs no working out", wrong.node, hint)


def _statements_before(statements: list[Statement], node: Returns) -> list[Statement]:
    return [each for each in statements if each.start < node.start]
