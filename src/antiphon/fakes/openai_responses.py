"""OpenAI's Responses API: stored responses, encrypted reasoning, and a body made of items."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from antiphon._shape import arr, obj
from antiphon.fakes.errors import Refusal
from antiphon.fakes.responses_events import events
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.signing import digest, opened, seal
from antiphon.fakes.speaker import Memory, Speaker, arguments, reasoning_tokens, text_of, token, usage
from antiphon.wire.rules import check

_HEX = "0123456789abcdef"
_FERNET = "gAAAAAB"


def refusal(received: Received, memory: Memory) -> Refusal | None:
    """The first broken rule; after that, what only a server that stored something can know."""
    body = obj(received.body)
    previous = body.get("previous_response_id")
    if previous is not None and str(previous) not in memory.responses:
        text = f"Previous response with id '{previous}' not found."
        return Refusal(text, param="previous_response_id", code="previous_response_not_found")
    for violation in check(_unfolded(body, memory) if body else received.body, "openai-responses"):
        return Refusal.of(violation)
    given = [obj(item) for item in arr(body.get("input"))]
    for fault in (*_encryption_faults(given), *_storage_faults(given, body, memory)):
        return fault
    return None


def _unfolded(body: dict[str, Any], memory: Memory) -> dict[str, Any]:
    """The body with what it refers to put in its place, as the rules must see it."""
    previous = body.get("previous_response_id")
    given = [memory.items.get(str(obj(item).get("id")), item) if _is_reference(item) else item for item in _items(body)]
    if previous is None:
        return body | {"input": given} if isinstance(body.get("input"), list) else body
    whole = {k: v for k, v in body.items() if k != "previous_response_id"}
    return whole | {"input": [*memory.responses[str(previous)], *given], "store": True}


def _items(body: dict[str, Any]) -> list[Any]:
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else arr(given)


def _is_reference(item: object) -> bool:
    return obj(item).get("type") == "item_reference"


def _encryption_faults(items: list[dict[str, Any]]) -> Iterator[Refusal]:
    """R12. The seal covers the item's id too, which may be left out but not be another."""
    for item in items:
        content = item.get("encrypted_content")
        if item.get("type") != "reasoning" or not isinstance(content, str):
            continue
        digests = opened("reasoning", content.removeprefix(_FERNET)) if content.startswith(_FERNET) else None
        if digests is None or (item.get("id") and digests[0] != digest(item["id"])):
            text = f"The encrypted content {content[:4]}...{content[-4:]} could not be verified."
            yield Refusal(text, code="invalid_encrypted_content")


def _storage_faults(items: list[dict[str, Any]], body: dict[str, Any], memory: Memory) -> Iterator[Refusal]:
    """R4 and R11 with the knowledge of what was stored."""
    ids = {str(item.get("id")) for item in items}
    for item in items:
        item_id = str(item.get("id") or "")
        bare = _is_reference(item) or (item.get("type") == "reasoning" and not item.get("encrypted_content"))
        if bare and item_id and item_id not in memory.items:
            yield Refusal(f"Item with id '{item_id}' not found.", param="input")
        needed = memory.reasoning_of.get(item_id)
        if needed and needed not in ids and body.get("previous_response_id") is None and not _is_reference(item):
            kind = " of type 'function_call'" if item.get("type") == "function_call" else ""
            text = f"Item '{item_id}'{kind} was provided without its required 'reasoning' item: '{needed}'."
            yield Refusal(text, param="input")


def last_text(body: dict[str, Any]) -> str:
    """The text of the last message in which the user said something."""
    messages = [obj(item) for item in _items(body)]
    texts = [
        text_of(message.get("content"), "input_text", "text") for message in messages if message.get("role") == "user"
    ]
    return next((text for text in reversed(texts) if text), "")


def reply(answer: Answer, received: Received, memory: Memory) -> dict[str, Any]:
    """The response. It is stored, unless the request says no, and can then be continued by its id."""
    body = obj(received.body)
    # The ids of one response begin alike, as the real ones do.
    family = token(32, _HEX)
    output = list(_output(answer, body, family))
    incomplete = {"length": "max_output_tokens", "refusal": "content_filter"}.get(answer.ending)
    if incomplete and output:
        output[-1] |= {"status": "incomplete"}
    response = _frame(body, received.model) | {
        "id": f"resp_{family}{token(18, _HEX)}",
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "output": output,
        "usage": _usage(answer, received),
    }
    if body.get("store") is not False:
        _remember(response, body, memory)
    return response


def _remember(response: dict[str, Any], body: dict[str, Any], memory: Memory) -> None:
    memory.responses[response["id"]] = [*_items(_unfolded(body, memory)), *response["output"]]
    memory.items |= {item["id"]: item for item in response["output"]}
    for first, second in zip(response["output"], response["output"][1:], strict=False):
        if first["type"] == "reasoning":
            memory.reasoning_of[second["id"]] = first["id"]


def _output(answer: Answer, body: dict[str, Any], family: str) -> Iterator[dict[str, Any]]:
    if answer.reasoning:
        item_id = f"rs_{family}{token(18, _HEX)}"
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        item: dict[str, Any] = {"id": item_id, "type": "reasoning", "content": [], "summary": summary}
        if "reasoning.encrypted_content" in arr(body.get("include")):
            item["encrypted_content"] = _FERNET + seal("reasoning", item_id, answer.reasoning)
        yield item
    if answer.text:
        part: dict[str, Any] = {"type": "output_text", "annotations": [], "logprobs": [], "text": answer.text}
        yield {
            "id": f"msg_{family}{token(18, _HEX)}",
            "type": "message",
            "status": "completed",
            "content": [part],
            "role": "assistant",
        }
    for call, text in zip(answer.calls, arguments(answer), strict=True):
        yield {
            "id": f"fc_{family}{token(18, _HEX)}",
            "type": "function_call",
            "status": "completed",
            "arguments": text,
            "call_id": call.id or f"call_{token(24)}",
            "name": call.name,
        }


def _frame(body: dict[str, Any], model: str) -> dict[str, Any]:
    now = int(time.time())
    return {
        "id": "",
        "object": "response",
        "created_at": now,
        "status": "completed",
        "background": False,
        "completed_at": now,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": model,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None} | obj(body.get("reasoning")),
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}} | obj(body.get("text")),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": arr(body.get("tools")),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": obj(body.get("metadata")),
    }


def _usage(answer: Answer, received: Received) -> dict[str, Any]:
    count_in, count_out = usage(answer, received)
    return {
        "input_tokens": count_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": count_out,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens(answer, count_out)},
        "total_tokens": count_in + count_out,
    }


SPEAKER = Speaker(refusal, last_text, reply, events)
