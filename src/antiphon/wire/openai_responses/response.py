"""Answers of OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Foreign, Native, Origin, Reasoning, Text, ToolCall
from antiphon.errors import BadReply, RateLimited, RequestRejected, ServerFailed, StatusError
from antiphon.wire.naming import is_universal
from antiphon.wire.openai_responses.calls import is_call, read_call
from antiphon.wire.openai_responses.terms import call_id, kind_of
from antiphon.wire.overflow import overflow
from antiphon.wire.reply import ErrorText, Reply, Stop, Usage
from antiphon.wire.shape import detail, reply_object

_RATE_LIMITS = ("rate_limit_exceeded", "rate_limit_error", "insufficient_quota")
_SERVER_FAULTS = ("", "server_error", "internal_error", "server_is_overloaded", "vector_store_timeout")
# What other providers need not be told of.
_SILENT = ("item_reference", "compaction", "compaction_trigger", "additional_tools", "configuration_update")


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
        foreign(item, origin)
        if call_id(item, origin.provider) in answered - {""}
        else read_item(item, origin, cut and item is items[-1])
        for item in items
    )
    stop = _stop(status, reason, parts, any(map(_is_refusal, items)))
    if stop == "end" and any(kind_of(item) == "mcp_approval_request" for item in items):
        # The server waits for a word that no tool can give.
        stop, reason = "other", "mcp_approval_request"
    usage = _usage(obj(data.get("usage")))
    return Reply(parts, stop, reason or status, usage, string(data.get("model")), string(data.get("id")))


def _stop(status: str, reason: str, parts: tuple[AssistantPart, ...], refused: bool) -> Stop:
    if status == "incomplete":
        stops: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "refusal"}
        return stops.get(reason, "other")
    if refused:
        return "refusal"
    if any(isinstance(part, ToolCall) for part in parts):
        return "tool_calls"
    return "end" if status in ("completed", "complete", "") else "other"


def _is_refusal(item: dict[str, Any]) -> bool:
    return kind_of(item) == "message" and any(obj(b).get("type") == "refusal" for b in arr(item.get("content")))


def read_item(item: dict[str, Any], origin: Origin, cut: bool = False) -> AssistantPart:
    """An item that a model made."""
    match kind_of(item):
        case "message" if item.get("role") != "assistant":
            # What is left of a conversation that was compacted.
            return Foreign(Native(origin, item), text_of(item))
        case "message":
            text = "".join(string(block.get("text") or block.get("refusal")) for block in content_of(item))
            return Text(text, None if _is_plain_message(item) else Native(origin, item))
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
            return foreign(item, origin)


def foreign(item: dict[str, Any], origin: Origin) -> Foreign:
    """An item that only this API understands, with what others are told of it."""
    kind = kind_of(item)
    if kind.endswith("_output") and (output := _output_text(item)):
        return Foreign(Native(origin, item), f"[Result of an earlier call {string(item.get('call_id'))}]: {output}")
    name = string(item.get("name"))
    return Foreign(Native(origin, item), "" if kind in _SILENT else f"[{kind}: {name}]" if name else f"[{kind}]")


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
    if kind is not RateLimited and (too_long := overflow(error, message, status=400, **about)):
        return too_long
    return kind(message, status=status, **about)
