"""Google's Interactions API: bodies that the SDK's own types accept, streams, failures and continued answers."""

import json
from typing import Any

import httpx2
import pytest
from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteraction
from google.genai._gaos.types.interactions.interaction import Interaction
from hypothesis import given, settings
from pydantic import TypeAdapter

from antiphon.conversation import Conversation, Image, Origin, ProviderPayload, Reasoning, ServerCall, Text, ToolSpec
from antiphon.errors import OptionError, RateLimited, RequestRejected, ServerFailed, StreamCut, UnknownStop
from antiphon.fakes import Answer, Call, Cite, Fake
from antiphon.fakes import ServerCall as FakeServerCall
from antiphon.providers import connect
from antiphon.session import Session
from antiphon.tools import WebSearch
from antiphon.wire import Options, Target, detect_api, read, wire
from tests.strategies import TARGETS, ready_conversations
from tests.wire.referee import judge

API = "google-interactions"
MODEL = "google-interactions/gemini-3.5-flash"
TARGET = TARGETS[API]
ORIGIN = Origin(API, API, "gemini-3.5-flash")
REQUEST, ANSWER = TypeAdapter(CreateModelInteraction), TypeAdapter(Interaction)


def body(conversation: Conversation, **options: Any) -> dict[str, Any]:
    return json.loads(wire(API).encode(conversation, TARGET, Options(**options)).body)


def decoder_of(*events: dict[str, Any]) -> Any:
    decoder = wire(API).Decoder(ORIGIN)
    for event in events:
        decoder.feed(f"data: {json.dumps(event)}\n\n".encode())
    return decoder


def known(value: Any) -> None:
    """Raise if the SDK took any part of a body for a variant that it does not know."""
    assert "is_unknown" not in json.dumps(value, default=lambda each: getattr(each, "__dict__", str(each)))


@given(conversation=ready_conversations())
@settings(max_examples=60)
def test_the_sdk_accepts_every_body(conversation: Conversation):
    sent = body(conversation, max_tokens=9, tool_choice="auto", reasoning="low", stream=True)
    judge(REQUEST, sent)
    known(REQUEST.validate_python(sent))


def test_a_request_is_stateless_and_holds_every_step():
    conversation = Conversation("Be brief.", [ToolSpec("now", "Tell the time")])
    conversation.add_user(["What time is it?", Image(data="iVBORw0KGgo=", media_type="image/png")])
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    sent = body(conversation, output_schema=schema, tool_choice="now", temperature=0.5, stop=("x",), reasoning="none")
    known(REQUEST.validate_python(sent))
    assert sent["store"] is False
    assert sent["system_instruction"] == "Be brief."
    assert sent["tools"] == [{"type": "function", "name": "now", "description": "Tell the time"}]
    assert [block["type"] for block in sent["input"][0]["content"]] == ["text", "image"]
    assert sent["response_format"]["mime_type"] == "application/json"
    assert sent["response_format"]["schema"]["properties"] == schema["properties"]
    assert sent["generation_config"] == {
        "temperature": 0.5,
        "stop_sequences": ["x"],
        "thinking_level": "minimal",
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["now"]}},
    }


