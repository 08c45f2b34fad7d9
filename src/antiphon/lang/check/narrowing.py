"""Narrowing: what the conditions around a place say about values, and how long that is known."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.check.effects import (
    ANY,
    ITEMS,
    Effects,
    assigned_names,
    concurrent_effects,
    effects_of,
    effects_of_call,
    unknown_effects,
)
from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.learning import Fact, learned
from antiphon.lang.check.parts import is_never, union
from antiphon.lang.check.state import Checker, Path
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    TOOL_CALL,
    Type,
    base,
    may_be_null,
    plain,
    without_null,
)
from antiphon.lang.syntax.nodes import Binary, Expr, Index, Member, Name, Node, NullLit, NumberLit, TextLit, Unary

#: Conditions are looked at so far, and paths so long.
_MOST_TERMS, _LONGEST = 50, 4
#: So much is kept in mind: it is copied with every block.
_MOST_FACTS = 64
_PARTS = (Member, Index)
#: Values of which it is known what they are.
Known = dict[Path, Type]
#: Of a tool's call: where the one is null, the other is there.
_EITHER = {"error": "result", "result": "error"}


def narrow(c: Checker, condition: Expr, holds: bool) -> bool:
    """Take note of what is known where the condition holds, or where it does not; true if that cannot be."""
    facts = [*learned(condition, holds, _MOST_TERMS)]
    impossible = False
    if facts:
        # What one side of it found, the other may have changed.
        effects = effects_of(c, condition)
        impossible = note(c, [each for each in facts if not _may_change(effects, path_of(each[0]))])
    missing = _missing(condition, holds)
    if isinstance(missing, Member) and missing.name in _EITHER and missing.object.type is TOOL_CALL:
        learn(c, Member(missing.start, missing.end, missing.object, _EITHER[missing.name]), TEXT)
    return impossible


def note(c: Checker, facts: Iterable[Fact]) -> bool:
    """Take note of facts; true if one of them cannot be."""
    impossible = False
    for node, type_ in facts:
        impossible = learn(c, node, type_) or impossible
    return impossible


def learn(c: Checker, node: Expr, type_: Type) -> bool:
    """Take note that a value is of a narrower type, until something may change it; true if there is no such value."""
    path = path_of(node)
    if path is None or _changes_meanwhile(c, path):
        return False
    if len(c.narrowed) < _MOST_FACTS or path in c.narrowed:
        c.narrowed[path] = (_version(c, path), type_)
    return is_never(type_)


def standing(c: Checker, known: dict[Path, tuple[int, Type]]) -> Known:
    """What is still true of what was known."""
    return {path: type_ for path, (version, type_) in known.items() if version == _version(c, path)}


def meet(c: Checker, ways: list[Known]) -> None:
    """Go on where several ways come together: known is what is known on each of them."""
    first, *others = ways
    c.narrowed = {
        path: (_version(c, path), found)
        for path, type_ in first.items()
        if all(path in each for each in others)
        and (found := _either([type_, *(each[path] for each in others)])) is not None
    }


def _either(types: list[Type]) -> Type | None:
    found = types[0]
    for each in types[1:]:
        if assignable(each, found, certain=True):
            continue
        if isinstance(each, AI) or isinstance(found, AI):
            return None
        found = each if assignable(found, each, certain=True) else union((found, each))
    return found


def narrowed_type(c: Checker, node: Name | Member | Index, type_: Type) -> Type:
    """The type of a value, less what the conditions around it rule out."""
    path = path_of(node)
    found = c.narrowed.get(path) if path is not None else None
    if path is None or found is None or found[0] != _version(c, path):
        return type_
    return found[1]


def assigned(c: Checker, symbol: Symbol, type_: Type | None = None) -> None:
    """What was known of a variable is known no more; `type_` is what it holds now."""
    c.assignments[symbol] = c.assignments.get(symbol, 0) + 1
    path: Path = symbol, ()
    if type_ is None or len(c.narrowed) >= _MOST_FACTS or _changes_meanwhile(c, path):
        return
    if (found := _simple(type_) if symbol.is_open else _held(symbol.type, type_)) is not None:
        c.narrowed[path] = (_version(c, path), found)


def assigned_part(c: Checker, node: Member | Index, slot: Type, type_: Type) -> None:
    """The same of a member or an item, into which a value of this type was put."""
    if (found := _held(slot, type_)) is not None:
        learn(c, node, found)


def _held(slot: Type, type_: Type) -> Type | None:
    """What a place holds after a value was put into it: not null, where that is known. Of json it is not.

    Which of several other values it is, the next lines may well ask.
    """
    is_there = may_be_null(slot) and not may_be_null(type_) and plain(type_) != JSON
    return without_null(slot) if is_there else None


def _simple(type_: Type) -> Type | None:
    """What a variable holds of which nobody said what it may hold: null, or a value that cannot change."""
    kind = base(type_)
    return kind if kind in (NULL, NUMBER, TEXT, BOOLEAN) else None


def changed(c: Checker, members: Iterable[str]) -> None:
    """What was known of members of these names is known no more, whichever object they are of."""
    for each in members:
        c.assignments[each] = c.assignments.get(each, 0) + 1


def called(c: Checker, symbol: Symbol) -> None:
    """A function or tool is called: what it may change is known no more."""
    if c.narrowed:
        _end(c, effects_of_call(c, symbol))


def run(c: Checker, node: Node) -> None:
    """A piece of the program will run, perhaps again and again: what it may change is not known when it begins."""
    if c.narrowed:
        _end(c, effects_of(c, node))


def called_unknown(c: Checker) -> None:
    """Something is called of which nothing is known."""
    if c.narrowed:
        _end(c, unknown_effects(c))


def lasting(c: Checker) -> dict[Path, tuple[int, Type]]:
    """What is known in a function that will be called some time: of what never changes."""
    return {path: known for path, known in c.narrowed.items() if not path[1] and _is_lasting(c, path[0])}


def _is_lasting(c: Checker, symbol: Symbol) -> bool:
    if symbol.is_constant:
        return True
    return symbol.name not in assigned_names(c) and not (c.in_repl and symbol.is_global)


def path_of(node: Expr) -> Path | None:
    """A variable with the members and items behind it, as far as they say which they are."""
    if isinstance(node, Name):
        return (node.symbol, ()) if node.symbol is not None else None
    steps: list[str | int | Symbol] = []
    while isinstance(node, _PARTS) and len(steps) < _LONGEST:
        step = node.name if isinstance(node, Member) else _step(node.index)
        if step is None:
            return None
        steps.append(step)
        node = node.object
    if isinstance(node, Name) and node.symbol is not None:
        return node.symbol, tuple(reversed(steps))
    return None


def _step(index: Expr) -> str | int | Symbol | None:
    sign = 1
    if isinstance(index, Unary) and index.op == "-":
        sign, index = -1, index.operand
    if isinstance(index, NumberLit) and isinstance(index.value, int):
        return sign * index.value
    if isinstance(index, TextLit) and len(index.parts) == 1 and isinstance(index.parts[0], str):
        return index.parts[0]
    return index.symbol if isinstance(index, Name) else None


def _version(c: Checker, path: Path) -> int:
    """How often anything was changed on which a path depends: knowledge is good for one version of it."""
    symbol, steps = path
    counts = c.assignments
    total = counts.get(symbol, 0)
    total += sum(counts.get(step, 0) for step in steps if isinstance(step, Symbol))
    if steps:
        total += counts.get(ANY, 0)
        total += sum(counts.get(step if isinstance(step, str) else ITEMS, 0) for step in steps)
    return total


def _changes_meanwhile(c: Checker, path: Path) -> bool:
    """Whether something that runs beside this may change the value at any time."""
    return _may_change(concurrent_effects(c), path)


def _may_change(effects: Effects, path: Path | None) -> bool:
    if path is None:
        return False
    symbol, steps = path
    if symbol.name in effects.names and not symbol.is_constant:
        return True
    members = effects.members
    return bool(members) and any(
        ANY in members or (each if isinstance(each, str) else ITEMS) in members for each in steps
    )


def _end(c: Checker, effects: Effects) -> None:
    for path in c.narrowed:
        if path[0].name in effects.names and not path[0].is_constant:
            c.assignments[path[0]] = c.assignments.get(path[0], 0) + 1
    changed(c, effects.members)


def _missing(node: Expr, holds: bool) -> Expr | None:
    """The value that is null, if the condition asks for just one."""
    while isinstance(node, Unary) and node.op == "not":
        node, holds = node.operand, not holds
    if isinstance(node, Member):
        return None if holds else node
    if isinstance(node, Binary) and node.op == ("==" if holds else "!="):
        return node.left if isinstance(node.right, NullLit) else node.right if isinstance(node.left, NullLit) else None
    return None
