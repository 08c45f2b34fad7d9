"""What a condition teaches about the values it looks at."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lang.check.parts import is_never, kept, options, rest, union
from antiphon.lang.check.sharing import agree
from antiphon.lang.check.types import (
    AI,
    JSON,
    NULL,
    Literal,
    Object,
    Type,
    is_mutable,
    may_be_null,
    plain,
    without_null,
)
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    Binary,
    Expr,
    Index,
    Is,
    Member,
    Name,
    NullLit,
    Slice,
    Spread,
    Unary,
)

#: A value, and what is known of it.
Fact = tuple[Expr, Type]
#: Expressions of whose values something can be known further on, and those that go into others.
_STEPS = (Member, Index, Slice)
_KNOWN = (Name, *_STEPS)
#: What a condition is that does not hold.
_NOTHING = union((NULL, Literal(False)))


def learned(node: Expr, holds: bool, most: int) -> Iterator[Fact]:
    """What is known of values where a condition holds, or where it does not; `most` of its terms are looked at."""
    while most > 0:
        most -= 1
        match node:
            case Unary(op="not"):
                node, holds = node.operand, not holds
            case Binary(op="and" | "or") if (node.op == "and") == holds:
                # What stands further right knows of what stands on its left, so that it comes last.
                yield from learned(node.left, holds, most)
                yield from learned(node.right, holds, min(most, 5))
                return
            case Binary(op="and" | "or"):
                yield from _either(node, holds, most)
                return
            case Binary(op="==" | "!="):
                yield from _compared(node, (node.op == "==") == holds)
                return
            case Binary(op="in"):
                yield from _looked_up(node, holds)
                return
            case Is():
                if node.tested.type is not None:
                    yield from _tested(node.value, node.tested.type, holds)
                return
            case _:
                if holds:
                    yield from _there(node)
                if isinstance(node, Member):
                    yield from _discriminated(node, _NOTHING, not holds)
                return


def _either(node: Binary, holds: bool, most: int) -> Iterator[Fact]:
    """What both sides say of a value, where it is not known which of them it is."""
    first = {_key(each): type_ for each, type_ in learned(node.left, holds, most)}
    for each, type_ in learned(node.right, holds, min(most, 5)) if first else ():
        other = first.get(key) if (key := _key(each)) is not None else None
        if other is not None and not isinstance(other, AI) and not isinstance(type_, AI):
            yield each, union((other, type_))


def _key(node: Expr) -> object:
    """What is the same for expressions of the same value."""
    if isinstance(node, Name):
        return node.symbol
    inner = _key(node.object) if isinstance(node, Member) else None
    return (inner, node.name) if isinstance(node, Member) and inner is not None else None


def taught(node: Expr, tested: Type, holds: bool) -> Iterator[Fact]:
    """What is known of a value that is, or is not, of the tested type."""
    yield from _tested(node, tested, holds)


def _compared(node: Binary, equal: bool) -> Iterator[Fact]:
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(other, NullLit):
            if not equal:
                yield from _there(one)
        elif isinstance(found := plain(other.type) if other.type is not None else JSON, Literal):
            if one.type is not None and plain(one.type) != JSON:
                yield from _tested(one, found, equal)
        elif equal and not may_be_null(found) and found != JSON:
            # What equals something that is there is there.
            yield from _there(one)


def _looked_up(node: Binary, holds: bool) -> Iterator[Fact]:
    """`x in ["low", "mid"]`."""
    if not isinstance(node.right, ArrayLit) or not node.right.items:
        return
    found = [each.type for each in node.right.items if not isinstance(each, Spread) and each.type is not None]
    literals = [plain(each) for each in found]
    if len(literals) == len(node.right.items) and all(isinstance(each, Literal) for each in literals):
        yield from _tested(node.left, union(literals), holds)


def _there(node: Expr) -> Iterator[Fact]:
    """That a value is not null; so is then what `?.` reached it through."""
    if isinstance(node, _KNOWN):
        if node.type is not None and may_be_null(node.type):
            yield node, without_null(node.type)
        yield from _reached(node)


def _reached(node: Expr) -> Iterator[Fact]:
    while isinstance(node, _STEPS):
        if node.optional and node.object.type is not None and may_be_null(node.object.type):
            yield node.object, without_null(node.object.type)
        node = node.object


def _tested(node: Expr, tested: Type, holds: bool) -> Iterator[Fact]:
    type_ = node.type
    if type_ is None or not isinstance(node, _KNOWN):
        return
    if type_ is JSON and not isinstance(node, Name):
        # What is inside json may be the answer of a model, which is read otherwise.
        return
    found = kept(type_, tested) if holds else rest(type_, tested)
    if found != type_ and (not holds or _stays(type_, found)):
        yield node, found
    if holds and tested != NULL and not may_be_null(tested):
        yield from _reached(node)
    if isinstance(node, Member):
        yield from _discriminated(node, tested, holds)


def _stays(type_: Type, found: Type) -> bool:
    """Whether a value stays what it was found to be: by another name, more could be put into an array or a field."""
    wider = [each for each in options(type_) if is_mutable(each)]
    return all(any(agree(each, other) for other in wider) for each in options(found) if is_mutable(each))


def _discriminated(node: Member, tested: Type, holds: bool) -> Iterator[Fact]:
    """Of a union of objects, those that have such a field."""
    whole = node.object.type
    if whole is None:
        return
    parts = options(whole)
    if len(parts) < 2:
        return
    left = [each for each in parts if _may_have(each, node.name, tested, holds)]
    if len(left) < len(parts):
        found = union(left)
        yield node.object, AI(found) if isinstance(whole, AI) else found


def _may_have(type_: Type, name: str, tested: Type, holds: bool) -> bool:
    field = type_.fields.get(name) if isinstance(type_, Object) else None
    # What has no such field, as null, is reached by `?.` alone, and gives null then.
    read = NULL if field is None else field.read
    return not is_never(kept(read, tested) if holds else rest(read, tested))
