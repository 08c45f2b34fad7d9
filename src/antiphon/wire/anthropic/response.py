"""Decoder of answers of Anthropic's Messages API, complete and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import AssistantPart, OpaquePart, Origin, ProviderPayload, Reasoning, Text, ToolCall
from antiphon.errors import (
    AuthenticationFailed,
    BadReply,
    MalformedJSONError,
    NotFound,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StatusError,
    StreamCut,
)
from antiphon.wire.accumulate import append_text, join_accumulated
from antiphon.wire.anthropic import SPEC
from antiphon.wire.anthropic.server_tools import read_anthropic_citations, read_anthropic_server_block
from antiphon.wire.json_shape import as_integers, extract_detail, require_object, sum_known
from antiphon.wire.quota import make_quota_error
from antiphon.wire.reply import CallDelta, ProviderErrorInfo, ReasoningDelta, Reply, ReplyDelta, TextDelta, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.sse import ServerSentEvent, SseParser
from antiphon.wire.stop_reasons import make_unknown_stop, map_stop_reason

API = SPEC.name

#: The fields of a response that `Reply` has fields for.
_DECODED_FIELDS = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage", "container", "stop_details"}
    | {"input_transformations", "diagnostics"}
)


def decode(response: object, origin: Origin) -> Reply:
    """Convert a response body into a reply."""
    data = require_object(response, origin.provider)
    content: object = data.get("content")
    if not isinstance(content, list):
        said = parse_error(data).message
        raise BadReply(
            f"{origin.provider} answered without content{': ' + said if said else ''}", provider=origin.provider
        )
    blocks: list[dict[str, Any]] = [block if isinstance(block, dict) else {} for block in cast(list[Any], content)]
    abandoned: list[dict[str, Any]] = []
    if any(block.get("type") == "fallback" for block in blocks):
        blocks, abandoned = _split_abandoned_calls(blocks)
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    objects: dict[str, dict[str, Any]] = {name: value for name, value in data.items() if isinstance(value, dict)}
    reason, usage = texts.get("stop_reason", ""), objects.get("usage", {})
    stop = map_stop_reason(API, reason)
    counts, state = _read_usage(usage), _read_reply_state(data, objects, abandoned)
    window = _count_window_tokens(usage) if usage.get("iterations") else None
    parts = tuple(read_anthropic_blocks(blocks, origin, is_cut=stop == "length"))
    id, model = texts.get("id", ""), texts.get("model", "")
    reply = Reply(parts, stop or "not_done", reason, counts, model, id, state=state, window=window)
    if stop is None:
        raise make_unknown_stop(reply, origin)
    return reply


def _split_abandoned_calls(blocks: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the blocks of the answer, and the calls that a fallback model abandoned.

    The refusal before a `fallback` block may have cut off the calls before it. They are neither run nor
    sent back.
    """
    last = max((place for place, block in enumerate(blocks) if block.get("type") == "fallback"), default=-1)
    answered = {block.get("tool_use_id") for block in blocks}
    calls = [
        block
        for block in blocks[: last + 1]
        if block.get("type") == "tool_use"
        or (block.get("type") == "server_tool_use" and as_string(block.get("id")) not in answered)
    ]
    return [block for block in blocks if not any(block is call for call in calls)], calls


def _read_reply_state(
    data: dict[str, Any], objects: dict[str, dict[str, Any]], abandoned: list[dict[str, Any]]
) -> ReplyState:
    """Return what came beside the answer. `objects` are the fields of the response that are objects."""
    details, tier = objects.get("stop_details", {}), objects.get("usage", {}).get("service_tier")
    changes: object = data.get("input_transformations")
    refusal = None
    if details.get("type") == "refusal":
        names = ("category", "explanation", "recommended_model")
        refusal = RefusalDetails(*[as_string(details.get(name)) for name in names])
    other = {name: value for name, value in data.items() if name not in _DECODED_FIELDS and value is not None}
    if details:
        other["stop_details"] = details
    if abandoned:
        other["abandoned_calls"] = abandoned
    return ReplyState(
        container=objects.get("container") or None,
        refusal=refusal,
        transformations=tuple(cast(list[Any], changes)) if isinstance(changes, list) else (),
        diagnostics=objects.get("diagnostics") or None,
        service_tier=tier if isinstance(tier, str) else "",
        other=other,
    )


