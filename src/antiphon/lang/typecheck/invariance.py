"""Invariance of mutable types: when two names may share an array or an object, and when one needs a copy.

One name may insert only values that the other expects. So a mutable value is shared only between types that
agree; a fresh value fits wherever its contents do. Between `json` and a type, values are copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable

#: Results for pairs of types; a pair in progress counts as agreeing.
_PairResults = dict[tuple[int, ...], bool]
#: Types that reference each other are compared up to this many pairs.
_MAX_PAIRS = 64
#: The maximum number of expressions that `is_fresh` examines.
_MAX_EXPRESSIONS = 200


def can_share(source: t.Type, target: t.Type) -> bool:
    """Return True if a mutable value may have a name of each type.

    An optional field that an object lacks may be inserted: its own type does not know of that field.
    """
    source, target = t.strip_ai_result(source), t.strip_ai_result(target)
    return _can_share(source, _remove_missing_fields(source, target) if isinstance(source, t.Object) else target, {})


def _remove_missing_fields(source: t.Object, target: t.Type) -> t.Type:
    """Return a type without the optional fields that an object lacks."""
    if isinstance(target, t.Union):
        return t.Union(tuple(_remove_missing_fields(source, each) for each in target.options))
    if not isinstance(target, t.Object) or target.fields.keys() <= source.fields.keys():
        return target
    known = {name: each for name, each in target.fields.items() if name in source.fields or not each.optional}
    return t.Object(known, target.name)


def _can_share(source: t.Type, target: t.Type, seen: _PairResults) -> bool:
    if isinstance(source, t.CallableType) and isinstance(target, t.CallableType):
        return _can_share_callables(source, target, seen)
    if source is target or source == t.JSON or not t.is_mutable(source):
        # A value from json is checked and copied.
        return True
    if target == t.JSON:
        # An array or a map of json accepts whatever is inserted into it.
        return (isinstance(source, t.Array) and source.item == t.JSON) or (
            isinstance(source, t.Map) and source.value == t.JSON
        )
    if isinstance(source, t.Union):
        return all(_can_share(each, target, seen) for each in source.options)
    if isinstance(target, t.Union):
        return any(is_assignable(source, each) and _can_share(source, each, seen) for each in target.options)
    if isinstance(source, t.Array) and isinstance(target, t.Array):
        return _have_same_items(source.item, target.item, seen)
    if isinstance(source, t.Object) and isinstance(target, t.Object):
        return _have_same_fields(source, target, seen)
    return (
        isinstance(source, t.Map) and isinstance(target, t.Map) and _have_same_items(source.value, target.value, seen)
    )


def _can_share_callables(source: t.CallableType, target: t.CallableType, seen: _PairResults) -> bool:
    """Return True if the arguments and the result of one function may be shared as those of the other."""
    taken = zip(target.parameters, source.parameters, strict=False)
    return all(_can_share(t.strip_ai_result(a), t.strip_ai_result(b), seen) for a, b in taken) and _can_share(
        t.strip_ai_result(source.returns), t.strip_ai_result(target.returns), seen
    )


def _have_same_items(source: t.Type, target: t.Type, seen: _PairResults) -> bool:
    pair = id(source), id(target), 0
    if pair not in seen:
        seen[pair] = True
        seen[pair] = _are_same(source, target, seen)
    return seen[pair]


def _are_same(source: t.Type, target: t.Type, seen: _PairResults) -> bool:
    source, target = t.strip_ai_result(source), t.strip_ai_result(target)
    if source == target or {source, target} == {t.TEXT, t.PROMPT}:
        return True
    if source == t.JSON:
        return True
    if target == t.JSON or not t.is_mutable(source) or not t.is_mutable(target):
        return isinstance(source, t.Union) and isinstance(target, t.Union) and source.members == target.members
    if isinstance(source, t.Union) or isinstance(target, t.Union):
        one, two = t.union_options(source), t.union_options(target)
        return len(one) == len(two) and all(any(_are_same(a, b, seen) for b in two) for a in one)
    # A nested value can be replaced, also by an object with fewer fields than the other type expects.
    return _can_share(source, target, seen) and (not isinstance(source, t.Object) or _can_share(target, source, seen))


def _have_same_fields(source: t.Object, target: t.Object, seen: _PairResults) -> bool:
    pair = id(source), id(target)
    if pair in seen or len(seen) > _MAX_PAIRS:
        return seen.get(pair, True)
    seen[pair] = True
    for name, wanted in target.fields.items():
        given = source.fields.get(name)
        if given is None or given.optional != wanted.optional or not _are_same(given.type, wanted.type, seen):
            seen[pair] = False
            break
    return seen[pair]


def iterate_alternatives(node: n.Expr) -> Iterator[n.Expr]:
    """Yield the expressions of which one is the value: the branches of `c ? a : b` and `match`, or the node itself."""
    todo: list[n.Expr] = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, n.Conditional):
            todo += (each.otherwise, each.then)
        elif isinstance(each, n.Match):
            todo += [arm.body for arm in reversed(each.arms) if not isinstance(arm.body, n.Block | n.Throw)]
        else:
            yield each


def is_fresh_value(node: n.Expr) -> bool:
    """Return True if nothing else references the value of an expression, or anything mutable in it."""
    todo: list[n.Expr | n.Spread] = [node]
    left = _MAX_EXPRESSIONS
    while todo and left:
        left -= 1
        each = todo.pop()
        type_ = None if isinstance(each, n.Spread) else each.type
        if type_ is not None and (not t.is_mutable(type_) or type_ == t.JSON):
            continue
        match each:
            case n.ArrayLit():
                todo += [item for item in each.items if isinstance(item, n.Spread) or t.is_mutable(item.type or t.JSON)]
            case n.ObjectLit():
                todo += [entry.value for entry in each.entries]
            case n.Spread():
                todo += () if has_immutable_items(each.value.type) else (each.value,)
            case n.Conditional():
                todo += (each.then, each.otherwise)
            case n.ModelCall() | n.AskHuman() | n.PyBlock() | n.Range():
                pass
            case n.Binary(op="+") | n.AsyncFor() | n.Slice() if has_immutable_items(each.type):
                pass
            case n.Binary(op="+" | "??"):
                todo += (each.left, each.right)
            case n.Slice() | n.Member() | n.Index():
                todo.append(each.object)
            case n.Call() if returns_fresh_value(each):
                pass
            case n.Call(callee=n.Member(object=receiver)):
                todo += (receiver, *each.arguments)
            case _:
                return False
    return not todo


def widen_fresh(node: n.Expr, type_: t.Type, *, whole: bool = True) -> t.Type:
    """Return the type of a reassignable variable with this value; shared parts keep their types."""
    if not t.is_mutable(type_) or is_fresh_value(node):
        return t.widen_type(type_, whole=whole)
    if isinstance(node, n.ObjectLit) and isinstance(type_, t.Object) and not type_.name:
        values: dict[str, n.Expr | None] = dict.fromkeys(type_.fields)
        for entry in node.entries:
            if isinstance(entry, n.Spread):
                values = dict.fromkeys(values)
            else:
                values[entry.key] = entry.value
        fields: dict[str, t.ObjectField] = {}
        for name, field in type_.fields.items():
            value = values[name]
            kind = field.type if value is None and t.is_mutable(field.type) else t.widen_type(field.type, whole=whole)
            kind = kind if value is None else widen_fresh(value, field.type, whole=whole)
            fields[name] = t.ObjectField(kind, field.optional, field.description)
        return t.Object(fields)
    if isinstance(node, n.Name | n.Member | n.Index | n.Call):
        return type_
    return t.widen_type(type_, whole=whole, literals=False)


def returned_expressions(function: n.Lambda) -> list[n.Expr]:
    """Return the expressions whose values a lambda returns."""
    if not isinstance(function.body, n.Block):
        return [function.body]
    return [
        each.value
        for each in _iterate_own_nodes(function.body)
        if isinstance(each, n.Return) and each.value is not None
    ]


def yielded_expressions(loop: n.AsyncFor) -> list[n.Expr]:
    """Return the expressions whose values an `async for` collects."""
    return [each.value for each in _iterate_own_nodes(loop.body) if isinstance(each, n.Yield)]


def _iterate_own_nodes(block: n.Block) -> Iterator[n.Node]:
    """Yield the nodes in the body of a function or loop, without those of nested functions and `async for` loops."""
    todo: list[n.Node] = [block]
    while todo:
        each = todo.pop()
        yield each
        todo += [child for child in n.children(each) if not isinstance(child, n.Lambda | n.Function | n.AsyncFor)]


def has_immutable_items(type_: t.Type | None) -> bool:
    """Return True if the type is an array of immutable items."""
    kind = t.strip_ai_result(type_) if type_ is not None else t.JSON
    return isinstance(kind, t.Array) and not t.is_mutable(kind.item)


#: Methods that return a new array: of new texts, or with the items of the old one.
ARRAY_CREATING_METHODS = frozenset(("split", "lines", "keys")) | frozenset(
    ("map", "filter", "sortBy", "groupBy", "unique", "flat", "zip", "slice", "values", "entries")
)


def returns_fresh_value(node: n.Call) -> bool:
    """Return True if a call returns a value that nothing else references, nor anything mutable in it."""
    callee = node.callee
    if isinstance(callee, n.Member):
        return callee.name == "copy" or (callee.name in ARRAY_CREATING_METHODS and has_immutable_items(node.type))
    return isinstance(callee, n.Name) and callee.symbol is not None and callee.symbol.kind == "builtin"
