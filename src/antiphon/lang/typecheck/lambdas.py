"""Lambdas, and the function type that is expected of them."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.typecheck.blocks import check_block
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.scopes import FunctionFrame
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_short
from antiphon.lang.typecheck.types import (
    JSON,
    NULL,
    CallableType,
    Type,
    is_mutable,
    is_nullable,
    make_nullable,
    strip_ai_result,
    union_options,
)
from antiphon.lang.typecheck.unions import join_or_widen


def infer_lambda(c: Checker, node: n.Lambda, wanted: Type | None) -> Type:
    """Infer the type of `(a, b) => …`; an expected type determines the parameters."""
    goal = _find_wanted_callable(wanted)
    if goal is not None and len(goal.parameters) != len(node.parameters):
        report_wrong_arity(c, node, len(goal.parameters))
        goal = None
    if goal is None:
        found = check_lambda(c, node, (), None)
        return wanted if wanted is not None and _find_wanted_callable(wanted) is not None else found
    return check_lambda(c, node, goal.parameters, goal.returns)


def check_lambda(
    c: Checker,
    node: n.Lambda,
    parameters: tuple[Type, ...],
    returns: Type | None,
    *,
    now: bool = False,
    private: bool = False,
) -> CallableType:
    """Check a lambda and return its type; parameters without a declared type have the types in `parameters`.

    `now` means that it is called immediately and not stored; `private`, that its arguments are private.
    """
    if now:
        c.narrowing.invalidate_by_node(node)
    outside = c.narrowing.begin_branch() if now else c.narrowing.begin_function(is_lambda=True)
    frame = FunctionFrame(node, returns=returns, is_called_immediately=now)
    c.scopes.enter_frame(frame)
    symbols = _declare_parameters(c, node, parameters, private)
    if isinstance(node.body, n.Block):
        ends = check_block(c, node.body, {each.name: each for each in symbols}.values())
    else:
        ends = _check_expression_body(c, node.body, symbols)
    c.scopes.leave_frame()
    c.narrowing.restore(outside)
    if returns is None:
        returns = frame.inferred_returns or NULL
        if not ends and returns != JSON:
            returns = make_nullable(returns)
        if isinstance(node.body, n.Block) and is_mutable(returns):
            c.aliases.record_combined(node)
    elif not ends and returns != JSON and not is_nullable(returns):
        hint = "end every way through it with `return …`"
        c.report("V0501", f"the function does not always return `{format_type_short(returns)}`", node, hint)
    return CallableType(tuple(each.type for each in symbols), len(symbols), returns)


def infer_returned_value(c: Checker, node: n.Expr | None) -> None:
    """Add a returned value to the inferred return type of the current lambda."""
    type_ = c.infer(node) if node is not None else NULL
    type_ = widen_fresh(node, strip_ai_result(type_)) if node is not None and type_ is not NULL else NULL
    c.scopes.frame.inferred_returns = (
        type_ if c.scopes.frame.inferred_returns is None else join_or_widen(c.scopes.frame.inferred_returns, type_)
    )


def report_wrong_arity(c: Checker, node: n.Lambda, wanted: int) -> None:
    """Report a lambda with another number of parameters than it is called with."""
    names = ", ".join("abcdefgh"[:wanted])
    hint = f"write `{names} => …`" if wanted == 1 else f"write `({names}) => …`; a name for one you do not need is `_`"
    has = len(node.parameters)
    message = f"this function is called with {wanted or 'no'} argument{'s' * (wanted != 1)}, and takes {has or 'none'}"
    c.report("V0341", message, (node.start, node.body.start), hint)


def _find_wanted_callable(wanted: Type | None) -> CallableType | None:
    """Return the only function type among the expected options, or None."""
    if wanted is None:
        return None
    fitting = [each for each in union_options(wanted) if isinstance(each, CallableType) and not each.is_unchecked]
    return fitting[0] if len(fitting) == 1 else None


def _declare_parameters(c: Checker, node: n.Lambda, types: tuple[Type, ...], private: bool) -> list[Symbol]:
    symbols: list[Symbol] = []
    for i, each in enumerate(node.parameters):
        type_ = types[i] if i < len(types) else JSON
        type_ = c.types.resolve(each.declared) if each.declared is not None else type_
        symbol = each.symbol = c.scopes.make_local(each.name, "parameter", type_, each.start, node.body, private)
        first = next((other for other in symbols if other.name == each.name), None)
        if first is not None and each.name != "_":
            where = (DiagnosticLabel(first.start, first.end, "first here"),)
            c.report("V0414", f"there are two parameters `{each.name}`", get_name_span(each), labels=where)
        symbols.append(symbol)
    return symbols


def _check_expression_body(c: Checker, body: n.Expr, symbols: list[Symbol]) -> bool:
    c.scopes.enter_scope(body, [], {each.name: each for each in symbols})
    if c.scopes.frame.returns is None:
        infer_returned_value(c, body)
    else:
        c.check_value(body, c.scopes.frame.returns, "")
    c.scopes.leave_scope()
    return True
