"""Guards: functions before requests and calls, and after replies and results, that refuse or replace."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import Any

import pytest

from antiphon import Agent, Conversation, Session
from antiphon.conversation import Image, Text, ToolResult, UserTurn
from antiphon.effects import EffectContext, Playback, Recording, use_context
from antiphon.errors import OptionError
from antiphon.fakes import Answer, Fake, call
from antiphon.session import Blocked, NoAnswer
from antiphon.tools import CanonicalCall, FinishRun, ToolFailure, Toolset, execute, tool
from antiphon.wire import Reply
from tests.session.scripted import Scripted, calls


def look(word: str = "x", limit: int = 3) -> str:
    """Look."""
    return f"{word} has the number 4242"[: limit * 100]


def whole(conversation: Conversation) -> str:
    return str(conversation.to_json())


class TestRequests:
    def test_a_guard_refuses_and_the_error_carries_the_run(self):
        def guard(conversation: Conversation) -> None:
            if "secret" in str(conversation.turns[-1]):
                raise Blocked("no secrets")

        session = Session(Scripted("Hello.", "Never."), before_request=guard)
        assert session.vibe("Hi.") == "Hello."
        with pytest.raises(Blocked, match="no secrets") as refused:
            session.vibe("A secret.")
        assert isinstance(refused.value, NoAnswer)
        assert (refused.value.run.outcome, refused.value.run.detail) == ("failed", "no secrets")

    def test_several_get_the_dependencies_and_may_replace_the_conversation(self):
        seen: list[Any] = []

        def first(conversation: Conversation, deps: str) -> Conversation:
            seen.append((deps, threading.current_thread().name))
            return Conversation().add_user(str(conversation.turns[-1].text).replace("Ada", "[name]"))

        async def second(conversation: Conversation) -> None:
            seen.append((conversation.turns[-1].text, threading.current_thread().name))

        model = Scripted("Fine.")
        agent = Agent(model, deps_type=str, before_request=[first, second])
        assert agent.vibe("I am Ada.", deps="d") == "Fine."
        assert "Ada" not in model.seen[0]
        assert [each[0] for each in seen] == ["d", "I am [name]."]
        # A synchronous one may wait without stopping the others.
        assert seen[0][1] != seen[1][1]

    def test_a_wrong_value_ends_the_run(self):
        with pytest.raises(OptionError, match=r"of `before_request` returns nothing or a conversation, not False"):
            Session(Scripted("x"), before_request=lambda _: False).vibe("Go.")  # type: ignore[arg-type]

    def test_wrong_functions_are_found_at_once(self):
        for name, wrong, told in [
            ("before_request", lambda: None, "a function of 1 argument"),
            ("after_reply", 3, "`after_reply` is a function, not 3"),
            ("before_call", lambda _a, _b, _c: None, "a function of 1 argument"),
            ("after_call", lambda _: None, "a function of 2 arguments"),
        ]:
            with pytest.raises(OptionError, match=told):
                Session(Scripted(), **{name: wrong})
            with pytest.raises(OptionError, match=told):
                Agent(Scripted(), **{name: [wrong]})


class TestReplies:
    def test_a_reply_is_replaced_before_anything_is_done_with_it(self):
        def guard(reply: Reply, deps: str) -> Reply | None:
            if deps in reply.text:
                return dataclasses.replace(reply, parts=(Text(reply.text.replace(deps, "…")),))
            return None

        session = Session(Scripted("The word is 4242."), deps="4242", after_reply=guard)
        result = session.vibe("Go.")
        assert (result.value, result.run.said) == ("The word is ….", "The word is ….")
        assert "4242" not in whole(session.conversation)

    def test_a_refused_reply_is_not_part_of_the_conversation(self):
        async def guard(reply: Reply) -> None:
            if "4242" in reply.text:
                raise Blocked("a number")

        session = Session(Scripted("4242", "fine"), after_reply=guard)
        with pytest.raises(Blocked, match="a number") as refused:
            session.vibe("Go.")
        assert refused.value.run.said == ""
        assert isinstance(session.conversation.turns[-1], UserTurn)
        assert session.resume() == "fine"

    def test_a_wrong_value_ends_the_run(self):
        with pytest.raises(OptionError, match=r"of `after_reply` returns nothing or a `Reply`, not 'text'"):
            Session(Scripted("x"), after_reply=lambda _reply: "text").vibe("Go.")  # type: ignore[arg-type]


class TestCalls:
    def test_it_sees_the_canonical_call_and_refuses_with_words_for_the_model(self):
        seen: list[dict[str, Any]] = []

        def guard(found: CanonicalCall) -> None:
            seen.append(found.arguments)
            if found.arguments["word"] == "bad":
                raise ToolFailure("not that word")

        model = Scripted(calls(("look", {"word": "good"}), ("look", {"word": "bad"})), "Done.")
        result = Session(model, [look], before_call=guard).vibe("Go.")
        assert result == "Done."
        # The calls of one reply run concurrently.
        assert sorted(each["word"] for each in seen) == ["bad", "good"]
        assert {each["limit"] for each in seen} == {3}
        assert [(each.result is None, each.error) for each in result.tool_calls] == [
            (False, None),
            (True, "not that word"),
        ]

    @pytest.mark.parametrize("count", [1, 2])
    def test_it_stops_the_run(self, count: int):
        ran: list[int] = []

        def act(number: int) -> None:
            """Act."""
            ran.append(number)

        async def guard(found: CanonicalCall, deps: int) -> None:
            if found.arguments["number"] == deps:
                raise Blocked("not number 0")

        model = Scripted(calls(*[("act", {"number": number}) for number in range(count)]), "Never.")
        session = Session(model, [act], deps=0, before_call=guard)
        with pytest.raises(Blocked, match="not number 0") as refused:
            session.vibe("Go.")
        assert ran == list(range(1, count))
        assert refused.value.run.tool_calls[0].error
        assert not session.conversation.open_calls

    def test_an_error_in_a_guard_lets_nothing_run(self):
        ran: list[str] = []

        def act() -> None:
            """Act."""
            ran.append("act")

        with pytest.raises(ZeroDivisionError):
            Session(Scripted(calls("act"), "x"), [act], before_call=lambda _found: 1 / 0).vibe("Go.")  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="of `before_call` returns nothing, not False"):
            Session(Scripted(calls("act"), "x"), [act], before_call=lambda _found: False).vibe("Go.")  # type: ignore[arg-type]
        assert ran == []

    def test_a_result_is_replaced_for_the_model_the_record_and_the_events(self):
        def redact(_found: CanonicalCall, result: ToolResult) -> str:
            return result.text.replace("4242", "****")

        session = Session(Scripted(calls("look", word="it"), "Done."), [look], after_call=redact)
        stream = session.stream("Go.")
        told = [str(event.body) for event in stream]
        assert stream.result.tool_calls[0].result == "it has the number ****"
        assert not any("4242" in each for each in told)
        assert "4242" not in whole(session.conversation)

    def test_the_stored_text_of_a_truncated_result_is_replaced_too(self):
        @tool(output_limit=20)
        def dump() -> str:
            """Dump."""
            return "line\n" * 50 + "4242"

        def redact(_found: CanonicalCall, _result: ToolResult) -> ToolResult:
            return ToolResult("any", "redacted")

        session = Session(Scripted(calls("dump"), "Done."), [dump], after_call=redact)
        session.vibe("Go.")
        assert "4242" not in whole(session.conversation)
        assert session.conversation.turns[1].results[0].text == "redacted"  # type: ignore[union-attr]

    def test_a_result_is_withheld_or_ends_the_run(self):
        def withhold(_found: CanonicalCall, _result: ToolResult) -> None:
            raise ToolFailure("the result is withheld")

        result = Session(Scripted(calls("look"), "Done."), [look], after_call=withhold).vibe("Go.")
        assert (result.tool_calls[0].result, result.tool_calls[0].error) == (None, "the result is withheld")

        def stop(_found: CanonicalCall, _result: ToolResult) -> None:
            raise Blocked("too much")

        session = Session(Scripted(calls("look"), "Never."), [look], after_call=stop)
        with pytest.raises(Blocked, match="too much"):
            session.vibe("Go.")
        assert "4242" not in whole(session.conversation)

    def test_failures_of_the_tool_are_seen_too(self):
        def fail() -> None:
            """Fail."""
            raise RuntimeError("host db-7 is down")

        def hide(_found: CanonicalCall, result: ToolResult) -> str | None:
            return "it failed" if result.is_error else None

        result = Session(Scripted(calls("fail"), "Done."), [fail], after_call=hide).vibe("Go.")
        assert (result.tool_calls[0].result, result.tool_calls[0].error) == (None, "it failed")

    def test_a_guard_of_one_tool_holds_for_it_alone(self):
        def never(found: CanonicalCall) -> None:
            raise ToolFailure(f"`{found.name}` is closed")

        @tool(before_call=never)
        def first() -> str:
            """First."""
            return "first"

        def second() -> str:
            """Second."""
            return "second"

        shout = Toolset([second]).guarded(after_call=lambda _found, result: result.text.upper())
        result = Session(Scripted(calls(("first", {}), ("second", {})), "Done."), [first, *shout]).vibe("Go.")
        assert [each.result or each.error for each in result.tool_calls] == ["`first` is closed", "SECOND"]
        # The function itself is not a call of a model.
        assert first() == "first"

    def test_those_of_the_session_come_first(self):
        order: list[str] = []
        (own,) = Toolset([look]).guarded(before_call=lambda _found: order.append("tool"))
        Session(Scripted(calls("look"), "Done."), [own], before_call=[lambda _found: order.append("session")]).vibe(
            "Go."
        )
        assert order == ["session", "tool"]

    def test_a_guard_may_end_the_run_with_a_value(self):
        def end(_found: CanonicalCall) -> None:
            raise FinishRun("cached")

        assert Session(Scripted(calls("look")), [look], before_call=end).vibe("Go.") == "cached"

    def test_a_tool_without_a_model_has_its_guards(self):
        from antiphon.conversation import ToolCall

        (closed,) = Toolset([look]).guarded(
            after_call=lambda _found, _result: ToolResult("", (Text("a"), Image(url="https://a/b.png")))
        )
        done = asyncio.run(execute(closed, ToolCall("c", "look", {}), Conversation()))
        assert (done.result.call_id, done.result.text) == ("c", "a")

    def test_a_replay_has_the_guarded_results(self):
        called: list[str] = []

        def redact(_found: CanonicalCall, result: ToolResult) -> str:
            called.append(result.text)
            return "redacted"

        recording = Recording()
        for performer, model in ((recording, Scripted(calls("look"), "Done.")), (None, Scripted())):
            middleware = performer or Playback(recording.effects)
            with use_context(EffectContext(performers=(middleware,))):
                result = Session(model, [look], after_call=redact).vibe("Go.")
            assert result.tool_calls[0].result == "redacted"
        assert len(called) == 1
        assert "4242" not in str(recording.effects)


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-5", "openai/gpt-5", "google/gemini-3-pro"])
def test_over_http(model: str):
    def redact(_found: CanonicalCall, result: ToolResult, deps: str) -> str:
        return result.text.replace(deps, "****")

    with Fake([call("look", word="it"), Answer("Done.")]) as fake:
        session = Session(fake.connect(model), [look], deps="4242", after_call=redact)
        assert session.vibe("Go.") == "Done."
        assert not any(each.rejected for each in fake.requests)
        assert "4242" not in str(fake.requests[-1].body)
