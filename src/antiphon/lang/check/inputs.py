"""What a program is given from outside, and what it gives: `input` and `returns`."""

from __future__ import annotations

from typing import Any, TypeVar

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.notation import shown
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import JSON, Type, has_function, may_be_null
from antiphon.lang.check.written_types import meaning
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    BadExpr,
    BoolLit,
    Destructure,
    Entry,
    Expr,
    ExprStatement,
    Function,
    Import,
    Input,
    Let,
    ModelDecl,
    NullLit,
    NumberLit,
    ObjectLit,
    Returns,
    Spread,
    Statement,
    Test,
    TextLit,
    TypeDecl,
    Unary,
)

_Part = TypeVar("_Part", Expr, Entry)
#: What may stand before `returns`: none of these can end the program.
_BEFORE = (Import, Input, TypeDecl, Function, ModelDecl, Let, Destructure, Test)


class _NotConstant(Exception):
    """An expression that has to be worked out; `node` is the part of it."""

    def __init__(self, node: Expr) -> None:
        super().__init__()
        self.node = node


def input_(c: Checker, node: Input) -> bool:
    """`input name: type = default "description"`: a constant of the program."""
    if not is_at_top(c):
        hint = "move it to the top; a test has what is the default there" if c.in_test else "move it to the top"
        c.report("V0507", "an input stands at the top level of a file", (node.start, node.name_start), hint)
    elif c.in_repl:
        message, hint = "there is no program here that could be given an input", f"write `const {node.name} = …`"
        c.report("V0507", message, (node.start, node.name_start), hint)
    type_ = _type(c, node)
    if node.default is not None:
        c.want(node.default, type_, node.name)
        _check_default(c, node.default)
    symbol = c.symbol(node.name, "const", type_, node.name_start, node.end, private=node.is_private, node=node)
    node.symbol = symbol
    c.declare(symbol)
    return False


def is_at_top(c: Checker) -> bool:
    """Whether this is the top level of a file."""
    return c.scope is c.module and c.frame.node is None


def _written(node: _Part | Spread) -> _Part:
    """What is put in with `...` has to be worked out."""
    if isinstance(node, Spread):
        raise _NotConstant(node.value)
    return node


def constant(node: Expr) -> Any:
    """The value of an expression that has nothing to work out; `_NotConstant` if it has."""
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
            return [constant(_written(each)) for each in node.items]
        case ObjectLit():
            entries = [_written(each) for each in node.entries]
            return {each.key: constant(each.value) for each in entries}
        case _:
            raise _NotConstant(node)


def is_required(type_: Type, default: Expr | None) -> bool:
    """Whether an input has to be given: it has no default, and cannot be null."""
    return default is None and not may_be_null(type_)


def returns(c: Checker, node: Returns) -> bool:
    """`returns type`: what the last expression, or `return`, must give."""
    type_ = meaning(c, node.declared)
    where = node.start, node.start + len("returns")
    if not is_at_top(c) or c.in_repl:
        c.report("V0507", "`returns` stands at the top level of a file", where, "a function says it as `f(): text`")
        return False
    if c.frame.returns is not None:
        c.report("V0419", "the program says twice what it returns", where, "keep one of them")
        return False
    if not all(isinstance(each, _BEFORE) for each in _before(c.module.statements, node)):
        c.report("V0419", "`returns` stands at the head of a program, behind its inputs", where, "move it up")
    if not assignable(type_, JSON):
        c.report("V0420", f"a program gives data, and no `{shown(type_)}`", node.declared)
        type_ = JSON
    c.frame.returns = type_
    return False


def check_end(c: Checker, statements: list[Statement], ends: bool) -> None:
    """That a program which says what it returns ends with a value."""
    wanted = c.frame.returns
    if wanted is None or ends or wanted == JSON or may_be_null(wanted):
        return
    if statements and isinstance(statements[-1], ExprStatement):
        return
    node = next(each for each in statements if isinstance(each, Returns))
    hint = "end it with a value, or every way through it with `return …`"
    c.report("V0501", f"the program does not always return `{shown(wanted)}`", node, hint)


def _type(c: Checker, node: Input) -> Type:
    where = node.name_start, node.name_start + len(node.name)
    if node.declared is None:
        is_number, is_boolean = isinstance(node.default, NumberLit), isinstance(node.default, BoolLit)
        word = "number" if is_number else "boolean" if is_boolean else "text"
        hint = f"write `input {node.name}: {word}{' = …' if node.default is not None else ''}`, or another type"
        c.report("V0420", f"the input `{node.name}` has no type", where, hint)
        return JSON
    type_ = meaning(c, node.declared)
    if assignable(type_, JSON):
        return type_
    hint = f"take its name: `input {node.name}: text`, and `model chosen = {{ name: {node.name} }}`"
    hint = "" if has_function(type_) else hint
    c.report("V0420", f"nobody can give a `{shown(type_)}` from outside; inputs are data", node.declared, hint)
    return JSON


def _check_default(c: Checker, default: Expr) -> None:
    try:
        constant(default)
    except _NotConstant as wrong:
        if not isinstance(wrong.node, BadExpr):
            hint = "write a value here; or let it be null, `text | null`, and work it out below: `x ?? …`"
            c.report("V0421", "the default of an input is a value that needs no working out", wrong.node, hint)


def _before(statements: list[Statement], node: Returns) -> list[Statement]:
    return [each for each in statements if each.start < node.start]
