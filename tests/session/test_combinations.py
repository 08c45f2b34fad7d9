"""Features of sessions together: what one of them changes, the others see."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from antiphon import Agent, Document, Fallback, Session, ToolContext, tool
from antiphon.errors import ProviderError
from antiphon.fakes import Answer, Fail, Fake, call
from antiphon.providers import NO_RETRY
from antiphon.session import hand_off
from antiphon.tools import Toolset

GPT, CLAUDE = "openai-chat/gpt-4o", "anthropic/claude-sonnet-5-5"


@dataclass
class Person:
    name: str
    age: int


def look_up(order: str) -> str:
    """Look up an order."""
    return f"{order}: a cup"


@pytest.fixture
def chain(antiphon_fake: Fake) -> Fallback:
    models = [antiphon_fake.connect(name, retry=NO_RETRY) for name in (GPT, CLAUDE)]
    return Fallback(*models, on=ProviderError)


def test_partials_begin_anew_with_the_next_model(antiphon_fake: Fake, chain: Fallback):
    antiphon_fake.play(Answer('{"name": "Somebody Else", "age": 9}', cut_after=3), '{"name": "Ada", "age": 36}')
    with Session(chain, returns=Person).stream("Who?") as stream:
        partials = list(stream.partials())
    assert {each.attempt for each in partials} == {1, 2}
    assert all("Some" not in str(each.data) for each in partials if each.attempt == 2)
    assert (partials[-1].value, stream.result.run.model) == (Person("Ada", 36), CLAUDE)


def test_an_agent_that_takes_over_may_fall_back(antiphon_fake: Fake, chain: Fallback):
    poet = Agent(chain, system="You write poems.", name="Poet")
    desk = Agent(antiphon_fake.connect(CLAUDE), [hand_off(poet)], "You plan.")
    antiphon_fake.play(call("hand_off_to_poet"), Fail(503), "Two souls, alas!")
    result = desk.vibe("A poem.")
    assert (result.value, result.run.model) == ("Two souls, alas!", CLAUDE)
    assert [each.model for each in antiphon_fake.requests] == ["claude-sonnet-5-5", "gpt-4o", "claude-sonnet-5-5"]


def test_guards_and_limits_of_a_deferred_tool_are_its_own(antiphon_fake: Fake):
    seen: list[str] = []
    shop = Toolset([look_up], "shop").guarded(before_call=lambda found: seen.append(found.name)).limited(max_calls=1)
    antiphon_fake.play(
        call("search_tools", query="order"),
        call("call_tool", name="look_up", arguments={"order": "A-16"}),
        call("call_tool", name="look_up", arguments={"order": "A-17"}),
        "Done.",
    )
    scan = Document(data="JVBERi0xLjQgeA==", media_type="application/pdf", name="a.pdf")
    result = Session(antiphon_fake.connect(CLAUDE), [shop.deferred()]).vibe(["What is it?", scan])
    assert [each.tool for each in result.tool_calls[:2]] == ["search_tools", "look_up"]
    assert (seen, result.tool_calls[1].result) == (["look_up"], "A-16: a cup")
    assert "limit" in str(result.tool_calls[2].error)


def test_a_coroutine_on_its_own_loop_asks_the_people_of_the_session(antiphon_fake: Fake):
    @tool
    async def choose(context: ToolContext) -> str:
        """Let the person choose."""
        return str(await context.host.ask("colour", "Which colour?"))

    antiphon_fake.play(call("choose"), "Blue it is.")
    session = Session(antiphon_fake.connect(CLAUDE), [choose], people=lambda _: "blue")
    assert session.vibe("Go.").tool_calls[0].result == "blue"
