"""Anthropic's Messages API: signed thinking, blocks, and its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj
from antiphon.fakes.errors import Refusal
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.signing import digest, opened, seal
from antiphon.fakes.speaker import (
    Memory,
    Speaker,
    arguments,
    event,
    is_broken,
    pieces,
    reasoning_tokens,
    text_of,
    token,
    usage,
)
from antiphon.wire.rules import check

_STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause": "pause_turn",
}
_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must "
    "remain as they were in the original response."
)


def refusal(received: Received, memory: Memory) -> Refusal | None:
    """The first broken rule, or the first thinking block that is not as it was issued."""
    if not received.headers.get("anthropic-version"):
        return Refusal("anthropic-version: header is required")
    for violation in check(received.body, "anthropic"):
        return Refusal.of(violation)
    for message in _thinking_faults(received.body, memory):
        return Refusal(message)
    return None


def _thinking_faults(body: dict[str, Any], memory: Memory) -> Iterator[str]:
    """A16, A17 and A18."""
    messages = [obj(message) for message in arr(body.get("messages"))]
    latest = max((n for n, message in enumerate(messages) if message.get("role") == "assistant"), default=-1)
    for number, message in enumerate(messages):
        for place, block in enumerate(map(obj, arr(message.get("content")))):
            where = f"messages.{number}.content.{place}"
            if block.get("type") == "redacted_thinking":
                # No fake ever redacts, so whatever comes is foreign.
                yield f"{where}: Invalid `data` in `redacted_thinking` block"
            elif block.get("type") == "thinking":
                yield from _block_faults(block, where, body, number == latest, memory)


def _block_faults(
    block: dict[str, Any], where: str, body: dict[str, Any], is_latest: bool, memory: Memory
) -> Iterator[str]:
    digests = opened("thinking", block.get("signature"))
    altered = digests is not None and digests[0] != digest(block.get("thinking"))
    if digests is None or (altered and not is_latest):
        yield f"{where}: Invalid `signature` in `thinking` block"
        return
    if altered:
        yield f"{where}: {_MODIFIED}"
    binding = obj(obj(body.get("thinking")).get("block_binding"))
    if memory.bind_thinking and binding.get("prefix_mismatch_behavior") != "drop_block":
        system, tools = _prefix(body)
        if digests[1] != digest(system):
            yield f"{where}: {_BOUND} The `system` prompt differs from the one this block was created with."
        if digests[2] != digest(tools):
            yield f"{where}: {_BOUND}"


def _prefix(body: dict[str, Any]) -> tuple[object, object]:
    """System text and tools; where the cache is marked, and how the text is wrapped, does not matter."""
    tools = [{k: v for k, v in obj(tool).items() if k != "cache_control"} for tool in arr(body.get("tools"))]
    return text_of(body.get("system"), "text"), tools


def last_text(body: dict[str, Any]) -> str:
    """The text of the last message in which the user said something."""
    messages = [obj(message) for message in arr(body.get("messages"))]
    texts = [text_of(message.get("content"), "text") for message in messages if message.get("role") == "user"]
    return next((text for text in reversed(texts) if text), "")


def reply(answer: Answer, received: Received, memory: Memory) -> dict[str, Any]:  # noqa: ARG001
    """The message."""
    count_in, count_out = usage(answer, received)
    return {
        "model": received.model,
        "id": f"msg_01{token(22)}",
        "type": "message",
        "role": "assistant",
        "content": list(_content(answer, received)),
        "stop_reason": _STOPS[answer.ending],
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": count_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": count_out,
            "output_tokens_details": {"thinking_tokens": reasoning_tokens(answer, count_out)},
            "service_tier": "standard",
            "inference_geo": "global",
        },
    }


def _content(answer: Answer, received: Received) -> Iterator[dict[str, Any]]:
    if answer.reasoning:
        signature = seal("thinking", answer.reasoning, *_prefix(received.body))
        yield {"type": "thinking", "thinking": answer.reasoning, "signature": signature}
    if answer.text:
        yield {"type": "text", "text": answer.text}
    for call in answer.calls:
        given = list(call.arguments.items())
        # A whole body is JSON already: of arguments that broke off, only those that were complete are in it.
        if is_broken(answer) and call is answer.calls[-1]:
            given = given[:-1]
        yield {"type": "tool_use", "id": call.id or f"toolu_01{token(22)}", "name": call.name, "input": dict(given)}


def events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """The stream of the same message."""
    start = body | {"content": list[Any](), "stop_reason": None, "usage": body["usage"] | {"output_tokens": 1}}
    stream: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    texts = iter(arguments(answer))
    for index, block in enumerate(body["content"]):
        empty, deltas = _pieces_of(block, texts)
        stream.append({"type": "content_block_start", "index": index, "content_block": empty})
        if not index:
            stream.append({"type": "ping"})
        stream += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        stream.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": body["stop_reason"], "stop_sequence": None, "stop_details": None}
    counts = {k: v for k, v in body["usage"].items() if k.endswith(("_tokens", "_details"))}
    stream.append({"type": "message_delta", "delta": end, "usage": counts})
    stream.append({"type": "message_stop"})
    return [event(data, data["type"]) for data in stream]


def _pieces_of(block: dict[str, Any], texts: Iterator[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts, and what is added to it."""
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            sign = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, sign]
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in pieces(block["text"])]
        case _:
            parts = ["", *pieces(next(texts))]
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


SPEAKER = Speaker(refusal, last_text, reply, events)
