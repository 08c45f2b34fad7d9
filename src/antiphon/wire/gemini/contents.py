"""Turns as contents of a request to Gemini: model, user, and results, which are a user's content of their own."""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps
from antiphon._shape import obj, string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Foreign,
    Image,
    Native,
    Note,
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
from antiphon.wire.gemini.keys import kind_of
from antiphon.wire.naming import own_id, own_name
from antiphon.wire.options import Target

API = "gemini"
#: The word Google documents for calls that its model did not make itself (G6).
DUMMY_SIGNATURE = "skip_thought_signature_validator"

#: What the API takes as the name of a called function.
CALLED = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_ID = re.compile(r".+", re.DOTALL)
_SUFFIXES = {"png": "png", "webp": "webp", "gif": "gif", "heic": "heic", "heif": "heif"}
#: Parts of the provider's own tools: they hold encrypted state, so no other model can take them up.
_SEALED = ("toolCall", "toolResponse")


def is_ours(native: Native | None, target: Target) -> bool:
    """Whether this came from the same provider's Gemini API, of whatever model."""
    return native is not None and native.origin.api == API and native.origin.provider == target.provider


def _takes_media(target: Target) -> bool:
    """Return whether a function's response may hold images."""
    return target.facts.result_media != ()


def wrap(segment: body.Segment) -> bytes:
    """A segment as a content. Results have a role of their own only so that they stay apart from what follows."""
    role = b"model" if segment.role == "model" else b"user"
    return b'{"role":"' + role + b'","parts":[' + segment.blocks + b"]}"


def segments(turn: Turn, target: Target) -> list[body.Segment]:
    """The contents of one turn."""
    if isinstance(turn, UserTurn):
        said = [_part(Text(part.text) if isinstance(part, Note) else part, target) for part in turn.said]
        return [body.Segment("user", part.encode()) for part in said if part is not None]
    found = [
        ("model", _model_parts(turn, target)),
        ("results", _results(turn, target)),
        ("user", _images_of_results(turn, target)),
    ]
    return [body.Segment(role, ",".join(parts).encode()) for role, parts in found if parts]


def _model_parts(turn: AssistantTurn, target: Target) -> list[str]:
    first = next(iter(turn.calls), None)
    given = [_call(p, target, p is first) if isinstance(p, ToolCall) else _part(p, target) for p in turn.parts]
    return [part for part in given if part is not None]


def _part(part: Image | Note | Update | AssistantPart, target: Target) -> str | None:
    """The part, or nothing where this target cannot have it."""
    match part:
        case Note() | Update():
            # A change of tools or of the system text is one of the head here.
            return None
        case ToolCall():
            return _call(part, target, False)
        case Reasoning():
            same = part.native is not None and _same_model(part.native, target)
            return dumps(part.native.data) if same and part.native else None
        case Image():
            return dumps(_image(part, target))
        case ServerCall() | ServerResult():
            own = _own(part.native, target)
            return dumps(own) if own else None
        case Text() | Foreign():
            own = _own(part.native, target)
            if own is not None:
                return dumps(own) if own else None
            return dumps({"text": part.text}) if part.text.strip() else None


def _same_model(native: Native, target: Target) -> bool:
    named = native.origin.model.removeprefix("models/") == target.model.removeprefix("models/")
    return is_ours(native, target) and named


def _own(native: Native | None, target: Target) -> dict[str, Any] | None:
    """The part as this API gave it, without what another model signed; empty where then nothing is left."""
    if native is None or not is_ours(native, target):
        return None
    if _same_model(native, target) or not ("thoughtSignature" in native.data or kind_of(native.data) in _SEALED):
        return native.data
    if kind_of(native.data) in _SEALED:
        return None
    unsigned = {k: v for k, v in native.data.items() if k != "thoughtSignature"}
    return unsigned if unsigned.get("text", True) else {}


