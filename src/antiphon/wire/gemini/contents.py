"""Encoder of turns as contents of a Gemini request: model, user, and separate user contents for
results.
"""

from __future__ import annotations

import re
from typing import Any, cast

from antiphon._base.json import encode_json
from antiphon._base.json_access import as_object
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Document,
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
from antiphon.conversation.media_types import guess_type_by_name
from antiphon.wire import body
from antiphon.wire.gemini import SPEC
from antiphon.wire.gemini.field_names import find_content_field
from antiphon.wire.media import find_copy, fits_in_result
from antiphon.wire.names_and_ids import choose_call_id, choose_tool_name
from antiphon.wire.options import Target

API = SPEC.name
#: The signature that Google documents for calls that its model did not make (G6).
DUMMY_SIGNATURE = "skip_thought_signature_validator"

#: The names of called functions that the API accepts.
FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_ID = re.compile(r".+", re.DOTALL)
_SUFFIXES = {"png": "png", "webp": "webp", "gif": "gif", "heic": "heic", "heif": "heif"}
#: The most frequent types, for URLs that tell none.
_USUAL_TYPES = {"audio": "audio/mpeg", "video": "video/mp4"}
#: Parts of server tools: they hold encrypted state, so no other model can use them.
_ENCRYPTED_PARTS = ("toolCall", "toolResponse")


def is_gemini_payload(native: ProviderPayload | None, target: Target) -> bool:
    """Return whether the payload came from the same provider's Gemini API, from any model."""
    return native is not None and native.origin.api == API and native.origin.provider == target.provider


def _accepts_result_media(target: Target) -> bool:
    """Return whether a function's response may hold files."""
    return target.facts.result_media != ()


def encode_content(segment: body.MessageSegment) -> bytes:
    """Return the JSON of a content from a segment.

    Results have a role of their own only to keep them apart from what follows.
    """
    role = b"model" if segment.role == "model" else b"user"
    return b'{"role":"' + role + b'","parts":[' + segment.blocks + b"]}"


def encode_turn_contents(turn: Turn, target: Target) -> list[body.MessageSegment]:
    """Return the contents of one turn."""
    if isinstance(turn, UserTurn):
        said = [_encode_part(Text(part.text) if isinstance(part, Note) else part, target) for part in turn.said]
        return [body.MessageSegment("user", part.encode()) for part in said if part is not None]
    found = [
        ("model", _encode_model_parts(turn, target)),
        ("results", _encode_results(turn, target)),
        ("user", _encode_media_behind(turn, target)),
    ]
    return [body.MessageSegment(role, ",".join(parts).encode()) for role, parts in found if parts]


def _encode_model_parts(turn: AssistantTurn, target: Target) -> list[str]:
    first = next(iter(turn.calls), None)
    given = [
        _encode_call(p, target, p is first) if isinstance(p, ToolCall) else _encode_part(p, target) for p in turn.parts
    ]
    return [part for part in given if part is not None]


def _encode_part(part: MediaPart | Note | Update | AssistantPart, target: Target) -> str | None:
    """Return the JSON of a part, or None if this target cannot have it."""
    match part:
        case Note() | Update():
            # This API states tools and system text only in the head of the request.
            return None
        case ToolCall():
            return _encode_call(part, target, False)
        case Reasoning():
            same = part.native is not None and _is_from_same_model(part.native, target)
            return encode_json(part.native.data) if same and part.native else None
        case Media() | File():
            return encode_json(_encode_medium(part, target))
        case ServerCall() | ServerResult():
            own = _original_part(part.native, target)
            return encode_json(own) if own else None
        case Text() | OpaquePart():
            own = _original_part(part.native, target)
            if own is not None:
                return encode_json(own) if own else None
            return encode_json({"text": part.text}) if part.text.strip() else None


def _is_from_same_model(native: ProviderPayload, target: Target) -> bool:
    same = native.origin.model.removeprefix("models/") == target.model.removeprefix("models/")
    return same and is_gemini_payload(native, target)


def _original_part(native: ProviderPayload | None, target: Target) -> dict[str, Any] | None:
    """Return the part as this API gave it, without another model's signature.

    Return None if it came from elsewhere, and {} if nothing remains.
    """
    if native is None or not is_gemini_payload(native, target):
        return None
    if _is_from_same_model(native, target) or not (
        "thoughtSignature" in native.data or find_content_field(native.data) in _ENCRYPTED_PARTS
    ):
        return native.data
    if find_content_field(native.data) in _ENCRYPTED_PARTS:
        return None
    unsigned = {k: v for k, v in native.data.items() if k != "thoughtSignature"}
    return unsigned if unsigned.get("text", True) else {}


