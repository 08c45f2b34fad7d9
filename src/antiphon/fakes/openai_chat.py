"""OpenAI's Chat Completions, with the `reasoning_content` that compatible servers add."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj
from antiphon.fakes.errors import Refusal
from antiphon.fakes.prompts import render_completion
from antiphon.fakes.script import Answer, Cite, Received
from antiphon.fakes.speaker import (
    Memory,
    Speaker,
    arguments,
    event,
    known_facts,
    pieces,
    reasoning_tokens,
    span,
    text_of,
    token,
    usage,
)
from antiphon.wire.rules import check

_STOPS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "pause": "stop",
}


def refusal(received: Received, memory: Memory) -> Refusal | None:  # noqa: ARG001
    """The first broken rule."""
    for violation in check(received.body, "openai-chat", headers=received.headers):
        return Refusal.of(violation)
    return None


def last_text(body: dict[str, Any]) -> str:
    """The text of the last message in which the user said something."""
    messages = [obj(message) for message in arr(body.get("messages"))]
    texts = [text_of(message.get("content"), "text") for message in messages if message.get("role") == "user"]
    return next((text for text in reversed(texts) if text), "")


def reply(answer: Answer, received: Received, memory: Memory) -> dict[str, Any]:
    """Return the completion."""
    calls = [
        {
            "id": call.id or f"call_{token(24)}",
            "type": "function",
            "function": {"name": call.name, "arguments": text},
        }
        for call, text in zip(answer.calls, arguments(answer), strict=True)
    ]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text if answer.text or not (calls or answer.refusal) else None,
        "refusal": answer.refusal or None,
        "annotations": [_citation(each, answer.text) for each in answer.citations],
    }
    if answer.reasoning and received.body.get("reasoning_effort") != "none":
        message["reasoning_content"] = answer.reasoning
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _stop(answer)}
    return {
        "id": f"chatcmpl-{token(29)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": received.model,
        "choices": [choice],
        "usage": _usage(answer, received, memory),
        "service_tier": "default",
        "system_fingerprint": "fp_antiphon",
    }


def _stop(answer: Answer) -> str:
    # A refusal in words ends like any other answer.
    refuses_in_words = answer.refusal and answer.stop is None
    return answer.stop_word or ("stop" if refuses_in_words else _STOPS[answer.ending])


def _citation(cite: Cite, text: str) -> dict[str, Any]:
    start, end = span(cite, text)
    place = {"start_index": start, "end_index": end, "title": cite.title, "url": cite.url}
    return {"type": "url_citation", "url_citation": place}


def _usage(answer: Answer, received: Received, memory: Memory) -> dict[str, Any]:
    count_in, count_out = usage(answer, received)
    facts = known_facts("openai-chat", received.model)
    counted = memory.cache.count_automatic(render_completion(received.body), facts.cache, delay=answer.delay)
    cached = 0 if answer.usage is not None else min(counted.read, count_in)
    return {
        "prompt_tokens": count_in,
        "completion_tokens": count_out,
        "total_tokens": count_in + count_out,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": reasoning_tokens(answer, count_out),
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:
    """The stream of the same completion; usage only if the request asks for it, as with the real one."""
    common = {k: body[k] for k in ("id", "created", "model", "service_tier", "system_fingerprint")}
    common = {"object": "chat.completion.chunk"} | common
    wants_usage = obj(received.body.get("stream_options")).get("include_usage") is True
    nothing = {"usage": None} if wants_usage else {}
    choice = body["choices"][0]
    stream: list[bytes] = []
    for delta in _deltas(choice["message"], answer.same_index):
        one = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        stream.append(event(common | {"choices": [one]} | nothing))
    last: dict[str, Any] = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}
    stream.append(event(common | {"choices": [last]} | nothing))
    if wants_usage:
        stream.append(event(common | {"choices": [], "usage": body["usage"]}))
    return [*stream, b"data: [DONE]\n\n"]


def _deltas(message: dict[str, Any], same_index: bool) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None}
    for piece in pieces(message.get("reasoning_content", "")):
        yield {"reasoning_content": piece}
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    for piece in pieces(message["refusal"] or ""):
        yield {"refusal": piece}
    if message["annotations"]:
        yield {"annotations": message["annotations"]}
    for number, call in enumerate(message.get("tool_calls", [])):
        index = 0 if same_index else number
        text = call["function"]["arguments"]
        yield {"tool_calls": [{"index": index} | call | {"function": call["function"] | {"arguments": ""}}]}
        for piece in pieces(text):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


SPEAKER = Speaker(refusal, last_text, reply, events)
