"""Where a value that can change is copied: between `json` and a type."""

from __future__ import annotations

from antiphon.lang.check.sharing import agree, is_fresh
from antiphon.lang.check.types import JSON, Type, is_mutable, plain
from antiphon.lang.syntax import nodes as n


def goes_into_json(node: n.Expr, wanted: Type | None) -> bool:
    """Whether a value of a known type goes where anything could be done with it."""
    if wanted is None or plain(wanted) != JSON or node.type is None or not is_mutable(node.type):
        return False
    return not agree(node.type, JSON) and not is_fresh(node)