def _encode_call(call: ToolCall, target: Target, first: bool) -> str:
    own = _original_part(call.native, target) or {}
    called: object = own.get("functionCall")
    theirs = cast(dict[str, Any], called) if isinstance(called, dict) else {}
    fields = [f'"id":{encode_json(choose_call_id(call, theirs["id"], _ID))}'] if "id" in theirs else []
    fields.append(f'"name":{encode_json(_function_name(call, target))}')
    if call.arguments or "args" in theirs or not theirs:
        fields.append(f'"args":{call.arguments_json}')
    fields += [f"{encode_json(k)}:{encode_json(v)}" for k, v in theirs.items() if k not in ("id", "name", "args")]
    beside = {k: v for k, v in own.items() if k != "functionCall"}
    if first and target.facts.signed_calls is not False:
        # G4: without a signature on the first call, the step is refused.
        beside.setdefault("thoughtSignature", DUMMY_SIGNATURE)
    tail = "," + encode_json(beside)[1:-1] if beside else ""
    return f'{{"functionCall":{{{",".join(fields)}}}{tail}}}'


def _function_name(call: ToolCall, target: Target) -> str:
    """Return the name as the model wrote it: this API accepts dots and colons, others do not."""
    called = call.native.data.get("functionCall") if call.native and is_gemini_payload(call.native, target) else None
    if not isinstance(called, dict):
        return call.name
    return choose_tool_name(call.name, cast(dict[str, Any], called).get("name"), FUNCTION_NAME)


def _encode_results(turn: AssistantTurn, target: Target) -> list[str]:
    calls = {call.id: call for call in turn.calls}
    return [_encode_result(result, calls[result.call_id], target) for result in turn.results if result.call_id in calls]


def _encode_result(result: ToolResult, call: ToolCall, target: Target) -> str:
    own = _original_result(result, target)
    data = (as_object(own.get("functionResponse")) if own else None) or _build_response(result, target)
    data = {k: v for k, v in data.items() if k != "id"} | {"name": _function_name(call, target)}
    theirs: object = (_original_part(call.native, target) or {}).get("functionCall")
    if isinstance(theirs, dict) and "id" in theirs:
        data = {"id": choose_call_id(call, cast(dict[str, Any], theirs)["id"], _ID)} | data
    return encode_json(own | {"functionResponse": data})


def _original_result(result: ToolResult, target: Target) -> dict[str, Any]:
    """Return the result as this API had it, or {} if the model may not accept the media inside."""
    if result.native is None or not is_gemini_payload(result.native, target):
        return {}
    media = "parts" in as_object(result.native.data.get("functionResponse"))
    fits = not media or _accepts_result_media(target) or _is_from_same_model(result.native, target)
    return result.native.data if fits else {}


def _build_response(result: ToolResult, target: Target) -> dict[str, Any]:
    given = [part for part in result.parts if isinstance(part, MediaPart)]
    media = [_encode_medium(part, target) for part in given if _fits(part, target)]
    said = result.content if isinstance(result.content, str) else result.text
    what = "image" if all(isinstance(part, Image) for part in given) else "file"
    text = said if said.strip() else f"(see the {what})" if given else "(no output)"
    attached = {"parts": media} if media else {}
    return {"response": {"error" if result.is_error else "result": text}} | attached


def _fits(part: MediaPart, target: Target) -> bool:
    """Return whether a function's response may hold the file. Before Gemini 3, it holds none."""
    return target.facts.result_media is None or fits_in_result(part, target)


def _encode_media_behind(turn: AssistantTurn, target: Target) -> list[str]:
    """Return the files of results that responses cannot hold, as parts that follow them."""
    parts: list[str] = []
    calls = {call.id: call for call in turn.calls}
    for result in turn.results:
        media = [part for part in result.parts if isinstance(part, MediaPart) and not _fits(part, target)]
        if media and result.call_id in calls and not _original_result(result, target):
            name = _function_name(calls[result.call_id], target)
            parts.append(encode_json({"text": f"[What `{name}` returned:]"}))
            parts += [encode_json(_encode_medium(part, target)) for part in media]
    return parts


def _encode_medium(part: MediaPart, target: Target) -> dict[str, Any]:
    if isinstance(part, File):
        return {"fileData": {"fileUri": part.id, **({"mimeType": part.media_type} if part.media_type else {})}}
    if part.native and is_gemini_payload(part.native, target):
        return part.native.data
    if (copy := find_copy(part, target)) is not None:
        return {"fileData": {"fileUri": copy.id, "mimeType": part.media_type}}
    if part.data:
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    return {"fileData": {"fileUri": part.url, "mimeType": part.media_type or _guess_media_type(part)}}


def _guess_media_type(part: Media) -> str:
    """Guess the media type from the URL. Vertex requires one, and most unmarked images are JPEG."""
    if isinstance(part, Image):
        suffix = part.url.partition("?")[0].rpartition(".")[2].lower()
        return f"image/{_SUFFIXES.get(suffix, 'jpeg')}"
    guessed = guess_type_by_name(part.url.partition("?")[0])
    usual = "application/pdf" if isinstance(part, Document) else _USUAL_TYPES[part.kind]
    return guessed if guessed.startswith(f"{part.kind}/") or (isinstance(part, Document) and guessed) else usual
