"""Constants that need not be frozen: what they have is only read, and nothing changes it while they are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from antiphon.lang.check.aliases import READ, fate_of
from antiphon.lang.check.effects import ANY, ITEMS, changed_by_index
from antiphon.lang.check.members import field_function
from antiphon.lang.check.methods import ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS
from antiphon.lang.check.sharing import is_fresh
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import AI, JSON, NEVER, Array, Literal, Map, Object, Simple, Type, Union, base
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.syntax import nodes as n

#: Stands for the values of all maps.
_ENTRIES = "{}"
_MUTATING = frozenset(
    name for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for name, each in table.items() if each.mutates
)
#: What may run anything meanwhile.
_OPEN = (n.Ask, n.AskHuman, n.AsyncFor, n.PyBlock, n.Started)
#: What has no parts, and what may have any.
_SCALAR, _UNKNOWN = (Simple, Literal), (AI, Signature)


@dataclass(slots=True, eq=False, repr=False)
class Changes:
    """The members and items that a piece of a program changes, and the functions that it may call."""

    parts: set[str] = field(default_factory=set[str])
    calls: set[Symbol] = field(default_factory=set[Symbol])
    #: Whether it calls something of which nothing is known.
    is_open: bool = False


def is_frozen(c: Compiler, symbol: Symbol, value: n.Expr, here: tuple[list[n.Statement], int]) -> bool:
    """Whether the value of a constant, declared `here` in its block, must be frozen for all that is known of it."""
    kind = type_of(value)
    if symbol.exported or (symbol.is_global and not c.is_whole) or fate_of(symbol) > READ:
        return True
    if _is_parsed(value):
        # Nobody else has it.
        return False
    inside = _parts(symbol.type)
    if inside is None:
        return True
    if kind == JSON:
        # What comes from json is copied.
        return False
    if kind is not symbol.type and _parts(kind) is None:
        return True
    if is_fresh(value) or _is_constant(c, value):
        return False
    if symbol.is_global or symbol.is_captured or c.is_concurrent or not _stays_inside(symbol):
        return True
    block, place = here
    found = _changes(c, block[place + 1 :])
    if found is None or ANY in found or found & inside:
        return True
    c.aliases.add(symbol)
    return False


def _is_parsed(node: n.Expr) -> bool:
    symbol = node.callee.symbol if isinstance(node, n.Call) and isinstance(node.callee, n.Name) else None
    return symbol is not None and symbol.kind == "builtin" and symbol.name == "parseJson"


def _parts(type_: Type) -> set[str] | None:
    """What can be changed in a value: members by their names, items, entries. Nothing is known of `json`."""
    out: set[str] = set()
    todo, seen = [type_], set[int]()
    while todo:
        each = todo.pop()
        if isinstance(each, _SCALAR):
            if each is JSON:
                return None
            continue
        if isinstance(each, _UNKNOWN):
            return None
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Array):
            out.add(_items(each))
            todo.append(each.item)
        elif isinstance(each, Map):
            out.add(_ENTRIES)
            todo.append(each.value)
        elif isinstance(each, Union):
            todo += each.options
        elif isinstance(each, Object):
            out |= each.fields.keys()
            todo += (one.type for one in each.fields.values())
    return out


def _items(type_: Array) -> str:
    """The items of an array: those of another type are those of another array."""
    kind = base(type_.item)
    return ITEMS + kind.name if isinstance(kind, Simple) and kind not in (JSON, NEVER) else ITEMS


def _held_by(type_: Type) -> set[str]:
    if isinstance(type_, Array):
        return {_items(type_)}
    return {_ENTRIES} if isinstance(type_, Map) else set()


def _is_constant(c: Compiler, node: n.Expr) -> bool:
    """Whether it is a part of a constant that is one wherever its value is known."""
    while isinstance(node, n.Member | n.Index):
        node = node.object
    symbol = node.symbol if isinstance(node, n.Name) else None
    root = None if symbol is None else symbol.source or symbol
    return root is not None and root.kind == "const" and not root.is_async and root not in c.aliases


def _stays_inside(symbol: Symbol) -> bool:
    """Whether all variables that its value goes into are gone with it."""
    seen, todo = {symbol}, [symbol]
    while todo:
        for each in todo.pop().flows or ():
            is_here = symbol.since <= each.since and each.until <= symbol.until
            inside = is_here or not each.name or each.kind == "parameter"
            if each.is_captured or each.assigned_in or not inside:
                return False
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return True


def _changes(c: Compiler, statements: Iterable[n.Node]) -> set[str] | None:
    """All that running these may change, with the functions that they call; `None` where that is not known."""
    out: set[str] = set()
    seen: set[Symbol] = set()
    todo = list(statements)
    while todo:
        own = _own(c, todo.pop())
        if own.is_open:
            return None
        out |= own.parts
        todo += [each.node for each in own.calls if each not in seen]
        seen |= own.calls
    return out


def _own(c: Compiler, root: n.Node) -> Changes:
    known = c.changes.get(id(root))
    if known is None:
        # The node is kept with it, so that nothing else gets its id.
        known = c.changes[id(root)] = (root, Changes())
        for node in n.walk(root):
            _note(known[1], node)
    return known[1]


def _note(out: Changes, node: n.Node) -> None:
    match node:
        case n.Assign(target=n.Member(name=name)):
            out.parts.add(name)
        case n.Assign(target=n.Index(object=holder, index=index)):
            out.parts |= _held_by(type_of(holder)) or changed_by_index(index)
        case n.Call(callee=n.Member(object=holder, name=name)):
            if name in _MUTATING:
                out.parts |= _held_by(type_of(holder)) or {ANY}
            out.is_open = out.is_open or field_function(type_of(holder), name) is not None
        case n.Name(symbol=symbol) if symbol is not None and isinstance(symbol.type, Signature):
            if symbol.kind == "function" and isinstance(symbol.node, n.Function):
                out.calls.add(symbol)
            elif symbol.kind != "builtin":
                out.is_open = True
        case n.Call(callee=n.Name(symbol=symbol)):
            out.is_open = out.is_open or symbol is None or symbol.kind not in ("function", "builtin")
        case n.Call():
            out.is_open = True
        case _:
            out.is_open = out.is_open or isinstance(node, _OPEN) or getattr(node, "is_async", False)
