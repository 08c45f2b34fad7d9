"""Prices and names of models from the price data, and sizes of models that the facts do not know."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from antiphon._suggestions import nearest
from antiphon.facts.model_facts import Facts
from antiphon.wire import Target, Usage


def known_facts(target: Target) -> Facts:
    """Return the facts about a model; where they leave its size open, that comes from the price data."""
    facts = target.facts
    if facts.context is not None or not find_spec("genai_prices"):
        return facts
    return facts._replace(context=_context_size(target.provider, target.model))


def cost(provider: str, model: str, usage: Usage) -> float | None:
    """What an exchange cost in US dollars, or nothing where the price or the usage is not known."""
    if usage.input_tokens is None or usage.output_tokens is None or not find_spec("genai_prices"):
        return None
    prices = import_module("genai_prices")
    counts = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        return float(prices.calc_price(counts, model, provider_id=_family(provider)).total_price)
    except LookupError:
        return None


def known_models(provider: str) -> list[str]:
    """The names of a provider's models, as far as the price data has them."""
    if not find_spec("genai_prices"):
        return []
    listed: Any = import_module("genai_prices.data_snapshot").get_snapshot().providers
    return [model.id for each in listed if each.id == _family(provider) for model in each.models]


def unknown_name(provider: str, model: str) -> str:
    """What to add to a failure where the provider's models are known and this is none of them: it may be mistyped."""
    names = known_models(provider)
    if not names or _is_priced(provider, model):
        return ""
    near = nearest(model, names)
    return f"; {provider} is not known to have {model!r}" + (f", did you mean {near!r}?" if near else "")


def _is_priced(provider: str, model: str) -> bool:
    prices = import_module("genai_prices")
    try:
        prices.calc_price(prices.Usage(input_tokens=1), model, provider_id=_family(provider))
    except LookupError:
        return False
    return True


@cache
def _context_size(provider: str, model: str) -> int | None:
    prices = import_module("genai_prices")
    try:
        priced = prices.calc_price(prices.Usage(input_tokens=1), model, provider_id=_family(provider))
    except LookupError:
        return None
    return priced.model.context_window


def _family(provider: str) -> str:
    return "openai" if provider == "openai-chat" else provider
