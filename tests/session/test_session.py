"""Runs of a session against the fakes, over HTTP, on all four APIs."""

import asyncio
import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict

import pytest
from pydantic import BaseModel

from antiphon.conversation import Image, ToolResult
from antiphon.effects import HumanAnswer, Limits
from antiphon.errors import AntiphonError, OptionError, ServerFailed
from antiphon.fakes import Answer, Fail, Fake, call, echo
from antiphon.providers import Retry
from antiphon.providers.recording import ReplayMismatch
from antiphon.session import (
    AIResult,
    CallStarted,
    LimitReached,
    LoopDetected,
    NeedsHuman,
    Question,
    QuestionAsked,
    ReturnError,
    RunEnded,
    Session,
    TextOrJson,
    entered,
)
from antiphon.tools import (
    NeedsHumanInput,
    Policy,
    Rule,
    ToolContext,
    ToolFailure,
    Toolset,
    tool,
)
from antiphon.wire import TextDelta
from tests.session.scripted import STRATEGIES

MODELS = ["anthropic/claude-sonnet-5", "openai-chat/gpt-4o", "openai/gpt-5", "google/gemini-3-pro"]
every_api = pytest.mark.parametrize("model", MODELS)
QUICK = Retry(attempts=2, first_wait=0.01)


def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ToolFailure("no such city: Atlantis")
    return f"Rain in {city}"


def broken() -> str:
    raise ZeroDivisionError("oops")


@pytest.fixture(scope="module")
def served() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def fake(served: Fake) -> Fake:
    served.reset()
    return served


def session(fake: Fake, model: str = MODELS[0], tools: Any = (weather, broken), **settings: Any) -> Session:
    return Session(fake.connect(model, retry=QUICK), tools, "Be brief.", **settings)


def accepted(fake: Fake) -> bool:
    return all(request.rejected == "" for request in fake.requests)


class TestAIResultAsTheSeedLists:
    """The eleven unit tests of the seed, under its own names."""

    def ask(self, fake: Fake, *script: Any, prompt: str = "…") -> AIResult:
        fake.play(*script)
        return session(fake).vibe(prompt)

    def test_1_basic_assignment_stores_ai_result_object(self, fake: Fake):
        assert isinstance(self.ask(fake, "4"), AIResult)

    def test_2_value_access_ret_in_expressions_resolves_to_value(self, fake: Fake):
        assert "Answer: " + self.ask(fake, "4") == "Answer: 4"

    def test_3_tool_calls_access_returns_array(self, fake: Fake):
        ret = self.ask(fake, call("weather", city="Oslo"), "Rain.")
        assert ret.tool_calls[0].tool == "weather"
        assert ret.tool_calls[0].args == {"city": "Oslo"}
        assert ret.tool_calls[0].result == "Rain in Oslo"

    def test_4_empty_tool_calls_when_no_tools_called(self, fake: Fake):
        assert self.ask(fake, "4").tool_calls == ()

    def test_5_multiple_tool_calls_order_preserved(self, fake: Fake):
        both = Answer(calls=[call("weather", city="A"), call("weather", city="B")])
        ret = self.ask(fake, both, call("weather", city="C"), "Done.")
        assert [record.args["city"] for record in ret.tool_calls] == ["A", "B", "C"]

    def test_6_string_interpolation_uses_value(self, fake: Fake):
        assert f"Result: {self.ask(fake, '4')}" == "Result: 4"

    def test_7_comparison_compares_value(self, fake: Fake):
        assert self.ask(fake, "expected") == "expected"

    def test_8_json_value_accessible_via_ret_field(self, fake: Fake):
        fake.play('{"name": "Ada", "tags": ["x"]}')
        ret = session(fake).vibe("Go.", returns=TextOrJson)
        assert ret.name == "Ada"
        assert ret["tags"][0] == "x"
        assert ret.value == {"name": "Ada", "tags": ["x"]}

    def test_9_tool_error_captured(self, fake: Fake):
        record = self.ask(fake, call("weather", city="Atlantis"), "Sorry.").tool_calls[0]
        assert (record.result, record.error) == (None, "no such city: Atlantis")

    def test_10_mixed_success_and_error(self, fake: Fake):
        both = Answer(calls=[call("weather", city="Oslo"), call("broken")])
        first, second = self.ask(fake, both, "Done.").tool_calls
        assert (first.error, second.result) == (None, None)
        assert second.error == "ZeroDivisionError: oops"

    def test_11_duration_tracked_in_milliseconds(self, fake: Fake):
        def slow() -> str:
            time.sleep(0.05)
            return "done"

        fake.play(call("slow"), "Done.")
        assert 50 <= session(fake, tools=[slow]).vibe("…").tool_calls[0].duration < 50_000


