"""Decoder of complete answers of OpenAI's Responses API."""

from __future__ import annotations

from typing import Any, cast

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import AssistantPart, OpaquePart, Origin, ProviderPayload, Reasoning, Text, ToolCall
from antiphon.errors import BadReply, RateLimited, RequestRejected, ServerFailed, StatusError
from antiphon.wire.context_overflow import make_overflow_error
from antiphon.wire.json_shape import as_integers, extract_detail, require_object
from antiphon.wire.names_and_ids import is_universally_legal
from antiphon.wire.openai_responses.client_calls import is_client_call, read_client_call
from antiphon.wire.openai_responses.item_rules import API, get_client_call_id, get_item_type
from antiphon.wire.openai_responses.server_tools import is_server_item, read_responses_citations, read_server_item
from antiphon.wire.quota import make_quota_error
from antiphon.wire.reply import ProviderErrorInfo, Reply, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.stop_reasons import make_unknown_stop, map_stop_reason

_RATE_LIMITS = ("rate_limit_exceeded", "rate_limit_error")
_SERVER_FAULTS = ("", "server_error", "internal_error", "server_is_overloaded", "vector_store_timeout")
#: The fields of a response that `Reply` has fields for, and those that repeat the request.
_DECODED_FIELDS = frozenset(
    {"id", "object", "model", "output", "status", "incomplete_details", "usage", "error", "service_tier", "created_at"}
    | {"input_transformations", "prompt_cache_diagnostics", "completed_at", "instructions", "tools", "tool_choice"}
    | {"parallel_tool_calls", "temperature", "top_p", "max_output_tokens", "max_tool_calls", "reasoning", "text"}
    | {"truncation", "store", "background", "metadata", "previous_response_id", "prompt", "prompt_cache_key", "user"}
    | {"prompt_cache_options", "safety_identifier", "top_logprobs", "include", "output_text", "billing"}
)


def decode(response: object, origin: Origin) -> Reply:
    """Convert a response body into a reply. Raise the matching error if the response failed."""
    data = require_object(response, origin.provider)
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    objects: dict[str, dict[str, Any]] = {name: value for name, value in data.items() if isinstance(value, dict)}
    output: object = data.get("output")
    status = texts.get("status", "")
    if status == "failed" or (objects.get("error") and not (isinstance(output, list) and output)):
        raise make_failure_error(parse_error(data), origin.provider)
    if not isinstance(output, list):
        raise BadReply(f"{origin.provider} answered without `output`", provider=origin.provider)
    given: list[dict[str, Any]] = [item for item in cast(list[Any], output) if isinstance(item, dict)]
    items = [item for item in given if get_item_type(item)]
    why: object = objects.get("incomplete_details", {}).get("reason")
    reason = why if isinstance(why, str) else ""
    cut = status == "incomplete" and reason == "max_output_tokens"
    answered = {get_client_call_id(item, origin.provider) for item in items if get_item_type(item).endswith("_output")}
    word, usage = _find_stop_word(status, reason, items), _read_usage(objects.get("usage", {}))
    parts = tuple(
        part
        for item in items
        for part in (
            read_opaque_item(item, origin)
            if answered and get_client_call_id(item, origin.provider) in answered - {""}
            else read_output_item(item, origin, cut and item is items[-1])
        )
    )
    stop = map_stop_reason(API, word)
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    state = _read_reply_state(data, word, items if stop == "refusal" else [])
    said, id, model = status if word == "completed" else word, texts.get("id", ""), texts.get("model", "")
    reply = Reply(parts, stop or "not_done", said, usage, model, id, state=state)
    if stop is None:
        raise make_unknown_stop(reply, origin)
    return reply


def _find_stop_word(status: str, reason: str, items: list[dict[str, Any]]) -> str:
    """Return the reason of a response's end: why it is incomplete, what it waits for, or its status."""
    if status == "incomplete":
        return reason or status
    if status in ("", "complete"):
        # Compatible servers omit the status or spell it this way.
        status = "completed"
    if status == "completed" and any(map(_is_refusal, items)):
        return "refusal"
    # The server waits for an approval that no tool can give.
    waits = any(get_item_type(item) == "mcp_approval_request" for item in items)
    return "mcp_approval_request" if status == "completed" and waits else status


def _read_reply_state(data: dict[str, Any], word: str, refused: list[dict[str, Any]]) -> ReplyState:
    blocks = [as_object(block) for item in refused for block in get_content_blocks(item)]
    said = "".join(as_string(block.get("refusal")) for block in blocks)
    changes, found, tier = [
        data.get(name) for name in ("input_transformations", "prompt_cache_diagnostics", "service_tier")
    ]
    return ReplyState(
        refusal=RefusalDetails("" if word == "refusal" else word, said) if refused else None,
        transformations=tuple(cast(list[Any], changes)) if isinstance(changes, list) else (),
        diagnostics=cast(dict[str, Any], found) or None if isinstance(found, dict) else None,
        service_tier=tier if isinstance(tier, str) else "",
        other={
            name: value for name, value in data.items() if name not in _DECODED_FIELDS and value not in (None, {}, [])
        },
    )


def _is_refusal(item: dict[str, Any]) -> bool:
    return get_item_type(item) == "message" and any(
        as_object(b).get("type") == "refusal" for b in as_array(item.get("content"))
    )


def read_output_item(item: dict[str, Any], origin: Origin, cut: bool = False) -> tuple[AssistantPart, ...]:
    """Convert an item of the model into its parts: one, or two for a server call with its result."""
    if not is_client_call(item, origin.provider) and is_server_item(item):
        return read_server_item(item, origin)
    return (_read_single_part(item, origin, cut),)


