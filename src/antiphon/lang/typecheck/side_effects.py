"""Side effects of nodes: the variables that they assign, and the members and items that they change.

They are derived from the tree before types are known: a call is followed to the function of that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.methods import BUILTINS, METHODS_WITH_FUNCTION, list_method_names
from antiphon.lang.typecheck.scopes import ScopeStack
from antiphon.lang.typecheck.symbols import Symbol

#: Placeholders for the items of all arrays, and for members of any name.
ALL_ITEMS, ANY_MEMBER = "[]", "*"
_ITEM_MUTATORS = frozenset(("push", "pop", "insert", "sort", "reverse", "remove"))
_METHOD_NAMES = list_method_names()
#: Nodes that declare variables for their own parts, and nodes without parts.
_DECLARING_NODES: frozenset[type] = frozenset((n.Let, n.Destructure, n.For, n.AsyncFor, n.Function, n.Lambda))
_LEAF_NODES: frozenset[type] = frozenset((n.Name, n.NumberLit, n.BoolLit, n.NullLit, n.TypeName))


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


class SideEffectAnalysis:
    """The side effects of a program's nodes and calls, each computed once."""

    __slots__ = ("_assigned_names", "_concurrent", "_has_async", "_own", "_scopes", "_tools", "_unknown")

    def __init__(self, scopes: ScopeStack, has_async: bool) -> None:
        self._scopes = scopes
        self._has_async = has_async
        #: The nodes and their own effects by the ids of the nodes; a node is stored so that its id is not reused.
        self._own: dict[int, tuple[n.Node, SideEffects]] = {}
        self._assigned_names: frozenset[str] | None = None
        self._concurrent: SideEffects | None = None
        self._unknown: SideEffects | None = None
        self._tools: list[n.Node] | None = None

    def collect(self, node: n.Node) -> SideEffects:
        """Return the side effects of a node, including those of all functions that it calls, transitively."""
        own = self._collect_own(node)
        if not (own.calls or own.asks or own.is_open):
            return own
        total, seen, todo = SideEffects(), {id(node)}, [own]
        while todo:
            each = todo.pop()
            total |= each
            if each.is_open:
                total |= self.collect_unknown_call()
            reached = [found for name in each.calls for found in self._find_functions(name, total)]
            if each.asks:
                reached += self._find_tools()
            for function in reached:
                if id(function) not in seen:
                    seen.add(id(function))
                    todo.append(self._collect_own(function))
        return total

    def collect_call(self, symbol: Symbol) -> SideEffects:
        """Return the side effects of a call of a function or tool."""
        node = symbol.node
        if isinstance(node, Symbol):
            # A function of another module cannot assign our variables, but it can change objects it is given.
            found = self.collect(node.node) if isinstance(node.node, n.Function) else SideEffects()
            return SideEffects(members=found.members, asks=found.asks, is_open=found.is_open)
        return self.collect(node) if isinstance(node, n.Function) else SideEffects()

    def collect_unknown_call(self) -> SideEffects:
        """Return the side effects of an unknown call: those of all functions in the program."""
        if self._unknown is None:
            self._unknown = SideEffects()
            for node in self._iterate_nodes():
                if isinstance(node, n.Function | n.Lambda):
                    self._unknown |= self._collect_own(node)
        return self._unknown

    def collect_concurrent(self) -> SideEffects:
        """Return the side effects that may happen at any time, because they are of concurrent code."""
        if self._concurrent is None:
            self._concurrent = SideEffects()
            for each in self._iterate_nodes() if self._has_async else ():
                if isinstance(each, n.AsyncFor) or getattr(each, "is_async", False):
                    self._concurrent |= self.collect(each)
        return self._concurrent

    def is_assigned(self, name: str) -> bool:
        """Return True if a variable of this name is assigned anywhere in the program."""
        if self._assigned_names is None:
            self._assigned_names = frozenset(
                node.target.name
                for node in self._iterate_nodes()
                if isinstance(node, n.Assign) and isinstance(node.target, n.Name)
            )
        return name in self._assigned_names

    def _iterate_nodes(self) -> Iterator[n.Node]:
        """Yield all nodes of the program."""
        for statement in self._scopes.module.statements:
            yield from n.walk(statement)

    def _find_functions(self, name: str, total: SideEffects) -> list[n.Node]:
        """Return the functions a name may refer to; a call of another value adds the unknown effects to `total`."""
        out: list[n.Node] = []
        for symbol in {self._scopes.find(name), self._scopes.module.find(name)}:
            if symbol is None or symbol.kind in ("builtin", "type", "import"):
                continue
            if isinstance(symbol.node, n.Function):
                out.append(symbol.node)
            elif symbol.kind in ("let", "const", "parameter", "loop", "caught"):
                total |= self.collect_unknown_call()
        return out

    def _find_tools(self) -> list[n.Node]:
        if self._tools is None:
            self._tools = [each for each in self._iterate_nodes() if isinstance(each, n.Function) and each.is_tool]
        return self._tools

    def _collect_own(self, node: n.Node) -> SideEffects:
        known = self._own.get(id(node))
        if known is None:
            known = self._own[id(node)] = (node, _collect_own_effects(node))
        return known[1]


def _collect_own_effects(root: n.Node) -> SideEffects:
    out = SideEffects()
    # Each node with the local variables there: assigning them has no effect outside.
    todo: list[tuple[n.Node, frozenset[str]]] = [(root, frozenset())]
    while todo:
        node, own = todo.pop()
        if isinstance(node, n.Block):
            for each in node.statements:
                own |= _declared_names(each) if isinstance(each, n.Let | n.Destructure) else frozenset()
                todo.append((each, own))
            continue
        if type(node) in _DECLARING_NODES:
            own |= _declared_names(node)
        elif isinstance(node, n.Assign):
            target = node.target
            if isinstance(target, n.Name):
                out.names |= {target.name} - own
            elif isinstance(target, n.Member):
                out.members.add(target.name)
            else:
                out.members |= members_changed_by_index(target.index)
        elif isinstance(node, n.Call):
            _record_call(out, node, own)
        elif isinstance(node, n.ModelCall):
            out.asks = True
        todo += [(each, own) for each in n.children(node) if type(each) not in _LEAF_NODES]
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
        if callee.name in METHODS_WITH_FUNCTION:
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