class TestAIResultStandsForItsValue:
    def test_numbers(self):
        ret = AIResult(4)
        assert (ret + 1, 1 + ret, ret * 2, ret / 2, 10 - ret, -ret, abs(ret)) == (5, 5, 8, 2.0, 6, -4, 4)
        assert ret < 5 <= AIResult(5)
        assert (int(ret), float(ret), f"{ret:03d}") == (4, 4.0, "004")
        assert sorted([AIResult(2), AIResult(1)])[0] == 1

    def test_text_truth_and_hash(self):
        ret = AIResult("hello")
        assert (ret.upper(), len(ret), ret[0], "ell" in ret, str(ret)) == ("HELLO", 5, "h", True, "hello")
        assert not AIResult("")
        assert {ret: 1}["hello"] == 1

    def test_iteration_says_what_to_use(self):
        with pytest.raises(TypeError, match=r"Cannot iterate over AIResult directly\. Use \.tool_calls or \.value"):
            list(AIResult(["a"]))

    def test_json(self):
        class Holder(BaseModel):
            answer: AIResult

        ret = AIResult({"a": [1]})
        assert Holder(answer=ret).model_dump_json() == '{"answer":{"a":[1]}}'

    def test_what_is_not_there(self):
        with pytest.raises(AttributeError, match="neither an AIResult nor its value, a str, has 'nope'"):
            _ = AIResult("x").nope


class TestDo:
    @every_api
    def test_one_set_of_calls_then_the_answer(self, fake: Fake, model: str):
        both = Answer("Looking.", [call("weather", city="Oslo"), call("weather", city="Bergen")])
        fake.play(both, "Rain in both.")
        ret = session(fake, model).do("Weather?")
        assert (ret, ret.run.outcome, len(ret.tool_calls)) == ("Rain in both.", "done", 2)
        assert accepted(fake)

    @every_api
    def test_more_calls_are_not_run(self, fake: Fake, model: str):
        fake.play(call("weather", city="Oslo"), call("weather", city="Bergen"), "Rain.")
        ret = session(fake, model).do("Weather?")
        assert ret == "Rain."
        assert [each.args for each in ret.tool_calls] == [{"city": "Oslo"}]
        assert "no more tool calls" in json.dumps(fake.requests[-1].body)
        assert accepted(fake)


class TestVibe:
    @every_api
    def test_tools_until_the_model_answers(self, fake: Fake, model: str):
        fake.play(*[call("weather", city=f"C{n}") for n in range(5)], "Done.")
        ret = session(fake, model).vibe("Go.")
        assert (ret, len(ret.tool_calls)) == ("Done.", 5)
        assert ret.run.usage.input_tokens
        assert accepted(fake)

    def test_it_goes_on_in_the_same_conversation(self, fake: Fake):
        fake.play("One.", "Two.")
        here = session(fake)
        here.chat("first")
        assert here.chat("second").run.conversation is here.conversation
        assert [turn.text for turn in here.conversation.turns] == ["first", "One.", "second", "Two."]

    def test_the_provider_may_change_in_the_middle(self, fake: Fake):
        here = session(fake)
        for model in MODELS:
            here.model = fake.connect(model)
            fake.play(Answer(calls=[call("weather", city="Oslo")], reasoning="Hm."), "Rain.")
            assert here.vibe("Weather?") == "Rain."
        assert accepted(fake)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("4", "4"),
            ('{"a": 1}', {"a": 1}),
            ("[1, 2]", [1, 2]),
            ('```json\n{"a": 1}\n```', {"a": 1}),
            ("{not json", "{not json"),
            ('"quoted"', '"quoted"'),
            ("true", "true"),
        ],
    )
    def test_json_objects_and_arrays_are_parsed_and_nothing_else(self, fake: Fake, text: str, value: Any):
        fake.play(text)
        assert session(fake).vibe("…", returns=TextOrJson).value == value
        fake.play(text, text)
        assert session(fake).vibe("…").value == text
        assert session(fake).chat("…").value == text


