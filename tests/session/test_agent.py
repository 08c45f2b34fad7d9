"""Agents: definitions that are asked once, or hold conversations, with dependencies of their own."""

from __future__ import annotations

import asyncio
import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AIResult, Conversation, Limits, Session, Store, ToolContext
from antiphon.durable import Journal
from antiphon.effects import EffectContext, Playback, Recording, use_context
from antiphon.errors import NotReadyError, OptionError
from antiphon.fakes import Fake, call
from antiphon.session import LimitReached, NeedsHuman, ReturnError
from antiphon.tools import Policy, Rule, Toolset
from antiphon.wire import Reply, TextDelta
from tests.session.scripted import STRATEGIES, Scripted, answering, calls


@dataclass
class City:
    name: str
    people: int


@dataclass
class Database:
    path: str = "cities.db"


class Listener(Scripted):
    """A scripted model that also remembers the system text of each request."""

    def __init__(self, *script: Any) -> None:
        super().__init__(*script)
        self.systems: list[str] = []

    def _reply(self, conversation: Conversation) -> Reply:
        self.systems.append(conversation.system)
        return super()._reply(conversation)


def look_up(key: str, context: ToolContext[Database]) -> str:
    """Look something up."""
    return f"{context.deps.path}: {key}"


class TestOneOffs:
    def test_each_ask_has_a_conversation_of_its_own(self):
        agent = Agent(Scripted("One.", "Two.", "Three."))
        answers = [agent.do("First?"), agent.vibe("Second?"), agent.chat("Third?")]
        assert answers == ["One.", "Two.", "Three."]
        assert [len(each.run.conversation.turns) for each in answers] == [2, 2, 2]

    def test_asynchronously(self):
        agent = Agent(Scripted("One.", "Two.", "Three.", "Four."))

        async def main() -> list[Any]:
            answers = [await agent.ado("…"), await agent.avibe("…"), await agent.achat("…")]
            async with agent.astream("…") as events:
                texts = [event.body.text async for event in events if isinstance(event.body, TextDelta)]
                return [each.value for each in (*answers, await events.result)] + texts

        assert asyncio.run(main()) == ["One.", "Two.", "Three.", "Four.", "…"]

    def test_streams(self):
        with Agent(Scripted("Hello.")).stream("Hi") as events:
            assert [event.body.text for event in events if isinstance(event.body, TextDelta)] == ["…"]
        assert events.result == "Hello."

    def test_in_a_running_loop_the_asynchronous_form_is_named(self):
        async def main() -> None:
            Agent(Scripted("…")).do("…")

        with pytest.raises(NotReadyError, match="`await …ado"):
            asyncio.run(main())

    def test_threads_share_one(self):
        with Fake() as fake:
            fake.play(*["Hello."] * 40)
            agent = Agent(fake.connect("openai/gpt-5"), returns=str)
            with ThreadPoolExecutor(20) as threads:
                assert [*threads.map(lambda _: agent.vibe("Hi").value, range(40))] == ["Hello."] * 40


