"""Output items of a response and their stream events: encrypted reasoning, messages and calls.

In a stream each item is added, grows by deltas, and is repeated when done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from antiphon._base.json_access import as_object
from antiphon.facts import Facts
from antiphon.fakes.api_base import find_citation_span, format_call_arguments, format_sse_event, split_text
from antiphon.fakes.prompt_pieces import RenderedPrompt
from antiphon.fakes.script import Answer, Cite, Received, ServerCall
from antiphon.fakes.signatures import hash_json, sign_values, verify_token
from antiphon.fakes.vendors import make_random_id

NamedEvent = tuple[str, dict[str, Any]]

_HEX = "0123456789abcdef"
_FERNET_PREFIX = "gAAAAAB"
_SEAL_PURPOSE = "reasoning"
#: The parts before the messages that reasoning is bound to.
_BOUND_HEADS = ("tools", "instructions")


@dataclass(frozen=True, slots=True)
class OutputContext:
    """The inputs from which the items of a response are built."""

    answer: Answer
    body: dict[str, Any]
    family: str
    prompt: RenderedPrompt
    model: str
    facts: Facts

    def make_id(self, prefix: str) -> str:
        """Return an id of this response."""
        return f"{prefix}_{self.family}{make_random_id(18, _HEX)}"


def build_output_items(made: OutputContext) -> Iterator[dict[str, Any]]:
    """Yield the items of a response."""
    answer = made.answer
    if _has_reasoning(made):
        yield _build_reasoning(made)
    yield from (dict(block) for block in answer.blocks)
    for used in answer.server_calls:
        yield _build_server_item(used, made)
    if answer.text or answer.refusal:
        yield _build_message(made)
    for call, text in zip(answer.calls, format_call_arguments(answer), strict=True):
        yield {
            "id": made.make_id("fc"),
            "type": "function_call",
            "status": "completed",
            "arguments": text,
            "call_id": call.id or f"call_{make_random_id(24)}",
            "name": call.name,
        }


def _has_reasoning(made: OutputContext) -> bool:
    effort = as_object(made.body.get("reasoning")).get("effort")
    if effort == "none":
        return False
    if made.answer.reasoning:
        return True
    says = made.answer.text or made.answer.calls or made.answer.refusal
    return bool(says and made.facts.efforts and (effort or made.facts.effort_default) not in (None, "none"))


def _build_reasoning(made: OutputContext) -> dict[str, Any]:
    item_id = made.make_id("rs")
    text = made.answer.reasoning
    before = hashlib.sha256(b"".join(piece.key for piece in made.prompt.messages if piece.kind != "reasoning"))
    owner, heads = made.facts.name or made.model, _join_heads(made.prompt)
    sealed = sign_values(_SEAL_PURPOSE, item_id, owner, heads, before.hexdigest())
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {
        "id": item_id,
        "type": "reasoning",
        "content": [],
        "summary": summary,
        "encrypted_content": _FERNET_PREFIX + sealed,
    }


def _build_message(made: OutputContext) -> dict[str, Any]:
    answer = made.answer
    part: dict[str, Any] = {"type": "refusal", "refusal": answer.refusal}
    if not answer.refusal:
        notes = [_build_citation(each, answer.text) for each in answer.citations]
        part = {"type": "output_text", "annotations": notes, "logprobs": [], "text": answer.text}
    return {
        "id": made.make_id("msg"),
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }


def _build_citation(cite: Cite, text: str) -> dict[str, Any]:
    start, end = find_citation_span(cite, text)
    return {"type": "url_citation", "url": cite.url, "title": cite.title, "start_index": start, "end_index": end}


def _build_server_item(used: ServerCall, made: OutputContext) -> dict[str, Any]:
    """Return the call of a server tool. The API has one item for the call and its result."""
    state = "completed" if used.is_done else "in_progress"
    if used.tool == "web_search":
        item_id = used.id or made.make_id("ws")
        sources = [{"type": "url", "url": each.url} for each in used.sources]
        action: dict[str, Any] = {"type": "search", "query": "", "sources": sources} | dict(used.input)
        return {"id": item_id, "type": "web_search_call", "status": state, "action": action}
    item_id = used.id or made.make_id("ci")
    return {"id": item_id, "type": f"{used.tool}_call", "status": state, **used.input, "results": used.result}


def is_issued_reasoning(item: dict[str, Any]) -> bool:
    """Return whether encrypted reasoning was issued by this server. Its id may be omitted but not changed."""
    sealed = _open_seal(item)
    return sealed is not None and (not item.get("id") or sealed[0] == hash_json(item["id"]))


def _open_seal(item: dict[str, Any]) -> list[bytes] | None:
    content = item.get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(_FERNET_PREFIX):
        return None
    return verify_token(_SEAL_PURPOSE, content.removeprefix(_FERNET_PREFIX))


def find_unreadable_reasoning(prompt: RenderedPrompt, model: str, facts: Facts) -> Iterator[dict[str, Any]]:
    """Yield the reasoning of a prompt that the model cannot read, as entries of `input_transformations`."""
    if facts.bound_thinking != "drops":
        return
    running = hashlib.sha256()
    for piece in prompt.messages:
        sealed = _open_seal(piece.data) if piece.kind == "reasoning" else None
        if piece.kind != "reasoning":
            running.update(piece.key)
        elif sealed is not None:
            _, maker, head, prefix = sealed
            same_prompt = head == hash_json(_join_heads(prompt)) and prefix == hash_json(running.hexdigest())
            same_model = maker == hash_json(facts.name or model)
            if not (same_model and same_prompt):
                reason = "prefix_mismatch" if same_model else "model_mismatch"
                yield {"id": piece.data.get("id"), "action": "removed", "reason": reason}


def _join_heads(prompt: RenderedPrompt) -> str:
    return "".join(prompt.heads[name].hex() for name in _BOUND_HEADS)


# Stream events


def build_responses_events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """Return the stream events of the same response."""
    begun = body | dict.fromkeys(("completed_at", "incomplete_details", "usage"))
    begun |= {"status": "queued" if body["status"] == "queued" else "in_progress", "output": list[Any]()}
    stream: list[NamedEvent] = [("created", {"response": begun}), ("in_progress", {"response": begun})]
    empty: dict[str, dict[str, Any]] = {
        "reasoning": {"summary": []},
        "message": {"status": "in_progress", "content": []},
        "function_call": {"status": "in_progress", "arguments": ""},
    }
    for index, item in enumerate(body["output"]):
        stream.append(("output_item.added", {"item": item | empty.get(item["type"], {}), "output_index": index}))
        stream += [
            (name, data | {"item_id": item.get("id"), "output_index": index}) for name, data in _iter_item_events(item)
        ]
        stream.append(("output_item.done", {"item": item, "output_index": index}))
    stream.append((body["status"], {"response": body}))
    return [
        format_sse_event({"type": f"response.{name}"} | data | {"sequence_number": number}, f"response.{name}")
        for number, (name, data) in enumerate(stream)
    ]


def _iter_item_events(item: dict[str, Any]) -> Iterator[NamedEvent]:
    match item["type"]:
        case "reasoning":
            for part in item["summary"]:
                yield from _iter_summary_events(part)
        case "message":
            yield from _iter_content_events(item["content"][0])
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


def _iter_content_events(part: dict[str, Any]) -> Iterator[NamedEvent]:
    place = {"content_index": 0}
    if "text" not in part:
        yield "content_part.added", place | {"part": part | {"refusal": ""}}
        for piece in split_text(part["refusal"]):
            yield "refusal.delta", place | {"delta": piece}
        yield "refusal.done", place | {"refusal": part["refusal"]}
    else:
        empty: dict[str, Any] = part | {"text": "", "annotations": list[Any]()}
        yield "content_part.added", place | {"part": empty}
        for piece in split_text(part["text"]):
            yield "output_text.delta", place | {"delta": piece, "logprobs": []}
        for number, note in enumerate(part.get("annotations", ())):
            yield "output_text.annotation.added", place | {"annotation": note, "annotation_index": number}
        yield "output_text.done", place | {"text": part["text"], "logprobs": []}
    yield "content_part.done", place | {"part": part}
