"""Prices and names of models from the price data, and sizes of models that the facts do not know."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.facts.model_facts import Facts
from antiphon.facts.resolution import find, find_home
from antiphon.facts.table import load_fact_table
from antiphon.wire import APIS, Target, Usage


def get_facts_with_size(target: Target) -> Facts:
    """Return the facts about a model. If they lack its size, take that from the price data."""
    facts = target.facts
    if facts.context is not None or not find_spec("genai_prices"):
        return facts
    return facts._replace(context=_get_context_size(target.provider, target.model))


def compute_cost(provider: str, model: str, usage: Usage) -> float | None:
    """Return the cost of an exchange in US dollars, or None if the price or the usage is unknown."""
    if usage.input_tokens is None or usage.output_tokens is None or not find_spec("genai_prices"):
        return None
    prices = import_module("genai_prices")
    counts = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    for name, own in _list_priced_names(provider, model):
        try:
            return float(prices.calc_price(counts, own, provider_id=name).total_price)
        except LookupError:
            continue
    return None


def list_priced_models(provider: str) -> list[str]:
    """Return the names of a provider's models in the price data."""
    if not find_spec("genai_prices"):
        return []
    listed: Any = import_module("genai_prices.data_snapshot").get_snapshot().providers
    return [model.id for each in listed if each.id == _get_price_provider(provider) for model in each.models]


def suggest_model_name(provider: str, model: str) -> str:
    """Return a hint for a failure if the provider is not known to have this model, or ""."""
    names = list_priced_models(provider)
    if not names or _has_price(provider, model):
        return ""
    near = suggest_name(model, names)
    return f"; {provider} is not known to have {model!r}" + (f", did you mean {near!r}?" if near else "")


def _has_price(provider: str, model: str) -> bool:
    prices = import_module("genai_prices")
    try:
        prices.calc_price(prices.Usage(input_tokens=1), model, provider_id=_get_price_provider(provider))
    except LookupError:
        return False
    return True


@cache
def _get_context_size(provider: str, model: str) -> int | None:
    prices = import_module("genai_prices")
    for name, own in _list_priced_names(provider, model):
        try:
            return prices.calc_price(prices.Usage(input_tokens=1), own, provider_id=name).model.context_window
        except LookupError:
            continue
    return None


@cache
def _list_priced_names(provider: str, model: str) -> tuple[tuple[str, str], ...]:
    """Return where the price of a model stands: with its platform, then with its own provider."""
    own = (_get_price_provider(provider), model)
    if load_fact_table().find_platform(provider, "") is None or not (known := find(provider, model)):
        return (own,)
    return own, (_get_price_provider(find_home(provider, model)), known)


def _get_price_provider(provider: str) -> str:
    platform = load_fact_table().find_platform(provider, "")
    if platform is not None and platform.prices:
        return platform.prices
    return next((spec.owner for spec in APIS.values() if spec.provider == provider), provider)
