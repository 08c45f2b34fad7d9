"""Narrowing: the types that conditions imply for values, and how long they remain valid."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.syntax.nodes import Binary, Expr, Index, Member, Name, Node, NullLit, NumberLit, TextLit, Unary
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.checker import Checker, ValuePath
from antiphon.lang.typecheck.condition_facts import ConditionFact, infer_facts
from antiphon.lang.typecheck.side_effects import (
    ALL_ITEMS,
    ANY_MEMBER,
    SideEffects,
    collect_assigned_names,
    collect_call_effects,
    collect_concurrent_effects,
    collect_effects,
    collect_unknown_effects,
)
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    TOOL_CALL,
    AIResultType,
    Type,
    get_base_type,
    is_nullable,
    remove_null,
    strip_ai_result,
)
from antiphon.lang.typecheck.unions import is_never, make_union

#: Limits on the terms of a condition and on the steps of a path.
_MAX_TERMS, _MAX_STEPS = 50, 4
#: The maximum number of facts, since they are copied with every block.
_MAX_FACTS = 64
_PATH_NODES = (Member, Index)
#: Narrowed types by the path of the value.
NarrowedTypes = dict[ValuePath, Type]
#: Members of a tool call of which exactly one is null.
_EXCLUSIVE_MEMBERS = {"error": "result", "result": "error"}


def narrow_by_condition(c: Checker, condition: Expr, holds: bool) -> bool:
    """Record what holds where a condition is true, or false. Return True if that is impossible."""
    facts = [*infer_facts(condition, holds, _MAX_TERMS)]
    impossible = False
    if facts:
        # One side of the condition may change what the other found.
        effects = collect_effects(c, condition)
        impossible = record_facts(c, [each for each in facts if not _may_change(effects, get_value_path(each[0]))])
    missing = _find_null_value(condition, holds)
    if isinstance(missing, Member) and missing.name in _EXCLUSIVE_MEMBERS and missing.object.type is TOOL_CALL:
        narrow_value(c, Member(missing.start, missing.end, missing.object, _EXCLUSIVE_MEMBERS[missing.name]), TEXT)
    return impossible


def record_facts(c: Checker, facts: Iterable[ConditionFact]) -> bool:
    """Record facts. Return True if one of them is impossible."""
    impossible = False
    for node, type_ in facts:
        impossible = narrow_value(c, node, type_) or impossible
    return impossible


def narrow_value(c: Checker, node: Expr, type_: Type) -> bool:
    """Record that a value has a narrower type, until something may change it. Return True if there is no such value."""
    path = get_value_path(node)
    if path is None or _changes_concurrently(c, path):
        return False
    if len(c.narrowed_types) < _MAX_FACTS or path in c.narrowed_types:
        c.narrowed_types[path] = (_count_changes(c, path), type_)
    return is_never(type_)


def filter_valid_facts(c: Checker, known: dict[ValuePath, tuple[int, Type]]) -> NarrowedTypes:
    """Return the facts that are still valid."""
    return {path: type_ for path, (version, type_) in known.items() if version == _count_changes(c, path)}


def merge_facts(c: Checker, ways: list[NarrowedTypes]) -> None:
    """Continue where several branches join, with the facts that hold on each of them."""
    first, *others = ways
    c.narrowed_types = {
        path: (_count_changes(c, path), found)
        for path, type_ in first.items()
        if all(path in each for each in others)
        and (found := _join_certain([type_, *(each[path] for each in others)])) is not None
    }


def _join_certain(types: list[Type]) -> Type | None:
    found = types[0]
    for each in types[1:]:
        if is_assignable(each, found, certain=True):
            continue
        if isinstance(each, AIResultType) or isinstance(found, AIResultType):
            return None
        found = each if is_assignable(found, each, certain=True) else make_union((found, each))
    return found


def get_narrowed_type(c: Checker, node: Name | Member | Index, type_: Type) -> Type:
    """Return the type of a value, narrowed by the conditions around it."""
    path = get_value_path(node)
    found = c.narrowed_types.get(path) if path is not None else None
    if path is None or found is None or found[0] != _count_changes(c, path):
        return type_
    return found[1]


def record_assignment(c: Checker, symbol: Symbol, type_: Type | None = None) -> None:
    """Invalidate the facts about a variable; `type_` is the type of its new value."""
    c.change_counts[symbol] = c.change_counts.get(symbol, 0) + 1
    path: ValuePath = symbol, ()
    if type_ is None or len(c.narrowed_types) >= _MAX_FACTS or _changes_concurrently(c, path):
        return
    if (
        found := _narrow_untyped(type_) if symbol.is_open else _narrow_after_assignment(symbol.type, type_)
    ) is not None:
        c.narrowed_types[path] = (_count_changes(c, path), found)


def record_part_assignment(c: Checker, node: Member | Index, slot: Type, type_: Type) -> None:
    """Record that a value of this type was assigned to a member or an item."""
    if (found := _narrow_after_assignment(slot, type_)) is not None:
        narrow_value(c, node, found)


def _narrow_after_assignment(slot: Type, type_: Type) -> Type | None:
    """Return the type of a place after an assignment: without null, if the value is known not to be null.

    Which of several other options it has is not recorded, since the next lines may well test it.
    """
    is_there = is_nullable(slot) and not is_nullable(type_) and strip_ai_result(type_) != JSON
    return remove_null(slot) if is_there else None


def _narrow_untyped(type_: Type) -> Type | None:
    """Return the type of an untyped variable after an assignment, if the value is null or immutable."""
    kind = get_base_type(type_)
    return kind if kind in (NULL, NUMBER, TEXT, BOOLEAN) else None


def invalidate_members(c: Checker, members: Iterable[str]) -> None:
    """Invalidate the facts about members of these names, in every object."""
    for each in members:
        c.change_counts[each] = c.change_counts.get(each, 0) + 1


def invalidate_by_call(c: Checker, symbol: Symbol) -> None:
    """Invalidate the facts that a call of a function or tool may change."""
    if c.narrowed_types:
        _invalidate(c, collect_call_effects(c, symbol))


def invalidate_by_node(c: Checker, node: Node) -> None:
    """Invalidate the facts that a node may change; it may run repeatedly, so they are unknown at its start."""
    if c.narrowed_types:
        _invalidate(c, collect_effects(c, node))


def invalidate_by_unknown_call(c: Checker) -> None:
    """Invalidate the facts that a call of an unknown function may change."""
    if c.narrowed_types:
        _invalidate(c, collect_unknown_effects(c))


def lasting_facts(c: Checker) -> dict[ValuePath, tuple[int, Type]]:
    """Return the facts that also hold in a function that is called later: those about values that never change."""
    return {path: known for path, known in c.narrowed_types.items() if not path[1] and _is_never_reassigned(c, path[0])}


def _is_never_reassigned(c: Checker, symbol: Symbol) -> bool:
    if symbol.is_constant:
        return True
    return symbol.name not in collect_assigned_names(c) and not (c.in_repl and symbol.is_global)


def get_value_path(node: Expr) -> ValuePath | None:
    """Return the variable, members and items that identify a value, or None if they do not."""
    if isinstance(node, Name):
        return (node.symbol, ()) if node.symbol is not None else None
    steps: list[str | int | Symbol] = []
    while isinstance(node, _PATH_NODES) and len(steps) < _MAX_STEPS:
        step = node.name if isinstance(node, Member) else _index_step(node.index)
        if step is None:
            return None
        steps.append(step)
        node = node.object
    if isinstance(node, Name) and node.symbol is not None:
        return node.symbol, tuple(reversed(steps))
    return None


def _index_step(index: Expr) -> str | int | Symbol | None:
    sign = 1
    if isinstance(index, Unary) and index.op == "-":
        sign, index = -1, index.operand
    if isinstance(index, NumberLit) and isinstance(index.value, int):
        return sign * index.value
    if isinstance(index, TextLit) and len(index.parts) == 1 and isinstance(index.parts[0], str):
        return index.parts[0]
    return index.symbol if isinstance(index, Name) else None


def _count_changes(c: Checker, path: ValuePath) -> int:
    """Return the number of changes to anything that a path depends on: a fact is valid for one such number."""
    symbol, steps = path
    counts = c.change_counts
    total = counts.get(symbol, 0)
    total += sum(counts.get(step, 0) for step in steps if isinstance(step, Symbol))
    if steps:
        total += counts.get(ANY_MEMBER, 0)
        total += sum(counts.get(step if isinstance(step, str) else ALL_ITEMS, 0) for step in steps)
    return total


def _changes_concurrently(c: Checker, path: ValuePath) -> bool:
    """Return True if concurrent code may change the value at any time."""
    return _may_change(collect_concurrent_effects(c), path)


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


def _invalidate(c: Checker, effects: SideEffects) -> None:
    for path in c.narrowed_types:
        if path[0].name in effects.names and not path[0].is_constant:
            c.change_counts[path[0]] = c.change_counts.get(path[0], 0) + 1
    invalidate_members(c, effects.members)


def _find_null_value(node: Expr, holds: bool) -> Expr | None:
    """Return the value that is null, if the condition tests just one."""
    while isinstance(node, Unary) and node.op == "not":
        node, holds = node.operand, not holds
    if isinstance(node, Member):
        return None if holds else node
    if isinstance(node, Binary) and node.op == ("==" if holds else "!="):
        return node.left if isinstance(node.right, NullLit) else node.right if isinstance(node.left, NullLit) else None
    return None
