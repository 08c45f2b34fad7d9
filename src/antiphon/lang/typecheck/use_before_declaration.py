"""Reports of calls of functions that use variables before their declaration."""

from __future__ import annotations

from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.checker import VARIABLE_KINDS, Checker
from antiphon.lang.typecheck.names import label_declaration
from antiphon.lang.typecheck.symbols import Symbol

#: The outer variables and the functions that a function uses.
_FunctionUses = tuple[set[Symbol], set[Symbol]]
_FUNCTION_NODES = (n.Function, n.Lambda)


def record_call(c: Checker, callee: n.Name, symbol: Symbol) -> None:
    """Record a call of a declared function that runs immediately."""
    if isinstance(symbol.node, _FUNCTION_NODES) and not c.is_in_test and symbol not in c.earlier:
        c.early.append((callee, symbol, c.running))


def check_early_calls(c: Checker) -> None:
    """Report the recorded calls that come before a declaration that the function needs."""
    last: dict[int, int] = {}
    for each in c.variables:
        if each.is_captured or each.assigned_in:
            last[id(each.owner)] = max(last.get(id(each.owner), 0), each.since)
    known: dict[Symbol, _FunctionUses] = {}
    for callee, function, frame in c.early:
        if last.get(id(frame), 0) < callee.start:
            continue
        late = [
            each
            for each in _collect_used_variables(function, known)
            if each.owner is frame and each.since > callee.start
        ]
        if late:
            first = min(late, key=lambda each: each.start)
            message = f"`{function.name}` is called before `{first.name}` is declared, which it uses"
            c.report("V0202", message, callee, "move the declaration up, or the call down", label_declaration(first))


def _collect_used_variables(function: Symbol, known: dict[Symbol, _FunctionUses]) -> set[Symbol]:
    """Return the outer variables that a function uses, directly or through the functions it calls."""
    out: set[Symbol] = set()
    seen, todo = {function}, [function]
    while todo:
        each = todo.pop()
        if each not in known:
            known[each] = _collect_own_uses(each.node)
        variables, functions = known[each]
        out |= variables
        todo += functions - seen
        seen |= functions
    return out


def _collect_own_uses(node: Any) -> _FunctionUses:
    symbols = {each.symbol for each in n.walk(node) if isinstance(each, n.Name) and each.symbol is not None}
    functions = {each for each in symbols if isinstance(each.node, _FUNCTION_NODES)}
    return {each for each in symbols if each.kind in VARIABLE_KINDS and each.owner is not node}, functions
