"""A fake of OpenAI's Chat Completions, with the `reasoning_content` that compatible servers add."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_object
from antiphon.fakes.api_base import (
    FakeApi,
    ServerState,
    count_cached,
    count_reasoning_tokens,
    count_tokens,
    find_broken_rule,
    find_citation_span,
    find_known_facts,
    find_last_text,
    format_call_arguments,
    format_sse_event,
    split_text,
)
from antiphon.fakes.prompt_pieces import render_completion
from antiphon.fakes.script import Answer, Cite, Received
from antiphon.fakes.vendors import OPENAI, make_random_id
from antiphon.wire.openai_chat import SPEC

_FINISH_REASONS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "pause": "stop",
}


def _build_chat_reply(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    calls = [
        {
            "id": call.id or f"call_{make_random_id(24)}",
            "type": "function",
            "function": {"name": call.name, "arguments": text},
        }
        for call, text in zip(answer.calls, format_call_arguments(answer), strict=True)
    ]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text if answer.text or not (calls or answer.refusal) else None,
        "refusal": answer.refusal or None,
        "annotations": [_build_citation(each, answer.text) for each in answer.citations],
    }
    if answer.reasoning and received.body.get("reasoning_effort") != "none":
        message["reasoning_content"] = answer.reasoning
    if calls:
        message["tool_calls"] = calls
    # A refusal with a text has the finish reason of any other answer.
    refuses_in_words = answer.refusal and answer.stop is None
    reason = answer.stop_word or ("stop" if refuses_in_words else _FINISH_REASONS[answer.ending])
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {
        "id": f"chatcmpl-{make_random_id(29)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": received.model,
        "choices": [choice],
        "usage": _build_usage(answer, received, memory),
        "service_tier": "default",
        "system_fingerprint": "fp_antiphon",
    }


def _build_citation(cite: Cite, text: str) -> dict[str, Any]:
    start, end = find_citation_span(cite, text)
    place = {"start_index": start, "end_index": end, "title": cite.title, "url": cite.url}
    return {"type": "url_citation", "url_citation": place}


def _build_usage(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    count_in, count_out = count_tokens(answer, received)
    facts = find_known_facts(SPEC.name, received.model)
    cached = count_cached(answer, memory, render_completion(received.body), facts, count_in)
    return {
        "prompt_tokens": count_in,
        "completion_tokens": count_out,
        "total_tokens": count_in + count_out,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": count_reasoning_tokens(answer, count_out),
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _build_chat_events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:
    """Return the stream of the same completion; usage is included only if the request asks for it."""
    common = {k: body[k] for k in ("id", "created", "model", "service_tier", "system_fingerprint")}
    common = {"object": "chat.completion.chunk"} | common
    wants_usage = as_object(received.body.get("stream_options")).get("include_usage") is True
    nothing = {"usage": None} if wants_usage else {}
    choice = body["choices"][0]
    stream: list[bytes] = []
    for delta in _build_deltas(choice["message"], answer.same_index):
        one = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        stream.append(format_sse_event(common | {"choices": [one]} | nothing))
    last: dict[str, Any] = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}
    stream.append(format_sse_event(common | {"choices": [last]} | nothing))
    if wants_usage:
        stream.append(format_sse_event(common | {"choices": [], "usage": body["usage"]}))
    return [*stream, b"data: [DONE]\n\n"]


def _build_deltas(message: dict[str, Any], same_index: bool) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None}
    for piece in split_text(message.get("reasoning_content", "")):
        yield {"reasoning_content": piece}
    for piece in split_text(message["content"] or ""):
        yield {"content": piece}
    for piece in split_text(message["refusal"] or ""):
        yield {"refusal": piece}
    if message["annotations"]:
        yield {"annotations": message["annotations"]}
    for number, call in enumerate(message.get("tool_calls", [])):
        index = 0 if same_index else number
        text = call["function"]["arguments"]
        yield {"tool_calls": [{"index": index} | call | {"function": call["function"] | {"arguments": ""}}]}
        for piece in split_text(text):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


FAKE_API = FakeApi(
    spec=SPEC,
    vendor=OPENAI,
    refusal=lambda received, _: find_broken_rule(received, SPEC.name),
    read_last_text=lambda body: find_last_text(body.get("messages"), "role", "user", "text"),
    read_schema=lambda body: as_object(
        as_object(as_object(body.get("response_format")).get("json_schema")).get("schema")
    ),
    reply=_build_chat_reply,
    events=_build_chat_events,
)
