"""The fields in which servers put a model's thinking, for which this API has no word of its own."""

from __future__ import annotations

from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.wire.growing import longer
from antiphon.wire.options import Profile

#: Readable thinking; servers that use two of these say the same in both.
_TEXTS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
#: Signed, encrypted or structured thinking.
_OPAQUE = ("reasoning_details", "reasoning_opaque", "thinking_blocks")
FIELDS = frozenset(_TEXTS + _OPAQUE)
#: Those that are lists, whose members are streamed in pieces.
LISTS = ("reasoning_details", "thinking_blocks")


def fields_of(message: dict[str, Any]) -> dict[str, Any]:
    """The reasoning fields of a message or a piece of one."""
    return {k: v for k, v in message.items() if k in FIELDS and v not in (None, "", [])}


def readable(fields: dict[str, Any]) -> str:
    """What a person can read of it."""
    for name in _TEXTS:
        if text := _text_in(fields.get(name)):
            return text
    details = map(obj, [detail for name in LISTS for detail in arr(fields.get(name))])
    return "".join(string(d.get("text")) or string(d.get("summary")) or string(d.get("thinking")) for d in details)


def _text_in(value: object) -> str:
    """The text of a field that is no text with some servers, but an object or a list that holds it."""
    pieces: list[object] = arr(value) or [value]
    return "".join(string(piece) or _first_text(obj(piece)) for piece in pieces)


def _first_text(held: dict[str, Any]) -> str:
    return next((text for name in ("text", "content", "summary", "thinking") if (text := string(held.get(name)))), "")


def thought(block: dict[str, Any]) -> str:
    """The text of a content part that holds thinking (Mistral)."""
    inner = block.get("thinking")
    return inner if isinstance(inner, str) else "".join(string(obj(piece).get("text")) for piece in arr(inner))


def sent_back(reasoning: list[dict[str, Any]], profile: Profile, calls: bool) -> dict[str, Any]:
    """The fields with which an assistant message gives the thinking back, each as the server itself wrote it."""
    fields: dict[str, Any] = {}
    for native in reasoning:
        name, value = _returned(native, profile.reasoning_fields)
        if isinstance(fields.get(name), str) and isinstance(value, str):
            fields[name] += "\n\n" + value
        elif name:
            fields[name] = [*arr(fields.get(name)), *arr(value)] or value
    if calls and not fields and profile.reasoning_required:
        fields[profile.reasoning_fields[0]] = ""
    return fields


def _returned(native: dict[str, Any], fields: tuple[str, ...]) -> tuple[str, Any]:
    """The best of the fields in which the thinking came, or its text in the field that the server has for text."""
    for name in fields:
        if name in native:
            return name, native[name]
    text = next((text for name in _TEXTS if (text := _text_in(native.get(name)))), "")
    name = next((name for name in fields if name in _TEXTS), "")
    return (name, text) if text else ("", None)


def merged(details: list[Any], more: list[Any]) -> list[Any]:
    """Details or blocks that were streamed in pieces, whole again: a piece continues the last of its kind and index."""
    grown = [*details]
    for piece in map(obj, more):
        place = next((n for n in reversed(range(len(grown))) if _continues(piece, obj(grown[n]))), None)
        if place is None or (piece.get("index") is None and place < len(grown) - 1):
            grown.append(piece)
        else:
            grown[place] = _longer(obj(grown[place]), piece)
    return grown


def _continues(piece: dict[str, Any], detail: dict[str, Any]) -> bool:
    same = all(piece.get(key) in (None, detail.get(key)) for key in ("type", "index", "id"))
    # What is encrypted comes whole, so that two of them are two; and a signature ends what it signs.
    whole = "data" in piece or (bool(detail.get("signature")) and piece.get("index") is None)
    return same and bool(detail) and not whole


def _longer(detail: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any]:
    whole = dict(detail)
    for key, value in piece.items():
        if key in ("text", "summary", "thinking") and isinstance(value, str):
            whole[key] = longer(detail.get(key), value)
        elif value is not None or key not in whole:
            whole[key] = value
    return whole
