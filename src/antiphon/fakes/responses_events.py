"""Stream events of the Responses API: each item is added, grows by deltas, and is repeated when done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon.fakes.api_base import format_sse_event, split_text
from antiphon.fakes.script import Answer, Received

NamedEvent = tuple[str, dict[str, Any]]


def build_responses_events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """Return the stream events of the same response."""
    begun = body | dict.fromkeys(("completed_at", "incomplete_details", "usage"))
    begun |= {"status": "queued" if body["status"] == "queued" else "in_progress", "output": list[Any]()}
    stream: list[NamedEvent] = [("created", {"response": begun}), ("in_progress", {"response": begun})]
    for index, item in enumerate(body["output"]):
        stream.append(("output_item.added", {"item": _empty_item(item), "output_index": index}))
        stream += [
            (name, data | {"item_id": item.get("id"), "output_index": index}) for name, data in _iter_item_events(item)
        ]
        stream.append(("output_item.done", {"item": item, "output_index": index}))
    stream.append((body["status"], {"response": body}))
    return [
        format_sse_event({"type": f"response.{name}"} | data | {"sequence_number": number}, f"response.{name}")
        for number, (name, data) in enumerate(stream)
    ]


def _empty_item(item: dict[str, Any]) -> dict[str, Any]:
    match item["type"]:
        case "reasoning":
            return item | {"summary": []}
        case "message":
            return item | {"status": "in_progress", "content": []}
        case "function_call":
            return item | {"status": "in_progress", "arguments": ""}
        case _:
            return item


def _iter_item_events(item: dict[str, Any]) -> Iterator[NamedEvent]:
    match item["type"]:
        case "reasoning":
            for part in item["summary"]:
                yield from _iter_summary_events(part)
        case "message":
            yield from (
                _iter_text_events(item["content"][0])
                if "text" in item["content"][0]
                else _iter_refusal_events(item["content"][0])
            )
        case "function_call":
            text = item["arguments"]
            for piece in split_text(text):
                yield "function_call_arguments.delta", {"delta": piece}
            yield "function_call_arguments.done", {"arguments": text}
        case _:
            pass


def _iter_summary_events(part: dict[str, Any]) -> Iterator[NamedEvent]:
    place = {"summary_index": 0}
    yield "reasoning_summary_part.added", place | {"part": part | {"text": ""}}
    for piece in split_text(part["text"]):
        yield "reasoning_summary_text.delta", place | {"delta": piece}
    yield "reasoning_summary_text.done", place | {"text": part["text"]}
    yield "reasoning_summary_part.done", place | {"part": part}


def _iter_text_events(part: dict[str, Any]) -> Iterator[NamedEvent]:
    place = {"content_index": 0}
    empty: dict[str, Any] = part | {"text": "", "annotations": list[Any]()}
    yield "content_part.added", place | {"part": empty}
    for piece in split_text(part["text"]):
        yield "output_text.delta", place | {"delta": piece, "logprobs": []}
    for number, note in enumerate(part.get("annotations", ())):
        yield "output_text.annotation.added", place | {"annotation": note, "annotation_index": number}
    yield "output_text.done", place | {"text": part["text"], "logprobs": []}
    yield "content_part.done", place | {"part": part}


def _iter_refusal_events(part: dict[str, Any]) -> Iterator[NamedEvent]:
    place = {"content_index": 0}
    yield "content_part.added", place | {"part": part | {"refusal": ""}}
    for piece in split_text(part["refusal"]):
        yield "refusal.delta", place | {"delta": piece}
    yield "refusal.done", place | {"refusal": part["refusal"]}
    yield "content_part.done", place | {"part": part}
