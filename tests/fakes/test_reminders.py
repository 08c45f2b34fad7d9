"""Reminders for one turn, which Claude does not show to itself later: the user's own message, sent as it is."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Conversation
from antiphon.conversation import OpaquePart, Origin, ProviderPayload
from antiphon.errors import ProviderError
from antiphon.fakes import Fake

MODEL = "claude-sonnet-5-5"
BETA = {"anthropic-beta": "mid-conversation-system-clear-at-2026-08-21"}
REMINDER: dict[str, Any] = {
    "role": "system",
    "content": [{"type": "text", "text": "Answer in one word."}],
    "clear_at": "next_user_message",
}


def reminded() -> Conversation:
    reminder = OpaquePart(ProviderPayload(Origin("anthropic", "anthropic", MODEL), REMINDER))
    return Conversation("Be kind. " * 400).add_user(["Hi.", reminder])


def test_it_stays_in_the_prompt_and_bears_no_mark():
    with Fake(["One.", "Two."]) as fake:
        model = fake.connect(f"anthropic/{MODEL}", headers=BETA, prefix="error")
        conversation = reminded()
        model.chat(conversation)
        reply = model.chat(conversation.add_user("Go on."))
        sent = [request.body["messages"] for request in fake.requests]
    assert reply.text == "Two."
    assert reply.cache is not None
    assert reply.cache.outcome == "hit"
    assert sent[0][1] == sent[1][1] == REMINDER


def test_without_the_beta_it_is_refused():
    with Fake() as fake, pytest.raises(ProviderError, match="clear_at"):
        fake.connect(f"anthropic/{MODEL}").chat(reminded())
