"""The schema that a server is sent, reduced to what it checks, and names and thinking that it would refuse."""

from __future__ import annotations

import datetime
import json
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import AnyUrl, BaseModel, Field, TypeAdapter

from antiphon.conversation import Conversation, ProviderPayload, Reasoning, Text, ToolSpec
from antiphon.errors import ContentError
from antiphon.wire import Options, Target, rules, wire
from antiphon.wire.schema import close_objects, is_strict_schema, reduce_schema
from tests.lazily import Lazily
from tests.strategies import TARGETS

OPENAI = ("openai-chat", "openai-responses")
CLAUDE = Target("anthropic", "anthropic", "claude-sonnet-5-5")
GPT = Target("openai", "openai-responses", "gpt-6.1-sol")
GEMINI = Target("google", "gemini", "gemini-3.8-flash")
VENDORS = {"claude": CLAUDE, "gpt": GPT, "gemini": GEMINI}


class Point(BaseModel):
    x: int
    label: str | None


class Node(BaseModel):
    value: int
    next: Node | None


class Tree(BaseModel):
    root: Node


class Defaulted(BaseModel):
    x: int = 1


class Kind(BaseModel):
    kind: Literal["a"]
    tags: list[str]
    inner: Point


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]


class Bounded(BaseModel):
    age: Annotated[int, Field(ge=0, lt=150)]
    name: Annotated[str, Field(min_length=1, max_length=9, pattern="^[a-z]+$")]
    tags: Annotated[list[str], Field(min_length=2, max_length=5)]
    day: datetime.date
    site: AnyUrl


def field(schema: Any, name: str = "a", required: bool = True) -> dict[str, Any]:
    """An object with one field of a schema."""
    return {"type": "object", "properties": {name: schema}, "required": [name] if required else []}


def form_of(schema: Any, target: Target) -> Any:
    """What is sent of the schema of a field; nothing where the schema has no native form."""
    form = reduce_schema(field(schema), target)
    return None if form is None else form["properties"]["a"]


@pytest.mark.parametrize(
    ("type_", "fits"),
    [
        (Point, {*VENDORS}),
        (Kind, {*VENDORS}),
        (Defaulted, {*VENDORS}),
        (Bounded, {*VENDORS}),
        (Tree, {"gpt", "gemini"}),
        (Node, {"gpt", "gemini"}),
        (dict[str, int], set[str]()),
        (list[dict[str, int]], set[str]()),
        (int, {*VENDORS}),
        (list[Cat | Dog], {*VENDORS}),
    ],
)
def test_a_schema_has_a_native_form_only_where_the_server_takes_it(type_: Any, fits: set[str]):
    schema = TypeAdapter(type_).json_schema()
    assert {name for name, target in VENDORS.items() if reduce_schema(schema, target) is not None} == fits


class TestReduced:
    """What a server does not check is left out of what is sent, and is checked here."""

    @pytest.mark.parametrize(
        ("word", "value", "taken"),
        [
            ("minimum", 1, {"gpt", "gemini"}),
            ("maximum", 1, {"gpt", "gemini"}),
            ("exclusiveMinimum", 1, {"gpt"}),
            ("exclusiveMaximum", 1, {"gpt"}),
            ("multipleOf", 2, {"gpt", "gemini"}),
            ("default", 1, {"claude", "gpt", "gemini"}),
        ],
    )
    def test_bounds(self, word: str, value: Any, taken: set[str]):
        for name, target in VENDORS.items():
            expected = {"type": "integer", **({word: value} if name in taken else {})}
            assert form_of({"type": "integer", word: value}, target) == expected

    def test_lengths_of_texts_and_lists(self):
        text = {"type": "string", "minLength": 1, "maxLength": 2}
        assert form_of(text, CLAUDE) == form_of(text, GPT) == {"type": "string"}
        items = {"type": "array", "items": {"type": "string"}}
        assert form_of(items | {"minItems": 1}, CLAUDE) == items | {"minItems": 1}
        assert form_of(items | {"minItems": 2, "maxItems": 3, "uniqueItems": True}, CLAUDE) == items

    @pytest.mark.parametrize(
        ("format", "taken"), [("date", {*VENDORS}), ("uri", {"claude", "gemini"}), ("iban", {"gemini"})]
    )
    def test_formats(self, format: str, taken: set[str]):
        for name, target in VENDORS.items():
            expected = {"type": "string", **({"format": format} if name in taken else {})}
            assert form_of({"type": "string", "format": format}, target) == expected

    def test_a_constant(self):
        schema = {"type": "string", "const": "x"}
        assert form_of(schema, CLAUDE) == form_of(schema, GPT) == schema
        assert form_of(schema, GEMINI) == {"type": "string", "enum": ["x"]}

    def test_one_of_several(self):
        schema = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
        any_of = {"anyOf": schema["oneOf"]}
        assert form_of(schema, CLAUDE) == form_of(schema, GPT) == any_of
        assert form_of(schema, GEMINI) == schema

    def test_all_of_one_is_that_one(self):
        assert form_of({"allOf": [{"type": "string"}], "description": "d"}, GPT) == {
            "type": "string",
            "description": "d",
        }
        assert form_of({"allOf": [{"type": "string"}, {"minLength": 1}]}, GPT) is None

    def test_objects_are_closed_where_that_is_a_condition(self):
        inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
        for target in (CLAUDE, GPT):
            assert form_of(inner, target) == inner | {"additionalProperties": False}
        assert form_of(inner, GEMINI) == inner

    @pytest.mark.parametrize("name", VENDORS)
    @pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "additionalProperties": {}}, True])
    def test_open_maps_have_no_form(self, name: str, schema: Any):
        assert form_of(schema, VENDORS[name]) is None

    def test_words_that_do_more_than_narrow_have_none(self):
        assert form_of({"type": "object", "patternProperties": {"a": {}}}, GPT) is None
        assert form_of({"type": "string", "unheardOf": 1}, CLAUDE) is None

    def test_it_leaves_the_schema_as_it_is(self):
        schema = Bounded.model_json_schema()
        before = json.dumps(schema)
        for target in VENDORS.values():
            reduce_schema(schema, target)
        assert json.dumps(schema) == before


