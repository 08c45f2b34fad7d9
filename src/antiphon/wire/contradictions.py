"""Facts that an answer contradicts: thinking that the server did not read, and prompts that it found in its cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from antiphon._json import dumps
from antiphon._shape import obj, string
from antiphon.conversation import Conversation, DerivedKey
from antiphon.wire.cache import TOLERANCE, SentPrompt
from antiphon.wire.options import Target
from antiphon.wire.prompt import PrefixChange, Prompt
from antiphon.wire.reply import FactWrong, Reply, Usage

#: The part of a prompt that its messages must be, so that a read of nearly all of it reaches into them. What stands
#: before them may have been put into the cache by another conversation.
_OWN_PART = 2 * TOLERANCE
#: The fact that thinking contradicts which the server did not read, by the server's reason.
_THINKING = {
    "prefix_mismatch": "bound_thinking",
    "model_mismatch": "reads_thinking_of",
    "organization_mismatch": "signature_scope",
    "end_user_mismatch": "signature_scope",
}


class _Seen(NamedTuple):
    """What a target has been sent in a conversation, and the facts that were reported as wrong."""

    heads: frozenset[int] = frozenset()
    #: Whether thinking may stand behind something else than what it was made behind.
    is_changed: bool = False
    reported: frozenset[str] = frozenset()


_SEEN = DerivedKey[_Seen]("seen", forks=True)


def find_wrong_facts(
    conversation: Conversation,
    target: Target,
    reply: Reply,
    prompt: Prompt,
    before: SentPrompt | None,
    change: PrefixChange | None,
) -> tuple[FactWrong, ...]:
    """Return the facts that a reply contradicts; each is reported once for a conversation.

    `before` is the prompt that was answered last, and `change` where this one differs from it.
    """
    subject = (target.provider, target.api, target.model)
    seen = conversation.derived.get(_SEEN, subject) or _Seen()
    told = reply.state.transformations
    is_changed = seen.is_changed or change is not None or (before is None and bool(told))
    found = [*_unread_thinking(conversation, target, told, is_changed=is_changed)] if told else []
    head, heads = 0, seen.heads
    if before is None or (change is not None and change.turn is None):
        head = hash(tuple(prompt.head.items()))
        heads |= {head}
    if before is not None and change is not None and head and head not in seen.heads:
        found += _read_after_change(target, before, change, reply.usage)
    found += _read_below_minimum(target, reply.usage)
    fresh = {each.fact: each for each in found if each.fact not in seen.reported}
    if (now := _Seen(heads, is_changed, seen.reported | fresh.keys())) != seen:
        conversation.derived.set(_SEEN, now, subject)
    return tuple(fresh.values())


def _unread_thinking(
    conversation: Conversation, target: Target, told: tuple[Any, ...], *, is_changed: bool
) -> Iterator[FactWrong]:
    facts = target.facts
    drops_there = bool(conversation.state.of(target.origin).get("drop_block"))
    for each in map(obj, told):
        reason, action = string(each.get("reason")), string(each.get("type"))
        fact = _THINKING.get(reason, "")
        theirs: Any = reason
        ours: Any = getattr(facts, fact) if fact else None
        if reason == "prefix_mismatch":
            # Without a fact every block goes; with one, those whose prompt is unchanged, or all if the server drops.
            if drops_there or (ours == "drops" and is_changed):
                continue
            theirs = "by_account" if action == "thinking_mismatch_allowed" else "drops"
            if ours not in (None, "no"):
                fact, ours, theirs = "binds", list(facts.binds or ()), reason
        elif reason == "model_mismatch":
            ours = [*(ours or ()), target.model]
        if fact:
            yield _wrong(target, fact, ours, theirs, dumps(each))


def _read_after_change(target: Target, before: SentPrompt, change: PrefixChange, usage: Usage) -> Iterator[FactWrong]:
    """Yield that a piece is no part of the cached prompt: it changed, and what stood behind it was found there."""
    expected, read = before.tokens or 0, usage.cache_read_tokens or 0
    messages = before.prompt.messages.bytes
    is_own = messages >= _OWN_PART * (messages + sum(map(len, before.prompt.head.values())))
    if expected and is_own and read >= expected * (1 - TOLERANCE):
        said = f"`{change.at}` changed, and {read:,} of {expected:,} tokens came from the cache"
        yield _wrong(target, "in_prefix", change.at, None, said)


def _read_below_minimum(target: Target, usage: Usage) -> Iterator[FactWrong]:
    least, read = target.facts.cache.min, usage.cache_read_tokens
    if least and read and read < least:
        yield _wrong(target, "cache.min", least, read, f"{read:,} tokens came from the cache")


def _wrong(target: Target, fact: str, ours: Any, theirs: Any, said: str) -> FactWrong:
    return FactWrong(f"{target.provider}/{target.model}", fact, ours, theirs, said)
