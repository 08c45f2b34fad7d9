"""Answers of Anthropic's Messages API, whole and streamed."""

from __future__ import annotations

from typing import Any

from antiphon._json import loads
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Foreign, Native, Origin, Reasoning, Text, ToolCall
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
from antiphon.wire.anthropic.server_tools import read_citations, read_server_part
from antiphon.wire.growing import longer, settled
from antiphon.wire.naming import is_universal
from antiphon.wire.quota import quota_error
from antiphon.wire.reply import CallDelta, Delta, ErrorText, ReasoningDelta, Reply, TextDelta, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.shape import detail, reply_object, total
from antiphon.wire.sse import Event, EventParser
from antiphon.wire.stops import find_stop, unknown_stop

API = "anthropic"

#: The fields of a response that a reply has places for.
_KNOWN = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage", "container", "stop_details"}
    | {"input_transformations", "diagnostics"}
)


def decode(response: object, origin: Origin) -> Reply:
    """A response body as a reply."""
    data = reply_object(response, origin.provider)
    if not isinstance(data.get("content"), list):
        said = error_text(data).message
        raise BadReply(
            f"{origin.provider} answered without content{': ' + said if said else ''}", provider=origin.provider
        )
    blocks, abandoned = _split_abandoned([obj(block) for block in arr(data.get("content"))])
    reason = string(data.get("stop_reason"))
    stop = find_stop(API, reason)
    parts = [read_part(block, origin, stop == "length" and block is blocks[-1]) for block in blocks]
    usage = obj(data.get("usage"))
    reply = Reply(
        tuple(parts),
        stop or "not_done",
        reason,
        _usage(usage),
        string(data.get("model")),
        _id(data),
        state=_state(data, abandoned),
        window=_window(usage),
    )
    if stop is None:
        raise unknown_stop(reply, origin)
    return reply


