"""Incremental encoding of request bodies: each turn is encoded once per target, and settled turns are
only copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, Self

from antiphon._base.json import dump_json, load_json
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
from antiphon.errors import ContentError, OptionError

#: Text that replaces a user turn which holds only another provider's content.
UNSHOWABLE_TEXT = "(This message holds content that cannot be shown to this model.)"
#: Number of hexadecimal digits kept of a hash.
_DIGEST_LENGTH = 32


class MessageSegment(NamedTuple):
    """A piece of a message. Adjacent segments of one role are merged; those of role "" stay separate.

    `blocks` is the JSON of its content blocks, separated by commas. `text` is the inside of a JSON
    string with the same content, for APIs that also take plain text, or None if there is more than
    text. `bound` is the only prefix hash after which the segment may appear, or None if it may appear
    anywhere.
    """

    role: str
    blocks: bytes
    text: bytes | None = None
    bound: str | None = None


#: Bytes in chunks, joined only once: copying a long history costs more than encoding a new turn.
BodyChunks = list[bytes | bytearray]
TurnEncoder = Callable[[Turn], Iterable[MessageSegment]]
SegmentWrapper = Callable[[MessageSegment], bytes]


class RunningHash(Protocol):
    """Protocol of a running hash, as in `hashlib`."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Self: ...


#: How a segment enters a hash. Roles and lengths delimit the segments, so different segments never hash alike.
_HASHED_SEGMENT = b"%s %d\n%s"


class _HashChain:
    """A running hash over segments, with its value, turn and byte count after each segment."""

    __slots__ = ("bytes", "digests", "hash", "joined", "left_out", "turns")

    def __init__(self, hash: RunningHash, size: int = 0) -> None:
        self.hash = hash
        self.bytes = size
        self.left_out = 0
        self.digests: list[bytes] = []
        #: The places of segments whose text was joined to the text before it.
        self.joined: set[int] = set()
        self.turns: list[tuple[int, int]] = []


class _EncodedPrefix:
    """The encoded messages of the settled turns, and the last segment, which may still grow."""

    __slots__ = ("chain", "count", "done", "last", "pending", "seed")

    def __init__(self, seed: tuple[str, ...]) -> None:
        self.seed = seed
        self.chain = _HashChain(sha256("\n".join(seed).encode()))
        self.count = 0
        self.last: Turn | None = None
        self.done = bytearray()
        self.pending: MessageSegment | None = None

    def continues(self, turns: tuple[Turn, ...], settled: int, seed: tuple[str, ...]) -> bool:
        same = self.seed == seed and self.count <= settled
        return same and (not self.count or turns[self.count - 1] is self.last)


@dataclass(frozen=True, slots=True)
class EncodedMessages:
    """The encoded messages of a request in pieces, separated by commas, and the running hash over their
    content.

    `left_out` counts the segments omitted because they are bound to another prefix.
    """

    pieces: BodyChunks
    _settled: _HashChain
    _settled_count: int
    _tail: _HashChain
    left_out: int
    #: The number of segments.
    count: int

    @property
    def digest(self) -> str:
        """The hash of all content."""
        return self._tail.hash.hexdigest()[:_DIGEST_LENGTH]

    @property
    def bytes(self) -> int:
        """The number of content bytes."""
        return self._tail.bytes

    def digest_at(self, place: int) -> bytes:
        """Return the hash of the content up to and including a segment."""
        chain, at = (self._settled, place) if place < self._settled_count else (self._tail, place - self._settled_count)
        return chain.digests[at]

    def turn_at(self, place: int) -> tuple[int, int]:
        """Return the number of a segment's turn, and the bytes up to the segment's end."""
        chain, at = (self._settled, place) if place < self._settled_count else (self._tail, place - self._settled_count)
        return chain.turns[at]

    def is_joined(self, place: int) -> bool:
        """Return whether a segment is part of a text that began with the segment before it."""
        if place < self._settled_count:
            return place in self._settled.joined
        return place - self._settled_count in self._tail.joined

    def continue_hash(self) -> RunningHash:
        """Return a running hash that continues after all content."""
        return self._tail.hash.copy()


#: The encoding of a conversation, of a turn and of its tools, each by target.
_FOLD = DerivedKey[_EncodedPrefix]("messages", grows=True)
_SEGMENTS = DerivedKey[tuple[MessageSegment, ...]]("segments")
_TOOLS = DerivedKey[tuple[tuple[ToolSpec, ...], str]]("tools")


