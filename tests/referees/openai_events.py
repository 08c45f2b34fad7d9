"""Streams of OpenAI's two APIs, made from whole replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Events = Iterator[tuple[str, Mapping[str, Any] | str]]


def stream_response(response: Mapping[str, Any]) -> Events:
    """Yield the events of a response, numbered."""
    for number, event in enumerate(_list_events(response)):
        yield event["type"], {**event, "sequence_number": number}


def _list_events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    start = {
        **response,
        "status": "in_progress",
        "output": [],
        "incomplete_details": None,
        "error": None,
        "usage": None,
    }
    yield {"type": "response.created", "response": start}
    yield {"type": "response.in_progress", "response": start}
    for at, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": at, "item": _empty(item)}
        yield from _list_deltas(at, item)
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    names = {"incomplete": "response.incomplete", "failed": "response.failed"}
    yield {"type": names.get(response["status"], "response.completed"), "response": response}


def _empty(item: Mapping[str, Any]) -> dict[str, Any]:
    if item["type"] == "message":
        return {**item, "status": "in_progress", "content": []}
    if item["type"] == "function_call":
        return {**item, "status": "in_progress", "arguments": ""}
    return dict(item)


def _list_deltas(at: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    base = {"output_index": at, "item_id": item["id"]}
    if item["type"] == "function_call":
        text = item["arguments"]
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            yield {"type": "response.function_call_arguments.delta", **base, "delta": piece}
        yield {"type": "response.function_call_arguments.done", **base, "arguments": text, "name": item["name"]}
    for number, part in enumerate(item.get("content") or ()):
        where = {**base, "content_index": number}
        if part["type"] == "refusal":
            yield {"type": "response.content_part.added", **where, "part": {**part, "refusal": ""}}
            yield {"type": "response.refusal.delta", **where, "delta": part["refusal"]}
            yield {"type": "response.refusal.done", **where, "refusal": part["refusal"]}
        else:
            text = part["text"]
            yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
            for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield {"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **where, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **where, "part": part}


def stream_chat(completion: Mapping[str, Any], with_usage: bool) -> Events:
    """Yield the chunks of a completion."""
    choice = completion["choices"][0]
    message = choice["message"]
    base = {**completion, "object": "chat.completion.chunk", "usage": None}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> tuple[str, Mapping[str, Any]]:
        return "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    text = message["content"] or ""
    for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
        if piece:
            yield chunk({"content": piece})
    if message.get("refusal"):
        yield chunk({"refusal": message["refusal"]})
    for at, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        yield chunk({"tool_calls": [{**call, "index": at, "function": {**call["function"], "arguments": ""}}]})
        for piece in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if with_usage:
        yield "", {**base, "choices": [], "usage": completion["usage"]}
    yield "", "[DONE]"
