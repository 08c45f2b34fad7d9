"""Reports on the prompt of an answer: changes, cache use, and facts that it contradicts.

Such facts concern thinking that the server did not read, and prompts that it found in its cache.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import Conversation
from antiphon.wire.cache import (
    CACHE_TOLERANCE,
    SentHistory,
    SentPrompt,
    build_cache_report,
    find_prompt_change,
    get_last_prompt,
    store_last_prompt,
)
from antiphon.wire.options import Options, Target
from antiphon.wire.prompt import PrefixChange, Prompt, is_costly_change
from antiphon.wire.reply import FactWrong, Reply, Usage

#: The minimum share of messages in a prompt, so that a cache read of nearly all of it includes some. Another
#: conversation may have put what precedes them into the cache.
_MIN_MESSAGE_SHARE = 2 * CACHE_TOLERANCE
#: The fact that unread thinking contradicts, by the server's reason.
_FACT_OF_REASON = {
    "prefix_mismatch": "bound_thinking",
    "model_mismatch": "reads_thinking_of",
    "organization_mismatch": "signature_scope",
    "end_user_mismatch": "signature_scope",
}


def add_prompt_reports(
    reply: Reply, conversation: Conversation, target: Target, options: Options, prompt: Prompt, answered: Prompt
) -> None:
    """Add to a reply what it says about its prompt: a change, wrong facts and the cache report. Store the prompt.

    `answered` is the prompt of the request that was answered, and `prompt` that of the first attempt.
    """
    before, change = get_last_prompt(conversation, target), find_prompt_change(conversation, target, prompt)
    if change is not None and is_costly_change(change, target):
        reply.prefix_change = change
    found, history = _find_contradicted_facts(conversation, target, reply, prompt, before, change)
    reply.contradicted_facts = found
    ttl, now = options.cache if isinstance(options.cache, str) else "", time.time()
    reply.cache = build_cache_report(before, change, reply.usage, reply.state, target.facts.cache, now, ttl)
    is_missed = reply.cache is not None and reply.cache.outcome == "missed"
    sent = SentPrompt(answered, now, reply.usage.input_tokens, reply.id, is_missed, history)
    store_last_prompt(conversation, target, sent)


def _find_contradicted_facts(
    conversation: Conversation,
    target: Target,
    reply: Reply,
    prompt: Prompt,
    before: SentPrompt | None,
    change: PrefixChange | None,
) -> tuple[tuple[FactWrong, ...], SentHistory]:
    """Return the facts that a reply contradicts, and the history with them. Each is reported once per conversation.

    `before` is the last answered prompt, and `change` the difference to it.
    """
    seen = before.history if before is not None else SentHistory()
    told = reply.state.transformations
    is_changed = seen.is_changed or change is not None or (before is None and bool(told))
    found = [*_find_unread_thinking(conversation, target, told, is_changed=is_changed)] if told else []
    head, heads = 0, seen.heads
    if before is None or (change is not None and change.turn is None):
        head = hash(tuple(prompt.head.items()))
        heads |= {head}
    if before is not None and change is not None and head and head not in seen.heads:
        found += _find_read_after_change(target, before, change, reply.usage)
    least, read = target.facts.cache.min, reply.usage.cache_read_tokens
    if least and read and read < least:
        said = f"{read:,} tokens came from the cache"
        found.append(_make_contradiction(target, "cache.min", least, read, said))
    fresh = {each.fact: each for each in found if each.fact not in seen.reported}
    return tuple(fresh.values()), SentHistory(heads, is_changed, seen.reported | fresh.keys())


def _find_unread_thinking(
    conversation: Conversation, target: Target, told: tuple[Any, ...], *, is_changed: bool
) -> Iterator[FactWrong]:
    facts = target.facts
    drops_there = bool(conversation.state.get(target.origin, {}).get("drop_block"))
    for each in map(as_object, told):
        reason, action = as_string(each.get("reason")), as_string(each.get("type"))
        fact = _FACT_OF_REASON.get(reason, "")
        theirs: Any = reason
        ours: Any = getattr(facts, fact) if fact else None
        if reason == "prefix_mismatch":
            # Without a fact, every block is sent; with one, those with an unchanged prompt, or all if the server drops.
            if drops_there or (ours == "drops" and is_changed):
                continue
            theirs = "by_account" if action == "thinking_mismatch_allowed" else "drops"
            if ours not in (None, "no"):
                fact, ours, theirs = "binds", list(facts.binds or ()), reason
        elif reason == "model_mismatch":
            ours = [*(ours or ()), target.model]
        if fact:
            yield _make_contradiction(target, fact, ours, theirs, dump_json(each))


def _find_read_after_change(
    target: Target, before: SentPrompt, change: PrefixChange, usage: Usage
) -> Iterator[FactWrong]:
    """Yield that a changed piece is no part of the cached prompt, because the content after it was still
    cached.
    """
    expected, read = before.tokens or 0, usage.cache_read_tokens or 0
    messages = before.prompt.messages.bytes
    is_own = messages >= _MIN_MESSAGE_SHARE * (messages + sum(map(len, before.prompt.head.values())))
    if expected and is_own and read >= expected * (1 - CACHE_TOLERANCE):
        said = f"`{change.at}` changed, and {read:,} of {expected:,} tokens came from the cache"
        yield _make_contradiction(target, "in_prefix", change.at, None, said)


def _make_contradiction(target: Target, fact: str, ours: Any, theirs: Any, said: str) -> FactWrong:
    return FactWrong(f"{target.provider}/{target.model}", fact, ours, theirs, said)
