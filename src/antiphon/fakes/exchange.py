"""One request and what becomes of it, before and after HTTP: who is asked, whether it is refused, what is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import obj
from antiphon.errors import MalformedJSONError
from antiphon.fakes import anthropic, gemini, openai_chat, openai_responses
from antiphon.fakes.errors import Refusal, envelope, retry_headers, scripted
from antiphon.fakes.forms import asked_schema, fill_form
from antiphon.fakes.script import Answer, Fail, Received
from antiphon.fakes.speaker import Memory, token

SPEAKERS = {
    "anthropic": anthropic.SPEAKER,
    "openai-chat": openai_chat.SPEAKER,
    "openai-responses": openai_responses.SPEAKER,
    "gemini": gemini.SPEAKER,
}
_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
_KEY_HEADERS = {
    "anthropic": ("x-api-key", "authorization"),
    "openai": ("authorization",),
    "gemini": ("x-goog-api-key", "authorization"),
}
_NO_KEY = {
    "anthropic": Refusal("x-api-key header is required", 401),
    "openai": Refusal(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from "
        "https://platform.openai.com/account/api-keys.",
        401,
    ),
    # A missing key is a 403 with Google, not a 401.
    "gemini": Refusal(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
        "other form of API consumer identity to call this API.",
        403,
    ),
}
_NO_JSON = {
    "anthropic": "The request body is not valid JSON: {fault}",
    "openai": "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
    "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
    "gemini": "Invalid JSON payload received. Unexpected token.",
}
_SHOWN = 400
_JSON = {"anthropic": "application/json", "openai": "application/json", "gemini": "application/json; charset=UTF-8"}


@dataclass(frozen=True, slots=True)
class Sending:
    """What goes back: a body in one or more chunks. `is_cut` leaves it unfinished."""

    chunks: list[bytes]
    media_type: str
    headers: dict[str, str]
    status: int = 200
    length: int | None = None
    is_cut: bool = False
    delay: float = 0.0


def receive(
    api: str, path: str, headers: Mapping[str, str], raw: bytes, *, model: str = "", stream: bool = False, key: str = ""
) -> tuple[Received, Refusal | None]:
    """The request, and a refusal if it has no key or no JSON. `model`, `stream` and `key` are those of the address."""
    family = _family(api)
    blanked = {name: "[key]" if name in _KEYS else value for name, value in headers.items()}
    fault = None
    try:
        body = loads(raw, "the body")
    except MalformedJSONError as error:
        body, fault = None, Refusal(_NO_JSON[family].format(fault=error))
    if not key and not any(_bare(headers.get(name, "")) for name in _KEY_HEADERS[family]):
        fault = _NO_KEY[family]
    named = obj(body).get("model")
    model = model or (named if isinstance(named, str) else "")
    return Received(api, path, blanked, body, model, stream or obj(body).get("stream") is True), fault


def judge(received: Received, fault: Refusal | None, memory: Memory) -> tuple[Received, Refusal | None]:
    """The request with its rejection noted, and the rejection."""
    fault = fault or SPEAKERS[received.api].refusal(received, memory)
    return (dataclasses.replace(received, rejected=fault.message), fault) if fault else (received, None)


def _family(api: str) -> str:
    return "openai" if api.startswith("openai") else api


def _bare(key: str) -> str:
    return key.removeprefix("Bearer").strip()


def echo(received: Received) -> Answer:
    """Return what was said last, as "You said: …", in the form that the request asks for."""
    return Answer(f"You said: {_last_text(received)}", as_form=True)


def refuse_exhausted(received: Received, given: int) -> Refusal:
    """Return the refusal of a request that the script has no answer for. Clients do not retry it."""
    had = {0: "no answer", 1: "one answer, which is used up"}.get(given, f"{given} answers, all used up")
    return Refusal(
        f"the fake has no answer for this request: its script had {had}. {received.model or received.api} was asked: "
        f"{_last_text(received)[-_SHOWN:]!r}. Add an answer to the script or with `fake.play(...)`, or write "
        "`Fake(echo)` for answers that repeat what was said."
    )


def _last_text(received: Received) -> str:
    return SPEAKERS[received.api].last_text(received.body)


def refused(refusal: Refusal, api: str) -> Sending:
    """A refusal as it goes out."""
    request_id = _request_id(api)
    body = _json(envelope(refusal, api, request_id))
    headers = _headers(api, request_id) | retry_headers(refusal, api)
    return Sending([body], _JSON[_family(api)], headers, refusal.status, len(body))


def listing(api: str, body: dict[str, Any]) -> Sending:
    """Plain JSON as it goes out."""
    content = _json(body)
    return Sending([content], _JSON[_family(api)], _headers(api, _request_id(api)), length=len(content))


def answered(step: Answer | Fail, received: Received, memory: Memory, *, as_array: bool = False) -> Sending:
    """A step as it goes out. `as_array` is Gemini's stream in its form without events."""
    api = received.api
    if isinstance(step, Fail):
        return refused(scripted(step, api, received.model), api)
    speaker = SPEAKERS[api]
    schema = asked_schema(received.body, api) if step.as_form and step.text else {}
    if schema:
        step = dataclasses.replace(step, text=fill_form(step.text, schema), as_form=False)
    body = speaker.reply(step, received, memory)
    headers = _headers(api, _request_id(api))
    if not received.stream:
        content = _json(body)
        is_cut = step.cut_after is not None
        chunks = [content[: len(content) // 2]] if is_cut else [content]
        return Sending(chunks, _JSON[_family(api)], headers, length=len(content), is_cut=is_cut, delay=step.delay)
    events = speaker.events(step, received, body)
    chunks = gemini.as_array(events) if as_array else events
    media_type = _JSON["gemini"] if as_array else "text/event-stream; charset=utf-8"
    return Sending(chunks[: step.cut_after], media_type, headers, is_cut=step.cut_after is not None, delay=step.delay)


def _json(body: dict[str, Any]) -> bytes:
    return dumps(body).encode()


def _request_id(api: str) -> str:
    return f"req_011C{token(20)}" if api == "anthropic" else f"req_{token(32, '0123456789abcdef')}"


def _headers(api: str, request_id: str) -> dict[str, str]:
    match _family(api):
        case "anthropic":
            return {"request-id": request_id}
        case "openai":
            return {"x-request-id": request_id, "openai-version": "2020-10-01", "openai-processing-ms": "5"}
        case _:
            return {"server-timing": "gfet4t7; dur=5"}
