"""Spans and metrics as OpenTelemetry's own SDK receives them."""

import asyncio
import json

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from antiphon import Session, Store, loads, tool
from antiphon.effects import HumanAnswer
from antiphon.errors import AntiphonError
from antiphon.fakes import Fail, Fake, call
from antiphon.lang.runtime import Host
from antiphon.session import NeedsHuman
from antiphon.telemetry import instrument, uninstrument
from antiphon.tools import Policy, Rule

MODEL = "anthropic/claude-sonnet-5-5"


class Telemetry:
    """The exported spans and metrics of a test."""

    def __init__(self):
        self._spans, self._metrics = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meter_provider = MeterProvider([self._metrics])

    def start(self, **options):
        instrument(tracer_provider=self.tracer_provider, meter_provider=self.meter_provider, **options)

    @property
    def spans(self):
        return sorted(self._spans.get_finished_spans(), key=lambda span: span.start_time)

    def take(self):
        spans = self.spans
        self._spans.clear()
        return spans

    def tree(self):
        """The names of the spans, each with the names of those inside it."""
        inside = {}
        for span in self.spans:
            inside.setdefault(span.parent.span_id if span.parent else None, []).append(span)

        def branch(span):
            children = [branch(child) for child in inside.get(span.context.span_id, [])]
            return (span.name, children) if children else span.name

        return [branch(span) for span in inside.get(None, [])]

    def points(self, name):
        data = self._metrics.get_metrics_data()
        metrics = [each for scope in data.resource_metrics[0].scope_metrics for each in scope.metrics]
        return [point for each in metrics if each.name == name for point in each.data.data_points]


