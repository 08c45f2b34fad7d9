"""How a typed answer is asked for: by fields, as one object, or natively, and only where the provider is sure of it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from antiphon import connect
from antiphon.conversation import Conversation
from antiphon.fakes import Fake
from antiphon.session import Session

RESPONSES, CHAT, ANTHROPIC = "openai/gpt-5", "openai-chat/gpt-5", "anthropic/claude-sonnet-5"
GEMINI, OLD_GEMINI = "google/gemini-3-pro", "google/gemini-2.5-flash"
MODELS = [RESPONSES, CHAT, ANTHROPIC, GEMINI, OLD_GEMINI]


class Point(BaseModel):
    x: int


class Sure(BaseModel):
    where: Point
    label: str | None


class Counted(BaseModel):
    count: dict[str, int]


class Paired(BaseModel):
    pair: tuple[int, str]


class Optional(BaseModel):
    name: str
    iban: str | None = None


class Tree(BaseModel):
    name: str
    left: "Tree | None"


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


def weather(city: str) -> str:
    """The weather."""
    return city


def is_native(fake: Fake, model: str, wanted: Any, **settings: Any) -> bool:
    body = json.loads(Session(fake.connect(model), **settings).request("…", returns=wanted))
    schemas = [body.get("response_format"), body.get("text", {}).get("format"), body.get("output_config")]
    found = any(schemas) or "responseJsonSchema" in body.get("generationConfig", {})
    assert found != ("__vibe_return_object" in json.dumps(body))
    return found


@pytest.mark.parametrize(
    ("wanted", "natively"),
    [
        (Sure, {RESPONSES, CHAT, GEMINI, OLD_GEMINI}),
        (Counted, {GEMINI, OLD_GEMINI}),
        (Paired, {GEMINI, OLD_GEMINI}),
        (Optional, {GEMINI, OLD_GEMINI}),
        (Tree, {RESPONSES, CHAT}),
    ],
)
def test_natively_only_where_the_api_guarantees_the_schema(fake: Fake, wanted: Any, natively: set[str]):
    assert {model for model in MODELS if is_native(fake, model, wanted)} == natively


@pytest.mark.parametrize("model", MODELS)
def test_beside_tools_one_more_tool(fake: Fake, model: str):
    assert not is_native(fake, model, Sure, tools=[weather])
    assert not is_native(fake, model, Sure, extra={"tools": [{"type": "web_search"}]})


@pytest.mark.parametrize("model", MODELS)
def test_a_result_that_can_be_read_on_brings_a_tool(fake: Fake, model: str):
    conversation = Conversation()
    conversation.add_user("…")
    conversation.keep("result:1", "all of it")
    assert not is_native(fake, model, Sure, conversation=conversation)


@pytest.mark.parametrize("wanted", [Sure, Counted, Paired, Optional, Tree])
def test_a_local_model_is_held_to_any_schema(fake: Fake, wanted: Any):
    local = connect("local/0.5b", url=fake.base_url("openai"), key="k")
    assert b"__vibe" not in Session(local, [weather]).request("…", returns=wanted)
