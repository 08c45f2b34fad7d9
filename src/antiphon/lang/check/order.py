"""Calls of functions that use variables which are declared further down: these have no value yet."""

from __future__ import annotations

from typing import Any

from antiphon.lang.check.names import declared_here
from antiphon.lang.check.state import VARIABLES, Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.syntax import nodes as n

#: The variables that a function uses and does not declare, and the functions.
_Uses = tuple[set[Symbol], set[Symbol]]
_FUNCTIONS = (n.Function, n.Lambda)


def note_call(c: Checker, callee: n.Name, symbol: Symbol) -> None:
    """Take note of a call that runs where it stands, of a function whose body may be further down."""
    if isinstance(symbol.node, _FUNCTIONS) and not c.in_test and symbol not in c.earlier:
        c.early.append((callee, symbol, c.running))


def check_order(c: Checker) -> None:
    """Report the calls that come too early."""
    last: dict[int, int] = {}
    for each in c.variables:
        if each.is_captured or each.assigned_in:
            last[id(each.owner)] = max(last.get(id(each.owner), 0), each.since)
    known: dict[Symbol, _Uses] = {}
    for callee, function, frame in c.early:
        if last.get(id(frame), 0) < callee.start:
            continue
        late = [each for each in _used(function, known) if each.owner is frame and each.since > callee.start]
        if late:
            first = min(late, key=lambda each: each.start)
            message = f"`{function.name}` is called before `{first.name}` is declared, which it uses"
            c.report("V0202", message, callee, "move the declaration up, or the call down", declared_here(first))


def _used(function: Symbol, known: dict[Symbol, _Uses]) -> set[Symbol]:
    """The variables outside of a function that it uses, and those that it calls."""
    out: set[Symbol] = set()
    seen, todo = {function}, [function]
    while todo:
        each = todo.pop()
        if each not in known:
            known[each] = _own_uses(each.node)
        variables, functions = known[each]
        out |= variables
        todo += functions - seen
        seen |= functions
    return out


def _own_uses(node: Any) -> _Uses:
    symbols = {each.symbol for each in n.walk(node) if isinstance(each, n.Name) and each.symbol is not None}
    functions = {each for each in symbols if isinstance(each.node, _FUNCTIONS)}
    return {each for each in symbols if each.kind in VARIABLES and each.owner is not node}, functions