class TestFaults:
    """Every fault, on every API, streaming or not: no crash, and a conversation that can go on."""

    SCRIPTS: ClassVar[dict[str, list[Any]]] = {
        "unknown tool": [call("gone", a=1), "Done."],
        "bad JSON": [Answer(calls=[call("weather", city="Oslo")], malformed=True), "Done."],
        "failed validation": [call("weather", town="Oslo"), "Done."],
        "exception": [call("broken"), "Done."],
        "failure": [call("weather", city="Atlantis"), "Done."],
        "time-out": [call("slow"), "Done."],
        "denial": [call("forbidden"), "Done."],
        "truncated": [Answer(calls=[call("weather", city="Oslo")], stop="length"), "Done."],
        "no answer": [Answer(""), "Done."],
        "never an answer": [Answer(""), Answer("")],
        "refusal": [Answer("I will not.", stop="refusal")],
        "cut text": [Answer("Once upon a", stop="length")],
        "rate limit": [Fail(429, retry_after=0.01), "Done."],
        "server failure": [Fail(500), Fail(500)],
        "rejected": [Fail(400, "no")],
    }

    @every_api
    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("fault", SCRIPTS)
    def test_matrix(self, fake: Fake, model: str, stream: bool, fault: str):
        @tool(timeout=0.05)
        async def slow() -> str:
            await asyncio.sleep(60)
            return "late"

        def forbidden() -> str:
            return "secret"

        policy = Policy((Rule("deny", "forbidden"),))
        here = session(fake, model, [weather, broken, slow, forbidden], policy=policy)
        fake.play(*self.SCRIPTS[fault])
        outcome = self.run(here, stream)
        expected = {
            "never an answer": "EmptyAnswer",
            "refusal": "ModelRefused",
            "cut text": "Truncated",
            "server failure": "ServerFailed",
            "rejected": "RequestRejected",
        }
        if "gemini" in model:
            # Its calls come whole, or not at all: nothing is left to be asked for.
            expected["truncated"] = "Truncated"
        assert outcome == expected.get(fault, "done")
        assert here.conversation.open_calls == ()
        assert accepted(fake)
        fake.reset()
        fake.play("Still here.")
        assert here.chat("Are you there?") == "Still here."
        assert accepted(fake)

    def run(self, here: Session, stream: bool) -> str:
        try:
            if not stream:
                return here.vibe("Go.").run.outcome
            with here.stream("Go.") as events:
                for _ in events:
                    pass
            return events.result.run.outcome
        except AntiphonError as error:
            return type(error).__name__ if error.run.conversation is here.conversation else "no run"

    def errors(self, fake: Fake, *script: Any, **settings: Any) -> list[str | None]:
        fake.play(*script)
        return [record.error for record in session(fake, **settings).vibe("Go.").tool_calls]

    def test_the_reasons_are_told(self, fake: Fake):
        assert self.errors(fake, call("gone"), "x") == [
            "there is no tool `gone`; there are: weather, broken, read_result"
        ]
        (error,) = self.errors(fake, call("weather", city=3), "x")
        assert error is not None
        assert "`city`: input should be a valid string; got 3 (a number)" in error
        (error,) = self.errors(fake, Answer(calls=[call("weather", city="x")], stop="length"), "x")
        assert error == "not run: cut off by the token limit before its arguments were complete"