def read_anthropic_blocks(
    blocks: list[dict[str, Any]], origin: Origin, *, is_cut: bool = False
) -> Iterator[AssistantPart]:
    """Convert content blocks into parts. `is_cut` tells that the token limit ended the answer in the last one."""
    for block in blocks:
        texts = {name: value for name, value in block.items() if isinstance(value, str)}
        used = {name for name, value in block.items() if value is not None}
        match block.get("type"):
            case "text":
                native = None if used <= {"type", "text"} else ProviderPayload(origin, block)
                citations = read_anthropic_citations(block) if block.get("citations") else ()
                yield Text(texts.get("text", ""), native, citations)
            case "thinking" | "redacted_thinking":
                yield Reasoning(texts.get("thinking", ""), ProviderPayload(origin, block))
            case "tool_use":
                id, name = texts.get("id", ""), texts.get("name", "")
                cut = is_cut and block is blocks[-1]
                call = ToolCall.read(id, name, block.get("input", {}), truncated=cut)
                is_plain = used <= {"type", "id", "name", "input"} and (call.id, call.name) == (id, name)
                yield call if is_plain else replace(call, native=ProviderPayload(origin, block))
            case _:
                yield read_anthropic_server_block(block, origin) or OpaquePart(ProviderPayload(origin, block))


def _read_usage(usage: dict[str, Any]) -> Usage:
    objects: dict[str, dict[str, Any]] = {name: value for name, value in usage.items() if isinstance(value, dict)}
    new, output, read, written, thinking, written_1h = as_integers(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cache_creation_input_tokens"),
        objects.get("output_tokens_details", {}).get("thinking_tokens"),
        objects.get("cache_creation", {}).get("ephemeral_1h_input_tokens"),
    )
    # The API does not include cached tokens in `input_tokens`.
    whole = Usage(sum_known(new, read, written), output, read, written, thinking, written_1h)
    for step in _find_iterations(usage, "compaction") if usage.get("iterations") else ():
        # The counts above do not include the compaction of the conversation.
        whole = whole.plus(_read_usage(step))
    return whole