def _read_single_part(item: dict[str, Any], origin: Origin, cut: bool) -> AssistantPart:
    texts = {name: value for name, value in item.items() if isinstance(value, str)}
    match get_item_type(item):
        case "message" if item.get("role") != "assistant":
            # The remainder of a compacted conversation.
            return OpaquePart(ProviderPayload(origin, item), get_message_text(item))
        case "message":
            text = "".join(as_string(block.get("text") or block.get("refusal")) for block in get_content_blocks(item))
            native = None if _is_plain_text_message(item) else ProviderPayload(origin, item)
            return Text(text, native, read_responses_citations(get_content_blocks(item)))
        case "reasoning":
            return Reasoning("\n\n".join(extract_reasoning_texts(item)), ProviderPayload(origin, item))
        case "function_call":
            cut = cut or item.get("status") == "incomplete"
            id, name = texts.get("call_id", ""), texts.get("name", "")
            is_plain = has_only_item_fields(item, "call_id", "name", "arguments") and is_universally_legal(id, name)
            native = None if is_plain else ProviderPayload(origin, item)
            return ToolCall.read(id, name, item.get("arguments", ""), truncated=cut, native=native)
        case _ if is_client_call(item, origin.provider):
            return read_client_call(item, origin, cut)
        case _:
            return OpaquePart(ProviderPayload(origin, item))


def read_opaque_item(item: dict[str, Any], origin: Origin) -> tuple[AssistantPart, ...]:
    """Return the parts of an item that the server made or answered by itself."""
    return read_server_item(item, origin) if is_server_item(item) else (OpaquePart(ProviderPayload(origin, item)),)


def make_client_part(item: dict[str, Any], origin: Origin) -> OpaquePart:
    """Return an item that the client wrote as an opaque part, with a text for other providers."""
    output = _extract_output_text(item) if get_item_type(item).endswith("_output") else ""
    told = f"[Result of an earlier call {as_string(item.get('call_id'))}]: {output}" if output else ""
    return OpaquePart(ProviderPayload(origin, item), told)


def _extract_output_text(item: dict[str, Any]) -> str:
    output = item.get("output")
    return as_string(output) or "\n".join(
        filter(None, (as_string(as_object(block).get("text")) for block in as_array(output)))
    )


def get_content_blocks(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a message's content as blocks. A plain string becomes one text block."""
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "output_text" if item.get("role") == "assistant" else "input_text", "text": content}]
    return [as_object(block) for block in as_array(content)]


def get_message_text(item: dict[str, Any]) -> str:
    """Return the text of a message of the user or the system."""
    return "\n".join(filter(None, (as_string(block.get("text")) for block in get_content_blocks(item))))


def extract_reasoning_texts(item: dict[str, Any]) -> list[str]:
    """Return the readable pieces of a reasoning item."""
    blocks = [*as_array(item.get("summary")), *as_array(item.get("content"))]
    return [text for block in blocks if (text := as_string(as_object(block).get("text")))]


def has_only_item_fields(item: dict[str, Any], *names: str) -> bool:
    """Return whether an item has no other fields than these, so its original need not be kept."""
    return all(item.get(name) is None for name in item if name not in ("type", *names))


def _is_plain_text_message(item: dict[str, Any]) -> bool:
    blocks = get_content_blocks(item)
    if len(blocks) != 1 or not has_only_item_fields(item, "role", "content"):
        return False
    bare = {k: v for k, v in blocks[0].items() if v or k not in ("annotations", "logprobs")}
    return (
        bare.get("type") == "output_text"
        and has_only_item_fields(bare, "text")
        and bool(as_string(bare.get("text")).strip())
    )


def _read_usage(usage: dict[str, Any]) -> Usage:
    details: dict[str, dict[str, Any]] = {name: each for name, each in usage.items() if isinstance(each, dict)}
    given, made = details.get("input_tokens_details", {}), details.get("output_tokens_details", {})
    counts = as_integers(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        given.get("cached_tokens"),
        given.get("cache_write_tokens"),
        made.get("reasoning_tokens"),
    )
    return Usage(*counts)


def parse_error(data: object) -> ProviderErrorInfo:
    """Extract message and kind from an error body, a failed response or an error event."""
    top = as_object(data)
    if isinstance(top.get("error"), str):
        return ProviderErrorInfo(top["error"], as_string(top.get("code")))
    error = as_object(top.get("error")) or ({} if "output" in top else top)
    kinds = (as_string(error.get(name)) for name in ("code", "type"))
    kind = next((kind for kind in kinds if kind and kind != "error"), "")
    return ProviderErrorInfo(
        as_string(error.get("message")) or extract_detail(top), kind, as_string(top.get("request_id"))
    )


def make_failure_error(error: ProviderErrorInfo, provider: str) -> StatusError:
    """Return the exception for an answer that began well and then failed."""
    kind, status = RequestRejected, 400
    if error.kind in _RATE_LIMITS:
        kind, status = RateLimited, 429
    elif error.kind in _SERVER_FAULTS:
        kind, status = ServerFailed, 500
    message = f"{provider} failed to answer: {error.message or error.kind or 'it does not say why'}"
    about: dict[str, Any] = {"provider": provider, "text": error.message}
    if used_up := make_quota_error(error, message, status=429, **about):
        return used_up
    if kind is not RateLimited and (too_long := make_overflow_error(error, message, status=400, **about)):
        return too_long
    return kind(message, status=status, **about)