class TestBreaker:
    def test_the_same_failing_call_ends_the_run(self, fake: Fake):
        fake.play(*[call("weather", city="Atlantis")] * 9)
        here = session(fake)
        with pytest.raises(LoopDetected, match="weather") as caught:
            here.vibe("Go.")
        assert len(caught.value.run.tool_calls) == 5
        texts = [turn.results[0].text for turn in here.conversation.turns if getattr(turn, "results", ())]
        assert "has now failed 3 times. Do something else." in texts[2]
        fake.requests.clear()

    def test_a_call_that_works_again_is_forgiven(self, fake: Fake):
        failures = [True, True, True, True, False, True, True]

        def moody() -> str:
            if failures.pop(0):
                raise ToolFailure("not now")
            return "fine"

        fake.play(*[call("moody")] * 7, "Done.")
        assert session(fake, tools=[moody]).vibe("Go.").run.outcome == "done"


class TestLimits:
    @pytest.mark.parametrize(
        ("limits", "detail"),
        [
            (Limits(requests=2), "the limit of 2 requests is reached"),
            (Limits(tool_calls=3), "the limit of 3 tool calls is reached"),
            (Limits(tokens=1), "the limit of 1 tokens is reached"),
            (Limits(seconds=0.0), "the limit of 0 seconds is reached"),
            (Limits(cost=0.0), "the limit of $0 is reached"),
        ],
    )
    def test_the_run_ends_and_says_on_what(self, fake: Fake, limits: Limits, detail: str):
        here = session(fake, limits=limits)
        fake.play(*[call("weather", city=f"C{n}") for n in range(4)])
        with pytest.raises(LimitReached) as caught:
            here.vibe("Go.")
        assert (str(caught.value), caught.value.run.outcome) == (detail, "limit")
        assert here.conversation.open_calls == ()


class TestConcurrency:
    def test_calls_run_side_by_side_and_are_answered_in_order(self, fake: Fake):
        other = asyncio.Event()

        async def first() -> str:
            await asyncio.wait_for(other.wait(), 60)
            return "a"

        async def second() -> str:
            other.set()
            return "b"

        fake.play(Answer(calls=[call("first"), call("second")]), "Done.")
        ret = session(fake, tools=[first, second]).vibe("Go.")
        assert [record.result for record in ret.tool_calls] == ["a", "b"]

    def test_unless_a_tool_wants_to_be_alone(self, fake: Fake):
        running = 0

        @tool(concurrent=False)
        async def alone() -> str:
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0.01)
            running -= 1
            return "ok"

        fake.play(Answer(calls=[call("alone")] * 3), "Done.")
        ret = session(fake, tools=[alone]).vibe("Go.")
        assert [record.result for record in ret.tool_calls] == ["ok"] * 3

    def test_a_tool_that_asks_a_model_keeps_its_own_records(self, fake: Fake):
        inner: list[AIResult] = []

        def research(topic: str) -> str:
            fake.play(call("weather", city=topic), "It rains.", "Done.")
            inner.append(session(fake).vibe(topic))
            return str(inner[0])

        fake.play(call("research", topic="Oslo"))
        here = session(fake, tools=[research])
        ret = here.vibe("Go.")
        assert [record.tool for record in ret.tool_calls] == ["research"]
        assert [record.tool for record in inner[0].tool_calls] == ["weather"]


