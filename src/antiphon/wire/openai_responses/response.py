"""Answers of OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Foreign, Native, Origin, Reasoning, Text, ToolCall
from antiphon.errors import BadReply, RateLimited, RequestRejected, ServerFailed, StatusError
from antiphon.wire.naming import is_universal
from antiphon.wire.openai_responses.calls import is_call, read_call
from antiphon.wire.openai_responses.server_tools import is_server_item, read_citations, read_server_item
from antiphon.wire.openai_responses.terms import API, call_id, kind_of
from antiphon.wire.overflow import overflow
from antiphon.wire.quota import quota_error
from antiphon.wire.reply import ErrorText, Reply, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.shape import detail, reply_object
from antiphon.wire.stops import find_stop, unknown_stop

_RATE_LIMITS = ("rate_limit_exceeded", "rate_limit_error")
_SERVER_FAULTS = ("", "server_error", "internal_error", "server_is_overloaded", "vector_store_timeout")
#: The fields of a response that a reply has places for, and those that repeat the request.
_KNOWN = frozenset(
    {"id", "object", "model", "output", "status", "incomplete_details", "usage", "error", "service_tier", "created_at"}
    | {"input_transformations", "prompt_cache_diagnostics", "completed_at", "instructions", "tools", "tool_choice"}
    | {"parallel_tool_calls", "temperature", "top_p", "max_output_tokens", "max_tool_calls", "reasoning", "text"}
    | {"truncation", "store", "background", "metadata", "previous_response_id", "prompt", "prompt_cache_key", "user"}
    | {"prompt_cache_options", "safety_identifier", "top_logprobs", "include", "output_text", "billing"}
)


def decode(response: object, origin: Origin) -> Reply:
    """A response body as a reply; a failed one raises what it failed of."""
    data = reply_object(response, origin.provider)
    if data.get("status") == "failed" or (obj(data.get("error")) and not arr(data.get("output"))):
        raise failure(error_text(data), origin.provider)
    if not isinstance(data.get("output"), list):
        raise BadReply(f"{origin.provider} answered without `output`", provider=origin.provider)
    items = [item for item in map(obj, arr(data.get("output"))) if kind_of(item)]
    status, reason = string(data.get("status")), string(obj(data.get("incomplete_details")).get("reason"))
    cut = status == "incomplete" and reason == "max_output_tokens"
    answered = {call_id(item, origin.provider) for item in items if kind_of(item).endswith("_output")}
    parts = tuple(
        part
        for item in items
        for part in (
            read_own(item, origin)
            if call_id(item, origin.provider) in answered - {""}
            else read_item(item, origin, cut and item is items[-1])
        )
    )
    word = _word(status, reason, items)
    stop = find_stop(API, word)
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        stop = "tool_calls"
    usage, model = _usage(obj(data.get("usage"))), string(data.get("model"))
    state = _state(data, word, items if stop == "refusal" else [])
    said = status if word == "completed" else word
    reply = Reply(parts, stop or "not_done", said, usage, model, string(data.get("id")), state=state)
    if stop is None:
        raise unknown_stop(reply, origin)
    return reply


def _word(status: str, reason: str, items: list[dict[str, Any]]) -> str:
    """Return the word for the end of a response: why it is incomplete, what it waits for, or its status."""
    if status == "incomplete":
        return reason or status
    if status in ("", "complete"):
        # Compatible servers leave it out, or spell it so.
        status = "completed"
    if status == "completed" and any(map(_is_refusal, items)):
        return "refusal"
    # The server waits for a word that no tool can give.
    waits = any(kind_of(item) == "mcp_approval_request" for item in items)
    return "mcp_approval_request" if status == "completed" and waits else status


def _state(data: dict[str, Any], word: str, refused: list[dict[str, Any]]) -> ReplyState:
    blocks = [obj(block) for item in refused for block in content_of(item)]
    said = "".join(string(block.get("refusal")) for block in blocks)
    refusal = RefusalDetails("" if word == "refusal" else word, said) if refused or said else None
    return ReplyState(
        refusal=refusal,
        transformations=tuple(arr(data.get("input_transformations"))),
        diagnostics=obj(data.get("prompt_cache_diagnostics")) or None,
        service_tier=string(data.get("service_tier")),
        other={name: value for name, value in data.items() if name not in _KNOWN and value not in (None, {}, [])},
    )


def _is_refusal(item: dict[str, Any]) -> bool:
    return kind_of(item) == "message" and any(obj(b).get("type") == "refusal" for b in arr(item.get("content")))


def read_item(item: dict[str, Any], origin: Origin, cut: bool = False) -> tuple[AssistantPart, ...]:
    """Return the parts that an item of the model's is: one, or two for a server's call with its result."""
    if not is_call(item, origin.provider) and is_server_item(item):
        return read_server_item(item, origin)
    return (_read_part(item, origin, cut),)


def _read_part(item: dict[str, Any], origin: Origin, cut: bool) -> AssistantPart:
    match kind_of(item):
        case "message" if item.get("role") != "assistant":
            # What is left of a conversation that was compacted.
            return Foreign(Native(origin, item), text_of(item))
        case "message":
            text = "".join(string(block.get("text") or block.get("refusal")) for block in content_of(item))
            native = None if _is_plain_message(item) else Native(origin, item)
            return Text(text, native, read_citations(content_of(item)))
        case "reasoning":
            return Reasoning("\n\n".join(thoughts(item)), Native(origin, item))
        case "function_call":
            cut = cut or item.get("status") == "incomplete"
            plain = is_plain(item, "call_id", "name", "arguments") and is_universal(
                string(item.get("call_id")), string(item.get("name"))
            )
            native = None if plain else Native(origin, item)
            arguments = item.get("arguments", "")
            return ToolCall.read(
                string(item.get("call_id")), string(item.get("name")), arguments, truncated=cut, native=native
            )
        case _ if is_call(item, origin.provider):
            return read_call(item, origin, cut)
        case _:
            return Foreign(Native(origin, item))


def read_own(item: dict[str, Any], origin: Origin) -> tuple[AssistantPart, ...]:
    """Return the parts of an item that the server has made or answered by itself."""
    return read_server_item(item, origin) if is_server_item(item) else (Foreign(Native(origin, item)),)


def client_item(item: dict[str, Any], origin: Origin) -> Foreign:
    """Return an item that the client wrote, with what others are told of it."""
    output = _output_text(item) if kind_of(item).endswith("_output") else ""
    told = f"[Result of an earlier call {string(item.get('call_id'))}]: {output}" if output else ""
    return Foreign(Native(origin, item), told)


def _output_text(item: dict[str, Any]) -> str:
    output = item.get("output")
    return string(output) or "\n".join(filter(None, (string(obj(block).get("text")) for block in arr(output))))


def content_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's content as blocks; a plain string is one of text."""
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "output_text" if item.get("role") == "assistant" else "input_text", "text": content}]
    return [obj(block) for block in arr(content)]


