"""The reply to a message: how it begins and ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon.chat.reply import Reply
from antiphon.session import Cancelled, NeedsHuman, Run, RunWaits, Session
from antiphon.tools import NeedsHumanInput
from tests.session.scripted import Scripted, ScriptedStream, calls


class Slow(Scripted):
    """A model that takes a while."""

    async def achat(self, conversation: Any, **options: Any) -> Any:
        await asyncio.sleep(1)
        return await super().achat(conversation, **options)

    def astream(self, conversation: Any, **options: Any) -> ScriptedStream:
        del options

        class SlowStream(ScriptedStream):
            async def __aenter__(self) -> ScriptedStream:
                await asyncio.sleep(1)
                return self

        return SlowStream(self, conversation)


def test_a_reply_that_is_cancelled_while_it_starts_ends() -> None:
    reply = Reply()

    def start() -> Run[Any]:
        reply.cancel()
        return Session(Slow("Done.")).start("Go.")

    with pytest.raises(Cancelled):
        reply.start(start).wait()


def test_events_go_on_to_the_next_question_where_one_was_answered() -> None:
    """Who reads them late finds the run at its second question."""

    def consult(n: int) -> str:
        """Ask."""
        raise NeedsHumanInput(f"which {n}?")

    reply = Reply()
    session = Session(Scripted(calls("consult", n=1), calls("consult", n=2), "Done."), [consult])
    run = reply.start(lambda: session.start("Go."))
    with pytest.raises(NeedsHuman, match="which 1"):
        run.wait()
    run.answer(run.waiting[0].id, "one")
    with pytest.raises(NeedsHuman, match="which 2"):
        run.wait()
    found = [type(event.body) for event in reply.read()]
    assert (found.count(RunWaits), found[-1]) == (2, RunWaits)
