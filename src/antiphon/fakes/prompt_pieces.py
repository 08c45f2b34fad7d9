"""The prompt of a request as a sequence of pieces, for bound reasoning and the prompt cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object
from antiphon.fakes.signatures import hash_json

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """One piece of a prompt. `data` is the block as it was sent; `key` is its hash for comparisons."""

    key: bytes
    path: str
    kind: str
    tokens: int
    data: dict[str, Any]
    #: The lifetime of its cache mark, or "".
    mark: str = ""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A rendered prompt: hashes of the parts before the messages by name, and all pieces in order."""

    heads: dict[str, bytes]
    front: list[PromptPiece]
    messages: list[PromptPiece] = field(default_factory=list[PromptPiece])

    @property
    def pieces(self) -> list[PromptPiece]:
        """All pieces in the order of the prompt."""
        return [*self.front, *self.messages]


def make_piece(value: object, path: str = "", kind: str = "", data: dict[str, Any] | None = None) -> PromptPiece:
    """Return the piece of a JSON value. Cache marks and null fields do not affect its key."""
    bare = _strip_ignored(value)
    mark = as_object(value).get("cache_control")
    ttl = str(as_object(mark).get("ttl") or "5m") if mark is not None else ""
    return PromptPiece(
        hash_json(bare),
        path,
        kind,
        len(dump_json(cast(Any, bare))) // _CHARACTERS_PER_TOKEN + 1,
        data or as_object(value),
        ttl,
    )


def _strip_ignored(value: object) -> object:
    if isinstance(value, dict):
        inside = cast(dict[str, Any], value)
        return {
            key: _strip_ignored(each) for key, each in inside.items() if key != "cache_control" and each is not None
        }
    if isinstance(value, list):
        return [_strip_ignored(each) for each in cast(list[Any], value)]
    return value


def render_messages(body: dict[str, Any]) -> RenderedPrompt:
    """Return the prompt of a Messages request: tools, system, output format, and the blocks of all messages."""
    tools = [make_piece(tool, kind="tool") for tool in as_array(body.get("tools"))]
    system = [make_piece(block, kind="system") for block in _as_blocks(body.get("system"))]
    form = as_object(body.get("output_config")).get("format")
    heads = {"model": hash_json(body.get("model")), "tools": _hash_pieces(tools), "system": _hash_pieces(system)}
    front = [*tools, *system, *([make_piece(form, kind="format")] if form else [])]
    return RenderedPrompt(heads, front, list(_iter_message_pieces(body)))


def _iter_message_pieces(body: dict[str, Any]) -> Iterator[PromptPiece]:
    for index, message in enumerate(map(as_object, as_array(body.get("messages")))):
        role = message.get("role")
        for place, block in enumerate(_as_blocks(message.get("content"))):
            data = as_object(block)
            if data.get("type") == "tool_result":
                data = data | {"content": _as_blocks(data.get("content"))}
            path = f"messages.{index}.content.{place}"
            # Adjacent messages of the same role may be merged, so only the role matters, not the message.
            piece = make_piece(data | {"role": role}, path, str(data.get("type")), data)
            yield piece


def _as_blocks(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return as_array(content)


def _hash_pieces(pieces: list[PromptPiece]) -> bytes:
    return hash_json([piece.key.hex() for piece in pieces])


def render_completion(body: dict[str, Any]) -> RenderedPrompt:
    """Return the prompt of a Chat Completions request."""
    front = {"tools": body.get("tools"), "format": body.get("response_format"), "effort": body.get("reasoning_effort")}
    return build_prompt(body.get("model"), front, as_array(body.get("messages")))


def render_response(body: dict[str, Any], items: list[Any]) -> RenderedPrompt:
    """Return the prompt of a Responses request whose input, with all that is stored, is `items`."""
    text = as_object(body.get("text"))
    front = {
        "prompt_cache_key": body.get("prompt_cache_key"),
        "tools": as_array(body.get("tools")),
        "text_format": text.get("format") if as_object(text.get("format")).get("type") != "text" else None,
        "reasoning_effort": as_object(body.get("reasoning")).get("effort"),
        "verbosity": text.get("verbosity"),
        "service_tier": body.get("service_tier"),
        "instructions": body.get("instructions"),
    }
    return build_prompt(body.get("model"), front, [_strip_item(as_object(item)) for item in items])


def _strip_item(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item without server-side fields: its id, its status, and annotations of its text."""
    bare = {key: value for key, value in item.items() if key not in ("id", "status", "phase", "encrypted_content")}
    if item.get("type") == "reasoning":
        return item
    if "role" in bare:
        bare["type"] = "message"
        parts = [{"text": bare["content"]}] if isinstance(bare.get("content"), str) else as_array(bare.get("content"))
        notes = ("annotations", "logprobs", "type")
        bare["content"] = [{key: value for key, value in as_object(part).items() if key not in notes} for part in parts]
    return bare


def render_contents(body: dict[str, Any], model: str, contents: list[dict[str, Any]]) -> RenderedPrompt:
    """Return the prompt of a generateContent request."""
    config = as_object(body.get("generationConfig") or body.get("generation_config"))
    front = {
        "tools": body.get("tools"),
        "system": body.get("systemInstruction") or body.get("system_instruction"),
        "form": config.get("responseJsonSchema"),
    }
    parts: list[dict[str, Any]] = []
    for content in contents:
        one = as_object(content.get("parts"))
        inside = [one] if one else as_array(content.get("parts"))
        parts += [{"role": content.get("role"), "part": part} for part in inside]
    return build_prompt(model, front, parts)


def build_prompt(model: object, front: Mapping[str, object], messages: list[Any]) -> RenderedPrompt:
    """Return the prompt of its front by name and of its messages."""
    pieces = {name: make_piece(value, kind=name) for name, value in front.items()}
    heads = {"model": hash_json(model)} | {name: piece.key for name, piece in pieces.items()}
    shown = [piece for name, piece in pieces.items() if front[name]]
    return RenderedPrompt(heads, shown, [make_piece(each, kind=str(as_object(each).get("type"))) for each in messages])