class TestLimits:
    @pytest.mark.parametrize(("count", "fits"), [(24, True), (25, False)])
    def test_optional_fields(self, count: int, fits: bool):
        schema = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(count)}}
        assert (reduce_schema(schema, CLAUDE) is not None) == fits
        assert reduce_schema(schema, GEMINI) is not None

    @pytest.mark.parametrize(("count", "fits"), [(16, True), (17, False)])
    def test_unions(self, count: int, fits: bool):
        names = [f"f{n}" for n in range(count)]
        union = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        schema = {"type": "object", "properties": dict.fromkeys(names, union), "required": names}
        assert (reduce_schema(schema, CLAUDE) is not None) == fits
        schema["properties"] = {name: {"type": ["string", "null"]} for name in names}
        assert (reduce_schema(schema, CLAUDE) is not None) == fits

    @pytest.mark.parametrize(("depth", "fits"), [(10, True), (11, False)])
    def test_levels(self, depth: int, fits: bool):
        schema: Any = {"type": "integer"}
        for _ in range(depth):
            schema = field(schema)
        assert (reduce_schema(schema, GPT) is not None) == fits

    def test_recursion(self):
        tree, node = Tree.model_json_schema(), Node.model_json_schema()
        assert reduce_schema(tree, CLAUDE) is reduce_schema(node, CLAUDE) is None
        assert reduce_schema(tree, GPT) is not None
        twice = {**field({"$ref": "#/$defs/P"}), "$defs": {"P": Point.model_json_schema()}}
        twice["properties"]["b"] = {"$ref": "#/$defs/P"}
        assert reduce_schema(twice, CLAUDE) is not None, "what is used twice does not hold itself"


class TestReferees:
    """What is sent keeps to what the vendors' own libraries make of the same type."""

    @pytest.mark.parametrize("type_", [Point, Kind, Bounded, Defaulted])
    def test_claude(self, type_: type[BaseModel]):
        theirs = Lazily("anthropic").transform_schema(type_)
        ours = reduce_schema(type_.model_json_schema(), CLAUDE)
        assert shape(ours) == shape(theirs)

    @pytest.mark.parametrize("type_", [Point, Kind, Tree])
    def test_openai(self, type_: type[BaseModel]):
        from openai.lib._pydantic import to_strict_json_schema

        form = reduce_schema(type_.model_json_schema(), GPT)
        assert form is not None
        assert is_strict_schema(form, GPT)
        assert shape(form) == shape(to_strict_json_schema(type_))

    @pytest.mark.parametrize("type_", [Point, Kind, Bounded, Defaulted, Tree])
    @pytest.mark.parametrize("name", VENDORS)
    def test_what_the_type_takes_fits_what_is_sent(self, name: str, type_: Any):
        values: dict[Any, Any] = {
            Point: {"x": 1, "label": None},
            Kind: {"kind": "a", "tags": ["t"], "inner": {"x": 1, "label": "l"}},
            Bounded: {"age": 3, "name": "al", "tags": ["a", "b"], "day": "2026-01-02", "site": "https://example.com/"},
            Defaulted: {"x": 2},
            Tree: {"root": {"value": 1, "next": {"value": 2, "next": None}}},
        }
        form = reduce_schema(type_.model_json_schema(), VENDORS[name])
        if form is not None:
            type_.model_validate(values[type_])
            jsonschema.validate(values[type_], form)


