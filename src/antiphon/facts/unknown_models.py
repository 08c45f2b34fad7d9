"""Cautious facts about an unknown model, combined from its line: all restrictions, only shared
abilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antiphon.facts.fields import FlatFacts

#: The values of a field, most cautious first. One model that has it is enough.
_CAUTION_ORDERS: dict[str, tuple[Any, ...]] = {
    "forced_choice": ("no", "no_required", "not_while_thinking", "yes"),
    "parallel": ("no", "cannot_forbid", "yes"),
    "sampling": ("no", "only_without_reasoning", "yes"),
    "schema": ("no", "json_only", "yes"),
    "bound_thinking": ("refuses", "by_account", "drops", "no"),
    "mid_system": ("no", "ignored", "yes"),
    "system_after_result": ("say_end_first", "ok"),
    "tool_change": ("no", "references", "definitions", "items"),
    "config_change": ("no", "effort_only", "items"),
    "tools_api": ("responses_only", "effort_none_only", "any"),
    "thinking.default": ("always", "on", "off", "never"),
    "thinking.off": ("impossible", "lowest", "between_tools", "disabled", "none"),
    "thinking.display": ("omitted", "summarized"),
    "signed_calls": (True, False),
    "shared_window": (True, False),
    "stops_at_window": (False, True),
}
_LARGEST_IS_CAUTIOUS = ("cache.min",)
#: Facts of one model that do not carry over to another.
_MODEL_SPECIFIC = ("lifecycle.", "default_for", "price_", "reads_thinking_of", "other.", "effort_default")


def combine_cautiously(statements: Sequence[FlatFacts]) -> dict[str, Any]:
    """Return the facts that apply if a model is like any of these: all restrictions, common abilities."""
    names = dict.fromkeys(name for each in statements for name in each if not name.startswith(_MODEL_SPECIFIC))
    combined = {name: _choose_cautious_value(name, [each.get(name) for each in statements]) for name in names}
    return {name: value for name, value in combined.items() if value is not None}


def _choose_cautious_value(name: str, values: list[Any]) -> Any:
    stated = [value for value in values if value is not None]
    if order := _CAUTION_ORDERS.get(name):
        known = [value for value in stated if value in order]
        careful = min(known, key=order.index, default=None)
        # An ability counts only if all have it; a restriction, if one does.
        return careful if careful != order[-1] or len(stated) == len(values) else None
    if len(stated) < len(values):
        return False if False in stated else None
    if all(value == stated[0] for value in stated):
        return stated[0]
    if all(isinstance(value, bool) for value in stated):
        return False
    if all(isinstance(value, int | float) for value in stated):
        return max(stated) if name in _LARGEST_IS_CAUTIOUS else min(stated)
    if all(isinstance(value, list | tuple) for value in stated):
        return [item for item in stated[0] if all(item in value for value in stated)]
    return None
