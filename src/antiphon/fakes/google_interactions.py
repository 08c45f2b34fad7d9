"""A fake of Google's Interactions API: steps, signed thoughts, and stream events."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object
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
    has_broken_call,
    split_text,
)
from antiphon.fakes.prompt_pieces import build_prompt
from antiphon.fakes.script import Answer, Received
from antiphon.fakes.signatures import sign_values, verify_token
from antiphon.fakes.vendors import GOOGLE, ErrorReply, make_random_id
from antiphon.wire.google_interactions import SPEC

_STATUSES = {"length": "incomplete", "refusal": "incomplete", "tool_calls": "requires_action"}
_SERVER_TOOLS = {"web_search": "google_search", "web_fetch": "url_context"}


def _find_error(received: Received, memory: ServerState) -> ErrorReply | None:  # noqa: ARG001
    """Return the first broken rule, or the error for a signature that this server did not issue."""
    if broken := find_broken_rule(received, SPEC.name):
        return broken
    for step in map(as_object, as_array(received.body.get("input"))):
        if (
            step.get("type") == "thought"
            and step.get("signature")
            and verify_token("thought", step["signature"]) is None
        ):
            return ErrorReply("Thought signature is not valid")
    return None


def _read_last_text(body: dict[str, Any]) -> str:
    given = body.get("input")
    return given if isinstance(given, str) else find_last_text(given, "type", "user_input", "text")


def _build_reply(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    return {
        "id": f"v1_{make_random_id(24)}",
        "object": "interaction",
        "status": answer.stop_word or _STATUSES.get(answer.ending, "completed"),
        "model": received.model,
        "created": "2026-11-19T00:00:00Z",
        "steps": list(_build_steps(answer)),
        "usage": _build_usage(answer, received, memory),
    }


def _build_steps(answer: Answer) -> Iterator[dict[str, Any]]:
    if answer.reasoning:
        summary = [{"type": "text", "text": answer.reasoning}]
        yield {"type": "thought", "signature": sign_values("thought", make_random_id(8)), "summary": summary}
    yield from (dict(block) for block in answer.blocks)
    for used in answer.server_calls:
        call_id, tool = used.id or make_random_id(8), _SERVER_TOOLS.get(used.tool, used.tool)
        yield {"type": f"{tool}_call", "id": call_id, "arguments": dict(used.input)}
        if used.is_done:
            found = [{"url": each.url, "title": each.title} for each in used.sources]
            yield {"type": f"{tool}_result", "call_id": call_id, "result": found or used.result}
    if answer.text or answer.refusal:
        text = answer.text or answer.refusal
        notes: list[dict[str, Any]] = []
        for cite in answer.citations:
            # Google counts bytes.
            start, end = (len(text[:at].encode()) for at in find_citation_span(cite, text))
            place = {"start_index": start, "end_index": end}
            notes.append({"type": "url_citation", "url": cite.url, "title": cite.title, **place})
        yield {
            "type": "model_output",
            "content": [{"type": "text", "text": text} | ({"annotations": notes} if notes else {})],
        }
    texts = format_call_arguments(answer)
    for number, call in enumerate(answer.calls):
        is_broken = has_broken_call(answer) and number == len(answer.calls) - 1
        yield {
            "type": "function_call",
            "id": call.id or make_random_id(8, "abcdefghijklmnopqrstuvwxyz0123456789"),
            "name": call.name,
            "arguments": texts[number] if is_broken else dict(call.arguments),
        }


def _build_usage(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    count_in, count_out = count_tokens(answer, received)
    facts = find_known_facts(SPEC.name, received.model)
    front = {name: received.body.get(name) for name in ("tools", "system_instruction", "response_format")}
    prompt = build_prompt(received.model, front, as_array(received.body.get("input")))
    thoughts = count_reasoning_tokens(answer, count_out)
    return {
        "total_input_tokens": count_in,
        "total_cached_tokens": count_cached(answer, memory, prompt, facts, count_in),
        "total_output_tokens": count_out - thoughts,
        "total_thought_tokens": thoughts,
        "total_tokens": count_in + count_out,
    }


def _build_events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """Return the events of the same interaction: each step begins, grows and stops."""
    head = {name: value for name, value in body.items() if name not in ("steps", "usage")} | {"status": "in_progress"}
    events: list[dict[str, Any]] = [{"event_type": "interaction.created", "interaction": head}]
    for index, step in enumerate(body["steps"]):
        start, deltas = _split_step(step)
        events.append({"event_type": "step.start", "index": index, "step": start})
        events += [{"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"event_type": "step.stop", "index": index})
    ending = {name: value for name, value in body.items() if name != "steps"}
    events.append({"event_type": "interaction.completed", "interaction": ending})
    return [format_sse_event(event, event["event_type"]) for event in events]


def _split_step(step: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match step["type"]:
        case "model_output":
            block = step["content"][0]
            deltas: list[dict[str, Any]] = [{"type": "text", "text": piece} for piece in split_text(block["text"])]
            notes = block.get("annotations")
            return {"type": "model_output"}, [
                *deltas,
                *([{"type": "text_annotation_delta", "annotations": notes}] if notes else []),
            ]
        case "thought":
            pieces = [{"type": "thought_summary", "content": block} for block in step["summary"]]
            return {"type": "thought"}, [*pieces, {"type": "thought_signature", "signature": step["signature"]}]
        case "function_call":
            given = step["arguments"]
            text = given if isinstance(given, str) else dump_json(given)
            return step | {"arguments": {}}, [
                {"type": "arguments_delta", "arguments": piece} for piece in split_text(text)
            ]
        case _:
            return step, []


def _format_error(refusal: ErrorReply, request_id: str) -> dict[str, Any]:
    """Return the body of an error, in which the code is a word and no number."""
    error: dict[str, Any] = GOOGLE.format_error(refusal, request_id)["error"]
    return {"error": {"code": error.pop("status"), **{k: v for k, v in error.items() if k != "code"}}}


FAKE_API = FakeApi(
    spec=SPEC,
    vendor=dataclasses.replace(GOOGLE, format_error=_format_error),
    refusal=_find_error,
    read_last_text=_read_last_text,
    read_schema=lambda body: as_object(as_object(body.get("response_format")).get("schema")),
    reply=_build_reply,
    events=_build_events,
)
