"""The part of a reply that the model is saying now, for those who come to a chat meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field

from antiphon.conversation import AssistantTurn, Conversation, Turn
from antiphon.session import Event, RequestEnded, RequestStarted
from antiphon.wire import CallDelta, ReasoningDelta, RetryDelta, TextDelta


@dataclass(slots=True)
class LiveReply:
    """The streamed reply of a model, and the conversation that it answers. Its texts only grow."""

    number: int = 0
    before: tuple[Turn, ...] | None = None
    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    calls: list[str] = field(default_factory=list[str])
    retries: list[RetryDelta] = field(default_factory=list[RetryDelta])

    def take(self, event: Event, conversation: Conversation) -> LiveReply:
        """Add what an event tells; return the reply that is live after it."""
        match body := event.body:
            case RequestStarted():
                return LiveReply(self.number + 1, conversation.turns)
            case RequestEnded() if _is_last_reply(conversation, body.text):
                # The reply finished first; its text is in the conversation already.
                return self.next()
            case TextDelta():
                self.text.append(body.text)
            case ReasoningDelta():
                self.thinking.append(body.text)
            case CallDelta() if body.name:
                self.calls.append(body.name)
            case RetryDelta():
                self.retries.append(body)
            case _:
                pass
        return self

    def next(self) -> LiveReply:
        """Return the empty reply after this one."""
        return LiveReply(self.number + 1)


def _is_last_reply(conversation: Conversation, text: str) -> bool:
    turns = conversation.turns
    return bool(turns) and isinstance(turns[-1], AssistantTurn) and turns[-1].text == text