class TestDefinition:
    def test_it_does_not_change(self):
        agent = Agent(Scripted(), name="geographer")
        with pytest.raises(AttributeError, match=r"agent\.replace\(name=…\)"):
            agent.name = "historian"  # type: ignore[misc]
        with pytest.raises(AttributeError):
            del agent.name
        assert (agent.name, repr(agent)) == ("geographer", "<Agent geographer: scripted, 0 tools>")

    def test_a_copy_has_other_arguments(self):
        agent = Agent(Scripted(calls("look_up", key="a"), "Done."), [look_up], deps_type=Database)
        other = agent.replace(limits=Limits(tool_calls=0), name="b")
        assert ([each.name for each in other.tools], other.name, agent.name) == (["look_up"], "b", "")
        with pytest.raises(LimitReached):
            other.vibe("Go.", deps=Database())

    def test_changes_of_a_session_do_not_reach_it(self):
        agent = Agent(Scripted("Hello."), [look_up], deps_type=Database)
        session = agent.session(deps=Database())
        session.tools, session.model = [], Scripted("Hi.")
        assert session.vibe("…") == "Hi."
        assert len(agent.tools) == 1
        assert agent.vibe("…", deps=Database()) == "Hello."

    @pytest.mark.parametrize(
        ("options", "hint"),
        [
            ({"polcy": 1}, "an agent has no option `polcy`; did you mean `policy`"),
            ({"temprature": 1}, r"did you mean `settings={'temperature': …}`"),
            ({"settings": {"temprature": 1}}, "did you mean `temperature`"),
            ({"settings": {"temperature": "hot"}}, "`temperature` is a number"),
            ({"settings": 3}, "`settings` is an object of request options"),
            ({"returns": look_up}, "`returns` cannot be"),
            ({"limits": 3}, "`limits` is a `Limits`"),
            ({"check": lambda: None}, "a check is a function of 1 argument, and of the dependencies if it needs them"),
            ({"check": lambda _, __, ___: None}, "a check is a function of 1 argument"),
            ({"system": lambda _, __: ""}, "a part of `system` is a function of nothing, and of the dependencies"),
        ],
    )
    def test_a_wrong_option_is_found_at_once(self, options: dict[str, Any], hint: str):
        with pytest.raises(OptionError, match=hint):
            Agent(Scripted(), **options).do("…")

    @pytest.mark.parametrize(
        ("options", "hint"),
        [
            ({"temperature": 1}, r"an ask has no option `temperature`; did you mean `settings={'temperature': …}`"),
            ({"setings": {}}, "an ask has no option `setings`; did you mean `settings`"),
            ({"settings": {"max_tokens": "many"}}, "`max_tokens` is a number of tokens"),
        ],
    )
    def test_a_wrong_option_of_an_ask_is_found_before_anything_is_sent(self, options: dict[str, Any], hint: str):
        model = Scripted("…")
        with pytest.raises(OptionError, match=hint):
            Agent(model).do("…", **options)
        with pytest.raises(OptionError, match=hint):
            Session(model).do("…", **options)
        assert model.script == ["…"]


class TestDeps:
    def test_tools_get_those_of_the_ask(self):
        model = Scripted(calls("look_up", key="a"), "Done.", calls("look_up", key="b"), "Done.")
        agent = Agent(model, [look_up], deps_type=Database)
        results = [agent.vibe("Go.", deps=Database(path)).tool_calls[0].result for path in ("x", "y")]
        assert results == ["x: a", "y: b"]

    def test_one_ask_of_a_session_may_have_others(self):
        model = Scripted(calls("look_up", key="a"), "Done.", calls("look_up", key="b"), "Done.")
        session = Session(model, [look_up], deps=Database("x"))
        assert session.vibe("Go.", deps=Database("y")).tool_calls[0].result == "y: a"
        assert session.vibe("Go.").tool_calls[0].result == "x: b"

    @pytest.mark.parametrize("deps", [None, "cities.db", 3])
    def test_those_of_another_type_are_refused(self, deps: Any):
        agent = Agent(Scripted("…"), deps_type=Database)
        with pytest.raises(OptionError, match="`deps` must be of the type `Database`"):
            agent.do("…", deps=deps)
        with pytest.raises(OptionError, match="`deps` must be of the type `Database`"):
            agent.session(deps=Database()).do("…", deps=deps)

    def test_secrets_in_them_are_not_quoted(self):
        with pytest.raises(OptionError) as raised:
            Agent(Scripted("…"), deps_type=Database).do("…", deps="sk-secret")  # type: ignore[call-overload]
        assert "sk-secret" not in str(raised.value)

    def test_a_function_of_them_chooses_the_model(self):
        models = {"a": Scripted("I am A."), "b": Scripted("I am B."), "c": Scripted("I am C.")}
        agent = Agent(lambda deps: models[deps.path], deps_type=Database)
        assert agent.do("Who?", deps=Database("a")) == "I am A."
        session = agent.session(deps=Database("b"))
        assert session.do("Who?", deps=Database("c")) == "I am C."
        assert session.do("Who?") == "I am B."


