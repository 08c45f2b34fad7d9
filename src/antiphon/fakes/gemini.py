"""Gemini's generateContent: parts, thought signatures, and its chunks."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj
from antiphon.fakes.errors import Refusal
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.signing import digest, opened, seal
from antiphon.fakes.speaker import (
    Memory,
    Speaker,
    event,
    is_broken,
    pieces,
    reasoning_tokens,
    token,
    usage,
)
from antiphon.wire.rules import check

_STOPS = {"length": "MAX_TOKENS", "refusal": "SAFETY"}
_STAND_INS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
# SDKs whose field is bytes send the stand-ins encoded.
_ACCEPTED = {*_STAND_INS, *(base64.b64encode(word.encode()).decode() for word in _STAND_INS)}
_VERSION = re.compile(r"gemini-(\d+)")


def refusal(received: Received, memory: Memory) -> Refusal | None:  # noqa: ARG001
    """The first broken rule, or G7: a thought signature that was not issued for the part it stands on."""
    for violation in check(received.body, "gemini", received.model):
        return Refusal.of(violation)
    for content in _several(received.body.get("contents")):
        if not all(map(_is_genuine, _several(content.get("parts")))):
            return Refusal("Thought signature is not valid")
    return None


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


def reply(answer: Answer, received: Received, memory: Memory) -> dict[str, Any]:  # noqa: ARG001
    """The response."""
    parts = list(_parts(answer, received.model))
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"} if parts else {"role": "model"}}
    candidate["finishReason"] = _STOPS.get(answer.ending, "STOP")
    if is_broken(answer) and answer.malformed:
        broken = answer.calls[-1]
        candidate["finishReason"] = "MALFORMED_FUNCTION_CALL"
        candidate["finishMessage"] = f"Malformed function call: print(default_api.{broken.name}("
    return {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": _usage(answer, received),
        "modelVersion": received.model,
        "responseId": token(23),
    }


def _parts(answer: Answer, model: str) -> Iterator[dict[str, Any]]:
    """The parts, signed as Gemini 3 does: the first call of the step, or else the last text."""
    found = _VERSION.search(model)
    version = int(found[1]) if found else 0
    calls = () if is_broken(answer) and answer.malformed else answer.calls[: -1 if is_broken(answer) else None]
    if answer.reasoning:
        yield {"text": answer.reasoning, "thought": True}
    if answer.text:
        text_signature = {"thoughtSignature": seal("text", token(8))} if version >= 3 and not calls else {}
        yield {"text": answer.text} | text_signature
    for number, call in enumerate(calls):
        # Gemini 1 and 2 had no ids.
        made = "" if version in (1, 2) else token(8, "abcdefghijklmnopqrstuvwxyz0123456789")
        named = {"id": call.id or made} if call.id or made else {}
        part = {"functionCall": named | {"name": call.name, "args": dict(call.arguments)}}
        signed = version >= 3 and number == 0
        yield part | ({"thoughtSignature": seal("call", [call.name, dict(call.arguments)])} if signed else {})


def _usage(answer: Answer, received: Received) -> dict[str, Any]:
    count_in, count_out = usage(answer, received)
    thoughts = reasoning_tokens(answer, count_out)
    return {
        "promptTokenCount": count_in,
        "candidatesTokenCount": count_out - thoughts,
        "totalTokenCount": count_in + count_out,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count_in}],
        "serviceTier": "standard",
    } | ({"thoughtsTokenCount": thoughts} if thoughts else {})


def events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """The chunks of the same response: text in pieces, calls whole, then the reason in a chunk of its own."""
    candidate = body["candidates"][0]
    common = {k: v for k, v in body.items() if k != "candidates"}
    stream: list[bytes] = []
    late: dict[str, Any] = {"text": ""}
    for part in candidate["content"].get("parts", []):
        if "functionCall" not in part:
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
