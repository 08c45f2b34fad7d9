"""Conversion of parts that frameworks store in similar shapes: thinking, media, calls and tool
results.
"""

from __future__ import annotations

import re
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Audio,
    Document,
    Image,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    Video,
)
from antiphon.errors import ContentError
from antiphon.wire import APIS, gemini, openai_responses, wire
from antiphon.wire.history_reader import HistoryReader
from antiphon.wire.server_tools import truncate_result

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^,;]*)*;base64,(.+)", re.DOTALL)
_URL_END = re.compile(r"\.(png|jpe?g|gif|webp|heic|heif|bmp)(?:[?#]|$)", re.IGNORECASE)
#: The parts by the family of their media type. Some formats have only the name of the part.
_CLASSES: dict[str, type[Document | Audio | Video]] = {
    "application": Document,
    "text": Document,
    "document": Document,
    "audio": Audio,
    "video": Video,
}
_ANY_NAME = re.compile(".*", re.DOTALL)
#: Provider names of frameworks, with the API that their payloads belong to.
_ORIGINS = {name: (spec.owner, spec.name) for spec in APIS.values() for name in spec.framework_names}


def make_origin(provider: str, model: str) -> Origin:
    """Return the origin of payloads of a framework's provider. An unknown provider gets an unknown origin."""
    owner, api = _ORIGINS.get(provider, (provider or "unknown", "unknown"))
    return Origin(owner, api, model)


def guess_provider(model: str) -> str:
    """Return the owner of a model by its name, or ""."""
    for owner, start in (("anthropic", "claude"), ("google", "gemini"), ("openai", "gpt-")):
        if model.rpartition("/")[2].startswith(start):
            return owner
    return ""


def make_reasoning(text: str, signature: str, origin: Origin, *, redacted: bool = False, id: str = "") -> Reasoning:
    """Return a model's thinking, with signed or encrypted data in the provider's own form."""
    if origin.api not in APIS:
        return Reasoning(text)
    data = wire(origin.api).build_reasoning(text, signature, is_redacted=redacted, id=id)
    return Reasoning(text, ProviderPayload(origin, data) if data else None)


def make_file_part(
    reader: HistoryReader, where: str, source: str, media_type: str = "", name: str = ""
) -> Text | Image | Document | Audio | Video:
    """Return an image or another file from Base64 or a URL. What is none becomes a line of text, which is recorded."""
    found = _DATA_URL.fullmatch(source)
    if found:
        media_type, source = found[1], found[2]
    is_url = not found and bool(re.match(r"[a-z][a-z0-9+.-]*://", source))
    looks = media_type.startswith("image/") or (is_url and not media_type and bool(_URL_END.search(source)))
    if looks:
        try:
            return Image(url=source) if is_url else Image(data=source, media_type=media_type)
        except ContentError as error:
            reader.note("unreadable", where, f"an image: {error}", "a line of text takes its place")
            return Text("[an image that could not be read]")
    kind = _CLASSES.get(media_type.partition("/")[0])
    try:
        if kind is not None and is_url:
            return kind(url=source, media_type=media_type if "/" in media_type else "", name=name)
        if kind is not None:
            return kind(data=source, media_type=media_type, name=name)
    except ContentError:
        pass
    what = name or (source if is_url else "") or media_type or "file"
    reader.note("unreadable", where, f"a file of type {media_type or 'unknown'!r}", "a line of text takes its place")
    return Text(f"[file: {what}]")


def make_call(
    reader: HistoryReader, where: str, id: str, name: str, arguments: object, native: ProviderPayload | None = None
) -> ToolCall:
    """Return a framework's call. Illegal names and ids are replaced, which is recorded."""
    made = reader.call(where, id, name, arguments, native, _ANY_NAME)
    if made.name != name:
        reader.note("bad-name", where, f"a call to {name[:80]!r}, which is no legal name", f"it becomes `{made.name}`")
    if made.id != id:
        reader.note("bad-id", where, f"call id {id[:80]!r} is not legal", f"the call becomes {made.id!r}", id)
    return made


def format_result(value: object) -> str:
    """Return a tool's result as the model saw it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dump_json(value)


def make_opaque_part(foreign: dict[str, Any], format: str, text: str) -> OpaquePart:
    """Return a provider's own action in the framework's form, with a text for every provider."""
    return OpaquePart(ProviderPayload(Origin("", format, ""), foreign), text)


def make_server_part(part: dict[str, Any], format: str, *, is_call: bool) -> ServerCall | ServerResult:
    """Return a server tool's call or result in the framework's form."""
    native, id = ProviderPayload(Origin("", format, ""), part), as_string(part.get("tool_call_id"))
    if is_call:
        given = part.get("args")
        input = as_object(given) or ({"input": given} if given else {})
        return ServerCall(id, as_string(part.get("tool_name")), input, native=native)
    return ServerResult(id, text=truncate_result(format_result(part.get("content"))), native=native)


def make_signed_call(name: str, arguments: object, signature: str, origin: Origin) -> ProviderPayload | None:
    """Return the payload of a call with its Gemini signature, or None. Other providers sign no calls."""
    if not signature or origin.api != gemini.SPEC.name:
        return None
    return ProviderPayload(origin, {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": signature})


def join_reasoning(parts: list[AssistantPart]) -> list[AssistantPart]:
    """Return the parts with each reasoning item joined again that frameworks split by summary.

    Items lose their ids: an id requires the ids of its neighbours, which frameworks do not store.
    """
    made: list[AssistantPart] = []
    ids: list[str] = []
    for part in parts:
        id = _get_item_id(part)
        if id and ids and id == ids[-1]:
            made[-1] = _merge_items(cast(Reasoning, made[-1]), cast(Reasoning, part))
            continue
        made.append(part)
        ids.append(id)
    return [_drop_item_id(cast(Reasoning, part)) if id else part for part, id in zip(made, ids, strict=True)]


def _get_item_id(part: AssistantPart) -> str:
    if not isinstance(part, Reasoning) or part.native is None or part.native.origin.api != openai_responses.SPEC.name:
        return ""
    return as_string(part.native.data.get("id"))


def _merge_items(one: Reasoning, other: Reasoning) -> Reasoning:
    assert one.native
    assert other.native
    summary = [*one.native.data["summary"], *other.native.data["summary"]]
    data = {**other.native.data, **one.native.data, "summary": summary}
    return Reasoning("\n\n".join(filter(None, (one.text, other.text))), ProviderPayload(one.native.origin, data))


def _drop_item_id(part: Reasoning) -> Reasoning:
    """Return an item in sendable form. Without its encrypted content there is nothing to send."""
    assert part.native
    data = {key: value for key, value in part.native.data.items() if key != "id"}
    return Reasoning(part.text, ProviderPayload(part.native.origin, data) if data.get("encrypted_content") else None)


def note_dropped_part(reader: HistoryReader, where: str, kind: object, part: object) -> None:
    """Record a part that is unknown and dropped."""
    found = f"a part of kind {kind!r}, which is not known: {dump_json(part)[:60]}"
    reader.note("unreadable", where, found, "it is dropped")
