"""The prompt of a request as the server renders it: pieces in order, compared for bound reasoning and for the cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import arr, obj
from antiphon.fakes.signing import digest

_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a prompt. `data` is the block as it came; `key` is what is compared of it."""

    key: bytes
    path: str
    kind: str
    tokens: int
    data: dict[str, Any]
    #: The lifetime of the cache's mark on it, or "".
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: what stands before the messages, by name, and the pieces of all of it in order."""

    heads: dict[str, bytes]
    front: list[Piece]
    messages: list[Piece] = field(default_factory=list[Piece])

    @property
    def pieces(self) -> list[Piece]:
        """Return all pieces in the order of the prompt."""
        return [*self.front, *self.messages]


def make_piece(value: object, path: str = "", kind: str = "", data: dict[str, Any] | None = None) -> Piece:
    """Return the piece of a JSON value. Marks of the cache and fields that are null are not compared."""
    bare = _bare(value)
    mark = obj(value).get("cache_control")
    ttl = str(obj(mark).get("ttl") or "5m") if mark is not None else ""
    return Piece(digest(bare), path, kind, len(dumps(cast(Any, bare))) // _TOKEN + 1, data or obj(value), ttl)


def _bare(value: object) -> object:
    if isinstance(value, dict):
        inside = cast(dict[str, Any], value)
        return {key: _bare(each) for key, each in inside.items() if key != "cache_control" and each is not None}
    if isinstance(value, list):
        return [_bare(each) for each in cast(list[Any], value)]
    return value


def render_messages(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a Messages request: tools, system, form, and the blocks of all messages."""
    tools = [make_piece(tool, kind="tool") for tool in arr(body.get("tools"))]
    system = [make_piece(block, kind="system") for block in _blocks(body.get("system"))]
    form = obj(body.get("output_config")).get("format")
    heads = {"model": digest(body.get("model")), "tools": _joined(tools), "system": _joined(system)}
    front = [*tools, *system, *([make_piece(form, kind="format")] if form else [])]
    return Prompt(heads, front, list(_message_pieces(body)))


def _message_pieces(body: dict[str, Any]) -> Iterator[Piece]:
    for index, message in enumerate(map(obj, arr(body.get("messages")))):
        role = message.get("role")
        for place, block in enumerate(_blocks(message.get("content"))):
            data = obj(block)
            if data.get("type") == "tool_result":
                data = data | {"content": _blocks(data.get("content"))}
            path = f"messages.{index}.content.{place}"
            # A neighbour of the same role may be joined to it: whose words they are is all that counts.
            piece = make_piece(data | {"role": role}, path, str(data.get("type")), data)
            yield piece


def _blocks(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return arr(content)


def _joined(pieces: list[Piece]) -> bytes:
    return digest([piece.key.hex() for piece in pieces])


def render_completion(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a Chat Completions request."""
    front = {"tools": body.get("tools"), "format": body.get("response_format"), "effort": body.get("reasoning_effort")}
    return _prompt(body.get("model"), front, arr(body.get("messages")))


def render_response(body: dict[str, Any], items: list[Any]) -> Prompt:
    """Return the prompt of a Responses request whose input, with all that is stored, is `items`."""
    text = obj(body.get("text"))
    front = {
        "prompt_cache_key": body.get("prompt_cache_key"),
        "tools": arr(body.get("tools")),
        "text_format": text.get("format") if obj(text.get("format")).get("type") != "text" else None,
        "reasoning_effort": obj(body.get("reasoning")).get("effort"),
        "verbosity": text.get("verbosity"),
        "service_tier": body.get("service_tier"),
        "instructions": body.get("instructions"),
    }
    return _prompt(body.get("model"), front, [_plain_item(obj(item)) for item in items])


def _plain_item(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item without what a server adds to it: its id, its status, and the notes on its text."""
    bare = {key: value for key, value in item.items() if key not in ("id", "status", "phase", "encrypted_content")}
    if item.get("type") == "reasoning":
        return item
    if "role" in bare:
        bare["type"] = "message"
        parts = [{"text": bare["content"]}] if isinstance(bare.get("content"), str) else arr(bare.get("content"))
        notes = ("annotations", "logprobs", "type")
        bare["content"] = [{key: value for key, value in obj(part).items() if key not in notes} for part in parts]
    return bare


def render_contents(body: dict[str, Any], model: str, contents: list[dict[str, Any]]) -> Prompt:
    """Return the prompt of a generateContent request."""
    config = obj(body.get("generationConfig") or body.get("generation_config"))
    front = {
        "tools": body.get("tools"),
        "system": body.get("systemInstruction") or body.get("system_instruction"),
        "form": config.get("responseJsonSchema"),
    }
    parts = [{"role": content.get("role"), "part": part} for content in contents for part in _parts(content)]
    return _prompt(model, front, parts)


def _parts(content: dict[str, Any]) -> list[Any]:
    parts = content.get("parts")
    return [parts] if isinstance(parts, dict) else arr(parts)


def _prompt(model: object, front: Mapping[str, object], messages: list[Any]) -> Prompt:
    pieces = {name: make_piece(value, kind=name) for name, value in front.items()}
    heads = {"model": digest(model)} | {name: piece.key for name, piece in pieces.items()}
    shown = [piece for name, piece in pieces.items() if front[name]]
    return Prompt(heads, shown, [make_piece(each, kind=str(obj(each).get("type"))) for each in messages])
