"""A fake of OpenAI's Responses API: stored responses, encrypted reasoning, and output items."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from antiphon._base.json_access import as_array, as_object
from antiphon.facts import Facts
from antiphon.fakes.api_base import (
    FakeApi,
    ServerState,
    count_cached,
    count_reasoning_tokens,
    count_tokens,
    find_broken_rule,
    find_known_facts,
    find_last_text,
)
from antiphon.fakes.prompt_pieces import RenderedPrompt, render_response
from antiphon.fakes.responses_items import (
    OutputContext,
    build_output_items,
    build_responses_events,
    find_unreadable_reasoning,
    is_issued_reasoning,
)
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.vendors import OPENAI, ErrorReply, make_random_id
from antiphon.wire.openai_responses import SPEC

_HEX = "0123456789abcdef"
#: Stop words that are statuses; any other is the reason why a response is incomplete.
_STATUS_WORDS = ("failed", "cancelled", "queued", "in_progress")


def _find_responses_error(received: Received, memory: ServerState) -> ErrorReply | None:
    """Return the first broken rule, or an error that only a server with stored responses can detect."""
    body = as_object(received.body)
    previous = body.get("previous_response_id")
    if previous is not None and str(previous) not in memory.responses:
        text = f"Previous response with id '{previous}' not found."
        return ErrorReply(text, param="previous_response_id", code="previous_response_not_found")
    unfolded = _resolve_references(body, memory) if body else received.body
    if broken := find_broken_rule(received, SPEC.name, unfolded):
        return broken
    given = [as_object(item) for item in as_array(body.get("input"))]
    for item in given:
        content = item.get("encrypted_content")
        # R12: the seal covers the item's id, which may be omitted but not changed.
        if item.get("type") == "reasoning" and isinstance(content, str) and not is_issued_reasoning(item):
            text = f"The encrypted content {content[:4]}...{content[-4:]} could not be verified."
            return ErrorReply(text, code="invalid_encrypted_content")
    return next(_check_stored_items(given, body, memory), None)


def _resolve_references(body: dict[str, Any], memory: ServerState) -> dict[str, Any]:
    """Return the body with references replaced by the stored items, for the rules."""
    previous = body.get("previous_response_id")
    given = [
        memory.items.get(str(as_object(item).get("id")), item) if _is_reference(item) else item
        for item in _input_items(body)
    ]
    if previous is None:
        return body | {"input": given} if isinstance(body.get("input"), list) else body
    whole = {k: v for k, v in body.items() if k != "previous_response_id"}
    return whole | {"input": [*memory.responses[str(previous)], *given], "store": True}


def _input_items(body: dict[str, Any]) -> list[Any]:
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else as_array(given)


def _is_reference(item: object) -> bool:
    return as_object(item).get("type") == "item_reference"


def _check_stored_items(items: list[dict[str, Any]], body: dict[str, Any], memory: ServerState) -> Iterator[ErrorReply]:
    """Yield violations of R4 and R11 that depend on stored items."""
    ids = {str(item.get("id")) for item in items}
    for item in items:
        item_id = str(item.get("id") or "")
        bare = _is_reference(item) or (item.get("type") == "reasoning" and not item.get("encrypted_content"))
        if bare and item_id and item_id not in memory.items:
            yield ErrorReply(f"Item with id '{item_id}' not found.", param="input")
        needed = memory.reasoning_by_item.get(item_id)
        if needed and needed not in ids and body.get("previous_response_id") is None and not _is_reference(item):
            kind = " of type 'function_call'" if item.get("type") == "function_call" else ""
            text = f"Item '{item_id}'{kind} was provided without its required 'reasoning' item: '{needed}'."
            yield ErrorReply(text, param="input")


def _build_responses_reply(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    """Return the response. It is stored unless the request disables that, and can then be continued by its
    id.
    """
    body = as_object(received.body)
    prompt = render_response(body, _input_items(_resolve_references(body, memory)))
    facts = find_known_facts(SPEC.name, received.model)
    # The ids of one response begin alike, as the real ones do.
    family = make_random_id(32, _HEX)
    removed = list(find_unreadable_reasoning(prompt, received.model, facts))
    output = list(build_output_items(OutputContext(answer, body, family, prompt, received.model, facts)))
    status, reason = _response_status(answer)
    if reason and output and "status" in output[-1]:
        output[-1] |= {"status": "incomplete"}
    response_id = f"resp_{family}{make_random_id(18, _HEX)}"
    response: dict[str, Any] = _build_frame(body, received.model) | {
        "id": response_id,
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "error": {"code": "server_error", "message": answer.text} | dict(answer.stop_details)
        if status == "failed"
        else None,
        "output": output if status != "failed" else [],
        "usage": _build_usage(answer, received, memory, prompt, facts),
    }
    if removed:
        response["input_transformations"] = removed
    compared = as_object(body.get("prompt_cache_options")).get("comparison_response_id")
    if compared is not None:
        response["prompt_cache_diagnostics"] = _build_cache_diagnostics(str(compared), prompt, memory)
    memory.cache.prompts[response_id] = prompt
    if body.get("store") is not False:
        memory.responses[response_id] = [*_input_items(_resolve_references(body, memory)), *response["output"]]
        memory.items |= {item["id"]: item for item in response["output"] if "id" in item}
        for first, second in pairwise(response["output"]):
            if first["type"] == "reasoning" and "id" in second:
                memory.reasoning_by_item[second["id"]] = first["id"]
    return _queue_in_background(response, memory) if body.get("background") is True else response


def _response_status(answer: Answer) -> tuple[str, str]:
    """Return the status of a response, and why it is incomplete."""
    word = answer.stop_word
    if word in _STATUS_WORDS:
        return word, ""
    if answer.refusal and answer.stop is None and not word:
        return "completed", ""
    reason = word or {"length": "max_output_tokens", "refusal": "content_filter"}.get(answer.ending, "")
    return ("incomplete", reason) if reason else ("completed", "")


def _queue_in_background(response: dict[str, Any], memory: ServerState) -> dict[str, Any]:
    """Return a queued response; clients poll it until it is complete."""
    empty: dict[str, Any] = {"background": True, "output": [], "usage": None, "completed_at": None}
    empty |= {"incomplete_details": None, "error": None}
    begun = response | empty
    done = response | {"background": True}
    memory.background[response["id"]] = [begun | {"status": "in_progress"}, done]
    return begun | {"status": "queued"}


def poll_response(response_id: str, memory: ServerState) -> dict[str, Any] | None:
    """Return the next state of a background response; `None` if there is no such response."""
    states = memory.background.get(response_id)
    if not states:
        return None
    return states.pop(0) if len(states) > 1 else states[0]


def cancel_response(response_id: str, memory: ServerState) -> dict[str, Any] | None:
    """Cancel a background response and return it."""
    states = memory.background.get(response_id)
    if not states:
        return None
    if len(states) > 1:
        memory.background[response_id] = states = [states[0] | {"status": "cancelled"}]
    return states[0]


def _build_cache_diagnostics(compared: str, prompt: RenderedPrompt, memory: ServerState) -> dict[str, Any]:
    if compared not in memory.cache.prompts:
        return {"type": "comparison_response_not_found"}
    found = memory.cache.find_difference(compared, prompt)
    if found is None:
        return {"type": "cache_hit"}
    name = "input" if found[0] in ("messages", "instructions") else found[0]
    return {"type": "cache_miss", "reason": f"{name}_changed", "cache_missed_tokens": found[1]}


def _build_frame(body: dict[str, Any], model: str) -> dict[str, Any]:
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
        "reasoning": {"effort": None, "summary": None} | as_object(body.get("reasoning")),
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}} | as_object(body.get("text")),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": as_array(body.get("tools")),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": as_object(body.get("metadata")),
    }


def _build_usage(
    answer: Answer, received: Received, memory: ServerState, prompt: RenderedPrompt, facts: Facts
) -> dict[str, Any]:
    count_in, count_out = count_tokens(answer, received)
    return {
        "input_tokens": count_in,
        "input_tokens_details": {"cached_tokens": count_cached(answer, memory, prompt, facts, count_in)},
        "output_tokens": count_out,
        "output_tokens_details": {"reasoning_tokens": count_reasoning_tokens(answer, count_out)},
        "total_tokens": count_in + count_out,
    }


def _read_schema(body: dict[str, Any]) -> dict[str, Any]:
    updates = [
        each for each in map(as_object, as_array(body.get("input"))) if each.get("type") == "configuration_update"
    ]
    texts = [as_object(body.get("text")), *[as_object(each["text"]) for each in updates if "text" in each]]
    return as_object(as_object(texts[-1].get("format")).get("schema"))


FAKE_API = FakeApi(
    spec=SPEC,
    vendor=OPENAI,
    refusal=_find_responses_error,
    read_last_text=lambda body: find_last_text(_input_items(body), "role", "user", "input_text", "text"),
    read_schema=_read_schema,
    reply=_build_responses_reply,
    events=build_responses_events,
    stored={("GET", "/{id}"): poll_response, ("POST", "/{id}/cancel"): cancel_response},
)
