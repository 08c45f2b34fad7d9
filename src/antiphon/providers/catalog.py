"""What is known of models: sizes, abilities and prices. What is not known is `None`, never a guess."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from antiphon._suggestions import nearest
from antiphon.errors import ConfigurationError
from antiphon.wire import Usage


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do, and how much fits into it."""

    context_tokens: int | None = None
    max_output_tokens: int | None = None
    images: bool | None = None
    reasoning: bool | None = None
    parallel_calls: bool | None = None
    structured_output: bool | None = None


_overrides: dict[str, Capabilities] = {}


def register_model(pattern: str, capabilities: Capabilities) -> None:
    """Say what models are like whose `provider/name` matches a pattern such as `ollama/qwen3*`.

    It comes before what this package knows and what was registered earlier; fields that are `None` leave that as it is.
    """
    if "/" not in pattern:
        raise ConfigurationError(f"a pattern looks like 'ollama/qwen3*', not {pattern!r}")
    # A pattern that is registered again is the latest.
    _overrides.pop(pattern, None)
    _overrides[pattern] = capabilities


def capabilities(provider: str, model: str) -> Capabilities:
    """What is known of a model."""
    known = Capabilities()
    for statement in _statements(provider, model):
        missing = {
            field.name: getattr(statement, field.name)
            for field in fields(Capabilities)
            if getattr(known, field.name) is None
        }
        known = replace(known, **missing)
    return known


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


def _statements(provider: str, model: str) -> Iterator[Capabilities]:
    name = f"{_family(provider)}/{model}".lower()
    for pattern, statement in reversed(_overrides.items()):
        if fnmatchcase(f"{provider}/{model}".lower(), pattern.lower()):
            yield statement
    for pattern, statement in _shipped().items():
        if fnmatchcase(name, pattern):
            yield statement
    if find_spec("genai_prices"):
        yield Capabilities(context_tokens=_context_size(provider, model))


@cache
def _shipped() -> dict[str, Capabilities]:
    import tomllib

    # importlib.resources would take longer to import than all the rest of this room.
    text = Path(__file__).with_name("models.toml").read_text(encoding="utf-8")
    data: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {pattern: Capabilities(**statement) for pattern, statement in data.items()}


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