class TestApproval:
    def tools(self) -> list[Any]:
        return Toolset([weather]).requiring_approval()

    @pytest.mark.parametrize("answer", [True, HumanAnswer(), HumanAnswer(always=True)])
    def test_allowed(self, fake: Fake, answer: Any):
        asked: list[str] = []
        fake.play(call("weather", city="Oslo"), call("weather", city="Oslo"), "Done.")

        def answers(question: Question) -> Any:
            assert question.call is not None
            asked.append(question.call.name)
            return answer

        ret = session(fake, tools=self.tools(), people=answers).vibe("Go.")
        assert [record.result for record in ret.tool_calls] == ["Rain in Oslo"] * 2
        assert len(asked) == (1 if getattr(answer, "always", False) else 2)

    def test_denied_with_a_reason(self, fake: Fake):
        async def answers(_: Question) -> HumanAnswer:
            return HumanAnswer("not today", allowed=False)

        fake.play(call("weather", city="Oslo"), "Done.")
        ret = session(fake, tools=self.tools(), people=answers).vibe("Go.")
        assert ret.tool_calls[0].error == "not run: the call was denied: not today"

    def test_with_nobody_to_ask_the_run_waits_and_says_for_what(self, fake: Fake):
        fake.play(Answer(calls=[call("weather", city="Oslo"), call("weather", city="Bergen")]))
        here = session(fake, tools=self.tools())
        with pytest.raises(NeedsHuman, match="a person is needed") as caught:
            here.vibe("Go.")
        run = caught.value.run
        assert run.outcome == "waiting"
        assert [each.text for each in run.waiting] == [
            'May `weather` run with {"city":"Oslo"}?',
            'May `weather` run with {"city":"Bergen"}?',
        ]
        assert [each.id for each in here.conversation.open_calls] == [each.id for each in run.waiting]
        assert run.tool_calls == ()

    def test_answered_by_whoever_iterates(self, fake: Fake):
        fake.play(Answer(calls=[call("weather", city="Oslo"), call("weather", city="Bergen")]), "Done.")
        with session(fake, tools=self.tools()).stream("Go.") as events:
            for event in events:
                if isinstance(event.body, QuestionAsked) and (asked := event.body.question).call:
                    is_dry = asked.call.arguments["city"] == "Oslo"
                    events.run.allow(asked.id) if is_dry else events.run.deny(asked.id, "too wet")
        first, second = events.result.tool_calls
        assert first.result == "Rain in Oslo"
        assert second.error == "not run: the call was denied: too wet"

    def test_policies_decide_by_tool_and_argument(self, fake: Fake):
        policy = Policy((Rule("allow", "weather", {"city": "O*"}), Rule("deny", "*")))
        fake.play(Answer(calls=[call("weather", city="Oslo"), call("weather", city="Bergen")]), "Done.")
        first, second = session(fake, tools=self.tools(), policy=policy).vibe("Go.").tool_calls
        assert first.result == "Rain in Oslo"
        assert second.error == "not run: a policy forbids it"

    def test_questions_to_the_human(self, fake: Fake):
        def consult() -> str:
            raise NeedsHumanInput("Which one?")

        fake.play(call("consult"), "Done.")
        here = session(fake, tools=[consult], people=lambda question: f"{question.text} This.")
        assert here.vibe("Go.").tool_calls[0].result == "asked; the answer follows"
        assert here.conversation.turns[-2].text == "Which one? This."
        fake.play(call("consult"), "Done.")
        here = session(fake, tools=[consult])
        with here.stream("Go.") as events:
            for event in events:
                if isinstance(event.body, QuestionAsked):
                    events.run.answer(event.body.question.id, "That.")
        assert events.result == "Done."
        assert here.conversation.turns[-2].text == "That."
        fake.play(call("consult"))
        with pytest.raises(NeedsHuman, match="`consult`: Which one\\?"):
            session(fake, tools=[consult]).vibe("Go.")


class TestEvents:
    @every_api
    def test_everything_that_happens_is_told(self, fake: Fake, model: str):
        fake.play(Answer("Looking.", [call("weather", city="Oslo")], reasoning="Hm."), "Rain in Oslo.")
        kinds: list[str] = []
        with session(fake, model).stream("Weather?") as events:
            for event in events:
                if not kinds or kinds[-1] != type(event.body).__name__:
                    kinds.append(type(event.body).__name__)
        request = ["RequestStarted", "RequestEnded", "UsageChanged"]
        assert [k for k in kinds if k not in ("ReasoningDelta", "TextDelta", "CallDelta")] == [
            "RunStarted",
            *request,
            "CallStarted",
            "CallFinished",
            *request,
            "RunEnded",
        ]
        assert {"ReasoningDelta", "TextDelta", "CallDelta"} <= set(kinds)
        assert events.result == "Rain in Oslo."

    def test_asynchronously(self, fake: Fake):
        fake.play(call("weather", city="Oslo"), "Rain.")

        async def main() -> tuple[str, AIResult]:
            text = ""
            async with session(fake).astream("Weather?") as events:
                async for event in events:
                    if isinstance(event.body, TextDelta):
                        text += event.body.text
            return text, await events.result

        text, ret = asyncio.run(main())
        assert text == ret == "Rain."

    def test_images_reach_the_model(self, fake: Fake):
        def photo() -> Any:
            return ["Here it is", Image(data="iVBORw0KGgo=", media_type="image/png")]

        fake.play(call("photo"), "Nice.")
        session(fake, tools=[photo]).vibe("Go.")
        assert "iVBORw0KGgo=" in json.dumps(fake.requests[-1].body)


