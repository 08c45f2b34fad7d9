"""Mapping of failed requests to exceptions: what went wrong, according to whom, and never a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from antiphon._base.json import load_json
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
from antiphon.facts.retirement import describe_retirement
from antiphon.facts.table import load_fact_table
from antiphon.providers.catalog import suggest_model_name
from antiphon.providers.redaction import SecretRedactor
from antiphon.providers.retry import parse_retry_after
from antiphon.wire import ApiCodec, ProviderErrorInfo, Reply, Target
from antiphon.wire.context_overflow import make_overflow_error
from antiphon.wire.quota import make_quota_error
from antiphon.wire.text_conventions import extract_message, truncate_server_text

#: Statuses with which servers report that a conversation is too long.
_OVERFLOW_STATUSES = (400, 413, 422, 500)
#: Messages of a provider whose tool container is gone.
_CONTAINER_GONE = r"(?i)container\b[^.]*\b(?:not found|expired)"
_REQUEST_ID_HEADERS = (
    *("request-id", "x-request-id", "x-goog-request-id", "x-amzn-requestid", "apim-request-id", "cf-ray"),
)


def make_status_error(
    wire: ApiCodec, target: Target, status: int, headers: Mapping[str, str], content: bytes, secrets: SecretRedactor
) -> StatusError:
    """Return the exception for an HTTP error status."""
    provider = target.provider
    content = secrets.hide(content.decode("utf-8", "replace")).encode()
    try:
        said = wire.parse_error(load_json(content))
    except MalformedJSONError:
        said = None
    text = said.message if said and said.message else extract_message(content)
    id = get_request_id(headers) or (said.request_id if said else "")
    message = f"{provider} answered {status}: {text or 'no reason given'}"
    if id:
        message += f" (request {id})"
    about: dict[str, Any] = {"provider": provider, "status": status, "request_id": id, "text": text}
    if error := make_quota_error(said or ProviderErrorInfo(text), message, **about):
        return error
    if status in _OVERFLOW_STATUSES and (
        error := make_overflow_error(said or ProviderErrorInfo(text), message, **about)
    ):
        return error
    wait = parse_retry_after(headers, said.retry_after if said else None)
    kind = headers.get("x-amzn-errortype", "").partition(":")[0] or (said.kind if said else "")
    advice = _get_platform_advice(target, f"{status} {kind} {text}") or _get_advice(status, target, text)
    return _choose_error_class(status, text)(message + advice, **about, retry_after=wait)


def parse_rejected_reply(wire: ApiCodec, content: bytes) -> Reply | None:
    """Return the model's reply if an error only means that the server found its calls invalid, or None."""
    try:
        return wire.parse_error(load_json(content)).reply()
    except MalformedJSONError:
        return None


def get_request_id(headers: Mapping[str, str]) -> str:
    """Return the provider's id of the exchange, to quote when asking it for help."""
    return next((headers[name] for name in _REQUEST_ID_HEADERS if name in headers), "")


def _choose_error_class(status: int, text: str) -> type[StatusError]:
    if status in (401, 403):
        return AuthenticationFailed
    if status == 404:
        return ContainerGone if re.search(_CONTAINER_GONE, text) else NotFound
    if status == 429:
        return RateLimited
    # 408 and 409 mean that the server is temporarily unable to answer.
    return ServerFailed if status >= 500 or status in (408, 409) else RequestRejected


def _get_platform_advice(target: Target, said: str) -> str:
    """Return what to do about an error of a platform, or "". `said` is its status, type and message."""
    platform = load_fact_table().find_platform(target.provider, "")
    rows = platform.advice if platform is not None else ()
    return next((f"; {advice}" for pattern, advice in rows if re.search(pattern, said)), "")


def _get_advice(status: int, target: Target, text: str) -> str:
    if status == 404 and re.search(_CONTAINER_GONE, text):
        return "; the files in it are lost"
    if status == 404 and (ended := describe_retirement(target.provider, target.model, notice_days=0)):
        return f"; {ended}"
    if status == 404:
        return f"; check the model's name and the base URL{suggest_model_name(target.provider, target.model)}"
    advice = {
        401: "; check the key: `antiphon setup keys list` says where it comes from, `setup keys set` stores another",
        403: "; this key may not use that model",
    }
    return advice.get(status, "")


def make_transport_error(provider: str, url: str, error: Exception) -> ProviderError:
    """Return the exception for a connection that failed or timed out."""
    import httpx2

    reason = truncate_server_text(str(error)) or type(error).__name__
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return ConnectionFailed(f"no connection to {provider} at {url} in time", provider=provider)
    if isinstance(error, httpx2.TimeoutException):
        return TimedOut(f"{provider} did not answer in time; raise `timeout` for long answers", provider=provider)
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return ProviderError(f"{provider}'s address is no usable URL: {reason}", provider=provider)
    message = f"the connection to {provider} at {url} failed: {reason}; check the network and this address"
    return ConnectionFailed(message, provider=provider)
