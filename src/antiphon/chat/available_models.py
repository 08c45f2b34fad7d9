"""The models that a talk can be had with at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon.config import Configuration


def list_usable_models(configuration: Configuration) -> list[tuple[str, str]]:
    """Models that could be asked now, and why: a key was found, or their weights are on this machine."""
    from antiphon.config.default_model import list_provider_defaults
    from antiphon.local import weights
    from antiphon.providers.registry import PROVIDERS

    environment = configuration.environment
    defaults = list_provider_defaults()
    found = [
        (model, place)
        for name, model in defaults.items()
        if (place := environment.describe_key_source(PROVIDERS[name]))
    ]
    return found + [(f"local/{name}", "on this machine") for name in weights.known() if weights.status(name).path]