class TestSystemText:
    def test_functions_and_texts_make_it(self):
        async def describe(deps: Database) -> str:
            return f"The database is {deps.path}."

        model = Listener("Hello.")
        agent = Agent(model, system=["Be brief.", describe, lambda: "", lambda: "It is May."], deps_type=Database)
        agent.do("Hi", deps=Database("x"))
        assert model.systems == ["Be brief.\n\nThe database is x.\n\nIt is May."]

    def test_functions_are_called_for_each_ask(self):
        days = iter(["Monday", "Tuesday"])
        model = Listener("Hello.", "Hello again.")
        session = Session(model, system=lambda: f"It is {next(days)}.")
        session.chat("Hi")
        session.chat("Hi")
        assert model.systems == ["It is Monday.", "It is Tuesday."]

    def test_it_replaces_that_of_a_given_conversation(self):
        model = Listener("Hello.", "Hello.")
        Agent(model, system="New.").session(conversation=Conversation("Old.")).chat("Hi")
        Agent(model).session(conversation=Conversation("Old.")).chat("Hi")
        assert model.systems == ["New.", "Old."]

    def test_a_preview_has_it(self):
        with Fake() as fake:
            body = Session(fake.connect("openai/gpt-5"), system=[lambda: "It is May."]).request("Hi")
        assert b"It is May." in body

    def test_a_function_that_returns_no_text_is_named(self):
        def count() -> Any:
            return 3

        with pytest.raises(OptionError, match=r"count` makes a part of `system`, so it returns text, not 3"):
            Agent(Scripted("…"), system=count).do("…")


class TestReturns:
    def test_all_answers_have_its_type_except_those_of_chat(self):
        model = Scripted('{"name": "Oslo", "people": 7}', '{"name": "Oslo", "people": 7}', "Oslo.")
        agent = Agent(model, returns=City)
        assert agent.do("…") == City("Oslo", 7)
        session = agent.session()
        assert session.vibe("…").value.people == 7
        assert session.chat("…") == "Oslo."

    def test_an_ask_may_have_another(self):
        session = Session(Scripted("3", "[1, 2]"), returns=int)
        assert (session.do("…").value, session.do("…", returns=list[int]).value) == (3, [1, 2])


class TestSettings:
    def test_one_ask_may_have_others(self):
        model = Scripted("a", "b")
        session = Session(model, temperature=0.5, max_tokens=10)
        session.do("…", settings={"temperature": 0})
        session.do("…")
        assert model.options == [{"temperature": 0, "max_tokens": 10}, {"temperature": 0.5, "max_tokens": 10}]

    def test_those_of_an_agent(self):
        model = Scripted("a", "b")
        agent = Agent(model, settings={"temperature": 0.5})
        agent.do("…", settings={"max_tokens": 10})
        agent.do("…")
        assert model.options == [{"temperature": 0.5, "max_tokens": 10}, {"temperature": 0.5}]


class TestChecks:
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_rejected_answer_is_asked_for_again(self, strategy: Any):
        def check(city: City) -> None:
            if city.people < 0:
                raise ValueError("a city has no negative number of people")

        model = Scripted(answering(strategy, name="Oslo", people=-7), answering(strategy, name="Oslo", people=7))
        agent = Agent(model, returns=City, check=check, strategy=strategy)
        assert agent.do("How many?") == City("Oslo", 7)

    def test_the_model_reads_why(self):
        def check(text: str) -> None:
            assert "Oslo" in text, "name the city"

        model = Scripted("It is big.", "Oslo is big.")
        assert Session(model, check=check).vibe("…") == "Oslo is big."
        assert "name the city" in model.seen[1]

    def test_they_may_be_asynchronous_and_take_the_dependencies(self):
        async def check(text: str, deps: Database) -> None:
            await asyncio.sleep(0)
            if deps.path not in text:
                raise ValueError(f"name {deps.path}")

        agent = Agent(Scripted("a", "b", "cities.db"), check=[lambda _: None, check], deps_type=Database)
        assert agent.do("…", deps=Database()) == "cities.db"

    @pytest.mark.parametrize("returns", [None, City])
    def test_it_ends_after_the_attempts(self, returns: Any):
        def check(_: Any) -> None:
            raise ValueError("never good")

        answer = '{"name": "Oslo", "people": 7}'
        session = Session(Scripted(answer, answer, answer), returns=returns, check=check, attempts=1)
        with pytest.raises(ReturnError, match="never good") as raised:
            session.do("…")
        assert [each.why for each in raised.value.refused] == ["never good", "never good"]
        assert raised.value.received == [answer, answer]
        assert raised.value.run.outcome == "wrong"

    def test_another_exception_ends_the_ask(self):
        def check(_: str) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            Session(Scripted("a", "b"), check=check).do("…")

    def test_they_judge_only_answers_of_their_type(self):
        def check(city: City) -> None:
            assert city.people > 0

        session = Agent(Scripted("Hello.", "3"), returns=City, check=check).session()
        assert session.chat("…") == "Hello."
        assert session.do("…", returns=int) == 3

    def test_an_ask_may_have_its_own(self):
        def check(number: int) -> None:
            assert number > 3, "too small"

        session = Session(Scripted("3", "4", "3"))
        assert session.do("…", returns=int, check=check) == 4
        assert session.do("…", returns=int) == 3


