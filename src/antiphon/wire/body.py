"""Request bodies as bytes: each turn is encoded once for each target, and what is settled is only copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from antiphon._json import dumps, loads
from antiphon.conversation import Conversation, ToolSpec, Turn
from antiphon.errors import OptionError


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a message. Neighbours of the same role become one message; those of role "" stay by themselves.

    `blocks` is the JSON of its content blocks, separated by commas. `text` is the inside of a JSON string with the same
    content, for APIs that take plain text too; `None` where there is more than text.
    """

    role: str
    blocks: bytes
    text: bytes | None = None


#: Bytes in pieces, to be joined only once: copying a long history costs more than encoding a new turn.
Pieces = list[bytes | bytearray]
EncodeTurn = Callable[[Turn], Iterable[Segment]]
Wrap = Callable[[Segment], bytes]


class _Fold:
    """The messages of the settled turns as bytes, and the last segment, which may still grow."""

    __slots__ = ("count", "done", "last", "pending")

    def __init__(self) -> None:
        self.count = 0
        self.last: Turn | None = None
        self.done = bytearray()
        self.pending: Segment | None = None

    def continues(self, turns: tuple[Turn, ...], settled: int) -> bool:
        return self.count <= settled and (not self.count or turns[self.count - 1] is self.last)


def messages(conversation: Conversation, key: str, encode_turn: EncodeTurn, wrap: Wrap) -> Pieces:
    """All messages of the conversation, separated by commas, in pieces that are copied once, into the body.

    Only the last two turns of a conversation can still be replaced (results arrive, texts are merged), so everything
    before them is encoded once and kept with the conversation.
    """
    turns = conversation.turns
    settled = max(len(turns) - 2, 0)
    fold: _Fold | None = conversation.memo.get(key)
    if fold is None or not fold.continues(turns, settled):
        fold = conversation.memo[key] = _Fold()
    if fold.count < settled:
        fold.pending = _fold(turns[fold.count : settled], key, encode_turn, wrap, fold.done, fold.pending)
        fold.count, fold.last = settled, turns[settled - 1]
    tail = bytearray()
    pending = _fold(turns[settled:], key, encode_turn, wrap, tail, fold.pending)
    if pending:
        tail += wrap(pending)
    if tail:
        return [fold.done, tail]
    return [bytes(fold.done).removesuffix(b",")] if fold.done else []


def _fold(
    turns: Iterable[Turn], key: str, encode_turn: EncodeTurn, wrap: Wrap, out: bytearray, pending: Segment | None
) -> Segment | None:
    for turn in turns:
        segments: tuple[Segment, ...] | None = turn.memo.get(key)
        if segments is None:
            segments = turn.memo[key] = tuple(encode_turn(turn))
        for segment in segments:
            if pending and pending.role == segment.role != "":
                pending = _merged(pending, segment)
                continue
            if pending:
                out += wrap(pending) + b","
            pending = segment
    return pending


def _merged(first: Segment, second: Segment) -> Segment:
    text = None
    if first.text is not None and second.text is not None:
        text = first.text + rb"\n\n" + second.text
    return Segment(first.role, first.blocks + b"," + second.blocks, text)


def tools_json(conversation: Conversation, key: str, encode_tool: Callable[[ToolSpec], str | None]) -> str:
    """The declarations of the tools in force, separated by commas; encoded again only when the tools change."""
    memo_key = ("tools", key)
    known: tuple[tuple[ToolSpec, ...], str] | None = conversation.memo.get(memo_key)
    if known is None or known[0] is not conversation.tools:
        declared = [text for tool in conversation.tools if (text := encode_tool(tool)) is not None]
        known = conversation.memo[memo_key] = (conversation.tools, ",".join(declared))
    return known[1]


#: Where the assistant speaks first, this is said before it, where the API wants the user first. Recordings show that
#: Anthropic and OpenAI take such a history as it is.
_OPENINGS = {"gemini": "(The conversation begins with the assistant.)"}


def opening(messages: Pieces, api: str) -> str:
    """What the user is made to say before messages that begin with the assistant's, where the API wants it."""
    start = next((piece for piece in messages if piece), b"")
    return _OPENINGS.get(api, "") if start.startswith((b'{"role":"assistant"', b'{"role":"model"')) else ""


def assemble(fields: dict[str, Any], lists: dict[str, Pieces], **raw: str) -> bytes:
    """One JSON object from ordinary fields, from values that are JSON already, and from lists in pieces.

    `extra` is among the fields. Tools in it are declared behind those of the conversation; anything else that the
    conversation says must not be said in it a second time.
    """
    for name in sorted(fields.keys() & (raw.keys() | lists.keys())):
        if name != "tools" or not isinstance(fields[name], list):
            raise OptionError(
                f"`extra` holds `{name}`, which the conversation says itself; {_INSTEAD.get(name, _LEAVE)}"
            )
        more = fields[name]
        fields = {k: v for k, v in fields.items() if k != name}
        if more:
            raw[name] = f"{raw[name][:-1]},{dumps(more)[1:]}"
    texts = [f"{dumps(name)}:{dumps(value)}" for name, value in fields.items()]
    texts += [f'"{name}":{value}' for name, value in raw.items()]
    pieces: Pieces = [("{" + ",".join(texts)).encode()]
    for name, value in lists.items():
        pieces += [f'{"," if texts else ""}"{name}":['.encode(), *value, b"]"]
    return b"".join([*pieces, b"}"])


_LEAVE = "leave it out, and add to the conversation what is to be sent"
_SYSTEM = "leave one of them out; the system text is the conversation's `system`"
_INSTEAD = {
    "system": _SYSTEM,
    "instructions": _SYSTEM,
    "systemInstruction": _SYSTEM,
    "tools": "there it is a list, whose tools are declared too",
}


def parsed(pieces: Pieces) -> list[Any]:
    """A list in pieces as data."""
    return loads(b"".join([b"[", *pieces, b"]"]))