class TestInterruption:
    def test_leaving_early_answers_open_calls(self, fake: Fake):
        begun, stopped = threading.Event(), threading.Event()

        async def forever() -> str:
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                stopped.set()
            return ""

        fake.play(Answer(calls=[call("forever"), call("weather", city="Oslo")]))
        here = session(fake, tools=[forever, weather])
        with here.stream("Go.", cancel=True) as events:
            for event in events:
                if isinstance(event.body, CallStarted):
                    assert begun.wait(60)
                    break
        assert stopped.wait(60)
        assert here.conversation.ready()
        (turn,) = (turn for turn in here.conversation.turns if getattr(turn, "results", ()))
        assert turn.results[0].text.startswith("Interrupted")
        fake.play("Fine.")
        assert here.chat("And now?") == "Fine."
        assert accepted(fake)

    def test_a_cancelled_task(self, fake: Fake):
        async def forever() -> str:
            begun.set()
            await asyncio.sleep(60)
            return ""

        begun = threading.Event()

        async def main() -> Session:
            fake.play(call("forever"))
            here = session(fake, tools=[forever])
            task = asyncio.create_task(here.avibe("Go."))
            assert await asyncio.to_thread(begun.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return here

        assert asyncio.run(main()).conversation.ready()

    def test_ctrl_c(self, fake: Fake):
        async def forever() -> str:
            signal.raise_signal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
            threading.Timer(0.1, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)).start()
            await asyncio.sleep(60)
            return ""

        fake.play(call("forever"))
        here = session(fake, tools=[forever])
        with pytest.raises(KeyboardInterrupt):
            here.vibe("Go.")
        assert here.conversation.ready()
        fake.play("Fine.")
        assert here.chat("And now?") == "Fine."


class TestLongResults:
    def test_the_model_can_read_on(self, fake: Fake):
        @tool(output_limit=100)
        def dump() -> str:
            return "\n".join(f"line {n}" for n in range(100))

        def read_on(received: Any) -> Any:
            text = json.dumps(received.body["messages"])
            handle = text[text.index("result:") :].split("'")[0]
            return call("read_result", handle=handle, start=100, length=50)

        fake.play(call("dump"), read_on, "Done.")
        ret = session(fake, tools=[dump]).vibe("Go.")
        assert "of 789 characters shown" in str(ret.tool_calls[0].result)
        assert str(ret.tool_calls[1].result).startswith("[characters 100 to 150 of 789]")


@dataclass
class Person:
    name: str
    age: int
    nick: str = "none"


class Ticket(TypedDict):
    severity: Literal["low", "high"]
    tags: list[str]


class City(BaseModel):
    name: str
    people: int


def typed(strategy: Any, **fields: Any) -> Any:
    """A typed answer of a fake, which is asked in that way."""
    return call("answer", **fields) if strategy == "tool" else Answer(json.dumps(fields))


def last_words(body: Any) -> str:
    """The last entry of a request of any API."""
    return json.dumps((body.get("messages") or body.get("input") or body.get("contents"))[-1])


