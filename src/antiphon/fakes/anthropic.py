"""A fake of Anthropic's Messages API: signed thinking, content blocks, and stream events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object
from antiphon.fakes.anthropic_thinking import (
    ThinkingFinding,
    examine_thinking,
    is_thinking,
    is_thinking_shown,
    sign_thinking,
)
from antiphon.fakes.api_base import (
    DEFAULT_THOUGHT,
    FakeApi,
    ServerState,
    count_reasoning_tokens,
    count_tokens,
    find_broken_rule,
    find_known_facts,
    find_last_text,
    format_call_arguments,
    format_sse_event,
    has_broken_call,
    split_text,
)
from antiphon.fakes.prompt_cache import CacheUsage
from antiphon.fakes.prompt_pieces import RenderedPrompt, render_messages
from antiphon.fakes.script import Answer, Cite, Received
from antiphon.fakes.vendors import ANTHROPIC, ErrorReply, make_random_id
from antiphon.wire.anthropic import SPEC

_STOP_REASONS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause": "pause_turn",
}


def _find_anthropic_error(received: Received, memory: ServerState) -> ErrorReply | None:
    """Return the first broken rule, or the first thinking block that differs from the issued one."""
    if not received.headers.get("anthropic-version"):
        return ErrorReply("anthropic-version: header is required")
    if broken := find_broken_rule(received, SPEC.name):
        return broken
    # A16, A17 and A18.
    for finding in _check_thinking(received, memory, render_messages(received.body)):
        if finding.fault:
            return ErrorReply(f"{finding.path}: {finding.fault}")
    return None


def _check_thinking(received: Received, memory: ServerState, prompt: RenderedPrompt) -> Iterator[ThinkingFinding]:
    facts = find_known_facts(SPEC.name, received.model)
    yield from examine_thinking(received.body, prompt, facts, memory.account)


def _build_anthropic_reply(answer: Answer, received: Received, memory: ServerState) -> dict[str, Any]:
    prompt = render_messages(received.body)
    findings = [finding for finding in _check_thinking(received, memory, prompt) if finding.action]
    message_id = f"msg_01{make_random_id(22)}"
    stop = answer.stop_word or _STOP_REASONS[answer.ending]
    body: dict[str, Any] = {
        "model": received.model,
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": list(_build_content(answer, received, prompt, findings)),
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": None, "explanation": answer.refusal or None}
        | dict(answer.stop_details)
        if stop == "refusal"
        else None,
        "usage": _build_usage(answer, received, memory, prompt),
    }
    if answer.container:
        body["container"] = {"id": answer.container, "expires_at": "2099-01-01T00:00:00Z"}
    if findings:
        body["input_transformations"] = [
            {"type": finding.action, "path": finding.path, "reason": finding.reason} for finding in findings
        ]
    if received.body.get("diagnostics") is not None:
        previous = as_object(received.body["diagnostics"]).get("previous_message_id")
        body["diagnostics"] = _build_diagnostics(previous, prompt, memory)
    memory.cache.prompts[message_id] = prompt
    return body


def _build_diagnostics(previous: object, prompt: RenderedPrompt, memory: ServerState) -> dict[str, Any]:
    if previous is None:
        return {"cache_miss_reason": None}
    if str(previous) not in memory.cache.prompts:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    found = memory.cache.find_difference(str(previous), prompt)
    if found is None:
        return {"cache_miss_reason": None}
    return {"cache_miss_reason": {"type": f"{found[0]}_changed", "cache_missed_input_tokens": found[1]}}


def _build_usage(answer: Answer, received: Received, memory: ServerState, prompt: RenderedPrompt) -> dict[str, Any]:
    count_in, count_out = count_tokens(answer, received)
    moving = as_object(received.body.get("cache_control"))
    ttl = str(moving.get("ttl") or "5m") if moving else ""
    counted = memory.cache.count_marked(
        prompt, find_known_facts(SPEC.name, received.model).cache, moving=ttl, delay=answer.delay
    )
    if answer.usage is not None:
        counted = CacheUsage()
    written = sum(counted.written.values())
    return {
        "input_tokens": max(count_in - counted.read - written, 0),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": counted.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.written.get("5m", 0),
            "ephemeral_1h_input_tokens": counted.written.get("1h", 0),
        },
        "output_tokens": count_out,
        "output_tokens_details": {"thinking_tokens": count_reasoning_tokens(answer, count_out)},
        "service_tier": "standard",
        "inference_geo": "global",
    }


def _build_content(
    answer: Answer, received: Received, prompt: RenderedPrompt, findings: list[ThinkingFinding]
) -> Iterator[dict[str, Any]]:
    dropped = frozenset(finding.path for finding in findings if finding.action == "thinking_dropped")
    yield from _build_thinking(answer, received, prompt, dropped)
    yield from (dict(block) for block in answer.blocks)
    for used in answer.server_calls:
        call_id = used.id or f"srvtoolu_01{make_random_id(22)}"
        yield {"type": "server_tool_use", "id": call_id, "name": used.tool, "input": dict(used.input)}
        if used.is_done:
            sources = [
                {"type": "web_search_result", "url": each.url, "title": each.title}
                | {"encrypted_content": make_random_id(16), "page_age": None}
                for each in used.sources
            ]
            yield {"type": f"{used.tool}_tool_result", "tool_use_id": call_id, "content": sources or used.result}
    if answer.text:
        cited = {"citations": [_build_citation(each) for each in answer.citations]} if answer.citations else {}
        yield {"type": "text", "text": answer.text} | cited
    for call in answer.calls:
        given = list(call.arguments.items())
        # A complete body is parsed JSON, so truncated arguments include only the complete ones.
        if has_broken_call(answer) and call is answer.calls[-1]:
            given = given[:-1]
        yield {
            "type": "tool_use",
            "id": call.id or f"toolu_01{make_random_id(22)}",
            "name": call.name,
            "input": dict(given),
        }


def _build_thinking(
    answer: Answer, received: Received, prompt: RenderedPrompt, dropped: frozenset[str]
) -> Iterator[dict[str, Any]]:
    facts = find_known_facts(SPEC.name, received.model)
    thinks = is_thinking(received.body, facts)
    compacted = any(block.get("type") == "compaction" for block in answer.blocks)
    if thinks is False or compacted or not (thinks or answer.reasoning):
        return
    text = answer.reasoning or (DEFAULT_THOUGHT if is_thinking_shown(received.body, facts) else "")
    signature = sign_thinking(text, prompt, received.model, facts, dropped)
    yield {"type": "thinking", "thinking": text, "signature": signature}


def _build_citation(cite: Cite) -> dict[str, Any]:
    return {
        "type": "web_search_result_location",
        "url": cite.url,
        "title": cite.title or None,
        "cited_text": cite.quote,
        "encrypted_index": make_random_id(16),
    }


def _build_anthropic_events(answer: Answer, received: Received, body: dict[str, Any]) -> list[bytes]:  # noqa: ARG001
    """Return the stream events of the same message."""
    start = body | {"content": list[Any](), "stop_reason": None, "usage": body["usage"] | {"output_tokens": 1}}
    stream: list[dict[str, Any]] = [{"type": "message_start", "message": start | {"stop_details": None}}]
    texts = iter(format_call_arguments(answer))
    for index, block in enumerate(body["content"]):
        empty, deltas = _split_block(block, texts)
        stream.append({"type": "content_block_start", "index": index, "content_block": empty})
        if not index:
            stream.append({"type": "ping"})
        stream += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        stream.append({"type": "content_block_stop", "index": index})
    end = {name: body[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    end |= {"container": body["container"]} if "container" in body else {}
    counts = {k: v for k, v in body["usage"].items() if k.endswith(("_tokens", "_details"))}
    stream.append({"type": "message_delta", "delta": end, "usage": counts})
    stream.append({"type": "message_stop"})
    return [format_sse_event(data, data["type"]) for data in stream]


def _split_block(block: dict[str, Any], texts: Iterator[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block as it starts, and its deltas."""
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in split_text(block["thinking"])]
            sign = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, sign]
        case "text":
            cited = [{"type": "citations_delta", "citation": each} for each in block.get("citations", ())]
            empty: dict[str, Any] = {"type": "text", "text": ""}
            empty |= {"citations": list[Any]()} if cited else {}
            return empty, [*({"type": "text_delta", "text": t} for t in split_text(block["text"])), *cited]
        case "tool_use" | "server_tool_use":
            text = next(texts) if block["type"] == "tool_use" else dump_json(block["input"])
            parts = ["", *split_text(text)]
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
        case _:
            return block, []


FAKE_API = FakeApi(
    spec=SPEC,
    vendor=ANTHROPIC,
    refusal=_find_anthropic_error,
    read_last_text=lambda body: find_last_text(body.get("messages"), "role", "user", "text"),
    read_schema=lambda body: as_object(as_object(as_object(body.get("output_config")).get("format")).get("schema")),
    reply=_build_anthropic_reply,
    events=_build_anthropic_events,
)
