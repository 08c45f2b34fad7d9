"""What becomes of the array or object in a variable: it is only read, kept elsewhere, or changed.

The checked tree is gone through once. A value that goes into another variable, a parameter or the variable of a loop is
followed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.lang.check.methods import ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS
from antiphon.lang.check.sharing import gives_new, holds_values
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Array, is_mutable, plain
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.syntax import nodes as n

READ, KEPT, CHANGED = 0, 1, 2
_MUTATING = frozenset(
    name for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for name, each in table.items() if each.mutates
)

#: A node, what is done with its value, and the variable that it goes into.
_Use = tuple[Any, int, Symbol | None]
_Uses = list[_Use]


def fate_of(symbol: Symbol) -> int:
    """The worst that is done with the value of a variable, wherever it goes from there."""
    worst, seen, todo = READ, {symbol}, [symbol]
    while todo and worst < CHANGED:
        each = todo.pop()
        owner = each.owner
        if isinstance(owner, n.Function) and owner.symbol is not None and not owner.symbol.traced:
            # A function of another module.
            trace((owner,))
        worst = max(worst, each.fate)
        if each.flows is not None:
            todo += [other for other in each.flows if other not in seen]
            seen.update(each.flows)
    return worst


def trace(roots: Iterable[n.Node]) -> None:
    """Note at each variable what is done with its value."""
    todo: _Uses = [(each, READ, None) for each in roots]
    while todo:
        node, how, into = todo.pop()
        rule = _RULES.get(node.__class__)
        if rule is not None:
            rule(todo, node, how, into)
        else:
            # Of what is not known here, all is kept.
            todo += [(child, KEPT, None) for child in n.children(node)]


def parameter_of(function: Symbol, position: int) -> Symbol | None:
    """The parameter that takes an argument, where it is of the language."""
    node = function.node.node if isinstance(function.node, Symbol) else function.node
    if not isinstance(node, n.Function) or position >= len(node.parameters):
        return None
    return node.parameters[position].symbol


def parameters_of(node: n.Expr) -> list[Symbol]:
    """The parameters of a function whose body can be looked at: one without a name, or of that name."""
    function: Any = node.symbol.node if isinstance(node, n.Name) and node.symbol is not None else node
    if not isinstance(function, n.Function | n.Lambda):
        return []
    return [each.symbol for each in function.parameters if each.symbol is not None]


def _name(_: _Uses, node: n.Name, how: int, into: Symbol | None) -> None:
    symbol = node.symbol
    if symbol is not None and is_mutable(node.type):
        if into is None:
            symbol.fate = max(symbol.fate, how)
        elif symbol.flows is None:
            symbol.flows = [into]
        else:
            symbol.flows.append(into)


def _part(todo: _Uses, node: n.Member | n.Index | n.Slice, how: int, into: Symbol | None) -> None:
    is_part = is_mutable(node.type) and not (node.__class__ is n.Slice and holds_values(node.type))
    todo.append((node.object, how, into) if is_part else (node.object, READ, None))
    if node.__class__ is not n.Member:
        todo += [(each, READ, None) for each in n.children(node) if each is not node.object]


def _call(todo: _Uses, node: n.Call, how: int, into: Symbol | None) -> None:
    callee = node.callee
    if isinstance(callee, n.Member):
        _method(todo, node, callee, how, into)
        return
    symbol = callee.symbol if isinstance(callee, n.Name) else None
    if symbol is None:
        todo.append((callee, KEPT, None))
    for at, each in enumerate(node.arguments):
        if symbol is not None and symbol.kind in ("builtin", "import"):
            # Python gets a copy; what is built in keeps nothing.
            todo.append((each, READ, None))
        else:
            todo.append((each, KEPT, parameter_of(symbol, at) if symbol is not None else None))
    names = symbol.type.names if symbol is not None and isinstance(symbol.type, Signature) else ()
    for named in node.named:
        at = names.index(named.name) if named.name in names else len(names)
        todo.append((named.value, KEPT, parameter_of(symbol, at) if symbol is not None else None))


def _method(todo: _Uses, node: n.Call, callee: n.Member, how: int, into: Symbol | None) -> None:
    uses: list[tuple[int, Symbol | None]] = []
    if callee.name in _MUTATING:
        uses.append((CHANGED, None))
    if is_mutable(node.type) and not gives_new(node):
        uses.append((how, into))
    for each in node.arguments:
        # Of an array that is only gone through, nothing is kept but its items.
        is_read = callee.name == "zip" and holds_values(each.type)
        todo.append((each, READ if is_read else KEPT, None))
        if isinstance(each.type, Signature):
            # A function is called with the items.
            takers = parameters_of(each)
            uses += [(KEPT, taker) for taker in takers[int(callee.name == "reduce") :] or [None]]
    todo.append(_used(callee.object, uses))


def _used(node: n.Expr, uses: list[tuple[int, Symbol | None]]) -> _Use:
    """What is done with a value in several ways. To follow it in each of them would be without end in a long chain."""
    if not uses:
        return node, READ, None
    if len(uses) == 1:
        return node, *uses[0]
    held = Symbol("", "let", JSON)
    held.fate = max((how for how, into in uses if into is None), default=READ)
    held.flows = [into for _, into in uses if into is not None]
    return node, KEPT, held


def _binary(todo: _Uses, node: n.Binary, how: int, into: Symbol | None) -> None:
    kind = plain(node.type) if node.type is not None else None
    handed = node.op == "??" or (node.op == "+" and not (isinstance(kind, Array) and not is_mutable(kind.item)))
    if not handed or not is_mutable(node.type):
        how, into = READ, None
    todo += ((node.left, how, into), (node.right, how, into))


def _spread(todo: _Uses, node: n.Spread, _: int, __: Symbol | None) -> None:
    todo.append((node.value, READ if holds_values(node.value.type) else KEPT, None))


def _choice(todo: _Uses, node: n.Conditional, how: int, into: Symbol | None) -> None:
    todo += ((node.condition, READ, None), (node.then, how, into), (node.otherwise, how, into))


def _match(todo: _Uses, node: n.Match | n.MatchStatement, how: int, into: Symbol | None) -> None:
    todo.append((node.value, READ, None))
    todo += [(arm.body, how, into) for arm in node.arms]


def _read(todo: _Uses, node: n.Node, _: int, __: Symbol | None) -> None:
    todo += [(each, READ, None) for each in n.children(node) if each.__class__ not in _LEAVES]


def _loop(todo: _Uses, node: n.For | n.AsyncFor, _: int, __: Symbol | None) -> None:
    into = [node.symbol]
    if isinstance(node, n.For) and node.value is not None:
        into.append(node.value.symbol)
    if isinstance(node, n.For) and node.pattern is not None:
        into += [each.symbol for each in n.walk(node.pattern) if isinstance(each, n.PatternField | n.PatternItem)]
    todo += (_used(node.iterable, [(KEPT, each) for each in into if each is not None]), (node.body, READ, None))


def _let(todo: _Uses, node: n.Let, _: int, __: Symbol | None) -> None:
    if node.value is not None:
        # What goes into a constant is copied.
        how = READ if node.is_const and not node.is_async else KEPT
        todo.append((node.value, how, None if node.is_const else node.symbol))


def _destructure(todo: _Uses, node: n.Destructure, _: int, __: Symbol | None) -> None:
    todo.append((node.pattern, READ, None))
    todo.append((node.value, READ if node.is_const and not node.is_async else KEPT, None))


def _assign(todo: _Uses, node: n.Assign, _: int, __: Symbol | None) -> None:
    target = node.target
    if isinstance(target, n.Name):
        todo.append((node.value, KEPT, target.symbol if node.op == "=" else None))
        return
    todo.append((target.object, CHANGED, None))
    todo += [(each, READ, None) for each in n.children(target) if each is not target.object]
    todo.append((node.value, KEPT, None))


def _function(todo: _Uses, node: n.Function, _: int, __: Symbol | None) -> None:
    if node.symbol is not None:
        node.symbol.traced = True
    todo += [(each.default, KEPT, None) for each in node.parameters if each.default is not None]
    todo.append((node.body, KEPT, None))


def _nothing(_: _Uses, __: n.Node, ___: int, ____: Symbol | None) -> None:
    """There are no variables in a type."""


#: What is nothing but read, and has nothing in it.
_LEAVES = frozenset((n.Name, n.NumberLit, n.BoolLit, n.NullLit))
_RULES: dict[type, Callable[[_Uses, Any, int, Symbol | None], None]] = {
    n.Name: _name,
    n.Call: _call,
    n.Binary: _binary,
    n.Spread: _spread,
    n.Conditional: _choice,
    n.Match: _match,
    n.MatchStatement: _match,
    n.For: _loop,
    n.AsyncFor: _loop,
    n.Let: _let,
    n.Destructure: _destructure,
    n.Assign: _assign,
    n.Function: _function,
    n.TypeDecl: _nothing,
    **dict.fromkeys((n.Member, n.Index, n.Slice), _part),
    **dict.fromkeys(
        (n.Unary, n.Range, n.Is, n.TextLit, n.Hole, n.Ask, n.AskHuman, n.PyBlock, n.If, n.While, n.ExprStatement), _read
    ),
}
