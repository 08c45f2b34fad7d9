"""The saved run of a chat: answers that come from other processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from antiphon.chat.saved_chat_run import ChatRun
from antiphon.conversation import Conversation, Text
from antiphon.durable import Journal
from antiphon.effects import AskPerson, EffectCall, HumanAnswer
from antiphon.session import Question


def test_an_answer_that_comes_before_anybody_waits_for_it_counts(tmp_path: Path) -> None:
    run = ChatRun("chat", dict, str(tmp_path / "j.db"))
    message = run.begin_request(Conversation(), "chat", [Text("Do it.")], "Do it.")
    assert message is not None
    message.middleware.before(EffectCall("1/call_a!", AskPerson("approval", "May it?", None)))
    Journal(tmp_path / "j.db").answer(run.id, "1/call_a!", HumanAnswer(allowed=True))
    said = asyncio.run(run.wait_for_answer(Question("call_a", "approval", "May it?")))
    assert said == HumanAnswer(allowed=True)
    run.close()
