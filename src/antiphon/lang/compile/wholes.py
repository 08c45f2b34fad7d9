"""Numbers that are whole, natural or fractions, as far as the program's text tells: such need not be looked at.

A variable is what it is given: by its declaration and assignments, by the loop it goes with, or, of a parameter, by all
calls of a function that is nothing but called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, NUMBER, TEXT, Array, Type, base
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile.divisions import even_divisions
from antiphon.lang.compile.state import Compiler, Values, type_of
from antiphon.lang.syntax import nodes as n

#: Methods that give whole numbers, whatever they are called on.
_COUNTING = frozenset(("len", "indexOf", "floor", "ceil", "count"))
_COLLECTED = (n.Let, n.For, n.Function, n.Assign, n.Call, n.Name, n.If, n.While, n.Conditional)
#: A test of a number, where these variables are assumed to hold it.
_Test = Callable[[Compiler, n.Expr, set[Symbol] | None], bool]


def is_whole(c: Compiler, node: n.Expr, assumed: set[Symbol] | None = None) -> bool:
    """Whether a number is an integer of Python's, as far as that can be seen."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Unary(operand=operand):
            return is_whole(c, operand, assumed)
        case n.Name(symbol=symbol):
            return symbol is not None and (symbol in c.counters or _is_known(c, symbol, is_whole, assumed))
        case n.Binary(op="+" | "-" | "*" | "%" | "/") if node.op != "/" or is_even(c, node):
            return is_whole(c, node.left, assumed) and is_whole(c, node.right, assumed)
        case n.Conditional():
            return is_whole(c, node.then, assumed) and is_whole(c, node.otherwise, assumed)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case n.Call(callee=n.Member(name=name, object=counted), arguments=arguments):
            # What is not finite has no whole number below it.
            is_finite = base(type_of(counted)) != NUMBER or _is_quotient(c, counted, assumed)
            return _has_methods(counted) and is_finite and (name in _COUNTING or (name == "round" and not arguments))
        case n.Call(callee=n.Name(symbol=symbol)):
            return symbol is not None and _is_known(c, symbol, is_whole, assumed)
        case _:
            return False


def is_natural(c: Compiler, node: n.Expr, assumed: set[Symbol] | None = None) -> bool:
    """Whether a number is whole and not negative, as far as that can be seen."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is int
        case n.Name(symbol=symbol):
            return symbol is not None and (symbol in c.naturals or _is_known(c, symbol, is_natural, assumed))
        case n.Binary(op="+" | "*" | "%" | "/") if node.op != "/" or is_even(c, node):
            return is_natural(c, node.left, assumed) and is_natural(c, node.right, assumed)
        case n.Conditional():
            return is_natural(c, node.then, assumed) and is_natural(c, node.otherwise, assumed)
        case n.Member(name="length", object=counted):
            return _has_methods(counted)
        case n.Call(callee=n.Member(name="floor", object=n.Binary(op="/") as quotient)):
            return is_natural(c, quotient.left, assumed) and is_natural(c, quotient.right, assumed)
        case n.Call(callee=n.Name(symbol=symbol)):
            return symbol is not None and _is_known(c, symbol, is_natural, assumed)
        case _:
            return False


def is_fraction(c: Compiler, node: n.Expr, assumed: set[Symbol] | None = None) -> bool:
    """Whether a number is a float of Python's, as far as that can be seen."""
    match node:
        case n.NumberLit(value=value):
            return type(value) is float
        case n.Unary(operand=operand):
            return is_fraction(c, operand, assumed)
        case n.Name(symbol=symbol):
            return symbol is not None and _is_known(c, symbol, is_fraction, assumed)
        case n.Binary(op="+" | "-" | "*" | "/" | "%" | "**"):
            # With any number, a fraction gives one.
            return (
                is_number(type_of(node.left))
                and is_number(type_of(node.right))
                and (is_fraction(c, node.left, assumed) or is_fraction(c, node.right, assumed))
            )
        case n.Conditional():
            return is_fraction(c, node.then, assumed) and is_fraction(c, node.otherwise, assumed)
        case n.Call(callee=n.Name(symbol=symbol)):
            return symbol is not None and _is_known(c, symbol, is_fraction, assumed)
        case _:
            return False


def is_even(c: Compiler, node: n.Binary) -> bool:
    """Whether a division leaves no rest, as far as that can be seen."""
    if c.values is None:
        c.values = _collected(c)
    return id(node) in c.even


def is_number(type_: Type) -> bool:
    """Whether all that is known of a type is that it is a number, and no answer of a model."""
    return base(type_) == NUMBER and not isinstance(type_, AI)


def _has_methods(node: n.Expr) -> bool:
    """Whether its members are those of all texts, numbers or arrays: an object may have its own of any name."""
    kind = base(type_of(node))
    return kind in (TEXT, NUMBER) or isinstance(kind, Array)