def _split_abandoned(blocks: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the blocks of the answer, and those that a fallback model abandoned.

    The refusal before a `fallback` block may have cut off the calls before it. They are neither run nor sent back.
    """
    last = max((place for place, block in enumerate(blocks) if block.get("type") == "fallback"), default=-1)
    answered = {block.get("tool_use_id") for block in blocks}
    calls = [
        block
        for block in blocks[: last + 1]
        if block.get("type") == "tool_use" or (block.get("type") == "server_tool_use" and _id(block) not in answered)
    ]
    return [block for block in blocks if not any(block is call for call in calls)], calls


def _state(data: dict[str, Any], abandoned: list[dict[str, Any]]) -> ReplyState:
    details = obj(data.get("stop_details"))
    refusal = None
    if details.get("type") == "refusal":
        names = ("category", "explanation", "recommended_model")
        refusal = RefusalDetails(*[string(details.get(name)) for name in names])
    other = {name: value for name, value in data.items() if name not in _KNOWN and value is not None}
    if details:
        other["stop_details"] = details
    if abandoned:
        other["abandoned_calls"] = abandoned
    return ReplyState(
        container=obj(data.get("container")) or None,
        refusal=refusal,
        transformations=tuple(arr(data.get("input_transformations"))),
        diagnostics=obj(data.get("diagnostics")) or None,
        service_tier=string(obj(data.get("usage")).get("service_tier")),
        other=other,
    )


def _id(data: dict[str, Any]) -> str:
    return string(data.get("id"))


def read_part(block: dict[str, Any], origin: Origin, cut: bool = False) -> AssistantPart:
    match block.get("type"):
        case "text":
            text = string(block.get("text"))
            return Text(text, None if is_plain(block, "text") else Native(origin, block), read_citations(block))
        case "thinking" | "redacted_thinking":
            return Reasoning(string(block.get("thinking")), Native(origin, block))
        case "tool_use":
            plain = is_plain(block, "id", "name", "input") and is_universal(_id(block), string(block.get("name")))
            native = None if plain else Native(origin, block)
            arguments = block.get("input", {})
            return ToolCall.read(_id(block), string(block.get("name")), arguments, truncated=cut, native=native)
        case _:
            return read_server_part(block, origin) or Foreign(Native(origin, block))


def is_plain(block: dict[str, Any], *names: str) -> bool:
    """Whether a block holds nothing but these fields, so that it need not be kept itself."""
    return all(block.get(name) is None for name in block if name not in ("type", *names))


def _usage(usage: dict[str, Any]) -> Usage:
    read, written = number(usage.get("cache_read_input_tokens")), number(usage.get("cache_creation_input_tokens"))
    details = obj(usage.get("output_tokens_details"))
    whole = Usage(
        # The API counts what came from or went into the cache apart.
        input_tokens=total(number(usage.get("input_tokens")), read, written),
        output_tokens=number(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=number(details.get("thinking_tokens")),
        cache_write_1h_tokens=number(obj(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )
    for step in _iterations(usage, "compaction"):
        # The figures above leave out what it took to sum up the conversation.
        whole = whole.plus(_usage(step))
    return whole


def _iterations(usage: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the steps of this kind that the server took for one answer."""
    steps = [obj(step) for step in arr(usage.get("iterations"))]
    return [{**step, "iterations": None} for step in steps if step.get("type") == kind]


def _window(usage: dict[str, Any]) -> int | None:
    """Return the tokens that the conversation fills: those of the last step in which the model answered."""
    messages = _iterations(usage, "message")
    last = _usage(messages[-1]) if messages else Usage()
    return None if last.input_tokens is None else last.input_tokens + (last.output_tokens or 0)


def error_text(data: object) -> ErrorText:
    """What an error body says."""
    error = obj(obj(data).get("error"))
    return ErrorText(
        string(error.get("message")) or detail(data), string(error.get("type")), string(obj(data).get("request_id"))
    )


class Decoder:
    """Builds the whole message from its events, then decodes it like any other."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = EventParser()
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._ended = False

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that these bytes complete."""
        return [delta for event in self._events.feed(chunk) for delta in self._event(event)]

    def reply(self) -> Reply:
        """The whole reply; StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._event(event)
        if not self._ended:
            raise self._cut("the stream ended before the message did")
        for index, pieces in self._inputs.items():
            if (text := "".join(pieces)).strip():
                self._blocks[index]["input"] = _parsed(text)
        content = [settled(block) for _, block in sorted(self._blocks.items())]
        return decode(self._message | {"content": content}, self._origin)

    def _cut(self, message: str) -> StreamCut:
        text = "".join(string(settled(block.get("text"))) for block in self._blocks.values())
        return StreamCut(message, provider=self._origin.provider, partial=text)

    def _event(self, event: Event) -> list[Delta]:
        try:
            data = obj(loads(event.data, "an event"))
        except MalformedJSONError as error:
            raise self._cut(f"the stream is broken: {error}") from None
        index = number(data.get("index")) or 0
        match data.get("type"):
            case "message_start":
                self._message = dict(obj(data.get("message")))
            case "content_block_start":
                return self._start(index, dict(obj(data.get("content_block"))))
            case "content_block_delta":
                return self._grow(index, obj(data.get("delta")))
            case "message_delta":
                beside = {k: v for k, v in data.items() if k not in ("type", "delta", "usage") and v is not None}
                self._message |= beside | obj(data.get("delta"))
                usage = {k: v for k, v in obj(data.get("usage")).items() if v is not None}
                self._message["usage"] = obj(self._message.get("usage")) | usage
            case "message_stop":
                self._ended = True
            case "error":
                self._fail(error_text(data))
            case _:
                pass
        return []

    def _start(self, index: int, block: dict[str, Any]) -> list[Delta]:
        self._blocks[index] = block
        match block.get("type"):
            case "fallback":
                # The answer goes on with another model.
                self._message["model"] = string(obj(block.get("to")).get("model"))
                return []
            case "text" if block.get("text"):
                return [TextDelta(string(block["text"]))]
            case "tool_use":
                return [CallDelta(self._call_number(index), string(block.get("name")), "")]
            case _:
                return []

    def _grow(self, index: int, delta: dict[str, Any]) -> list[Delta]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                piece = string(delta.get("text"))
                block["text"] = longer(block.get("text"), piece)
                return [TextDelta(piece)] if piece else []
            case "thinking_delta":
                piece = string(delta.get("thinking"))
                block["thinking"] = longer(block.get("thinking"), piece)
                return [ReasoningDelta(piece)] if piece else []
            case "signature_delta":
                block["signature"] = longer(block.get("signature"), string(delta.get("signature")))
            case "citations_delta":
                block["citations"] = arr(block.get("citations"))
                block["citations"].append(delta.get("citation"))
            case "input_json_delta":
                piece = string(delta.get("partial_json"))
                self._inputs.setdefault(index, []).append(piece)
                if block.get("type") == "tool_use" and piece:
                    return [CallDelta(self._call_number(index), "", piece)]
            case _:
                # A delta of a kind that is newer than this code: its fields are kept on the block.
                block |= {k: v for k, v in delta.items() if k != "type"}
        return []

    def _call_number(self, index: int) -> int:
        return sum(1 for n, block in self._blocks.items() if n < index and block.get("type") == "tool_use")

    def _fail(self, error: ErrorText) -> None:
        message = f"{self._origin.provider} broke off the stream: {error.message or error.kind}"
        kind, status = _FAILURES.get(error.kind, (ServerFailed, 500))
        about: dict[str, Any] = {"provider": self._origin.provider, "status": status, "text": error.message}
        raise quota_error(error, message, **about) or kind(message, **about)


#: The errors that a stream may end with, where they are not a fault of the server.
_FAILURES: dict[str, tuple[type[StatusError], int]] = {
    "rate_limit_error": (RateLimited, 429),
    "overloaded_error": (ServerFailed, 529),
    "invalid_request_error": (RequestRejected, 400),
    "authentication_error": (AuthenticationFailed, 401),
    "permission_error": (AuthenticationFailed, 403),
    "not_found_error": (NotFound, 404),
}


def _parsed(text: str) -> Any:
    """The input of a call: its object, or its text as it is where that is no JSON; `ToolCall.read` knows what to do."""
    try:
        return loads(text)
    except MalformedJSONError:
        return text
