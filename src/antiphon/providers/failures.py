"""Failures in words: what went wrong, who says so, and never a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from antiphon._json import loads
from antiphon.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContainerGone,
    MalformedJSONError,
    NotFound,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StatusError,
    TimedOut,
)
from antiphon.facts.lifetimes import describe_end
from antiphon.providers.catalog import unknown_name
from antiphon.providers.retry import retry_after
from antiphon.providers.secrets import Secrets
from antiphon.wire import ErrorText, Reply, Target, Wire
from antiphon.wire.overflow import overflow
from antiphon.wire.quota import quota_error
from antiphon.wire.wording import page_text, short

#: The statuses with which servers say that a conversation is too long, besides those that have a code for it.
_TOO_LONG = (400, 413, 422, 500)
#: How a provider says that the container of its tools is gone.
_CONTAINER = r"(?i)container\b[^.]*\b(?:not found|expired)"
_REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "cf-ray")


def status_error(
    wire: Wire, target: Target, status: int, headers: Mapping[str, str], content: bytes, secrets: Secrets
) -> StatusError:
    """The error for an HTTP status that says no."""
    provider = target.provider
    content = secrets.hide(content.decode("utf-8", "replace")).encode()
    try:
        said = wire.error_text(loads(content))
    except MalformedJSONError:
        said = None
    text = said.message if said and said.message else page_text(content)
    id = request_id(headers) or (said.request_id if said else "")
    message = f"{provider} answered {status}: {text or 'no reason given'}"
    if id:
        message += f" (request {id})"
    about: dict[str, Any] = {"provider": provider, "status": status, "request_id": id, "text": text}
    if error := quota_error(said or ErrorText(text), message, **about):
        return error
    if status in _TOO_LONG and (error := overflow(said or ErrorText(text), message, **about)):
        return error
    wait = retry_after(headers, said.retry_after if said else None)
    return _kind(status, text)(message + _advice(status, target, text), **about, retry_after=wait)


def refused_reply(wire: Wire, content: bytes) -> Reply | None:
    """What the model answered, where a status says no only because the server found its calls wrong."""
    try:
        return wire.error_text(loads(content)).reply()
    except MalformedJSONError:
        return None


def request_id(headers: Mapping[str, str]) -> str:
    """The provider's own name for the exchange, to quote when asking it for help."""
    return next((headers[name] for name in _REQUEST_IDS if name in headers), "")


def _kind(status: int, text: str) -> type[StatusError]:
    if status in (401, 403):
        return AuthenticationFailed
    if status == 404:
        return ContainerGone if re.search(_CONTAINER, text) else NotFound
    if status == 429:
        return RateLimited
    # 408 and 409 are a server's way to say "not now".
    return ServerFailed if status >= 500 or status in (408, 409) else RequestRejected


def _advice(status: int, target: Target, text: str) -> str:
    if status == 404 and re.search(_CONTAINER, text):
        return "; the files in it are lost"
    if status == 404 and (ended := describe_end(target.provider, target.model, notice_days=0)):
        return f"; {ended}"
    if status == 404:
        return f"; check the model's name and the base URL{unknown_name(target.provider, target.model)}"
    advice = {
        401: "; check the key: `antiphon keys list` says where it comes from, `antiphon keys set` stores another",
        403: "; this key may not use that model",
    }
    return advice.get(status, "")


def transport_error(provider: str, url: str, error: Exception) -> ProviderError:
    """The error for a connection that failed or took too long."""
    import httpx2

    reason = short(str(error)) or type(error).__name__
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return ConnectionFailed(f"no connection to {provider} at {url} in time", provider=provider)
    if isinstance(error, httpx2.TimeoutException):
        return TimedOut(f"{provider} did not answer in time; raise `timeout` for long answers", provider=provider)
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return ProviderError(f"{provider}'s address is no usable URL: {reason}", provider=provider)
    return ConnectionFailed(f"the connection to {provider} at {url} failed: {reason}", provider=provider)
