"""Fields in which servers return a model's thinking, for which this API defines none."""

from __future__ import annotations

from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.accumulate import append_text
from antiphon.wire.options import Profile

#: Readable thinking; servers that use two of these fields repeat the text.
_TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
#: Signed, encrypted or structured thinking.
_OPAQUE_FIELDS = ("reasoning_details", "reasoning_opaque", "thinking_blocks")
REASONING_FIELDS = frozenset(_TEXT_FIELDS + _OPAQUE_FIELDS)
#: Fields that are lists, whose members are streamed in pieces.
REASONING_LIST_FIELDS = ("reasoning_details", "thinking_blocks")


def extract_reasoning_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return the reasoning fields of a message or of a delta."""
    return {k: v for k, v in message.items() if k in REASONING_FIELDS and v not in (None, "", [])}


def extract_reasoning_text(fields: dict[str, Any]) -> str:
    """Return the readable text of the reasoning fields."""
    for name in _TEXT_FIELDS:
        if text := _extract_text(fields.get(name)):
            return text
    details = map(as_object, [detail for name in REASONING_LIST_FIELDS for detail in as_array(fields.get(name))])
    return "".join(
        as_string(d.get("text")) or as_string(d.get("summary")) or as_string(d.get("thinking")) for d in details
    )


def _extract_text(value: object) -> str:
    """Return the text of a field. Some servers wrap it in an object or a list."""
    pieces: list[object] = as_array(value) or [value]
    return "".join(as_string(piece) or _find_text(as_object(piece)) for piece in pieces)


def _find_text(held: dict[str, Any]) -> str:
    return next(
        (text for name in ("text", "content", "summary", "thinking") if (text := as_string(held.get(name)))), ""
    )


def extract_thinking_text(block: dict[str, Any]) -> str:
    """Return the text of a content part that holds thinking (Mistral)."""
    inner = block.get("thinking")
    return (
        inner
        if isinstance(inner, str)
        else "".join(as_string(as_object(piece).get("text")) for piece in as_array(inner))
    )


def build_reasoning_fields(reasoning: list[dict[str, Any]], profile: Profile, calls: bool) -> dict[str, Any]:
    """Return the fields with which an assistant message sends thinking back, in the server's own form."""
    fields: dict[str, Any] = {}
    for native in reasoning:
        name, value = _choose_field(native, profile.reasoning_fields)
        if isinstance(fields.get(name), str) and isinstance(value, str):
            fields[name] += "\n\n" + value
        elif name:
            fields[name] = [*as_array(fields.get(name)), *as_array(value)] or value
    if calls and not fields and profile.reasoning_required:
        fields[profile.reasoning_fields[0]] = ""
    return fields


def _choose_field(native: dict[str, Any], fields: tuple[str, ...]) -> tuple[str, Any]:
    """Return the preferred field in which the thinking came, or its text in the server's text field."""
    for name in fields:
        if name in native:
            return name, native[name]
    text = next((text for name in _TEXT_FIELDS if (text := _extract_text(native.get(name)))), "")
    name = next((name for name in fields if name in _TEXT_FIELDS), "")
    return (name, text) if text else ("", None)


def merge_reasoning_details(details: list[Any], more: list[Any]) -> list[Any]:
    """Join streamed pieces of details. A piece extends the last one of its type and index."""
    grown = [*details]
    for piece in map(as_object, more):
        place = next((n for n in reversed(range(len(grown))) if _is_continuation(piece, as_object(grown[n]))), None)
        if place is None or (piece.get("index") is None and place < len(grown) - 1):
            grown.append(piece)
        else:
            grown[place] = _extend_detail(as_object(grown[place]), piece)
    return grown


def _is_continuation(piece: dict[str, Any], detail: dict[str, Any]) -> bool:
    same = all(piece.get(key) in (None, detail.get(key)) for key in ("type", "index", "id"))
    # Encrypted data is never split, and a signature ends its detail.
    whole = "data" in piece or (bool(detail.get("signature")) and piece.get("index") is None)
    return same and bool(detail) and not whole


def _extend_detail(detail: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any]:
    whole = dict(detail)
    for key, value in piece.items():
        if key in ("text", "summary", "thinking") and isinstance(value, str):
            whole[key] = append_text(detail.get(key), value)
        elif value is not None or key not in whole:
            whole[key] = value
    return whole
