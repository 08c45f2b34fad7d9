"""Compaction of a chat on request: the model summarizes the older turns, and the full chat stays saved."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.chat.chat import Chat
from antiphon.conversation import Conversation
from antiphon.conversation.transcript import format_transcript
from antiphon.errors import NotReadyError
from antiphon.session import Session, UsageChanged
from antiphon.session.context_window import SUMMARY_PROMPT


@dataclass(frozen=True, slots=True)
class CompactedChat:
    """The result of a compaction: how many turns were summarized, and the id of the full conversation."""

    turns: int
    full_id: str


def compact_chat(chat: Chat, focus: str = "") -> CompactedChat:
    """Replace all but the first and the last message by a summary. `focus` names what the summary must keep."""
    conversation = chat.conversation
    if conversation.open_calls:
        raise NotReadyError("the last answer has open calls: run them with /go, or ask again with /retry")
    dropped = conversation.compaction(1).dropped
    if not dropped:
        raise NotReadyError("there is nothing to summarize yet: only the first and the last message are here")
    wanted = f"{SUMMARY_PROMPT} Keep in particular what concerns this: {focus}" if focus else SUMMARY_PROMPT
    asker = Session(chat.session.model, conversation=Conversation(wanted), context=None)
    answer = asker.chat(format_transcript(dropped))
    chat.usage_history.append(UsageChanged(answer.run.usage, answer.run.cost))
    shorter = conversation.compact(conversation.compaction(1, summary=answer.value).after, summary=answer.value)
    if shorter.turns == conversation.turns:
        raise NotReadyError("the summary is as long as the conversation, so nothing was changed")
    full = chat.fork()
    chat.restore(shorter)
    return CompactedChat(len(dropped), full)
