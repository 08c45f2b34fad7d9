"""Compile a whole module: its functions, and `main`, which is its top level."""

from __future__ import annotations

import ast
from typing import Any

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.code_object import ImportedName
from antiphon.lang.codegen.compiler import Compiler, get_expression_type
from antiphon.lang.codegen.functions import (
    compile_hoisted_functions,
    compile_statements,
    declare_outer_names,
    list_declared_symbols,
    record_variables,
)
from antiphon.lang.codegen.name_mangling import MAIN_FUNCTION, WRAPPER_FUNCTION
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.types import is_json_data


def compile_module_tree(c: Compiler, program: n.Program, *, for_tests: bool = False, whole: bool = True) -> ast.Module:
    """Compile a module to a Python tree: its functions, then `main`.

    If it is not `whole`, more code may follow that uses its names.
    """
    place = c.between(0, 0)
    c.declarations_only = for_tests
    for statement in program.statements:
        for symbol in list_declared_symbols(statement):
            if whole and not symbol.exported and symbol.kind in ("let", "const"):
                if not symbol.is_captured and not symbol.assigned_in:
                    c.own.add(symbol)
                elif symbol.is_assigned or symbol.assigned_in:
                    c.shared.add(symbol)
            c.declare_symbol(symbol, statement.end)
            c.code.names[symbol.name] = symbol
    said = next((each for each in program.statements if isinstance(each, n.Returns)), None)
    c.code.returns = c.scope.returns = said.declared.type if said is not None else None
    body = _compile_imports(c, program)
    body += compile_hoisted_functions(c, program.statements)
    body += compile_statements(c, program.statements)
    last = program.statements[-1] if program.statements else None
    if not isinstance(last, n.ExprStatement) or (whole and not is_json_data(get_expression_type(last.value))):
        pass
    elif body and isinstance(body[-1], ast.Expr):
        value = c.convert_value(body[-1].value, get_expression_type(last.value), c.scope.returns, c.place(last.value))
        body[-1] = set_location(ast.Return(value), c.place(last))
    if c.own and body:
        body = [_export_main_locals(c, body, program)]
    body = [*declare_outer_names(c, place), *(body or [set_location(ast.Pass(), place)])]
    main = emit.make_function(MAIN_FUNCTION, emit.make_arguments((), (), place), body, place)
    record_variables(c, MAIN_FUNCTION, place)
    definitions = [*c.top, main]
    return ast.Module(_wrap_definitions(c, definitions, place) if c.shared else definitions, [])


def _wrap_definitions(c: Compiler, definitions: list[Any], place: SourceLocation) -> list[ast.stmt]:
    """Wrap the functions in one that holds their shared variables, because assigning globals is slow in Python."""
    names = sorted(each.python for each in c.shared)
    targets = [set_location(ast.Name(each, ast.Del()), place) for each in names]
    body = [
        set_location(ast.Global(sorted({each.name for each in definitions})), place),
        *(emit.make_assignment(each, emit.make_constant(None, place), place) for each in names),
        set_location(ast.Delete(targets), place),
        *definitions,
    ]
    around = emit.make_function(WRAPPER_FUNCTION, emit.make_arguments((), (), place), body, place)
    return [around, emit.make_expression_statement(emit.make_global_call(WRAPPER_FUNCTION, [], place), place)]


def _export_main_locals(c: Compiler, body: list[ast.stmt], program: n.Program) -> ast.stmt:
    """Wrap the top level so that its local variables become module globals when it ends, even by an error."""
    place = c.place(program.statements[-1])
    place = place[:2] + place[:2]
    spaces = [emit.make_global_call("_vglobals", [], place), emit.make_global_call("_vlocals", [], place)]
    keep = emit.make_global_call("_vkeep", spaces, place)
    return set_location(ast.Try(body, [], [], [emit.make_expression_statement(keep, place)]), place)


def _compile_imports(c: Compiler, program: n.Program) -> list[ast.stmt]:
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
            number = emit.make_constant(len(c.code.imports) - 1, place)
            c.scope.globals.add(symbol.python)
            out.append(
                emit.make_assignment(symbol.python, emit.make_runtime_call("import_name", [number], place), place)
            )
    return out