class TestTypedReturns:
    @every_api
    @pytest.mark.parametrize("strategy", [None, *STRATEGIES])
    def test_a_dict_of_fields(self, fake: Fake, model: str, strategy: Any):
        fake.play(typed(strategy, name="Alice", age=30))
        ret = session(fake, model, (), strategy=strategy).do("Get user info", returns={"name": str, "age": int})
        assert ret.value == {"name": "Alice", "age": 30}
        assert ret.tool_calls == ()
        assert (ret.name, ret.age) == ("Alice", 30)
        assert accepted(fake)

    @every_api
    @pytest.mark.parametrize("strategy", [None, *STRATEGIES])
    def test_a_dataclass_and_a_model(self, fake: Fake, model: str, strategy: Any):
        fake.play(typed(strategy, name="Alice", age=30))
        assert session(fake, model, (), strategy=strategy).do("…", returns=Person).value == Person("Alice", 30)
        fake.play(typed(strategy, name="Oslo", people=700000))
        ret = session(fake, model, (), strategy=strategy).do("Oslo?", returns=City)
        assert ret.value == City(name="Oslo", people=700000)
        assert "people" in json.dumps(fake.requests[-1].body)
        assert accepted(fake)

    @pytest.mark.parametrize(
        ("wanted", "given", "value"),
        [
            (str, "hello", "hello"),
            (int, 42, 42),
            (float, 1.5, 1.5),
            (bool, True, True),
            (list[str], ["a", "b"], ["a", "b"]),
            (Literal["low", "high"], "low", "low"),
            (list[City], [{"name": "Oslo", "people": 1}], [City(name="Oslo", people=1)]),
        ],
    )
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_single_values(self, fake: Fake, strategy: Any, wanted: Any, given: Any, value: Any):
        fake.play(typed(strategy, value=given))
        assert session(fake, tools=(), strategy=strategy).do("…", returns=wanted).value == value

    @pytest.mark.parametrize(
        ("wanted", "text", "value"),
        [
            (int, "42", 42),
            (str, "Just text.", "Just text."),
            (bool, "true", True),
            (list[int], "[1, 2, 3]", [1, 2, 3]),
            (Literal["low", "high"], "low", "low"),
            (Person, '```json\n{"name": "Al", "age": 3}\n```', Person("Al", 3)),
            (Ticket, '{"severity": "low", "tags": []}', {"severity": "low", "tags": []}),
            ({"a": int}, '{"a": 7}', {"a": 7}),
        ],
    )
    def test_an_answer_that_is_nothing_but_the_value_is_taken(self, fake: Fake, wanted: Any, text: str, value: Any):
        fake.play(text)
        assert session(fake, tools=()).do("…", returns=wanted).value == value
        assert len(fake.requests) == 1

    @every_api
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_what_is_missing_or_wrong_is_asked_for_again(self, fake: Fake, model: str, strategy: Any):
        fake.play(
            typed(strategy, name="Al", age="old"),
            Answer("I already told you."),
            typed(strategy, name="Al", age=30),
        )
        here = session(fake, model, tools=(), strategy=strategy)
        assert here.do("…", returns={"name": str, "age": int}).value == {"name": "Al", "age": 30}
        second, third = (last_words(request.body) for request in fake.requests[1:])
        assert "'age' expected number, got text" in second
        assert "no JSON" in third
        assert accepted(fake)

    def test_after_the_limit_the_error_says_what_came_and_why_it_was_refused(self, fake: Fake):
        fake.play(*[Answer("nonsense")] * 4)
        with pytest.raises(ReturnError) as caught:
            session(fake, tools=()).do("How old?", returns={"age": int})
        assert caught.value.prompt == "How old?"
        assert caught.value.received == ["nonsense"] * 4
        assert "no JSON" in str(caught.value)
        assert "nonsense" in str(caught.value)

    def test_tools_and_typed_returns_together(self, fake: Fake):
        fake.play(call("weather", city="Oslo"), '{"wet": true}')
        ret = session(fake).vibe("Is it wet?", returns={"wet": bool})
        assert ret.value == {"wet": True}
        assert [record.tool for record in ret.tool_calls] == ["weather"]

    def test_optional_fields_may_be_left_out(self, fake: Fake):
        fake.play('{"name": "Al", "age": 3}')
        assert session(fake, tools=()).do("…", returns=Person).value == Person("Al", 3, "none")

    def test_a_type_nobody_can_return(self, fake: Fake):
        with pytest.raises(OptionError, match="`returns`"):
            session(fake).do("…", returns=object())
        with pytest.raises(OptionError, match="names at least one field"):
            session(fake).do("…", returns={})

    def test_the_conversation_goes_on_after_typed_returns(self, fake: Fake):
        here = session(fake, tools=())
        fake.play('{"value": 4}', "Because.")
        here.do("2+2?", returns=int)
        assert here.chat("Why?") == "Because."
        assert accepted(fake)


