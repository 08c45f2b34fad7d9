"""Request bodies as bytes: each turn is encoded once for each target, and what is settled is only copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, Self

from antiphon._json import dumps, loads
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Conversation,
    DerivedKey,
    Reasoning,
    ToolSpec,
    Turn,
    UserTurn,
)
from antiphon.errors import OptionError

#: Said in the place of a user's turn that holds only content of another provider.
NOTHING = "(This message holds content that cannot be shown to this model.)"
#: How many hexadecimal digits of a hash are kept.
_DIGEST = 32


class Segment(NamedTuple):
    """A piece of a message. Neighbours of the same role become one message; those of role "" stay by themselves.

    `blocks` is the JSON of its content blocks, separated by commas. `text` is the inside of a JSON string with the same
    content, for APIs that take plain text too; `None` where there is more than text. `bound` is the only hash behind
    which the piece may stand; `None` where it may stand anywhere.
    """

    role: str
    blocks: bytes
    text: bytes | None = None
    bound: str | None = None


#: Bytes in pieces, to be joined only once: copying a long history costs more than encoding a new turn.
Pieces = list[bytes | bytearray]
EncodeTurn = Callable[[Turn], Iterable[Segment]]
Wrap = Callable[[Segment], bytes]


class Hash(Protocol):
    """A running hash, as those of `hashlib` are."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Self: ...


class _Chain:
    """A running hash over segments: after each of them its value, its turn, and how many bytes there were so far."""

    __slots__ = ("bytes", "digests", "hash", "left_out", "turns")

    def __init__(self, hash: Hash, size: int = 0) -> None:
        self.hash = hash
        self.bytes = size
        self.left_out = 0
        self.digests: list[bytes] = []
        self.turns: list[tuple[int, int]] = []

    def copy(self) -> _Chain:
        return _Chain(self.hash.copy(), self.bytes)

    @property
    def digest(self) -> str:
        return self.hash.hexdigest()[:_DIGEST]

    def add(self, segment: Segment, turn: int) -> None:
        # Roles and lengths part the pieces, so that no other pieces have the same hash.
        size = len(segment.blocks)
        self.hash.update(b"%s %d\n%s" % (segment.role.encode(), size, segment.blocks))
        self.bytes += size
        self.digests.append(self.hash.digest())
        self.turns.append((turn, self.bytes))


