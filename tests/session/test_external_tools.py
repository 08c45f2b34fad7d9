"""Tools that run elsewhere: their calls wait for results, which any process may deliver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon import Agent, Conversation, Session, Store, ToolCall, results
from antiphon.conversation import AssistantTurn, ToolResult
from antiphon.errors import NotReadyError, OptionError
from antiphon.fakes import Fake, call
from antiphon.session import NeedsHuman, NeedsResults, QuestionAsked
from antiphon.tools import as_tool, execute, tool
from antiphon.wire import rules
from tests.session.scripted import Scripted, calls


@tool(external=True, output_limit=100)
def price(item: str, count: int = 1) -> float:
    """Return the price of an item."""
    raise AssertionError(f"{count} {item}: it runs elsewhere")


def look(key: str) -> str:
    """Look something up."""
    return f"saw {key}"


def finish(session: Session) -> ToolResult:
    """Return the result of the external call, which is the last of the conversation."""
    session.resume()
    turns = session.conversation.turns
    return next(each for turn in reversed(turns) if isinstance(turn, AssistantTurn) for each in turn.results)


def wait_for_results(*script: Any, **options: Any) -> tuple[Session, NeedsResults]:
    session = Session(Scripted(*script), [price, look], **options)
    with pytest.raises(NeedsResults) as stopped:
        session.vibe("How much?")
    return session, stopped.value


class TestWaiting:
    def test_the_ask_ends_with_the_calls(self):
        session, stopped = wait_for_results(calls("price", item="tea"), "Three.")
        assert isinstance(stopped, NeedsHuman)
        (asked,) = stopped.run.waiting
        assert (asked.kind, asked.call and asked.call.arguments) == ("result", {"item": "tea", "count": 1})
        assert str(stopped) == (
            'results are awaited: `price`: What is the result of `price` with {"item":"tea","count":1}?'
        )
        assert session.pending_questions[0].kind == "result"

    def test_other_calls_run_meanwhile(self):
        session, stopped = wait_for_results(calls(("price", {"item": "tea"}), ("look", {"key": "a"})), "Three.")
        assert [each.result for each in stopped.run.tool_calls] == ["saw a"]
        session.deliver(stopped.run.waiting[0].id, 3.5)
        assert finish(session).text == "3.5"

    def test_people_are_not_asked_for_a_result(self):
        asked: list[str] = []
        wait_for_results(calls("price", item="tea"), people=lambda question: asked.append(question.text))
        assert not asked

    def test_people_approve_before(self):
        approving = as_tool(price.function, external=True, needs_approval=True)
        session = Session(Scripted(calls("price", item="tea"), "No."), [approving])
        with pytest.raises(NeedsHuman) as stopped:
            session.vibe("How much?")
        assert not isinstance(stopped.value, NeedsResults)
        session.allow(stopped.value.run.waiting[0].id)
        with pytest.raises(NeedsResults) as waits:
            session.resume()
        session.deliver(waits.value.run.waiting[0].id, 2)
        assert finish(session).text == "2"

    def test_invalid_arguments_go_back_to_the_model(self):
        done = Session(Scripted(calls("price", count="many"), "Sorry."), [price]).vibe("How much?")
        assert "the arguments of `price` do not fit" in str(done.tool_calls[0].error)

    def test_it_cannot_run_outside_of_a_session(self):
        import asyncio

        done = asyncio.run(execute(price, ToolCall("c", "price", {"item": "tea"}), Conversation()))
        assert done.record.error == "`price` runs elsewhere, and only a session can wait for its result"


class TestDelivery:
    @pytest.mark.parametrize(
        ("value", "text"), [("three", "three"), (None, ""), ({"eur": 3}, '{"eur":3}'), ([1, 2], "[1,2]")]
    )
    def test_a_value_becomes_a_result_as_that_of_a_function(self, value: Any, text: str):
        session, stopped = wait_for_results(calls("price", item="tea"), "Done.")
        session.deliver(stopped.run.waiting[0].id, value)
        assert finish(session).text == text

    def test_a_semantic_result_is_shown_to_people(self):
        session, stopped = wait_for_results(calls("price", item="tea"), "Done.")
        session.deliver(stopped.run.waiting[0].id, results.text("Cheap"))
        result = finish(session)
        assert result.semantic is not None
        assert result.semantic.kind == "text"

    def test_an_error_is_a_failed_call(self):
        session, stopped = wait_for_results(calls("price", item="tea"), "Sorry.")
        session.deliver(stopped.run.waiting[0].id, error="the shop is closed")
        result = finish(session)
        assert (result.is_error, result.text) == (True, "the shop is closed")

    def test_a_long_result_is_truncated_and_kept(self):
        session, stopped = wait_for_results(calls("price", item="tea"), "Long.")
        session.deliver(stopped.run.waiting[0].id, "word " * 100)
        result = finish(session)
        assert session.conversation.whole(result.handle) == "word " * 100
        assert "of 500 characters shown" in result.text

    def test_a_value_and_an_error_are_refused(self):
        session, stopped = wait_for_results(calls("price", item="tea"))
        with pytest.raises(OptionError, match="not both"):
            session.deliver(stopped.run.waiting[0].id, 3, error="none")

    def test_it_is_neither_approved_nor_answered(self):
        session, stopped = wait_for_results(calls("price", item="tea"))
        id = stopped.run.waiting[0].id
        for give in (lambda: session.allow(id), lambda: session.answer(id, "3")):
            with pytest.raises(NotReadyError, match="use `deliver`"):
                give()

    def test_no_approval_is_delivered(self):
        session = Session(Scripted(calls("look", key="a")), [as_tool(look, needs_approval=True)])
        with pytest.raises(NeedsHuman) as stopped:
            session.vibe("Look.")
        with pytest.raises(NotReadyError, match="use `allow` or `deny`"):
            session.deliver(stopped.value.run.waiting[0].id, "seen")

    def test_a_run_in_the_background_goes_on(self):
        session = Session(Scripted(calls("price", item="tea"), "Three."), [price])
        run = session.start("How much?")
        with pytest.raises(NeedsResults):
            run.wait()
        (asked,) = [each.body.question for each in run.events() if isinstance(each.body, QuestionAsked)]
        run.deliver(asked, 3)
        result = run.wait()
        assert (result.value, result.tool_calls[0].result) == ("Three.", "3")


class TestOtherProcesses:
    def test_a_saved_conversation_takes_the_result(self, tmp_path: Path):
        session, stopped = wait_for_results(calls("price", item="tea"))
        session.conversation.save(tmp_path / "c.json")
        later = Session(Scripted("Three."), [price], conversation=Conversation.load(tmp_path / "c.json"))
        later.deliver(stopped.run.waiting[0].id, 3)
        assert later.resume() == "Three."

    def agent(self, *script: Any) -> Agent:
        return Agent(Scripted(*script), [price])

    def test_a_stored_session_takes_the_result(self, tmp_path: Path):
        store = Store(tmp_path / "s.db")
        session = self.agent(calls("price", item="tea")).session(store=store, id="s")
        with session, pytest.raises(NeedsResults) as stopped:
            session.vibe("How much?")
        with self.agent("Three.").open_session("s", store=store) as later:
            later.deliver(stopped.value.run.waiting[0].id, {"eur": 3})
            assert finish(later).text == '{"eur":3}'

    @pytest.mark.parametrize("flags", [[], ["--error"]])
    def test_the_command_line_gives_it(self, tmp_path: Path, flags: list[str]):
        from antiphon.cli import cli

        store = Store(tmp_path / "s.db")
        session = self.agent(calls("price", item="tea")).session(store=store, id="s")
        with session, pytest.raises(NeedsResults):
            session.vibe("How much?")
        done = CliRunner().invoke(cli, ["--db", str(tmp_path / "s.db"), "answer", "s", "3", *flags])
        assert done.exit_code == 0, done.output
        script = [calls("price", item="tea"), "Three."]
        with self.agent(*script[1:]).session(store=store, id="s") as later:
            (made,) = later.vibe("How much?").tool_calls
        assert (made.result, made.error) == ((None, "3") if flags else ("3", None))

    def test_the_error_flag_is_only_for_results(self, tmp_path: Path):
        from antiphon.cli import cli

        store = Store(tmp_path / "s.db")
        agent = Agent(Scripted(calls("look", key="a")), [as_tool(look, needs_approval=True)])
        with agent.session(store=store, id="s") as session, pytest.raises(NeedsHuman):
            session.vibe("Look.")
        done = CliRunner().invoke(cli, ["--db", str(tmp_path / "s.db"), "answer", "s", "no", "--error"])
        assert "`--error` is for the results of calls" in done.output


def test_the_requests_follow_the_rules():
    with Fake([call("price", item="tea"), "Three."]) as fake:
        session = Session(fake.connect("anthropic/claude-sonnet-5-5"), [price])
        with pytest.raises(NeedsResults) as stopped:
            session.vibe("How much?")
        session.deliver(stopped.value.run.waiting[0].id, 3)
        assert session.resume() == "Three."
        assert not [each for sent in fake.requests for each in rules.check(sent.body, "anthropic")]
