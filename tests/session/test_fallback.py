"""Models that answer if another one fails: which answers, what is told, paid for, replayed and traced."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel
from rich.console import Console

from antiphon import Agent, Fallback, Limits, Model, Session, Store
from antiphon.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ContextOverflow,
    OptionError,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StreamCut,
)
from antiphon.fakes import Answer, Fail, Fake, call
from antiphon.providers import NO_RETRY
from antiphon.session import FellBack, LimitReached, ModelRefused, RequestEnded, RequestStarted
from antiphon.telemetry import instrument, uninstrument
from antiphon.terminal import LiveView
from antiphon.tools import WebSearch
from antiphon.views import RunViews, event_json
from antiphon.wire import TextDelta

CLAUDE, GPT, GEMINI = "anthropic/claude-sonnet-5", "openai/gpt-6", "google/gemini-3.5-flash"


class City(BaseModel):
    name: str
    people: int


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


@pytest.fixture
def fake() -> Generator[Fake]:
    with Fake() as served:
        yield served


def connect(fake: Fake, *names: str, **settings: Any) -> list[Model]:
    return [fake.connect(name, retry=NO_RETRY, **settings) for name in names]


def asked(fake: Fake) -> list[str]:
    return [each.model for each in fake.requests]


class TestWhoAnswers:
    def test_the_next_model_answers_and_the_result_says_so(self, fake: Fake):
        fake.play(Fail(529), Answer("Hello.", usage=(100, 10)))
        claude, gpt = connect(fake, CLAUDE, GPT)
        result = Session(Fallback(claude, gpt)).vibe("Hello?")
        assert (result, result.run.model) == ("Hello.", GPT)
        assert (result.run.usage.input_tokens, result.run.cost) == (100, gpt.cost(result.run.usage))
        assert asked(fake) == ["claude-sonnet-5", "gpt-6"]

    def test_the_first_model_answers_if_it_can(self, fake: Fake):
        fake.play("Hello.")
        assert Session(Fallback(*connect(fake, CLAUDE, GPT))).vibe("Hello?").run.model == CLAUDE
        assert asked(fake) == ["claude-sonnet-5"]

    def test_a_third_model_answers_if_two_fail(self, fake: Fake):
        fake.play(Fail(500), Fail(429), "Hello.")
        assert Session(Fallback(*connect(fake, CLAUDE, GPT, GEMINI))).vibe("Hello?").run.model == GEMINI

    @pytest.mark.parametrize(("on", "answers"), [(ServerFailed, True), ((RateLimited, AuthenticationFailed), False)])
    def test_only_the_named_failures_count(self, fake: Fake, on: Any, answers: bool):
        fake.play(Fail(503), "Hello.")
        session = Session(Fallback(*connect(fake, CLAUDE, GPT), on=on))
        if answers:
            assert session.vibe("Hello?") == "Hello."
        else:
            with pytest.raises(ServerFailed):
                session.vibe("Hello?")
            assert asked(fake) == ["claude-sonnet-5"]
            fake.reset()

    @pytest.mark.parametrize("second", [RequestRejected, ServerFailed])
    def test_if_all_fail_the_last_error_names_the_others(self, fake: Fake, second: type[ProviderError]):
        fake.play(Fail(529, "Too busy"), Fail(400 if second is RequestRejected else 500, "Not today"))
        session = Session(Fallback(*connect(fake, CLAUDE, GPT)))
        with pytest.raises(second, match=f"Not today.*before, {CLAUDE} failed: .*Too busy") as error:
            session.vibe("Hello?")
        assert error.value.run.model == GPT
        # The conversation can go on.
        fake.play("Here again.")
        assert session.resume().run.model == CLAUDE

    def test_a_run_stays_with_the_model_that_answered_and_the_next_begins_with_the_first(self, fake: Fake):
        fake.play(Fail(529), call("weather", city="Oslo"), "Rain.", "And here.")
        session = Session(Fallback(*connect(fake, CLAUDE, GPT)), [weather])
        assert session.vibe("Oslo?").run.model == GPT
        assert session.vibe("And here?").run.model == CLAUDE
        assert asked(fake) == ["claude-sonnet-5", "gpt-6", "gpt-6", "claude-sonnet-5"]
        assert session.model.name == CLAUDE

    def test_thinking_and_calls_of_the_failed_model_reach_the_next_one_in_its_own_form(self, fake: Fake):
        # The fake rejects thinking and ids of another provider.
        fake.play(Answer(reasoning="Hm.", calls=[call("weather", city="Oslo")]), Fail(529), "Rain.", "Yes.")
        session = Session(Fallback(*connect(fake, CLAUDE, GPT)), [weather], reasoning="low")
        result = session.vibe("Oslo?")
        assert (result, result.run.model, len(result.tool_calls)) == ("Rain.", GPT, 1)
        assert session.vibe("Sure?").run.model == CLAUDE

    def test_a_model_with_a_larger_window_answers_what_does_not_fit_the_first(self, fake: Fake):
        fake.play(Fail(400, "prompt is too long: 250000 tokens > 200000 maximum"), "It is long.")
        claude, gpt = connect(fake, CLAUDE, GPT)
        session = Session(Fallback(claude, gpt, on=ContextOverflow), context=None)
        assert session.vibe("Long?").run.model == GPT

    def test_requests_to_failed_models_count_for_the_limit(self, fake: Fake):
        fake.play(Fail(529), "Hello.")
        session = Session(Fallback(*connect(fake, CLAUDE, GPT)), limits=Limits(requests=1))
        with pytest.raises(LimitReached):
            session.vibe("Hello?")
        assert asked(fake) == ["claude-sonnet-5"]
        fake.reset()


class TestRefusals:
    @pytest.mark.parametrize(
        ("first", "refusal"),
        [(CLAUDE, Answer("I", stop="refusal")), ("openai-chat/gpt-4o", Answer("I", stop_word="content_filter"))],
    )
    def test_a_refusal_and_a_content_filter_reach_the_next_model(self, fake: Fake, first: str, refusal: Answer):
        fake.play(refusal, "With pleasure.")
        session = Session(Fallback(*connect(fake, first, GPT), on=(ModelRefused, ProviderError)))
        run = session.start("A poem?")
        assert (run.wait(), run.wait().run.model) == ("With pleasure.", GPT)
        (abandoned,) = [each.body for each in run.events() if isinstance(each.body, FellBack)]
        assert (abandoned.model, abandoned.next, abandoned.text) == (first, GPT, "I")
        # The refused answer was paid for, and is no part of the conversation.
        assert run.requests == 2
        assert [turn.text for turn in session.conversation.turns] == ["A poem?", "With pleasure."]
        usages = [each.body.usage for each in run.events() if isinstance(each.body, RequestEnded)]
        assert run.usage.output_tokens == sum(each.output_tokens or 0 for each in usages) > usages[1].output_tokens

    def test_without_it_a_refusal_ends_the_run(self, fake: Fake):
        fake.play(Answer("No.", stop="refusal"))
        with pytest.raises(ModelRefused, match=r"No\."):
            Session(Fallback(*connect(fake, CLAUDE, GPT))).vibe("A poem?")

    def test_a_refusal_of_the_last_model_ends_the_run(self, fake: Fake):
        fake.play(Answer("No.", stop="refusal"), Answer(refusal="Neither."))
        with pytest.raises(ModelRefused, match="Neither"):
            Session(Fallback(*connect(fake, CLAUDE, GPT), on=ModelRefused)).vibe("A poem?")


class TestStreams:
    def run_cut(self, fake: Fake) -> tuple[Session, list[Any]]:
        fake.play(Answer("Once upon a time there was", cut_after=9), "There was a cat.")
        session = Session(Fallback(*connect(fake, CLAUDE, GPT)))
        with session.stream("A story?") as events:
            return session, list(events)

    def test_what_was_shown_is_kept_apart_from_the_answer(self, fake: Fake):
        session, events = self.run_cut(fake)
        bodies = [each.body for each in events]
        place = next(place for place, each in enumerate(bodies) if isinstance(each, FellBack))
        fallback = bodies[place]
        before = "".join(each.text for each in bodies[:place] if isinstance(each, TextDelta))
        after = "".join(each.text for each in bodies[place:] if isinstance(each, TextDelta))
        assert "Once upon a time there was".startswith(before)
        assert before
        assert (fallback.number, fallback.model, fallback.next, fallback.text) == (1, CLAUDE, GPT, before)
        assert "failed" in fallback.reason
        assert after == "There was a cat." == session.conversation.turns[-1].text
        assert [each.model for each in bodies if isinstance(each, RequestStarted)] == [CLAUDE, GPT]

    def test_a_late_reader_sees_it_too(self, fake: Fake):
        _, events = self.run_cut(fake)
        (fallback,) = [each for each in events if isinstance(each.body, FellBack)]
        data = event_json(fallback)
        assert (data["type"], data["model"], data["next"]) == ("fell_back", CLAUDE, GPT)
        assert data["text"] == fallback.body.text != ""

    def test_views_show_the_model_that_is_asked(self, fake: Fake):
        _, events = self.run_cut(fake)
        views = RunViews()
        for event in events:
            view = views.take(event)
            if isinstance(event.body, FellBack):
                assert (view.model, view.said) == (GPT, [])
        assert (view.model, view.said) == (GPT, ["There was a cat."])

    def test_a_terminal_marks_the_abandoned_text(self, fake: Fake):
        _, events = self.run_cut(fake)
        console = Console(record=True, width=160, force_terminal=False)
        with LiveView(console) as view:
            for event in events:
                view.show(event)
        shown = console.export_text()
        told = (
            "Once upon",
            "the text above is not part of the answer",
            f"{CLAUDE} failed; {GPT} is asked",
            "There was",
        )
        places = [shown.index(each) for each in told]
        assert places == sorted(places)


class TestTypedAnswers:
    def test_each_model_is_asked_in_the_way_that_it_supports(self, fake: Fake):
        fake.play(Fail(529), '{"name": "Oslo", "people": 700000}')
        claude, old = connect(fake, CLAUDE, "openai/gpt-5.5-pro")
        result = Session(Fallback(claude, old)).vibe("The largest city?", returns=City)
        assert (result.value, result.run.model) == (City(name="Oslo", people=700_000), old.name)
        first, second = [str(each.body) for each in fake.requests]
        assert "json_schema" in first
        assert "nothing but JSON" not in first
        assert "json_schema" not in second
        assert "nothing but JSON" in second

    def test_an_answer_tool_stays_the_way_to_answer(self, fake: Fake):
        fake.play(Fail(529), call("answer", name="Oslo", people=700_000))
        session = Session(Fallback(*connect(fake, CLAUDE, GPT)), strategy="tool")
        assert session.vibe("The largest city?", returns=City).value.name == "Oslo"

    def test_a_strategy_that_one_of_them_lacks_is_an_error_before_anything_is_sent(self, fake: Fake):
        claude, old = connect(fake, CLAUDE, "openai/gpt-5.5-pro")
        with pytest.raises(OptionError, match=r"gpt-5\.5-pro has no structured output"):
            Session(Fallback(claude, old), strategy="native").vibe("The largest city?", returns=City)
        assert fake.requests == []

    def test_tools_of_the_provider_are_those_of_the_model_that_answers(self, fake: Fake):
        fake.play(Fail(529), "Rain.")
        assert Session(Fallback(*connect(fake, CLAUDE, GPT)), [WebSearch()]).vibe("Oslo?") == "Rain."
        first, second = [each.body["tools"][0]["type"] for each in fake.requests]
        assert (first.startswith("web_search_"), second) == (True, "web_search")

    def test_a_tool_that_one_provider_lacks_is_an_error_at_once(self, fake: Fake):
        with pytest.raises(OptionError, match="mistral"):
            Session(Fallback(*connect(fake, CLAUDE, "mistral/mistral-large-latest")), [WebSearch()])


class TestReplays:
    def test_a_script_that_is_run_again_asks_nobody_again(self, fake: Fake, tmp_path: Path):
        fake.play(Fail(529), call("weather", city="Oslo"), "Rain.")
        for expected in (3, 3):
            with Session(Fallback(*connect(fake, CLAUDE, GPT)), [weather], store=Store(tmp_path / "a.db"), id="x") as s:
                result = s.vibe("Oslo?")
            assert (result, result.run.model, len(fake.requests)) == ("Rain.", GPT, expected)

    def test_a_run_that_died_goes_on_with_the_model_that_had_taken_over(self, fake: Fake, tmp_path: Path):
        fake.play(Fail(529), call("die"), "Alive.")
        deaths: list[str] = []

        class Killed(BaseException):
            """The process is gone."""

        def die() -> str:
            """Die once."""
            deaths.append("x")
            if len(deaths) == 1:
                raise Killed
            return "alive"

        def run() -> Any:
            from antiphon.tools import tool

            models = Fallback(*connect(fake, CLAUDE, GPT))
            with Session(models, [tool(idempotent=True)(die)], store=Store(tmp_path / "a.db"), id="x") as session:
                return session.vibe("Die?")

        with pytest.raises(Killed):
            run()
        assert asked(fake) == ["claude-sonnet-5", "gpt-6"]
        result = run()
        assert (result, result.run.model) == ("Alive.", GPT)
        assert asked(fake) == ["claude-sonnet-5", "gpt-6", "gpt-6"]

    def test_a_replayed_refusal_leads_to_the_same_model(self, fake: Fake, tmp_path: Path):
        fake.play(Answer("No.", stop="refusal"), "Yes.")
        for _ in range(2):
            models = Fallback(*connect(fake, CLAUDE, GPT), on=ModelRefused)
            with Session(models, store=Store(tmp_path / "a.db"), id="x") as session:
                assert session.vibe("Oslo?").run.model == GPT
        assert len(fake.requests) == 2

    def test_spans_show_both_requests(self, fake: Fake):
        fake.play(Fail(529), "Hello.")
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        instrument(tracer_provider=provider)
        try:
            Session(Fallback(*connect(fake, CLAUDE, GPT))).vibe("Hello?")
        finally:
            uninstrument()
        spans = [each for each in exporter.get_finished_spans() if each.name.startswith("chat")]
        told = [(each.name, (each.attributes or {}).get("error.type")) for each in spans]
        assert told == [("chat claude-sonnet-5", "ServerFailed"), ("chat gpt-6", None)]


class TestWhereItIsAccepted:
    def test_an_agent_and_a_function_of_the_dependencies(self, fake: Fake):
        @dataclass
        class User:
            plan: str

        claude, gpt, gemini = connect(fake, CLAUDE, GPT, GEMINI)

        def choose(user: User) -> Fallback:
            return Fallback(claude, gpt) if user.plan == "paid" else Fallback(gemini, gpt)

        agent = Agent(choose, deps_type=User)
        fake.play(Fail(529), "Paid.", Fail(500), "Free.")
        assert agent.vibe("Hello?", deps=User("paid")) == "Paid."
        assert agent.vibe("Hello?", deps=User("free")) == "Free."
        assert asked(fake) == ["claude-sonnet-5", "gpt-6", "gemini-3.5-flash", "gpt-6"]
        fixed = Agent(Fallback(claude, gpt))
        fake.play(Fail(529), "Fixed.")
        assert fixed.vibe("Hello?") == "Fixed."
        assert f"{CLAUDE}, {GPT}" in repr(fixed)

    def test_the_model_of_a_session_may_become_one(self, fake: Fake):
        claude, gpt = connect(fake, CLAUDE, GPT)
        session = Session(gpt)
        session.model = Fallback(claude, gpt)
        fake.play(Fail(529), "Hello.", Fail(529))
        assert session.vibe("Hello?").run.model == GPT
        session.model = claude
        with pytest.raises(ServerFailed):
            session.vibe("Hello?")

    def test_names_are_connected_and_tried_briefly(self, fake: Fake, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
        monkeypatch.setenv("OPENAI_API_KEY", "b")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.base_url("anthropic"))
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        fake.play(Fail(429, retry_after=300), "Hello.")
        with Session(Fallback(CLAUDE, GPT)) as session:
            assert session.vibe("Hello?").run.model == GPT
        # The last one is retried as always.
        fake.play(Fail(500), Fail(500), *[Fail(429, retry_after=0.01)] * 3, "Hello.")
        with Session(Fallback(CLAUDE, GPT)) as session:
            assert session.vibe("Hello?").run.model == GPT

    def test_a_missing_key_is_an_error_at_once(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
        with pytest.raises(ConfigurationError, match="no key for openai"):
            Session(Fallback(CLAUDE, GPT))

    def test_a_summary_falls_back_too(self, fake: Fake):
        claude, gpt = connect(fake, CLAUDE, GPT)
        session = Session(Fallback(claude, gpt))
        fake.play(*[f"Number {number}." for number in range(12)], Fail(529), "A summary.")
        for number in range(12):
            session.vibe(f"Is {number} the number?")
        assert session.compact().run.model == GPT

    @pytest.mark.parametrize(
        ("models", "on", "told"),
        [
            ((), ProviderError, "two models or more"),
            (("a",), ProviderError, "two models or more"),
            (("a", "b", "a"), ProviderError, "'a' twice"),
            (("a", None), ProviderError, "not None"),
            (("a", "b"), (), "at least one class"),
            (("a", "b"), ValueError, "not ValueError"),
            (("a", "b"), (ProviderError, LimitReached), "not LimitReached"),
            (("a", "b"), "ProviderError", "classes of `ProviderError`"),
        ],
    )
    def test_a_wrong_fallback_is_an_error_at_once(self, models: Any, on: Any, told: str):
        with pytest.raises(OptionError, match=told):
            Fallback(*models, on=on)

    def test_a_recording_belongs_to_a_model(self, tmp_path: Path):
        with pytest.raises(OptionError, match="`record` and `replay`"):
            Session(Fallback("a", "b"), record=tmp_path / "a.jsonl")


def test_a_cut_stream_of_the_last_model_is_raised_as_one(fake: Fake):
    fake.play(Fail(529), Answer("Once upon a time", cut_after=4))
    session = Session(Fallback(*connect(fake, GPT, CLAUDE)))
    run = session.start("A story?")
    with pytest.raises(StreamCut):
        run.wait()
