"""The checker: names, types and every rule that can be known before a program runs.

It fills in the tree (`type`, `symbol`, `wanted`) and says all that is wrong at once. It runs nothing and reads nothing:
what other modules give is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.lang.check import (
    asks,
    assignments,
    choices,
    declarations,
    function_values,
    functions,
    imports,
    inputs,
    literals,
    members,
    models,
    names,
    operators,
    statements,
)
from antiphon.lang.check.order import check_order
from antiphon.lang.check.scopes import NO_END, Scope, beyond
from antiphon.lang.check.settling import settle
from antiphon.lang.check.state import EXPRESSIONS, STATEMENTS, Checker
from antiphon.lang.check.symbols import Exports
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.habits import SIGNS
from antiphon.lang.syntax.source import Source

__all__ = ["Checked", "check"]

#: A comment that is a number, or begins with `=`, after something that could be divided.
_DIVISOR = re.compile(r"//(?:[ \t]*[0-9][0-9_.]*(?:[ \t]*[-+*/%][ \t]*\w[\w.]*)*|=[^=].*)[ \t;]*")
_DIVIDED = re.compile(r"\w[ \t]*\Z")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Checked:
    """What the checker found: the diagnostics in order of place, the module's names, and what it gives to others."""

    diagnostics: list[Diagnostic]
    scope: Scope
    exports: Exports


def check(
    program: nodes.Program,
    source: Source,
    *,
    scope: Scope | None = None,
    imports: Callable[[str], Exports] | None = None,
    untrusted: bool = False,
    in_repl: bool = False,
) -> Checked:
    """Check a tree and fill it in. With the `scope` of an earlier check the names of that go on being known."""
    module = scope if scope is not None else Scope()
    before = dict(module.names)
    module.begin(program.statements, program.start, NO_END if in_repl else program.end)
    module.parent = beyond(program.lost)
    c = Checker(source, module, imports, untrusted, in_repl)
    inputs.check_end(c, program.statements, c.statements(program.statements))
    settle(c)
    check_order(c)
    c.warn_unused_imports()
    _warn_divisions(c, program)
    if not c.shows_variables:
        c.diagnostics += c.unread
    found = sorted(c.diagnostics, key=lambda each: (each.start, each.end, each.code))
    if before and any(each.severity == "error" for each in found):
        # What will not run declares nothing.
        module.names = before
    given = {name: symbol for name, symbol in module.names.items() if symbol.exported}
    return Checked(found, module, Exports(given))


def _warn_divisions(c: Checker, program: nodes.Program) -> None:
    """`7 // 2` is a comment here, and says nothing."""
    text = c.source.text
    for start, end in program.comments:
        if _DIVISOR.fullmatch(text, start, end) and _DIVIDED.search(text, text.rfind("\n", 0, start) + 1, start):
            line = text.rfind("\n", 0, start) + 1
            c.diagnostics[:] = [
                each for each in c.diagnostics if each.code != "V0704" or not line <= each.start < start
            ]
            c.warn("V0708", "`//` begins a comment, and divides nothing", (start, end), SIGNS["//"][1])


EXPRESSIONS.update(
    {
        nodes.NumberLit: literals.number,
        nodes.TextLit: literals.text,
        nodes.BoolLit: literals.boolean,
        nodes.NullLit: literals.null,
        nodes.ArrayLit: literals.array,
        nodes.ObjectLit: literals.object_,
        nodes.BadExpr: literals.bad,
        nodes.Name: names.name,
        nodes.Unary: operators.unary,
        nodes.Binary: operators.binary,
        nodes.Range: operators.range_,
        nodes.Member: members.postfix,
        nodes.Index: members.postfix,
        nodes.Slice: members.postfix,
        nodes.Call: members.postfix,
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
        nodes.Input: inputs.input_,
        nodes.Returns: inputs.returns,
        nodes.TypeDecl: declarations.type_declaration,
        nodes.Function: functions.function,
        nodes.ModelDecl: models.model,
        nodes.Import: imports.import_,
        nodes.Assign: assignments.assign,
        nodes.If: statements.if_,
        nodes.MatchStatement: choices.match_statement,
        nodes.For: statements.for_,
        nodes.While: statements.while_,
        nodes.Break: statements.leave,
        nodes.Continue: statements.leave,
        nodes.Return: statements.return_,
        nodes.Yield: statements.yield_,
        nodes.Throw: statements.throw,
        nodes.Try: statements.try_,
        nodes.Test: statements.test,
        nodes.ExprStatement: statements.expression,
        nodes.Block: statements.block,
        nodes.BadStatement: statements.bad,
        nodes.Started: declarations.started,
    }
)
nodes.require_all(EXPRESSIONS, nodes.Expr)
nodes.require_all(STATEMENTS, nodes.Statement)
