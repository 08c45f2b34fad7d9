"""Reports on the provider's prompt cache: how much could be read from it, and how much was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import Conversation, DerivedKey, RequestHead
from antiphon.facts import CacheFacts
from antiphon.wire.options import Options, Target
from antiphon.wire.prompt import PrefixChange, Prompt

if TYPE_CHECKING:
    from antiphon.wire.reply import Usage
    from antiphon.wire.reply_state import ReplyState

#: `first` has no predecessor; `changed`, `expired` and `too_short` explain a miss; `missed` is unexplained.
CacheOutcome = Literal["first", "hit", "changed", "expired", "too_short", "missed"]
#: The share of the expected tokens that may be missing from a hit: caches are read in blocks.
CACHE_TOLERANCE = 0.1
#: The providers that serve OpenAI's models themselves.
_CACHE_KEY_PROVIDERS = ("openai", "openai-chat", "azure")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class SentHistory(NamedTuple):
    """The prompts that a target was sent in a conversation, and the facts already reported as wrong."""

    heads: frozenset[int] = frozenset()
    #: Whether thinking may follow another prefix than its original one.
    is_changed: bool = False
    reported: frozenset[str] = frozenset()


class SentPrompt(NamedTuple):
    """A prompt that was answered: its time, tokens and reply id, whether the cache missed it, and those before."""

    prompt: Prompt
    at: float
    tokens: int | None
    reply_id: str
    is_missed: bool
    history: SentHistory


@dataclass(frozen=True, slots=True)
class CacheReport:
    """Cache usage of one prompt.

    `expected` tokens were sent before and could be read from the cache; `read` were read and `written`
    are new in it. `change` is the first piece that differs from the previous prompt. `server` is the
    provider's own reason.
    """

    outcome: CacheOutcome
    expected: int
    read: int
    written: int
    change: PrefixChange | None = None
    idle: float = 0.0
    server: str = ""

    @property
    def lost(self) -> int:
        """Tokens that were processed again although they had been sent before."""
        return max(self.expected - self.read, 0) if self.outcome not in ("first", "hit") else 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CacheReport:
        """Restore a report from the data of `dataclasses.asdict`."""
        change = data.get("change")
        given: dict[str, Any] = {**data, "change": PrefixChange(**change) if change else None}
        return cls(**given)

    def __str__(self) -> str:
        counts = f"{self.read:,} of {self.expected:,} tokens that were sent before came from the cache"
        match self.outcome:
            case "first":
                read = f"{self.read:,} tokens came from the cache, " if self.read else ""
                return f"the first request: {read}{self.written:,} tokens were put into the cache"
            case "hit":
                return counts
            case "changed":
                return f"{counts}: {self.change}"
            case "expired":
                return f"{counts}: nothing was sent for {self.idle:,.0f} s, longer than the cache keeps it"
            case "too_short":
                return f"{counts}: the prompt is shorter than what the provider caches"
            case "missed":
                return f"{counts}: {self.server or 'the provider does not say why'}"


#: The options of the last request, without and with the cache key.
_KEYED_OPTIONS = DerivedKey[tuple[Options, Options]]("options with a cache key")
#: The last prompt that a target answered: it has read the same of a fork.
_SENT = DerivedKey[SentPrompt]("prompt", forks=True)
#: The prompt of the last request, if it failed.
_UNANSWERED = DerivedKey[Prompt]("unanswered prompt", forks=True)


def add_cache_options(conversation: Conversation, target: Target, options: Options) -> Options:
    """Return the options with what the library sets for the cache: a key, and the reply to compare with.

    The key is shared by all requests of a conversation and its forks.
    """
    facts, sent = target.facts.cache, conversation.derived.get((_SENT, (target.provider, target.api, target.model)))
    if sent is not None and sent.is_missed and facts.diagnostics:
        options = replace(options, compare_with=sent.reply_id)
    if not options.cache or not facts.key or target.provider not in _CACHE_KEY_PROVIDERS:
        return options
    known = conversation.derived.get((_KEYED_OPTIONS, target.model))
    if known is not None and known[0] is options:
        return known[1]
    key = _make_cache_key(conversation.head, target.model) if known is None else known[1].cache_key
    keyed = replace(options, cache_key=key)
    conversation.derived[_KEYED_OPTIONS, target.model] = (options, keyed)
    return keyed


def _make_cache_key(head: RequestHead, model: str) -> str:
    told = [model, head.system, *(f"{tool.name} {dump_json(tool.parameters)}" for tool in head.tools)]
    return sha256("\n".join(told).encode()).hexdigest()[:16]


def get_last_prompt(conversation: Conversation, target: Target) -> SentPrompt | None:
    """Return the last prompt that a target answered in this conversation, or None."""
    return conversation.derived.get((_SENT, (target.provider, target.api, target.model)))


def store_last_prompt(conversation: Conversation, target: Target, sent: SentPrompt) -> None:
    """Store the prompt that a target has answered."""
    key = (target.provider, target.api, target.model)
    conversation.derived[_SENT, key] = sent
    conversation.derived.pop((_UNANSWERED, key), None)


def find_prompt_change(conversation: Conversation, target: Target, prompt: Prompt) -> PrefixChange | None:
    """Return why a prompt does not extend the last one that the target answered, nor the last one that failed.

    The messages of a request that failed may be removed, but the target has read its last text as a
    message of its own.
    """
    key = (target.provider, target.api, target.model)
    sent, unanswered = conversation.derived.get((_SENT, key)), conversation.derived.get((_UNANSWERED, key))
    change = prompt.find_change(sent.prompt) if sent is not None else None
    if change is None and unanswered is not None:
        return prompt.find_joined_text(unanswered)
    return change


def store_unanswered_prompt(conversation: Conversation, target: Target, prompt: Prompt) -> None:
    """Store the prompt of a request that failed."""
    conversation.derived[_UNANSWERED, (target.provider, target.api, target.model)] = prompt


def build_cache_report(
    before: SentPrompt | None,
    change: PrefixChange | None,
    usage: Usage,
    state: ReplyState,
    known: CacheFacts,
    now: float,
    ttl: str,
) -> CacheReport | None:
    """Return a prompt's cache report, or None if the provider does not report what it read."""
    if usage.cache_read_tokens is None:
        return None
    read, written = usage.cache_read_tokens, usage.cache_write_tokens or 0
    if before is None or before.tokens is None:
        return CacheReport("first", 0, read, written)
    idle, server = now - before.at, _read_miss_reason(state.diagnostics) if state.diagnostics else ""
    expected = before.tokens
    outcome: CacheOutcome = "missed"
    if read >= expected * (1 - CACHE_TOLERANCE):
        outcome, change = "hit", None
    elif change is not None:
        outcome = "changed"
    elif known.min is not None and expected < known.min:
        outcome = "too_short"
    elif (lifetime := _parse_lifetime(ttl, known)) is not None and idle > lifetime:
        outcome = "expired"
    return CacheReport(outcome, expected, read, written, change, idle, server)


def _read_miss_reason(found: Mapping[str, Any]) -> str:
    reason = found.get("cache_miss_reason")
    return as_string(as_object(reason).get("type")) or as_string(reason) or as_string(found.get("reason"))


def _parse_lifetime(ttl: str, known: CacheFacts) -> float | None:
    """Return how many seconds the cache keeps an unused entry, or None if unknown."""
    word = ttl or (known.ttls[0] if known.ttls else "")
    return float(word[:-1]) * _SECONDS[word[-1]] if word and word[-1] in _SECONDS and word[:-1].isdigit() else None
