"""Try a key with a request that costs nothing, before it is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping

from antiphon.errors import AuthenticationFailed, ConfigurationError, StatusError
from antiphon.providers.error_mapping import make_status_error, make_transport_error
from antiphon.providers.redaction import find_request_secrets, split_credentials
from antiphon.providers.registry import Provider, build_key_headers
from antiphon.wire import Target, wire

_TIMEOUT = 10
#: The most bytes that are read of an answer.
_MAX_BYTES = 10_000
#: Paths that need a key, at providers that list their models for everybody.
_KEY_PATHS = {"openrouter": "/key"}
#: Statuses of a rejected key. Google answers 400. A 403 may also mean a valid key that may not list models.
_REJECTED = (400, 401)


def check_key_works(provider: Provider, key: str, environment: Mapping[str, str]) -> None:
    """Request the provider's list of models with a key.

    Raise AuthenticationFailed if the provider rejects the key. Raise another ProviderError or a ConfigurationError if
    the request cannot tell.
    """
    error = _list_models(provider, build_key_headers(provider.get_key_header(), key), environment)
    if error is not None and error.status in _REJECTED:
        raise AuthenticationFailed(
            f"{provider.name} rejects this key: {error.text or error.status}",
            provider=provider.name,
            status=error.status,
            text=error.text,
        )
    if error is not None:
        raise error
    if _list_models(provider, {}, environment) is None:
        raise ConfigurationError(f"{provider.name} lists its models without a key too")


def _list_models(provider: Provider, auth: Mapping[str, str], environment: Mapping[str, str]) -> StatusError | None:
    """Request the list of models, and return the error of the answer if it has one."""
    import httpx2

    codec, target = wire(provider.api), Target(provider.name, provider.api, "", provider.profile)
    address, user = split_credentials(provider.address(environment))
    version = re.match(r"/v\d\w*", codec.path(target, False))
    url = address.rstrip("/") + (version[0] if version else "") + _KEY_PATHS.get(provider.name, "/models")
    headers = {**provider.headers, **({"authorization": user} if user else {}), **auth}
    content = b""
    try:
        with httpx2.stream("GET", url, headers=headers, timeout=_TIMEOUT) as response:
            if response.status_code == 200:
                return None
            for piece in response.iter_bytes(_MAX_BYTES):
                content = piece
                break
            status, sent = response.status_code, dict(response.headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise make_transport_error(provider.name, url, error) from None
    return make_status_error(codec, target, status, sent, content, find_request_secrets(headers))