class TestSessions:
    def test_standing_decisions_belong_to_one_conversation(self):
        model = Scripted(calls("look_up", key="a"), "Done.", calls("look_up", key="b"), "Done.")
        agent = Agent(model, Toolset([look_up]).requiring_approval(), deps_type=Database)
        first, second = agent.session(deps=Database()), agent.session(deps=Database())
        with pytest.raises(NeedsHuman):
            first.vibe("…")
        first.allow(first.pending_questions[0].id, always=True)
        assert first.resume() == "Done."
        with pytest.raises(NeedsHuman):
            second.vibe("…")

    def test_a_given_policy_is_that_of_all(self):
        policy = Policy([Rule("allow", "look_up")])
        agent = Agent(Scripted(), Toolset([look_up]).requiring_approval(), policy=policy)
        assert agent.session().policy is agent.session().policy is policy

    def test_each_may_have_its_own_people(self):
        model = Scripted(calls("look_up", key="a"), "Done.")
        agent = Agent(model, Toolset([look_up]).requiring_approval(), deps_type=Database)
        session = agent.session(deps=Database(), people=lambda question: question.kind == "approval")
        assert session.vibe("…").tool_calls[0].error is None

    def test_they_are_saved_and_opened(self, tmp_path: Path):
        with Store(tmp_path / "work.db") as store:
            with Agent(Scripted("One.")).session(store=store, id="talk") as session:
                session.chat("First?")
            model = Listener("Two.")
            with Agent(model, system="Be brief.").open_session("talk", store=store) as session:
                assert len(session.conversation.turns) == 2
                assert session.chat("Second?") == "Two."
            assert model.systems == ["Be brief."]

    def test_a_wrong_option_is_found_at_once(self):
        with pytest.raises(OptionError, match="a session of an agent has no option `conversatoin`; did you mean"):
            Agent(Scripted()).session(conversatoin=None)  # type: ignore[call-overload]


class TestReplies:
    def test_each_is_passed_to_a_function_before_its_calls_run(self):
        ran: list[str] = []

        def note(word: str) -> str:
            ran.append(word)
            return word

        def guard(reply: Reply) -> None:
            if any("secret" in str(each) for each in reply.parts):
                raise PermissionError("no secrets")

        model = Scripted(calls("note", word="fine"), calls("note", word="secret"))
        with pytest.raises(PermissionError, match="no secrets"):
            Agent(model, [note], after_reply=guard).vibe("Go.")
        assert ran == ["fine"]


class TestReplay:
    def test_functions_of_the_definition_are_not_called_again(self):
        called: list[str] = []

        def describe() -> str:
            called.append("system")
            return f"It is day {len(called)}."

        def check(text: str) -> None:
            called.append(f"check {text}")
            assert text == "b", "say b"

        recording = Recording()
        with use_context(EffectContext(performers=(recording,))):
            assert Agent(Scripted("a", "b"), system=describe, check=check).do("Go.") == "b"
        first, called[:] = list(called), []
        with use_context(EffectContext(performers=(Playback(recording.effects),))):
            assert Agent(Scripted(), system=describe, check=check).do("Go.") == "b"
        assert (first, called) == (["system", "check a", "check b"], [])

    def test_a_journal_keeps_answers_of_any_type(self, tmp_path: Path):
        def check(city: City) -> None:
            assert dataclasses.is_dataclass(city)

        journal = Journal(tmp_path / "journal.db")
        session = Session(Scripted('{"name": "Oslo", "people": 7}'), returns=City, check=check, journal=journal)
        assert session.do("…") == City("Oslo", 7)


def test_a_session_that_calls_a_tool_over_http():
    with Fake([call("look_up", key="a"), "Done."]) as fake:
        agent = Agent(fake.connect("anthropic/claude-sonnet-5"), [look_up], "Be brief.", deps_type=Database)
        assert agent.session(deps=Database("x")).vibe("Go.").tool_calls[0].result == "x: a"
        assert len(fake.requests) == 2


def test_a_result_does_not_change():
    result = AIResult("text")
    with pytest.raises(AttributeError, match="does not change"):
        result.value = "other"
    with pytest.raises(AttributeError, match="does not change, so `value` stays"):
        del result.value
    assert result.value == "text"