def test_an_answer_is_sent_back_as_it_came():
    signed = {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]}
    steps = [
        signed,
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["rain"]}, "signature": "c2ln"},
        {"type": "google_search_result", "call_id": "s1", "result": [{"url": "https://a.example", "title": "A"}]},
        {
            "type": "model_output",
            "content": [
                {
                    "type": "text",
                    "text": "Ü rains",
                    "annotations": [
                        {"type": "url_citation", "url": "https://a.example", "start_index": 3, "end_index": 8}
                    ],
                }
            ],
        },
        {"type": "function_call", "id": "c1", "name": "now", "arguments": {"zone": "utc"}},
    ]
    data = {
        "id": "v1_a",
        "status": "requires_action",
        "steps": steps,
        "model": "gemini-3.5-flash",
        "usage": {
            "total_input_tokens": 8,
            "total_tool_use_tokens": 2,
            "total_output_tokens": 12,
            "total_thought_tokens": 5,
            "total_cached_tokens": 4,
        },
    }
    judge(ANSWER, data)
    reply = wire(API).decode(data, ORIGIN)
    assert [type(part).__name__ for part in reply.parts] == [
        *("Reasoning", "ServerCall", "ServerResult", "Text", "ToolCall"),
    ]
    assert (reply.stop, reply.reasoning, reply.text) == ("tool_calls", "hm", "Ü rains")
    (cited,) = reply.citations
    assert (cited.start, cited.end) == (2, 7)
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (10, 17, 5)
    assert usage.cache_read_tokens == 4
    conversation = Conversation(tools=[ToolSpec("now")])
    conversation.add_user("When?")
    conversation.add_reply(reply.parts)
    conversation.add_tool_result("c1", "noon")
    sent = body(conversation)["input"]
    assert sent[1:-1] == steps
    assert sent[-1] == {"type": "function_result", "call_id": "c1", "name": "now", "result": "noon"}
    other = wire(API).encode(conversation, Target(API, API, "gemini-3.6-flash"), Options()).body.decode()
    assert "c2ln" not in other, "signatures belong to their model"


def test_a_signature_of_a_call_belongs_to_its_model_too():
    step = {"type": "function_call", "id": "c1", "name": "now", "arguments": {}, "signature": "c2ln"}
    conversation = Conversation(tools=[ToolSpec("now")])
    conversation.add_user("When?")
    conversation.add_reply(wire(API).decode({"status": "requires_action", "steps": [step]}, ORIGIN).parts)
    conversation.add_tool_result("c1", "noon")
    assert body(conversation)["input"][1] == step
    other = json.loads(wire(API).encode(conversation, Target(API, API, "gemini-3.6-flash"), Options()).body)
    assert "signature" not in other["input"][1]


def test_failed_calls_and_images_in_results():
    conversation = Conversation(tools=[ToolSpec("look")])
    conversation.add_user("Look")
    reply = wire(API).decode(
        {
            "status": "requires_action",
            "steps": [{"type": "function_call", "id": f"c{n}", "name": "look", "arguments": {}} for n in range(3)],
        },
        ORIGIN,
    )
    conversation.add_reply(reply.parts)
    conversation.add_tool_result("c0", "no such file", is_error=True)
    conversation.add_tool_result("c1", [Text("this"), Image(data="iVBORw0KGgo=", media_type="image/png")])
    conversation.add_tool_result("c2", "")
    first, second, third = body(conversation)["input"][-3:]
    assert (first["result"], first["is_error"]) == ("no such file", True)
    assert [block["type"] for block in second["result"]] == ["text", "image"]
    assert third["result"] == "(no output)"
    old = Target(API, API, "gemini-2.5-flash")
    steps = json.loads(wire(API).encode(conversation, old, Options()).body)["input"]
    assert old.facts.result_media == ()
    assert [block["type"] for block in steps[-1]["content"]] == ["text", "image"]


def test_options_that_the_api_does_not_have_are_refused():
    conversation = Conversation(tools=[ToolSpec("now")])
    conversation.add_user("Hi")
    with pytest.raises(OptionError, match="no number of tokens"):
        body(conversation, reasoning=512)
    with pytest.raises(OptionError, match="no way to forbid `parallel_tool_calls`"):
        body(conversation, parallel_tool_calls=False)


