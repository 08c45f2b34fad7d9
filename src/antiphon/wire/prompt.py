"""The part of a request that a model reads, in order. Each prompt should extend the previous one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon.conversation import Conversation, Update
from antiphon.wire.body import EncodedMessages
from antiphon.wire.options import Options, Target, adapt_options, choose_effort
from antiphon.wire.server_tools import add_findings_note

#: Approximate bytes of JSON per token.
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PrefixChange:
    """The first difference between a prompt and the previous one.

    `at` names the first piece that differs: `tools`, `system`, a field of the body, or `messages`, of
    which `turn` counts from 1. `tokens` estimates how much of the earlier prompt must be processed
    again. `left_out` counts the thinking blocks no longer sent because they are bound to the earlier
    prompt. `is_joined` says that the last text of a failed request was joined with the text after it.
    """

    at: str
    turn: int | None
    tokens: int
    left_out: int = 0
    is_joined: bool = False

    def __str__(self) -> str:
        where = f"turn {self.turn}" if self.turn is not None else f"`{self.at}`"
        lost = f"; {self.left_out} thinking blocks are left out" if self.left_out else ""
        if self.is_joined:
            return f"the text of turn {self.turn} was sent without an answer, and is now joined with the next text"
        return f"the prompt changed at {where}, about {self.tokens:,} tokens are read again{lost}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The head of a prompt by name, and its messages with their running hash."""

    head: Mapping[str, str] = field(repr=False)
    messages: EncodedMessages = field(repr=False)

    @property
    def tokens(self) -> int:
        """The estimated size of the prompt in tokens."""
        return (sum(map(len, self.head.values())) + self.messages.bytes) // BYTES_PER_TOKEN

    def find_change(self, before: Prompt) -> PrefixChange | None:
        """Return why this prompt does not begin with an earlier one, or None if it does."""
        newly_left_out = max(self.messages.left_out - before.messages.left_out, 0)
        for name in dict.fromkeys((*before.head, *self.head)):
            if self.head.get(name, "") != before.head.get(name, ""):
                return PrefixChange(name, None, before.tokens, newly_left_out)
        known, count = before.messages.count, self.messages.count
        if not known or (count >= known and self.messages.digest_at(known - 1) == before.messages.digest_at(known - 1)):
            return None
        place = self._find_first_difference(before, min(known, count))
        head = before.messages.bytes - (before.messages.turn_at(place - 1)[1] if place else 0)
        turn = before.messages.turn_at(place)[0] + 1
        return PrefixChange("messages", turn, head // BYTES_PER_TOKEN, newly_left_out)

    def find_joined_text(self, unanswered: Prompt) -> PrefixChange | None:
        """Return where this prompt joins its text to the last text of a prompt that was not answered, or None."""
        place = unanswered.messages.count
        if not place or self.messages.count <= place or not self.messages.is_joined(place):
            return None
        if self.find_change(unanswered) is not None:
            return None
        turn, end = unanswered.messages.turn_at(place - 1)
        start = unanswered.messages.turn_at(place - 2)[1] if place > 1 else 0
        return PrefixChange("messages", turn + 1, (end - start) // BYTES_PER_TOKEN, is_joined=True)

    def _find_first_difference(self, before: Prompt, known: int) -> int:
        low, high = 0, known
        while low < high:
            middle = (low + high) // 2
            is_same = self.messages.digest_at(middle) == before.messages.digest_at(middle)
            low, high = (middle + 1, high) if is_same else (low, middle)
        return low


def format_new_instructions(system: str) -> str:
    """Return the message that replaces the system text at the head."""
    if not system:
        return "From here on, the instructions at the beginning no longer hold."
    return f"From here on, these instructions take the place of those at the beginning:\n\n{system}"


def announce_request_changes(conversation: Conversation, target: Target, options: Options) -> Update | None:
    """Record changes since the last request as an update, if the provider accepts them within messages.

    Results of another provider's tools are reported in a note. Return the update. A second call before
    the request is sent changes nothing.
    """
    options = adapt_options(target, options)
    add_findings_note(conversation, target)
    change, effort = target.facts.config_change, options.reasoning
    # Another field turns Claude's thinking off.
    is_word = isinstance(effort, str) and not (effort == "none" and change == "effort_only")
    can_change = change in ("items", "effort_only") and is_word
    form = dict(options.output_schema or {}) if change == "items" else None
    return conversation.announce(choose_effort(target, str(effort)) if can_change else None, form)


def extract_prefix_fields(fields: Mapping[str, Any], target: Target) -> dict[str, str]:
    """Return the body fields that belong to the cached prompt besides tools, system and messages."""
    found: dict[str, str] = {}
    for name in target.facts.in_prefix or ():
        value: Any = fields
        for step in name.split("."):
            value = cast("dict[str, Any]", value).get(step) if isinstance(value, dict) else None
        if value is not None:
            found[name] = dump_json(value)
    return found


def is_costly_change(change: PrefixChange, target: Target) -> bool:
    """Return whether a change loses cached tokens, thinking or the end of a message. Prompts too short to be
    cached cost nothing.
    """
    return change.left_out > 0 or change.is_joined or change.tokens >= (target.facts.cache.min or 0)
