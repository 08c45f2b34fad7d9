"""Blocks and the Python functions they are in: functions and tools, rounds of `async for`, tests."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import Array
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.naming import FunctionScope, python_name
from antiphon.lang.compile.rounds import boxes, of_this_round
from antiphon.lang.compile.state import STATEMENTS, Compiler
from antiphon.lang.syntax import nodes as n


def block(c: Compiler, statements: list[n.Statement]) -> list[ast.stmt]:
    """The statements of a block with a scope of its own."""
    symbols = {symbol: statement.end for statement in statements for symbol in declared(statement)}
    for symbol, end in symbols.items():
        c.declare(symbol, end)
    anew = boxes(c, statements, symbols) if c.scope.loops else ()
    return [*anew, *hoisted(c, statements), *all_statements(c, statements)]


def suite(c: Compiler, node: n.Block) -> list[ast.stmt]:
    """The same, with at least one statement, as Python wants it."""
    return block(c, node.statements) or [at(ast.Pass(), c.between(node.start, node.start + 1))]


def all_statements(c: Compiler, statements: list[n.Statement]) -> list[ast.stmt]:
    """The statements themselves, each behind the definitions it needs."""
    out: list[ast.stmt] = []
    # What must stand before the statement around these waits until that is done.
    around, c.before = c.before, []
    for statement in statements:
        asked, c.asked = c.asked, False
        compiled = STATEMENTS[type(statement)](c, statement)
        left_out = c.declarations_only and c.scope.outer is None and _is_left_out(c, statement)
        c.asked = c.asked or asked
        if left_out:
            c.before = []
            continue
        if c.before:
            out += c.before
            c.before = []
        out += compiled
    c.before = around
    return out


def _is_left_out(c: Compiler, statement: n.Statement) -> bool:
    """Whether a statement of the top level does something, or needs a model."""
    if isinstance(statement, n.Input):
        # In tests nobody gives anything.
        return c.code.inputs[statement.name].is_required
    return c.asked or not isinstance(statement, n.Let | n.Destructure | n.ModelDecl | n.Test)


def hoisted(c: Compiler, statements: list[n.Statement]) -> list[ast.stmt]:
    """Functions and tools, which may be used before they are declared."""
    out: list[ast.stmt] = []
    for statement in statements:
        if type(statement) is n.Function:
            out += _function(c, statement)
    return out


def _function(c: Compiler, node: n.Function) -> list[ast.stmt]:
    symbol, place = node.symbol, c.place(node)
    if symbol is None:
        return []
    name = python_name(node.name)
    definition = _definition(c, node, symbol, name, place)
    out: list[ast.stmt] = [definition]
    value: ast.expr = emit.name(name, place)
    if node.is_tool:
        c.code.tools.append(node)
        value = emit.runtime("tool", [emit.constant(len(c.code.tools) - 1, place), value], place)
    if c.is_global(symbol) and not node.is_tool and name == symbol.python:
        c.top.append(definition)
        return []
    kept = of_this_round(c, value, node, place)
    if node.is_tool or name != symbol.python or kept is not value:
        value = kept
        out.append(c.bind(symbol, value, place))
        if name != symbol.python and not c.is_global(symbol):
            c.scope.taken.add(name)
    return out


def _definition(c: Compiler, node: n.Function, symbol: Symbol, name: str, place: Place) -> ast.stmt:
    asked, c.asked = c.asked, False
    with function_scope(c, node) as scope:
        if isinstance(symbol.type, Signature):
            scope.returns = symbol.type.returns
        prologue, names, defaults = _parameters(c, node.parameters)
        prologue = [*c.before, *prologue]
        c.before = []
        body = [*prologue, *suite(c, node.body)]
        if c.asked:
            body = with_history(c, body, place)
        body = [*outer_names(c, place), *body]
        remember(c, name, place)
    c.asked = asked
    return emit.function(name, emit.arguments(names, defaults, place), body, place)


@contextmanager
def function_scope(c: Compiler, node: n.Function | n.AsyncFor | n.Test | n.Lambda) -> Generator[FunctionScope]:
    """A Python function is compiled; after it, the one around it goes on."""
    outer, before = c.scope, c.before
    c.scope, c.before = FunctionScope(node, outer, set()), []
    yield c.scope
    c.scope, c.before = outer, before


def outer_names(c: Compiler, place: Place) -> list[ast.stmt]:
    """What this function assigns outside of itself."""
    out = assigned_globals(c, place)
    outside = sorted(c.scope.outside)
    if outside:
        out.append(at(ast.Nonlocal(outside), place))
        if c.scope.outer is not None:
            c.scope.outer.outside |= {name for name in outside if name not in c.scope.outer.taken}
    return out


def _parameters(c: Compiler, parameters: list[n.Parameter]) -> tuple[list[ast.stmt], list[str], list[ast.expr]]:
    prologue: list[ast.stmt] = []
    names: list[str] = []
    defaults: list[ast.expr] = []
    for each in parameters:
        if each.symbol is None:
            continue
        place = c.place(each)
        c.declare(each.symbol, each.start)
        names.append(each.symbol.python)
        if each.default is None:
            continue
        defaults.append(emit.name("_vmissing", place))
        test = emit.compare(emit.name(each.symbol.python, place), ast.Is(), emit.name("_vmissing", place), place)
        value = c.cast(each.default, each.symbol.type)
        prologue.append(at(ast.If(test, [emit.assign(each.symbol.python, value, place)], []), place))
    return prologue, names, defaults


def with_history(c: Compiler, body: list[ast.stmt], place: Place) -> list[ast.stmt]:
    """A function's body whose history is gone when it returns."""
    mark = c.temporary()
    leave = emit.expression(emit.runtime("leave", [emit.name(mark, place)], place), place)
    return [
        emit.assign(mark, emit.runtime("enter", [], place), place),
        at(ast.Try(body, [], [], [leave]), place),
    ]


