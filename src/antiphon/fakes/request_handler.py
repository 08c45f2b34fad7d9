"""Handling of one request without HTTP: parse it, validate it, and build the reply."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object
from antiphon.errors import MalformedJSONError
from antiphon.fakes.api_base import FakeApi, ServerState
from antiphon.fakes.apis import FAKE_APIS
from antiphon.fakes.files import find_file_error
from antiphon.fakes.schema_texts import fill_schema
from antiphon.fakes.script import Answer, Fail, Received
from antiphon.fakes.vendors import ErrorReply, FakeVendor

_REDACTED_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "x-amz-security-token")
_MAX_SHOWN_TEXT = 400


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
    #: After so many chunks, this function is waited for.
    hold_after: int | None = None
    hold: Callable[[], object] | None = None


def parse_request(
    api: str,
    path: str,
    headers: Mapping[str, str],
    raw: bytes,
    *,
    model: str = "",
    stream: bool = False,
) -> tuple[Received, ErrorReply | None]:
    """Return the request, and an error if it has no JSON. `model` and `stream` are from the URL."""
    fake = FAKE_APIS[api]
    blanked = {name: "[key]" if name in _REDACTED_HEADERS else value for name, value in headers.items()}
    fault = None
    try:
        body = load_json(raw, "the body")
    except MalformedJSONError as error:
        body, fault = None, ErrorReply(fake.vendor.invalid_json.format(fault=error))
    named = as_object(body).get("model")
    model = model or (named if isinstance(named, str) else "")
    return Received(api, path, blanked, body, model, stream or as_object(body).get("stream") is True), fault


def find_key_error(fake: FakeApi, headers: Mapping[str, str], key: str, memory: ServerState) -> ErrorReply | None:
    """Return the error for a missing or unknown key, or None. `key` is the one from the URL."""
    given = (headers.get(name, "") for name in (fake.spec.http.key_header, "authorization"))
    found = {each for each in (key, *(each.removeprefix("Bearer").strip() for each in given)) if each}
    if not found:
        return fake.vendor.missing_key
    return None if not memory.keys or found & memory.keys else fake.vendor.wrong_key


def validate_request(
    received: Received, fault: ErrorReply | None, memory: ServerState
) -> tuple[Received, ErrorReply | None]:
    """Return the request with its rejection recorded, and the rejection."""
    fake = FAKE_APIS[received.api]
    fault = fault or fake.refusal(received, memory) or find_file_error(fake.spec.owner, received.body, memory.files)
    return (dataclasses.replace(received, rejected=fault.message), fault) if fault else (received, None)


def echo(received: Received) -> Answer:
    """Answer with "You said: …" and the user's last text, in the schema that the request asks for."""
    return Answer(f"You said: {_read_last_text(received)}", as_form=True)


def make_exhausted_error(received: Received, given: int) -> ErrorReply:
    """Return the error for a request that the script has no answer for. Clients do not retry it."""
    had = {0: "no answer", 1: "one answer, which is used up"}.get(given, f"{given} answers, all used up")
    return ErrorReply(
        f"the fake has no answer for this request: its script had {had}. {describe_request(received)}. Add an answer "
        "to the script or with `fake.play(...)`, or write `Fake(echo)` for answers that repeat what was said."
    )


def describe_request(received: Received) -> str:
    """Return which model was asked what."""
    return f"{received.model or received.api} was asked: {_read_last_text(received)[-_MAX_SHOWN_TEXT:]!r}"


def _read_last_text(received: Received) -> str:
    return FAKE_APIS[received.api].read_last_text(received.body)


def make_error_reply(refusal: ErrorReply, api: str, vendor: FakeVendor | None = None) -> HttpReply:
    """Return the HTTP response for an error, of the API's owner or another vendor."""
    vendor = vendor or FAKE_APIS[api].vendor
    request_id = vendor.make_request_id()
    body = dump_json(vendor.format_error(refusal, request_id)).encode()
    headers = vendor.build_headers(request_id) | vendor.build_retry_headers(refusal)
    return HttpReply([body], vendor.media_type, headers, refusal.status, len(body))


def make_json_reply(api: str, body: dict[str, Any] | None, more: Mapping[str, str] | None = None) -> HttpReply:
    """Return the HTTP response for a JSON body, or for headers without a body."""
    vendor, content = FAKE_APIS[api].vendor, b"" if body is None else dump_json(body).encode()
    headers = {**vendor.build_headers(vendor.make_request_id()), **(more or {})}
    return HttpReply([content], vendor.media_type, headers, length=len(content))


def make_step_reply(
    step: Answer | Fail,
    received: Received,
    memory: ServerState,
    *,
    as_array: bool = False,
    vendor: FakeVendor | None = None,
) -> HttpReply:
    """Return the HTTP response for a script step. `as_array` selects a stream without events.

    `vendor` is whose errors are told, if not those of the API's owner.
    """
    fake = FAKE_APIS[received.api]
    if isinstance(step, Fail):
        teller = vendor or fake.vendor
        return make_error_reply(teller.make_scripted_error(step, received.model), received.api, teller)
    schema = fake.read_schema(received.body) if step.as_form and step.text else {}
    if schema:
        step = dataclasses.replace(step, text=fill_schema(step.text, schema), as_form=False)
    body = fake.reply(step, received, memory)
    is_cut = step.cut_after is not None
    if not received.stream:
        reply = make_json_reply(received.api, body)
        chunks = [content[: len(content) // 2] for content in reply.chunks] if is_cut else reply.chunks
        return dataclasses.replace(reply, chunks=chunks, is_cut=is_cut, delay=step.delay)
    chunks = fake.events(step, received, body)
    media_type = "text/event-stream; charset=utf-8"
    if as_array and fake.join_array is not None:
        chunks, media_type = fake.join_array(chunks), fake.vendor.media_type
    headers = fake.vendor.build_headers(fake.vendor.make_request_id())
    return HttpReply(
        chunks[: step.cut_after],
        media_type,
        headers,
        is_cut=is_cut,
        delay=step.delay,
        hold_after=step.hold_after,
        hold=step.hold,
    )
