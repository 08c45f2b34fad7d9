"""Failures in words: what went wrong, who says so, and never a key."""

from __future__ import annotations

import re
from collections.abc import Mapping

from antiphon._json import loads
from antiphon.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContextOverflow,
    MalformedJSONError,
    NotFound,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StatusError,
    TimedOut,
)
from antiphon.providers.retry import retry_after
from antiphon.providers.secrets import Secrets
from antiphon.wire import Wire
from antiphon.wire.wording import page_text, short

#: How servers that say so at all call a conversation that is too long: OpenAI, and llama.cpp.
_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error")
#: And those that say it only in words, with the size and what fits: Anthropic, and Gemini.
_TOO_LONG_WORDS = re.compile(
    r"prompt is too long: (\d{1,12}) tokens > (\d{1,12})"
    r"|input token count \((\d{1,12})\) exceeds the maximum number of tokens allowed \((\d{1,12})\)"
)
_REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "cf-ray")


def status_error(
    wire: Wire, provider: str, status: int, headers: Mapping[str, str], content: bytes, secrets: Secrets
) -> StatusError:
    """The error for an HTTP status that says no."""
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
    kind, advice = _kind(status), _advice(status)
    sizes = said.sizes if said else (None, None)
    words = _TOO_LONG_WORDS.search(text) if status == 400 else None
    if words:
        sizes = int(words[1] or words[3]), int(words[2] or words[4])
    if words or (said and said.kind in _TOO_LONG):
        kind, advice = ContextOverflow, "; `conversation.compact` makes it shorter"
    error = kind(
        message + advice,
        provider=provider,
        status=status,
        request_id=id,
        text=text,
        retry_after=retry_after(headers, said.retry_after if said else None),
    )
    if isinstance(error, ContextOverflow):
        error.tokens, error.limit = sizes
    return error


def request_id(headers: Mapping[str, str]) -> str:
    """The provider's own name for the exchange, to quote when asking it for help."""
    return next((headers[name] for name in _REQUEST_IDS if name in headers), "")


def _kind(status: int) -> type[StatusError]:
    if status in (401, 403):
        return AuthenticationFailed
    if status == 404:
        return NotFound
    if status == 429:
        return RateLimited
    # 408 and 409 are a server's way to say "not now".
    return ServerFailed if status >= 500 or status in (408, 409) else RequestRejected


def _advice(status: int) -> str:
    advice = {
        401: "; check the key, given as `key` or in the provider's environment variable",
        403: "; this key may not use that model",
        404: "; check the model's name and the base URL",
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
