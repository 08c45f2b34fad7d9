"""Facts about the batch APIs of providers: their limits and their price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from antiphon.errors import ConfigurationError
from antiphon.facts.model_facts import Source
from antiphon.facts.table import load_fact_table


class BatchFacts(NamedTuple):
    """The batch API of a provider. A limit that is None is not known.

    `price_share` is the share of the usual price; a batch that takes longer than `hours` expires.
    """

    price_share: float
    hours: int
    max_requests: int | None = None
    max_bytes: int | None = None
    source: Source | None = None


def find_batch_facts(provider: str) -> BatchFacts | None:
    """Return the facts about the batch API of a provider, or None if it has none."""
    return load_fact_table().batches.get(provider)


def check_batch_entry(name: str, given: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for an entry of `batches.toml` with a wrong or missing field."""
    numbers = {key: value for key, value in given.items() if key != "source"}
    unknown = numbers.keys() - {*BatchFacts._fields} or {"price_share", "hours"} - numbers.keys()
    wrong = [key for key, value in numbers.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    if unknown or wrong:
        raise ConfigurationError(f"batches.toml: {name}: unknown, missing or wrong: {', '.join([*unknown, *wrong])}")
    if not 0 < numbers["price_share"] <= 1:
        raise ConfigurationError(f"batches.toml: {name}: `price_share` is not from 0 to 1")
