"""A fake of Gemini's generateContent: parts, thought signatures, and stream chunks."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_object
from antiphon.facts import Facts
from antiphon.fakes.api_base import (
    FakeApi,
    ServerState,
    count_cached,
    count_reasoning_tokens,
    count_tokens,
    find_broken_rule,
    find_citation_span,
    find_known_facts,
    format_sse_event,
    has_broken_call,
    split_text,
)
from antiphon.fakes.gemini_continuation import check_continuation_token, split_answer
from antiphon.fakes.prompt_pieces import render_contents
from antiphon.fakes.script import Answer, Received, ServerCall
from antiphon.fakes.signatures import hash_json, sign_values, verify_token
from antiphon.fakes.vendors import GOOGLE, ErrorReply, make_random_id
from antiphon.wire.gemini import SPEC

_FINISH_REASONS = {"length": "MAX_TOKENS", "refusal": "SAFETY"}
_DUMMY_SIGNATURES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
# SDKs whose field is bytes send the dummy signatures encoded.
_ACCEPTED_SIGNATURES = {*_DUMMY_SIGNATURES, *(base64.b64encode(word.encode()).decode() for word in _DUMMY_SIGNATURES)}


def _find_gemini_error(received: Received, memory: ServerState) -> ErrorReply | None:
    """Return the first broken rule, or G7: a thought signature that was not issued for its part."""
    if broken := find_broken_rule(received, SPEC.name):
        return broken
    for content in _as_object_list(received.body.get("contents")):
        if not all(map(_has_valid_signature, _as_object_list(content.get("parts")))):
            return ErrorReply("Thought signature is not valid")
    return check_continuation_token(received, memory)


def _has_valid_signature(part: dict[str, Any]) -> bool:
    signature = part.get("thoughtSignature") or part.get("thought_signature")
    if not signature or str(signature) in _ACCEPTED_SIGNATURES:
        return True
    call = as_object(part.get("functionCall") or part.get("function_call"))
    digests = verify_token("call", signature)
    if call:
        return digests == [hash_json([call.get("name"), as_object(call.get("args"))])]
    return digests is not None or verify_token("text", signature) is not None


def _as_object_list(value: object) -> list[dict[str, Any]]:
    """Return a repeated field as a list; a single object may stand for it."""
    one = as_object(value)
    return [one] if one else [as_object(entry) for entry in as_array(value)]


def _read_last_gemini_text(body: dict[str, Any]) -> str:
    """Return the text of the last user content that has text."""
    for content in reversed(_as_object_list(body.get("contents"))):
        texts = [str(part["text"]) for part in _as_object_list(content.get("parts")) if part.get("text")]
        if texts and content.get("role") != "model":
            return "\n".join(texts)
    return ""


def _build_gemini_reply(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    facts = find_known_facts(SPEC.name, received.model)
    answer, going_on = split_answer(answer, received, memory, facts)
    parts = list(_build_parts(answer, facts, is_last=not going_on))
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"} if parts else {"role": "model"}}
    candidate["finishReason"] = answer.stop_word or _FINISH_REASONS.get(answer.ending, "STOP")
    if answer.refusal:
        candidate["finishMessage"] = answer.refusal
    candidate |= going_on
    if answer.citations:
        candidate["groundingMetadata"] = _build_grounding(answer)
    if has_broken_call(answer) and answer.malformed:
        broken = answer.calls[-1]
        candidate["finishReason"] = "MALFORMED_FUNCTION_CALL"
        candidate["finishMessage"] = f"Malformed function call: print(default_api.{broken.name}("
    return {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": _build_usage(answer, received, memory, facts),
        "modelVersion": received.model,
        "responseId": make_random_id(23),
    }


def _build_grounding(answer: Answer) -> dict[str, Any]:
    supports: list[dict[str, Any]] = []
    for number, cite in enumerate(answer.citations):
        start, end = find_citation_span(cite, answer.text)
        # Google counts bytes.
        first, last = len(answer.text[:start].encode()), len(answer.text[:end].encode())
        segment = {"startIndex": first, "endIndex": last, "text": answer.text[start:end]}
        supports.append({"segment": segment, "groundingChunkIndices": [number]})
    chunks = [{"web": {"uri": cite.url, "title": cite.title}} for cite in answer.citations]
    return {"groundingChunks": chunks, "groundingSupports": supports}


def _build_server_parts(used: ServerCall) -> Iterator[dict[str, Any]]:
    if used.tool == "code_execution":
        yield {"executableCode": {"language": "PYTHON", "code": str(used.input.get("code", ""))}}
        if used.is_done:
            yield {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": str(used.result)}}
        return
    call_id = used.id or make_random_id(8)
    yield {"toolCall": {"id": call_id, "toolType": used.tool.upper(), "args": dict(used.input)}}
    if used.is_done:
        found = [{"url": each.url, "title": each.title} for each in used.sources]
        response = {"results": found} if found else used.result
        yield {"toolResponse": {"id": call_id, "toolType": used.tool.upper(), "response": response}}


def _build_parts(answer: Answer, facts: Facts, *, is_last: bool) -> Iterator[dict[str, Any]]:
    """Yield the parts, with a signature on the first call, or else on the last text."""
    signs = facts.signed_calls is True
    calls = (
        () if has_broken_call(answer) and answer.malformed else answer.calls[: -1 if has_broken_call(answer) else None]
    )
    if answer.reasoning:
        yield {"text": answer.reasoning, "thought": True}
    yield from (dict(block) for block in answer.blocks)
    for used in answer.server_calls:
        yield from _build_server_parts(used)
    if answer.text:
        text_signature = (
            {"thoughtSignature": sign_values("text", make_random_id(8))} if signs and not calls and is_last else {}
        )
        yield {"text": answer.text} | text_signature
    for number, call in enumerate(calls):
        # Models whose calls are not signed have no ids either.
        made = "" if facts.signed_calls is False else make_random_id(8, "abcdefghijklmnopqrstuvwxyz0123456789")
        named = {"id": call.id or made} if call.id or made else {}
        part = {"functionCall": named | {"name": call.name, "args": dict(call.arguments)}}
        signed = signs and number == 0
        yield part | ({"thoughtSignature": sign_values("call", [call.name, dict(call.arguments)])} if signed else {})


def _build_usage(answer: Answer, received: Received, memory: ServerState, facts: Facts) -> dict[str, Any]:
    count_in, count_out = count_tokens(answer, received)
    contents = _as_object_list(received.body.get("contents"))
    prompt = render_contents(received.body, received.model, contents)
    cached = count_cached(answer, memory, prompt, facts, count_in)
    thoughts = count_reasoning_tokens(answer, count_out)
    return {
        "promptTokenCount": count_in,
        "candidatesTokenCount": count_out - thoughts,
        "totalTokenCount": count_in + count_out,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count_in}],
        "serviceTier": "standard",
    } | {
        name: count for name, count in (("thoughtsTokenCount", thoughts), ("cachedContentTokenCount", cached)) if count
    }


def _build_gemini_events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """Return the stream chunks of the same response: text in pieces, whole calls, then the finish reason."""
    candidate = body["candidates"][0]
    common = {k: v for k, v in body.items() if k != "candidates"}
    stream: list[bytes] = []
    late: dict[str, Any] = {"text": ""}
    for part in candidate["content"].get("parts", []):
        if "text" in part:
            # The signature of a text follows after the text.
            late |= {k: v for k, v in part.items() if k == "thoughtSignature"}
            rest = {k: v for k, v in part.items() if k == "thought"}
            grown = [{"text": piece} | rest for piece in split_text(part["text"])]
        else:
            grown = [part]
        for piece in grown:
            chunk = {"content": {"parts": [piece], "role": "model"}, "index": 0}
            stream.append(format_sse_event({"candidates": [chunk]} | common))
    content = {"parts": [late], "role": "model"} if stream else candidate["content"]
    return [*stream, format_sse_event({"candidates": [candidate | {"content": content}]} | common)]


def _join_events_as_array(events: list[bytes]) -> list[bytes]:
    """Return the same chunks as one JSON array, the form without `alt=sse`."""
    chunks = [chunk.removeprefix(b"data: ").strip() for chunk in events]
    return [b"[" + chunks[0], *(b",\r\n" + chunk for chunk in chunks[1:]), b"]"]


def _read_schema(body: dict[str, Any]) -> dict[str, Any]:
    config = as_object(body.get("generationConfig") or body.get("generation_config"))
    return as_object(config.get("responseJsonSchema") or config.get("response_json_schema"))


FAKE_API = FakeApi(
    spec=SPEC,
    vendor=GOOGLE,
    refusal=_find_gemini_error,
    read_last_text=_read_last_gemini_text,
    read_schema=_read_schema,
    reply=_build_gemini_reply,
    events=_build_gemini_events,
    join_array=_join_events_as_array,
)
