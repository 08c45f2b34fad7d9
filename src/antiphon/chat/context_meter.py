"""The share of the model's context window that a conversation fills."""

from __future__ import annotations

from antiphon._base.json import dump_json
from antiphon.conversation import AssistantTurn, Conversation, UserTurn, estimate_tokens
from antiphon.conversation.compaction import (
    CountedTurns,
    count_result_tokens,
    count_turn_tokens,
    estimate_conversation_tokens,
)
from antiphon.wire import Usage


class ContextMeter:
    """Measures a conversation by the provider's last count, and estimates what was added since."""

    def __init__(self) -> None:
        self._counted: CountedTurns | None = None

    def record(self, conversation: Conversation, usage: Usage) -> None:
        """Record the usage of the last request, whose reply is the end of the conversation."""
        if usage.input_tokens is not None:
            self._counted = conversation.turns, usage.input_tokens + (usage.output_tokens or 0)

    @property
    def is_counted(self) -> bool:
        """Return whether a provider has counted the conversation."""
        return self._counted is not None

    def measure(self, conversation: Conversation) -> int:
        """Return the tokens of a conversation."""
        return estimate_conversation_tokens(conversation, self._counted)


def get_context_size(model: object) -> int | None:
    """Return the size of a model's context window in tokens, or None if it is unknown."""
    return getattr(getattr(model, "facts", None), "context", None)


def format_context(used: int, size: int | None) -> str:
    """Return how much of a context window is used, in a few words."""
    if size is None:
        return f"context {used:,} tokens"
    return f"context {min(used / size, 1):.0%} of {size / 1000:,.0f}k"


def measure_parts(conversation: Conversation) -> list[tuple[str, int]]:
    """Return the estimated tokens of each part of a conversation: instructions, tools, messages, answers, results."""
    tools = sum(
        estimate_tokens(tool.name + tool.description + dump_json(tool.parameters)) for tool in conversation.tools
    )
    messages = [turn for turn in conversation.turns if isinstance(turn, UserTurn)]
    answers = [turn for turn in conversation.turns if isinstance(turn, AssistantTurn)]
    results = sum(count_result_tokens(turn, estimate_tokens) for turn in answers)
    return [
        ("system text", estimate_tokens(conversation.system) if conversation.system else 0),
        ("tools", tools),
        ("messages", sum(count_turn_tokens(turn, estimate_tokens) for turn in messages)),
        ("answers and calls", sum(count_turn_tokens(turn, estimate_tokens) for turn in answers) - results),
        ("results of calls", results),
    ]