class _Fold:
    """The messages of the settled turns as bytes, and the last segment, which may still grow."""

    __slots__ = ("chain", "count", "done", "last", "pending", "seed")

    def __init__(self, seed: tuple[str, ...]) -> None:
        self.seed = seed
        self.chain = _Chain(sha256("\n".join(seed).encode()))
        self.count = 0
        self.last: Turn | None = None
        self.done = bytearray()
        self.pending: Segment | None = None

    def continues(self, turns: tuple[Turn, ...], settled: int, seed: tuple[str, ...]) -> bool:
        same = self.seed == seed and self.count <= settled
        return same and (not self.count or turns[self.count - 1] is self.last)


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a request in pieces, separated by commas, and the running hash over what they hold.

    `left_out` counts the pieces that are bound to something else than what stands before them.
    """

    pieces: Pieces
    _settled: _Chain
    _count: int
    _tail: _Chain
    left_out: int

    def __len__(self) -> int:
        return self._count + len(self._tail.digests)

    @property
    def digest(self) -> str:
        """The hash of all of it."""
        return self._tail.digest

    @property
    def bytes(self) -> int:
        """How many bytes of content there are."""
        return self._tail.bytes

    def digest_at(self, place: int) -> bytes:
        """Return the hash of the content up to a piece and with it."""
        chain, at = (self._settled, place) if place < self._count else (self._tail, place - self._count)
        return chain.digests[at]

    def turn_at(self, place: int) -> tuple[int, int]:
        """Return the number of the turn that a piece belongs to, and the bytes up to its end."""
        chain, at = (self._settled, place) if place < self._count else (self._tail, place - self._count)
        return chain.turns[at]

    def chain(self) -> _Chain:
        """Return a running hash that goes on behind all of it."""
        return self._tail.copy()


#: The encoding of a conversation, of a turn and of its tools, each by target.
_FOLD = DerivedKey[_Fold]("messages", grows=True)
_SEGMENTS = DerivedKey[tuple[Segment, ...]]("segments")
_TOOLS = DerivedKey[tuple[tuple[ToolSpec, ...], str]]("tools")


def messages(
    conversation: Conversation,
    key: str,
    encode_turn: EncodeTurn,
    wrap: Wrap,
    seed: tuple[str, ...] = (),
    *,
    nothing: Segment,
) -> Messages:
    """All messages of the conversation, separated by commas, in pieces that are copied once, into the body.

    `nothing` takes the place of what a user said of which nothing can be shown to this provider, now and later.

    Only the last two turns of a conversation can still be replaced (results arrive, texts are merged), so everything
    before them is encoded and hashed once and kept with the conversation. `seed` stands for what comes before them.
    """
    turns = conversation.turns
    settled = max(len(turns) - 2, 0)
    fold = conversation.derived.get(_FOLD, key)
    if fold is None or not fold.continues(turns, settled, seed):
        fold = conversation.derived.set(_FOLD, _Fold(seed), key)
    chain = fold.chain
    if fold.count < settled:
        fresh = turns[fold.count : settled]
        fold.pending = _fold(fresh, fold.count, key, encode_turn, wrap, fold.done, fold.pending, chain, nothing)
        fold.count, fold.last = settled, turns[settled - 1]
    tail, ends = bytearray(), chain.copy()
    pending = _fold(turns[settled:], settled, key, encode_turn, wrap, tail, fold.pending, ends, nothing)
    if pending:
        tail += wrap(pending)
    pieces: Pieces = [fold.done, tail] if tail else [bytes(fold.done).removesuffix(b",")] if fold.done else []
    return Messages(pieces, chain, len(chain.digests), ends, chain.left_out + ends.left_out)


def _fold(
    turns: Iterable[Turn],
    number: int,
    key: str,
    encode_turn: EncodeTurn,
    wrap: Wrap,
    out: bytearray,
    pending: Segment | None,
    chain: _Chain,
    nothing: Segment,
) -> Segment | None:
    for turn in turns:
        segments = turn.derived.get(_SEGMENTS, key)
        if segments is None:
            segments = tuple(encode_turn(turn))
            if not segments and isinstance(turn, UserTurn) and turn.visible_parts:
                segments = (nothing,)
            turn.derived.set(_SEGMENTS, segments, key)
        for segment in segments:
            if segment.bound is not None and segment.bound != chain.digest:
                # It is bound to something else than what stands before it here.
                chain.left_out += 1
                continue
            chain.add(segment, number)
            if pending and pending.role == segment.role != "":
                pending = _merged(pending, segment)
                continue
            if pending:
                out += wrap(pending) + b","
            pending = segment
        number += 1
    return pending


def bind(parts: Sequence[AssistantPart], before: Messages, encode_turn: EncodeTurn) -> tuple[AssistantPart, ...]:
    """Return the parts of a reply with each of its thinking blocks bound to the request and what stands before it."""
    chain, bound = before.chain(), list(parts)
    for place, part in enumerate(parts):
        if isinstance(part, Reasoning) and part.native is not None:
            bound[place] = part = replace(part, bound=chain.digest)
        for segment in encode_turn(AssistantTurn((part,))):
            chain.add(segment, 0)
    return tuple(bound)


def _merged(first: Segment, second: Segment) -> Segment:
    text = None
    if first.text is not None and second.text is not None:
        text = first.text + rb"\n\n" + second.text
    return Segment(first.role, first.blocks + b"," + second.blocks, text)


def tools_json(
    conversation: Conversation, tools: tuple[ToolSpec, ...], key: str, encode_tool: Callable[[ToolSpec], str | None]
) -> str:
    """The declarations of tools, separated by commas; encoded again only when the tools change."""
    known = conversation.derived.get(_TOOLS, key)
    if known is None or known[0] is not tools:
        declared = [text for tool in tools if (text := encode_tool(tool)) is not None]
        known = conversation.derived.set(_TOOLS, (tools, ",".join(declared)), key)
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