def encode_messages(
    conversation: Conversation,
    key: str,
    encode_turn: TurnEncoder,
    wrap: SegmentWrapper,
    seed: tuple[str, ...] = (),
    *,
    nothing: MessageSegment,
) -> EncodedMessages:
    """Encode all messages of the conversation in chunks that are copied once, into the body.

    `nothing` replaces a user turn of which nothing can be sent to this provider. Only the last two
    turns of a conversation can still change, because results arrive and texts are merged. So all
    earlier turns are encoded and hashed once and cached with the conversation. `seed` is the content
    before the messages.
    """
    turns = conversation.turns
    settled = max(len(turns) - 2, 0)
    fold = conversation.derived.get((_FOLD, key))
    if fold is None or not fold.continues(turns, settled, seed):
        fold = conversation.derived[_FOLD, key] = _EncodedPrefix(seed)
    chain = fold.chain
    if fold.count < settled:
        fresh = turns[fold.count : settled]
        fold.pending = _append_turns(fresh, fold.count, key, encode_turn, wrap, fold.done, fold.pending, chain, nothing)
        fold.count, fold.last = settled, turns[settled - 1]
    tail, ends = bytearray(), _HashChain(chain.hash.copy(), chain.bytes)
    pending = _append_turns(turns[settled:], settled, key, encode_turn, wrap, tail, fold.pending, ends, nothing)
    if pending:
        tail += wrap(pending)
    pieces: BodyChunks = [fold.done, tail] if tail else [bytes(fold.done).removesuffix(b",")] if fold.done else []
    settled_count = len(chain.digests)
    left_out = chain.left_out + ends.left_out
    return EncodedMessages(pieces, chain, settled_count, ends, left_out, settled_count + len(ends.digests))


def _append_turns(
    turns: Iterable[Turn],
    number: int,
    key: str,
    encode_turn: TurnEncoder,
    wrap: SegmentWrapper,
    out: bytearray,
    pending: MessageSegment | None,
    chain: _HashChain,
    nothing: MessageSegment,
) -> MessageSegment | None:
    for turn in turns:
        segments = turn.derived.get((_SEGMENTS, key))
        if segments is None:
            try:
                segments = tuple(encode_turn(turn))
            except RecursionError:
                raise ContentError(f"the content of turn {number + 1} is nested too deeply for JSON") from None
            if not segments and isinstance(turn, UserTurn) and turn.visible_parts:
                segments = (nothing,)
            turn.derived[_SEGMENTS, key] = segments
        for segment in segments:
            if segment.bound is not None and segment.bound != chain.hash.hexdigest()[:_DIGEST_LENGTH]:
                # It is bound to another prefix than the one before it here.
                chain.left_out += 1
                continue
            size = len(segment.blocks)
            chain.hash.update(_HASHED_SEGMENT % (segment.role.encode(), size, segment.blocks))
            chain.bytes += size
            chain.digests.append(chain.hash.digest())
            chain.turns.append((number, chain.bytes))
            if pending and pending.role == segment.role != "":
                pending = _merge_segments(pending, segment)
                if pending.text is not None:
                    chain.joined.add(len(chain.digests) - 1)
                continue
            if pending:
                out += wrap(pending) + b","
            pending = segment
        number += 1
    return pending


def bind_thinking(
    parts: Sequence[AssistantPart], before: EncodedMessages, encode_turn: TurnEncoder
) -> tuple[AssistantPart, ...]:
    """Return the parts of a reply with each thinking block bound to the request and the parts before it."""
    places = [place for place, part in enumerate(parts) if isinstance(part, Reasoning) and part.native is not None]
    if not places:
        return tuple(parts)
    hash, bound = before.continue_hash(), list(parts)
    # What follows the last thinking binds nothing.
    for place in range(places[-1] + 1):
        if place in places:
            bound[place] = replace(bound[place], bound=hash.hexdigest()[:_DIGEST_LENGTH])
        if place < places[-1]:
            for segment in encode_turn(AssistantTurn((bound[place],))):
                hash.update(_HASHED_SEGMENT % (segment.role.encode(), len(segment.blocks), segment.blocks))
    return tuple(bound)


def _merge_segments(first: MessageSegment, second: MessageSegment) -> MessageSegment:
    text = None
    if first.text is not None and second.text is not None:
        text = first.text + rb"\n\n" + second.text
    return MessageSegment(first.role, first.blocks + b"," + second.blocks, text)


def encode_tools(
    conversation: Conversation, tools: tuple[ToolSpec, ...], key: str, encode_tool: Callable[[ToolSpec], str | None]
) -> str:
    """Return the tool declarations, separated by commas. Encode them again only when the tools change."""
    known = conversation.derived.get((_TOOLS, key))
    if known is None or known[0] is not tools:
        declared = [text for tool in tools if (text := encode_tool(tool)) is not None]
        known = conversation.derived[_TOOLS, key] = (tools, ",".join(declared))
    return known[1]


def assemble_body(fields: dict[str, Any], lists: dict[str, BodyChunks], **raw: str) -> bytes:
    """Return one JSON object from plain fields, from values that are JSON already, and from chunked lists.

    `extra` is among the fields. Its tools are declared after those of the conversation. Any other field
    that the conversation sets itself raises OptionError.
    """
    for name in sorted(fields.keys() & (raw.keys() | lists.keys())):
        if name != "tools" or not isinstance(fields[name], list):
            raise OptionError(
                f"`extra` holds `{name}`, which the conversation says itself; {_INSTEAD.get(name, _LEAVE)}"
            )
        more = fields[name]
        fields = {k: v for k, v in fields.items() if k != name}
        if more:
            raw[name] = f"{raw[name][:-1]},{dump_json(more)[1:]}"
    texts = [dump_json(fields)[1:-1]] if fields else []
    texts += [f'"{name}":{value}' for name, value in raw.items()]
    pieces: BodyChunks = [("{" + ",".join(texts)).encode()]
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


def parse_chunks(pieces: BodyChunks) -> list[Any]:
    """Parse a chunked list as JSON data."""
    return load_json(b"".join([b"[", *pieces, b"]"]))
