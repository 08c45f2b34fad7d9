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

from antiphon.lang.codegen import assignments, declarations, functions, literals, operators, statements
from antiphon.lang.codegen import lambdas as function_values
from antiphon.lang.codegen import match as choices
from antiphon.lang.codegen import model_calls as asks
from antiphon.lang.codegen import postfix as chains
from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.codegen.compiler import EXPRESSION_RULES, STATEMENT_RULES, Compiler
from antiphon.lang.codegen.module import compile_module_tree
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.source import Source

__all__ = ["ModuleCode", "compile_program", "compile_repl_input"]


def compile_program(
    program: nodes.Program, source: Source, *, for_tests: bool = False, given: Set[str] = frozenset()
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


def compile_repl_input(program: nodes.Program, source: Source, code: ModuleCode) -> None:
    """Compile one input of an interactive session into the code of the inputs before it."""
    tree = compile_module_tree(Compiler(source, code), program, whole=False)
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


EXPRESSION_RULES.update(
    {
        nodes.NumberLit: literals.compile_literal,
        nodes.TextLit: literals.compile_text,
        nodes.BoolLit: literals.compile_literal,
        nodes.NullLit: literals.compile_null,
        nodes.ArrayLit: literals.compile_array,
        nodes.ObjectLit: literals.compile_object,
        nodes.BadExpr: literals.reject_bad_expression,
        nodes.Name: literals.compile_name,
        nodes.Unary: operators.compile_unary,
        nodes.Binary: operators.compile_binary_chain,
        nodes.Range: operators.compile_range,
        nodes.Member: chains.compile_postfix,
        nodes.Index: chains.compile_postfix,
        nodes.Slice: chains.compile_postfix,
        nodes.Call: chains.compile_postfix,
        nodes.ModelCall: asks.compile_ask_model,
        nodes.AskHuman: asks.compile_ask_human,
        nodes.PyBlock: asks.compile_python_block,
        nodes.AsyncFor: asks.compile_async_for,
        nodes.Conditional: choices.compile_conditional,
        nodes.Is: choices.compile_is_test,
        nodes.Match: choices.compile_match,
        nodes.Lambda: function_values.compile_lambda,
    }
)
STATEMENT_RULES.update(
    {
        nodes.Let: declarations.compile_let,
        nodes.Destructure: declarations.compile_destructure,
        nodes.Input: declarations.compile_input,
        nodes.Returns: declarations.compile_nothing,
        nodes.TypeDecl: declarations.compile_nothing,
        nodes.Function: declarations.compile_nothing,
        nodes.ModelDecl: declarations.compile_model,
        nodes.Import: declarations.compile_nothing,
        nodes.Assign: assignments.compile_assignment,
        nodes.If: statements.compile_if,
        nodes.MatchStatement: choices.compile_match_statement,
        nodes.For: statements.compile_for,
        nodes.While: statements.compile_while,
        nodes.Break: statements.compile_break,
        nodes.Continue: statements.compile_continue,
        nodes.Return: statements.compile_return,
        nodes.Yield: statements.compile_yield,
        nodes.Throw: statements.compile_throw,
        nodes.Try: statements.compile_try,
        nodes.Test: functions.compile_test,
        nodes.ExprStatement: statements.compile_expression_statement,
        nodes.Block: statements.compile_inner_block,
        nodes.BadStatement: statements.reject_bad_statement,
        nodes.AsyncAsk: declarations.compile_async_ask,
    }
)
nodes.require_all(EXPRESSION_RULES, nodes.Expr)
nodes.require_all(STATEMENT_RULES, nodes.Statement)
