"""Code generation: compile a checked syntax tree to a Python code object and the metadata its run needs.

Nothing runs here. Generated code calls names that `runtime` puts into its globals. The top level becomes
a function, `main`. Its variables are module globals if functions use them or other modules import them;
all others are its locals, because Python is faster with those. Variables of blocks are locals of the
enclosing function, under names of their own where one would shadow another.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Set
from threading import Lock
from types import CodeType
from typing import Any

from antiphon.lang.codegen import (
    calls,
    declarations,
    functions,
    lambdas,
    literals,
    match,
    operators,
    postfix,
    statements,
)
from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.code_object import ImportedName, ModuleCode
from antiphon.lang.codegen.compiler import (
    EXPRESSION_RULES,
    MAIN_FUNCTION,
    STATEMENT_RULES,
    WRAPPER_FUNCTION,
    Compiler,
    get_expression_type,
)
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import types as t

__all__ = ["ModuleCode", "compile_program", "compile_repl_input"]


def compile_program(
    program: n.Program, source: Source, *, for_tests: bool = False, given: Set[str] = frozenset()
) -> ModuleCode:
    """Compile a program that was checked without errors.

    `for_tests` leaves out what the top level does: only declarations remain, without those that ask a model.
    Top-level variables in `given` take their values from outside instead of from their declarations.
    """
    code = ModuleCode(source)
    compiler = Compiler(source, code)
    compiler.given = given
    tree = compile_module_tree(compiler, program, for_tests=for_tests)
    try:
        code.main = _compile_tree(tree, source)
    except (RecursionError, MemoryError, SyntaxError) as error:
        said = Diagnostic("V0115", f"this program is nested too deeply to be compiled: {error}", 0, 0)
        raise ProgramErrors([(source, said)]) from None
    return code


def compile_repl_input(program: n.Program, source: Source, code: ModuleCode) -> None:
    """Compile one input of an interactive session into the code of the inputs before it."""
    tree = compile_module_tree(Compiler(source, code), program, is_complete=False)
    code.main = _compile_tree(tree, source)


#: Enough for the deepest tree that the parser accepts: Python's compiler makes fewer than four calls per node.
_COMPILER_RECURSION_LIMIT = 8_000
_COMPILE_LOCK = Lock()


def _compile_tree(tree: ast.Module, source: Source) -> CodeType:
    """Compile a Python tree to a code object under a raised recursion limit.

    Python's compiler counts its own calls against the limit, and would reject trees that the parser accepts.
    """
    with _COMPILE_LOCK:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _COMPILER_RECURSION_LIMIT))
        try:
            return compile(tree, source.name, "exec", dont_inherit=True)
        finally:
            if sys.getrecursionlimit() == _COMPILER_RECURSION_LIMIT:
                sys.setrecursionlimit(limit)


def compile_module_tree(
    c: Compiler, program: n.Program, *, for_tests: bool = False, is_complete: bool = True
) -> ast.Module:
    """Compile a module to a Python tree: its functions, then `main`.

    If it is not complete, more code may follow that uses its names.
    """
    place = c.between(0, 0)
    c.declarations_only = for_tests
    for statement in program.statements:
        for symbol in functions.list_declared_symbols(statement):
            if is_complete and not symbol.exported and symbol.kind in ("let", "const"):
                if not symbol.is_captured and not symbol.assigned_in:
                    c.own.add(symbol)
                elif symbol.is_assigned or symbol.assigned_in:
                    c.shared.add(symbol)
            c.declare_symbol(symbol, statement.end)
            c.code.names[symbol.name] = symbol
    said = next((each for each in program.statements if isinstance(each, n.Returns)), None)
    c.code.returns = c.scope.returns = said.declared.type if said is not None else None
    body = _compile_imports(c, program)
    body += functions.compile_hoisted_functions(c, program.statements)
    body += functions.compile_statements(c, program.statements)
    last = program.statements[-1] if program.statements else None
    if not isinstance(last, n.ExprStatement) or (is_complete and not t.is_json_data(get_expression_type(last.value))):
        pass
    elif body and isinstance(body[-1], ast.Expr):
        value = c.convert_value(body[-1].value, get_expression_type(last.value), c.scope.returns, c.place(last.value))
        body[-1] = set_location(ast.Return(value), c.place(last))
    if c.own and body:
        body = [_export_main_locals(c, body, program)]
    body = [*functions.declare_outer_names(c, place), *(body or [set_location(ast.Pass(), place)])]
    main = emit.make_function(MAIN_FUNCTION, emit.make_arguments((), (), place), body, place)
    functions.record_variables(c, MAIN_FUNCTION, place)
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
    spaces = [emit.make_call("globals", [], place), emit.make_call("locals", [], place)]
    keep = emit.make_call("publish_main_locals", spaces, place)
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


EXPRESSION_RULES.update(
    {
        n.NumberLit: literals.compile_literal,
        n.TextLit: literals.compile_text,
        n.BoolLit: literals.compile_literal,
        n.NullLit: literals.compile_literal,
        n.ArrayLit: literals.compile_array,
        n.ObjectLit: literals.compile_object,
        n.BadExpr: statements.reject_unreadable,
        n.Name: literals.compile_name,
        n.Unary: operators.compile_unary,
        n.Binary: operators.compile_binary_chain,
        n.Range: operators.compile_range,
        n.Member: postfix.compile_postfix,
        n.Index: postfix.compile_postfix,
        n.Slice: postfix.compile_postfix,
        n.Call: postfix.compile_postfix,
        n.ModelCall: calls.compile_ask_model,
        n.AskHuman: calls.compile_ask_human,
        n.PyBlock: calls.compile_python_block,
        n.AsyncFor: calls.compile_async_for,
        n.Conditional: match.compile_conditional,
        n.Is: match.compile_is_test,
        n.Match: match.compile_match,
        n.Lambda: lambdas.compile_lambda,
    }
)
STATEMENT_RULES.update(
    {
        n.Let: declarations.compile_let,
        n.Destructure: declarations.compile_destructure,
        n.Input: declarations.compile_input,
        n.Returns: declarations.compile_nothing,
        n.TypeDecl: declarations.compile_nothing,
        n.Function: declarations.compile_nothing,
        n.ModelDecl: declarations.compile_model,
        n.Import: declarations.compile_nothing,
        n.Assign: declarations.compile_assignment,
        n.If: statements.compile_if,
        n.MatchStatement: match.compile_match_statement,
        n.For: statements.compile_for,
        n.While: statements.compile_while,
        n.Break: statements.compile_break,
        n.Continue: statements.compile_continue,
        n.Return: statements.compile_return,
        n.Yield: statements.compile_yield,
        n.Throw: statements.compile_throw,
        n.Try: statements.compile_try,
        n.Test: functions.compile_test,
        n.ExprStatement: statements.compile_expression_statement,
        n.Block: statements.compile_inner_block,
        n.BadStatement: statements.reject_unreadable,
        n.AsyncAsk: declarations.compile_async_ask,
    }
)
n.require_all(EXPRESSION_RULES, n.Expr)
n.require_all(STATEMENT_RULES, n.Statement)
