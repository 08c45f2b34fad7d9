"""What frameworks keep in their own shapes and all of them mean: thinking, media, what a tool gave."""

from __future__ import annotations

import re
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import obj, string
from antiphon.conversation import (
    AssistantPart,
    Foreign,
    Image,
    Native,
    Origin,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
)
from antiphon.errors import ContentError
from antiphon.wire.reading import Reader
from antiphon.wire.server_tools import shorten

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^,;]*)*;base64,(.+)", re.DOTALL)
_URL_END = re.compile(r"\.(png|jpe?g|gif|webp|heic|heif|bmp)(?:[?#]|$)", re.IGNORECASE)
_ANYTHING = re.compile(".*", re.DOTALL)
#: What frameworks call the providers, and which API their opaque data belongs to.
_ORIGINS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai-responses"),
    "google": ("google", "gemini"),
    "google-gla": ("google", "gemini"),
    "google-vertex": ("google", "gemini"),
    "vertex": ("google", "gemini"),
    "google_genai": ("google", "gemini"),
}


def origin_of(provider: str, model: str) -> Origin:
    """Where opaque data of a framework's provider came from; one that is not known gets an origin nobody has."""
    owner, api = _ORIGINS.get(provider, (provider or "unknown", "unknown"))
    return Origin(owner, api, model)


def provider_of(model: str) -> str:
    """Whose model this is by its name, or ""."""
    for owner, start in (("anthropic", "claude"), ("google", "gemini"), ("openai", "gpt-")):
        if model.rpartition("/")[2].startswith(start):
            return owner
    return ""


def thinking(text: str, signature: str, origin: Origin, *, redacted: bool = False, id: str = "") -> Reasoning:
    """A model's thinking; with what its provider signed or encrypted, in that provider's own form."""
    match origin.api:
        case "anthropic" if redacted and signature:
            data: dict[str, Any] = {"type": "redacted_thinking", "data": signature}
        case "anthropic" if signature:
            data = {"type": "thinking", "thinking": text, "signature": signature}
        case "openai-responses" if id or signature:
            summary = [{"type": "summary_text", "text": text}] if text else []
            data = {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": signature}
            data = {key: value for key, value in data.items() if value != ""}
        case "gemini" if signature:
            data = {"text": text, "thought": True, "thoughtSignature": signature}
        case _:
            return Reasoning(text)
    return Reasoning(text, Native(origin, data))


def media(reader: Reader, where: str, source: str, media_type: str = "", name: str = "") -> Text | Image:
    """An image from base64 or an address; of other files a line of text stays, and that is noted."""
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
    what = name or (source if is_url else "") or media_type or "file"
    reader.note("unreadable", where, f"a file of type {media_type or 'unknown'!r}", "a line of text takes its place")
    return Text(f"[file: {what}]")


def call(reader: Reader, where: str, id: str, name: str, arguments: object, native: Native | None = None) -> ToolCall:
    """A call of a framework; what is not legal everywhere is made so and noted."""
    made = reader.call(where, id, name, arguments, native, _ANYTHING)
    if made.name != name:
        reader.note("bad-name", where, f"a call to {name[:80]!r}, which is no legal name", f"it becomes `{made.name}`")
    if made.id != id:
        reader.note("bad-id", where, f"call id {id[:80]!r} is not legal", f"the call becomes {made.id!r}", id)
    return made


def text_of(value: object) -> str:
    """What a tool gave, as the model was told it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value)


def told(foreign: dict[str, Any], format: str, text: str) -> Foreign:
    """Something a provider did by itself, as the framework keeps it: told in words to everybody, also to the provider,
    who does not know the framework's form."""
    return Foreign(Native(Origin("", format, ""), foreign), text)


def server_part(part: dict[str, Any], format: str, *, is_call: bool) -> ServerCall | ServerResult:
    """Return the call of a provider's own tool, or its result, as the framework keeps it."""
    native, id = Native(Origin("", format, ""), part), string(part.get("tool_call_id"))
    if is_call:
        given = part.get("args")
        return ServerCall(id, string(part.get("tool_name")), obj(given) or _input(given), native=native)
    return ServerResult(id, text=shorten(text_of(part.get("content"))), native=native)


def _input(given: object) -> dict[str, Any]:
    return {"input": given} if given else {}


def signed(name: str, arguments: object, signature: str, origin: Origin) -> Native | None:
    """A call with the signature that Gemini wants back; other providers sign no calls."""
    if not signature or origin.api != "gemini":
        return None
    return Native(origin, {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": signature})


def joined(parts: list[AssistantPart]) -> list[AssistantPart]:
    """The parts; what frameworks made of one item of reasoning, a part for each piece of its summary, is one again.

    Items lose their ids: what they hold is sent, and an id wants the ids of its neighbours, which frameworks forget.
    """
    made: list[AssistantPart] = []
    ids: list[str] = []
    for part in parts:
        id = _item_id(part)
        if id and ids and id == ids[-1]:
            made[-1] = _one_item(cast(Reasoning, made[-1]), cast(Reasoning, part))
            continue
        made.append(part)
        ids.append(id)
    return [_without_id(cast(Reasoning, part)) if id else part for part, id in zip(made, ids, strict=True)]


def _item_id(part: AssistantPart) -> str:
    if not isinstance(part, Reasoning) or part.native is None or part.native.origin.api != "openai-responses":
        return ""
    return string(part.native.data.get("id"))


def _one_item(one: Reasoning, other: Reasoning) -> Reasoning:
    assert one.native
    assert other.native
    summary = [*one.native.data["summary"], *other.native.data["summary"]]
    data = {**other.native.data, **one.native.data, "summary": summary}
    return Reasoning("\n\n".join(filter(None, (one.text, other.text))), Native(one.native.origin, data))


def _without_id(part: Reasoning) -> Reasoning:
    """An item as one can send it; without its encrypted content there is nothing to send."""
    assert part.native
    data = {key: value for key, value in part.native.data.items() if key != "id"}
    return Reasoning(part.text, Native(part.native.origin, data) if data.get("encrypted_content") else None)


def dropped(reader: Reader, where: str, kind: object, part: object) -> None:
    """Write down a part that is not understood."""
    found = f"a part of kind {kind!r}, which is not known: {dumps(part)[:60]}"
    reader.note("unreadable", where, found, "it is dropped")
