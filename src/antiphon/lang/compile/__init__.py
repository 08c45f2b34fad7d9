"""A checked tree becomes Python's own: the code object of a module, and what its run must know besides.

It runs nothing. What the code calls when it runs are names that `run` gives it. The top level is a function, `main`.
Variables of it that functions use or others import are the module's globals, the rest its locals, as Python is quicker
with those. Variables of blocks are locals of the function they are in, under names of their own where they would hide
one another.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Set
from threading import Lock
from types import CodeType

from antiphon.lang.compile import (
    asks,
    assignments,
    chains,
    choices,
    declarations,
    function_values,
    functions,
    literals,
    operators,
    statements,
)
from antiphon.lang.compile.code import Code
from antiphon.lang.compile.module import module
from antiphon.lang.compile.state import EXPRESSIONS, STATEMENTS, Compiler
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.source import Source

__all__ = ["Code", "compile_piece", "compile_program"]


def compile_program(
    program: nodes.Program, source: Source, *, for_tests: bool = False, given: Set[str] = frozenset()
) -> Code:
    """The code of a program that was checked and found sound.

    `for_tests` leaves out what the top level does: there are its declarations, but for those that ask a model. Of the
    variables of the top level, those that are `given` from outside are not what their declarations say.
    """
    code = Code(source)
    compiler = Compiler(source, code)
    compiler.given = given
    tree = module(compiler, program, for_tests=for_tests)
    try:
        code.main = _compiled(tree, source)
    except (RecursionError, MemoryError, SyntaxError) as error:
        said = Diagnostic("V0115", f"this program is nested too deeply to be compiled: {error}", 0, 0)
        raise ProgramErrors([(source, said)]) from None
    return code


def compile_piece(program: nodes.Program, source: Source, code: Code) -> None:
    """Compile a piece of a session into the code of the pieces before it."""
    tree = module(Compiler(source, code), program, whole=False)
    code.main = _compiled(tree, source)


#: What Python's compiler takes for the highest tree that can be read: under four of its calls for each node.
_FRAMES = 8_000
_COMPILING = Lock()


def _compiled(tree: ast.Module, source: Source) -> CodeType:
    """Python's own compiler counts its calls as those of a program, and would refuse what may be read."""
    with _COMPILING:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _FRAMES))
        try:
            return compile(tree, source.name, "exec", dont_inherit=True)
        finally:
            if sys.getrecursionlimit() == _FRAMES:
                sys.setrecursionlimit(limit)


EXPRESSIONS.update(
    {
        nodes.NumberLit: literals.literal,
        nodes.TextLit: literals.text,
        nodes.BoolLit: literals.literal,
        nodes.NullLit: literals.null,
        nodes.ArrayLit: literals.array,
        nodes.ObjectLit: literals.object_,
        nodes.BadExpr: literals.bad,
        nodes.Name: literals.name,
        nodes.Unary: operators.unary,
        nodes.Binary: operators.binary,
        nodes.Range: operators.range_,
        nodes.Member: chains.postfix,
        nodes.Index: chains.postfix,
        nodes.Slice: chains.postfix,
        nodes.Call: chains.postfix,
        nodes.Ask: asks.ask,
        nodes.AskHuman: asks.ask_human,
        nodes.PyBlock: asks.python_block,
        nodes.AsyncFor: asks.async_for,
        nodes.Conditional: choices.conditional,
        nodes.Is: choices.is_,
        nodes.Match: choices.match,
        nodes.Lambda: function_values.lambda_,
    }
)
STATEMENTS.update(
    {
        nodes.Let: declarations.let,
        nodes.Destructure: declarations.destructure,
        nodes.Input: declarations.input_,
        nodes.Returns: declarations.nothing,
        nodes.TypeDecl: declarations.nothing,
        nodes.Function: declarations.nothing,
        nodes.ModelDecl: declarations.model,
        nodes.Import: declarations.nothing,
        nodes.Assign: assignments.assign,
        nodes.If: statements.if_,
        nodes.MatchStatement: choices.match_statement,
        nodes.For: statements.for_,
        nodes.While: statements.while_,
        nodes.Break: statements.break_,
        nodes.Continue: statements.continue_,
        nodes.Return: statements.return_,
        nodes.Yield: statements.yield_,
        nodes.Throw: statements.throw,
        nodes.Try: statements.try_,
        nodes.Test: functions.test,
        nodes.ExprStatement: statements.expression,
        nodes.Block: statements.inner_block,
        nodes.BadStatement: statements.bad,
        nodes.Started: declarations.started,
    }
)
nodes.require_all(EXPRESSIONS, nodes.Expr)
nodes.require_all(STATEMENTS, nodes.Statement)
