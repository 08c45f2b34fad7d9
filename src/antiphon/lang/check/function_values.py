"""Functions as values: those without a name, and what is known where one is wanted."""

from __future__ import annotations

from antiphon.lang.check.making import widened
from antiphon.lang.check.narrowing import lasting, run
from antiphon.lang.check.notation import shown
from antiphon.lang.check.parts import one_of
from antiphon.lang.check.scopes import Scope
from antiphon.lang.check.state import Checker, Frame
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    JSON,
    NULL,
    Callable,
    Type,
    is_mutable,
    may_be_null,
    nullable,
    options_of,
    plain,
)
from antiphon.lang.check.written_types import meaning
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.nodes import Block, Expr, Lambda, Parameter


def lambda_(c: Checker, node: Lambda, wanted: Type | None) -> Type:
    """`(a, b) => …` where a type may be wanted, which says what the parameters are."""
    goal = _goal(wanted)
    if goal is not None and len(goal.parameters) != len(node.parameters):
        wrong_arity(c, node, len(goal.parameters))
        goal = None
    if goal is None:
        found = check_lambda(c, node, (), None)
        return wanted if wanted is not None and _goal(wanted) is not None else found
    return check_lambda(c, node, goal.parameters, goal.returns)


def check_lambda(
    c: Checker,
    node: Lambda,
    parameters: tuple[Type, ...],
    returns: Type | None,
    *,
    now: bool = False,
    private: bool = False,
) -> Callable:
    """The type of a function without a name, whose parameters are of these types unless it says so itself.

    `now` says that it is called on the spot and not kept; `private`, that what it is called with is nobody's business.
    """
    outer, scope, before = c.frame, c.scope, c.narrowed
    if now:
        run(c, node)
    c.narrowed = dict(before) if now else lasting(c)
    c.frame = Frame(node, outer, returns, is_now=now, loops=[])
    symbols = _symbols(c, node, parameters, private)
    if isinstance(node.body, Block):
        ends = c.block(node.body, {each.name: each for each in symbols}.values())
    else:
        ends = _check_value(c, node.body, symbols)
    frame = c.frame
    c.frame, c.scope, c.narrowed = outer, scope, before
    if returns is None:
        returns = frame.given or NULL
        returns = returns if ends or frame.given is None else nullable(returns) if returns != JSON else JSON
        if isinstance(node.body, Block) and is_mutable(returns):
            c.mixed.append(node)
    elif not ends and returns != JSON and not may_be_null(returns):
        hint = "end every way through it with `return …`"
        c.report("V0501", f"the function does not always return `{shown(returns)}`", node, hint)
    return Callable(tuple(each.type for each in symbols), len(symbols), returns)


def give(c: Checker, node: Expr | None) -> None:
    """Note what a function gives that is not told what it must."""
    type_ = c.expr(node) if node is not None else NULL
    type_ = widened(node, plain(type_)) if node is not None and type_ is not NULL else NULL
    c.frame.given = type_ if c.frame.given is None else one_of(c.frame.given, type_)


def wrong_arity(c: Checker, node: Lambda, wanted: int) -> None:
    """Say that a function has not the parameters it will be called with."""
    names = ", ".join("abcdefgh"[:wanted])
    hint = f"write `{names} => …`" if wanted == 1 else f"write `({names}) => …`; a name for one you do not need is `_`"
    has = len(node.parameters)
    message = f"this function is called with {wanted or 'no'} argument{'s' * (wanted != 1)}, and takes {has or 'none'}"
    c.report("V0341", message, (node.start, node.body.start), hint)


def _goal(wanted: Type | None) -> Callable | None:
    """The one type of functions among those that are wanted."""
    if wanted is None:
        return None
    fitting = [each for each in options_of(wanted) if isinstance(each, Callable) and not each.unchecked]
    return fitting[0] if len(fitting) == 1 else None


def _symbols(c: Checker, node: Lambda, types: tuple[Type, ...], private: bool) -> list[Symbol]:
    symbols: list[Symbol] = []
    for i, each in enumerate(node.parameters):
        type_ = types[i] if i < len(types) else JSON
        type_ = meaning(c, each.declared) if each.declared is not None else type_
        symbol = each.symbol = c.symbol(each.name, "parameter", type_, each.start, node.body.start, private=private)
        symbol.until, symbol.is_global = node.body.end, False
        first = next((other for other in symbols if other.name == each.name), None)
        if first is not None and each.name != "_":
            where = (Label(first.start, first.end, "first here"),)
            c.report("V0414", f"there are two parameters `{each.name}`", _name(each), labels=where)
        symbols.append(symbol)
    return symbols


def _name(node: Parameter) -> tuple[int, int]:
    return node.start, node.start + len(node.name)


def _check_value(c: Checker, body: Expr, symbols: list[Symbol]) -> bool:
    c.scope = Scope({each.name: each for each in symbols}, c.scope, body.start, body.end, [], [])
    if c.frame.returns is None:
        give(c, body)
    else:
        c.want(body, c.frame.returns, "")
    return True
