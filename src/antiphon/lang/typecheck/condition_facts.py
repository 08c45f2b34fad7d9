"""Facts about values that a condition implies."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.invariance import can_share
from antiphon.lang.typecheck.types import (
    JSON,
    NULL,
    AIResultType,
    Literal,
    Object,
    Type,
    is_mutable,
    is_nullable,
    remove_null,
    strip_ai_result,
)
from antiphon.lang.typecheck.unions import inhabited_options, intersect_type, is_never, make_union, subtract_type

#: A value, and its type where the condition holds.
ConditionFact = tuple[n.Expr, Type]
#: Expressions whose values can be narrowed, and those among them that are steps of a path.
_PATH_STEPS = (n.Member, n.Index, n.Slice)
_NARROWABLE = (n.Name, *_PATH_STEPS)
#: The maximum number of terms of a condition that are examined.
_MAX_TERMS = 50
#: The values of a condition that does not hold.
_FALSY = make_union((NULL, Literal(False)))


def infer_facts(node: n.Expr, holds: bool, most: int = _MAX_TERMS) -> Iterator[ConditionFact]:
    """Yield the facts where a condition holds, or where it does not; at most `most` of its terms are examined."""
    while most > 0:
        most -= 1
        match node:
            case n.Unary(op="not"):
                node, holds = node.operand, not holds
            case n.Binary(op="and" | "or") if (node.op == "and") == holds:
                # The right side is checked with the facts of the left, so its facts come last.
                yield from infer_facts(node.left, holds, most)
                yield from infer_facts(node.right, holds, min(most, 5))
                return
            case n.Binary(op="and" | "or"):
                yield from _infer_common_facts(node, holds, most)
                return
            case n.Binary(op="==" | "!="):
                yield from _infer_equality_facts(node, (node.op == "==") == holds)
                return
            case n.Binary(op="in"):
                yield from _infer_membership_facts(node, holds)
                return
            case n.Is():
                if node.tested.type is not None:
                    yield from infer_tested_facts(node.value, node.tested.type, holds)
                return
            case _:
                if holds:
                    yield from _infer_non_null_facts(node)
                if isinstance(node, n.Member):
                    yield from _infer_discriminated_facts(node, _FALSY, not holds)
                return


def _infer_common_facts(node: n.Binary, holds: bool, most: int) -> Iterator[ConditionFact]:
    """Yield the facts that both sides imply, where it is unknown which of them holds."""
    first = {_value_key(each): type_ for each, type_ in infer_facts(node.left, holds, most)}
    for each, type_ in infer_facts(node.right, holds, min(most, 5)) if first else ():
        other = first.get(key) if (key := _value_key(each)) is not None else None
        if other is not None and not isinstance(other, AIResultType) and not isinstance(type_, AIResultType):
            yield each, make_union((other, type_))


def _value_key(node: n.Expr) -> object:
    """Return a key that is equal for expressions of the same value, or None."""
    if isinstance(node, n.Name):
        return node.symbol
    inner = _value_key(node.object) if isinstance(node, n.Member) else None
    return (inner, node.name) if isinstance(node, n.Member) and inner is not None else None


def _infer_equality_facts(node: n.Binary, equal: bool) -> Iterator[ConditionFact]:
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(other, n.NullLit):
            if not equal:
                yield from _infer_non_null_facts(one)
        elif isinstance(found := strip_ai_result(other.type) if other.type is not None else JSON, Literal):
            if one.type is not None and strip_ai_result(one.type) != JSON:
                yield from infer_tested_facts(one, found, equal)
        elif equal and not is_nullable(found) and found != JSON:
            # A value that equals a non-null value is not null.
            yield from _infer_non_null_facts(one)


def _infer_membership_facts(node: n.Binary, holds: bool) -> Iterator[ConditionFact]:
    """Yield the facts of `x in ["low", "mid"]`."""
    if not isinstance(node.right, n.ArrayLit) or not node.right.items:
        return
    found = [each.type for each in node.right.items if not isinstance(each, n.Spread) and each.type is not None]
    literals = [strip_ai_result(each) for each in found]
    if len(literals) == len(node.right.items) and all(isinstance(each, Literal) for each in literals):
        yield from infer_tested_facts(node.left, make_union(literals), holds)


def _infer_non_null_facts(node: n.Expr) -> Iterator[ConditionFact]:
    """Yield that a value is not null, nor the values before `?.` in its path."""
    if isinstance(node, _NARROWABLE):
        if node.type is not None and is_nullable(node.type):
            yield node, remove_null(node.type)
        yield from _infer_receiver_facts(node)


def _infer_receiver_facts(node: n.Expr) -> Iterator[ConditionFact]:
    while isinstance(node, _PATH_STEPS):
        if node.optional and node.object.type is not None and is_nullable(node.object.type):
            yield node.object, remove_null(node.object.type)
        node = node.object


def infer_tested_facts(node: n.Expr, tested: Type, holds: bool) -> Iterator[ConditionFact]:
    """Yield the facts about a value that is, or is not, of the tested type."""
    type_ = node.type
    if type_ is None or not isinstance(node, _NARROWABLE):
        return
    if type_ is JSON and not isinstance(node, n.Name):
        # A value inside json may be a model's answer, which is converted when it is read.
        return
    found = intersect_type(type_, tested) if holds else subtract_type(type_, tested)
    if found != type_ and (not holds or _remains_narrowed(type_, found)):
        yield node, found
    if holds and tested != NULL and not is_nullable(tested):
        yield from _infer_receiver_facts(node)
    if isinstance(node, n.Member):
        yield from _infer_discriminated_facts(node, tested, holds)


def _remains_narrowed(type_: Type, found: Type) -> bool:
    """Return True if a value keeps its narrowed type: an alias could insert other values into an array or a field."""
    wider = [each for each in inhabited_options(type_) if is_mutable(each)]
    return all(any(can_share(each, other) for other in wider) for each in inhabited_options(found) if is_mutable(each))


def _infer_discriminated_facts(node: n.Member, tested: Type, holds: bool) -> Iterator[ConditionFact]:
    """Yield which objects of a union remain, by the type of one of their fields."""
    whole = node.object.type
    if whole is None:
        return
    parts = inhabited_options(whole)
    if len(parts) < 2:
        return
    left = [each for each in parts if _can_have_field(each, node.name, tested, holds)]
    if len(left) < len(parts):
        found = make_union(left)
        yield node.object, AIResultType(found) if isinstance(whole, AIResultType) else found


def _can_have_field(type_: Type, name: str, tested: Type, holds: bool) -> bool:
    field = type_.fields.get(name) if isinstance(type_, Object) else None
    # A value without such a field, as null, is only read through `?.`, which returns null.
    read = NULL if field is None else field.read
    return not is_never(intersect_type(read, tested) if holds else subtract_type(read, tested))
