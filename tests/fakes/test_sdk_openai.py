"""OpenAI's own SDK takes the fake for the real thing, on both of its APIs."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.fakes import Answer, Fake, call
from tests.lazily import Lazily

openai = Lazily("openai")

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
CHAT: dict[str, Any] = {
    "model": "gpt-5.4",
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5.4",
    "tools": [{"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": False}],
}
QUESTION = {"role": "user", "content": "Weather?"}
TWO = Answer("Both.", calls=[call("weather", city="Oslo"), call("now")], reasoning="Which city?")


@pytest.fixture(scope="module")
def client(served: Fake) -> Any:
    return openai.OpenAI(base_url=served.base_url("openai"), api_key="key", max_retries=0)


def test_chat_answers(client: Any, fake: Fake) -> None:
    fake.play(Answer("Hello.", usage=(11, 7)))
    completion = client.chat.completions.create(**CHAT, messages=[QUESTION])
    assert completion.choices[0].message.content == "Hello."
    assert (completion.choices[0].finish_reason, completion.usage.total_tokens) == ("stop", 18)
    assert completion._request_id.startswith("req_")


def test_chat_takes_the_results_of_parallel_calls(client: Any, fake: Fake) -> None:
    fake.play(TWO, "Wet.")
    message = client.chat.completions.create(**CHAT, messages=[QUESTION]).choices[0].message
    assert message.reasoning_content == "Which city?"
    assert message.tool_calls[0].id.startswith("call_")
    results = [{"role": "tool", "tool_call_id": c.id, "content": "rain"} for c in message.tool_calls]
    history = [QUESTION, message.model_dump(exclude_none=True), *results]
    assert client.chat.completions.create(**CHAT, messages=history).choices[0].message.content == "Wet."


def test_chat_streams_what_it_says_whole(client: Any, fake: Fake) -> None:
    fake.play(TWO, TWO)
    whole = client.chat.completions.create(**CHAT, messages=[QUESTION]).choices[0]
    with client.chat.completions.stream(**CHAT, messages=[QUESTION], stream_options={"include_usage": True}) as stream:
        chunks = [event.chunk for event in stream if event.type == "chunk"]
        final = stream.get_final_completion()
    streamed = final.choices[0]
    assert final.usage.total_tokens > 0
    assert streamed.finish_reason == whole.finish_reason == "tool_calls"
    assert streamed.message.content == whole.message.content == "Both."
    assert [c.function.arguments for c in streamed.message.tool_calls] == ['{"city":"Oslo"}', "{}"]
    assert "".join(getattr(c.choices[0].delta, "reasoning_content", "") for c in chunks if c.choices) == "Which city?"


def test_responses_answer(client: Any, fake: Fake) -> None:
    fake.play(Answer("Hello.", usage=(11, 7)))
    response = client.responses.create(**RESPONSES, input="Hi")
    assert (response.output_text, response.status, response.usage.total_tokens) == ("Hello.", "completed", 18)


def outputs(response: Any) -> list[dict[str, Any]]:
    calls = [item for item in response.output if item.type == "function_call"]
    return [{"type": "function_call_output", "call_id": c.call_id, "output": "rain"} for c in calls]


@pytest.mark.parametrize("streamed", [False, True])
def test_responses_take_encrypted_reasoning_back(client: Any, fake: Fake, streamed: bool) -> None:
    fake.play(TWO, "Wet.")
    ask = RESPONSES | {"store": False, "include": ["reasoning.encrypted_content"]}
    if streamed:
        with client.responses.stream(**ask, input=[QUESTION]) as stream:
            kinds = {event.type for event in stream}
            response = stream.get_final_response()
        assert {"response.reasoning_summary_text.delta", "response.function_call_arguments.delta"} <= kinds
    else:
        response = client.responses.create(**ask, input=[QUESTION])
    items = [item.model_dump(exclude_none=True) for item in response.output]
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call", "function_call"]
    assert items[0]["summary"][0]["text"] == "Which city?"
    assert [item.get("arguments") for item in items[2:]] == ['{"city":"Oslo"}', "{}"]
    final = client.responses.create(**ask, input=[QUESTION, *items, *outputs(response)])
    assert final.output_text == "Wet."


def test_foreign_encrypted_reasoning_is_refused(client: Any, fake: Fake) -> None:
    fake.play(TWO)
    ask = RESPONSES | {"store": False, "include": ["reasoning.encrypted_content"]}
    response = client.responses.create(**ask, input=[QUESTION])
    items = [item.model_dump(exclude_none=True) for item in response.output]
    for content in ("gAAAAABfromelsewhere", items[0]["encrypted_content"][:-2] + "A="):
        items[0]["encrypted_content"] = content
        with pytest.raises(openai.BadRequestError, match="could not be verified") as caught:
            client.responses.create(**ask, input=[QUESTION, *items, *outputs(response)])
        assert caught.value.code == "invalid_encrypted_content"


def test_stored_responses_are_continued(client: Any, fake: Fake) -> None:
    fake.play(TWO, "Wet.")
    first = client.responses.create(**RESPONSES, input="Weather?")
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_"):
        client.responses.create(**RESPONSES, previous_response_id=first.id, input="Well?")
    second = client.responses.create(**RESPONSES, previous_response_id=first.id, input=outputs(first))
    assert second.output_text == "Wet."
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**RESPONSES, previous_response_id="resp_gone", input="Well?")
    assert caught.value.code == "previous_response_not_found"


def test_stored_items_keep_their_reasoning(client: Any, fake: Fake) -> None:
    fake.play(Answer(reasoning="Oslo.", calls=[call("weather", city="Oslo")]), "Wet.")
    first = client.responses.create(**RESPONSES, input="Weather?")
    reasoning, use = (item.model_dump(exclude_none=True) for item in first.output)
    with pytest.raises(openai.BadRequestError, match="was provided without its required 'reasoning' item: 'rs_"):
        client.responses.create(**RESPONSES, input=[QUESTION, use, *outputs(first)])
    bare = {key: value for key, value in reasoning.items() if key != "encrypted_content"} | {"id": "rs_0"}
    with pytest.raises(openai.BadRequestError, match="Item with id 'rs_0' not found"):
        client.responses.create(**RESPONSES, input=[QUESTION, bare, use, *outputs(first)])
    reference = {"type": "item_reference", "id": use["id"]}
    final = client.responses.create(**RESPONSES, input=[QUESTION, reasoning, reference, *outputs(first)])
    assert final.output_text == "Wet."


def test_models_are_listed(client: Any) -> None:
    assert next(iter(client.models.list())).object == "model"
