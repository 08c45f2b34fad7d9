"""Functions that are made in a loop: each has the variables of the round that made it.

Python has one variable for all rounds. A function that is kept gets a copy of what the loop's variables are when it is
made. That is enough for those that have their value by then and keep it; all others are in a box, which each round
makes anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from antiphon.lang.check.generic_methods import WITH_FUNCTION
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place
from antiphon.lang.compile.state import Compiler
from antiphon.lang.syntax import nodes as n

_Function = n.Function | n.Lambda | n.AsyncFor


def boxes(c: Compiler, statements: list[n.Statement], declared: dict[Symbol, int]) -> list[ast.stmt]:
    """What makes the boxes of a block that is in a loop, for those of its variables that need one.

    With each variable it is said where the statement that declares it ends.
    """
    c.passing |= _passing(c, statements)
    captured = {symbol: end for symbol, end in declared.items() if symbol.is_captured or symbol.assigned_in}
    if not captured:
        return []
    found: set[Symbol] = set()
    for function in _kept(c, statements):
        found |= {each for each in _used(function) if each in captured and _needs_box(each, function, captured[each])}
    out: list[ast.stmt] = []
    for symbol in sorted(found, key=lambda each: each.start):
        if symbol.kind == "function":
            # Python's own name of the function is that of its definition.
            symbol.python = c.scope.named(symbol)
            c.scope.looped.add(symbol.python)
        c.boxed.add(symbol)
        place = c.between(symbol.start, symbol.end)
        made = emit.call("_vbox", [emit.constant(symbol.name, place)], place)
        out.append(emit.assign(symbol.python, made, place))
    return out


def of_this_round(c: Compiler, value: ast.expr, node: _Function, place: Place) -> ast.expr:
    """A function that is kept: of the variables of loops it has those of this round."""
    looped = {name for scope in c.scope.chain() for name in scope.looped} if id(node) not in c.passing else ()
    names = sorted({each.python for each in _used(node) if each.python in looped}) if looped else ()
    if not names:
        return value
    return emit.call("_vround", [value, *(emit.constant(each, place) for each in names)], place)


def _needs_box(symbol: Symbol, function: _Function, end: int) -> bool:
    """Whether a variable may get its value after a function that uses it was made, or another one then."""
    return symbol.assigned or isinstance(function, n.Function) or function.start < end


def _used(node: n.Node) -> set[Symbol]:
    return {each.symbol for each in n.walk(node) if isinstance(each, n.Name) and each.symbol is not None}


def _passing(c: Compiler, statements: list[n.Statement]) -> set[int]:
    """Functions of a block of which it can be seen that they are only called, in the block itself, and never kept."""
    named = {symbol: function for each in statements for symbol, function in _named_function(each)}
    if not named or c.is_concurrent:
        return set()
    todo: list[tuple[n.Node, bool]] = [(each, False) for each in statements]
    while todo:
        node, inside = todo.pop()
        called = node.callee if isinstance(node, n.Call) and not inside else None
        inside = inside or isinstance(node, n.Function | n.Lambda)
        for each in n.children(node):
            if isinstance(each, n.Name) and each is not called and each.symbol is not None:
                named.pop(each.symbol, None)
            todo.append((each, inside))
    return set(map(id, named.values()))


def _named_function(node: n.Statement) -> Iterable[tuple[Symbol, n.Node]]:
    if isinstance(node, n.Function) and node.symbol is not None and not node.is_tool:
        yield node.symbol, node
    elif isinstance(node, n.Let) and isinstance(node.value, n.Lambda) and node.symbol is not None and node.is_const:
        yield node.symbol, node.value


def _kept(c: Compiler, statements: Iterable[n.Node]) -> Iterable[_Function]:
    """The functions in a block that may be called when the round is over."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, n.Function | n.Lambda | n.AsyncFor) and id(node) not in c.passing:
            yield node
        on_the_spot = (
            isinstance(node, n.Call) and isinstance(node.callee, n.Member) and node.callee.name in WITH_FUNCTION
        )
        for each in n.children(node):
            # What a method of an array is given is called by it, and not kept.
            todo += n.children(each) if on_the_spot and isinstance(each, n.Lambda) else (each,)
