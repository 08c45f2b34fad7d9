"""Statements, compiled: a checked tree becomes the code object of a Python module.

The top level is a function, `main`, whose variables are the module's globals: Python is quicker in functions. Variables
of blocks are locals of the function they are in, under names of their own where they would hide one another.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile.code import Code, ImportedName, Variable
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.naming import MAIN, FunctionScope, python_name
from antiphon.lang.compile.statements import Statements
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.source import Source


def compile_program(program: n.Program, source: Source, *, for_tests: bool = False) -> Code:
    """The code of a program that was checked and found sound.

    `for_tests` leaves out what the top level does: there are its declarations, but for those that ask a model.
    """
    code = Code(source)
    compiler = Compiler(source, code)
    tree = compiler.module(program, for_tests)
    try:
        code.main = compile(tree, source.name, "exec", dont_inherit=True)
    except (RecursionError, MemoryError, SyntaxError) as error:
        said = Diagnostic("V0115", f"this program is nested too deeply to be compiled: {error}", 0, 0)
        raise ProgramErrors([(source, said)]) from None
    return code


class Compiler(Statements):
    """Compiles one module: its functions, blocks and top level."""

    def __init__(self, source: Source, code: Code) -> None:
        super().__init__(source, code)
        #: Definitions of functions declared at the top level, which stand before `main`.
        self.top: list[ast.stmt] = []
        self._declarations_only = False
        self._statements: dict[type, Callable[[Any], list[ast.stmt]]] = {
            n.Let: self.let,
            n.Destructure: self.destructure,
            n.Assign: self.assign_statement,
            n.If: self.if_,
            n.For: self.for_,
            n.While: self.while_,
            n.Break: lambda node: [at(ast.Break(), self.place(node))],
            n.Continue: lambda node: [at(ast.Continue(), self.place(node))],
            n.Return: self.return_,
            n.Yield: self.yield_,
            n.Throw: self.throw,
            n.Try: self.try_,
            n.ModelDecl: self.model,
            n.ExprStatement: self.expression_statement,
            n.Block: lambda node: self.block(node.statements),
            n.Test: self._test,
        }

    # The module

    def module(self, program: n.Program, for_tests: bool = False) -> ast.Module:
        """The whole module: functions, then `main`."""
        place = self.between(0, 0)
        self._declarations_only = for_tests
        for statement in program.statements:
            for symbol in _declared(statement):
                self.declare(symbol, statement.end)
                self.code.names[symbol.name] = symbol
        body = self._imports(program)
        body += self._hoisted(program.statements)
        body += self._all(program.statements)
        last = program.statements[-1] if program.statements else None
        if isinstance(last, n.ExprStatement) and body and isinstance(body[-1], ast.Expr):
            body[-1] = at(ast.Return(body[-1].value), self.place(last))
        body = [*self._globals(place), *(body or [at(ast.Pass(), place)])]
        main = self.function(MAIN, self.arguments((), (), place), body, place)
        self._remember(MAIN, place, self.scope)
        return ast.Module([*self.top, main], [])

    def _imports(self, program: n.Program) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in program.statements:
            if not isinstance(statement, n.Import):
                continue
            for each in statement.names:
                symbol = each.symbol
                if symbol is None or symbol.kind == "type":
                    continue
                place = self.place(each)
                self.code.imports.append(ImportedName(statement.path, each.name, symbol, each.start, each.end))
                number = self.constant(len(self.code.imports) - 1, place)
                self.scope.globals.add(symbol.python)
                out.append(self.assign(symbol.python, self.runtime("imported", [number], place), place))
        return out

    def _globals(self, place: Place) -> list[ast.stmt]:
        names = sorted(self.scope.globals)
        return [at(ast.Global(names), place)] if names else []

    def _remember(self, name: str, place: Place, scope: FunctionScope) -> None:
        self.code.scopes[name, place[0]] = scope.variables

    def declare(self, symbol: Symbol, since: int) -> None:
        """Give a symbol its Python name, and note it for those who look at the frame."""
        if symbol.python:
            # Declared by an earlier piece of the same session.
            pass
        elif symbol.is_global:
            symbol.python = self._global_name(symbol.name)
        else:
            symbol.python = self.scope.named(symbol.name)
        if symbol.kind in ("let", "const", "parameter", "loop", "caught"):
            seen = max(since, symbol.since)
            self.scope.variables.append(
                Variable(symbol.python, symbol.name, symbol.type, seen, symbol.until, symbol.is_private)
            )

    def _global_name(self, name: str) -> str:
        wish = python_name(name)
        self.scope.taken.add(wish)
        return wish

    # Blocks

    def block(self, statements: list[n.Statement]) -> list[ast.stmt]:
        """The statements of a block with a scope of its own."""
        for statement in statements:
            for symbol in _declared(statement):
                self.declare(symbol, statement.end)
        return [*self._hoisted(statements), *self._all(statements)]

    def body(self, block: n.Block) -> list[ast.stmt]:
        """The same, with at least one statement, as Python wants it."""
        return self.block(block.statements) or [at(ast.Pass(), self.between(block.start, block.start + 1))]

    def _all(self, statements: list[n.Statement]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        # What must stand before the statement around these waits until that is done.
        around, self.before = self.before, []
        for statement in statements:
            compiler = self._statements.get(type(statement))
            if compiler is None:
                continue
            asked, self.asked = self.asked, False
            compiled = compiler(statement)
            left_out = self._declarations_only and self.scope.outer is None and self._is_left_out(statement)
            self.asked = self.asked or asked
            if left_out:
                self.before = []
                continue
            if self.before:
                out += self.before
                self.before = []
            out += compiled
        self.before = around
        return out

    def _is_left_out(self, statement: n.Statement) -> bool:
        """Whether a statement of the top level does something, or needs a model."""
        return self.asked or not isinstance(statement, n.Let | n.Destructure | n.ModelDecl | n.Test)

    def _hoisted(self, statements: list[n.Statement]) -> list[ast.stmt]:
        """Functions and tools, which may be used before they are declared."""
        out: list[ast.stmt] = []
        for statement in statements:
            if type(statement) is n.Function:
                out += self._function(statement)
        return out

    # Functions

    def _function(self, node: n.Function) -> list[ast.stmt]:
        symbol, place = node.symbol, self.place(node)
        if symbol is None:
            return []
        name = python_name(node.name)
        definition = self._definition(node, symbol, name, place)
        out: list[ast.stmt] = [definition]
        value: ast.expr = self.name(name, place)
        if node.is_tool:
            self.code.tools.append(node)
            value = self.runtime("tool", [self.constant(len(self.code.tools) - 1, place), value], place)
        if symbol.is_global and not node.is_tool and name == symbol.python:
            self.top.append(definition)
            return []
        if node.is_tool or name != symbol.python:
            out.append(self.bind(symbol, value, place))
            if name != symbol.python and not symbol.is_global:
                self.scope.taken.add(name)
        return out

    def _definition(self, node: n.Function, symbol: Symbol, name: str, place: Place) -> ast.stmt:
        outer, before, asked = self.scope, self.before, self.asked
        self.scope = FunctionScope(node, outer, set())
        self.before, self.asked = [], False
        signature = symbol.type
        if isinstance(signature, Signature) and node.returns is not None:
            self.scope.returns = signature.returns
        prologue, names, defaults = self._parameters(node.parameters)
        body = [*prologue, *self.body(node.body)]
        if self.asked:
            body = self._with_history(body, place)
        body = [*self._outer_names(place), *body]
        arguments = self.arguments(names, defaults, place)
        self._remember(name, place, self.scope)
        self.scope, self.before, self.asked = outer, before, asked
        return self.function(name, arguments, body, place)

    def _outer_names(self, place: Place) -> list[ast.stmt]:
        """What this function assigns outside of itself."""
        out = self._globals(place)
        outside = sorted(self.scope.outside)
        if outside:
            out.append(at(ast.Nonlocal(outside), place))
            if self.scope.outer is not None:
                self.scope.outer.outside |= {name for name in outside if name not in self.scope.outer.taken}
        return out

    def _parameters(self, parameters: list[n.Parameter]) -> tuple[list[ast.stmt], list[str], list[ast.expr]]:
        prologue: list[ast.stmt] = []
        names: list[str] = []
        defaults: list[ast.expr] = []
        for each in parameters:
            if each.symbol is None:
                continue
            place = self.place(each)
            self.declare(each.symbol, each.start)
            names.append(each.symbol.python)
            if each.default is None:
                continue
            defaults.append(self.name("_vmissing", place))
            test = self.compare(self.name(each.symbol.python, place), ast.Is(), self.name("_vmissing", place), place)
            value = self.cast(each.default, each.symbol.type)
            prologue.append(at(ast.If(test, [self.assign(each.symbol.python, value, place)], []), place))
        return prologue, names, defaults

    def _with_history(self, body: list[ast.stmt], place: Place) -> list[ast.stmt]:
        """A function's body whose history is gone when it returns."""
        mark = self.temporary()
        leave = self.expression(self.runtime("leave", [self.name(mark, place)], place), place)
        return [
            self.assign(mark, self.runtime("enter", [], place), place),
            at(ast.Try(body, [], [], [leave]), place),
        ]

    def async_body(self, node: n.AsyncFor) -> str:
        """The body of an `async for`, as a function that gives what was yielded."""
        outer, before, place = self.scope, self.before, self.place(node)
        self.asked = True
        name = f"_vasync{len(self.code.scopes)}"
        self.scope = FunctionScope(node, outer, set())
        self.before = []
        self.scope.collects = self.temporary()
        parameter = "_vunused"
        if node.symbol is not None:
            self.declare(node.symbol, node.start)
            parameter = node.symbol.python
        statements = self.body(node.body)
        collected = self.name(self.scope.collects, place)
        body = [
            self.assign(self.scope.collects, at(ast.List([], ast.Load()), place), place),
            *statements,
            at(ast.Return(collected), place),
        ]
        body = [*self._outer_names(place), *body]
        self._remember(name, place, self.scope)
        self.scope, self.before = outer, before
        self.before.append(self.function(name, self.arguments([parameter], (), place), body, place))
        return name

    def _test(self, node: n.Test) -> list[ast.stmt]:
        place, name = self.place(node), f"_vtest{len(self.code.tests)}"
        outer, before = self.scope, self.before
        self.scope = FunctionScope(node, outer, set())
        self.before = []
        body = self.body(node.body)
        body = [*self._outer_names(place), *body]
        self._remember(name, place, self.scope)
        self.scope, self.before = outer, before
        self.top.append(self.function(name, self.arguments((), (), place), body, place))
        self.code.tests.append((node.name, name, node.start))
        return []


def _declared(statement: n.Statement) -> Iterable[Symbol]:
    """The symbols a statement declares in its block."""
    if isinstance(statement, n.Let | n.Function | n.ModelDecl):
        return [statement.symbol] if statement.symbol is not None else []
    if isinstance(statement, n.Destructure):
        return _pattern_symbols(statement.pattern)
    if isinstance(statement, n.Import):
        return [each.symbol for each in statement.names if each.symbol is not None]
    return ()


def _pattern_symbols(pattern: n.Pattern) -> list[Symbol]:
    out: list[Symbol] = []
    for each in pattern.fields:
        if each.nested is not None:
            out += _pattern_symbols(each.nested)
        elif each.symbol is not None:
            out.append(each.symbol)
    return out