class TestRecordAndReplay:
    @every_api
    @pytest.mark.parametrize("stream", [False, True])
    def test_what_was_recorded_is_replayed_without_a_network(
        self, fake: Fake, model: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        for name in ("ANTHROPIC", "OPENAI", "GOOGLE_GEMINI"):
            monkeypatch.setenv(f"{name}_BASE_URL", fake.url + ("/v1" if name == "OPENAI" else ""))
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, "sk-very-secret")
        path = tmp_path / "run.jsonl"
        fake.play(Answer("Looking.", [call("weather", city="Oslo")], reasoning="Hm."), "Rain.")
        recorded = self.run(Session(model, [weather], record=path), stream)
        assert "sk-very-secret" not in path.read_text()
        fake.requests.clear()
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.delenv(name)
        replayed = self.run(Session(model, [weather], replay=path), stream)
        assert fake.requests == []
        assert (replayed.value, replayed.run.usage) == (recorded.value, recorded.run.usage)
        assert replayed.run.conversation == recorded.run.conversation
        with pytest.raises(ReplayMismatch, match=r"(?s)\+ .*Something else"):
            self.run(Session(model, [weather], replay=path), stream, "Something else?")

    def run(self, here: Session, stream: bool, prompt: str = "Weather?") -> AIResult:
        if not stream:
            return here.vibe(prompt)
        with here.stream(prompt) as events:
            for _ in events:
                pass
        return events.result

    def test_more_requests_than_were_recorded(self, tmp_path: Path):
        (tmp_path / "empty.jsonl").touch()
        with pytest.raises(ReplayMismatch, match="has no more exchanges"):
            Session("claude-sonnet-5", replay=tmp_path / "empty.jsonl").chat("hi")


class TestTools:
    def test_a_context_is_injected_and_not_in_the_schema(self, fake: Fake):
        def whoami(context: ToolContext, loud: bool = False) -> str:
            name = f"{context.deps['user']} via {context.call.name}"
            return name.upper() if loud else name

        fake.play(call("whoami", loud=True), "Done.")
        here = session(fake, tools=[whoami], deps={"user": "ada"})
        assert here.vibe("Go.").tool_calls[0].result == "ADA VIA WHOAMI"
        assert "context" not in json.dumps(fake.requests[0].body["tools"])

    def test_a_tool_may_make_its_own_result(self, fake: Fake):
        def own() -> ToolResult:
            return ToolResult("any", "mine", is_error=True)

        fake.play(call("own"), "Done.")
        assert session(fake, tools=[own]).vibe("Go.").tool_calls[0].error == "mine"


def test_hundreds_of_sessions_at_once(fake: Fake):
    fake.play(*[echo] * 300)

    async def one(n: int, model: Any) -> str:
        return str((await Session(model, [weather]).avibe(f"n{n}")).value)

    async def main() -> list[str]:
        async with fake.connect(MODELS[0]) as model:
            return await asyncio.gather(*(one(n, model) for n in range(300)))

    assert asyncio.run(main()) == [f"You said: n{n}" for n in range(300)]


def test_the_end_is_the_last_event(fake: Fake):
    fake.play("x")
    with session(fake).stream("…") as events:
        *_, last = events
    assert isinstance(last.body, RunEnded)
    assert last.body.result is events.result


def test_server_failures_are_raised_and_leave_the_conversation_ready(fake: Fake):
    here = session(fake)
    fake.play(Fail(500), Fail(500))
    with pytest.raises(ServerFailed):
        here.vibe("Go.")
    assert here.conversation.ready()


def test_an_asynchronous_context_serves_ordinary_code(fake: Fake):
    steps: list[str] = []

    @asynccontextmanager
    async def resource():
        steps.append("entered")
        loop = asyncio.get_running_loop()

        async def where() -> str:
            return "same loop" if asyncio.get_running_loop() is loop else "another loop"

        try:
            yield [where]
        finally:
            steps.append("left")

    fake.play(call("where"), "Done.")
    with entered(resource()) as tools:
        ret = session(fake, tools=tools).vibe("Go.")
    assert ret.tool_calls[0].result == "same loop"
    assert steps == ["entered", "left"]