def shape(schema: Any) -> Any:
    """A schema without words that say nothing about what fits, and without its bounds."""
    if isinstance(schema, list):
        return [shape(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    words = ("title", "description", "default", "minimum", "exclusiveMaximum", "pattern", "minLength", "maxLength")
    words += ("minItems", "maxItems", "format", *(("type",) if "const" in schema else ()))
    return {key: shape(value) for key, value in schema.items() if key not in words or isinstance(value, dict)}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"type": "array"},
        {},
        {"type": "object", "properties": {}, "patternProperties": {"a": {}}},
        {"type": "object", "properties": {"x": {"type": "integer"}}},
    ],
)
def test_strict_is_asked_for_only_where_rule_o10_lets_it(part: dict[str, Any]):
    schema = field(part)
    for api in OPENAI:
        conversation = Conversation()
        conversation.add_user("a")
        sent = json.loads(wire(api).encode(conversation, TARGETS[api], Options(output_schema=schema)).body)
        form = sent["text"]["format"] if api == "openai-responses" else sent["response_format"]["json_schema"]
        assert form["strict"] is False
        assert rules.check(sent, api, TARGETS[api].model) == []
    form = {"name": "answer", "strict": True, "schema": close_objects(schema)}
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "a"}]}
    body |= {"response_format": {"type": "json_schema", "json_schema": form}}
    assert {found.code for found in rules.check(body, "openai-chat")} == {"O10"}


@pytest.mark.parametrize("type_", [Point, Kind, Tree])
def test_strict_is_asked_for_where_all_is_required(type_: type[BaseModel]):
    for api in OPENAI:
        conversation = Conversation().add_user("a")
        options = Options(output_schema=type_.model_json_schema())
        sent = json.loads(wire(api).encode(conversation, TARGETS[api], options).body)
        form = sent["text"]["format"] if api == "openai-responses" else sent["response_format"]["json_schema"]
        assert form["strict"] is True
        assert rules.check(sent, api, TARGETS[api].model) == []


@pytest.mark.parametrize("signature", [{}, {"signature": None}, {"signature": ""}])
def test_thinking_without_a_signature_is_not_sent_back(signature: dict[str, Any]):
    target = TARGETS["anthropic"]
    thought = {"type": "thinking", "thinking": "Hm."} | signature
    reply = wire("anthropic").decode(
        {"content": [thought, {"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}, target.origin
    )
    assert reply.reasoning == "Hm."
    for parts in (
        reply.parts,
        (Reasoning("", ProviderPayload(target.origin, {"type": "redacted_thinking"})), Text("Yes.")),
    ):
        conversation = Conversation()
        conversation.add_user("a")
        conversation.add_reply(parts)
        conversation.add_user("b")
        body = json.loads(wire("anthropic").encode(conversation, target, Options()).body)
        assert body["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
        assert rules.check(body, "anthropic") == []


SCHEMA = {"type": "object", "properties": {}}
FOREIGN = "mcp.server/tool"
HISTORIES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "tools": [{"name": FOREIGN, "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": FOREIGN, "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]},
        ],
    },
    "openai-responses": {
        "tools": [{"type": "function", "name": FOREIGN, "parameters": SCHEMA}],
        "input": [
            {"role": "user", "content": "a"},
            {"type": "function_call", "call_id": "t1", "name": FOREIGN, "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t1", "output": "1"},
        ],
    },
    "gemini": {
        "tools": [{"functionDeclarations": [{"name": FOREIGN, "parameters": {"type": "OBJECT"}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"functionCall": {"name": FOREIGN, "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": FOREIGN, "response": {"result": "1"}}}]},
        ],
    },
}


@pytest.mark.parametrize("api", HISTORIES)
def test_an_illegal_name_is_the_same_legal_one_in_every_place_and_for_every_model(api: str):
    read = wire(api).read(HISTORIES[api], TARGETS[api].origin)
    for target in (TARGETS[api], Target(TARGETS[api].provider, api, "another-model"), *TARGETS.values()):
        body = json.loads(
            wire(target.api)
            .encode(read.conversation, target, Options(tool_choice=read.conversation.tools[0].name))
            .body
        )
        text = json.dumps(body)
        assert FOREIGN not in text
        # Declared, called and chosen, and with Google's APIs answered.
        is_google = target.api in ("gemini", "google-interactions")
        assert text.count('"mcp_server_tool"') == (4 if is_google else 3), text
        assert rules.check(body, target.api, target.model) == []


def test_a_tool_whose_native_form_says_not_whose_it_is_is_refused_at_once():
    with pytest.raises(ContentError, match="ProviderPayload"):
        ToolSpec("web_search", native={"type": "web_search"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("api", "native"),
    [
        ("anthropic", {"type": "web_search_20250305", "name": "web_search"}),
        ("openai-chat", {"type": "custom", "custom": {"name": "web_search"}}),
        ("openai-responses", {"type": "web_search"}),
        ("gemini", {"googleSearch": {}}),
    ],
)
def test_a_providers_own_tool_goes_to_its_own_api_alone(api: str, native: dict[str, Any]):
    conversation = Conversation(tools=[ToolSpec("web_search", native=ProviderPayload(TARGETS[api].origin, native))])
    conversation.add_user("a")
    for other, target in TARGETS.items():
        body = json.loads(wire(other).encode(conversation, target, Options(cache=False)).body)
        assert body.get("tools") == ([native] if other == api else None)