def _is_quotient(c: Compiler, node: n.Expr, assumed: set[Symbol] | None) -> bool:
    """Whether it is one of whole numbers: that is finite."""
    if not isinstance(node, n.Binary) or node.op != "/":
        return False
    return is_whole(c, node.left, assumed) and is_whole(c, node.right, assumed)


def _is_known(c: Compiler, symbol: Symbol, test: _Test, assumed: set[Symbol] | None) -> bool:
    """Whether the test holds for a variable, or for what a function gives, whatever they are given."""
    if assumed is not None:
        return symbol in assumed
    known = c.known.get(test.__name__)
    if known is None:
        known = c.known[test.__name__] = _found(c, test)
    return symbol in known


def _found(c: Compiler, test: _Test) -> set[Symbol]:
    if c.values is None:
        c.values = _collected(c)
    given = c.values
    out = {each for each in given if _gives_number(each)}
    while wrong := {each for each in out if not all(_holds(c, test, how, value, out) for how, value in given[each])}:
        out -= wrong
    return out


def _gives_number(symbol: Symbol) -> bool:
    return is_number(symbol.type.returns if isinstance(symbol.type, Signature) else symbol.type)


def _holds(c: Compiler, test: _Test, how: str, value: n.Expr | None, assumed: set[Symbol]) -> bool:
    if value is None:
        return False
    if how == "in":
        if isinstance(value, n.Range):
            return test is is_whole or (test is is_natural and is_natural(c, value.first, assumed))
        return test is not is_fraction and is_number(type_of(value))
    if how != "=" and test is is_fraction:
        return True
    return how != "/=" and not (how == "-=" and test is is_natural) and test(c, value, assumed)


def _collected(c: Compiler) -> Values:
    """What all variables, parameters and functions are given; nothing known is `None`."""
    found: dict[type, list[Any]] = {each: [] for each in _COLLECTED}
    for node in n.walk(c.program):
        if (alike := found.get(node.__class__)) is not None:
            alike.append(node)
    for each in (*found[n.If], *found[n.While], *found[n.Conditional]):
        c.even |= {id(division) for division in even_divisions(each)}
    out: Values = {}
    for let in found[n.Let]:
        if let.symbol is None:
            continue
        is_lost = let.is_async or (let.symbol.is_global and (not c.is_whole or let.name in c.given))
        out[let.symbol] = [("=", None if is_lost else let.value)]
    for loop in found[n.For]:
        if loop.symbol is not None:
            out[loop.symbol] = [("in", loop.iterable)]
    for function in found[n.Function]:
        _note_function(c, out, function)
    for each in found[n.Assign]:
        # What is declared otherwise, by a pattern for instance, is not known anyway.
        if isinstance(each.target, n.Name) and each.target.symbol in out:
            out[each.target.symbol].append((each.op, each.value))
    for call in found[n.Call]:
        _note_call(out, call)
    called = {id(each.callee) for each in found[n.Call]}
    for name in found[n.Name]:
        if name.symbol is not None and name.symbol.kind == "function" and id(name) not in called:
            _lose(out, name.symbol)
    return out


def _note_function(c: Compiler, out: Values, node: n.Function) -> None:
    symbol = node.symbol
    if symbol is None:
        return
    is_lost = node.is_tool or symbol.exported or (symbol.is_global and not c.is_whole)
    for each in node.parameters:
        if each.symbol is not None:
            is_set = is_lost or each.default is not None
            out[each.symbol] = [("=", None if is_lost else each.default)] if is_set else []
    # In a session, another function may come under its name.
    is_open = symbol.is_global and not c.is_whole
    out[symbol] = [("=", None)] if is_open else [("=", each.value) for each in _returns(node.body)]


def _returns(body: n.Block) -> Iterable[n.Return]:
    """What a function returns, without those in it."""
    todo: list[n.Node] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, n.Return):
            yield node
        elif not isinstance(node, n.Function | n.Lambda | n.AsyncFor):
            todo += n.children(node)


def _note_call(out: Values, node: n.Call) -> None:
    symbol = node.callee.symbol if isinstance(node.callee, n.Name) else None
    function = symbol.node if symbol is not None else None
    if not isinstance(function, n.Function):
        return
    named = {each.name: each.value for each in node.named}
    for each, value in zip(function.parameters, node.arguments, strict=False):
        named[each.name] = value
    for each in function.parameters:
        if each.symbol in out and each.name in named:
            out[each.symbol].append(("=", named[each.name]))


def _lose(out: Values, function: Symbol) -> None:
    """Nothing is known of what a function is called with that goes elsewhere as a value."""
    parameters = function.node.parameters if isinstance(function.node, n.Function) else ()
    for each in parameters:
        if each.symbol in out:
            out[each.symbol].append(("=", None))