def test_a_stream_of_pieces_is_the_whole_answer():
    decoder = decoder_of(
        {"event_type": "interaction.created", "interaction": {"id": "v1_a", "status": "in_progress", "model": "m"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        {
            "event_type": "step.delta",
            "index": 0,
            "delta": {"type": "thought_summary", "content": {"type": "text", "text": "hm"}},
        },
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_signature", "signature": "c2ln"}},
        {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "It "}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "rains."}},
        {
            "event_type": "step.delta",
            "index": 1,
            "delta": {
                "type": "text_annotation_delta",
                "annotations": [{"type": "url_citation", "url": "https://a.example"}],
            },
        },
        {"event_type": "step.start", "index": 2, "step": {"type": "google_search_call", "id": "s", "arguments": {}}},
        {
            "event_type": "step.delta",
            "index": 2,
            "delta": {"type": "google_search_call", "arguments": {"queries": ["x"]}},
        },
        {
            "event_type": "step.start",
            "index": 3,
            "step": {"type": "function_call", "id": "c", "name": "now", "arguments": {}},
        },
        {"event_type": "step.delta", "index": 3, "delta": {"type": "arguments_delta", "arguments": '{"a"'}},
        {"event_type": "step.delta", "index": 3, "delta": {"type": "arguments_delta", "arguments": ": 1}"}},
        {"event_type": "step.stop", "index": 3},
        {
            "event_type": "interaction.completed",
            "interaction": {"id": "v1_a", "status": "requires_action", "usage": {"total_input_tokens": 3}},
        },
    )
    reply = decoder.reply()
    assert (reply.text, reply.reasoning, reply.stop, reply.model) == ("It rains.", "hm", "tool_calls", "m")
    assert reply.parts[0].native.data["signature"] == "c2ln"
    assert reply.citations[0].url == "https://a.example"
    assert reply.tool_calls[0].arguments == {"a": 1}
    assert reply.usage.input_tokens == 3
    (search,) = [part for part in reply.parts if isinstance(part, ServerCall)]
    assert search.input == {"queries": ["x"]}