@pytest.fixture
def telemetry():
    exported = Telemetry()
    yield exported
    uninstrument()


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def test_a_session_has_spans_of_its_requests_and_calls(telemetry):
    telemetry.start()
    with Fake([call("weather", city="Oslo"), "Take a coat."]) as fake:
        Session(fake.connect(MODEL), tools=[weather], name="coats").vibe("Do I need a coat?")
    inside = ["chat claude-sonnet-5-5", "execute_tool weather", "chat claude-sonnet-5-5"]
    assert telemetry.tree() == [("invoke_agent coats", inside)]
    agent, first, used, second = telemetry.spans
    assert agent.attributes == {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coats"}
    assert (first.kind, used.kind, agent.kind) == (SpanKind.CLIENT, SpanKind.INTERNAL, SpanKind.INTERNAL)
    assert first.attributes["gen_ai.provider.name"] == "anthropic"
    assert first.attributes["gen_ai.request.model"] == first.attributes["gen_ai.response.model"] == "claude-sonnet-5-5"
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_use",)
    assert second.attributes["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert first.attributes["gen_ai.usage.input_tokens"] > 0
    assert first.attributes["gen_ai.response.id"] != second.attributes["gen_ai.response.id"]
    assert used.attributes["gen_ai.tool.name"] == "weather"
    assert used.attributes["gen_ai.tool.call.id"].startswith("toolu_")


def test_spans_have_no_content_unless_it_is_asked_for(telemetry):
    @tool
    def fail(word: str) -> str:
        """Fail."""
        raise ValueError(f"cannot use {word}")

    for content in (False, True):
        telemetry.start(content=content)
        with Fake([call("fail", word="zebra-argument"), "zebra-answer"]) as fake:
            session = Session(fake.connect(MODEL), tools=[fail], system="zebra-system")
            session.vibe("zebra-prompt")
        said = " ".join(
            f"{span.name} {span.attributes} {span.status.description} {span.events}" for span in telemetry.take()
        )
        words = ("zebra-system", "zebra-prompt", "zebra-argument", "zebra-answer", "cannot use")
        assert [word in said for word in words] == [content] * len(words)


def test_the_content_has_the_form_of_the_conventions(telemetry):
    telemetry.start(content=True)
    with Fake([call("weather", city="Oslo"), "Take a coat."]) as fake:
        Session(fake.connect(MODEL), tools=[weather], system="Be brief.").vibe("A coat?")
    first, used, second = telemetry.spans[1:]
    assert json.loads(first.attributes["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(first.attributes["gen_ai.tool.definitions"])[0]["name"] == "weather"
    roles = [each["role"] for each in json.loads(second.attributes["gen_ai.input.messages"])]
    assert roles == ["user", "assistant", "tool"]
    answer = json.loads(second.attributes["gen_ai.output.messages"])[0]
    assert answer["finish_reason"] == "end_turn"
    assert {"type": "text", "content": "Take a coat."} in answer["parts"]
    assert json.loads(used.attributes["gen_ai.tool.call.arguments"]) == {"city": "Oslo"}
    assert used.attributes["gen_ai.tool.call.result"] == "rain in Oslo"


def test_secrets_are_not_part_of_the_content(telemetry, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "t0k3n-of-the-shop-91")
    telemetry.start(content=True)
    with Fake(["Your token is t0k3n-of-the-shop-91."]) as fake:
        Session(fake.connect(MODEL)).vibe("Use t0k3n-of-the-shop-91.")
    assert "t0k3n-of-the-shop-91" not in str([dict(span.attributes) for span in telemetry.spans])


def test_a_failed_request_is_an_error_without_its_text(telemetry):
    telemetry.start()
    with Fake([Fail(400, "zebra is not allowed")]) as fake, pytest.raises(AntiphonError):
        Session(fake.connect(MODEL)).vibe("Hello")
    agent, asked = telemetry.spans
    assert asked.status.status_code is agent.status.status_code is StatusCode.ERROR
    assert asked.attributes["error.type"]
    assert "zebra" not in f"{asked.status.description} {asked.attributes} {asked.events}"
    (duration,) = telemetry.points("gen_ai.client.operation.duration")
    assert duration.attributes["error.type"] == asked.attributes["error.type"]


def test_metrics_count_tokens_and_time(telemetry):
    telemetry.start()
    with Fake([call("weather", city="Oslo"), "Take a coat."]) as fake:
        used = Session(fake.connect(MODEL), tools=[weather]).vibe("Do I need a coat?").run.usage
    tokens = {point.attributes["gen_ai.token.type"]: point for point in telemetry.points("gen_ai.client.token.usage")}
    assert tokens["input"].sum == used.input_tokens
    assert tokens["output"].sum == used.output_tokens
    (duration,) = telemetry.points("gen_ai.client.operation.duration")
    assert duration.count == 2
    assert duration.attributes["gen_ai.provider.name"] == "anthropic"


def test_a_streamed_answer_has_the_time_of_its_first_text(telemetry):
    telemetry.start()
    with Fake(["Take a coat."]) as fake, Session(fake.connect(MODEL)).stream("A coat?") as events:
        assert events.result.value == "Take a coat."
    asked = telemetry.spans[1]
    first = asked.attributes["gen_ai.response.time_to_first_chunk"]
    assert 0 <= first <= (asked.end_time - asked.start_time) / 1e9
    assert telemetry.points("gen_ai.client.operation.time_to_first_chunk")[0].count == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_session_of_a_tool_is_inside_its_call(telemetry, kind):
    telemetry.start()
    with Fake([call("delegate"), "inner", "outer"]) as fake:

        @tool
        def delegate() -> str:
            """Ask another agent."""
            return Session(fake.connect(MODEL), name="child").chat("Hello").text

        @tool(name="delegate")
        async def adelegate() -> str:
            """Ask another agent."""
            return (await Session(fake.connect(MODEL), name="child").achat("Hello")).text

        Session(fake.connect(MODEL), tools=[delegate if kind == "sync" else adelegate], name="parent").vibe("Go")
    asked = "chat claude-sonnet-5-5"
    child = ("execute_tool delegate", [("invoke_agent child", [asked])])
    assert telemetry.tree() == [("invoke_agent parent", [asked, child, asked])]


def test_spans_belong_to_the_current_span_of_the_program(telemetry):
    telemetry.start()
    tracer = telemetry.tracer_provider.get_tracer("app")
    with Fake(["Hello."]) as fake, tracer.start_as_current_span("GET /greeting"):
        Session(fake.connect(MODEL), name="greeter").chat("Hi")
    assert telemetry.tree() == [("GET /greeting", [("invoke_agent greeter", ["chat claude-sonnet-5-5"])])]


def test_concurrent_sessions_do_not_mix(telemetry):
    telemetry.start()

    async def ask(fake, name):
        return await Session(fake.connect(MODEL), name=name).achat("Hi")

    async def ask_all(fake):
        return await asyncio.gather(*[ask(fake, f"n{number}") for number in range(5)])

    with Fake(["Hello."] * 5) as fake:
        asyncio.run(ask_all(fake))
    assert sorted(telemetry.tree()) == [(f"invoke_agent n{number}", ["chat claude-sonnet-5-5"]) for number in range(5)]
    assert len({span.context.trace_id for span in telemetry.spans}) == 5


def test_a_resumed_session_joins_its_trace_and_repeats_no_span(telemetry, tmp_path):
    telemetry.start()
    asks = Policy([Rule("ask", "weather")])

    def ask():
        with Session(
            fake.connect(MODEL), [weather], policy=asks, store=Store(tmp_path / "a.db"), id="coats"
        ) as session:
            return session.vibe("A coat?").value

    with Fake([call("weather", city="Oslo"), "Take a coat."]) as fake:
        with pytest.raises(NeedsHuman):
            ask()
        before = telemetry.take()
        journal = Store(tmp_path / "a.db").journal
        journal.answer("coats", journal.list_questions("coats")[0].path, HumanAnswer())
        assert ask() == "Take a coat."
    after = telemetry.take()
    assert [span.name for span in before] == ["invoke_agent", "chat claude-sonnet-5-5", "ask_person approval"]
    assert [span.name for span in after] == ["invoke_agent", "execute_tool weather", "chat claude-sonnet-5-5"]
    assert len({span.context.trace_id for span in before + after}) == 1
    assert before[0].status.status_code is StatusCode.UNSET
    assert before[0].attributes["antiphon.waiting"] is True
    assert {span.attributes["gen_ai.conversation.id"] for span in (before[0], after[0])} == {"coats"}


def test_equal_names_in_two_databases_are_two_traces(telemetry, tmp_path):
    telemetry.start()
    for name in ("a.db", "b.db"):
        with Fake(["Hello."]) as fake:
            Session(fake.connect(MODEL), store=Store(tmp_path / name), id="same").chat("Hi")
    assert len({span.context.trace_id for span in telemetry.spans}) == 2


def test_a_program_is_a_workflow(telemetry):
    telemetry.start()
    with Fake(["Oslo"]) as fake:
        host = Host(write=lambda _: None, connect=lambda name, **_: fake.connect(name), default_model=lambda: MODEL)
        loads('print("start")\nconst city: text = do "Which city?"\ncity\n', "city.vibe").run(host)
    assert telemetry.tree() == [("invoke_workflow city.vibe", [("invoke_agent", ["chat claude-sonnet-5-5"])])]
    assert telemetry.spans[0].attributes["gen_ai.workflow.name"] == "city.vibe"


def test_a_failed_program_is_an_error(telemetry):
    telemetry.start()
    with pytest.raises(AntiphonError):
        loads('throw "zebra"', "fail.vibe").run(Host(write=lambda _: None))
    (span,) = telemetry.spans
    assert span.status.status_code is StatusCode.ERROR
    assert "zebra" not in f"{span.status.description} {span.attributes}"


def test_nothing_is_observed_after_uninstrument(telemetry):
    telemetry.start()
    uninstrument()
    with Fake(["Hello."]) as fake:
        Session(fake.connect(MODEL)).chat("Hi")
    assert telemetry.spans == []
