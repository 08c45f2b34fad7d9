"""The fields in which servers put a model's thinking, for which this API has no word of its own."""

from __future__ import annotations

from typing import Any

from antiphon.wire.options import Profile
from antiphon.wire.shape import arr, obj, string

#: Readable thinking; servers that use two of these say the same in both.
_TEXTS = ("reasoning_content", "reasoning", "reasoning_text")
#: Signed, encrypted or structured thinking.
_OPAQUE = ("reasoning_details", "reasoning_opaque", "thinking_blocks")
FIELDS = frozenset(_TEXTS + _OPAQUE)


def fields_of(message: dict[str, Any]) -> dict[str, Any]:
    """The reasoning fields of a message or a piece of one."""
    return {k: v for k, v in message.items() if k in FIELDS and v not in (None, "", [])}


def readable(fields: dict[str, Any]) -> str:
    """What a person can read of it."""
    for name in _TEXTS:
        if text := string(fields.get(name)):
            return text
    details = map(obj, [*arr(fields.get("reasoning_details")), *arr(fields.get("thinking_blocks"))])
    return "".join(string(d.get("text")) or string(d.get("summary")) or string(d.get("thinking")) for d in details)


def thought(block: dict[str, Any]) -> str:
    """The text of a content part that holds thinking (Mistral)."""
    inner = block.get("thinking")
    return inner if isinstance(inner, str) else "".join(string(obj(piece).get("text")) for piece in arr(inner))


def sent_back(reasoning: list[dict[str, Any]], profile: Profile) -> dict[str, Any]:
    """The fields with which an assistant message gives the thinking back."""
    if not profile.send_reasoning:
        return {}
    fields: dict[str, Any] = {}
    texts: list[str] = []
    for native in reasoning:
        for name in _OPAQUE:
            if name in native:
                fields[name] = [*arr(fields.get(name)), *arr(native[name])] or native[name]
        texts.append(_plain(native, profile.reasoning_field))
    texts = [text for text in texts if text]
    if texts or not fields:
        # DeepSeek refuses a message without the field; where the thinking is another model's, it takes an empty one.
        fields[profile.reasoning_field] = "\n\n".join(texts)
    return fields


def _plain(native: dict[str, Any], preferred: str) -> str:
    return next((text for name in (preferred, *_TEXTS) if (text := string(native.get(name)))), "")


def merged_details(details: list[Any], more: list[Any]) -> list[Any]:
    """Details that were streamed in pieces, whole again: a piece continues the last one of its kind and index."""
    for piece in map(obj, more):
        last = obj(details[-1]) if details else {}
        same = all(piece.get(key) in (None, last.get(key)) for key in ("type", "index", "id"))
        if not last or not same or piece.get("type") == "reasoning.encrypted":
            details = [*details, piece]
            continue
        grown = dict(last)
        for key, value in piece.items():
            if key in ("text", "summary") and isinstance(value, str):
                grown[key] = string(last.get(key)) + value
            elif value is not None:
                grown[key] = value
        details = [*details[:-1], grown]
    return details
