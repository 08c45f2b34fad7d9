"""What running a piece of a program may change: the variables it assigns, the members and items it changes.

It is read off the text, before types are known: a call is followed to the function of that name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.check.methods import ARRAY_METHODS, BUILTINS, all_method_names
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.syntax import nodes as n

#: Stands for the items of all arrays, and for the members of any name.
ITEMS, ANY = "[]", "*"
_CHANGES_ITEMS = frozenset(("push", "pop", "insert", "sort", "reverse", "remove"))
_METHODS = all_method_names()
#: Methods that call a function.
_CALLING = frozenset(name for name, each in ARRAY_METHODS.items() if any("=>" in p for p in each.parameters))


@dataclass(slots=True, eq=False, repr=False)
class Effects:
    """Names that are assigned, members that are changed, functions that are called."""

    names: set[str] = field(default_factory=set[str])
    members: set[str] = field(default_factory=set[str])
    calls: set[str] = field(default_factory=set[str])
    #: Whether a model is asked, which may call tools.
    asks: bool = False
    #: Whether something is called of which nothing is known.
    is_open: bool = False

    def __ior__(self, other: Effects) -> Effects:
        self.names |= other.names
        self.members |= other.members
        self.asks = self.asks or other.asks
        self.is_open = self.is_open or other.is_open
        return self


def effects_of(c: Checker, node: n.Node) -> Effects:
    """All that running a node may change, with the functions that it calls, and those that these call."""
    own = _own(c, node)
    total, seen = Effects(set(), set(), set()), {id(node)}
    todo = [own]
    while todo:
        each = todo.pop()
        total |= each
        if each.is_open:
            total |= unknown_effects(c)
        reached = [found for name in each.calls for found in _functions(c, name, total)]
        if each.asks:
            reached += _tools(c)
        for function in reached:
            if id(function) not in seen:
                seen.add(id(function))
                todo.append(_own(c, function))
    return total


def effects_of_call(c: Checker, symbol: Symbol) -> Effects:
    """What a call of a function or tool may change."""
    node = symbol.node
    if isinstance(node, Symbol):
        # A function of another module has no way to our variables; but objects are handed to it.
        found = effects_of(c, node.node) if isinstance(node.node, n.Function) else Effects()
        return Effects(members=found.members, asks=found.asks, is_open=found.is_open)
    return effects_of(c, node) if isinstance(node, n.Function) else Effects()


def assigned_names(c: Checker) -> frozenset[str]:
    """The names of all variables that are assigned anywhere in the program."""
    if c.reassigned is None:
        found = (node for statement in c.module.statements for node in n.walk(statement))
        c.reassigned = frozenset(
            node.target.name for node in found if isinstance(node, n.Assign) and isinstance(node.target, n.Name)
        )
    return c.reassigned


def concurrent_effects(c: Checker) -> Effects:
    """What may change at any time, because it runs beside the rest."""
    if c.concurrent is None:
        c.concurrent = found = Effects()
        if "async" in c.source.text:
            for each in (node for statement in c.module.statements for node in n.walk(statement)):
                if isinstance(each, n.AsyncFor) or getattr(each, "is_async", False):
                    found |= effects_of(c, each)
    return c.concurrent


def _functions(c: Checker, name: str, total: Effects) -> list[Any]:
    """The functions that a name may stand for; another value that is called may be any function."""
    out: list[Any] = []
    for symbol in {c.scope.find(name), c.module.find(name)}:
        if symbol is None or symbol.kind in ("builtin", "type", "import"):
            continue
        if isinstance(symbol.node, n.Function):
            out.append(symbol.node)
        elif symbol.kind in ("let", "const", "parameter", "loop", "caught"):
            total |= unknown_effects(c)
    return out


def unknown_effects(c: Checker) -> Effects:
    """What a call may change of which it is not known what is called: whatever any function of the program may."""
    if c.anything is None:
        found = (node for statement in c.module.statements for node in n.walk(statement))
        c.anything = out = Effects()
        for node in found:
            if isinstance(node, n.Function | n.Lambda):
                out |= _own(c, node)
    return c.anything


def _tools(c: Checker) -> list[Any]:
    if c.tools is None:
        found = (node for statement in c.module.statements for node in n.walk(statement))
        c.tools = [node for node in found if isinstance(node, n.Function) and node.is_tool]
    return c.tools


def _own(c: Checker, node: n.Node) -> Effects:
    known = c.effects.get(id(node))
    if known is None:
        # The node is kept with it, so that nothing else gets its id.
        known = c.effects[id(node)] = (node, _read(node))
    return known[1]


def _read(root: n.Node) -> Effects:
    out = Effects(set(), set(), set())
    #: Each with the variables that are its own there: what is done with them changes nothing outside.
    todo: list[tuple[n.Node, frozenset[str]]] = [(root, frozenset())]
    while todo:
        node, own = todo.pop()
        if isinstance(node, n.Block):
            for each in node.statements:
                own |= _declared(each) if isinstance(each, n.Let | n.Destructure) else frozenset()
                todo.append((each, own))
            continue
        own |= _declared(node)
        match node:
            case n.Assign():
                _note_target(out, node.target, own)
            case n.Call():
                _note_call(out, node, own)
            case n.Ask():
                out.asks = True
            case _:
                pass
        todo += [(each, own) for each in n.children(node)]
    return out


def _declared(node: n.Node) -> frozenset[str]:
    """The variables that a node declares: for what follows in its block, or for its own parts."""
    match node:
        case n.Let():
            return frozenset((node.name,))
        case n.Destructure():
            return _names(node.pattern)
        case n.For():
            beside = node.value.name if node.value is not None else node.name
            return _names(node.pattern) if node.pattern is not None else frozenset((node.name, beside))
        case n.AsyncFor():
            return frozenset((node.name,))
        case n.Function() | n.Lambda():
            return frozenset(each.name for each in node.parameters)
        case _:
            return frozenset()


def _names(pattern: n.Pattern | n.ArrayPattern) -> frozenset[str]:
    return frozenset(each.name for each in n.walk(pattern) if isinstance(each, n.PatternField | n.PatternItem))


def _note_target(out: Effects, target: n.Name | n.Member | n.Index, own: frozenset[str]) -> None:
    if isinstance(target, n.Name):
        out.names |= {target.name} - own
    elif isinstance(target, n.Member):
        out.members.add(target.name)
    else:
        out.members |= changed_by_index(target.index)


def changed_by_index(index: n.Expr) -> set[str]:
    """What an assignment to an index changes, as far as the index itself tells."""
    if isinstance(index, n.TextLit) and len(index.parts) == 1 and isinstance(index.parts[0], str):
        return {index.parts[0]}
    return {ITEMS} if isinstance(index, n.NumberLit) else {ITEMS, ANY}


def _note_call(out: Effects, node: n.Call, own: frozenset[str]) -> None:
    callee = node.callee
    if isinstance(callee, n.Name):
        if callee.name not in BUILTINS or callee.name in own:
            _note_called(out, callee, own)
    elif isinstance(callee, n.Member) and callee.name in _METHODS:
        if callee.name in _CALLING:
            for each in node.arguments:
                _note_called(out, each, own)
        if callee.name == "remove":
            out.members |= changed_by_index(node.arguments[0]) if node.arguments else set()
        elif callee.name in _CHANGES_ITEMS:
            out.members.add(ITEMS)
    else:
        out.is_open = True


def _note_called(out: Effects, function: n.Expr, own: frozenset[str]) -> None:
    """A function is called: one without a name is a part of the tree, and of what a variable holds nothing is known."""
    if isinstance(function, n.Name) and function.name not in own:
        out.calls.add(function.name)
    elif isinstance(function, n.Name) or not isinstance(function, n.Lambda):
        out.is_open = True
