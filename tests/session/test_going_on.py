"""Going on without a new prompt: after errors, cancellation, limits and cut answers, and nothing is said twice."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import AssistantTurn, Conversation, Note, ToolCall, UserTurn
from antiphon.effects import Limits
from antiphon.errors import AntiphonError, ConnectionFailed, NotReadyError, RateLimited, ServerFailed
from antiphon.session import (
    Cancelled,
    EmptyAnswer,
    LimitReached,
    LoopDetected,
    ModelRefused,
    ReturnError,
    Session,
    Truncated,
)
from antiphon.tools import ToolFailure, Toolset, tool
from antiphon.wire import Reply
from tests.session.scripted import Scripted, calls, within


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


class Failing(Scripted):
    """Steps that are errors are raised."""

    def _reply(self, conversation: Conversation) -> Reply:
        if isinstance(self.script[0], Exception):
            raise type(self.script.pop(0))("it failed")
        return super()._reply(conversation)


def said(conversation: Conversation) -> list[str]:
    """What users said, part by part, without the notes of the program."""
    return [part.text for turn in conversation.turns if isinstance(turn, UserTurn) for part in turn.visible_parts]  # type: ignore[union-attr]


def notes(conversation: Conversation) -> list[str]:
    """The kinds of the notes in the conversation."""
    parts = [part for turn in conversation.turns if isinstance(turn, UserTurn) for part in turn.parts]
    return [part.kind for part in parts if isinstance(part, Note)]


def ran(conversation: Conversation) -> list[str]:
    return [result.text for turn in conversation.turns if isinstance(turn, AssistantTurn) for result in turn.results]


class TestAfterErrors:
    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("place", range(4))
    @pytest.mark.parametrize("kind", [ServerFailed, ConnectionFailed, RateLimited])
    def test_at_each_request(self, kind: type[AntiphonError], place: int, stream: bool):
        error = kind("it failed")
        script: list[Any] = [calls("weather", city=f"C{n}") for n in range(3)] + ["Done."]
        script.insert(place, error)
        here = Session(Failing(*script), [weather])
        with pytest.raises(kind) as caught:
            within(60, here.start("Go.").wait) if stream else here.vibe("Go.")
        assert caught.value.run.conversation is here.conversation
        assert len(caught.value.run.tool_calls) == place
        assert here.resume() == "Done."
        assert said(here.conversation) == ["Go."]
        assert ran(here.conversation) == ["Rain in C0", "Rain in C1", "Rain in C2"]

    def test_asking_again_in_the_same_words_says_them_once(self):
        here = Session(Failing(ServerFailed("down"), ServerFailed("down"), "Done."))
        for _ in range(2):
            with pytest.raises(ServerFailed):
                here.vibe(["Go", "on."])
        assert here.vibe(["Go", "on."]) == "Done."
        assert said(here.conversation) == ["Go", "on."]

    def test_of_a_typed_ask_the_form_is_said_once(self):
        here = Session(Failing(ServerFailed("down"), '{"value": 4}'))
        with pytest.raises(ServerFailed):
            here.do("How many?", returns=int)
        assert said(here.conversation) == ["How many?"]
        assert here.resume(returns=int).value == 4
        assert [turn.text for turn in here.conversation.turns] == ["How many?", '{"value": 4}']
        assert notes(here.conversation) == ["form"]

    def test_a_bug_in_a_tool(self):
        def broken() -> str:
            raise NameError("nowhere")

        here = Session(Scripted(calls("broken"), "I see."), [broken], raise_tool_bugs=True)
        with pytest.raises(NameError):
            here.vibe("Go.")
        assert here.resume() == "I see."
        assert said(here.conversation) == ["Go."]


class TestAfterOtherEnds:
    def test_a_limit(self):
        script = [calls("weather", city=f"C{n}") for n in range(5)]
        here = Session(Scripted(*script, "Done."), [weather], limits=Limits(requests=2))
        for _ in range(2):
            with pytest.raises(LimitReached):
                here.resume() if here.conversation.turns else here.vibe("Go.")
        assert here.resume() == "Done."
        assert said(here.conversation) == ["Go."]
        assert len(ran(here.conversation)) == 5

    def test_an_answer_that_was_cut_off(self):
        here = Session(Scripted(("Once upon", "length"), "a time."))
        with pytest.raises(Truncated) as caught:
            here.vibe("Tell me.")
        assert caught.value.run.said == "Once upon"
        assert here.resume() == "a time."
        assert said(here.conversation)[0] == "Tell me."

    def test_an_empty_answer(self):
        here = Session(Scripted("", "", "Here."))
        with pytest.raises(EmptyAnswer):
            here.vibe("Go.")
        assert here.resume() == "Here."

    def test_circles(self):
        def never() -> str:
            raise ToolFailure("no")

        here = Session(Scripted(*[calls("never")] * 5, "I give up."), [never])
        with pytest.raises(LoopDetected):
            here.vibe("Go.")
        assert here.resume() == "I give up."
        assert said(here.conversation) == ["Go."]

    @pytest.mark.parametrize(
        ("script", "error"), [([("No.", "refusal")], ModelRefused), (["forty", "forty"], ReturnError)]
    )
    def test_an_answer_that_was_none(self, script: list[Any], error: Any):
        here = Session(Scripted(*script, "4"), attempts=1)
        with pytest.raises(error):
            here.vibe("How old?", returns=int)
        assert here.resume(returns=int).value == 4
        assert said(here.conversation) == ["How old?", "Please go on."]

    def test_there_must_be_something_to_go_on_with(self):
        with pytest.raises(NotReadyError, match="nothing to go on with"):
            Session(Scripted()).resume()
        here = Session(Scripted("Done."))
        here.chat("Go.")
        with pytest.raises(NotReadyError, match="the model has answered"):
            here.resume()

    def test_what_was_said_to_the_conversation_is_delivered(self):
        here = Session(Scripted("One.", "Two."))
        here.chat("First.")
        here.conversation.add_user("Second.", author="@coder")
        assert here.resume() == "Two."

    def test_open_calls_are_run(self):
        conversation = Conversation().add_user("Go.")
        conversation.add_assistant_tool_calls([ToolCall("c1", "weather", {"city": "Oslo"}), ToolCall("c2", "gone")])
        here = Session(Scripted("Done."), [weather], conversation=conversation)
        result = here.resume()
        assert result == "Done."
        assert [each.tool for each in result.tool_calls] == ["weather", "gone"]
        assert ran(conversation)[0] == "Rain in Oslo"

    def test_a_closed_session_goes_on_asynchronously_and_as_a_run(self):
        async def main() -> list[Any]:
            here = Session(Failing(ServerFailed("down"), "A.", "B."))
            with pytest.raises(ServerFailed):
                await here.avibe("Go.")
            first = await here.aresume()
            here.conversation.add_user("More.")
            return [first.value, (await (await here.astart())).value]

        assert asyncio.run(main()) == ["A.", "B."]


class TestAfterCancellation:
    @pytest.mark.parametrize("is_typed", [False, True])
    def test_at_every_step(self, is_typed: bool):
        returns = int if is_typed else None
        answer = '{"value": 4}' if is_typed else "Done."
        for steps in range(200):
            here, is_over = self.cancelled(steps, [calls(("quick", {}), ("slow", {})), answer], returns)
            assert here.conversation.open_calls == ()
            if is_over:
                break
            here.model = Scripted(answer)
            if here.conversation.turns:
                assert here.resume(returns=returns).value == (4 if is_typed else "Done.")
                assert said(here.conversation) == ["Go."]
        assert is_over
        assert steps > 5

    def cancelled(self, steps: int, script: list[Any], returns: Any) -> tuple[Session, bool]:
        async def quick() -> str:
            return "quick"

        async def slow() -> str:
            for _ in range(4):
                await asyncio.sleep(0)
            return "slow"

        async def answers(_: Any) -> bool:
            await asyncio.sleep(0)
            return True

        here = Session(Scripted(*script), Toolset([quick, slow]).requiring_approval(), people=answers)

        async def main() -> bool:
            run = await here.astart("Go.", returns=returns)
            for _ in range(steps):
                await asyncio.sleep(0)
            run.cancel()
            try:
                await run
            except Cancelled:
                return False
            return True

        return here, asyncio.run(main())


# Whatever happens on the way, the work is done once and the words are said once.

steps = st.one_of(
    st.integers(0, 9).map(lambda n: calls("note", n=n)),
    st.lists(st.integers(0, 9), min_size=2, max_size=3).map(
        lambda many: calls(*[("note" if n % 3 else "remove", {"n": n}) for n in many])
    ),
    st.just(ServerFailed("down")),
    st.just(("cut", "length")),
    st.just(calls("gone")),
    st.just(calls("moody")),
)


@settings(max_examples=60)
@given(st.lists(steps, max_size=6), st.integers(1, 4), st.booleans())
def test_whatever_happens_going_on_ends_well(script: list[Any], turns: int, is_typed: bool):
    done: list[int] = []

    def note(n: int) -> str:
        done.append(n)
        return f"noted {n}"

    @tool(destructive=True)
    def remove(n: int) -> str:
        done.append(n)
        return f"removed {n}"

    def moody() -> str:
        raise ToolFailure("not now")

    end = '{"value": 4}' if is_typed else "Done."
    returns = int if is_typed else None
    here = Session(Failing(*script, end), [note, remove, moody], limits=Limits(requests=turns), attempts=99)
    result: Any = None
    ended: list[Conversation] = []
    prompt: str | None = "Go."
    for _ in range(60):
        try:
            result = here.vibe(prompt, returns=returns) if prompt else here.resume(returns=returns)
            break
        except AntiphonError as error:
            ended.append(error.run.conversation)
            for question in here.pending_questions:
                here.allow(question.id)
        prompt = None
    assert result == (4 if is_typed else "Done.")
    assert all(each is here.conversation for each in ended)
    wanted = [each[1]["n"] for step in script if isinstance(step, list) for each in step if "n" in each[1]]
    assert sorted(done) == sorted(wanted)
    assert said(here.conversation).count("Go.") == 1
    assert not any("JSON" in text for text in said(here.conversation))
