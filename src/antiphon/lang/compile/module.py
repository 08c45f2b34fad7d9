"""A whole module, compiled: its functions, and `main`, which is its top level."""

from __future__ import annotations

import ast
from typing import Any

from antiphon.lang.check.types import is_data
from antiphon.lang.compile import emit
from antiphon.lang.compile.code import ImportedName
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.functions import all_statements, declared, hoisted, outer_names, remember
from antiphon.lang.compile.naming import AROUND, MAIN
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n


def module(c: Compiler, program: n.Program, *, for_tests: bool = False, whole: bool = True) -> ast.Module:
    """The module: functions, then `main`. What is not the whole of it may be followed by more that uses its names."""
    place = c.between(0, 0)
    c.declarations_only = for_tests
    for statement in program.statements:
        for symbol in declared(statement):
            if whole and not symbol.exported and symbol.kind in ("let", "const"):
                if not symbol.is_captured and not symbol.assigned_in:
                    c.own.add(symbol)
                elif symbol.assigned or symbol.assigned_in:
                    c.shared.add(symbol)
            c.declare(symbol, statement.end)
            c.code.names[symbol.name] = symbol
    said = next((each for each in program.statements if isinstance(each, n.Returns)), None)
    c.code.returns = c.scope.returns = said.declared.type if said is not None else None
    body = _imports(c, program)
    body += hoisted(c, program.statements)
    body += all_statements(c, program.statements)
    last = program.statements[-1] if program.statements else None
    if not isinstance(last, n.ExprStatement) or (whole and not is_data(type_of(last.value))):
        pass
    elif body and isinstance(body[-1], ast.Expr):
        value = c.fitted(body[-1].value, type_of(last.value), c.scope.returns, c.place(last.value))
        body[-1] = at(ast.Return(value), c.place(last))
    if c.own and body:
        body = [_kept(c, body, program)]
    body = [*outer_names(c, place), *(body or [at(ast.Pass(), place)])]
    main = emit.function(MAIN, emit.arguments((), (), place), body, place)
    remember(c, MAIN, place)
    definitions = [*c.top, main]
    return ast.Module(_around(c, definitions, place) if c.shared else definitions, [])


def _around(c: Compiler, definitions: list[Any], place: Place) -> list[ast.stmt]:
    """The functions inside of one that has the variables that they share: Python is slow at assigning globals."""
    names = sorted(each.python for each in c.shared)
    targets = [at(ast.Name(each, ast.Del()), place) for each in names]
    body = [
        at(ast.Global(sorted({each.name for each in definitions})), place),
        *(emit.assign(each, emit.constant(None, place), place) for each in names),
        at(ast.Delete(targets), place),
        *definitions,
    ]
    around = emit.function(AROUND, emit.arguments((), (), place), body, place)
    return [around, emit.expression(emit.call(AROUND, [], place), place)]


def _kept(c: Compiler, body: list[ast.stmt], program: n.Program) -> ast.stmt:
    """The top level, after which its own variables are found among the module's, however it ended."""
    place = c.place(program.statements[-1])
    place = place[:2] + place[:2]
    spaces = [emit.call("_vglobals", [], place), emit.call("_vlocals", [], place)]
    keep = emit.call("_vkeep", spaces, place)
    return at(ast.Try(body, [], [], [emit.expression(keep, place)]), place)


def _imports(c: Compiler, program: n.Program) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for statement in program.statements:
        if not isinstance(statement, n.Import):
            continue
        for each in statement.names:
            symbol = each.symbol
            if symbol is None or symbol.kind == "type":
                continue
            place = c.place(each)
            c.code.imports.append(ImportedName(statement.path, each.name, symbol, each.start, each.end))
            number = emit.constant(len(c.code.imports) - 1, place)
            c.scope.globals.add(symbol.python)
            out.append(emit.assign(symbol.python, emit.runtime("imported", [number], place), place))
    return out
