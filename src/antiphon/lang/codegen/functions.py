"""Compile blocks and the Python functions that contain them: functions, tools, `async for` bodies and tests."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.compiler import STATEMENT_RULES, Compiler, FunctionScope, mangle_name
from antiphon.lang.codegen.loops import capture_iteration, make_loop_cells
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.symbols import Symbol


def compile_block(c: Compiler, statements: list[n.Statement]) -> list[ast.stmt]:
    """Compile the statements of a block with a scope of its own."""
    symbols = {symbol: statement.end for statement in statements for symbol in list_declared_symbols(statement)}
    for symbol, end in symbols.items():
        c.declare_symbol(symbol, end)
    anew = make_loop_cells(c, statements, symbols) if c.scope.loops else ()
    return [*anew, *compile_hoisted_functions(c, statements), *compile_statements(c, statements)]


def compile_suite(c: Compiler, node: n.Block) -> list[ast.stmt]:
    """Compile a block to at least one statement, as Python requires."""
    return compile_block(c, node.statements) or [set_location(ast.Pass(), c.between(node.start, node.start + 1))]


def compile_statements(c: Compiler, statements: list[n.Statement]) -> list[ast.stmt]:
    """Compile statements, each after the definitions it needs."""
    out: list[ast.stmt] = []
    # Definitions for the enclosing statement are put aside until that one is compiled.
    around, c.before = c.before, []
    for statement in statements:
        asked, c.asked = c.asked, False
        compiled = STATEMENT_RULES[type(statement)](c, statement)
        left_out = c.declarations_only and c.scope.outer is None and _is_skipped_in_tests(c, statement)
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


def _is_skipped_in_tests(c: Compiler, statement: n.Statement) -> bool:
    """Return True if a top-level statement does something, or needs a model, and so is left out of tests."""
    if isinstance(statement, n.Input):
        # Tests pass no inputs.
        return c.code.inputs[statement.name].is_required
    return c.asked or not isinstance(statement, n.Let | n.Destructure | n.ModelDecl | n.Test)


def compile_hoisted_functions(c: Compiler, statements: list[n.Statement]) -> list[ast.stmt]:
    """Compile functions and tools, which may be used before they are declared."""
    out: list[ast.stmt] = []
    for statement in statements:
        if type(statement) is n.Function:
            out += _compile_function(c, statement)
    return out


def _compile_function(c: Compiler, node: n.Function) -> list[ast.stmt]:
    symbol, place = node.symbol, c.place(node)
    if symbol is None:
        return []
    name = mangle_name(node.name)
    definition = _compile_definition(c, node, symbol, name, place)
    out: list[ast.stmt] = [definition]
    value: ast.expr = emit.make_name(name, place)
    if node.is_tool:
        c.code.tools.append(node)
        value = emit.make_runtime_call("declare_tool", [emit.make_constant(len(c.code.tools) - 1, place), value], place)
    if c.is_global(symbol) and not node.is_tool and name == symbol.python:
        c.top.append(definition)
        return []
    kept = capture_iteration(c, value, node, place)
    if node.is_tool or name != symbol.python or kept is not value:
        value = kept
        out.append(c.bind(symbol, value, place))
        if name != symbol.python and not c.is_global(symbol):
            c.scope.taken.add(name)
    return out


def _compile_definition(c: Compiler, node: n.Function, symbol: Symbol, name: str, place: SourceLocation) -> ast.stmt:
    asked, c.asked = c.asked, False
    with function_scope(c, node) as scope:
        if isinstance(symbol.type, t.CallableType):
            scope.returns = symbol.type.returns
        prologue, names, defaults = _compile_parameters(c, node.parameters)
        prologue = [*c.before, *prologue]
        c.before = []
        body = [*prologue, *compile_suite(c, node.body)]
        if c.asked:
            body = wrap_with_history(c, body, place)
        body = [*declare_outer_names(c, place), *body]
        record_variables(c, name, place)
    c.asked = asked
    return emit.make_function(name, emit.make_arguments(names, defaults, place), body, place)


@contextmanager
def function_scope(c: Compiler, node: n.Function | n.AsyncFor | n.Test | n.Lambda) -> Generator[FunctionScope]:
    """Compile a Python function in a scope of its own; afterwards the enclosing scope is current again."""
    outer, before = c.scope, c.before
    c.scope, c.before = FunctionScope(node, outer, set()), []
    yield c.scope
    c.scope, c.before = outer, before


def declare_outer_names(c: Compiler, place: SourceLocation) -> list[ast.stmt]:
    """Return `global` and `nonlocal` statements for the outer variables that the function assigns."""
    names, outside = sorted(c.scope.globals), sorted(c.scope.outside)
    out: list[ast.stmt] = [set_location(ast.Global(names), place)] if names else []
    if outside:
        out.append(set_location(ast.Nonlocal(outside), place))
        if c.scope.outer is not None:
            c.scope.outer.outside |= {name for name in outside if name not in c.scope.outer.taken}
    return out


def _compile_parameters(c: Compiler, parameters: list[n.Parameter]) -> tuple[list[ast.stmt], list[str], list[ast.expr]]:
    prologue: list[ast.stmt] = []
    names: list[str] = []
    defaults: list[ast.expr] = []
    for each in parameters:
        if each.symbol is None:
            continue
        place = c.place(each)
        c.declare_symbol(each.symbol, each.start)
        names.append(each.symbol.python)
        if each.default is None:
            continue
        defaults.append(emit.make_name("_vmissing", place))
        test = emit.make_comparison(
            emit.make_name(each.symbol.python, place), ast.Is(), emit.make_name("_vmissing", place), place
        )
        value = c.cast(each.default, each.symbol.type)
        prologue.append(set_location(ast.If(test, [emit.make_assignment(each.symbol.python, value, place)], []), place))
    return prologue, names, defaults


def wrap_with_history(c: Compiler, body: list[ast.stmt], place: SourceLocation) -> list[ast.stmt]:
    """Wrap the body of a function so that its history is discarded when it returns."""
    mark = c.make_temporary()
    leave = emit.make_expression_statement(
        emit.make_runtime_call("leave_function", [emit.make_name(mark, place)], place), place
    )
    return [
        emit.make_assignment(mark, emit.make_runtime_call("enter_function", [], place), place),
        set_location(ast.Try(body, [], [], [leave]), place),
    ]


def compile_async_body(c: Compiler, node: n.AsyncFor) -> str:
    """Compile the body of an `async for` to a function that returns the yielded values, and return its name."""
    place, name = c.place(node), f"_vasync{len(c.code.scopes)}"
    c.asked = True
    with function_scope(c, node) as scope:
        scope.result_list = c.make_temporary()
        scope.yields = node.type.item if isinstance(node.type, t.Array) else None
        parameter = "_vunused"
        if node.symbol is not None:
            c.declare_symbol(node.symbol, node.start)
            parameter = node.symbol.python
        statements = compile_suite(c, node.body)
        body = [
            *declare_outer_names(c, place),
            emit.make_assignment(scope.result_list, set_location(ast.List([], ast.Load()), place), place),
            *statements,
            set_location(ast.Return(emit.make_name(scope.result_list, place)), place),
        ]
        record_variables(c, name, place)
    c.before.append(emit.make_function(name, emit.make_arguments([parameter], (), place), body, place))
    return name


def compile_test(c: Compiler, node: n.Test) -> list[ast.stmt]:
    """Compile `test "title" { … }` to a function of its own."""
    place, name = c.place(node), f"_vtest{len(c.code.tests)}"
    with function_scope(c, node):
        body = compile_suite(c, node.body)
        body = [*declare_outer_names(c, place), *body]
        record_variables(c, name, place)
    c.top.append(emit.make_function(name, emit.make_arguments((), (), place), body, place))
    c.code.tests.append((node.name, name, node.start))
    return []


def record_variables(c: Compiler, name: str, place: SourceLocation) -> None:
    """Record the variables of the compiled function, for reading them from its frames at run time."""
    c.code.scopes[name, place[0]] = c.scope.variables


_SINGLE_NAME_STATEMENTS = (n.Let, n.Input, n.Function, n.ModelDecl)


def list_declared_symbols(statement: n.Statement) -> Iterable[Symbol]:
    """Return the symbols a statement declares in its block."""
    if isinstance(statement, _SINGLE_NAME_STATEMENTS):
        return [statement.symbol] if statement.symbol is not None else []
    if isinstance(statement, n.Destructure):
        return list_pattern_symbols(statement.pattern)
    if isinstance(statement, n.Import):
        return [each.symbol for each in statement.names if each.symbol is not None]
    return ()


def list_pattern_symbols(pattern: n.Pattern | n.ArrayPattern) -> list[Symbol]:
    """Return the symbols a pattern declares."""
    if isinstance(pattern, n.ArrayPattern):
        return list(dict.fromkeys(each.symbol for each in pattern.items if each.symbol is not None))
    out: list[Symbol] = []
    for each in pattern.fields:
        if each.nested is not None:
            out += list_pattern_symbols(each.nested)
        elif each.symbol is not None:
            out.append(each.symbol)
    return out
