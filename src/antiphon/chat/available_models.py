"""The models that a chat can use now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon.config import Configuration


def list_usable_models(configuration: Configuration) -> list[tuple[str, str]]:
    """Return the models that can be asked now, and why: the source of a key, or local weights."""
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
