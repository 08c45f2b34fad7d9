"""Narrowing: the facts that conditions imply about values, and how long they remain valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import (
    inhabited_options,
    intersect_type,
    is_assignable,
    is_never,
    make_union,
    subtract_type,
)
from antiphon.lang.typecheck.invariance import can_share
from antiphon.lang.typecheck.side_effects import ALL_ITEMS, ANY_MEMBER, SideEffectAnalysis, SideEffects
from antiphon.lang.typecheck.symbols import Symbol

#: The maximum number of steps of a path, and of facts, since they are copied with every block.
_MAX_STEPS, _MAX_FACTS = 4, 64
_PATH_NODES = (n.Member, n.Index)
#: The path of a narrowed value: its variable, then members and items; an index may be a variable.
ValuePath = tuple[Symbol, tuple[str | int | Symbol, ...]]
#: Narrowed types by the path of the value; and with the number of changes when they were recorded.
NarrowedTypes = dict[ValuePath, t.Type]
RecordedFacts = dict[ValuePath, tuple[int, t.Type]]
#: Members of a tool call of which exactly one is null.
_EXCLUSIVE_MEMBERS = {"error": "result", "result": "error"}


class Narrowing:
    """The narrowed types at the current place. A fact is valid until something its value depends on changes."""

    __slots__ = ("_at_block_end", "_change_counts", "_effects", "_facts", "_in_repl")

    def __init__(self, effects: SideEffectAnalysis, *, in_repl: bool) -> None:
        self._effects = effects
        self._in_repl = in_repl
        #: Narrowed types, each with the number of changes at that time.
        self._facts: RecordedFacts = {}
        self._at_block_end: RecordedFacts = {}
        #: The number of changes so far, by variable or by name of a member.
        self._change_counts: dict[Symbol | str, int] = {}

    # Branches

    def begin_branch(self) -> RecordedFacts:
        """Begin a branch, whose facts end with it, and return the facts before it, for `restore`."""
        outside = self._facts
        self._facts = dict(outside)
        return outside

    def begin_function(self, *, is_lambda: bool = False) -> RecordedFacts:
        """Begin a function that is called later, and return the facts before it.

        In a lambda, facts about values that never change remain.
        """
        outside = self._facts
        lasting = ((path, fact) for path, fact in outside.items() if not path[1] and self._is_never_assigned(path[0]))
        self._facts = dict(lasting) if is_lambda else {}
        return outside

    def restore(self, outside: RecordedFacts) -> None:
        """Return to the facts before a branch or function."""
        self._facts = dict(outside)

    def end_block(self, outside: RecordedFacts) -> None:
        """Return to the facts before a block, and keep those at its end for `facts_after_block`."""
        self._at_block_end, self._facts = self._facts, outside

    def facts_after_block(self) -> NarrowedTypes:
        """Return the facts at the end of the last block that are still valid."""
        return self._filter_valid(self._at_block_end)

    def current_facts(self) -> NarrowedTypes:
        """Return the facts that are valid here."""
        return self._filter_valid(self._facts)

    def merge(self, branches: list[NarrowedTypes]) -> None:
        """Continue where several branches join, with the facts that hold on each of them."""
        first, *others = branches
        self._facts = {
            path: (self._count_changes(path), found)
            for path, type_ in first.items()
            if all(path in each for each in others)
            and (found := _join_certain([type_, *(each[path] for each in others)])) is not None
        }

    # Facts

    def get_type(self, node: n.Name | n.Member | n.Index, type_: t.Type) -> t.Type:
        """Return the type of a value, narrowed by the conditions around it."""
        if not self._facts or (path := get_value_path(node)) is None:
            return type_
        found = self._facts.get(path)
        return type_ if found is None or found[0] != self._count_changes(path) else found[1]

    def narrow_by_condition(self, condition: n.Expr, holds: bool) -> bool:
        """Record what holds where a condition is true, or false. Return True if that is impossible."""
        facts = [*infer_facts(condition, holds)]
        impossible = False
        if facts:
            # One side of the condition may change what the other found.
            effects = self._effects.collect(condition)
            impossible = self.record([each for each in facts if not _may_change(effects, get_value_path(each[0]))])
        missing = _find_null_value(condition, holds)
        if isinstance(missing, n.Member) and missing.name in _EXCLUSIVE_MEMBERS and missing.object.type is t.TOOL_CALL:
            other = n.Member(missing.start, missing.end, missing.object, _EXCLUSIVE_MEMBERS[missing.name])
            self._narrow(other, t.TEXT)
        return impossible

    def record(self, facts: Iterable[ConditionFact]) -> bool:
        """Record facts. Return True if one of them is impossible."""
        impossible = False
        for node, type_ in facts:
            impossible = self._narrow(node, type_) or impossible
        return impossible

    def record_assignment(self, symbol: Symbol, type_: t.Type) -> None:
        """Invalidate the facts about a variable, and record the type of its new value."""
        self._change_counts[symbol] = self._change_counts.get(symbol, 0) + 1
        path: ValuePath = symbol, ()
        if len(self._facts) >= _MAX_FACTS or self._changes_concurrently(path):
            return
        found = _narrow_untyped(type_) if symbol.is_open else _narrow_after_assignment(symbol.type, type_)
        if found is not None:
            self._facts[path] = (self._count_changes(path), found)

    def record_part_assignment(self, node: n.Member | n.Index, slot: t.Type, type_: t.Type) -> None:
        """Record that a value of this type was assigned to a member or an item."""
        if (found := _narrow_after_assignment(slot, type_)) is not None:
            self._narrow(node, found)

    def _narrow(self, node: n.Expr, type_: t.Type) -> bool:
        """Record that a value has a narrower type. Return True if there is no such value."""
        path = get_value_path(node)
        if path is None or self._changes_concurrently(path):
            return False
        if len(self._facts) < _MAX_FACTS or path in self._facts:
            self._facts[path] = (self._count_changes(path), type_)
        return is_never(type_)

    # Changes

    def invalidate_members(self, members: Iterable[str]) -> None:
        """Invalidate the facts about members of these names, in every object."""
        for each in members:
            self._change_counts[each] = self._change_counts.get(each, 0) + 1

    def invalidate_by_call(self, symbol: Symbol) -> None:
        """Invalidate the facts that a call of a function or tool may change."""
        if self._facts:
            self._invalidate(self._effects.collect_call(symbol))

    def invalidate_by_node(self, node: n.Node) -> None:
        """Invalidate the facts that a node may change; it may run repeatedly, so they are unknown at its start."""
        if self._facts:
            self._invalidate(self._effects.collect(node))

    def invalidate_by_unknown_call(self) -> None:
        """Invalidate the facts that a call of an unknown function may change."""
        if self._facts:
            self._invalidate(self._effects.collect_unknown_call())

    def _invalidate(self, effects: SideEffects) -> None:
        for path in self._facts:
            if path[0].name in effects.names and not path[0].is_constant:
                self._change_counts[path[0]] = self._change_counts.get(path[0], 0) + 1
        self.invalidate_members(effects.members)

    def _filter_valid(self, known: RecordedFacts) -> NarrowedTypes:
        return {path: type_ for path, (version, type_) in known.items() if version == self._count_changes(path)}

    def _is_never_assigned(self, symbol: Symbol) -> bool:
        if symbol.is_constant:
            return True
        return not self._effects.is_assigned(symbol.name) and not (self._in_repl and symbol.is_global)

    def _count_changes(self, path: ValuePath) -> int:
        """Return the number of changes to anything that a path depends on: a fact is valid for one such number."""
        symbol, steps = path
        counts = self._change_counts
        total = counts.get(symbol, 0)
        if steps:
            total += counts.get(ANY_MEMBER, 0)
            total += sum(counts.get(step, 0) for step in steps if isinstance(step, Symbol))
            total += sum(counts.get(step if isinstance(step, str) else ALL_ITEMS, 0) for step in steps)
        return total

    def _changes_concurrently(self, path: ValuePath) -> bool:
        """Return True if concurrent code may change the value at any time."""
        return _may_change(self._effects.collect_concurrent(), path)


def _join_certain(types: list[t.Type]) -> t.Type | None:
    found = types[0]
    for each in types[1:]:
        if is_assignable(each, found, certain=True):
            continue
        if isinstance(each, t.AIResultType) or isinstance(found, t.AIResultType):
            return None
        found = each if is_assignable(found, each, certain=True) else make_union((found, each))
    return found


def _narrow_after_assignment(slot: t.Type, type_: t.Type) -> t.Type | None:
    """Return the type of a place after an assignment: without null, if the value is known not to be null.

    Which of several other options it has is not recorded, since the next lines may well test it.
    """
    is_there = t.is_nullable(slot) and not t.is_nullable(type_) and t.strip_ai_result(type_) != t.JSON
    return t.remove_null(slot) if is_there else None


def _narrow_untyped(type_: t.Type) -> t.Type | None:
    """Return the type of an untyped variable after an assignment, if the value is null or immutable."""
    kind = t.get_base_type(type_)
    return kind if kind in (t.NULL, t.NUMBER, t.TEXT, t.BOOLEAN) else None


def get_value_path(node: n.Expr) -> ValuePath | None:
    """Return the variable, members and items that identify a value, or None if they do not."""
    if isinstance(node, n.Name):
        return (node.symbol, ()) if node.symbol is not None else None
    steps: list[str | int | Symbol] = []
    while isinstance(node, _PATH_NODES) and len(steps) < _MAX_STEPS:
        step = node.name if isinstance(node, n.Member) else _index_step(node.index)
        if step is None:
            return None
        steps.append(step)
        node = node.object
    if isinstance(node, n.Name) and node.symbol is not None:
        return node.symbol, tuple(reversed(steps))
    return None


def _index_step(index: n.Expr) -> str | int | Symbol | None:
    sign = 1
    if isinstance(index, n.Unary) and index.op == "-":
        sign, index = -1, index.operand
    if isinstance(index, n.NumberLit) and isinstance(index.value, int):
        return sign * index.value
    if isinstance(index, n.TextLit) and len(index.parts) == 1 and isinstance(index.parts[0], str):
        return index.parts[0]
    return index.symbol if isinstance(index, n.Name) else None


def _may_change(effects: SideEffects, path: ValuePath | None) -> bool:
    if path is None:
        return False
    symbol, steps = path
    if symbol.name in effects.names and not symbol.is_constant:
        return True
    members = effects.members
    return bool(members) and any(
        ANY_MEMBER in members or (each if isinstance(each, str) else ALL_ITEMS) in members for each in steps
    )


def _find_null_value(node: n.Expr, holds: bool) -> n.Expr | None:
    """Return the value that is null, if the condition tests just one."""
    while isinstance(node, n.Unary) and node.op == "not":
        node, holds = node.operand, not holds
    if isinstance(node, n.Member):
        return None if holds else node
    if isinstance(node, n.Binary) and node.op == ("==" if holds else "!="):
        return (
            node.left if isinstance(node.right, n.NullLit) else node.right if isinstance(node.left, n.NullLit) else None
        )
    return None


#: A value, and its type where the condition holds.
ConditionFact = tuple[n.Expr, t.Type]
#: Expressions whose values can be narrowed.
_NARROWABLE = (n.Name, *n.PATH_STEPS)
#: The maximum number of terms of a condition that are examined.
_MAX_TERMS = 50
#: The values of a condition that does not hold.
_FALSY = make_union((t.NULL, t.Literal(False)))


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
        if other is not None and not isinstance(other, t.AIResultType) and not isinstance(type_, t.AIResultType):
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
        elif isinstance(found := t.strip_ai_result(other.type) if other.type is not None else t.JSON, t.Literal):
            if one.type is not None and t.strip_ai_result(one.type) != t.JSON:
                yield from infer_tested_facts(one, found, equal)
        elif equal and not t.is_nullable(found) and found != t.JSON:
            # A value that equals a non-null value is not null.
            yield from _infer_non_null_facts(one)


def _infer_membership_facts(node: n.Binary, holds: bool) -> Iterator[ConditionFact]:
    """Yield the facts of `x in ["low", "mid"]`."""
    if not isinstance(node.right, n.ArrayLit) or not node.right.items:
        return
    found = [each.type for each in node.right.items if not isinstance(each, n.Spread) and each.type is not None]
    literals = [t.strip_ai_result(each) for each in found]
    if len(literals) == len(node.right.items) and all(isinstance(each, t.Literal) for each in literals):
        yield from infer_tested_facts(node.left, make_union(literals), holds)


def _infer_non_null_facts(node: n.Expr) -> Iterator[ConditionFact]:
    """Yield that a value is not null, nor the values before `?.` in its path."""
    if isinstance(node, _NARROWABLE):
        if node.type is not None and t.is_nullable(node.type):
            yield node, t.remove_null(node.type)
        yield from _infer_receiver_facts(node)


def _infer_receiver_facts(node: n.Expr) -> Iterator[ConditionFact]:
    while isinstance(node, n.PATH_STEPS):
        if node.optional and node.object.type is not None and t.is_nullable(node.object.type):
            yield node.object, t.remove_null(node.object.type)
        node = node.object


def infer_tested_facts(node: n.Expr, tested: t.Type, holds: bool) -> Iterator[ConditionFact]:
    """Yield the facts about a value that is, or is not, of the tested type."""
    type_ = node.type
    if type_ is None or not isinstance(node, _NARROWABLE):
        return
    if type_ is t.JSON and not isinstance(node, n.Name):
        # A value inside json may be a model's answer, which is converted when it is read.
        return
    found = intersect_type(type_, tested) if holds else subtract_type(type_, tested)
    if found != type_ and (not holds or _remains_narrowed(type_, found)):
        yield node, found
    if holds and tested != t.NULL and not t.is_nullable(tested):
        yield from _infer_receiver_facts(node)
    if isinstance(node, n.Member):
        yield from _infer_discriminated_facts(node, tested, holds)


def _remains_narrowed(type_: t.Type, found: t.Type) -> bool:
    """Return True if a value keeps its narrowed type: an alias could insert other values into an array or a field."""
    wider = [each for each in inhabited_options(type_) if t.is_mutable(each)]
    return all(
        any(can_share(each, other) for other in wider) for each in inhabited_options(found) if t.is_mutable(each)
    )


def _infer_discriminated_facts(node: n.Member, tested: t.Type, holds: bool) -> Iterator[ConditionFact]:
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
        yield node.object, t.AIResultType(found) if isinstance(whole, t.AIResultType) else found


def _can_have_field(type_: t.Type, name: str, tested: t.Type, holds: bool) -> bool:
    field = type_.fields.get(name) if isinstance(type_, t.Object) else None
    # A value without such a field, as null, is only read through `?.`, which returns null.
    read = t.NULL if field is None else field.read
    return not is_never(intersect_type(read, tested) if holds else subtract_type(read, tested))
