"""Google's own SDK takes the fake for the real thing."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.fakes import Answer, Fake, call
from tests.lazily import Lazily

genai = Lazily("google.genai")

MODEL = "gemini-3-pro-preview"
SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
CONFIG = {"tools": [{"function_declarations": [{"name": "weather", "parameters": SCHEMA}]}]}
QUESTION = {"role": "user", "parts": [{"text": "Weather?"}]}
TWO = Answer(calls=[call("weather", city="Oslo"), call("weather", city="Rome")], reasoning="Which city?")


@pytest.fixture(scope="module")
def client(served: Fake) -> Any:
    return genai.Client(api_key="key", http_options=genai.types.HttpOptions(base_url=served.base_url("gemini")))


def results(content: Any) -> Any:
    calls = [part.function_call for part in content.parts if part.function_call]
    made = [genai.types.FunctionResponse(id=c.id, name=c.name, response={"result": "rain"}) for c in calls]
    return genai.types.Content(role="user", parts=[genai.types.Part(function_response=one) for one in made])


def ask(client: Any, *contents: Any, model: str = MODEL) -> Any:
    return client.models.generate_content(model=model, contents=list(contents), config=CONFIG)


def test_a_plain_answer(client: Any, fake: Fake) -> None:
    fake.play(Answer("Hello.", usage=(11, 7)))
    response = ask(client, QUESTION)
    assert (response.text, response.usage_metadata.total_token_count) == ("Hello.", 18)
    assert response.candidates[0].finish_reason == genai.types.FinishReason.STOP
    assert fake.requests[0].model == MODEL


def test_parallel_calls_are_signed_on_the_first(client: Any, fake: Fake) -> None:
    fake.play(TWO, "Wet.")
    content = ask(client, QUESTION).candidates[0].content
    thought, first, second = content.parts
    assert thought.thought
    assert first.thought_signature
    assert not second.thought_signature
    assert len(first.function_call.id) == 8
    assert ask(client, QUESTION, content, results(content)).text == "Wet."


def test_streams_carry_what_whole_answers_carry(client: Any, fake: Fake) -> None:
    fake.play(TWO, Answer("It is raining in Oslo."), "And on.")
    parts: list[Any] = []
    for chunk in client.models.generate_content_stream(model=MODEL, contents=[QUESTION], config=CONFIG):
        parts += chunk.candidates[0].content.parts
    content = genai.types.Content(role="model", parts=[part for part in parts if part.text != ""])
    assert "".join(part.text for part in parts if part.thought) == "Which city?"
    history = [QUESTION, content, results(content)]
    chunks = list(client.models.generate_content_stream(model=MODEL, contents=history, config=CONFIG))
    assert len(chunks) == 4
    assert "".join(chunk.text or "" for chunk in chunks) == "It is raining in Oslo."
    last = chunks[-1].candidates[0].content
    assert last.parts[0].thought_signature
    assert chunks[-1].candidates[0].finish_reason == genai.types.FinishReason.STOP
    said = genai.types.Content(
        role="model",
        parts=[genai.types.Part(text="It is raining in Oslo.", thought_signature=last.parts[0].thought_signature)],
    )
    assert ask(client, *history, said, QUESTION).text == "And on."


def test_a_signature_belongs_to_its_call(client: Any, fake: Fake) -> None:
    fake.play(TWO)
    content = ask(client, QUESTION).candidates[0].content
    content.parts[1].function_call.args = {"city": "Paris"}
    with pytest.raises(genai.errors.ClientError, match="Thought signature is not valid"):
        ask(client, QUESTION, content, results(content))


def test_stand_ins_for_signatures_are_taken(client: Any, fake: Fake) -> None:
    fake.play("Wet.")
    made = genai.types.Part(
        function_call=genai.types.FunctionCall(name="weather", args={}),
        thought_signature=b"skip_thought_signature_validator",
    )
    content = genai.types.Content(role="model", parts=[made])
    assert ask(client, QUESTION, content, results(content)).text == "Wet."


def test_older_models_have_neither_ids_nor_signatures(client: Any, fake: Fake) -> None:
    fake.play(TWO, "Wet.")
    content = ask(client, QUESTION, model="gemini-2.5-flash").candidates[0].content
    assert content.parts[1].function_call.id is None
    assert content.parts[1].thought_signature is None
    assert ask(client, QUESTION, content, results(content), model="gemini-2.5-flash").text == "Wet."


def test_models_are_listed(client: Any) -> None:
    assert next(iter(client.models.list())).name.startswith("models/gemini")