def async_body(c: Compiler, node: n.AsyncFor) -> str:
    """The body of an `async for`, as a function that gives what was yielded; it is defined before the statement."""
    place, name = c.place(node), f"_vasync{len(c.code.scopes)}"
    c.asked = True
    with function_scope(c, node) as scope:
        scope.collects = c.temporary()
        scope.yields = node.type.item if isinstance(node.type, Array) else None
        parameter = "_vunused"
        if node.symbol is not None:
            c.declare(node.symbol, node.start)
            parameter = node.symbol.python
        statements = suite(c, node.body)
        body = [
            *outer_names(c, place),
            emit.assign(scope.collects, at(ast.List([], ast.Load()), place), place),
            *statements,
            at(ast.Return(emit.name(scope.collects, place)), place),
        ]
        remember(c, name, place)
    c.before.append(emit.function(name, emit.arguments([parameter], (), place), body, place))
    return name


def test(c: Compiler, node: n.Test) -> list[ast.stmt]:
    """`test "what it shows" { … }`, as a function of its own."""
    place, name = c.place(node), f"_vtest{len(c.code.tests)}"
    with function_scope(c, node):
        body = suite(c, node.body)
        body = [*outer_names(c, place), *body]
        remember(c, name, place)
    c.top.append(emit.function(name, emit.arguments((), (), place), body, place))
    c.code.tests.append((node.name, name, node.start))
    return []


def assigned_globals(c: Compiler, place: Place) -> list[ast.stmt]:
    """What says that the function assigns variables of the module."""
    names = sorted(c.scope.globals)
    return [at(ast.Global(names), place)] if names else []


def remember(c: Compiler, name: str, place: Place) -> None:
    """Keep the variables of the function that is compiled for those who look at its frame."""
    c.code.scopes[name, place[0]] = c.scope.variables


_OF_ONE_NAME = (n.Let, n.Input, n.Function, n.ModelDecl)


def declared(statement: n.Statement) -> Iterable[Symbol]:
    """The symbols a statement declares in its block."""
    if isinstance(statement, _OF_ONE_NAME):
        return [statement.symbol] if statement.symbol is not None else []
    if isinstance(statement, n.Destructure):
        return pattern_symbols(statement.pattern)
    if isinstance(statement, n.Import):
        return [each.symbol for each in statement.names if each.symbol is not None]
    return ()


def pattern_symbols(pattern: n.Pattern | n.ArrayPattern) -> list[Symbol]:
    """The symbols a pattern declares."""
    if isinstance(pattern, n.ArrayPattern):
        return list(dict.fromkeys(each.symbol for each in pattern.items if each.symbol is not None))
    out: list[Symbol] = []
    for each in pattern.fields:
        if each.nested is not None:
            out += pattern_symbols(each.nested)
        elif each.symbol is not None:
            out.append(each.symbol)
    return out
