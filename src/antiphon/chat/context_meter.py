"""The share of the model's context window that a conversation fills."""

from __future__ import annotations

from antiphon.conversation import Conversation
from antiphon.session.context_window import CountedTurns, estimate_conversation_tokens
from antiphon.wire import Usage


class ContextMeter:
    """Measures a conversation by the provider's last count, and estimates what was added since."""

    def __init__(self) -> None:
        self._counted: CountedTurns | None = None

    def record(self, conversation: Conversation, usage: Usage) -> None:
        """Record the usage of the last request, whose reply is the end of the conversation."""
        if usage.input_tokens is not None:
            self._counted = conversation.turns, usage.input_tokens + (usage.output_tokens or 0)

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
