"""Decide where a mutable value is copied: between `json` and a type."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck.mutability.invariance import can_share, is_fresh_value
from antiphon.lang.typecheck.types import JSON, Type, is_mutable, strip_ai_result


def needs_json_copy(node: n.Expr, wanted: Type | None) -> bool:
    """Return True if a mutable value of a known type goes into `json`, where it could be changed freely."""
    if wanted is None or strip_ai_result(wanted) != JSON or node.type is None or not is_mutable(node.type):
        return False
    return not can_share(node.type, JSON) and not is_fresh_value(node)
