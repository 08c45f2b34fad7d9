"""Decoder of complete answers of Google's Gemini API."""

from __future__ import annotations

import re
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    shorten_call_id,
)
from antiphon.errors import BadReply, RequestRejected
from antiphon.wire.gemini import SPEC
from antiphon.wire.gemini.field_names import as_object_list, camelize_keys, find_content_field, normalize_part
from antiphon.wire.gemini.server_tools import add_citations, pair_server_results, read_gemini_server_part
from antiphon.wire.json_shape import as_integers, extract_detail, require_object, sum_known
from antiphon.wire.names_and_ids import is_universally_legal
from antiphon.wire.reply import ProviderErrorInfo, Reply, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.stop_reasons import make_unknown_stop, map_stop_reason

API = SPEC.name
_PER_DAY = re.compile(r"per_?day", re.IGNORECASE)
_DURATION = re.compile(r"\d{1,6}(\.\d{1,9})?s")
#: The fields of a response and of a candidate that `Reply` has fields for.
_DECODED_FIELDS = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "continuationToken", "error"})
_DECODED_CANDIDATE_FIELDS = frozenset({"content", "finishReason", "index", "continuationToken"})
#: Fields of a candidate that list the sources of its answer.
_SOURCE_FIELDS = ("groundingMetadata", "citationMetadata", "urlContextMetadata")


def decode(response: object, origin: Origin) -> Reply:
    """Convert a response body into a reply."""
    data = camelize_keys(require_object(response, origin.provider))
    if not {"candidates", "promptFeedback", "usageMetadata"} & set(data):
        said = parse_error(response).message
        raise BadReply(
            f"{origin.provider} answered without candidates{': ' + said if said else ''}", provider=origin.provider
        )
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    candidate, feedback, id = first_candidate(data), data.get("promptFeedback"), texts.get("responseId", "")
    finish, content = candidate.get("finishReason"), candidate.get("content")
    reason = finish if isinstance(finish, str) else ""
    stop = map_stop_reason(API, reason or "FINISH_REASON_UNSPECIFIED")
    if not candidate and feedback and (blocked := as_string(as_object(feedback).get("blockReason"))):
        reason, stop = blocked, "refusal"
    usage = _read_usage(camelize_keys(data.get("usageMetadata")))
    state = _read_reply_state(data, candidate, stop == "refusal")
    listed = cast(dict[str, Any], content).get("parts") if isinstance(content, dict) else None
    # Some answers hold an empty text part; drop it.
    given = [part for each in as_object_list(listed) if (part := normalize_part(each)) not in ({}, {"text": ""})]
    parts = tuple(
        read_gemini_part(part, origin, f"{id} {place}", cut=stop == "length" and place == len(given) - 1)
        for place, part in enumerate(given)
    )
    parts = add_citations(pair_server_results(parts), candidate, origin)
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    reply = Reply(parts, stop or "not_done", reason, usage, texts.get("modelVersion", ""), id, state=state)
    if stop == "failed":
        said = f"{reason}: {as_string(candidate.get('finishMessage')) or 'the request lacks a thought signature'}"
        error = RequestRejected(f"{origin.provider} refused the request: {said}", provider=origin.provider, text=said)
        error.status, error.reply = 400, reply
        raise error
    if stop is None:
        raise make_unknown_stop(reply, origin)
    return reply


def _read_reply_state(data: dict[str, Any], candidate: dict[str, Any], refused: bool) -> ReplyState:
    refusal = None
    if refused:
        feedback = as_object(data.get("promptFeedback"))
        explanation = as_string(candidate.get("finishMessage")) or as_string(feedback.get("blockReasonMessage"))
        reason = as_string(candidate.get("finishReason")) or as_string(feedback.get("blockReason"))
        refusal = RefusalDetails(reason, explanation)
    sources = {name: candidate[name] for name in _SOURCE_FIELDS if candidate.get(name)}
    other = {k: v for k, v in data.items() if k not in _DECODED_FIELDS}
    other |= {k: v for k, v in candidate.items() if k not in _DECODED_CANDIDATE_FIELDS and k not in sources}
    token = data.get("continuationToken") or candidate.get("continuationToken")
    usage = data.get("usageMetadata")
    tier = cast(dict[str, Any], usage).get("trafficType") if isinstance(usage, dict) else None
    return ReplyState(
        continuation_token=token if isinstance(token, str) else "",
        refusal=refusal,
        sources=(sources,) if sources else (),
        service_tier=tier if isinstance(tier, str) else "",
        other=other,
    )


