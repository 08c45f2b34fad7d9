"""Narrowing: what the conditions around a place say about values."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.check.learning import Fact, learned
from antiphon.lang.check.parts import is_never
from antiphon.lang.check.state import Checker, Path
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import Type, may_be_null, without_null
from antiphon.lang.syntax.nodes import Expr, Index, Member, Name, NumberLit, TextLit, Unary

#: Conditions are looked at so far, and paths so long.
_MOST_TERMS, _LONGEST = 50, 4
#: So much is kept in mind: it is copied with every block.
_MOST_FACTS = 64


def narrow(c: Checker, condition: Expr, holds: bool) -> bool:
    """Take note of what is known where the condition holds, or where it does not; true if that cannot be."""
    return note(c, learned(condition, holds, _MOST_TERMS))


def note(c: Checker, facts: Iterable[Fact]) -> bool:
    """Take note of facts; true if one of them cannot be."""
    impossible = False
    for node, type_ in facts:
        path = _path(node)
        if path is None:
            continue
        impossible = impossible or is_never(type_)
        if len(c.narrowed) < _MOST_FACTS or path in c.narrowed:
            c.narrowed[path] = (c.assignments.get(path[0], 0), type_)
    return impossible


def narrowed_type(c: Checker, node: Name | Member | Index, type_: Type) -> Type:
    """The type of a value, less what the conditions around it rule out."""
    path = _path(node)
    found = c.narrowed.get(path) if path is not None else None
    if path is None or found is None or found[0] != c.assignments.get(path[0], 0):
        return type_
    return found[1]


def assigned(c: Checker, symbol: Symbol, type_: Type | None = None) -> None:
    """What was known of a variable is known no more; `type_` is what it holds now."""
    count = c.assignments[symbol] = c.assignments.get(symbol, 0) + 1
    if type_ is not None and len(c.narrowed) < _MOST_FACTS and may_be_null(symbol.type) and not may_be_null(type_):
        c.narrowed[(symbol, "")] = (count, without_null(symbol.type))


def forget_variables(c: Checker) -> dict[Path, tuple[int, Type]]:
    """What is known at the start of a loop's body, in which variables may be assigned later on."""
    return {path: known for path, known in c.narrowed.items() if path[0].is_constant}


def _path(node: Expr) -> Path | None:
    """The variable that a value is reached from, and how: members, and items whose place is known to stay the same."""
    parts: list[str] = []
    while isinstance(node, Member | Index) and len(parts) < _LONGEST:
        if isinstance(node, Member):
            parts.append(f".{node.name}")
        elif (key := _key(node.index)) is not None:
            parts.append(key)
        else:
            return None
        node = node.object
    if isinstance(node, Name) and node.symbol is not None:
        return node.symbol, "".join(reversed(parts))
    return None


def _key(index: Expr) -> str | None:
    match index:
        case NumberLit():
            return f"[{index.value}]"
        case Unary(op="-", operand=NumberLit() as number):
            return f"[-{number.value}]"
        case TextLit(parts=[str() as name]):
            return f".{name}"
        case Name(symbol=Symbol() as symbol) if symbol.is_constant:
            return f"[{symbol.name} {symbol.start}]"
        case _:
            return None
