"""The part of a request that a model reads, in the order in which it is read: each prompt extends the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon._json import dumps
from antiphon._shape import obj
from antiphon.conversation import Conversation, Update
from antiphon.wire.body import Messages
from antiphon.wire.options import Options, Target, nearest_effort
from antiphon.wire.server_tools import tell_findings

#: Bytes of JSON to the token, roughly.
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PrefixChange:
    """Where a prompt stops to be what the prompt before it was.

    `at` names the first piece that differs: `tools`, `system`, a field of the body, or `messages`, of which `turn`
    counts from 1. `tokens` is about how much of the earlier prompt has to be read again. `left_out` counts the thinking
    blocks that are no longer sent, because they are bound to the earlier prompt.
    """

    at: str
    turn: int | None
    tokens: int
    left_out: int = 0

    def __str__(self) -> str:
        where = f"turn {self.turn}" if self.turn is not None else f"`{self.at}`"
        lost = f"; {self.left_out} thinking blocks are left out" if self.left_out else ""
        return f"the prompt changed at {where}, about {self.tokens:,} tokens are read again{lost}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stands before the messages, piece by piece, and the messages with their running hash."""

    head: Mapping[str, str] = field(repr=False)
    messages: Messages = field(repr=False)

    @property
    def tokens(self) -> int:
        """The size of the prompt, estimated."""
        return (sum(map(len, self.head.values())) + self.messages.bytes) // BYTES_PER_TOKEN

    def change_since(self, before: Prompt) -> PrefixChange | None:
        """Return what keeps this prompt from beginning with the whole of an earlier one, or nothing."""
        newly_left_out = max(self.messages.left_out - before.messages.left_out, 0)
        for name in dict.fromkeys((*before.head, *self.head)):
            if self.head.get(name, "") != before.head.get(name, ""):
                return PrefixChange(name, None, before.tokens, newly_left_out)
        known = len(before.messages)
        if not known or (len(self.messages) >= known and self._is_same(before, known - 1)):
            return None
        place = self._first_difference(before, min(known, len(self.messages)))
        head = before.messages.bytes - (before.messages.turn_at(place - 1)[1] if place else 0)
        turn = before.messages.turn_at(place)[0] + 1
        return PrefixChange("messages", turn, head // BYTES_PER_TOKEN, newly_left_out)

    def _is_same(self, before: Prompt, place: int) -> bool:
        return self.messages.digest_at(place) == before.messages.digest_at(place)

    def _first_difference(self, before: Prompt, known: int) -> int:
        low, high = 0, known
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._is_same(before, middle) else (low, middle)
        return low


def new_instructions(system: str) -> str:
    """Return the words that tell a model of a system text that takes the place of the one at the head."""
    if not system:
        return "From here on, the instructions at the beginning no longer hold."
    return f"From here on, these instructions take the place of those at the beginning:\n\n{system}"


def announce(conversation: Conversation, target: Target, options: Options) -> Update | None:
    """Record what changed since the last request as an update, where the provider can be told of it there.

    What tools of another provider found is told in a note. Return the update. Calling it again before the request is
    sent changes nothing.
    """
    tell_findings(conversation, target)
    change, effort = target.facts.config_change, options.reasoning
    # Claude's thinking is turned off by another field.
    is_word = isinstance(effort, str) and not (effort == "none" and change == "effort_only")
    can_change = change in ("items", "effort_only") and is_word
    form = dict(options.output_schema or {}) if change == "items" else None
    return conversation.announce(nearest_effort(target, str(effort)) if can_change else None, form)


def prefix_fields(fields: Mapping[str, Any], target: Target) -> dict[str, str]:
    """Return the fields of a body that are part of the cached prompt besides tools, system and messages."""
    found: dict[str, str] = {}
    for name in target.facts.in_prefix or ():
        value: Any = fields
        for step in name.split("."):
            value = obj(value).get(step)
        if value is not None:
            found[name] = dumps(value)
    return found


def is_costly(change: PrefixChange, target: Target) -> bool:
    """Return whether a change loses anything: what is too short to be cached costs nothing to be read again."""
    return change.left_out > 0 or change.tokens >= (target.facts.cache.min or 0)
