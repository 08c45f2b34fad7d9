"""Answers of Anthropic's Messages API, whole and streamed."""

from __future__ import annotations

from typing import Any

from antiphon._json import loads
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Foreign, Native, Origin, Reasoning, Text, ToolCall
from antiphon.errors import BadReply, MalformedJSONError, RateLimited, ServerFailed, StreamCut
from antiphon.wire.growing import longer, settled
from antiphon.wire.naming import is_universal
from antiphon.wire.reply import CallDelta, Delta, ErrorText, ReasoningDelta, Reply, Stop, TextDelta, Usage
from antiphon.wire.shape import detail, reply_object, total
from antiphon.wire.sse import Event, EventParser

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
}


def decode(response: object, origin: Origin) -> Reply:
    """A response body as a reply."""
    data = reply_object(response, origin.provider)
    if not isinstance(data.get("content"), list):
        said = error_text(data).message
        raise BadReply(
            f"{origin.provider} answered without content{': ' + said if said else ''}", provider=origin.provider
        )
    blocks = [obj(block) for block in arr(data.get("content"))]
    reason = string(data.get("stop_reason"))
    stop = _STOPS.get(reason, "other")
    parts = [read_part(block, origin, stop == "length" and block is blocks[-1]) for block in blocks]
    return Reply(tuple(parts), stop, reason, _usage(obj(data.get("usage"))), string(data.get("model")), _id(data))


def _id(data: dict[str, Any]) -> str:
    return string(data.get("id"))


def read_part(block: dict[str, Any], origin: Origin, cut: bool = False) -> AssistantPart:
    match block.get("type"):
        case "text":
            text = string(block.get("text"))
            return Text(text, None if is_plain(block, "text") else Native(origin, block))
        case "thinking" | "redacted_thinking":
            return Reasoning(string(block.get("thinking")), Native(origin, block))
        case "tool_use":
            plain = is_plain(block, "id", "name", "input") and is_universal(_id(block), string(block.get("name")))
            native = None if plain else Native(origin, block)
            arguments = block.get("input", {})
            return ToolCall.read(_id(block), string(block.get("name")), arguments, truncated=cut, native=native)
        case kind:
            return Foreign(Native(origin, block), f"[{kind}]" if kind else "")


def is_plain(block: dict[str, Any], *names: str) -> bool:
    """Whether a block holds nothing but these fields, so that it need not be kept itself."""
    return all(block.get(name) is None for name in block if name not in ("type", *names))


def _usage(usage: dict[str, Any]) -> Usage:
    read, written = number(usage.get("cache_read_input_tokens")), number(usage.get("cache_creation_input_tokens"))
    details = obj(usage.get("output_tokens_details"))
    return Usage(
        # The API counts what came from or went into the cache apart.
        input_tokens=total(number(usage.get("input_tokens")), read, written),
        output_tokens=number(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=number(details.get("thinking_tokens")),
    )


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
                self._message |= obj(data.get("delta"))
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
        kind, status = (RateLimited, 429) if error.kind == "rate_limit_error" else (ServerFailed, 529)
        if error.kind != "overloaded_error" and kind is ServerFailed:
            status = 500
        raise kind(message, provider=self._origin.provider, status=status, text=error.message)


def _parsed(text: str) -> Any:
    """The input of a call: its object, or its text as it is where that is no JSON; `ToolCall.read` knows what to do."""
    try:
        return loads(text)
    except MalformedJSONError:
        return text
