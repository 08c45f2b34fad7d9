"""Where a value that can change is copied: out of constants, and between `json` and a type."""

from __future__ import annotations

from antiphon.lang.check.aliases import KEPT, fate_of
from antiphon.lang.check.sharing import agree, constant_of, is_fresh
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import JSON, Type, is_mutable, plain
from antiphon.lang.syntax import nodes as n


def must_copy(node: n.Expr, wanted: Type | None, into: Symbol | None = None) -> bool:
    """Whether a place gets a copy; `into` is the variable that it is, of which it may be known that it is only read."""
    if not is_mutable(node.type):
        return False
    if constant_of(node) is not None:
        return into is None or fate_of(into) >= KEPT
    if not goes_into_json(node, wanted):
        return False
    return into is None or into.kind != "parameter" or fate_of(into) >= KEPT


def goes_into_json(node: n.Expr, wanted: Type | None) -> bool:
    """Whether a value of a known type goes where anything could be done with it."""
    if wanted is None or node.type is None or plain(wanted) != JSON:
        return False
    return not agree(node.type, JSON) and not is_fresh(node)