def first_candidate(data: dict[str, Any]) -> dict[str, Any]:
    """Return the first candidate. Further candidates are ignored."""
    candidates = [camelize_keys(candidate) for candidate in as_object_list(data.get("candidates"))]
    return next((candidate for candidate in candidates if not candidate.get("index")), dict[str, Any]())


def read_gemini_part(part: dict[str, Any], origin: Origin, place: str, cut: bool = False) -> AssistantPart:
    """Convert a part of the model. The id of a call that has none is derived from the part and its place."""
    kind = find_content_field(part)
    if kind == "functionCall":
        call: dict[str, Any] = part[kind] if isinstance(part[kind], dict) else {}
        texts = {name: value for name, value in call.items() if isinstance(value, str)}
        id, name = texts.get("id") or shorten_call_id(f"{place} {dump_json(part)}"), texts.get("name", "")
        plain = set(part) == {kind} and set(call) == {"name", "args"} and is_universally_legal("id", name)
        native = None if plain else ProviderPayload(origin, part)
        return ToolCall.read(id, name, call.get("args", {}), truncated=cut, native=native)
    said = part.get("text")
    text = said if isinstance(said, str) else ""
    if part.get("thought") is True:
        return Reasoning(text, ProviderPayload(origin, part))
    if kind == "text":
        # Keep the original of blank text for its own API: our encoding would omit it.
        return Text(text, None if set(part) == {kind} and text.strip() else ProviderPayload(origin, part))
    return read_gemini_server_part(part, origin) or OpaquePart(ProviderPayload(origin, part))


def describe_part(part: dict[str, Any], kind: str) -> str:
    """Return the text that replaces a part which only this API understands."""
    return f"[{as_string(as_object(part.get(kind)).get('mimeType')) or kind}]"


def _read_usage(usage: dict[str, Any]) -> Usage:
    prompt, of_tools, answer, cached, thoughts = as_integers(
        usage.get("promptTokenCount"),
        usage.get("toolUsePromptTokenCount"),
        usage.get("candidatesTokenCount"),
        usage.get("cachedContentTokenCount"),
        usage.get("thoughtsTokenCount"),
    )
    # The API counts the input of server tools and the thinking separately.
    return Usage(sum_known(prompt, of_tools), sum_known(answer, thoughts), cached, reasoning_tokens=thoughts)


def parse_error(data: object) -> ProviderErrorInfo:
    """Extract message, status, retry delay and quota from an error body. In a stream it is a list of one."""
    errors = [as_object(as_object(item).get("error")) for item in as_object_list(data)]
    error = next(filter(None, errors), dict[str, Any]())
    delays = (as_string(as_object(detail).get("retryDelay")) for detail in as_array(error.get("details")))
    waits = [float(delay[:-1]) for delay in delays if _DURATION.fullmatch(delay)]
    said = as_string(error.get("message")) or extract_detail(data)
    status, wait = as_string(error.get("status")), max(waits, default=None)
    return ProviderErrorInfo(said, status, retry_after=wait, quota=_find_daily_quota(error))


def _find_daily_quota(error: dict[str, Any]) -> str:
    """Return the name of an exhausted daily quota, or "". Per-minute quotas recover by themselves."""
    details = [camelize_keys(detail) for detail in as_array(error.get("details"))]
    violations = [camelize_keys(violation) for detail in details for violation in as_array(detail.get("violations"))]
    names = [as_string(each.get("quotaId")) or as_string(each.get("quotaMetric")) for each in violations]
    return next((name for name in names if _PER_DAY.search(name)), "")
