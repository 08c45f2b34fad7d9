"""Encoder of turns as steps of the Interactions API."""

from __future__ import annotations

import re
from typing import Any

from antiphon._base.json import encode_json
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    File,
    Image,
    Media,
    MediaPart,
    Note,
    OpaquePart,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    UserTurn,
)
from antiphon.wire import body
from antiphon.wire.google_interactions import SPEC, find_missing_fields, is_valid_block
from antiphon.wire.media import find_copy, fits_in_result, get_file_kind
from antiphon.wire.names_and_ids import choose_call_id, choose_tool_name
from antiphon.wire.options import Target

API = SPEC.name
#: The names of called functions that the API accepts.
FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_ID = re.compile(r".+", re.DOTALL)


def is_interactions_payload(native: ProviderPayload | None, target: Target) -> bool:
    """Return whether the payload came from the same provider's Interactions API, from any model."""
    return native is not None and native.origin.api == API and native.origin.provider == target.provider


def encode_step(segment: body.MessageSegment) -> bytes:
    """Return the JSON of a step from a segment: content gets its step around it."""
    if not segment.role:
        return segment.blocks
    return b'{"type":"' + segment.role.encode() + b'","content":[' + segment.blocks + b"]}"


def encode_turn_steps(turn: Turn, target: Target) -> list[body.MessageSegment]:
    """Return the steps of one turn."""
    if isinstance(turn, UserTurn):
        given = [_encode_block(Text(part.text) if isinstance(part, Note) else part, target) for part in turn.said]
        return [_make_segment("user_input", block) for block in given if block is not None]
    steps = [segment for part in turn.parts if (segment := _encode_part(part, target)) is not None]
    calls = {call.id: call for call in turn.calls}
    answered = [result for result in turn.results if result.call_id in calls]
    steps += [_make_segment("", _encode_result(result, calls[result.call_id], target)) for result in answered]
    steps += [segment for result in answered for segment in _encode_media_behind(result, turn, target)]
    return steps


def _make_segment(role: str, data: dict[str, Any]) -> body.MessageSegment:
    return body.MessageSegment(role, encode_json(data).encode())


def _encode_part(part: AssistantPart, target: Target) -> body.MessageSegment | None:
    """Return a part of the model as a step, or None if this target cannot have it."""
    match part:
        case ToolCall():
            return body.MessageSegment("", _encode_call(part, target).encode())
        case Reasoning() | ServerCall() | ServerResult() | OpaquePart() if part.native and _is_sendable_step(
            part.native
        ):
            # Signatures and results of server tools belong to the model that made them.
            same = is_interactions_payload(part.native, target) and _is_from_same_model(part.native, target)
            return _make_segment("", part.native.data) if same else None
        case Reasoning() | ServerCall() | ServerResult():
            return None
        case _:
            block = _encode_block(part, target)
            return None if block is None else _make_segment("model_output", block)


def _is_sendable_step(native: ProviderPayload) -> bool:
    """Return whether the data is a whole step and no block of one."""
    return find_missing_fields(native.data) == []


def _is_from_same_model(native: ProviderPayload | None, target: Target) -> bool:
    return native is not None and native.origin.model.removeprefix("models/") == target.model.removeprefix("models/")


def _encode_block(part: object, target: Target) -> dict[str, Any] | None:
    """Return a content block, or None if nothing of the part can be sent."""
    match part:
        case Note() | Update():
            # This API states tools and system text only in the head of the request.
            return None
        case Media() | File():
            return _encode_medium(part, target)
        case Text(native=ProviderPayload() as native) | OpaquePart(native=native) if is_interactions_payload(
            native, target
        ) and is_valid_block(native.data):
            return native.data
        case Text() | OpaquePart() if part.text.strip():
            return {"type": "text", "text": part.text}
        case _:
            return None


def _encode_medium(part: Media | File, target: Target) -> dict[str, Any]:
    """Return a file as a content block."""
    kind = get_file_kind(part) if isinstance(part, File) else part.kind
    if isinstance(part, Media) and part.native and is_interactions_payload(part.native, target):
        return part.native.data
    if isinstance(part, Media) and part.data and find_copy(part, target) is None:
        return {"type": kind, "data": part.data, "mime_type": part.media_type}
    copy = part if isinstance(part, File) else find_copy(part, target)
    uri = copy.id if copy is not None else part.url if isinstance(part, Media) else ""
    return {"type": kind, "uri": uri} | ({"mime_type": part.media_type} if part.media_type else {})


def _encode_call(call: ToolCall, target: Target) -> str:
    own = call.native.data if call.native and is_interactions_payload(call.native, target) else {}
    fields = [
        '"type":"function_call"',
        f'"id":{encode_json(choose_call_id(call, own.get("id"), _ID))}',
        f'"name":{encode_json(get_function_name(call, target))}',
        f'"arguments":{call.arguments_json}',
    ]
    more = {name: value for name, value in own.items() if name not in ("type", "id", "name", "arguments")}
    if not _is_from_same_model(call.native, target):
        more.pop("signature", None)
    return "{" + ",".join([*fields, *(f"{encode_json(k)}:{encode_json(v)}" for k, v in more.items())]) + "}"


def get_function_name(call: ToolCall, target: Target) -> str:
    """Return the name as the model wrote it: this API accepts dots and colons, others do not."""
    own = call.native.data if call.native and is_interactions_payload(call.native, target) else {}
    return choose_tool_name(call.name, own.get("name"), FUNCTION_NAME)


def _encode_result(result: ToolResult, call: ToolCall, target: Target) -> dict[str, Any]:
    own = call.native.data if call.native and is_interactions_payload(call.native, target) else {}
    head = {
        "type": "function_result",
        "call_id": choose_call_id(call, own.get("id"), _ID),
        "name": get_function_name(call, target),
    }
    if result.native and is_interactions_payload(result.native, target) and result.native.data.get("result"):
        return result.native.data | head
    return head | build_result(result, target)


def build_result(result: ToolResult, target: Target) -> dict[str, Any]:
    """Return the `result` and `is_error` of a function result."""
    flag = {"is_error": True} if result.is_error else {}
    media = [part for part in result.parts if isinstance(part, MediaPart)]
    if any(_fits(part, target) for part in media):
        shown = [part for part in result.parts if not isinstance(part, MediaPart) or _fits(part, target)]
        blocks = [_encode_block(part, target) for part in shown]
        return {"result": [block for block in blocks if block is not None]} | flag
    what = "image" if all(isinstance(part, Image) for part in media) else "file"
    return {"result": result.text if result.text.strip() else f"(see the {what})" if media else "(no output)"} | flag


def _fits(part: MediaPart, target: Target) -> bool:
    """Return whether a result may hold the file. Results of older models hold none."""
    return target.facts.result_media is None or fits_in_result(part, target)


def _encode_media_behind(result: ToolResult, turn: AssistantTurn, target: Target) -> list[body.MessageSegment]:
    """Return the files of a result that it cannot hold, as content of the user."""
    native = result.native is not None and is_interactions_payload(result.native, target)
    media = [part for part in result.parts if isinstance(part, MediaPart) and not _fits(part, target)]
    if native or not media:
        return []
    name = next(get_function_name(call, target) for call in turn.calls if call.id == result.call_id)
    blocks = [{"type": "text", "text": f"[What `{name}` returned:]"}, *(_encode_medium(each, target) for each in media)]
    return [_make_segment("user_input", block) for block in blocks]
