"""The fields of `Facts` as dotted names, and the way between flat statements and `Facts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from antiphon.facts.model_facts import Cache, Facts, InputLimits, Lifecycle, SchemaLimits, Thinking

if TYPE_CHECKING:
    from datetime import date

#: Fields that are tables with fields of their own.
TABLES: dict[str, type[Thinking | SchemaLimits | Cache | Lifecycle]] = {
    "thinking": Thinking,
    "schema_limits": SchemaLimits,
    "cache": Cache,
    "lifecycle": Lifecycle,
}
#: Fields that are tables with free keys; each key is stated and believed by itself.
MAPPINGS = ("inputs", "effort_caps", "server_tools", "betas", "other")
#: Fields that the lookup sets and nobody states.
COMPUTED = ("name", "taken_for")
_DATES = ("lifecycle.released", "lifecycle.deprecated", "lifecycle.retires")

Statement = Mapping[str, Any]


def flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a table by dotted names: `off` inside of `thinking` becomes `thinking.off`."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if (name in TABLES or name in MAPPINGS) and isinstance(value, Mapping):
            inner = cast("Mapping[str, Any]", value)
            flat |= {f"{name}.{key}": each for key, each in inner.items()}
        else:
            flat[name] = value
    return flat


def flatten_facts(facts: Facts) -> dict[str, Any]:
    """Return what a `Facts` says by dotted names, without what it leaves open."""
    flat: dict[str, Any] = {}
    for name, value in facts._asdict().items():
        if name in COMPUTED or value is None:
            continue
        if name in TABLES:
            defaults = TABLES[name]._field_defaults
            flat |= {f"{name}.{key}": said for key, said in value._asdict().items() if said != defaults[key]}
        elif name in MAPPINGS:
            flat |= {f"{name}.{key}": said for key, said in value.items()}
        else:
            flat[name] = value
    return flat


def assemble(flat: Statement, **computed: str) -> Facts:
    """Make a `Facts` of values by dotted names."""
    whole: dict[str, Any] = dict(computed)
    inner: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        head, dot, tail = name.partition(".")
        if dot:
            inner.setdefault(head, {})[tail] = _value(name, value)
        else:
            whole[name] = _value(name, value)
    for head, table in inner.items():
        whole[head] = TABLES[head](**table) if head in TABLES else table
    return Facts(**whole)


def _value(name: str, value: Any) -> Any:
    if name.startswith("inputs."):
        return _input(value)
    if name in _DATES:
        return _date(value)
    if name == "price_changes":
        return tuple(_date(each) for each in value)
    if isinstance(value, list) and not name.startswith("other."):
        return tuple(cast("list[Any]", value))
    return cast("Any", value)


def _date(value: Any) -> date:
    from datetime import date

    return value if isinstance(value, date) else date.fromisoformat(value)


def _input(value: Any) -> InputLimits | None:
    if value is None or value is False:
        return None
    if isinstance(value, InputLimits):
        return value
    stated: dict[str, Any] = {} if value is True else {**value, "types": tuple(value.get("types", ()))}
    return InputLimits(**stated)
