"""Toolsets in sessions: they choose the tools of each request, also when a run is resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Conversation, Session, Store
from antiphon.effects import EffectContext, Playback, Recording, use_context
from antiphon.fakes import Fake, call
from antiphon.session import NeedsHuman, PrefixChanged
from antiphon.tools import StepContext, Tool, ToolDefinitionError, Toolset, tool
from antiphon.wire import Reply
from tests.session.scripted import Scripted, calls


@dataclass
class User:
    is_admin: bool = False


def look(key: str = "") -> str:
    """Look at something."""
    return f"saw {key}"


def change(key: str = "") -> str:
    """Change something."""
    return f"changed {key}"


def allow_admins(context: StepContext[User], tools: tuple[Tool, ...]) -> list[Tool]:
    return [each for each in tools if context.deps.is_admin or each.name == "look"]


class Declared(Scripted):
    """A scripted model that remembers the tools of each request."""

    def __init__(self, *script: Any) -> None:
        super().__init__(*script)
        self.tools: list[list[str]] = []

    def _reply(self, conversation: Conversation) -> Reply:
        self.tools.append([each.name for each in conversation.tools if each.name != "read_result"])
        return super()._reply(conversation)


def test_static_toolsets_are_tools_beside_functions():
    model = Declared(calls("crm_look", key="a"), "Done.")
    session = Session(model, [change, Toolset([look]).prefixed("crm_")])
    assert session.vibe("Look.").tool_calls[0].result == "saw a"
    assert model.tools[0] == ["change", "crm_look"]
    assert [each.name for each in session.tools] == ["change", "crm_look"]


def test_one_toolset_is_a_value_of_tools():
    assert [each.name for each in Session(Scripted(), Toolset([look])).tools] == ["look"]
    made = Toolset([look, change]).prepared(allow_admins)
    assert Session(Scripted(), made, deps=User()).tools == [made]
    assert Agent(Scripted(), made, deps_type=User).tools == (made,)
    assert [each.name for each in Agent(Scripted(), Toolset([look])).tools] == ["look"]


@pytest.mark.parametrize("is_admin", [True, False])
def test_an_agent_prepares_with_the_dependencies_of_each_ask(is_admin: bool):
    model = Declared(calls("change", key="a"), "Done.")
    agent = Agent(model, [Toolset([look, change]).prepared(allow_admins)], deps_type=User)
    (made,) = agent.vibe("Go.", deps=User(is_admin)).tool_calls
    assert model.tools[0] == (["look", "change"] if is_admin else ["look"])
    assert (made.result, made.error) == (
        ("changed a", None) if is_admin else (None, "there is no tool `change`; there are: look, read_result")
    )


def test_tools_are_chosen_again_before_each_request():
    steps: list[tuple[int, int, str]] = []

    async def one_more(context: StepContext[None], tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        steps.append((context.request, len(context.conversation.turns), context.model))
        return tools[: context.request]

    model = Declared(calls("look"), calls("change"), "Done.")
    done = Session(model, [Toolset([look, change]).prepared(one_more)]).vibe("Go.")
    assert model.tools == [["look"], ["look", "change"], ["look", "change"]]
    assert steps == [(1, 1, "scripted"), (2, 2, "scripted"), (3, 4, "scripted")]
    assert [each.error for each in done.tool_calls] == [None, None]


def test_a_removed_tool_costs_no_prefix_and_does_not_run():
    def once(context: StepContext[None], tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        return tools if context.request == 1 else tools[:1]

    with Fake([call("change"), call("change"), "Done."]) as fake:
        session = Session(fake.connect("openai/gpt-5"), [Toolset([look, change]).prepared(once)])
        with session.stream("Go.") as events:
            told = [each.body for each in events]
        first, *later = [each.body["tools"] for each in fake.requests]
        assert later == [first, first]
        assert not [each for each in told if isinstance(each, PrefixChanged)]
        assert [each.error is None for each in events.result.tool_calls] == [True, False]


def test_two_tools_of_one_name_end_the_run():
    session = Session(Scripted("Done."), [look, Toolset([look]).prepared(lambda _, tools: tools)])
    with pytest.raises(ToolDefinitionError, match="two tools are named `look`"):
        session.vibe("Go.")


def test_other_tools_of_a_session_can_be_added():
    session = Session(Declared("Done."), [Toolset([look, change]).prepared(allow_admins)], deps=User())
    session.tools = [*session.tools, tool(name="more")(look)]
    session.vibe("Go.")
    assert session.model.tools == [["more", "look"]]  # type: ignore[attr-defined]


def test_a_call_that_waited_runs_with_the_tools_of_then():
    made = Toolset([look, change]).requiring_approval().prepared(allow_admins)
    session = Session(Declared(calls("change", key="a"), "Done."), [made], deps=User(True))
    with pytest.raises(NeedsHuman) as stopped:
        session.vibe("Go.")
    (question,) = stopped.value.run.waiting
    session.allow(question.id)
    assert session.resume().tool_calls[0].result == "changed a"


def test_a_right_that_was_lost_in_between_is_lost():
    made, deps = Toolset([look, change]).requiring_approval().prepared(allow_admins), User(True)
    session = Session(Declared(calls("change", key="a"), "Done."), [made], deps=deps)
    with pytest.raises(NeedsHuman) as stopped:
        session.vibe("Go.")
    session.allow(stopped.value.run.waiting[0].id)
    deps.is_admin = False
    assert "there is no tool `change`" in str(session.resume().tool_calls[0].error)


def test_a_replay_declares_what_was_declared():
    made = Toolset([look, change]).prepared(allow_admins)
    recording = Recording()
    with use_context(EffectContext(performers=(recording,))):
        Session(Scripted(calls("look", key="a"), "Done."), [made], deps=User(True)).vibe("Go.")
    model = Declared()
    with use_context(EffectContext(performers=(Playback(recording.effects),))):
        assert Session(model, [made], deps=User(False)).vibe("Go.") == "Done."


def test_a_stored_run_resumes_with_its_tools(tmp_path: Path):
    made = Toolset([look, change]).requiring_approval().prepared(allow_admins)
    store = Store(tmp_path / "s.db")
    agent = Agent(Scripted(calls("change", key="a"), "Done."), [made], deps_type=User)
    session = agent.session(deps=User(True), store=store, id="s")
    with pytest.raises(NeedsHuman):
        session.vibe("Go.")
    session.close()
    again = agent.open_session("s", store=store, deps=User(True))
    again.allow(again.pending_questions[0].id)
    assert again.resume().tool_calls[0].result == "changed a"


def test_a_derived_tool_may_have_another_description():
    def describe(context: StepContext[str], tools: tuple[Tool, ...]) -> list[Tool]:
        return [replace(each, spec=replace(each.spec, description=context.deps)) for each in tools]

    session = Session(Declared("Done."), [Toolset([look]).prepared(describe)], deps="For today.")
    session.vibe("Go.")
    assert session.conversation.tools[0].description == "For today."
