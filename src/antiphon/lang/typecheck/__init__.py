"""The type checker: names, types and every rule that can be verified before a program runs.

It fills in the tree (`type`, `symbol`, `wanted`) and reports all errors at once. It runs nothing and reads no
files: the caller passes the exports of imported modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_SIGNS
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import (
    assignments,
    blocks,
    declarations,
    literals,
    members,
    names,
    operators,
    statements,
)
from antiphon.lang.typecheck import match as choices
from antiphon.lang.typecheck import model_calls as asks
from antiphon.lang.typecheck import model_settings as models
from antiphon.lang.typecheck.blocks import check_statements
from antiphon.lang.typecheck.checker import EXPRESSION_RULES, STATEMENT_RULES, Checker
from antiphon.lang.typecheck.scopes import UNBOUNDED_END, Scope, make_outer_scope
from antiphon.lang.typecheck.symbols import ModuleExports

__all__ = ["CheckResult", "check_program"]

#: A comment that is a number, or begins with `=`, after an operand: likely meant as a division.
_DIVISION_COMMENT = re.compile(r"//(?:[ \t]*[0-9][0-9_.]*(?:[ \t]*[-+*/%][ \t]*\w[\w.]*)*|=[^=].*)[ \t;]*")
_BEFORE_DIVISION = re.compile(r"\w[ \t]*\Z")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckResult:
    """The result of a check: diagnostics ordered by position, the module's scope and its exports."""

    diagnostics: list[Diagnostic]
    scope: Scope
    exports: ModuleExports


def check_program(
    program: nodes.Program,
    source: Source,
    *,
    scope: Scope | None = None,
    imports: Callable[[str], ModuleExports] | None = None,
    untrusted: bool = False,
    in_repl: bool = False,
) -> CheckResult:
    """Check a tree and fill it in. With the `scope` of an earlier check, the names of that remain known."""
    module = scope if scope is not None else Scope()
    before = dict(module.names)
    module.begin(program.statements, program.start, UNBOUNDED_END if in_repl else program.end)
    module.parent = make_outer_scope(program.lost)
    c = Checker(source, module, imports, untrusted=untrusted, in_repl=in_repl)
    declarations.check_program_result(c, program.statements, check_statements(c, program.statements))
    c.aliases.check_recorded()
    c.usage.report()
    _warn_of_divisions(c, program)
    found = sorted(c.diagnostics, key=lambda each: (each.start, each.end, each.code))
    if before and any(each.severity == "error" for each in found):
        # A program with errors does not run, so its declarations are discarded.
        module.names = before
    given = {name: symbol for name, symbol in module.names.items() if symbol.exported}
    return CheckResult(found, module, ModuleExports(given))


def _warn_of_divisions(c: Checker, program: nodes.Program) -> None:
    """Warn of `7 // 2`, where the divisor is a comment."""
    text = c.source.text
    for start, end in program.comments:
        if _DIVISION_COMMENT.fullmatch(text, start, end) and _BEFORE_DIVISION.search(
            text, text.rfind("\n", 0, start) + 1, start
        ):
            c.withdraw("V0704", text.rfind("\n", 0, start) + 1, start)
            c.warn("V0708", "`//` begins a comment, and divides nothing", (start, end), FOREIGN_SIGNS["//"][1])


EXPRESSION_RULES.update(
    {
        nodes.NumberLit: literals.infer_scalar,
        nodes.TextLit: literals.infer_text,
        nodes.BoolLit: literals.infer_scalar,
        nodes.NullLit: literals.infer_scalar,
        nodes.ArrayLit: literals.infer_array,
        nodes.ObjectLit: literals.infer_object,
        nodes.BadExpr: literals.infer_scalar,
        nodes.Name: names.infer_name,
        nodes.Unary: operators.infer_unary,
        nodes.Binary: operators.infer_binary,
        nodes.Range: operators.infer_range,
        nodes.Member: members.infer_postfix,
        nodes.Index: members.infer_postfix,
        nodes.Slice: members.infer_postfix,
        nodes.Call: members.infer_postfix,
        nodes.ModelCall: asks.infer_ask_model,
        nodes.AskHuman: asks.infer_ask_human,
        nodes.PyBlock: asks.infer_python_block,
        nodes.AsyncFor: asks.infer_async_for,
        nodes.Conditional: choices.infer_conditional,
        nodes.Is: choices.infer_is_test,
        nodes.Match: choices.infer_match,
        nodes.Lambda: blocks.infer_lambda,
    }
)
STATEMENT_RULES.update(
    {
        nodes.Let: declarations.check_let,
        nodes.Destructure: declarations.check_destructure,
        nodes.Input: declarations.check_input,
        nodes.Returns: declarations.check_returns,
        nodes.TypeDecl: declarations.check_type_declaration,
        nodes.Function: blocks.check_function,
        nodes.ModelDecl: models.check_model_declaration,
        nodes.Import: declarations.check_import,
        nodes.Assign: assignments.check_assignment,
        nodes.If: statements.check_if,
        nodes.MatchStatement: choices.check_match_statement,
        nodes.For: statements.check_for,
        nodes.While: statements.check_while,
        nodes.Break: statements.check_break_or_continue,
        nodes.Continue: statements.check_break_or_continue,
        nodes.Return: statements.check_return,
        nodes.Yield: statements.check_yield,
        nodes.Throw: statements.check_throw,
        nodes.Try: statements.check_try,
        nodes.Test: statements.check_test,
        nodes.ExprStatement: statements.check_expression_statement,
        nodes.Block: blocks.check_block,
        nodes.BadStatement: statements.check_bad_statement,
        nodes.AsyncAsk: declarations.check_async_ask,
    }
)
nodes.require_all(EXPRESSION_RULES, nodes.Expr)
nodes.require_all(STATEMENT_RULES, nodes.Statement)