def test_a_stream_without_its_end_is_cut_and_keeps_the_text():
    decoder = decoder_of(
        {"event_type": "interaction.created", "interaction": {"id": "v1_a", "status": "in_progress"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Half"}},
        {"event_type": "interaction.status_update", "interaction_id": "v1_a", "status": "in_progress"},
    )
    with pytest.raises(StreamCut) as caught:
        decoder.reply()
    assert caught.value.partial == "Half"


def test_broken_arguments_are_a_problem_of_the_call():
    decoder = decoder_of(
        {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c", "name": "now"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": '{"a'}},
        {"event_type": "interaction.status_update", "interaction_id": "v1_a", "status": "incomplete"},
    )
    reply = decoder.reply()
    assert reply.stop == "length"
    assert reply.tool_calls[0].problem


@pytest.mark.parametrize(
    ("code", "error"), [("429", RateLimited), ("RESOURCE_EXHAUSTED", RateLimited), ("400", RequestRejected)]
)
def test_an_error_event_is_the_error_that_it_names(code: str, error: type[Exception]):
    with pytest.raises(error, match="failed to answer: No"):
        decoder_of({"event_type": "error", "error": {"code": code, "message": "No"}})


def test_a_failed_interaction_keeps_what_it_said():
    said = {"type": "model_output", "content": [{"type": "text", "text": "Half"}]}
    with pytest.raises(ServerFailed, match="it does not say why") as caught:
        wire(API).decode({"status": "failed", "steps": [said]}, ORIGIN)
    assert caught.value.reply.text == "Half"
    failed = said | {"error": {"code": 400, "message": "bad picture"}}
    with pytest.raises(RequestRejected, match="bad picture"):
        wire(API).decode({"status": "failed", "steps": [failed]}, ORIGIN)
    with pytest.raises(UnknownStop, match="'paused'"):
        wire(API).decode({"status": "paused", "steps": [said]}, ORIGIN)


def test_histories_of_this_api_are_told_from_those_of_openai():
    asked = {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
    assert detect_api([asked]) == API
    assert detect_api({"model": "gemini-3.5-flash", "input": "Hi"}) == API
    assert detect_api({"model": "gpt-5", "input": "Hi"}) == "openai-responses"
    assert detect_api({"input": []}) == "openai-responses"
    assert detect_api([{"type": "function_call", "id": "c", "name": "now", "arguments": {}}]) == API
    call = {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"}
    assert detect_api([call]) == "openai-responses"
    reading = read({"model": "gemini-3.5-flash", "input": "Hi", "generation_config": {"seed": 1}})
    assert reading.conversation.turns[0].text == "Hi"
    assert reading.rest == {"model": "gemini-3.5-flash", "generation_config": {"seed": 1}}


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"rain in {city}"


@pytest.mark.parametrize("stream", [False, True])
def test_a_session_runs_tools_and_gets_typed_values(stream: bool):
    script = [
        Answer(calls=[Call("weather", {"city": "Oslo"})], reasoning="Look it up."),
        Answer('{"rain": true}', reasoning="It rains.", citations=[Cite("https://a.example", "A", "rain")]),
    ]
    with Fake(script) as fake:
        session = Session(fake.connect(MODEL), [weather])
        if stream:
            run = session.stream("Weather?", returns={"rain": bool})
            for _ in run:
                pass
            value = run.result.value
        else:
            value = session.do("Weather?", returns={"rain": bool}).value
        assert value == {"rain": True}
        first, second = [request.body for request in fake.requests]
    known(REQUEST.validate_python(second))
    assert second["input"][: len(first["input"])] == first["input"], "each request begins with the one before it"
    assert second["input"][1]["type"] == "thought"
    assert second["input"][1]["signature"]
    assert second["input"][3]["result"] == "rain in Oslo"


def test_hosted_tools_are_declared_and_their_steps_kept():
    used = FakeServerCall("web_search", {"queries": ["rain"]}, "It rains.")
    with Fake([Answer("Rain.", server_calls=[used]), "Yes."]) as fake:
        session = Session(fake.connect(MODEL), [WebSearch()])
        session.do("Weather?")
        session.do("Sure?")
        first, second = [request.body for request in fake.requests]
    assert first["tools"][0] == {"type": "google_search"}
    assert [step["type"] for step in second["input"]][1:4] == [
        *("google_search_call", "google_search_result", "model_output"),
    ]


def test_an_invented_signature_is_refused_by_the_fake():
    with Fake() as fake:
        model = fake.connect(MODEL)
        conversation = Conversation()
        conversation.add_user("Hi")
        thought = {"type": "thought", "signature": "c2ln"}

        conversation.add_reply([Reasoning("", ProviderPayload(ORIGIN, thought)), Text("Hello")])
        conversation.add_user("And?")
        with pytest.raises(RequestRejected, match="Thought signature is not valid"):
            model.chat(conversation)


def test_an_unfinished_answer_is_continued_with_its_token():
    said = [
        {"status": "requires_continuation", "continuation_token": "t1", "text": "One "},
        {"status": "completed", "text": "two"},
    ]
    sent: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        given = dict(said[len(sent) - 1])
        step = {"type": "model_output", "content": [{"type": "text", "text": given.pop("text")}]}
        assert request.headers["x-goog-api-key"] == "k"
        assert request.headers["api-revision"] == "2026-05-20"
        assert request.url.path == "/v1beta/interactions"
        return httpx2.Response(200, json={"id": "v1_a", "steps": [step], **given})

    model = connect(MODEL, key="k", transport=httpx2.MockTransport(answer))
    conversation = Conversation()
    conversation.add_user("Count")
    reply = model.chat(conversation)
    assert (reply.text, reply.hops) == ("One two", 2)
    assert sent[1] == sent[0] | {"continuation_token": "t1"}


def test_the_sdk_talks_to_the_fake():
    from google import genai

    with Fake([Answer("Hello", reasoning="hm"), Answer(calls=[Call("now", {"a": 1})])]) as fake:
        client = genai.Client(api_key="k", http_options={"base_url": fake.url})
        first = client.interactions.create(model="gemini-3.5-flash", input="Hi", store=False)
        assert (first.status, first.output_text) == ("completed", "Hello")
        tools = [{"type": "function", "name": "now"}]
        events = list(
            client.interactions.create(model="gemini-3.5-flash", input="Hi", store=False, stream=True, tools=tools)
        )
        kinds = [event.event_type for event in events]
        assert kinds[0] == "interaction.created"
        assert kinds[-1] == "interaction.completed"
        assert events[-1].interaction.status == "requires_action"
