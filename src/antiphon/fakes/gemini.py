"""Gemini's generateContent: parts, thought signatures, and its chunks."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj
from antiphon.facts import Facts
from antiphon.fakes.continuation import refuse_token, split_answer
from antiphon.fakes.errors import Refusal
from antiphon.fakes.prompts import render_contents
from antiphon.fakes.script import Answer, Received, ServerCall
from antiphon.fakes.signing import digest, opened, seal
from antiphon.fakes.speaker import (
    Memory,
    Speaker,
    event,
    is_broken,
    known_facts,
    pieces,
    reasoning_tokens,
    span,
    token,
    usage,
)
from antiphon.wire.rules import check

_STOPS = {"length": "MAX_TOKENS", "refusal": "SAFETY"}
_STAND_INS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
# SDKs whose field is bytes send the stand-ins encoded.
_ACCEPTED = {*_STAND_INS, *(base64.b64encode(word.encode()).decode() for word in _STAND_INS)}


def refusal(received: Received, memory: Memory) -> Refusal | None:
    """Return the first broken rule, or G7: a thought signature that was not issued for the part it stands on."""
    for violation in check(received.body, "gemini", received.model, headers=received.headers):
        return Refusal.of(violation)
    for content in _several(received.body.get("contents")):
        if not all(map(_is_genuine, _several(content.get("parts")))):
            return Refusal("Thought signature is not valid")
    return refuse_token(received, memory)


def _is_genuine(part: dict[str, Any]) -> bool:
    signature = part.get("thoughtSignature") or part.get("thought_signature")
    if not signature or str(signature) in _ACCEPTED:
        return True
    call = obj(part.get("functionCall") or part.get("function_call"))
    digests = opened("call", signature)
    if call:
        return digests == [digest([call.get("name"), obj(call.get("args"))])]
    return digests is not None or opened("text", signature) is not None


def _several(value: object) -> list[dict[str, Any]]:
    """A repeated field, for which one object alone may stand."""
    one = obj(value)
    return [one] if one else [obj(entry) for entry in arr(value)]


def last_text(body: dict[str, Any]) -> str:
    """The text of the last content in which the user said something."""
    for content in reversed(_several(body.get("contents"))):
        texts = [str(part["text"]) for part in _several(content.get("parts")) if part.get("text")]
        if texts and content.get("role") != "model":
            return "\n".join(texts)
    return ""


def reply(answer: Answer, received: Received, memory: Memory) -> dict[str, Any]:
    """Return the response."""
    facts = known_facts("gemini", received.model)
    answer, going_on = split_answer(answer, received, memory, facts)
    parts = list(_parts(answer, facts, is_last=not going_on))
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"} if parts else {"role": "model"}}
    candidate["finishReason"] = answer.stop_word or _STOPS.get(answer.ending, "STOP")
    if answer.refusal:
        candidate["finishMessage"] = answer.refusal
    candidate |= going_on
    if answer.citations:
        candidate["groundingMetadata"] = _grounding(answer)
    if is_broken(answer) and answer.malformed:
        broken = answer.calls[-1]
        candidate["finishReason"] = "MALFORMED_FUNCTION_CALL"
        candidate["finishMessage"] = f"Malformed function call: print(default_api.{broken.name}("
    return {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": _usage(answer, received, memory, facts),
        "modelVersion": received.model,
        "responseId": token(23),
    }


def _grounding(answer: Answer) -> dict[str, Any]:
    supports: list[dict[str, Any]] = []
    for number, cite in enumerate(answer.citations):
        start, end = span(cite, answer.text)
        # Google counts bytes.
        first, last = len(answer.text[:start].encode()), len(answer.text[:end].encode())
        segment = {"startIndex": first, "endIndex": last, "text": answer.text[start:end]}
        supports.append({"segment": segment, "groundingChunkIndices": [number]})
    chunks = [{"web": {"uri": cite.url, "title": cite.title}} for cite in answer.citations]
    return {"groundingChunks": chunks, "groundingSupports": supports}


def _server_parts(used: ServerCall) -> Iterator[dict[str, Any]]:
    if used.tool == "code_execution":
        yield {"executableCode": {"language": "PYTHON", "code": str(used.input.get("code", ""))}}
        if used.is_done:
            yield {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": str(used.result)}}
        return
    call_id = used.id or token(8)
    yield {"toolCall": {"id": call_id, "toolType": used.tool.upper(), "args": dict(used.input)}}
    if used.is_done:
        found = [{"url": each.url, "title": each.title} for each in used.sources]
        response = {"results": found} if found else used.result
        yield {"toolResponse": {"id": call_id, "toolType": used.tool.upper(), "response": response}}


def _parts(answer: Answer, facts: Facts, *, is_last: bool) -> Iterator[dict[str, Any]]:
    """Yield the parts, signed where calls are: the first call of the step, or else the last text."""
    signs = facts.signed_calls is True
    calls = () if is_broken(answer) and answer.malformed else answer.calls[: -1 if is_broken(answer) else None]
    if answer.reasoning:
        yield {"text": answer.reasoning, "thought": True}
    yield from (dict(block) for block in answer.blocks)
    for used in answer.server_calls:
        yield from _server_parts(used)
    if answer.text:
        text_signature = {"thoughtSignature": seal("text", token(8))} if signs and not calls and is_last else {}
        yield {"text": answer.text} | text_signature
    for number, call in enumerate(calls):
        # Models whose calls are not signed have no ids either.
        made = "" if facts.signed_calls is False else token(8, "abcdefghijklmnopqrstuvwxyz0123456789")
        named = {"id": call.id or made} if call.id or made else {}
        part = {"functionCall": named | {"name": call.name, "args": dict(call.arguments)}}
        signed = signs and number == 0
        yield part | ({"thoughtSignature": seal("call", [call.name, dict(call.arguments)])} if signed else {})


def _usage(answer: Answer, received: Received, memory: Memory, facts: Facts) -> dict[str, Any]:
    count_in, count_out = usage(answer, received)
    contents = _several(received.body.get("contents"))
    prompt = render_contents(received.body, received.model, contents)
    counted = memory.cache.count_automatic(prompt, facts.cache, delay=answer.delay)
    cached = 0 if answer.usage is not None else min(counted.read, count_in)
    thoughts = reasoning_tokens(answer, count_out)
    return {
        "promptTokenCount": count_in,
        "candidatesTokenCount": count_out - thoughts,
        "totalTokenCount": count_in + count_out,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count_in}],
        "serviceTier": "standard",
    } | {
        name: count for name, count in (("thoughtsTokenCount", thoughts), ("cachedContentTokenCount", cached)) if count
    }


def events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """The chunks of the same response: text in pieces, calls whole, then the reason in a chunk of its own."""
    candidate = body["candidates"][0]
    common = {k: v for k, v in body.items() if k != "candidates"}
    stream: list[bytes] = []
    late: dict[str, Any] = {"text": ""}
    for part in candidate["content"].get("parts", []):
        if "text" in part:
            # The signature of a text comes when the text is over.
            late |= {k: v for k, v in part.items() if k == "thoughtSignature"}
            rest = {k: v for k, v in part.items() if k == "thought"}
            grown = [{"text": piece} | rest for piece in pieces(part["text"])]
        else:
            grown = [part]
        for piece in grown:
            chunk = {"content": {"parts": [piece], "role": "model"}, "index": 0}
            stream.append(event({"candidates": [chunk]} | common))
    content = {"parts": [late], "role": "model"} if stream else candidate["content"]
    return [*stream, event({"candidates": [candidate | {"content": content}]} | common)]


def as_array(events: list[bytes]) -> list[bytes]:
    """The same chunks as one JSON array, the form without `alt=sse`."""
    chunks = [chunk.removeprefix(b"data: ").strip() for chunk in events]
    return [b"[" + chunks[0], *(b",\r\n" + chunk for chunk in chunks[1:]), b"]"]


SPEAKER = Speaker(refusal, last_text, reply, events)
