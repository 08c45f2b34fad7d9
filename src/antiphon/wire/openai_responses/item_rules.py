"""Rules for which items a request may hold: stored state, pairs of calls and outputs, and repeated
ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    DerivedKey,
    OpaquePart,
    ProviderPayload,
    ServerCall,
    ServerResult,
    Turn,
)
from antiphon.wire.openai_responses import SPEC
from antiphon.wire.options import Target

API = SPEC.name

#: Types of calls that the client answers, besides functions, and the types of their outputs.
CLIENT_CALLS = {
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
}
_OUTPUT_TYPES = {*CLIENT_CALLS.values(), "function_call_output"}
#: Calls that some servers answer themselves: xAI's search of X looks like a custom tool.
_SERVER_ANSWERED = {("xai", "custom_tool_call")}
#: Providers that reject repeated item ids (R9); xAI repeats ids in its own items.
_UNIQUE_IDS = ("openai", "azure")
_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ItemRules:
    """The target of a request, and which items cannot be sent unchanged."""

    target: Target
    #: Whether the server may have stored items of this conversation and can look up their ids.
    stored: bool
    #: Ids of client calls and outputs, other than functions', whose counterpart is not in the request.
    unpaired: frozenset[str]
    #: Ids of items that occur in the conversation more than once (R9).
    repeated: frozenset[str]

    @property
    def key(self) -> str:
        """The key under which a turn caches its encoding. It covers everything that affects the encoding."""
        lost = " ".join((*sorted(self.unpaired), "/", *sorted(self.repeated)))
        return f"{self.target.key} {'stored' if self.stored else ''} {lost}"

    def ours(self, native: ProviderPayload | None) -> dict[str, Any] | None:
        """Return the original data of a part if it came from this provider, else None."""
        if native and native.origin.api == API and native.origin.provider == self.target.provider:
            return native.data
        return None

    def can_keep_id(self, native: ProviderPayload, prefix: str) -> bool:
        """Return whether an item is sent with its id.

        The server then requires the reasoning before it too (R4), which only the same model gets. R6,
        R7 and R9 restrict ids.
        """
        id: object = native.data.get("id")
        if not self.stored or not isinstance(id, str) or native.origin != self.target.origin:
            return False
        return id.startswith(prefix) and _ID.fullmatch(id) is not None and id not in self.repeated

    def can_send(self, part: OpaquePart | ServerCall | ServerResult) -> bool:
        """Return whether an item of this API is sent unchanged."""
        native = part.native
        data = self.ours(native)
        if native is None or data is None or as_string(data.get("id")) in self.repeated:
            return False
        opaque = "encrypted_content" in data or "fingerprint" in data
        if opaque and native.origin != self.target.origin:
            return False
        if get_item_type(data) == "item_reference":
            return self.stored
        return get_client_call_id(data, self.target.provider) not in self.unpaired


def get_item_type(item: Mapping[str, Any]) -> str:
    """Return the type of an item. Messages and references may come without one."""
    kind: object = item.get("type")
    if kind is not None:
        return kind if isinstance(kind, str) else ""
    return "message" if "role" in item else "item_reference" if "id" in item else ""


def get_client_call_id(item: Mapping[str, Any], provider: str) -> str:
    """Return the id that pairs a client's call and output, or "" for items that the server handles itself."""
    kind = get_item_type(item)
    served = (provider, kind) in _SERVER_ANSWERED or item.get("execution") == "server"
    served = served or as_object(item.get("environment")).get("type") == "container_reference"
    if served or not (kind in CLIENT_CALLS or kind in _OUTPUT_TYPES):
        return ""
    # The output of a local shell names its call by another field.
    return as_string(item.get("call_id")) or (as_string(item.get("id")) if kind == "local_shell_call_output" else "")


def continues_stored(fields: Mapping[str, Any]) -> bool:
    """Return whether a request continues a response stored on the server."""
    return fields.get("previous_response_id") is not None or fields.get("conversation") is not None


@dataclass(slots=True)
class _ItemIndex:
    """Index of some turns: calls and outputs as pairs of call id and item id, and all item ids."""

    count: int = 0
    last: Turn | None = None
    calls: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    outputs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    ids: set[str] = field(default_factory=set[str])
    repeated: set[str] = field(default_factory=set[str])
    #: Items that refer to others stored on the server: type and id.
    hints: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add(self, turns: Iterable[Turn], terms: ItemRules) -> None:
        for turn in turns:
            results = turn.results if isinstance(turn, AssistantTurn) else ()
            for part in (*turn.parts, *results):
                native: ProviderPayload | None = getattr(part, "native", None)
                if native is None or (data := terms.ours(native)) is None:
                    continue
                id: object = data.get("id")
                if id and isinstance(id, str) and terms.target.provider in _UNIQUE_IDS:
                    (self.repeated if id in self.ids else self.ids).add(id)
                if isinstance(part, OpaquePart | ServerCall | ServerResult):
                    self.add_item(part, data, terms)

    def add_item(self, part: OpaquePart | ServerCall | ServerResult, data: dict[str, Any], terms: ItemRules) -> None:
        kind, item_id = get_item_type(data), as_string(data.get("id"))
        if kind in ("item_reference", "compaction") and terms.can_send(part):
            self.hints.add((kind, item_id))
        if id := get_client_call_id(data, terms.target.provider):
            (self.calls if kind in CLIENT_CALLS else self.outputs).add((id, item_id))


_FACTS = DerivedKey[_ItemIndex]("item facts", grows=True)


def build_item_rules(conversation: Conversation, target: Target, fields: Mapping[str, Any]) -> ItemRules:
    """Return the item rules of a request with these fields."""
    turns = conversation.turns
    stored = fields.get("store") is not False or continues_stored(fields)
    bare = ItemRules(target, stored, frozenset(), frozenset())
    # Only the last two turns can still change, so the others are indexed once.
    settled = max(len(turns) - 2, 0)
    key = (_FACTS, bare.key)
    known = conversation.derived.get(key)
    if known is None or known.count > settled or (known.count and turns[known.count - 1] is not known.last):
        known = conversation.derived[key] = _ItemIndex()
    known.add(turns[known.count : settled], bare)
    known.count, known.last = settled, turns[settled - 1] if settled else None
    fresh = _ItemIndex()
    fresh.add(turns[settled:], bare)
    repeated = frozenset(known.repeated | fresh.repeated | (known.ids & fresh.ids))
    return ItemRules(target, stored, _find_unpaired(known, fresh, repeated, fields), repeated)


def _find_unpaired(
    known: _ItemIndex, fresh: _ItemIndex, repeated: frozenset[str], fields: Mapping[str, Any]
) -> frozenset[str]:
    """Return the ids of client calls and outputs that must be dropped with their counterpart (R1, R2)."""
    calls = {id for id, item in known.calls | fresh.calls if item not in repeated}
    outputs = {id for id, item in known.outputs | fresh.outputs if item not in repeated}
    kinds = {kind for kind, item in known.hints | fresh.hints if item not in repeated}
    if "item_reference" in kinds:
        return frozenset()
    if continues_stored(fields) or "compaction" in kinds:
        return frozenset(calls - outputs)
    return frozenset(calls ^ outputs)
