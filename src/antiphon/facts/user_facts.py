"""Facts that users write: tables of `provider/name`, validated before use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from antiphon.errors import ConfigurationError
from antiphon.facts.fields import flatten_table
from antiphon.facts.resolution import find
from antiphon.facts.validation import check_facts


def read_user_facts(tables: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return facts by `provider/name` and dotted field. Raise ConfigurationError with the place of a
    mistake.
    """
    stated: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        place = f'{where}: models."{name}"'
        if "/" not in name.strip("/"):
            raise ConfigurationError(f"{place}: a model is named 'provider/name', such as 'ollama/qwen3:8b'")
        if not isinstance(table, Mapping):
            raise ConfigurationError(f"{place}: the facts about a model are a table, not {table!r:.60}")
        stated[name] = flatten_table(cast("Mapping[str, Any]", table))
        check_facts(stated[name], place)
    _check_conflicts(stated, where)
    return stated


def _check_conflicts(stated: Mapping[str, Mapping[str, Any]], where: str) -> None:
    """Raise ConfigurationError if two names of one model state different facts."""
    seen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for name, facts in stated.items():
        provider, _, model = name.partition("/")
        known = f"{provider}/{find(provider, model) or model}".lower()
        other, before = seen.setdefault(known, (name, facts))
        for field, value in facts.items():
            if field in before and before[field] != value:
                raise ConfigurationError(
                    f"{where}: `{field}` of {other} and of {name} differ, and both are the same model;"
                    " leave one of them out"
                )
