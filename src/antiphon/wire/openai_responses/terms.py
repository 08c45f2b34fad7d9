"""On what terms items may stand in a request: what the server remembers, what is paired, which ids are used twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon._shape import obj, string
from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    DerivedKey,
    Foreign,
    Native,
    ServerCall,
    ServerResult,
    Turn,
)
from antiphon.wire.options import Target

API = "openai-responses"

#: Calls that the client answers, besides functions, and what their answers are called.
CLIENT_CALLS = {
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
}
_ANSWERS = {*CLIENT_CALLS.values(), "function_call_output"}
#: Calls that some servers answer themselves: xAI's search of X looks like a custom tool.
_SERVED = {("xai", "custom_tool_call")}
#: Who refuses an item's id that stands twice (R9); xAI gives several items of its own the same one.
_UNIQUE_IDS = ("openai", "azure")
_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Terms:
    """To whom a request goes and which items cannot go along as they are."""

    target: Target
    #: Whether the server may know items of this conversation, so that their ids mean something to it.
    stored: bool
    #: Ids of calls and outputs, other than functions', whose other half is not in the request.
    unpaired: frozenset[str]
    #: Ids of items that stand in the conversation more than once (R9).
    repeated: frozenset[str]

    @property
    def key(self) -> str:
        """Under what a turn keeps its encoding: nothing else may have a say in it."""
        lost = " ".join((*sorted(self.unpaired), "/", *sorted(self.repeated)))
        return f"{self.target.key} {'stored' if self.stored else ''} {lost}"

    def ours(self, native: Native | None) -> dict[str, Any] | None:
        """The provider's own form of a part, where it is this provider's."""
        if native and native.origin.api == API and native.origin.provider == self.target.provider:
            return native.data
        return None

    def keeps_id(self, native: Native, prefix: str) -> bool:
        """Whether an item goes with its id. The server then wants the reasoning before it too (R4), which only the
        same model gets; R6, R7 and R9 say what an id looks like."""
        id = string(native.data.get("id"))
        legal = id.startswith(prefix) and _ID.fullmatch(id) is not None and id not in self.repeated
        return self.stored and legal and native.origin == self.target.origin

    def sends(self, part: Foreign | ServerCall | ServerResult) -> bool:
        """Whether an item of the API's own goes as it is."""
        native = part.native
        data = self.ours(native)
        if native is None or data is None or string(data.get("id")) in self.repeated:
            return False
        opaque = "encrypted_content" in data or "fingerprint" in data
        if opaque and native.origin != self.target.origin:
            return False
        if kind_of(data) == "item_reference":
            return self.stored
        return call_id(data, self.target.provider) not in self.unpaired


def kind_of(item: Mapping[str, Any]) -> str:
    """The type of an item; messages and references may come without."""
    if item.get("type") is not None:
        return string(item["type"])
    return "message" if "role" in item else "item_reference" if "id" in item else ""


def call_id(item: Mapping[str, Any], provider: str) -> str:
    """What pairs a call and its output that the client gives; "" for what the server does by itself."""
    kind = kind_of(item)
    served = (provider, kind) in _SERVED or item.get("execution") == "server"
    served = served or obj(item.get("environment")).get("type") == "container_reference"
    if served or not (kind in CLIENT_CALLS or kind in _ANSWERS):
        return ""
    # The output of a local shell names its call by another field.
    return string(item.get("call_id")) or (string(item.get("id")) if kind == "local_shell_call_output" else "")


def continues(fields: Mapping[str, Any]) -> bool:
    """Whether a request continues what the server has stored."""
    return fields.get("previous_response_id") is not None or fields.get("conversation") is not None


@dataclass(slots=True)
class _Facts:
    """What some turns hold: calls and outputs as pairs of call id and item id, and all item ids."""

    count: int = 0
    last: Turn | None = None
    calls: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    outputs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    ids: set[str] = field(default_factory=set[str])
    repeated: set[str] = field(default_factory=set[str])
    #: Items that stand for others, which the server knows: their kind and id.
    hints: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add(self, turns: Iterable[Turn], terms: Terms) -> None:
        for turn in turns:
            results = turn.results if isinstance(turn, AssistantTurn) else ()
            for part in (*turn.parts, *results):
                native: Native | None = getattr(part, "native", None)
                data = terms.ours(native)
                if data is None:
                    continue
                if (id := string(data.get("id"))) and terms.target.provider in _UNIQUE_IDS:
                    (self.repeated if id in self.ids else self.ids).add(id)
                if isinstance(part, Foreign | ServerCall | ServerResult):
                    self.add_foreign(part, data, terms)

    def add_foreign(self, part: Foreign | ServerCall | ServerResult, data: dict[str, Any], terms: Terms) -> None:
        kind, item_id = kind_of(data), string(data.get("id"))
        if kind in ("item_reference", "compaction") and terms.sends(part):
            self.hints.add((kind, item_id))
        if id := call_id(data, terms.target.provider):
            (self.calls if kind in CLIENT_CALLS else self.outputs).add((id, item_id))


_FACTS = DerivedKey[_Facts]("item facts", grows=True)


def terms_for(conversation: Conversation, target: Target, fields: Mapping[str, Any]) -> Terms:
    """The terms of a request with these fields."""
    turns = conversation.turns
    stored = fields.get("store") is not False or continues(fields)
    bare = Terms(target, stored, frozenset(), frozenset())
    # As with the messages themselves, only the last two turns can still change: the others are looked at once.
    settled = max(len(turns) - 2, 0)
    known = conversation.derived.get(_FACTS, bare.key)
    if known is None or known.count > settled or (known.count and turns[known.count - 1] is not known.last):
        known = conversation.derived.set(_FACTS, _Facts(), bare.key)
    known.add(turns[known.count : settled], bare)
    known.count, known.last = settled, turns[settled - 1] if settled else None
    fresh = _Facts()
    fresh.add(turns[settled:], bare)
    repeated = frozenset(known.repeated | fresh.repeated | (known.ids & fresh.ids))
    return Terms(target, stored, _unpaired(known, fresh, repeated, fields), repeated)


def _unpaired(known: _Facts, fresh: _Facts, repeated: frozenset[str], fields: Mapping[str, Any]) -> frozenset[str]:
    """R1 and R2 for items that are not functions': an item that cannot go takes its other half along."""
    calls = {id for id, item in known.calls | fresh.calls if item not in repeated}
    outputs = {id for id, item in known.outputs | fresh.outputs if item not in repeated}
    kinds = {kind for kind, item in known.hints | fresh.hints if item not in repeated}
    if "item_reference" in kinds:
        return frozenset()
    if continues(fields) or "compaction" in kinds:
        return frozenset(calls - outputs)
    return frozenset(calls ^ outputs)