def _call(call: ToolCall, target: Target, first: bool) -> str:
    own = _own(call.native, target) or {}
    theirs = obj(own.get("functionCall"))
    fields = [f'"id":{dumps(own_id(call, string(theirs["id"]), _ID))}'] if "id" in theirs else []
    fields.append(f'"name":{dumps(_name(call, target))}')
    if call.arguments or "args" in theirs or not theirs:
        fields.append(f'"args":{call.arguments_json}')
    fields += [f"{dumps(k)}:{dumps(v)}" for k, v in theirs.items() if k not in ("id", "name", "args")]
    beside = {k: v for k, v in own.items() if k != "functionCall"}
    if first and target.facts.signed_calls is not False:
        # G4: without a signature on the first call, the step is refused.
        beside.setdefault("thoughtSignature", DUMMY_SIGNATURE)
    tail = "," + dumps(beside)[1:-1] if beside else ""
    return f'{{"functionCall":{{{",".join(fields)}}}{tail}}}'


def _name(call: ToolCall, target: Target) -> str:
    """The name as the model wrote it: this API takes dots and colons, which others do not."""
    own = call.native.data if call.native and is_ours(call.native, target) else {}
    name = string(obj(own.get("functionCall")).get("name"))
    return own_name(call.name, name, CALLED)


def _results(turn: AssistantTurn, target: Target) -> list[str]:
    calls = {call.id: call for call in turn.calls}
    return [_result(result, calls[result.call_id], target) for result in turn.results if result.call_id in calls]


def _result(result: ToolResult, call: ToolCall, target: Target) -> str:
    own = _own_result(result, target)
    data: dict[str, Any] = obj(own.get("functionResponse")) or _response(result, target)
    data = {k: v for k, v in data.items() if k != "id"} | {"name": _name(call, target)}
    theirs = obj((_own(call.native, target) or {}).get("functionCall"))
    if "id" in theirs:
        data = {"id": own_id(call, string(theirs["id"]), _ID)} | data
    return dumps(own | {"functionResponse": data})


def _own_result(result: ToolResult, target: Target) -> dict[str, Any]:
    """The result as this API had it; media inside of it are only for models known to take them there."""
    if result.native is None or not is_ours(result.native, target):
        return {}
    media = "parts" in obj(result.native.data.get("functionResponse"))
    fits = not media or _takes_media(target) or _same_model(result.native, target)
    return result.native.data if fits else {}


def _response(result: ToolResult, target: Target) -> dict[str, Any]:
    media = _media(result, target)
    text = result.text if result.text.strip() else "(see the image)" if media else "(no output)"
    attached = {"parts": media} if media and _takes_media(target) else {}
    return {"response": {"error" if result.is_error else "result": text}} | attached


def _media(result: ToolResult, target: Target) -> list[dict[str, Any]]:
    if isinstance(result.content, str):
        return []
    return [_image(part, target) for part in result.content if isinstance(part, Image)]


def _images_of_results(turn: AssistantTurn, target: Target) -> list[str]:
    """The images that results hold: before Gemini 3 a response has no place for them, so they follow it."""
    parts: list[str] = []
    calls = {call.id: call for call in turn.calls}
    for result in () if _takes_media(target) else turn.results:
        if result.call_id in calls and not _own_result(result, target) and (media := _media(result, target)):
            name = _name(calls[result.call_id], target)
            parts += [dumps({"text": f"[What `{name}` returned:]"}), *map(dumps, media)]
    return parts


def _image(image: Image, target: Target) -> dict[str, Any]:
    if image.native and is_ours(image.native, target):
        return image.native.data
    if image.data:
        return {"inlineData": {"mimeType": image.media_type, "data": image.data}}
    return {"fileData": {"fileUri": image.url, "mimeType": image.media_type or _guessed_type(image.url)}}


def _guessed_type(url: str) -> str:
    """Vertex wants a type with every address; most images that do not say are JPEGs."""
    suffix = url.partition("?")[0].rpartition(".")[2].lower()
    return f"image/{_SUFFIXES.get(suffix, 'jpeg')}"
