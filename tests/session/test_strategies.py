"""How a typed answer is asked for: the first rung that the facts allow and that leaves the prompt as it was."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from antiphon import connect
from antiphon.cli.scripted_models import list_offered_tools
from antiphon.conversation import Conversation, Note, UserTurn
from antiphon.facts import forget_learned_facts, learn
from antiphon.fakes import Fake, call
from antiphon.session import Session
from antiphon.session.typed_output import choose_strategy
from antiphon.wire import Target

CLAUDE, BOUND_CLAUDE, OLD_CLAUDE = (
    "anthropic/claude-sonnet-5",
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-sonnet-4-5",
)
RESPONSES, OLD_RESPONSES, CHAT = "openai/gpt-6.1-sol", "openai/gpt-5.5", "openai-chat/gpt-5.5"
GEMINI, OLD_GEMINI = "google/gemini-3.8-flash", "google/gemini-2.5-flash"
DEEPSEEK, UNKNOWN = "deepseek/deepseek-v4-flash", "openai-chat/nobody-knows-it"
MODELS = [CLAUDE, BOUND_CLAUDE, OLD_CLAUDE, RESPONSES, OLD_RESPONSES, CHAT, GEMINI, OLD_GEMINI, DEEPSEEK, UNKNOWN]
WITH_SCHEMA = MODELS[:8]


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


SCHEMA = Sure.model_json_schema()
OTHER = Optional.model_json_schema()


@pytest.fixture(scope="module")
def served() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def fake(served: Fake) -> Fake:
    served.reset()
    return served


def weather(city: str) -> str:
    """The weather."""
    return city


def connected(fake: Fake, model: str) -> Any:
    if model == DEEPSEEK:
        provider, name = model.split("/")
        return connect(name, provider=provider, url=fake.base_url("openai-chat"), key="k")
    return fake.connect(model)


def rung(body: Any) -> str:
    """How a request asks for a typed answer."""
    updates = [each for each in body.get("input") or () if each.get("type") == "configuration_update"]
    native = [body.get("response_format"), (body.get("text") or {}).get("format")]
    native += [(body.get("output_config") or {}).get("format"), updates]
    is_native = any(native) or "responseJsonSchema" in body.get("generationConfig", {})
    text = json.dumps(body)
    found = {
        "native": is_native,
        "prompted": "Answer with nothing but JSON" in text,
        "tool": "answer" in list_offered_tools(body),
    }
    (way,) = [name for name, is_so in found.items() if is_so]
    return way


def first_rung(fake: Fake, model: str, wanted: Any, **settings: Any) -> str:
    return rung(json.loads(Session(connected(fake, model), **settings).request("…", returns=wanted)))


@pytest.mark.parametrize(
    ("wanted", "in_words"),
    [
        (Sure, set[str]()),
        (Optional, set[str]()),
        (int, set[str]()),
        ({"a": str}, set[str]()),
        # Open maps come back empty, or are refused.
        (Counted, {*WITH_SCHEMA}),
        (Paired, {CLAUDE, BOUND_CLAUDE, OLD_CLAUDE}),
        (Tree, {CLAUDE, BOUND_CLAUDE, OLD_CLAUDE}),
    ],
)
def test_a_first_ask_is_native_where_the_server_takes_the_schema(fake: Fake, wanted: Any, in_words: set[str]):
    found = {model for model in MODELS if first_rung(fake, model, wanted) == "prompted"}
    assert found == in_words | {DEEPSEEK, UNKNOWN}


@pytest.mark.parametrize("model", MODELS)
def test_beside_tools_it_is_native_only_where_the_form_can_change_later(fake: Fake, model: str):
    # An ask with tools may grow long before its answer, and the next one would pay for all of it.
    assert first_rung(fake, model, Sure, tools=[weather]) == ("native" if model == RESPONSES else "prompted")


@pytest.mark.parametrize("model", MODELS)
def test_a_later_form_leaves_the_prompt_as_it_was(fake: Fake, model: str):
    values: list[Any] = [{"where": {"x": 1}, "label": None}, {"name": "Al"}, {"name": "Bo"}]
    here = Session(connected(fake, model))
    fake.play(*map(json.dumps, values[:2]), "Hello.", json.dumps(values[2]))
    here.do("…", returns=Sure)
    here.do("…", returns=Optional)
    here.chat("Hi.")
    here.do("…", returns=Optional)
    assert [request.rejected for request in fake.requests] == [""] * 4
    notes = [
        part.kind
        for turn in here.conversation.turns
        if isinstance(turn, UserTurn)
        for part in turn.parts
        if isinstance(part, Note)
    ]
    assert notes == ([] if model == RESPONSES else ["form"] * (3 if model in (DEEPSEEK, UNKNOWN) else 2))


def test_the_same_form_again_is_native_again(fake: Fake):
    here = Session(fake.connect(BOUND_CLAUDE))
    fake.play(*['{"name": "Al"}'] * 2)
    here.do("…", returns=Optional)
    here.do("…", returns=Optional)
    first, second = (request.body["output_config"]["format"] for request in fake.requests)
    assert first == second


def test_a_form_is_appended_where_the_provider_takes_it_there(fake: Fake):
    here = Session(fake.connect(RESPONSES))
    fake.play('{"where": {"x": 1}, "label": null}', '{"name": "Al"}')
    here.do("…", returns=Sure)
    here.do("…", returns=Optional)
    first, second = (request.body for request in fake.requests)
    assert first["text"] == second["text"]
    assert second["input"][: len(first["input"])] == first["input"]
    (update,) = [each for each in second["input"] if each.get("type") == "configuration_update"]
    assert "iban" in json.dumps(update)
    assert fake.requests[1].rejected == ""


class TestChoice:
    """The choice itself, for each row of the ladder."""

    def chosen(self, model: str, conversation: Conversation, has_tools: bool = False, schema: Any = SCHEMA) -> str:
        provider, name = model.split("/", 1)
        api = {"openai": "openai-responses", "google": "gemini", "anthropic": "anthropic"}.get(provider, "openai-chat")
        return choose_strategy(None, schema, Target(provider, api, name), conversation, has_tools)

    @pytest.fixture
    def later(self) -> Conversation:
        conversation = Conversation().add_user("Hi.").add_assistant("Hello.")
        return conversation.add_user("…")

    def test_claude(self, later: Conversation):
        for model in (CLAUDE, BOUND_CLAUDE, OLD_CLAUDE):
            first = Conversation().add_user("…")
            assert self.chosen(model, first) == "native"
            assert self.chosen(model, first, has_tools=True) == self.chosen(model, later) == "prompted"

    def test_openai(self, later: Conversation):
        assert self.chosen(RESPONSES, later) == self.chosen(RESPONSES, later, has_tools=True) == "native"
        for model in (OLD_RESPONSES, CHAT):
            assert self.chosen(model, Conversation()) == "native"
            assert self.chosen(model, later) == "prompted"

    def test_gemini(self, later: Conversation):
        assert self.chosen(GEMINI, Conversation()) == "native"
        assert self.chosen(GEMINI, Conversation(), has_tools=True) == "prompted"
        assert self.chosen(OLD_GEMINI, Conversation()) == "native"
        assert self.chosen(OLD_GEMINI, Conversation(), has_tools=True) == "prompted"
        assert self.chosen(GEMINI, later) == "prompted"

    def test_servers_without_a_schema_and_unknown_ones(self):
        for model in (DEEPSEEK, UNKNOWN):
            assert self.chosen(model, Conversation()) == "prompted"

    def test_local(self, later: Conversation):
        for schema in (SCHEMA, OTHER, Tree.model_json_schema(), Counted.model_json_schema()):
            assert self.chosen("local/0.5b", later, has_tools=True, schema=schema) == "native"

    def test_no_target_and_a_wish(self, later: Conversation):
        assert choose_strategy(None, SCHEMA, None, later, False) == "prompted"
        target = Target("anthropic", "anthropic", "claude-sonnet-5-5")
        for wish in ("native", "prompted", "tool"):
            assert choose_strategy(wish, SCHEMA, target, later, True) == wish

    def test_a_model_that_is_bad_at_forms_in_words_gets_a_tool(self):
        provider, name = "openai-chat", "small-and-weak"
        learn(provider, name, "prompted_ok", False)
        try:
            assert self.chosen(f"{provider}/{name}", Conversation()) == "tool"
        finally:
            forget_learned_facts()


def test_the_return_tool_is_forced_where_that_is_known_to_be_taken(fake: Fake):
    for model, choice in ((CLAUDE, {"type": "tool", "name": "answer"}), (BOUND_CLAUDE, None)):
        body = json.loads(Session(fake.connect(model), strategy="tool").request("…", returns=int))
        assert body.get("tool_choice") == choice
        body = json.loads(Session(fake.connect(model), [weather], strategy="tool").request("…", returns=int))
        assert "tool_choice" not in body


def test_a_learned_model_answers_by_the_tool(fake: Fake):
    learn("openai-chat", "small-and-weak", "prompted_ok", False)
    try:
        fake.play(call("answer", name="Al"), call("answer", name="Bo"), '{"value": 1}')
        here = Session(fake.connect("openai-chat/small-and-weak"))
        assert here.do("…", returns=Optional).value == Optional(name="Al")
        assert here.do("…", returns=Optional).value == Optional(name="Bo")
        # Another form would need another tool, which would change the beginning of the prompt.
        assert here.do("…", returns=int).value == 1
        assert [request.body["tools"] for request in fake.requests] == [fake.requests[0].body["tools"]] * 3
    finally:
        forget_learned_facts()


@pytest.mark.parametrize("wanted", [Sure, Counted, Paired, Optional, Tree])
def test_a_local_model_is_held_to_any_schema(fake: Fake, wanted: Any):
    local = connect("local/0.5b", url=fake.base_url("openai"), key="k")
    body = json.loads(Session(local, [weather]).request("…", returns=wanted))
    assert rung(body) == "native"