def _find_iterations(usage: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the steps of this kind that the server took for one answer."""
    steps = [as_object(step) for step in as_array(usage.get("iterations"))]
    return [{**step, "iterations": None} for step in steps if step.get("type") == kind]


def _count_window_tokens(usage: dict[str, Any]) -> int | None:
    """Return how many tokens the conversation fills after the last step in which the model answered."""
    messages = _find_iterations(usage, "message")
    last = _read_usage(messages[-1]) if messages else Usage()
    return None if last.input_tokens is None else last.input_tokens + (last.output_tokens or 0)


def parse_error(data: object) -> ProviderErrorInfo:
    """Extract message, kind and request id from an error body."""
    error = as_object(as_object(data).get("error"))
    return ProviderErrorInfo(
        as_string(error.get("message")) or extract_detail(data),
        as_string(error.get("type")),
        as_string(as_object(data).get("request_id")),
    )


class Decoder:
    """Decoder of a stream: build the complete message from its events, then decode it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = SseParser()
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._ended = False

    def feed(self, chunk: bytes) -> list[ReplyDelta]:
        """Return the deltas that these bytes complete."""
        return [delta for event in self._events.feed(chunk) for delta in self._handle_event(event)]

    def reply(self) -> Reply:
        """Return the complete reply. Raise StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._handle_event(event)
        if not self._ended:
            raise self._stream_cut_error("the stream ended before the message did")
        for index, pieces in self._inputs.items():
            if (text := "".join(pieces)).strip():
                self._blocks[index]["input"] = _parse_input(text)
        content = [join_accumulated(block) for _, block in sorted(self._blocks.items())]
        return decode(self._message | {"content": content}, self._origin)

    def _stream_cut_error(self, message: str) -> StreamCut:
        text = "".join(as_string(join_accumulated(block.get("text"))) for block in self._blocks.values())
        return StreamCut(message, provider=self._origin.provider, partial=text)

    def _handle_event(self, event: ServerSentEvent) -> list[ReplyDelta]:
        try:
            data = as_object(load_json(event.data, "an event"))
        except MalformedJSONError as error:
            raise self._stream_cut_error(f"the stream is broken: {error}") from None
        index = as_integer(data.get("index")) or 0
        match data.get("type"):
            case "message_start":
                self._message = dict(as_object(data.get("message")))
            case "content_block_start":
                return self._start(index, dict(as_object(data.get("content_block"))))
            case "content_block_delta":
                return self._grow(index, as_object(data.get("delta")))
            case "message_delta":
                beside = {k: v for k, v in data.items() if k not in ("type", "delta", "usage") and v is not None}
                self._message |= beside | as_object(data.get("delta"))
                usage = {k: v for k, v in as_object(data.get("usage")).items() if v is not None}
                self._message["usage"] = as_object(self._message.get("usage")) | usage
            case "message_stop":
                self._ended = True
            case "error":
                self._raise_error(parse_error(data))
            case _:
                pass
        return []

    def _start(self, index: int, block: dict[str, Any]) -> list[ReplyDelta]:
        self._blocks[index] = block
        match block.get("type"):
            case "fallback":
                # Another model continues the answer.
                self._message["model"] = as_string(as_object(block.get("to")).get("model"))
                return []
            case "text" if block.get("text"):
                return [TextDelta(as_string(block["text"]))]
            case "tool_use":
                return [CallDelta(self._call_index(index), as_string(block.get("name")), "")]
            case _:
                return []

    def _grow(self, index: int, delta: dict[str, Any]) -> list[ReplyDelta]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                piece = as_string(delta.get("text"))
                block["text"] = append_text(block.get("text"), piece)
                return [TextDelta(piece)] if piece else []
            case "thinking_delta":
                piece = as_string(delta.get("thinking"))
                block["thinking"] = append_text(block.get("thinking"), piece)
                return [ReasoningDelta(piece)] if piece else []
            case "signature_delta":
                block["signature"] = append_text(block.get("signature"), as_string(delta.get("signature")))
            case "citations_delta":
                block["citations"] = as_array(block.get("citations"))
                block["citations"].append(delta.get("citation"))
            case "input_json_delta":
                piece = as_string(delta.get("partial_json"))
                self._inputs.setdefault(index, []).append(piece)
                if block.get("type") == "tool_use" and piece:
                    return [CallDelta(self._call_index(index), "", piece)]
            case _:
                # A delta of an unknown, newer kind: keep its fields on the block.
                block |= {k: v for k, v in delta.items() if k != "type"}
        return []

    def _call_index(self, index: int) -> int:
        return sum(1 for n, block in self._blocks.items() if n < index and block.get("type") == "tool_use")

    def _raise_error(self, error: ProviderErrorInfo) -> None:
        message = f"{self._origin.provider} broke off the stream: {error.message or error.kind}"
        kind, status = _ERROR_CLASSES.get(error.kind, (ServerFailed, 500))
        about: dict[str, Any] = {"provider": self._origin.provider, "status": status, "text": error.message}
        raise make_quota_error(error, message, **about) or kind(message, **about)


#: Exception class and status for errors in a stream that are not plain server errors.
_ERROR_CLASSES: dict[str, tuple[type[StatusError], int]] = {
    "rate_limit_error": (RateLimited, 429),
    "overloaded_error": (ServerFailed, 529),
    "invalid_request_error": (RequestRejected, 400),
    "authentication_error": (AuthenticationFailed, 401),
    "permission_error": (AuthenticationFailed, 403),
    "not_found_error": (NotFound, 404),
}


def _parse_input(text: str) -> Any:
    """Return the input of a call as data, or its text if that is no JSON."""
    try:
        return load_json(text)
    except MalformedJSONError:
        return text
