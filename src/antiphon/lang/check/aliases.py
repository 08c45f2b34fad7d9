"""What becomes of the array or object in a variable: it is only read, kept elsewhere, or changed.

The checked tree is gone through once. A value that goes into another variable, a parameter or the variable of a loop is
followed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.lang.check.methods import ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS
from antiphon.lang.check.sharing import NEW, SAME, gives_new, holds_values
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Array, Map, Object, Type, is_mutable, plain
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.syntax import nodes as n

#: What is done with a value: `OWN` are changes of its own, such as an item more, `CHANGED` those of what is in it.
READ, KEPT, OWN, CHANGED = 0, 1, 2, 3
#: What an expression is to another one of which it is made: a part of it, or something new that has its parts.
_PART, _NEW = 1, 2
_MUTATING = frozenset(
    name for table in (ARRAY_METHODS, MAP_METHODS, OBJECT_METHODS) for name, each in table.items() if each.mutates
)

#: A node, what is done with its value, and the variable that it goes into.
_Use = tuple[Any, int, Symbol | None]
_Uses = list[_Use]


def fate_of(symbol: Symbol) -> int:
    """The worst that is done with the value of a variable, wherever it goes from there."""
    worst, todo = READ, [(symbol, 0)]
    seen = {*todo}
    while todo and worst < CHANGED:
        each, step = todo.pop()
        owner = each.owner
        if isinstance(owner, n.Function) and owner.symbol is not None and not owner.symbol.traced:
            # A function of another module.
            trace((owner,))
        worst = max(worst, _reached(each.fate, step))
        for other in each.flows or ():
            if (use := (other, other.step or step)) not in seen:
                seen.add(use)
                todo.append(use)
    return worst


def _reached(how: int, step: int) -> int:
    """What it is for a value that this is done with a part of it, or with something new that has its parts."""
    return how if how != OWN or not step else CHANGED if step == _PART else KEPT


def _apart(how: int, into: Symbol | None, step: int) -> tuple[int, Symbol | None]:
    """The same, where it may go into a variable."""
    if into is not None and into.step != step:
        into = Symbol("", "let", JSON, step=step, flows=[into])
    return _reached(how, step), into


def trace(roots: Iterable[n.Node], watched: dict[int, Symbol] | None = None) -> None:
    """Note at each variable what is done with its value, and at the `watched` symbols what with those expressions."""
    todo: _Uses = [(each, READ, None) for each in roots]
    while todo:
        node, how, into = todo.pop()
        if watched and (held := watched.get(id(node))) is not None:
            _note(held, how, into)
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
    if node.symbol is not None and is_mutable(node.type):
        _note(node.symbol, how, into)


def _note(symbol: Symbol, how: int, into: Symbol | None) -> None:
    if into is None:
        symbol.fate = max(symbol.fate, how)
    elif symbol.flows is None:
        symbol.flows = [into]
    else:
        symbol.flows.append(into)


def _part(todo: _Uses, node: n.Member | n.Index | n.Slice, how: int, into: Symbol | None) -> None:
    step = _NEW if node.__class__ is n.Slice else _PART
    is_part = is_mutable(node.type) and not (step == _NEW and holds_values(node.type))
    todo.append((node.object, *_apart(how, into, step)) if is_part else (node.object, READ, None))
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
            todo.append((each, *_handed(symbol, at)))
    names = symbol.type.names if symbol is not None and isinstance(symbol.type, Signature) else ()
    for named in node.named:
        at = names.index(named.name) if named.name in names else len(names)
        todo.append((named.value, *_handed(symbol, at)))


def _handed(symbol: Symbol | None, at: int) -> tuple[int, Symbol | None]:
    """What a function does with an argument."""
    types = symbol.type.parameters if symbol is not None and isinstance(symbol.type, Signature) else ()
    if at < len(types) and not is_mutable(types[at]):
        return READ, None
    return KEPT, parameter_of(symbol, at) if symbol is not None else None


#: Methods that take a number, a text or a boolean of the function they are given.
_SORTING = frozenset(("filter", "find", "some", "every", "count", "sortBy", "groupBy", "sum", "min", "max"))


def _method(todo: _Uses, node: n.Call, callee: n.Member, how: int, into: Symbol | None) -> None:
    uses: list[tuple[int, Symbol | None]] = []
    if callee.name in _MUTATING:
        uses.append((OWN, None))
    # What `map` gives has nothing of the array but what the function gave of it.
    if is_mutable(node.type) and callee.name != "map" and not gives_new(node):
        step = _NEW if callee.name in NEW else 0 if callee.name in SAME else _PART
        uses.append(_apart(how, into, step) if step else (how, into))
    kind = plain(callee.object.type or JSON)
    item = kind.item if isinstance(kind, Array) else JSON
    for each in node.arguments:
        if isinstance(each, n.Lambda) and not isinstance(each.body, n.Block) and callee.name in _SORTING:
            todo.append((each.body, READ, None))
        elif isinstance(each, n.Lambda) and not isinstance(each.body, n.Block) and callee.name == "map":
            todo.append((each.body, *_apart(how, into, _NEW)))
        elif callee.name == "zip":
            # Of an array that is only gone through, nothing is kept but its items.
            todo.append((each, READ if holds_values(each.type) else KEPT, None))
        else:
            todo.append((each, KEPT if is_mutable(item) or isinstance(each.type, Signature) else READ, None))
        if isinstance(each.type, Signature):
            # A function is called with the items.
            takers = parameters_of(each)
            uses += [_apart(KEPT, taker, _PART) for taker in takers[int(callee.name == "reduce") :] or [None]]
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
    elif node.op == "+":
        how, into = _apart(how, into, _NEW)
    todo += ((node.left, how, into), (node.right, how, into))


def _spread(todo: _Uses, node: n.Spread, how: int, _: Symbol | None) -> None:
    todo.append((node.value, READ if holds_values(node.value.type) else min(how, KEPT), None))


def _choice(todo: _Uses, node: n.Conditional, how: int, into: Symbol | None) -> None:
    todo += ((node.condition, READ, None), (node.then, how, into), (node.otherwise, how, into))


def _match(todo: _Uses, node: n.Match | n.MatchStatement, how: int, into: Symbol | None) -> None:
    todo.append((node.value, READ, None))
    todo += [(arm.body, how, into) for arm in node.arms]


def _made(todo: _Uses, node: n.Node, how: int, _: Symbol | None) -> None:
    todo += [(each, min(how, KEPT), None) for each in n.children(node)]


def _read(todo: _Uses, node: n.Node, _: int, __: Symbol | None) -> None:
    todo += [(each, READ, None) for each in n.children(node) if each.__class__ not in _LEAVES]


def _loop(todo: _Uses, node: n.For | n.AsyncFor, _: int, __: Symbol | None) -> None:
    into = [node.symbol]
    if isinstance(node, n.For) and node.value is not None:
        into.append(node.value.symbol)
    if isinstance(node, n.For) and node.pattern is not None:
        into += [each.symbol for each in n.walk(node.pattern) if isinstance(each, n.PatternField | n.PatternItem)]
    uses = [_apart(KEPT, each, _PART) for each in into if each is not None]
    todo += (_used(node.iterable, uses), (node.body, READ, None))


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
    how = KEPT if is_mutable(_declared(target)) else READ
    if isinstance(target, n.Name):
        todo.append((node.value, how, target.symbol if node.op == "=" and how == KEPT else None))
        return
    todo.append((target.object, OWN, None))
    todo += [(each, READ, None) for each in n.children(target) if each is not target.object]
    todo.append((node.value, how, None))


def _declared(target: n.Name | n.Member | n.Index) -> Type | None:
    """What a place may hold, whatever is known of it just now."""
    if isinstance(target, n.Name):
        return target.symbol.type if target.symbol is not None else None
    match plain(target.object.type or JSON):
        case Array() as kind:
            return kind.item
        case Map() as kind:
            return kind.value
        case Object(fields=fields) if isinstance(target, n.Member) and target.name in fields:
            return fields[target.name].type
        case _:
            return None


def _return(todo: _Uses, node: n.Return, _: int, __: Symbol | None) -> None:
    if node.value is not None:
        todo.append((node.value, READ if node.scalar else KEPT, None))


def _object(todo: _Uses, node: n.ObjectLit, how: int, _: Symbol | None) -> None:
    kind = plain(node.type) if node.type is not None else JSON
    fields = kind.fields if isinstance(kind, Object) else {}
    for each in node.entries:
        field = fields.get(each.key) if isinstance(each, n.Entry) else None
        is_read = field is not None and not is_mutable(field.type)
        todo.append((each.value, READ if is_read else min(how, KEPT), None))


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
    n.Return: _return,
    n.ObjectLit: _object,
    n.TypeDecl: _nothing,
    **dict.fromkeys((n.Member, n.Index, n.Slice), _part),
    n.ArrayLit: _made,
    **dict.fromkeys(
        (n.Unary, n.Range, n.Is, n.TextLit, n.Hole, n.Ask, n.AskHuman, n.PyBlock, n.If, n.While, n.ExprStatement), _read
    ),
}
