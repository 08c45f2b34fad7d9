"""OpenAI's Responses API: stored responses, encrypted reasoning, and a body made of items."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from antiphon._shape import arr, obj
from antiphon.facts import Facts
from antiphon.fakes.errors import Refusal
from antiphon.fakes.prompts import Prompt, render_response
from antiphon.fakes.responses_events import events
from antiphon.fakes.responses_items import Made, find_removed, is_issued, make_output
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.speaker import Memory, Speaker, known_facts, reasoning_tokens, text_of, token, usage
from antiphon.wire.rules import check

_HEX = "0123456789abcdef"
#: Words of a status; any other is the reason why a response is not complete.
_STATES = ("failed", "cancelled", "queued", "in_progress")


def refusal(received: Received, memory: Memory) -> Refusal | None:
    """The first broken rule; after that, what only a server that stored something can know."""
    body = obj(received.body)
    previous = body.get("previous_response_id")
    if previous is not None and str(previous) not in memory.responses:
        text = f"Previous response with id '{previous}' not found."
        return Refusal(text, param="previous_response_id", code="previous_response_not_found")
    unfolded = _unfolded(body, memory) if body else received.body
    for violation in check(unfolded, "openai-responses", headers=received.headers):
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
        if not is_issued(item):
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
    """Return the response. It is stored, unless the request says no, and can then be continued by its id."""
    body = obj(received.body)
    prompt = render_response(body, _items(_unfolded(body, memory)))
    facts = known_facts("openai-responses", received.model)
    # The ids of one response begin alike, as the real ones do.
    family = token(32, _HEX)
    removed = list(find_removed(prompt, received.model, facts))
    output = list(make_output(Made(answer, body, family, prompt, received.model, facts)))
    status, reason = _state(answer)
    if reason and output and "status" in output[-1]:
        output[-1] |= {"status": "incomplete"}
    response_id = f"resp_{family}{token(18, _HEX)}"
    response: dict[str, Any] = _frame(body, received.model) | {
        "id": response_id,
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "error": {"code": "server_error", "message": answer.text} | dict(answer.stop_details)
        if status == "failed"
        else None,
        "output": output if status != "failed" else [],
        "usage": _usage(answer, received, memory, prompt, facts),
    }
    if removed:
        response["input_transformations"] = removed
    compared = obj(body.get("prompt_cache_options")).get("comparison_response_id")
    if compared is not None:
        response["prompt_cache_diagnostics"] = _diagnosis(str(compared), prompt, memory)
    memory.cache.prompts[response_id] = prompt
    if body.get("store") is not False:
        _remember(response, body, memory)
    return _begin_in_background(response, memory) if body.get("background") is True else response


def _state(answer: Answer) -> tuple[str, str]:
    """Return the status of a response, and why it is not complete."""
    word = answer.stop_word
    if word in _STATES:
        return word, ""
    if answer.refusal and answer.stop is None and not word:
        return "completed", ""
    reason = word or {"length": "max_output_tokens", "refusal": "content_filter"}.get(answer.ending, "")
    return ("incomplete", reason) if reason else ("completed", "")


def _begin_in_background(response: dict[str, Any], memory: Memory) -> dict[str, Any]:
    """Return a response as it is when it is taken on; it is asked for until it is there."""
    empty: dict[str, Any] = {"background": True, "output": [], "usage": None, "completed_at": None}
    empty |= {"incomplete_details": None, "error": None}
    begun = response | empty
    done = response | {"background": True}
    memory.background[response["id"]] = [begun | {"status": "in_progress"}, done]
    return begun | {"status": "queued"}


def poll_response(response_id: str, memory: Memory) -> dict[str, Any] | None:
    """Return a response that was taken on, one step further than the last time; nothing where there is none."""
    states = memory.background.get(response_id)
    if not states:
        return None
    return states.pop(0) if len(states) > 1 else states[0]


def cancel_response(response_id: str, memory: Memory) -> dict[str, Any] | None:
    """Stop a response that was taken on, and return it."""
    states = memory.background.get(response_id)
    if not states:
        return None
    if len(states) > 1:
        memory.background[response_id] = states = [states[0] | {"status": "cancelled"}]
    return states[0]


def _diagnosis(compared: str, prompt: Prompt, memory: Memory) -> dict[str, Any]:
    if compared not in memory.cache.prompts:
        return {"type": "comparison_response_not_found"}
    found = memory.cache.find_difference(compared, prompt)
    if found is None:
        return {"type": "cache_hit"}
    name = "input" if found[0] in ("messages", "instructions") else found[0]
    return {"type": "cache_miss", "reason": f"{name}_changed", "cache_missed_tokens": found[1]}


def _remember(response: dict[str, Any], body: dict[str, Any], memory: Memory) -> None:
    memory.responses[response["id"]] = [*_items(_unfolded(body, memory)), *response["output"]]
    memory.items |= {item["id"]: item for item in response["output"] if "id" in item}
    for first, second in pairwise(response["output"]):
        if first["type"] == "reasoning" and "id" in second:
            memory.reasoning_of[second["id"]] = first["id"]


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


def _usage(answer: Answer, received: Received, memory: Memory, prompt: Prompt, facts: Facts) -> dict[str, Any]:
    count_in, count_out = usage(answer, received)
    counted = memory.cache.count_automatic(prompt, facts.cache, delay=answer.delay)
    cached = 0 if answer.usage is not None else min(counted.read, count_in)
    return {
        "input_tokens": count_in,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": count_out,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens(answer, count_out)},
        "total_tokens": count_in + count_out,
    }


SPEAKER = Speaker(refusal, last_text, reply, events)
