"""Handling of one request without HTTP: parse it, validate it, and build the reply."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object
from antiphon.errors import MalformedJSONError
from antiphon.fakes import anthropic, gemini, openai_chat, openai_responses
from antiphon.fakes.api_base import ServerState, make_random_id
from antiphon.fakes.errors import ErrorReply, build_retry_headers, format_error_body, make_scripted_error
from antiphon.fakes.schema_answers import fill_schema, read_requested_schema
from antiphon.fakes.script import Answer, Fail, Received

FAKE_APIS = {
    "anthropic": anthropic.ANTHROPIC_API,
    "openai-chat": openai_chat.OPENAI_CHAT_API,
    "openai-responses": openai_responses.OPENAI_RESPONSES_API,
    "gemini": gemini.GEMINI_API,
}
_REDACTED_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
_KEY_HEADERS = {
    "anthropic": ("x-api-key", "authorization"),
    "openai": ("authorization",),
    "gemini": ("x-goog-api-key", "authorization"),
}
_MISSING_KEY_ERRORS = {
    "anthropic": ErrorReply("x-api-key header is required", 401),
    "openai": ErrorReply(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from "
        "https://platform.openai.com/account/api-keys.",
        401,
    ),
    # A missing key is a 403 with Google, not a 401.
    "gemini": ErrorReply(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
        "other form of API consumer identity to call this API.",
        403,
    ),
}
_INVALID_JSON_MESSAGES = {
    "anthropic": "The request body is not valid JSON: {fault}",
    "openai": "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
    "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
    "gemini": "Invalid JSON payload received. Unexpected token.",
}
_MAX_SHOWN_TEXT = 400
_JSON_MEDIA_TYPES = {
    "anthropic": "application/json",
    "openai": "application/json",
    "gemini": "application/json; charset=UTF-8",
}


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP response: a body in one or more chunks. `is_cut` leaves it unfinished."""

    chunks: list[bytes]
    media_type: str
    headers: dict[str, str]
    status: int = 200
    length: int | None = None
    is_cut: bool = False
    delay: float = 0.0


def parse_request(
    api: str, path: str, headers: Mapping[str, str], raw: bytes, *, model: str = "", stream: bool = False, key: str = ""
) -> tuple[Received, ErrorReply | None]:
    """Return the request, and an error if it has no key or no JSON. `model`, `stream` and `key` are from the
    URL.
    """
    family = _api_family(api)
    blanked = {name: "[key]" if name in _REDACTED_HEADERS else value for name, value in headers.items()}
    fault = None
    try:
        body = load_json(raw, "the body")
    except MalformedJSONError as error:
        body, fault = None, ErrorReply(_INVALID_JSON_MESSAGES[family].format(fault=error))
    if not key and not any(_strip_bearer(headers.get(name, "")) for name in _KEY_HEADERS[family]):
        fault = _MISSING_KEY_ERRORS[family]
    named = as_object(body).get("model")
    model = model or (named if isinstance(named, str) else "")
    return Received(api, path, blanked, body, model, stream or as_object(body).get("stream") is True), fault


def validate_request(
    received: Received, fault: ErrorReply | None, memory: ServerState
) -> tuple[Received, ErrorReply | None]:
    """Return the request with its rejection recorded, and the rejection."""
    fault = fault or FAKE_APIS[received.api].refusal(received, memory)
    return (dataclasses.replace(received, rejected=fault.message), fault) if fault else (received, None)


def _api_family(api: str) -> str:
    return "openai" if api.startswith("openai") else api


def _strip_bearer(key: str) -> str:
    return key.removeprefix("Bearer").strip()


def echo(received: Received) -> Answer:
    """Answer with "You said: …" and the user's last text, in the schema that the request asks for."""
    return Answer(f"You said: {_read_last_text(received)}", as_form=True)


def make_exhausted_error(received: Received, given: int) -> ErrorReply:
    """Return the error for a request that the script has no answer for. Clients do not retry it."""
    had = {0: "no answer", 1: "one answer, which is used up"}.get(given, f"{given} answers, all used up")
    return ErrorReply(
        f"the fake has no answer for this request: its script had {had}. {received.model or received.api} was asked: "
        f"{_read_last_text(received)[-_MAX_SHOWN_TEXT:]!r}. Add an answer to the script or with"
        f" `fake.play(...)`, or write "
        "`Fake(echo)` for answers that repeat what was said."
    )


def _read_last_text(received: Received) -> str:
    return FAKE_APIS[received.api].read_last_text(received.body)


def make_error_reply(refusal: ErrorReply, api: str) -> HttpReply:
    """Return the HTTP response for an error."""
    request_id = _make_request_id(api)
    body = _encode_json(format_error_body(refusal, api, request_id))
    headers = _build_headers(api, request_id) | build_retry_headers(refusal, api)
    return HttpReply([body], _JSON_MEDIA_TYPES[_api_family(api)], headers, refusal.status, len(body))


def make_json_reply(api: str, body: dict[str, Any]) -> HttpReply:
    """Return the HTTP response for a JSON body."""
    content = _encode_json(body)
    return HttpReply(
        [content], _JSON_MEDIA_TYPES[_api_family(api)], _build_headers(api, _make_request_id(api)), length=len(content)
    )


def make_step_reply(
    step: Answer | Fail, received: Received, memory: ServerState, *, as_array: bool = False
) -> HttpReply:
    """Return the HTTP response for a script step. `as_array` selects Gemini's stream form without events."""
    api = received.api
    if isinstance(step, Fail):
        return make_error_reply(make_scripted_error(step, api, received.model), api)
    speaker = FAKE_APIS[api]
    schema = read_requested_schema(received.body, api) if step.as_form and step.text else {}
    if schema:
        step = dataclasses.replace(step, text=fill_schema(step.text, schema), as_form=False)
    body = speaker.reply(step, received, memory)
    headers = _build_headers(api, _make_request_id(api))
    if not received.stream:
        content = _encode_json(body)
        is_cut = step.cut_after is not None
        chunks = [content[: len(content) // 2]] if is_cut else [content]
        return HttpReply(
            chunks, _JSON_MEDIA_TYPES[_api_family(api)], headers, length=len(content), is_cut=is_cut, delay=step.delay
        )
    events = speaker.events(step, received, body)
    chunks = gemini.join_events_as_array(events) if as_array else events
    media_type = _JSON_MEDIA_TYPES["gemini"] if as_array else "text/event-stream; charset=utf-8"
    return HttpReply(chunks[: step.cut_after], media_type, headers, is_cut=step.cut_after is not None, delay=step.delay)


def _encode_json(body: dict[str, Any]) -> bytes:
    return dump_json(body).encode()


def _make_request_id(api: str) -> str:
    return f"req_011C{make_random_id(20)}" if api == "anthropic" else f"req_{make_random_id(32, '0123456789abcdef')}"


def _build_headers(api: str, request_id: str) -> dict[str, str]:
    match _api_family(api):
        case "anthropic":
            return {"request-id": request_id}
        case "openai":
            return {"x-request-id": request_id, "openai-version": "2020-10-01", "openai-processing-ms": "5"}
        case _:
            return {"server-timing": "gfet4t7; dur=5"}
