"""Anthropic's own SDK takes the fake for the real thing."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.fakes import Answer, Fake, call
from tests.lazily import Lazily

anthropic = Lazily("anthropic")

TOOL = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
ASK: dict[str, Any] = {"model": "claude-opus-4-8", "max_tokens": 2000, "tools": [TOOL]}
THINKING = {"type": "adaptive"}
QUESTION = {"role": "user", "content": "Weather?"}


@pytest.fixture(scope="module")
def client(served: Fake) -> Any:
    return anthropic.Anthropic(base_url=served.base_url("anthropic"), api_key="key", max_retries=0)


def results(message: Any, text: str = "rain") -> dict[str, Any]:
    calls = [block for block in message.content if block.type == "tool_use"]
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": text} for c in calls]}


def again(message: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]}


def test_a_plain_answer(client: Any, fake: Fake) -> None:
    fake.play(Answer("Hello.", usage=(11, 7)))
    message = client.messages.create(**ASK, messages=[QUESTION])
    assert message.content[0].text == "Hello."
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("end_turn", 11, 7)
    assert message._request_id.startswith("req_")
    assert fake.requests[0].model == "claude-opus-4-8"


def test_parallel_calls_and_their_results(client: Any, fake: Fake) -> None:
    fake.play(Answer("Both.", calls=[call("weather", city="Oslo"), call("weather", city="Rome")]), "Wet and dry.")
    message = client.messages.create(**ASK, messages=[QUESTION])
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert message.content[1].id.startswith("toolu_01")
    final = client.messages.create(**ASK, messages=[QUESTION, again(message), results(message)])
    assert final.content[0].text == "Wet and dry."


def test_streams_carry_what_whole_answers_carry(client: Any, fake: Fake) -> None:
    answer = Answer("Looking it up.", calls=[call("weather", city="Oslo"), call("now")], reasoning="Which city?")
    fake.play(answer, answer)
    whole = client.messages.create(**ASK, messages=[QUESTION])
    with client.messages.stream(**ASK, messages=[QUESTION]) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_message()
    assert kinds.count("content_block_delta") > 6
    assert [b.model_dump(exclude={"id"}) for b in streamed.content] == [
        b.model_dump(exclude={"id"}) for b in whole.content
    ]
    assert streamed.stop_reason == whole.stop_reason == "tool_use"
    assert streamed.usage.output_tokens == whole.usage.output_tokens


@pytest.mark.parametrize("streamed", [False, True])
def test_signed_thinking_goes_back(client: Any, fake: Fake, streamed: bool) -> None:
    fake.play(Answer(reasoning="Oslo, I think.", calls=[call("weather", city="Oslo")]), "Rain.")
    if streamed:
        with client.messages.stream(**ASK, thinking=THINKING, messages=[QUESTION]) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**ASK, thinking=THINKING, messages=[QUESTION])
    history = [QUESTION, again(message), results(message)]
    thought, said = client.messages.create(**ASK, thinking=THINKING, messages=history).content
    assert (thought.type, thought.thinking, said.text) == ("thinking", "", "Rain.")
    assert thought.signature


def test_altered_thinking_is_refused(client: Any, fake: Fake) -> None:
    fake.play(Answer(reasoning="Oslo, I think.", calls=[call("weather", city="Oslo")]))
    message = client.messages.create(**ASK, thinking=THINKING, messages=[QUESTION])
    turn = again(message)
    turn["content"][0]["thinking"] += " Or Rome."
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.1\.content\.0: .*cannot be modified"):
        client.messages.create(**ASK, thinking=THINKING, messages=[QUESTION, turn, results(message)])
    turn = again(message)
    turn["content"][0]["signature"] = turn["content"][0]["signature"][::-1]
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        client.messages.create(**ASK, thinking=THINKING, messages=[QUESTION, turn, results(message)])


def test_thinking_can_be_bound_to_the_prompt() -> None:
    ask = ASK | {"model": "claude-haiku-5-5"}
    without = ask | {"thinking": {"type": "disabled"}}
    with Fake([Answer("Rain.", reasoning="Oslo."), "Snow."]) as fake:
        client = anthropic.Anthropic(base_url=fake.base_url("anthropic"), api_key="key", max_retries=0)
        message = client.messages.create(**ask, system="Be brief.", messages=[QUESTION])
        history = [QUESTION, again(message), QUESTION]
        marked = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        said = client.messages.create(**without, system=marked, messages=history).content
        assert [block.text for block in said] == ["Snow."]
        with pytest.raises(anthropic.BadRequestError, match=r"bound to a different conversation.*`system` prompt"):
            client.messages.create(**ask, system="Be long.", messages=history)
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            client.messages.create(**ask | {"tools": []}, system="Be brief.", messages=history)


def test_errors_are_the_sdks_own(client: Any) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.messages.create(**ASK, messages=[{"role": "user", "content": " "}])
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert caught.value.request_id == caught.value.body["request_id"]


def test_models_are_listed(client: Any) -> None:
    assert next(iter(client.models.list())).id.startswith("claude")
