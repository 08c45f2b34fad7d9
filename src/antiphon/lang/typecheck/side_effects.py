"""Side effects of nodes: the variables that they assign, and the members and items that they change.

They are derived from the tree before types are known: a call is followed to the function of that name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.methods import ARRAY_METHODS, BUILTINS, list_method_names
from antiphon.lang.typecheck.symbols import Symbol

#: Placeholders for the items of all arrays, and for members of any name.
ALL_ITEMS, ANY_MEMBER = "[]", "*"
_ITEM_MUTATORS = frozenset(("push", "pop", "insert", "sort", "reverse", "remove"))
_METHOD_NAMES = list_method_names()
#: Methods that call a function argument.
_CALLING_METHODS = frozenset(name for name, each in ARRAY_METHODS.items() if any("=>" in p for p in each.parameters))


@dataclass(slots=True, eq=False, repr=False)
class SideEffects:
    """The names that are assigned, the members that are changed, and the functions that are called."""

    names: set[str] = field(default_factory=set[str])
    members: set[str] = field(default_factory=set[str])
    calls: set[str] = field(default_factory=set[str])
    #: True if a model is asked, which may call tools.
    asks: bool = False
    #: True if an unknown function is called.
    is_open: bool = False

    def __ior__(self, other: SideEffects) -> SideEffects:
        self.names |= other.names
        self.members |= other.members
        self.asks = self.asks or other.asks
        self.is_open = self.is_open or other.is_open
        return self


def collect_effects(c: Checker, node: n.Node) -> SideEffects:
    """Return the side effects of a node, including those of all functions that it calls, transitively."""
    own = _own_effects(c, node)
    total, seen = SideEffects(set(), set(), set()), {id(node)}
    todo = [own]
    while todo:
        each = todo.pop()
        total |= each
        if each.is_open:
            total |= collect_unknown_effects(c)
        reached = [found for name in each.calls for found in _find_functions(c, name, total)]
        if each.asks:
            reached += _find_tools(c)
        for function in reached:
            if id(function) not in seen:
                seen.add(id(function))
                todo.append(_own_effects(c, function))
    return total


def collect_call_effects(c: Checker, symbol: Symbol) -> SideEffects:
    """Return the side effects of a call of a function or tool."""
    node = symbol.node
    if isinstance(node, Symbol):
        # A function of another module cannot assign our variables, but it can change objects it is given.
        found = collect_effects(c, node.node) if isinstance(node.node, n.Function) else SideEffects()
        return SideEffects(members=found.members, asks=found.asks, is_open=found.is_open)
    return collect_effects(c, node) if isinstance(node, n.Function) else SideEffects()


def collect_assigned_names(c: Checker) -> frozenset[str]:
    """Return the names of all variables that are assigned anywhere in the program."""
    if c.reassigned_names is None:
        found = (node for statement in c.module.statements for node in n.walk(statement))
        c.reassigned_names = frozenset(
            node.target.name for node in found if isinstance(node, n.Assign) and isinstance(node.target, n.Name)
        )
    return c.reassigned_names


def collect_concurrent_effects(c: Checker) -> SideEffects:
    """Return the side effects that may happen at any time, because they are of concurrent code."""
    if c.concurrent is None:
        c.concurrent = found = SideEffects()
        if "async" in c.source.text:
            for each in (node for statement in c.module.statements for node in n.walk(statement)):
                if isinstance(each, n.AsyncFor) or getattr(each, "is_async", False):
                    found |= collect_effects(c, each)
    return c.concurrent


def _find_functions(c: Checker, name: str, total: SideEffects) -> list[Any]:
    """Return the functions that a name may refer to; a call of another value adds the unknown effects to `total`."""
    out: list[Any] = []
    for symbol in {c.scope.find(name), c.module.find(name)}:
        if symbol is None or symbol.kind in ("builtin", "type", "import"):
            continue
        if isinstance(symbol.node, n.Function):
            out.append(symbol.node)
        elif symbol.kind in ("let", "const", "parameter", "loop", "caught"):
            total |= collect_unknown_effects(c)
    return out


def collect_unknown_effects(c: Checker) -> SideEffects:
    """Return the side effects of an unknown call: those of all functions in the program."""
    if c.unknown_effects is None:
        found = (node for statement in c.module.statements for node in n.walk(statement))
        c.unknown_effects = out = SideEffects()
        for node in found:
            if isinstance(node, n.Function | n.Lambda):
                out |= _own_effects(c, node)
    return c.unknown_effects


def _find_tools(c: Checker) -> list[Any]:
    if c.tools is None:
        found = (node for statement in c.module.statements for node in n.walk(statement))
        c.tools = [node for node in found if isinstance(node, n.Function) and node.is_tool]
    return c.tools


def _own_effects(c: Checker, node: n.Node) -> SideEffects:
    known = c.effects.get(id(node))
    if known is None:
        # The node is stored too, so that its id is not reused.
        known = c.effects[id(node)] = (node, _collect_own_effects(node))
    return known[1]


def _collect_own_effects(root: n.Node) -> SideEffects:
    out = SideEffects(set(), set(), set())
    # Each node with the local variables there: assigning them has no effect outside.
    todo: list[tuple[n.Node, frozenset[str]]] = [(root, frozenset())]
    while todo:
        node, own = todo.pop()
        if isinstance(node, n.Block):
            for each in node.statements:
                own |= _declared_names(each) if isinstance(each, n.Let | n.Destructure) else frozenset()
                todo.append((each, own))
            continue
        own |= _declared_names(node)
        match node:
            case n.Assign():
                _record_target(out, node.target, own)
            case n.Call():
                _record_call(out, node, own)
            case n.ModelCall():
                out.asks = True
            case _:
                pass
        todo += [(each, own) for each in n.children(node)]
    return out


def _declared_names(node: n.Node) -> frozenset[str]:
    """Return the variables that a node declares, for the rest of its block or for its own parts."""
    match node:
        case n.Let():
            return frozenset((node.name,))
        case n.Destructure():
            return _pattern_names(node.pattern)
        case n.For():
            beside = node.value.name if node.value is not None else node.name
            return _pattern_names(node.pattern) if node.pattern is not None else frozenset((node.name, beside))
        case n.AsyncFor():
            return frozenset((node.name,))
        case n.Function() | n.Lambda():
            return frozenset(each.name for each in node.parameters)
        case _:
            return frozenset()


def _pattern_names(pattern: n.Pattern | n.ArrayPattern) -> frozenset[str]:
    return frozenset(each.name for each in n.walk(pattern) if isinstance(each, n.PatternField | n.PatternItem))


def _record_target(out: SideEffects, target: n.Name | n.Member | n.Index, own: frozenset[str]) -> None:
    if isinstance(target, n.Name):
        out.names |= {target.name} - own
    elif isinstance(target, n.Member):
        out.members.add(target.name)
    else:
        out.members |= members_changed_by_index(target.index)


def members_changed_by_index(index: n.Expr) -> set[str]:
    """Return the members that an assignment to an index may change, as far as the index determines them."""
    if isinstance(index, n.TextLit) and len(index.parts) == 1 and isinstance(index.parts[0], str):
        return {index.parts[0]}
    return {ALL_ITEMS} if isinstance(index, n.NumberLit) else {ALL_ITEMS, ANY_MEMBER}


def _record_call(out: SideEffects, node: n.Call, own: frozenset[str]) -> None:
    callee = node.callee
    if isinstance(callee, n.Name):
        if callee.name not in BUILTINS or callee.name in own:
            _record_callee(out, callee, own)
    elif isinstance(callee, n.Member) and callee.name in _METHOD_NAMES:
        if callee.name in _CALLING_METHODS:
            for each in node.arguments:
                _record_callee(out, each, own)
        if callee.name == "remove":
            out.members |= members_changed_by_index(node.arguments[0]) if node.arguments else set()
        elif callee.name in _ITEM_MUTATORS:
            out.members.add(ALL_ITEMS)
    else:
        out.is_open = True


def _record_callee(out: SideEffects, function: n.Expr, own: frozenset[str]) -> None:
    """Record a called function: a lambda is part of the tree, but the function in a variable is unknown."""
    if isinstance(function, n.Name) and function.name not in own:
        out.calls.add(function.name)
    elif isinstance(function, n.Name) or not isinstance(function, n.Lambda):
        out.is_open = True
