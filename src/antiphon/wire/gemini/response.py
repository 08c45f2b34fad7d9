"""Answers of Google's Gemini API."""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Foreign, Native, Origin, Reasoning, Text, ToolCall, short_id
from antiphon.errors import BadReply
from antiphon.wire.gemini.keys import camel_keys, kind_of, part_of, several
from antiphon.wire.naming import is_universal
from antiphon.wire.reply import ErrorText, Reply, Stop, Usage
from antiphon.wire.shape import detail, reply_object, total

_DURATION = re.compile(r"\d{1,6}(\.\d{1,9})?s")
_STOPS: dict[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "BLOCKLIST": "refusal",
    "SPII": "refusal",
    "MODEL_ARMOR": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MALFORMED_RESPONSE": "error",
}


def decode(response: object, origin: Origin) -> Reply:
    """A response body as a reply."""
    data = camel_keys(reply_object(response, origin.provider))
    if not {"candidates", "promptFeedback", "usageMetadata"} & set(data):
        said = error_text(response).message
        raise BadReply(
            f"{origin.provider} answered without candidates{': ' + said if said else ''}", provider=origin.provider
        )
    candidate = first_candidate(data)
    reason = string(candidate.get("finishReason"))
    stop = _STOPS.get(reason, "other")
    if not candidate and (blocked := string(obj(data.get("promptFeedback")).get("blockReason"))):
        reason, stop = blocked, "refusal"
    given = [part_of(part) for part in several(obj(candidate.get("content")).get("parts"))]
    # An empty text is how some answers say nothing; there is nothing in it to keep.
    given = [part for part in given if part not in ({}, {"text": ""})]
    id = string(data.get("responseId"))
    parts = tuple(
        read_part(part, origin, _made_up_id(id, place, part), cut=stop == "length" and place == len(given) - 1)
        for place, part in enumerate(given)
    )
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    usage = _usage(camel_keys(data.get("usageMetadata")))
    return Reply(parts, stop, reason, usage, string(data.get("modelVersion")), id)


def first_candidate(data: dict[str, Any]) -> dict[str, Any]:
    """The first answer; more than one is for those who look at several themselves."""
    candidates = [camel_keys(candidate) for candidate in several(data.get("candidates"))]
    return next((candidate for candidate in candidates if not candidate.get("index")), dict[str, Any]())


def _made_up_id(response_id: str, place: int, part: dict[str, Any]) -> str:
    """An id for a call that came without one: the same for the same answer, another for every other."""
    return short_id(f"{response_id} {place} {dumps(part)}") if "functionCall" in part else ""


def read_part(part: dict[str, Any], origin: Origin, id: str, cut: bool = False) -> AssistantPart:
    """A part of the model's; `id` is for a call that has none."""
    kind = kind_of(part)
    if kind == "functionCall":
        call = obj(part[kind])
        name = string(call.get("name"))
        plain = set(part) == {kind} and set(call) == {"name", "args"} and is_universal("id", name)
        native = None if plain else Native(origin, part)
        own = string(call.get("id")) or id
        return ToolCall.read(own, name, call.get("args", {}), truncated=cut, native=native)
    text = string(part.get("text"))
    if part.get("thought") is True:
        return Reasoning(text, Native(origin, part))
    if kind == "text":
        # Blank text is kept as it is for its own API: written anew, it would be left out.
        return Text(text, None if set(part) == {kind} and text.strip() else Native(origin, part))
    return Foreign(Native(origin, part), fallback(part, kind))


def fallback(part: dict[str, Any], kind: str) -> str:
    """What other providers are shown of a part only this API understands."""
    return f"[{string(obj(part.get(kind)).get('mimeType')) or kind}]"


def _usage(usage: dict[str, Any]) -> Usage:
    thoughts = number(usage.get("thoughtsTokenCount"))
    return Usage(
        # What the provider's own tools read is counted apart, and so is the thinking.
        input_tokens=total(number(usage.get("promptTokenCount")), number(usage.get("toolUsePromptTokenCount"))),
        output_tokens=total(number(usage.get("candidatesTokenCount")), thoughts),
        cache_read_tokens=number(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def error_text(data: object) -> ErrorText:
    """What an error body says; for a stream it is a list of one."""
    errors = [obj(obj(item).get("error")) for item in several(data)]
    error = next(filter(None, errors), dict[str, Any]())
    delays = (string(obj(detail).get("retryDelay")) for detail in arr(error.get("details")))
    waits = [float(delay[:-1]) for delay in delays if _DURATION.fullmatch(delay)]
    said = string(error.get("message")) or detail(data)
    return ErrorText(said, string(error.get("status")), retry_after=max(waits, default=None))