def text_of(item: dict[str, Any]) -> str:
    """What a message of the user or the system says."""
    return "\n".join(filter(None, (string(block.get("text")) for block in content_of(item))))


def thoughts(item: dict[str, Any]) -> list[str]:
    """The readable pieces of a reasoning item."""
    blocks = [*arr(item.get("summary")), *arr(item.get("content"))]
    return [text for block in blocks if (text := string(obj(block).get("text")))]


def is_plain(item: dict[str, Any], *names: str) -> bool:
    """Whether an item holds nothing but these fields, so that it need not be kept itself."""
    return all(item.get(name) is None for name in item if name not in ("type", *names))


def _is_plain_message(item: dict[str, Any]) -> bool:
    blocks = content_of(item)
    if len(blocks) != 1 or not is_plain(item, "role", "content"):
        return False
    bare = {k: v for k, v in blocks[0].items() if v or k not in ("annotations", "logprobs")}
    return bare.get("type") == "output_text" and is_plain(bare, "text") and bool(string(bare.get("text")).strip())


def _usage(usage: dict[str, Any]) -> Usage:
    given, made = obj(usage.get("input_tokens_details")), obj(usage.get("output_tokens_details"))
    return Usage(
        input_tokens=number(usage.get("input_tokens")),
        output_tokens=number(usage.get("output_tokens")),
        cache_read_tokens=number(given.get("cached_tokens")),
        cache_write_tokens=number(given.get("cache_write_tokens")),
        reasoning_tokens=number(made.get("reasoning_tokens")),
    )


def error_text(data: object) -> ErrorText:
    """What an error body, a failed response or an error event says."""
    top = obj(data)
    if isinstance(top.get("error"), str):
        return ErrorText(top["error"], string(top.get("code")))
    error = obj(top.get("error")) or ({} if "output" in top else top)
    kinds = (string(error.get(name)) for name in ("code", "type"))
    kind = next((kind for kind in kinds if kind and kind != "error"), "")
    return ErrorText(string(error.get("message")) or detail(top), kind, string(top.get("request_id")))


def failure(error: ErrorText, provider: str) -> StatusError:
    """The error for an answer that began well and then failed."""
    kind, status = RequestRejected, 400
    if error.kind in _RATE_LIMITS:
        kind, status = RateLimited, 429
    elif error.kind in _SERVER_FAULTS:
        kind, status = ServerFailed, 500
    message = f"{provider} failed to answer: {error.message or error.kind or 'it does not say why'}"
    about: dict[str, Any] = {"provider": provider, "text": error.message}
    if used_up := quota_error(error, message, status=429, **about):
        return used_up
    if kind is not RateLimited and (too_long := overflow(error, message, status=400, **about)):
        return too_long
    return kind(message, status=status, **about)
