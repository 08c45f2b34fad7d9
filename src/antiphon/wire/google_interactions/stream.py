"""Decoder of streamed answers of the Interactions API: steps grow until the interaction is complete."""

from __future__ import annotations

from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import Origin
from antiphon.errors import MalformedJSONError, StreamCut
from antiphon.wire.accumulate import TextAccumulator, append_text, join_accumulated
from antiphon.wire.google_interactions import get_contents
from antiphon.wire.google_interactions.response import decode, make_failure_error, parse_error
from antiphon.wire.reply import CallDelta, ReasoningDelta, Reply, ReplyDelta, TextDelta
from antiphon.wire.sse import ServerSentEvent, SseParser

#: The statuses of an interaction that is still being made.
_OPEN_STATUSES = ("", "queued", "in_progress")


class Decoder:
    """Decoder of a stream: build the complete interaction from its events, then decode it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._events = SseParser()
        self._interaction: dict[str, Any] = {}
        self._steps: dict[int, dict[str, Any]] = {}
        #: The arguments of calls as text, which arrives in pieces.
        self._arguments: dict[int, Any] = {}
        self._text: list[str] = []
        self._is_complete = False

    def feed(self, chunk: bytes) -> list[ReplyDelta]:
        """Return the deltas that these bytes complete."""
        return [delta for event in self._events.feed(chunk) for delta in self._handle_event(event)]

    def reply(self) -> Reply:
        """Return the complete reply. Raise StreamCut if the stream ended too early."""
        for event in self._events.end():
            self._handle_event(event)
        if not self._is_complete:
            raise self._stream_cut_error("the stream ended before the interaction did")
        steps = [self._finish(index) for index in sorted(self._steps)]
        return decode(self._interaction | {"steps": steps or self._interaction.get("steps", [])}, self._origin)

    def _handle_event(self, event: ServerSentEvent) -> list[ReplyDelta]:
        if event.data.strip() == "[DONE]":
            return []
        try:
            data = as_object(load_json(event.data, "an event"))
        except MalformedJSONError as error:
            raise self._stream_cut_error(f"the stream is broken: {error}") from None
        index = as_integer(data.get("index")) or 0
        match as_string(data.get("event_type")) or event.name:
            case "interaction.created":
                return self._update(as_object(data.get("interaction")))
            case "interaction.completed":
                self._is_complete = True
                return self._update(as_object(data.get("interaction")))
            case "interaction.status_update":
                known = ("status", "usage", "continuation_token")
                self._is_complete = as_string(data.get("status")) not in _OPEN_STATUSES
                return self._update({name: data[name] for name in known if data.get(name)})
            case "step.start":
                return self._begin_step(index, as_object(data.get("step")))
            case "step.delta":
                return self._grow(index, as_object(data.get("delta")))
            case "error":
                raise make_failure_error(parse_error(data), self._origin.provider)
            case _:
                return []

    def _update(self, interaction: dict[str, Any]) -> list[ReplyDelta]:
        self._interaction |= {name: value for name, value in interaction.items() if value is not None}
        if self._steps or not self._is_complete:
            return []
        # A server that sends no deltas has all steps in its last event.
        steps = [as_object(step) for step in as_array(interaction.get("steps"))]
        return [delta for index, step in enumerate(steps) for delta in self._begin_step(index, step)]

    def _begin_step(self, index: int, step: dict[str, Any]) -> list[ReplyDelta]:
        grown = self._steps[index] = dict(step)
        if "content" in step or step.get("type") == "model_output":
            grown["content"] = [dict(block) for block in get_contents(step)]
        match as_string(step.get("type")):
            case "model_output":
                texts = [as_string(block.get("text")) for block in get_contents(step)]
                return [delta for text in texts if text for delta in self._say(text)]
            case "function_call":
                given = as_object(step.get("arguments"))
                begin = CallDelta(self._call_index(index), as_string(step.get("name")), "")
                return [begin, CallDelta(begin.index, "", dump_json(given))] if given else [begin]
            case "thought":
                grown["summary"] = [as_object(block) for block in as_array(step.get("summary"))]
                texts = [as_string(block.get("text")) for block in grown["summary"]]
                return [ReasoningDelta(text) for text in texts if text]
            case _:
                return []

    def _say(self, text: str) -> list[ReplyDelta]:
        self._text.append(text)
        return [TextDelta(text)]

    def _grow(self, index: int, delta: dict[str, Any]) -> list[ReplyDelta]:
        step = self._steps.get(index)
        if step is None:
            self._begin_step(index, {"type": "model_output"})
            step = self._steps[index]
        match as_string(delta.get("type")):
            case "text":
                return self._grow_text(step, as_string(delta.get("text")))
            case "arguments_delta":
                piece = as_string(delta.get("arguments"))
                self._arguments[index] = append_text(self._arguments.get(index), piece)
                return [CallDelta(self._call_index(index), "", piece)] if piece else []
            case "thought_summary":
                block = as_object(delta.get("content"))
                step["summary"] = [*as_array(step.get("summary")), block]
                text = as_string(block.get("text"))
                return [ReasoningDelta(text)] if text else []
            case "thought_signature":
                step["signature"] = as_string(step.get("signature")) + as_string(delta.get("signature"))
            case "text_annotation_delta":
                block = self._get_text_block(step)
                block["annotations"] = [*as_array(block.get("annotations")), *as_array(delta.get("annotations"))]
            case "image" | "audio" | "video" | "document":
                step.setdefault("content", []).append(delta)
            case _:
                # The deltas of server tools hold fields of their step.
                known = ("type", "content", "summary")
                step |= {name: value for name, value in delta.items() if name not in known}
        return []

    def _get_text_block(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return the last block of a step if it is a text, or a new one."""
        blocks = step.setdefault("content", [])
        if not blocks or blocks[-1].get("type") != "text":
            blocks.append({"type": "text", "text": ""})
        return blocks[-1]

    def _grow_text(self, step: dict[str, Any], piece: str) -> list[ReplyDelta]:
        block = self._get_text_block(step)
        held: object = block.get("text")
        block["text"] = append_text(held if isinstance(held, str | TextAccumulator) else "", piece)
        return self._say(piece) if piece else []

    def _call_index(self, index: int) -> int:
        return sum(1 for at, step in self._steps.items() if at < index and step.get("type") == "function_call")

    def _finish(self, index: int) -> dict[str, Any]:
        """Return a step with its joined texts, and with the arguments of a call as an object if they are whole."""
        step: dict[str, Any] = join_accumulated(self._steps[index])
        if (text := self._arguments.get(index)) is None:
            return step
        try:
            return step | {"arguments": load_json(str(text), "the arguments")}
        except MalformedJSONError:
            return step | {"arguments": str(text)}

    def _stream_cut_error(self, message: str) -> StreamCut:
        return StreamCut(message, provider=self._origin.provider, partial="".join(self._text))
