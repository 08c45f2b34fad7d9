"""Tokens of Google Cloud, by `google-auth`: application default credentials, service accounts and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError
from antiphon.providers.authorization import Authorizer, make_token_authorizer
from antiphon.providers.credential import Credential

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider

_FILE_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"


def make_authorizer(
    provider: Provider, environment: Mapping[str, str] | None, access: Mapping[str, Any]
) -> Authorizer[str]:
    """Return the authorizer with the application default credentials."""
    try:
        auth, transport = import_module("google.auth"), import_module("google.auth.transport.requests")
    except ImportError as error:
        needing = f"no key for {provider.name}: pass `key`; without one, credentials of Google Cloud need"
        raise ConfigurationError(describe_missing_extra(needing, "vertex", error)) from None
    scopes, file = [access["scope"]], (environment or {}).get(_FILE_VARIABLE, "").strip()

    @cache
    def open_credentials() -> Any:
        # Asking the metadata server may take seconds.
        return auth.load_credentials_from_file(file, scopes=scopes)[0] if file else auth.default(scopes=scopes)[0]

    def fetch() -> Credential:
        credentials = open_credentials()
        credentials.refresh(transport.Request())
        # Google's times are UTC without saying so.
        expiry = None if credentials.expiry is None else credentials.expiry.replace(tzinfo=UTC)
        return Credential(credentials.token, expiry)

    what = f"the sign-in to Google Cloud (`gcloud auth application-default login`, or {_FILE_VARIABLE})"
    return make_token_authorizer(provider.name, fetch, what, forget=open_credentials.cache_clear)
