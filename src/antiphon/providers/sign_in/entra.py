"""Tokens of Microsoft Entra, by `azure-identity`: environment, managed identity, `az login` and others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError
from antiphon.providers.authorization import Authorizer, make_token_authorizer
from antiphon.providers.credential import Credential

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider

#: The variables of a service principal with a secret.
_PRINCIPAL = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")


def make_authorizer(
    provider: Provider, environment: Mapping[str, str] | None, access: Mapping[str, Any]
) -> Authorizer[str]:
    """Return the authorizer with the user's Entra credentials."""
    try:
        identity = import_module("azure.identity")
    except ImportError as error:
        raise ConfigurationError(
            f"no key for {provider.name}: set {' or '.join(provider.key_env)}, or pass `key`;"
            f" {describe_missing_extra('without one, Entra credentials need', 'azure', error)}"
        ) from None
    principal = [(environment or {}).get(name, "").strip() for name in _PRINCIPAL]

    @cache
    def open_credentials() -> Any:
        # Creating them may take seconds: they look at what is installed.
        if all(principal):
            return identity.ClientSecretCredential(*principal)
        return identity.DefaultAzureCredential()

    def fetch() -> Credential:
        token = open_credentials().get_token(access["scope"])
        return Credential(token.token, float(token.expires_on))

    what = "the sign-in to Entra (`az login`, or AZURE_* variables)"
    return make_token_authorizer(provider.name, fetch, what, forget=open_credentials.cache_clear)
