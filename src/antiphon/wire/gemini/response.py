"""Answers of Google's Gemini API."""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Foreign, Native, Origin, Reasoning, Text, ToolCall, short_id
from antiphon.errors import BadReply, RequestRejected
from antiphon.wire.gemini.keys import camel_keys, kind_of, part_of, several
from antiphon.wire.gemini.server_tools import cite_texts, pair_results, read_server_part
from antiphon.wire.naming import is_universal
from antiphon.wire.reply import ErrorText, Reply, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.shape import detail, reply_object, total
from antiphon.wire.stops import find_stop, unknown_stop

API = "gemini"
_PER_DAY = re.compile(r"per_?day", re.IGNORECASE)
_DURATION = re.compile(r"\d{1,6}(\.\d{1,9})?s")
#: The fields of a response and of a candidate that a reply has places for.
_KNOWN = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "continuationToken", "error"})
_KNOWN_OF_CANDIDATE = frozenset({"content", "finishReason", "index", "continuationToken"})
#: What a candidate says about where its answer comes from.
_SOURCES = ("groundingMetadata", "citationMetadata", "urlContextMetadata")


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
    stop = find_stop(API, reason or "FINISH_REASON_UNSPECIFIED")
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
    parts = cite_texts(pair_results(parts), candidate, origin)
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    usage = camel_keys(data.get("usageMetadata"))
    model, state = string(data.get("modelVersion")), _state(data, candidate, stop == "refusal")
    reply = Reply(parts, stop or "not_done", reason, _usage(usage), model, id, state=state)
    if stop == "failed":
        said = f"{reason}: {string(candidate.get('finishMessage')) or 'the request lacks a thought signature'}"
        error = RequestRejected(f"{origin.provider} refused the request: {said}", provider=origin.provider, text=said)
        error.status, error.reply = 400, reply
        raise error
    if stop is None:
        raise unknown_stop(reply, origin)
    return reply


def _state(data: dict[str, Any], candidate: dict[str, Any], refused: bool) -> ReplyState:
    feedback = obj(data.get("promptFeedback"))
    refusal = None
    if refused:
        explanation = string(candidate.get("finishMessage")) or string(feedback.get("blockReasonMessage"))
        reason = string(candidate.get("finishReason")) or string(feedback.get("blockReason"))
        refusal = RefusalDetails(reason, explanation)
    sources = {name: candidate[name] for name in _SOURCES if candidate.get(name)}
    other = {k: v for k, v in data.items() if k not in _KNOWN}
    other |= {k: v for k, v in candidate.items() if k not in _KNOWN_OF_CANDIDATE and k not in sources}
    token = string(data.get("continuationToken")) or string(candidate.get("continuationToken"))
    tier = string(obj(data.get("usageMetadata")).get("trafficType"))
    return ReplyState(
        continuation_token=token, refusal=refusal, sources=(sources,) if sources else (), service_tier=tier, other=other
    )


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
    return read_server_part(part, origin) or Foreign(Native(origin, part))


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
    status, wait = string(error.get("status")), max(waits, default=None)
    return ErrorText(said, status, retry_after=wait, quota=_daily_quota(error))


def _daily_quota(error: dict[str, Any]) -> str:
    """Return the name of a quota of the day that is used up; quotas of a minute come back by themselves."""
    details = [camel_keys(detail) for detail in arr(error.get("details"))]
    violations = [camel_keys(violation) for detail in details for violation in arr(detail.get("violations"))]
    names = [string(each.get("quotaId")) or string(each.get("quotaMetric")) for each in violations]
    return next((name for name in names if _PER_DAY.search(name)), "")
