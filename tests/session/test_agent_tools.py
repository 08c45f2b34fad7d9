"""Agents that work for other agents: as tools with a run inside, and by taking a conversation over."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Conversation, Limits, Session, Store, ToolContext
from antiphon.effects import EffectContext, Playback, Recording, use_context
from antiphon.errors import OptionError
from antiphon.fakes import Fake, call
from antiphon.session import LimitReached, NeedsHuman, Question, RunStarted, hand_off
from antiphon.tools import ToolDefinitionError, Toolset, as_tool
from antiphon.wire import Reply
from tests.session.scripted import Scripted, calls


@dataclass
class City:
    name: str
    people: int


@dataclass
class Database:
    path: str = "cities.db"


def look_up(key: str, context: ToolContext[Any]) -> str:
    """Look something up."""
    return f"{context.deps.path if context.deps else 'nothing'}: {key}"


def delete(key: str) -> str:
    """Delete something."""
    return f"deleted {key}"


class Listener(Scripted):
    """A scripted model that remembers system text and tools of each request."""

    def __init__(self, *script: Any, name: str = "scripted") -> None:
        super().__init__(*script)
        self.name = name
        self.heard: list[tuple[str, list[str]]] = []

    def _reply(self, conversation: Conversation) -> Reply:
        names = [each.name for each in conversation.tools if each.name != "read_result"]
        self.heard.append((conversation.system, names))
        return super()._reply(conversation)


class TestAsTool:
    def test_it_answers_in_a_conversation_of_its_own(self):
        clerk = Agent(Listener(calls("look_up", key="a"), "It is a."), [look_up], "You look up.", name="Clerk 7")
        session = Session(Scripted(calls("clerk_7", task="Find a."), "Done."), [clerk.as_tool()])
        with session.stream("Go.") as events:
            started = [each.body for each in events if isinstance(each.body, RunStarted)]
        assert events.result.tool_calls[0].result == "It is a."
        assert [each.title for each in started] == ["Go.", "Clerk 7"]
        assert started[1].parent == events.run.id
        assert len(session.conversation.turns) == 3
        assert (events.run.requests, events.run.usage.input_tokens) == (4, 40)

    def test_its_description_is_for_the_model(self):
        made = Agent(Scripted(), name="clerk").as_tool("ask_clerk", "Ask the clerk.")
        assert (made.name, made.spec.description) == ("ask_clerk", "Ask the clerk.")
        assert list(made.spec.parameters["properties"]) == ["task"]

    def test_it_needs_a_name(self):
        with pytest.raises(ToolDefinitionError, match="needs a name"):
            Agent(Scripted()).as_tool()

    @pytest.mark.parametrize("own", [True, False])
    def test_a_typed_answer_is_its_result(self, own: bool):
        text = json.dumps({"name": "Oslo", "people": 700_000})
        agent = Agent(Scripted(text), returns=City) if own else Agent(Scripted(text))
        tool = agent.as_tool("city") if own else agent.as_tool("city", returns=City)
        done = Session(Scripted(calls("city", task="Oslo?"), "Done."), [tool]).vibe("Go.")
        assert json.loads(str(done.tool_calls[0].result)) == {"name": "Oslo", "people": 700_000}

    def test_it_gets_the_dependencies_of_the_caller(self):
        clerk = Agent(Scripted(calls("look_up", key="a"), "It is a."), [look_up], deps_type=Database)
        boss = Agent(Scripted(calls("clerk", task="Find a."), "Done."), [clerk.as_tool("clerk")], deps_type=Database)
        done = boss.vibe("Go.", deps=Database("x.db"))
        assert done.tool_calls[0].result == "It is a."

    def test_dependencies_of_another_type_are_an_error(self):
        clerk = Agent(Scripted("No."), deps_type=Database)
        done = Session(Scripted(calls("clerk", task="Find a."), "Done."), [clerk.as_tool("clerk")], deps=3).vibe("Go.")
        assert "`deps` must be of the type `Database`" in str(done.tool_calls[0].error)

    def test_requests_share_the_limit_of_the_caller(self):
        clerk = Agent(Scripted(*[calls("look_up", key=str(n)) for n in range(9)]), [look_up])
        tool = clerk.as_tool("clerk")
        session = Session(Scripted(calls("clerk", task="Find a."), "Done."), [tool], limits=Limits(requests=4))
        with pytest.raises(LimitReached, match="4 requests"):
            session.vibe("Go.")

    def test_calls_share_the_limit_of_the_caller(self):
        clerk = Agent(Scripted(calls("look_up", key="a"), calls("look_up", key="b"), "No."), [look_up])
        tool = clerk.as_tool("clerk")
        session = Session(Scripted(calls("clerk", task="Find."), "Done."), [tool], limits=Limits(tool_calls=1))
        with pytest.raises(LimitReached, match="1 tool call"):
            session.vibe("Go.")

    @pytest.mark.parametrize("where", ["tool", "agent"])
    def test_limits_of_its_own_do_not_count_for_the_caller(self, where: str):
        clerk = Agent(Scripted(*[calls("look_up", key=str(n)) for n in range(9)]), [look_up])
        limits = Limits(requests=3)
        tool = (
            clerk.as_tool("clerk", limits=limits) if where == "tool" else clerk.replace(limits=limits).as_tool("clerk")
        )
        session = Session(Scripted(calls("clerk", task="Find."), "Done."), [tool], limits=Limits(requests=2))
        done = session.vibe("Go.")
        assert "3 requests" in str(done.tool_calls[0].error)

    def test_the_cost_always_counts(self):
        clerk = Agent(Scripted(calls("look_up", key="a"), "It is a.", price=1.0), [look_up])
        tool = clerk.as_tool("clerk", limits=Limits(requests=3))
        session = Session(Scripted(calls("clerk", task="Find."), "Done."), [tool], limits=Limits(cost=1.5))
        with pytest.raises(LimitReached, match=r"\$1.5"):
            session.vibe("Go.")

    def test_its_approvals_reach_the_people_of_the_caller(self):
        asked: list[Question] = []

        def approve(question: Question) -> bool:
            asked.append(question)
            return True

        clerk = Agent(Scripted(calls("delete", key="a"), "Gone."), Toolset([delete]).requiring_approval(), name="clerk")
        session = Session(Scripted(calls("clerk", task="Delete a."), "Done."), [clerk.as_tool()], people=approve)
        assert session.vibe("Go.").tool_calls[0].result == "Gone."
        assert [(each.who, each.call and each.call.name) for each in asked] == [("clerk", "delete")]

    def test_nobody_there_is_told_to_the_model(self):
        clerk = Agent(Scripted(calls("delete", key="a")), Toolset([delete]).requiring_approval())
        done = Session(Scripted(calls("clerk", task="Delete a."), "Done."), [clerk.as_tool("clerk")]).vibe("Go.")
        assert "a person is needed" in str(done.tool_calls[0].error)


class TestHandOff:
    def make(self, *front: Any, billing: tuple[Any, ...], **options: Any) -> tuple[Session, Listener, Listener]:
        first, second = Listener(*front, name="first"), Listener(*billing, name="second")
        agent = Agent(second, [look_up], "You do billing.", name="Billing")
        return Session(first, [delete, hand_off(agent)], "You are the desk.", **options), first, second

    def test_the_conversation_goes_on_with_the_agent(self):
        session, first, second = self.make(
            calls("hand_off_to_billing", reason="money"), billing=(calls("look_up", key="7"), "You owe 7.")
        )
        done = session.vibe("What do I owe?")
        assert (done.value, done.run.model) == ("You owe 7.", "second")
        assert [each.tool for each in done.tool_calls] == ["hand_off_to_billing", "look_up"]
        assert first.heard == [("You are the desk.", ["delete", "hand_off_to_billing"])]
        assert second.heard == [("You do billing.", ["look_up"])] * 2
        assert session.conversation.turns[0].text == "What do I owe?"

    def test_later_asks_stay_with_the_agent(self):
        session, first, second = self.make(calls("hand_off_to_billing"), billing=("Seven.", "Still seven."))
        assert [session.vibe("What do I owe?").value, session.vibe("Sure?").value] == ["Seven.", "Still seven."]
        assert (len(first.heard), len(second.heard)) == (1, 2)

    def test_an_undone_hand_off_is_undone(self):
        session, _, second = self.make(calls("hand_off_to_billing"), "Desk.", billing=("Seven.",))
        session.vibe("What do I owe?")
        session.conversation.undo(len(session.conversation.turns))
        assert session.vibe("Hello?") == "Desk."
        assert len(second.heard) == 1

    def test_a_loaded_conversation_stays_with_the_agent(self, tmp_path: Path):
        session, _, _ = self.make(calls("hand_off_to_billing"), billing=("Seven.",))
        session.vibe("What do I owe?")
        session.conversation.save(tmp_path / "c.json")
        agent = Agent(Listener("Still seven."), system="You do billing.", name="Billing")
        later = Session(Scripted(), [hand_off(agent)], conversation=Conversation.load(tmp_path / "c.json"))
        assert later.vibe("Sure?") == "Still seven."

    def test_a_stored_session_stays_with_the_agent(self, tmp_path: Path):
        store = Store(tmp_path / "s.db")
        with self.make(calls("hand_off_to_billing"), billing=("Seven.",), store=store, id="s")[0] as session:
            session.vibe("What do I owe?")
        second = Listener("Still seven.")
        desk = Agent(
            Scripted(), [hand_off(Agent(second, system="You do billing.", name="Billing"))], "You are the desk."
        )
        with desk.open_session("s", store=store) as later:
            assert later.vibe("Sure?") == "Still seven."
        assert second.heard == [("You do billing.", [])]

    def test_it_stays_after_a_summary(self):
        session, _, second = self.make(calls("hand_off_to_billing"), billing=("Seven.", "Yes.", "More."))
        session.vibe("What do I owe?")
        session.vibe("Sure?")
        session.conversation = session.conversation.fork()
        session.model = Listener("They owe seven.")
        session.compact()
        assert session.vibe("And now?") == "More."
        assert len(second.heard) == 3

    def test_a_missing_agent_is_an_error(self):
        session, _, _ = self.make(calls("hand_off_to_billing"), billing=("Seven.",))
        session.vibe("What do I owe?")
        session.tools = [delete]
        with pytest.raises(OptionError, match="add that hand-off to `tools`"):
            session.vibe("Sure?")

    def test_agents_can_hand_over_to_each_other(self):
        front = Listener(calls("to_back"), "Front again.", name="front")
        back = Agent(Listener(calls("to_front"), name="back"), [hand_off(lambda: desk, name="to_front")], "Back.")
        desk: Agent = Agent(front, [hand_off(back, name="to_back")], "Front.")
        done = desk.vibe("Hello?")
        assert done == "Front again."
        assert [system for system, _ in front.heard] == ["Front.", "Front."]

    def test_only_the_first_of_several_counts(self):
        one, two = (Agent(Listener("One."), name="one"), Agent(Listener("Two."), name="two"))
        script = calls(("hand_off_to_one", {}), ("hand_off_to_two", {}))
        done = Session(Scripted(script), [hand_off(one), hand_off(two)]).vibe("Go.")
        assert done == "One."
        assert done.tool_calls[1].error == "not run: the conversation is handed over already"

    def test_a_call_that_waits_does_not_lose_it(self):
        session, _, second = self.make(calls(("ask", {"key": "a"}), ("hand_off_to_billing", {})), billing=("Seven.",))
        session.tools = [*session.tools, as_tool(delete, name="ask", needs_approval=True)]
        with pytest.raises(NeedsHuman) as stopped:
            session.vibe("Go.")
        session.allow(stopped.value.run.waiting[0].id)
        assert session.resume() == "Seven."
        assert len(second.heard) == 1

    @pytest.mark.parametrize(("limits", "most"), [(None, 4), (Limits(requests=6), 7)])
    def test_limits_are_shared_or_of_its_own(self, limits: Limits | None, most: int):
        second = Listener(*[calls("look_up", key=str(n)) for n in range(9)])
        tool = hand_off(Agent(second, [look_up]), name="pass_on", limits=limits)
        session = Session(Scripted(calls("pass_on")), [tool], limits=Limits(requests=4))
        with pytest.raises(LimitReached, match=f"{limits.requests if limits else 4} requests"):
            session.vibe("Go.")
        assert len(second.heard) == most - 1

    def test_the_type_of_the_answer_stays(self):
        second = Listener(json.dumps({"name": "Oslo", "people": 7}))
        session = Session(Scripted(calls("pass_on")), [hand_off(Agent(second), name="pass_on")], returns=City)
        assert session.vibe("Which?").value == City("Oslo", 7)

    def test_a_system_text_of_functions_is_made_anew(self):
        second = Listener("Seven.", "Eight.")
        agent = Agent(second, system=["Billing.", lambda deps: f"In {deps.path}."], deps_type=Database, name="b")
        session = Session(Scripted(calls("hand_off_to_b")), [hand_off(agent)], deps=Database("x"))
        session.vibe("Go.")
        session.vibe("Go on.")
        assert [system for system, _ in second.heard] == ["Billing.\n\nIn x.", "Billing.\n\nIn x."]

    def test_a_replay_hands_over_too(self):
        recording = Recording()
        script = (calls("hand_off_to_billing"),)
        with use_context(EffectContext(performers=(recording,))):
            self.make(*script, billing=(calls("look_up", key="7"), "Seven."))[0].vibe("What do I owe?")
        session, first, second = self.make(billing=())
        with use_context(EffectContext(performers=(Playback(recording.effects),))):
            assert session.vibe("What do I owe?") == "Seven."
        assert (first.heard, second.heard) == ([], [])

    @pytest.mark.parametrize("model", ["openai/gpt-6-sol", "anthropic/claude-sonnet-5-5", "google/gemini-3-flash"])
    def test_real_requests_are_accepted(self, model: str):
        with Fake([call("hand_off_to_billing"), call("look_up", key="7"), "Seven."]) as fake:
            billing = Agent(None, [look_up], "You do billing.", name="Billing")
            session = Session(fake.connect(model), [hand_off(billing)], "You are the desk.")
            assert session.vibe("What do I owe?") == "Seven."

    def test_it_needs_a_name_and_an_agent(self):
        with pytest.raises(ToolDefinitionError, match="needs a name"):
            hand_off(Agent(Scripted()))
        with pytest.raises(ToolDefinitionError, match="is to an `Agent`"):
            hand_off("billing")  # type: ignore[arg-type]
