"""Credentials of platforms: AWS, Google Cloud and Microsoft Entra, by the vendors' own libraries."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon.facts.table import load_fact_table

if TYPE_CHECKING:
    from antiphon.providers.authorization import Authorizer
    from antiphon.providers.registry import Provider


def make_platform_authorizer(provider: Provider, environment: Mapping[str, str] | None) -> Authorizer[Any]:
    """Return the authorizer for a platform whose user has signed in, or has credentials in variables.

    Raise ConfigurationError if the extra of the platform is missing. Credentials are looked up with the first
    request.
    """
    platform = load_fact_table().find_platform(provider.name, "")
    assert platform is not None
    module: Any = import_module(f"{__name__}.{provider.sign_in}")
    return module.make_authorizer(provider, environment, platform.access)
