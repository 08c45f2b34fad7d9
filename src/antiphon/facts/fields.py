"""Fields of `Facts` as dotted names, and conversion between flat statements and `Facts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from antiphon.facts.model_facts import CacheFacts, Facts, InputLimits, ModelLifecycle, SchemaLimits, Thinking

if TYPE_CHECKING:
    from datetime import date

#: Fields that are tables with fields of their own.
TABLE_FIELDS: dict[str, type[Thinking | SchemaLimits | CacheFacts | ModelLifecycle]] = {
    "thinking": Thinking,
    "schema_limits": SchemaLimits,
    "cache": CacheFacts,
    "lifecycle": ModelLifecycle,
}
#: Fields that are tables with free keys; each key is stated and resolved by itself.
MAPPING_FIELDS = ("inputs", "effort_caps", "server_tools", "betas", "other")
#: Fields that the lookup computes and that are never stated.
COMPUTED_FIELDS = ("name", "taken_for")
_DATE_FIELDS = ("lifecycle.released", "lifecycle.deprecated", "lifecycle.retires")

FlatFacts = Mapping[str, Any]


def flatten_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a table by dotted names: `off` inside `thinking` becomes `thinking.off`."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if (name in TABLE_FIELDS or name in MAPPING_FIELDS) and isinstance(value, Mapping):
            inner = cast("Mapping[str, Any]", value)
            flat |= {f"{name}.{key}": each for key, each in inner.items()}
        else:
            flat[name] = value
    return flat


def flatten_facts(facts: Facts) -> dict[str, Any]:
    """Return the stated values of a `Facts` by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in facts._asdict().items():
        if name in COMPUTED_FIELDS or value is None:
            continue
        if name in TABLE_FIELDS:
            defaults = TABLE_FIELDS[name]._field_defaults
            flat |= {f"{name}.{key}": said for key, said in value._asdict().items() if said != defaults[key]}
        elif name in MAPPING_FIELDS:
            flat |= {f"{name}.{key}": said for key, said in value.items()}
        else:
            flat[name] = value
    return flat


def build_facts(flat: FlatFacts, **computed: str) -> Facts:
    """Create a `Facts` from values by dotted names."""
    whole: dict[str, Any] = dict(computed)
    inner: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        head, dot, tail = name.partition(".")
        if dot:
            inner.setdefault(head, {})[tail] = _parse_value(name, value)
        else:
            whole[name] = _parse_value(name, value)
    for head, table in inner.items():
        whole[head] = TABLE_FIELDS[head](**table) if head in TABLE_FIELDS else table
    return Facts(**whole)


def _parse_value(name: str, value: Any) -> Any:
    if name.startswith("inputs."):
        if value is None or value is False:
            return None
        if isinstance(value, InputLimits):
            return value
        stated: dict[str, Any] = {} if value is True else {**value, "types": tuple(value.get("types", ()))}
        return InputLimits(**stated)
    if name in _DATE_FIELDS:
        return _parse_date(value)
    if name == "price_changes":
        return tuple(_parse_date(each) for each in value)
    if isinstance(value, list) and not name.startswith("other."):
        return tuple(cast("list[Any]", value))
    return cast("Any", value)


def _parse_date(value: Any) -> date:
    from datetime import date

    return value if isinstance(value, date) else date.fromisoformat(value)
