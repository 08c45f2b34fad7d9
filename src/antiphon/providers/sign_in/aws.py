"""Signatures of AWS (SigV4), by `botocore`: variables, profiles, single sign-on, containers and instances."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError
from antiphon.providers.authorization import Authorizer, CredentialSource, Issued, OutgoingRequest

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider

#: botocore renews credentials that expire; this is how long its answer is used, in seconds.
_LOOKED_UP_FOR = 60.0
#: Headers that proxies change are not signed.
_SIGNED_HEADERS = ("content-type", "anthropic-version", "anthropic-beta")
#: What AWS calls a credential that a new one may replace.
_EXPIRED_WORDS = ("ExpiredTokenException", "ExpiredToken")


class AwsKeys(NamedTuple):
    """The keys of a signature."""

    access_key: str
    secret_key: str
    token: str | None

    def __repr__(self) -> str:
        return f"<AwsKeys {self.access_key[:4]}…>"


def make_authorizer(
    provider: Provider, environment: Mapping[str, str] | None, access: Mapping[str, Any]
) -> Authorizer[AwsKeys]:
    """Return the authorizer that signs with the credentials of AWS's usual places."""
    try:
        auth, request = import_module("botocore.auth"), import_module("botocore.awsrequest")
        sessions, credentials = import_module("botocore.session"), import_module("botocore.credentials")
    except ImportError as error:
        raise ConfigurationError(
            f"no key for {provider.name}: set {' or '.join(provider.key_env)}, or pass `key`;"
            f" {describe_missing_extra('without one, signatures of AWS need', 'bedrock', error)}"
        ) from None
    region = find_region(provider, environment)
    # Only a region at the beginning of its host tells the endpoint of another service.
    is_mantle = (urlsplit(provider.url).hostname or "").startswith("bedrock-mantle.")
    service = access.get("mantle_service", "") if is_mantle else access["service"]
    known = environment or {}

    @cache
    def open_session() -> Any:
        return sessions.Session(profile=known.get("AWS_PROFILE", "").strip() or None)

    def fetch() -> AwsKeys:
        if known.get("AWS_ACCESS_KEY_ID") and known.get("AWS_SECRET_ACCESS_KEY"):
            # Those of a project's settings come before those of the process.
            token = known.get("AWS_SESSION_TOKEN") or None
            return AwsKeys(known["AWS_ACCESS_KEY_ID"], known["AWS_SECRET_ACCESS_KEY"], token)
        found = open_session().get_credentials()
        if found is None:
            raise ConfigurationError("no credentials were found in variables, profiles, containers or instances")
        frozen = found.get_frozen_credentials()
        return AwsKeys(frozen.access_key, frozen.secret_key, frozen.token)

    def sign(keys: AwsKeys, outgoing: OutgoingRequest) -> Mapping[str, str]:
        headers = {name: value for name, value in outgoing.headers.items() if name in _SIGNED_HEADERS}
        signed = request.AWSRequest(outgoing.method, outgoing.url, headers, outgoing.body)
        auth.SigV4Auth(credentials.Credentials(*keys), service, region).add_auth(signed)
        return {name.lower(): value for name, value in signed.headers.items()}

    source = CredentialSource(
        provider.name,
        fetch,
        lambda keys: Issued(keys, time.time() + _LOOKED_UP_FOR),
        lambda keys: (keys.secret_key, keys.token or ""),
        what="the sign-in to AWS (`aws sso login`, a profile, or AWS_* variables)",
        forget=open_session.cache_clear,
    )
    return Authorizer(source, sign, expired_words=_EXPIRED_WORDS)


def find_region(provider: Provider, environment: Mapping[str, str] | None) -> str:
    """Return the region that requests are signed for."""
    import os

    known = os.environ if environment is None else environment
    region = next((known[name].strip() for name in provider.place_env["region"] if known.get(name, "").strip()), "")
    if not region:
        raise ConfigurationError(
            f"{provider.name} signs requests for a region: set {' or '.join(provider.place_env['region'])}"
        )
    return region
