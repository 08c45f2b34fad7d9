"""Arrays and objects under two names: when that is safe, and when one of them must have a copy.

What one name may put in, the other must expect. So a value that can change is shared only between types that agree;
what has just been made fits wherever its values do. Between `json` and a type, values are copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.types import (
    JSON,
    PROMPT,
    TEXT,
    Array,
    Callable,
    Map,
    Object,
    Type,
    Union,
    is_mutable,
    options_of,
    plain,
)
from antiphon.lang.syntax import nodes as n

#: What is known of pairs of types; one that is being looked at is right until it is found not to be.
_Seen = dict[tuple[int, ...], bool]
#: Types that name each other in a long chain are compared so far.
_MOST_PAIRS = 64
#: A chain of members and operators is followed so far.
_LONGEST = 200


def agree(source: Type, target: Type) -> bool:
    """Whether a value that can change may be under a name of each type.

    An optional field that an object lacks may be put into it: its own type does not know of that.
    """
    source, target = plain(source), plain(target)
    return _agree(source, _without_missing(source, target) if isinstance(source, Object) else target, {})


def _without_missing(source: Object, target: Type) -> Type:
    """Return a type without the optional fields that an object lacks."""
    if isinstance(target, Union):
        return Union(tuple(_without_missing(source, each) for each in target.options))
    if not isinstance(target, Object) or target.fields.keys() <= source.fields.keys():
        return target
    known = {name: each for name, each in target.fields.items() if name in source.fields or not each.optional}
    return Object(known, target.name)


def _agree(source: Type, target: Type, seen: _Seen) -> bool:
    if isinstance(source, Callable) and isinstance(target, Callable):
        return _may_stand_for(source, target, seen)
    if source is target or source == JSON or not is_mutable(source):
        # What comes from json is looked at, and copied.
        return True
    if target == JSON:
        # Whatever is put into it then, it stays an array or a map, of anything.
        return (isinstance(source, Array) and source.item == JSON) or (isinstance(source, Map) and source.value == JSON)
    if isinstance(source, Union):
        return all(_agree(each, target, seen) for each in source.options)
    if isinstance(target, Union):
        return any(assignable(source, each) and _agree(source, each, seen) for each in target.options)
    if isinstance(source, Array) and isinstance(target, Array):
        return _same_items(source.item, target.item, seen)
    if isinstance(source, Object) and isinstance(target, Object):
        return _same_fields(source, target, seen)
    return isinstance(source, Map) and isinstance(target, Map) and _same_items(source.value, target.value, seen)


def _may_stand_for(source: Callable, target: Callable, seen: _Seen) -> bool:
    """Whether what one function is handed and gives may be shared as if it were the other."""
    taken = zip(target.parameters, source.parameters, strict=False)
    return all(_agree(plain(a), plain(b), seen) for a, b in taken) and _agree(
        plain(source.returns), plain(target.returns), seen
    )


def _same_items(source: Type, target: Type, seen: _Seen) -> bool:
    pair = id(source), id(target), 0
    if pair not in seen:
        seen[pair] = True
        seen[pair] = _same(source, target, seen)
    return seen[pair]


def _same(source: Type, target: Type, seen: _Seen) -> bool:
    source, target = plain(source), plain(target)
    if source == target or {source, target} == {TEXT, PROMPT}:
        return True
    if source == JSON:
        return True
    if target == JSON or not is_mutable(source) or not is_mutable(target):
        return isinstance(source, Union) and isinstance(target, Union) and source.members == target.members
    if isinstance(source, Union) or isinstance(target, Union):
        return _same_options(source, target, seen)
    # What is inside can be put in anew: an object with fewer fields than the others expect, too.
    return _agree(source, target, seen) and (not isinstance(source, Object) or _agree(target, source, seen))


def _same_options(source: Type, target: Type, seen: _Seen) -> bool:
    one, two = options_of(source), options_of(target)
    return len(one) == len(two) and all(any(_same(a, b, seen) for b in two) for a in one)


def _same_fields(source: Object, target: Object, seen: _Seen) -> bool:
    pair = id(source), id(target)
    if pair in seen or len(seen) > _MOST_PAIRS:
        return seen.get(pair, True)
    seen[pair] = True
    for name, wanted in target.fields.items():
        given = source.fields.get(name)
        if given is None or given.optional != wanted.optional or not _same(given.type, wanted.type, seen):
            seen[pair] = False
            break
    return seen[pair]


def alternatives(node: n.Expr) -> Iterator[n.Expr]:
    """The expressions of which one is the value: of `c ? a : b` and `match` the branches, else just this one."""
    todo: list[n.Expr] = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, n.Conditional):
            todo += (each.otherwise, each.then)
        elif isinstance(each, n.Match):
            todo += [arm.body for arm in reversed(each.arms) if not isinstance(arm.body, n.Block | n.Throw)]
        else:
            yield each


def is_fresh(node: n.Expr) -> bool:
    """Whether nobody else has the value of an expression, nor anything in it that can change."""
    todo: list[n.Expr | n.Spread] = [node]
    left = _LONGEST
    while todo and left:
        left -= 1
        each = todo.pop()
        type_ = None if isinstance(each, n.Spread) else each.type
        if type_ is not None and (not is_mutable(type_) or type_ == JSON):
            continue
        match each:
            case n.ArrayLit():
                todo += [item for item in each.items if isinstance(item, n.Spread) or is_mutable(item.type or JSON)]
            case n.ObjectLit():
                todo += [entry.value for entry in each.entries]
            case n.Spread():
                todo += () if holds_values(each.value.type) else (each.value,)
            case n.Conditional():
                todo += (each.then, each.otherwise)
            case n.Ask() | n.AskHuman() | n.PyBlock() | n.Range():
                pass
            case n.Binary(op="+") | n.AsyncFor() | n.Slice() if holds_values(each.type):
                pass
            case n.Binary(op="+" | "??"):
                todo += (each.left, each.right)
            case n.Slice() | n.Member() | n.Index():
                todo.append(each.object)
            case n.Call() if gives_new(each):
                pass
            case n.Call(callee=n.Member(object=receiver)):
                todo += (receiver, *each.arguments)
            case _:
                return False
    return not todo


def given_by(function: n.Lambda) -> list[n.Expr]:
    """The expressions that a function without a name gives the values of."""
    if not isinstance(function.body, n.Block):
        return [function.body]
    return [each.value for each in _own(function.body) if isinstance(each, n.Return) and each.value is not None]


def yielded_by(loop: n.AsyncFor) -> list[n.Expr]:
    """The expressions whose values an `async for` gathers."""
    return [each.value for each in _own(loop.body) if isinstance(each, n.Yield)]


def _own(block: n.Block) -> Iterator[n.Node]:
    """The nodes in the body of a function or of rounds, without those of functions and rounds in it."""
    todo: list[n.Node] = [block]
    while todo:
        each = todo.pop()
        yield each
        todo += [child for child in n.children(each) if not isinstance(child, n.Lambda | n.Function | n.AsyncFor)]


def holds_values(type_: Type | None) -> bool:
    """Whether an array has nothing in it that can change."""
    kind = plain(type_) if type_ is not None else JSON
    return isinstance(kind, Array) and not is_mutable(kind.item)


#: Methods that give a new array: of new texts, or with the items of the old one.
NEW = frozenset(("split", "lines", "keys")) | frozenset(
    ("map", "filter", "sortBy", "groupBy", "unique", "flat", "zip", "slice", "values", "entries")
)


def gives_new(node: n.Call) -> bool:
    """Whether a call gives a value that nobody else has, nor anything in it that can change."""
    callee = node.callee
    if isinstance(callee, n.Member):
        return callee.name == "copy" or (callee.name in NEW and holds_values(node.type))
    return isinstance(callee, n.Name) and callee.symbol is not None and callee.symbol.kind == "builtin"
