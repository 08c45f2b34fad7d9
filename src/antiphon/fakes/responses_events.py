"""The events of the Responses API: every item is announced, grows, and is given once more when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon.fakes.script import Answer, Received
from antiphon.fakes.speaker import event, pieces

Named = tuple[str, dict[str, Any]]


def events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """The stream of the same response."""
    begun = body | dict.fromkeys(("completed_at", "incomplete_details", "usage"))
    begun |= {"status": "queued" if body["status"] == "queued" else "in_progress", "output": list[Any]()}
    stream: list[Named] = [("created", {"response": begun}), ("in_progress", {"response": begun})]
    for index, item in enumerate(body["output"]):
        stream.append(("output_item.added", {"item": _empty(item), "output_index": index}))
        stream += [(name, data | {"item_id": item.get("id"), "output_index": index}) for name, data in _growth(item)]
        stream.append(("output_item.done", {"item": item, "output_index": index}))
    stream.append((body["status"], {"response": body}))
    return [
        event({"type": f"response.{name}"} | data | {"sequence_number": number}, f"response.{name}")
        for number, (name, data) in enumerate(stream)
    ]


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    match item["type"]:
        case "reasoning":
            return item | {"summary": []}
        case "message":
            return item | {"status": "in_progress", "content": []}
        case "function_call":
            return item | {"status": "in_progress", "arguments": ""}
        case _:
            return item


def _growth(item: dict[str, Any]) -> Iterator[Named]:
    match item["type"]:
        case "reasoning":
            for part in item["summary"]:
                yield from _summary(part)
        case "message":
            yield from _text(item["content"][0]) if "text" in item["content"][0] else _refusal(item["content"][0])
        case "function_call":
            text = item["arguments"]
            for piece in pieces(text):
                yield "function_call_arguments.delta", {"delta": piece}
            yield "function_call_arguments.done", {"arguments": text}
        case _:
            pass


def _summary(part: dict[str, Any]) -> Iterator[Named]:
    place = {"summary_index": 0}
    yield "reasoning_summary_part.added", place | {"part": part | {"text": ""}}
    for piece in pieces(part["text"]):
        yield "reasoning_summary_text.delta", place | {"delta": piece}
    yield "reasoning_summary_text.done", place | {"text": part["text"]}
    yield "reasoning_summary_part.done", place | {"part": part}


def _text(part: dict[str, Any]) -> Iterator[Named]:
    place = {"content_index": 0}
    empty: dict[str, Any] = part | {"text": "", "annotations": list[Any]()}
    yield "content_part.added", place | {"part": empty}
    for piece in pieces(part["text"]):
        yield "output_text.delta", place | {"delta": piece, "logprobs": []}
    for number, note in enumerate(part.get("annotations", ())):
        yield "output_text.annotation.added", place | {"annotation": note, "annotation_index": number}
    yield "output_text.done", place | {"text": part["text"], "logprobs": []}
    yield "content_part.done", place | {"part": part}


def _refusal(part: dict[str, Any]) -> Iterator[Named]:
    place = {"content_index": 0}
    yield "content_part.added", place | {"part": part | {"refusal": ""}}
    for piece in pieces(part["refusal"]):
        yield "refusal.delta", place | {"delta": piece}
    yield "refusal.done", place | {"refusal": part["refusal"]}
    yield "content_part.done", place | {"part": part}
