"""Keep a conversation within the model's context window by replacing older turns with a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon._base.did_you_mean import hint_arguments
from antiphon.conversation import Conversation, Turn
from antiphon.conversation.transcript import format_transcript
from antiphon.errors import ContextOverflow, OptionError

#: The prompt for the summary that replaces dropped turns.
SUMMARY_PROMPT = (
    "What follows is the older part of a conversation between a user and you, which is about to be left out of it. "
    "Sum it up for yourself: what was wanted, what was found out, decided and done, with every name, path, number and "
    "open question that may be needed later. Answer with the summary alone."
)
#: Results with more tokens than this, as the provider counts them, are truncated before turns are dropped.
_RESULT_LIMIT = 2_000


@hint_arguments(
    dict.fromkeys(
        ("max_tokens", "size", "window", "limit"),
        "a context is a share of the model's window: `Context(fill=0.9)`; `register_model` states its size",
    )
)
@dataclass(frozen=True, slots=True)
class Context:
    """Settings for the automatic compaction of a session's conversation.

    A request that would fill more than the share `fill` of the model's context window triggers compaction.
    Long results are truncated and the oldest turns dropped, until at most the share `leave` is filled. The
    same happens once if the provider reports an overflow. With `summarize`, the model is first asked to
    summarize the dropped turns.
    """

    fill: float = 0.9
    leave: float = 0.5
    summarize: bool = True

    def __post_init__(self) -> None:
        for name in ("fill", "leave"):
            share: object = getattr(self, name)
            if not isinstance(share, int | float) or isinstance(share, bool) or share <= 0:
                raise OptionError(f"`{name}` of a context is a share of its window, such as 0.9, not {share!r:.80}")


@dataclass(frozen=True, slots=True)
class CompactionTarget:
    """The size limits for a conversation and for each of its results, in estimated tokens."""

    budget: int
    result_limit: int

    def dropped(self, conversation: Conversation) -> tuple[Turn, ...]:
        """Return the turns that compaction would drop."""
        return conversation.compaction(self.budget, result_limit=self.result_limit).dropped

    def made(self, conversation: Conversation, summary: str | None) -> Conversation:
        """Return the conversation within the budget. Raise a CompactionError if that is not possible."""
        return conversation.compact(self.budget, summary=summary, result_limit=self.result_limit)


def compute_compaction_target(conversation: Conversation, budget: float, tokens: int | None) -> CompactionTarget:
    """Convert a budget in the provider's tokens to a target in estimated tokens.

    `tokens` is the size of the conversation as the provider counts it. The target uses estimated tokens,
    because turns cache their estimated size.
    """
    guessed = max(conversation.compaction(1 << 60).before, 1)
    ratio = max(tokens / guessed, 0.25) if tokens else 1.0
    return CompactionTarget(int(budget / ratio), int(_RESULT_LIMIT / ratio))


def compute_overflow_target(
    conversation: Conversation, error: ContextOverflow, known: int | None, leave: float
) -> CompactionTarget:
    """Return the compaction target after a provider has reported an overflow."""
    most = error.limit or known or error.tokens or conversation.compaction(1 << 60).before
    return compute_compaction_target(conversation, most * leave, error.tokens)


def build_summary_request(dropped: Sequence[Turn], focus: str = "") -> Conversation:
    """Return the conversation that asks a model to summarize turns, above all what is said about the `focus`."""
    prompt = f"{SUMMARY_PROMPT} Above all, keep what concerns: {focus}" if focus.strip() else SUMMARY_PROMPT
    return Conversation(prompt).add_user(format_transcript(dropped))
