"""The Gemini wire: exact bodies, both ways, and everything that real histories and streams have in them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import (
    Chat,
    Conversation,
    Image,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from antiphon.errors import AntiphonError, BadReply, OptionError, RateLimited, RequestRejected, ServerFailed, StreamCut
from antiphon.wire import CallDelta, Options, Profile, ReasoningDelta, Target, TextDelta, Usage, rules, wire
from antiphon.wire.body import UNSHOWABLE_TEXT
from antiphon.wire.gemini.field_names import camelize_keys, normalize_part, to_camel_case
from antiphon.wire.gemini.schema import prepare_parameters_schema, to_json_schema

gemini = wire("gemini")
TWO = Target("google", "gemini", "gemini-2.5-flash")
THREE = Target("google", "gemini", "gemini-3-flash-preview")
ELSEWHERE = Origin("anthropic", "anthropic", "claude-x")
DUMMY = "skip_thought_signature_validator"
PNG = Image(data="iVBORw0KGgo=", media_type="image/png")
WEATHER = ToolSpec(
    "weather", "The weather", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
)


def encoded(conversation: Conversation, target: Target = TWO, **options: Any) -> dict[str, Any]:
    return json.loads(gemini.encode(conversation, target, Options(**options)).body)


def contents(conversation: Conversation, target: Target = TWO) -> list[dict[str, Any]]:
    body = encoded(conversation, target)
    assert rules.check(body, "gemini", target.model) == []
    return body["contents"]


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return user(*parts) | {"role": "model"}


def call(name: str, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args or {}, **more}}


def response(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": value, **more}}


def answered(*results: tuple[str, Any], tools: tuple[ToolSpec, ...] = ()) -> Conversation:
    conversation = Conversation("", tools)
    conversation.add_user("go")
    conversation.add_assistant([ToolCall(f"c{n}", name) for n, (name, _) in enumerate(results)])
    conversation.add_tool_results([ToolResult(f"c{n}", content) for n, (_, content) in enumerate(results)])
    return conversation


def decoded(*parts: dict[str, Any], reason: str = "STOP", target: Target = TWO, **more: Any) -> Any:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, "index": 0}
    return gemini.decode({"candidates": [candidate], "responseId": "r1", **more}, target.origin)


# Requests


def test_a_turn_with_text_calls_results_and_chat():
    conversation = Conversation("Be brief.", [WEATHER])
    conversation.add_user("Weather in Paris and Rome?")
    conversation.add_assistant(
        ["Let me look.", ToolCall("a", "weather", {"city": "Paris"}), ToolCall("b", "weather", {"city": "Rome"})]
    )
    conversation.add_tool_results([ToolResult("b", "no such city", True), ToolResult("a", "sunny")])
    conversation.add_user("And Oslo?")
    conversation.add_user("hello", author="@coder-2")
    assert encoded(conversation, max_tokens=10) == {
        "generationConfig": {"maxOutputTokens": 10},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "weather", "description": "The weather", "parametersJsonSchema": WEATHER.parameters}
                ]
            }
        ],
        "contents": [
            user("Weather in Paris and Rome?"),
            model("Let me look.", call("weather", {"city": "Paris"}), call("weather", {"city": "Rome"})),
            user(response("weather", {"result": "sunny"}), response("weather", {"error": "no such city"})),
            user("And Oslo?", "[Chat from @coder-2]: hello"),
        ],
    }


def test_arguments_travel_byte_for_byte():
    conversation = Conversation()
    conversation.add_user("go")
    conversation.add_reply([ToolCall.read("a", "f", '{"b": 1.0,  "a": [1e2]}')])
    conversation.add_tool_result("a", "done")
    assert b'"args":{"b": 1.0,  "a": [1e2]}' in gemini.encode(conversation, TWO, Options()).body


def test_an_empty_result_says_so():
    assert contents(answered(("f", "")))[-1] == user(response("f", {"result": "(no output)"}))


def test_images_of_results_follow_before_gemini_3_and_are_inside_since():
    conversation = answered(("f", ["text", PNG]), ("g", [PNG]))
    inline = {"inlineData": {"mimeType": "image/png", "data": PNG.data}}
    assert contents(conversation)[2:] == [
        user(response("f", {"result": "text"}), response("g", {"result": "(see the image)"})),
        user("[What `f` returned:]", inline, "[What `g` returned:]", inline),
    ]
    assert contents(conversation, THREE)[2:] == [
        user(
            response("f", {"result": "text"}, parts=[inline]),
            response("g", {"result": "(see the image)"}, parts=[inline]),
        )
    ]


def test_images_of_users_by_bytes_and_by_address():
    conversation = Conversation()
    conversation.add_user(["look", PNG, Image(url="https://x.test/a.webp?b=1"), Image(url="https://x.test/a")])
    assert contents(conversation)[0]["parts"][1:] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG.data}},
        {"fileData": {"fileUri": "https://x.test/a.webp?b=1", "mimeType": "image/webp"}},
        {"fileData": {"fileUri": "https://x.test/a", "mimeType": "image/jpeg"}},
    ]
    blind = replace(TWO, profile=Profile(images=False))
    line = "[an image that is not shown: gemini-2.5-flash cannot see images; describe it, or ask a model that can]"
    assert contents(conversation, blind)[0]["parts"][1] == {"text": line}


def test_reasoning_goes_back_to_its_own_model_only():
    thought = {"text": "hm", "thought": True, "thoughtSignature": "AAAA"}
    conversation = Conversation()
    conversation.add_user("go")
    conversation.add_reply(decoded(thought, {"text": "done"}, target=THREE).parts)
    conversation.add_user("more")
    assert contents(conversation, THREE)[1] == model(thought, "done")
    assert contents(conversation, replace(THREE, model="gemini-3-pro"))[1] == model("done")
    assert contents(conversation, replace(THREE, provider="vertex"))[1] == model("done")


def test_signatures_stay_on_their_parts_for_their_own_model():
    parts = [
        {"text": "a", "thoughtSignature": "AAAA"},
        call("f") | {"thoughtSignature": "BBBB"},
        call("g"),
        {"text": "", "thoughtSignature": "CC-_"},
    ]
    conversation = Conversation()
    conversation.add_user("go")
    for item in conversation.add_reply(decoded(*parts, target=THREE).parts).calls:
        conversation.add_tool_result(item.id, "ok")
    assert contents(conversation, THREE)[1] == model(*parts)
    other = replace(THREE, model="models/gemini-3-pro")
    assert contents(conversation, other)[1] == model("a", call("f") | {"thoughtSignature": DUMMY}, call("g"))
    assert contents(conversation, TWO)[1] == model("a", call("f"), call("g"))
    assert contents(conversation, replace(THREE, model="models/gemini-3-flash-preview"))[1] == model(*parts)


def test_calls_of_others_get_the_documented_dummy_on_the_first_of_a_turn():
    conversation = answered(("f", "1"), ("g", "2"))
    assert contents(conversation, THREE)[1] == model(call("f") | {"thoughtSignature": DUMMY}, call("g"))


def test_ids_are_echoed_only_where_the_model_gave_them():
    conversation = Conversation()
    conversation.add_user("go")
    reply = decoded(call("f", id="x1"))
    conversation.add_reply(reply.parts)
    conversation.add_tool_result("x1", "ok")
    conversation.add_user("again")
    turn = conversation.add_reply(reply.parts)
    assert turn.calls[0].id != "x1"
    conversation.add_tool_result(turn.calls[0].id, "ok")
    found = contents(conversation)
    assert found[1:3] == [model(call("f", id="x1")), user(response("f", {"result": "ok"}, id="x1"))]
    renamed = turn.calls[0].id
    assert found[4:] == [model(call("f", id=renamed)), user(response("f", {"result": "ok"}, id=renamed))]
    assert "id" not in contents(conversation, replace(TWO, provider="vertex"))[1]["parts"][0]["functionCall"]


def test_names_and_ids_that_only_this_provider_takes_go_back_as_they_came():
    conversation = Conversation()
    conversation.add_user("go")
    made = call("default_api:f", id="functions.f:0", willContinue=False)
    turn = conversation.add_reply(decoded(made, call("a.b")).parts)
    assert [item.name for item in turn.calls] == ["default_api_f", "a_b"]
    conversation.add_tool_results([ToolResult(item.id, "ok") for item in turn.calls])
    assert contents(conversation)[1:] == [
        model(made, call("a.b")),
        user(response("default_api:f", {"result": "ok"}, id="functions.f:0"), response("a.b", {"result": "ok"})),
    ]
    elsewhere = contents(conversation, replace(TWO, provider="vertex"))
    assert elsewhere[1] == model(call("default_api_f"), call("a_b"))


def test_images_in_googles_alphabet_are_written_in_everybody_elses():
    part = {"inlineData": {"mimeType": "image/png", "data": "-_8"}}
    conversation = gemini.read([user(part)], TWO.origin).conversation
    assert contents(conversation) == [user(part)]
    (image,) = conversation.turns[0].parts
    assert isinstance(image, Image)
    assert image.data == "+/8="


def test_functions_whose_names_differ_only_here_are_all_kept():
    functions = [{"name": name, "description": ""} for name in ("a_b", "a.b", "a:b")]
    body = {"contents": [user("x")], "tools": [{"functionDeclarations": functions}]}
    assert reread(body)[1]["tools"] == body["tools"]


def test_a_response_that_says_nothing_goes_back_as_it_came():
    told = [user("a"), model(call("f")), user({"functionResponse": {"name": "f"}})]
    reading, written = reread({"contents": told})
    assert reading.changes == []
    assert written["contents"] == told


def test_foreign_parts_go_home_and_are_left_out_elsewhere():
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "AAAA"}
    search = {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB"}, "thoughtSignature": "AAAA"}
    conversation = Conversation()
    conversation.add_user(["go", OpaquePart(ProviderPayload(ELSEWHERE, {"type": "document"}), "[document]")])
    conversation.add_reply(decoded(code, search, {"text": "1"}, target=THREE).parts)
    conversation.add_user([OpaquePart(ProviderPayload(ELSEWHERE, {"type": "x"}))])
    found = contents(conversation, THREE)
    assert found[0] == user("go", "[document]")
    assert found[1] == model(code, search, "1")
    assert found[2] == user(UNSHOWABLE_TEXT)
    unsigned = {"executableCode": code["executableCode"]}
    assert contents(conversation, TWO)[1] == model(unsigned, "1")
    assert contents(conversation, replace(TWO, provider="vertex"))[1] == model("1")


def test_turns_with_nothing_to_send_are_left_out():
    conversation = Conversation()
    conversation.add_user("a")
    conversation.add_assistant([Reasoning("hm", ProviderPayload(ELSEWHERE, {"type": "thinking"})), Text(" ")])
    conversation.add_user("b")
    assert contents(conversation) == [user("a", "b")]


def test_a_history_that_begins_with_the_model_gets_an_opening_unless_it_begins_in_the_cache():
    conversation = Conversation()
    conversation.add_assistant("Hello!")
    conversation.add_user("hi")
    opening = user("(The conversation begins with the assistant.)")
    assert contents(conversation) == [opening, model("Hello!"), user("hi")]
    assert encoded(conversation, extra={"cachedContent": "c"})["contents"] == [model("Hello!"), user("hi")]


def test_a_growing_conversation_gives_the_same_body_as_a_fresh_one():
    conversation = Conversation("s", [WEATHER])
    for round in range(5):
        conversation.add_user(f"q{round}")
        conversation.add_assistant([ToolCall(f"c{round}", "f"), "x"])
        conversation.add_tool_result(f"c{round}", "y" if round % 2 else ["y", PNG])
        fresh = conversation.fork()
        assert encoded(conversation) == encoded(fresh)
        contents(conversation, THREE)


def test_the_history_is_the_body_without_options():
    conversation = answered(("weather", "sunny"), tools=(WEATHER,))
    conversation.system = "s"
    assert gemini.history(conversation, TWO) == encoded(conversation)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("gemini-x", "/v1beta/models/gemini-x"),
        ("models/gemini-x", "/v1beta/models/gemini-x"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine"),
        ("publishers/google/models/gemini-x", "/v1beta1/publishers/google/models/gemini-x"),
    ],
)
def test_paths(name: str, place: str):
    target = Target("google", "gemini", name)
    assert gemini.path(target, False) == f"{place}:generateContent"
    assert gemini.path(target, True) == f"{place}:streamGenerateContent?alt=sse"


# Options


def test_every_option_has_its_field():
    body = encoded(
        answered(("weather", "x"), tools=(WEATHER,)),
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        reasoning=2000,
        tool_choice="weather",
        parallel_tool_calls=True,
        stream=True,
    )
    assert body["generationConfig"] == {
        "maxOutputTokens": 5,
        "temperature": 0.5,
        "topP": 0.9,
        "stopSequences": ["END"],
        "thinkingConfig": {"thinkingBudget": 2000},
    }
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}}
    assert body.keys() == {"generationConfig", "toolConfig", "tools", "contents"}


@pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")])
def test_tool_choice_needs_tools(choice: str, mode: str):
    body = encoded(answered(("weather", "x"), tools=(WEATHER,)), tool_choice=choice)
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": mode}}
    assert "toolConfig" not in encoded(answered(("weather", "x")), tool_choice=choice, parallel_tool_calls=False)


@pytest.mark.parametrize(
    ("word", "level", "budget"),
    [("none", "minimal", 0), ("low", "low", 1024), ("medium", "medium", 8192), ("max", "high", 24576)],
)
def test_words_for_reasoning(word: str, level: str, budget: int):
    conversation = answered(("f", "x"))
    assert encoded(conversation, THREE, reasoning=word)["generationConfig"]["thinkingConfig"] == {
        "thinkingLevel": level
    }
    assert encoded(conversation, TWO, reasoning=word)["generationConfig"]["thinkingConfig"] == {
        "thinkingBudget": budget
    }


def test_extra_is_merged_with_the_options():
    body = encoded(
        answered(("weather", "x"), tools=(WEATHER,)),
        temperature=1,
        tool_choice="auto",
        extra={
            "generation_config": {"temperature": 0, "response_modalities": ["TEXT"]},
            "toolConfig": {"includeServerSideToolInvocations": True},
            "safetySettings": [],
            "tools": [{"googleSearch": {}}],
        },
    )
    assert body["generationConfig"] == {"temperature": 0, "responseModalities": ["TEXT"]}
    assert body["toolConfig"] == {
        "functionCallingConfig": {"mode": "AUTO"},
        "includeServerSideToolInvocations": True,
    }
    assert body["safetySettings"] == []
    assert [list(tool) for tool in body["tools"]] == [["functionDeclarations"], ["googleSearch"]]


def test_options_without_a_field_are_errors():
    with pytest.raises(OptionError, match="parallel_tool_calls"):
        encoded(answered(("weather", "x"), tools=(WEATHER,)), parallel_tool_calls=False)
    with pytest.raises(OptionError, match="temperature"):
        encoded(answered(("f", "x")), replace(TWO, profile=Profile(sampling=False)), temperature=1)


@pytest.mark.parametrize(
    "name",
    [
        "gemini-3-pro",
        "gemini-3.6-flash",
        "gemini-4-ultra",
        "models/gemini-flash-latest",
        "gemini-pro-latest",
        "",
        "new",
    ],
)
def test_calls_made_elsewhere_are_signed_for_every_model_but_those_known_to_be_older(name: str):
    target = Target("google", "gemini", name)
    body = encoded(answered(("f", "x")), target)
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == DUMMY
    assert gemini.history(answered(("f", "x")), target)["contents"] == body["contents"]
    for judge in (name, "gemini-flash-latest", "gemini-3-pro", "gemini-5-pro"):
        assert rules.check(body, "gemini", judge) == []


@pytest.mark.parametrize(
    "name", ["gemini-2.5-flash", "gemini-1.5-pro-latest", "models/gemini-2.0-flash", "gemma-3-27b-it"]
)
def test_older_models_get_no_signature_of_ours(name: str):
    assert "thoughtSignature" not in json.dumps(encoded(answered(("f", "x")), Target("google", "gemini", name)))


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"type": 3}, {"type": "integer"}),
        ({"type_": 3, "format_": "int32"}, {"type": "integer", "format": "int32"}),
        ({"type": 5, "items": {"type": 3}}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": 0, "description": "any"}, {"description": "any"}),
        ({"type": "TYPE_UNSPECIFIED"}, {}),
        ({"type": ["INTEGER", "NULL"]}, {"type": ["integer", "null"]}),
        ({"type": "INTEGER", "nullable": True, "enum": [1, 2]}, {"type": ["integer", "null"], "enum": [1, 2, None]}),
        (
            {"any_of": [{"type": 3}, {"type": "STRING"}], "nullable": True},
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        ),
        (
            {"type": 6, "additionalProperties": {"type": 3}, "properties": {"a": {"type": 2}}},
            {"type": "object", "additionalProperties": {"type": "integer"}, "properties": {"a": {"type": "number"}}},
        ),
        (
            {"type": "ARRAY", "prefixItems": [{"type": "INTEGER"}]},
            {"type": "array", "prefixItems": [{"type": "integer"}]},
        ),
        (
            {"$defs": {"N": {"type": "INTEGER"}}, "$ref": "#/$defs/N"},
            {"$defs": {"N": {"type": "integer"}}, "$ref": "#/$defs/N"},
        ),
    ],
)
def test_types_of_google_in_capitals_numbers_and_lists_are_read(given: dict[str, Any], read: dict[str, Any]):
    assert to_json_schema(given) == read


def test_a_function_whose_types_are_numbers_keeps_its_name_and_parameters():
    parameters = {"type_": 6, "properties": {"n": {"type_": 3}}, "required": ["n"]}
    tools = [{"function_declarations": [{"name": "f", "description": "d", "parameters": parameters}]}]
    (tool,) = gemini.read({"contents": [user("a")], "tools": tools}, TWO.origin).conversation.tools
    assert (tool.name, tool.parameters) == (
        "f",
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}},
        {"type": "object", "properties": {"a": {"type": "integer", "enum": [1, 2]}}},
        {
            "type": "object",
            "properties": {"a": {"enum": [1, "x", None]}, "b": {"type": "array", "items": {"type": "integer"}}},
        },
    ],
)
def test_integers_of_a_schema_arrive_as_they_are(schema: dict[str, Any]):
    conversation = Conversation(tools=[ToolSpec("f", "", schema)])
    conversation.add_user("a")
    sent = encoded(conversation)["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]
    assert sent == schema
    assert encoded(Conversation("s"), output_schema=schema)["generationConfig"]["responseJsonSchema"] == schema


def test_a_constant_says_more_than_the_enum_beside_it():
    assert prepare_parameters_schema({"properties": {"a": {"const": 1, "enum": [1, 2]}}})["properties"] == {
        "a": {"enum": [1]}
    }


def test_an_alias_of_the_latest_model_is_judged_like_it():
    unsigned = encoded(answered(("f", "x")), TWO)
    assert [found.code for found in rules.check(unsigned, "gemini", "gemini-flash-latest")] == ["G4"]


# Tools and schemas


def test_tools_of_all_kinds():
    server_tool = ToolSpec("search", native=ProviderPayload(ELSEWHERE, {"type": "web_search"}))
    strict = ToolSpec("strict", "d", {"type": "object"}, ProviderPayload(ELSEWHERE, {"name": "strict", "strict": True}))
    google = ToolSpec("googleSearch", native=ProviderPayload(TWO.origin, {"googleSearch": {}}))
    conversation = answered(("f", "x"), tools=(google, server_tool, strict, ToolSpec("bare")))
    assert encoded(conversation)["tools"] == [
        {"googleSearch": {}},
        {
            "functionDeclarations": [
                {"name": "strict", "description": "d", "parametersJsonSchema": {"type": "object"}},
                {"name": "bare", "description": ""},
            ]
        },
    ]


def test_schemas_lose_only_what_gemini_does_not_take():
    node = {"type": "object", "properties": {"next": {"$ref": "#/definitions/Node", "description": "the next"}}}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {
            "kind": {"const": "a"},
            "flag": {"const": True},
            "one": {"allOf": [{"$ref": "#/definitions/Node"}]},
            "both": {"allOf": [{"$ref": "#/definitions/Named"}, {"properties": {"age": {}}, "required": ["age"]}]},
            "like": {"$ref": "#/properties/kind", "description": "as kind"},
            "lost": {"$ref": "https://elsewhere.test/schema", "description": "anything"},
            "size": {"type": ["integer", "null"], "exclusiveMinimum": 0},
        },
        "definitions": {
            "Node": node,
            "Named": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "additionalProperties": False,
    }
    done = prepare_parameters_schema(schema)
    assert done["type"] == "object"
    assert done["additionalProperties"] is False
    assert "$schema" not in done
    assert "definitions" not in done
    assert done["properties"] == {
        "kind": {"enum": ["a"]},
        "flag": {"const": True},
        "one": {"$ref": "#/$defs/Node"},
        "both": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {}},
            "required": ["name", "age"],
        },
        "like": {"enum": ["a"], "description": "as kind"},
        "lost": {"description": "anything"},
        "size": {"type": ["integer", "null"], "exclusiveMinimum": 0},
    }
    inlined = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "description": "the next"}
    assert done["$defs"]["Node"] == {"type": "object", "properties": {"next": inlined}}
    assert prepare_parameters_schema({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": {}}}}})[
        "properties"
    ] == {"x": {}}


def test_hostile_schemas_end():
    chain: dict[str, Any] = {
        f"d{n}": {
            "properties": {
                "a": {"$ref": f"#/$defs/d{n + 1}", "description": "x"},
                "b": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": "#"}]},
            }
        }
        for n in range(50)
    }
    prepare_parameters_schema({"$ref": "#/$defs/d0", "$defs": chain})
    prepare_parameters_schema(
        {"$defs": {"a": {"$ref": "#/$defs/a", "title": "x"}, "b": {"allOf": [{"$ref": "#/$defs/b"}] * 9}}}
    )
    prepare_parameters_schema({"allOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"x": {"$ref": "#"}}})
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"type": "array", "items": deep}
    prepare_parameters_schema({"properties": {"deep": deep}})
    to_json_schema({"properties": {"deep": deep}})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        json_values | st.sampled_from([{"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": 5}]),
        lambda inner: st.dictionaries(
            st.sampled_from(["$defs", "properties", "allOf", "items", "$ref", "a", "const", "type", "description"]),
            inner | st.lists(inner, max_size=3),
            max_size=4,
        ),
        max_leaves=20,
    )
)
def test_any_schema_is_prepared(schema: Any):
    if isinstance(schema, dict):
        json.dumps(prepare_parameters_schema(schema))
        json.dumps(to_json_schema(schema))


# Responses


def test_a_reply_with_everything():
    reply = decoded(
        {"text": "thinking", "thought": True},
        {"text": "Sure."},
        call("f", {"a": 1}),
        usageMetadata={
            "promptTokenCount": 10,
            "toolUsePromptTokenCount": 5,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 8,
        },
        modelVersion="gemini-2.5-flash-001",
    )
    assert reply.text == "Sure."
    assert reply.reasoning == "thinking"
    assert (reply.tool_calls[0].name, reply.tool_calls[0].arguments) == ("f", {"a": 1})
    assert reply.tool_calls[0].native is None
    assert (reply.stop, reply.stop_reason, reply.model, reply.id) == (
        "tool_calls",
        "STOP",
        "gemini-2.5-flash-001",
        "r1",
    )
    assert reply.usage == Usage(15, 7, 8, None, 4)


def test_calls_without_ids_get_their_own_the_same_every_time():
    first, again = decoded(call("f"), call("f")), decoded(call("f"), call("f"))
    ids = [item.id for item in first.tool_calls]
    assert ids == [item.id for item in again.tool_calls]
    assert len(set(ids)) == 2
    assert ids[0] != decoded(call("f"), responseId="r2").tool_calls[0].id


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("MALFORMED_FUNCTION_CALL", "malformed"),
        ("UNEXPECTED_TOOL_CALL", "malformed"),
        ("LANGUAGE", "refusal"),
        ("OTHER", "not_done"),
        ("", "not_done"),
    ],
)
def test_stop_reasons(reason: str, stop: str):
    reply = decoded(reason=reason)
    assert (reply.stop, reply.stop_reason, reply.parts) == (stop, reason, ())


def test_a_blocked_prompt_is_a_refusal():
    reply = gemini.decode({"promptFeedback": {"blockReason": "SAFETY"}}, TWO.origin)
    assert (reply.stop, reply.stop_reason, reply.parts) == ("refusal", "SAFETY", ())
    assert reply.usage == Usage()


def test_a_call_cut_by_the_token_limit_must_not_be_run():
    reply = decoded(call("f"), call("g", {"a": 1}), reason="MAX_TOKENS")
    assert reply.stop == "length"
    assert reply.tool_calls[0].problem is None
    assert "cut off" in (reply.tool_calls[1].problem or "")


def test_malformed_calls_are_kept_and_marked():
    reply = decoded({"functionCall": {"name": "f", "args": [1]}}, {"functionCall": {"name": "f"}}, {"functionCall": 5})
    problems = [item.problem is not None for item in reply.tool_calls]
    assert problems == [True, False, True]
    assert reply.tool_calls[0].arguments == {"_malformed": [1]}
    conversation = Conversation()
    conversation.add_user("go")
    for item in conversation.add_reply(reply.parts).calls:
        conversation.add_tool_result(item.id, "no", is_error=True)
    assert contents(conversation)[1]["parts"][0] == call("f", {"_malformed": [1]})


def test_snake_case_is_read_too():
    reply = gemini.decode(
        {
            "candidates": [
                {
                    "content": {
                        "parts": [{"function_call": {"name": "f", "args": {"a_b": 1}}, "thought_signature": "AA"}]
                    },
                    "finish_reason": "STOP",
                }
            ],
            "usage_metadata": {"prompt_token_count": 3},
        },
        THREE.origin,
    )
    assert reply.tool_calls[0].arguments == {"a_b": 1}
    assert reply.stop == "tool_calls"
    assert reply.usage.input_tokens == 3
    assert reply.tool_calls[0].native == ProviderPayload(
        THREE.origin, call("f", {"a_b": 1}) | {"thoughtSignature": "AA"}
    )


def test_signatures_that_cannot_be_ones_are_dropped():
    assert decoded({"text": "a", "thoughtSignature": "not base64!"}).parts == (Text("a"),)


def test_error_bodies():
    body = {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}
    for data in (body, [body]):
        found = gemini.parse_error(data)
        assert (found.message, found.kind) == ("no", "INVALID_ARGUMENT")
    assert gemini.parse_error("x").message == ""


def test_a_body_that_is_no_object_is_a_bad_reply():
    with pytest.raises(BadReply):
        gemini.decode([], TWO.origin)


# Streams


def stream(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


def chunk(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    content = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    return {"candidates": [{**content, **candidate}], "responseId": "r1", "modelVersion": "m"}


STREAM = stream(
    chunk({"text": "Let me ", "thought": True}),
    chunk({"text": "think.", "thought": True}),
    chunk({"text": "Héllo "}) | {"usageMetadata": {"promptTokenCount": 9}},
    chunk({"text": "wörld"}, {"text": "!"}),
    chunk(call("f", {"a": "é"}) | {"thoughtSignature": "AAAA"}, call("g")),
    chunk({"text": "", "thoughtSignature": "BBBB"}),
    chunk({"text": ""}, finishReason="STOP") | {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}},
)
WHOLE = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Let me think.", "thought": True},
                    {"text": "Héllo wörld!"},
                    call("f", {"a": "é"}) | {"thoughtSignature": "AAAA"},
                    call("g"),
                    {"text": "", "thoughtSignature": "BBBB"},
                ]
            },
            "finishReason": "STOP",
        }
    ],
    "responseId": "r1",
    "modelVersion": "m",
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2},
}


def streamed(data: bytes, size: int = 10**9, target: Target = THREE) -> tuple[Any, list[Any]]:
    decoder = gemini.Decoder(target.origin)
    deltas = [delta for at in range(0, len(data), size) for delta in decoder.feed(data[at : at + size])]
    return decoder.reply(), deltas


def test_a_stream_is_the_same_as_the_whole_however_it_is_cut():
    whole = gemini.decode(WHOLE, THREE.origin)
    for cut in range(len(STREAM)):
        decoder = gemini.Decoder(THREE.origin)
        deltas = decoder.feed(STREAM[:cut]) + decoder.feed(STREAM[cut:])
        assert decoder.reply() == whole
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == whole.text
        assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == whole.reasoning
    reply, deltas = streamed(STREAM, 1)
    assert reply == whole
    calls = [delta for delta in deltas if isinstance(delta, CallDelta)]
    assert calls == [CallDelta(0, "f", '{"a":"é"}'), CallDelta(1, "g", "{}")]


ARRAY_RESPONSES = [json.loads(line[6:]) for line in STREAM.decode().splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_stream_that_is_one_array_is_the_same_however_it_is_cut(indent: int | None):
    tricky = chunk({"text": 'a "}]\\" [{ \\\\'})
    data = json.dumps([tricky, *ARRAY_RESPONSES], indent=indent, ensure_ascii=False).encode()
    events = stream(tricky, *ARRAY_RESPONSES)
    whole = streamed(events)
    for cut in range(len(data)):
        decoder = gemini.Decoder(THREE.origin)
        deltas = decoder.feed(data[:cut]) + decoder.feed(data[cut:])
        assert (decoder.reply(), deltas) == whole
    assert streamed(b"\r\n " + data, 1) == whole
    assert streamed(data + b"\n", 3) == whole


def test_an_array_that_ends_early_is_a_cut_stream_and_an_error_in_it_is_one():
    data = json.dumps([chunk({"text": "Hel"}), chunk({"text": "lo"}, finishReason="STOP")], indent=1).encode()
    decoder = gemini.Decoder(THREE.origin)
    decoder.feed(data[:-30])
    with pytest.raises(StreamCut) as cut:
        decoder.reply()
    assert cut.value.partial == "Hel"
    failing = json.dumps([chunk({"text": "a"}), {"error": {"code": 429, "message": "slow down"}}]).encode()
    with pytest.raises(RateLimited, match="slow down"):
        streamed(failing)


def test_a_single_response_where_a_stream_was_asked_for_is_read():
    assert streamed(json.dumps(WHOLE).encode(), 5)[0] == gemini.decode(WHOLE, THREE.origin)


def test_the_last_event_needs_no_blank_line_and_done_is_ignored():
    data = stream(chunk({"text": "a"}), chunk(finishReason="STOP")).rstrip()
    assert streamed(data)[0].text == "a"
    assert streamed(b"data: [DONE]\n\n" + data + b"\n\n: bye\n\ndata: [DONE]\n\n")[0].text == "a"


def test_a_blocked_stream_is_a_refusal():
    reply, _ = streamed(stream({"promptFeedback": {"blockReason": "OTHER"}}))
    assert (reply.stop, reply.stop_reason) == ("refusal", "OTHER")


@pytest.mark.parametrize("tail", [b"", b"data: {", b"data: {\n\n", stream({"usageMetadata": {}})])
def test_a_stream_that_ends_early_is_cut(tail: bytes):
    with pytest.raises(StreamCut) as caught:
        streamed(stream(chunk({"text": "th", "thought": True}, {"text": "partial"})) + tail)
    assert (caught.value.partial, caught.value.provider) == ("partial", "google")


@pytest.mark.parametrize(
    ("code", "kind"), [(429, RateLimited), (503, ServerFailed), (400, RequestRejected), (None, ServerFailed)]
)
@pytest.mark.parametrize("in_list", [False, True])
def test_errors_in_a_stream(code: int | None, kind: type[Exception], in_list: bool):
    error = {"error": {"code": code, "message": "stop it", "status": "X"}}
    with pytest.raises(kind) as caught:
        streamed(stream(chunk({"text": "a"}), [error] if in_list else error))
    assert caught.value.text == "stop it"  # type: ignore[attr-defined]
    assert caught.value.status == (code or 500)  # type: ignore[attr-defined]


def test_arguments_that_stream_in_pieces():
    pieces = [
        {"jsonPath": "$.city", "stringValue": "New ", "willContinue": True},
        {"jsonPath": "$.city", "stringValue": "Delhi"},
        {"jsonPath": "$.list[0].n", "numberValue": 2.0},
        {"jsonPath": "$.list[1]['x y']", "boolValue": False},
        {"jsonPath": "$.none", "nullValue": "NULL_VALUE"},
        {"jsonPath": "nowhere", "stringValue": "x"},
    ]
    data = stream(
        chunk({"functionCall": {"name": "f", "id": "c1", "willContinue": True}, "thoughtSignature": "AAAA"}),
        *(chunk({"functionCall": {"partialArgs": [piece], "willContinue": True}}) for piece in pieces),
        chunk({"functionCall": {}}),
        chunk(call("g"), finishReason="STOP"),
    )
    reply, deltas = streamed(data)
    arguments = {"city": "New Delhi", "list": [{"n": 2}, {"x y": False}], "none": None}
    assert [(item.name, item.arguments) for item in reply.tool_calls] == [("f", arguments), ("g", {})]
    assert reply.tool_calls[0].native.data["thoughtSignature"] == "AAAA"
    assert [delta.index for delta in deltas] == [0, 0, 1]
    assert "".join(delta.arguments for delta in deltas[:2]) == reply.tool_calls[0].arguments_json


# Reading


def reread(body: Any, target: Target = TWO) -> Any:
    reading = gemini.read(body, target.origin)
    return reading, json.loads(
        gemini.encode(reading.conversation, target, Options(extra=reading.rest, cache=False)).body
    )


def test_a_whole_request_is_read_and_written_again():
    body = {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [
            {"googleSearch": {}},
            {
                "functionDeclarations": [
                    {"name": "f", "description": "", "parametersJsonSchema": WEATHER.parameters},
                    {"name": "old", "description": "d", "parameters": {"type": "OBJECT", "properties": {}}},
                    {"name": "bare", "description": "d"},
                    {"name": "do.ts", "description": "d"},
                ]
            },
            {"codeExecution": {}},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"temperature": 0},
        "cachedContent": "cachedContents/1",
        "contents": [
            user("a", {"fileData": {"fileUri": "gs://b/x.png", "mimeType": "image/png"}}),
            model({"text": "t", "thought": True}, call("f", {"city": "x"}) | {"thoughtSignature": "AAAA"}, call("f")),
            user(response("f", {"result": "x"}), response("f", {"files": ["a"]})),
            user("b", {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}, "displayName": "x"}),
            model(call("do.ts", id="1"), {"text": ""}),
            user(response("do.ts", {"error": "no"}, id="1")),
            model("ok"),
            user({"text": ""}),
        ],
    }
    reading, written = reread(body, THREE)
    assert reading.changes == []
    assert written["contents"][-4]["parts"][0].pop("thoughtSignature") == DUMMY
    tools = written.pop("tools")
    expected = dict(body)
    assert tools == [body["tools"][0], body["tools"][2], body["tools"][1]]
    del expected["tools"]
    assert written == expected
    old = next(tool for tool in reading.conversation.tools if tool.name == "old")
    assert old.parameters == {"type": "object", "properties": {}}


def test_schemas_of_geminis_own_kind_become_json_schema():
    assert to_json_schema(
        {
            "type": "OBJECT",
            "properties": {"a_b": {"type": "STRING", "nullable": True}, "c": {"type": "ARRAY", "min_items": "1"}},
            "propertyOrdering": ["a_b"],
            "required": ["a_b"],
        }
    ) == {
        "type": "object",
        "properties": {"a_b": {"type": ["string", "null"]}, "c": {"type": "array", "minItems": 1}},
        "required": ["a_b"],
    }


def test_snake_case_histories_are_written_in_camel_case():
    body = {
        "system_instruction": {"parts": {"text": "s"}},
        "generation_config": {"max_output_tokens": 5},
        "contents": [
            {"parts": [{"text": "a"}, {"inline_data": {"mime_type": "image/png", "data": "AA-_"}}]},
            {
                "role": "model",
                "parts": [{"function_call": {"name": "f", "args": {"a_b": 1}}, "thought_signature": "A-_="}],
            },
            {"role": "function", "parts": {"function_response": {"name": "f", "response": {"x_y": 1}}}},
        ],
    }
    reading, written = reread(body)
    assert reading.changes == []
    assert written == {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "generationConfig": {"maxOutputTokens": 5},
        "contents": [
            user("a", {"inlineData": {"mimeType": "image/png", "data": "AA-_"}}),
            model(call("f", {"a_b": 1}) | {"thoughtSignature": "A-_="}),
            user(response("f", {"x_y": 1})),
        ],
    }


@pytest.mark.parametrize(
    ("value", "text", "is_error", "plain"),
    [
        ({"result": "x"}, "x", False, True),
        ({"output": "x"}, "x", False, False),
        ({"return_value": 5}, "5", False, False),
        ({"return_value": {"a": [1]}}, '{"a":[1]}', False, False),
        ({"error": "bad"}, "bad", True, True),
        ({"error": {"code": 1}}, '{"code":1}', True, False),
        ({"a": 1, "b": "é"}, '{"a":1,"b":"é"}', False, False),
        ({}, "", False, False),
        ({"result": None}, "", False, False),
    ],
)
def test_responses_as_results(value: dict[str, Any], text: str, is_error: bool, plain: bool):
    body = {"contents": [user("a"), model(call("f")), user(response("f", value))]}
    reading, written = reread(body)
    result = reading.conversation.turns[1].results[0]
    assert (result.text, result.is_error, result.native is None) == (text, is_error, plain)
    assert written == body
    assert reading.changes == []


def test_media_in_responses():
    media = [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
    ]
    body = {"contents": [user("a"), model(call("f")), user(response("f", {"result": "x"}, parts=media))]}
    reading, written = reread(body)
    assert written == body
    result = reading.conversation.turns[1].results[0]
    assert [type(part) for part in result.parts] == [Text, Image, OpaquePart]
    older = replace(TWO, model="gemini-2.0-flash")
    assert contents(reading.conversation, older)[2:] == [
        user(response("f", {"result": "x\n[application/pdf]"})),
        user("[What `f` returned:]", media[0]),
    ]


def test_pairs_are_found_by_id_and_else_by_name_and_order():
    body = {
        "contents": [
            user("go"),
            model(call("f", {"n": 1}), call("g"), call("f", {"n": 2})),
            user(response("f", {"result": "1"}), response("f", {"result": "2"}), response("g", {"result": "g"})),
            model(call("f", id="x"), call("f", id="y")),
            user(response("f", {"result": "y"}, id="y"), response("f", {"result": "x"}, id="x")),
            model(call("f", id="x")),
            user(response("f", {"result": "z"}, id="x")),
        ]
    }
    reading, written = reread(body)
    assert reading.changes == []
    texts = [[result.text for result in turn.results] for turn in reading.conversation.turns[1:]]
    assert texts == [["1", "g", "2"], ["x", "y"], ["z"]]
    ids = [item.id for turn in reading.conversation.turns[1:] for item in turn.calls]
    assert len(set(ids)) == len(ids)
    assert rules.check(written, "gemini", TWO.model) == []
    assert gemini.read(body, TWO.origin) == reading


def test_neighbouring_contents_are_one_turn():
    body = [
        {"parts": [{"text": "a"}]},
        model("x", call("f")),
        model(call("g")),
        user(response("f", {"result": "1"})),
        user(response("g", {"result": "2"})),
        user("b"),
    ]
    reading, written = reread(body)
    assert reading.changes == []
    assert written["contents"] == [
        user("a"),
        model("x", call("f"), call("g")),
        user(response("f", {"result": "1"}), response("g", {"result": "2"})),
        user("b"),
    ]


def test_names_that_differ_are_paired_in_order_where_the_numbers_agree():
    reading, _ = reread([user("a"), model(call("f")), user(response("F", {"result": "1"}))])
    assert reading.changes == []
    assert reading.conversation.turns[1].results[0].text == "1"


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ([user("a"), model(call("f")), user("b"), model("c"), user("d")], ["unanswered-call"]),
        ([user(response("f", {"result": "1"})), user("a")], ["orphan-result"]),
        ([user("a"), model(call("f"), call("g")), user(response("h", {"result": "1"}), "b")], ["orphan-result"]),
        (
            [user("a"), model(call("f", id="x")), user("b"), model("c"), user(response("f", {"result": "1"}, id="x"))],
            ["misplaced-result"],
        ),
        (
            [
                user("a"),
                model(call("f", id="x")),
                user(response("f", {"result": "1"}, id="x"), response("f", {"result": "2"}, id="x")),
            ],
            ["duplicate-result"],
        ),
        ([user("a"), model(call("f")), user(response("f", [1]))], ["bad-result"]),
        (
            [user("a"), model(call("f") | {"functionCall": {"name": "f", "args": "x"}}), user(response("f", {}))],
            ["bad-arguments"],
        ),
        ([user("a"), model(call("no way")), user(response("no way", {}))], ["bad-name"]),
        ([user("a"), {"role": "system", "parts": [{"text": "b"}]}], ["unknown-role"]),
        ([user("a"), {"role": "assistant", "parts": [{"text": "b"}]}, user("c")], ["unknown-role"]),
        ([user("a"), {"role": "user", "parts": []}, user({})], ["empty-message", "unreadable"]),
        ([user("a", call("f"))], ["unreadable"]),
        ([user("a"), model(call("f"), response("f", {}))], ["misplaced-result"]),
    ],
)
def test_broken_histories_are_repaired_and_reported(body: list[Any], codes: list[str]):
    reading, _ = reread(body)
    assert [change.code for change in reading.changes] == codes
    conversation, _ = reading.conversation.repair()
    if conversation.ready():
        contents(conversation)
        contents(conversation, THREE)


# Anything at all

KEYS = """candidates content parts text thought thoughtSignature functionCall functionResponse function_call name args
id response role contents tools functionDeclarations systemInstruction finishReason error inlineData mimeType data
parameters parametersJsonSchema googleSearch promptFeedback usageMetadata fileData fileUri partialArgs"""
keys = st.sampled_from(KEYS.split())
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6)
)
names = st.sampled_from(
    ["f", "g.h", "model", "user", "function", "STOP", "image/png", "AAAA", "x1", "https://x.test/a"]
)
anything = st.recursive(
    leaves | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=3), inner, max_size=4),
    max_leaves=25,
)
a_part = st.dictionaries(keys, anything, max_size=3) | anything
a_content = st.fixed_dictionaries({"parts": st.lists(a_part, max_size=4)}, optional={"role": names | leaves})


@settings(max_examples=80, deadline=None)
@given(
    anything
    | st.fixed_dictionaries({"candidates": st.lists(st.fixed_dictionaries({"content": a_content}), max_size=2)})
)
def test_decoding_anything_raises_only_our_errors(value: Any):
    try:
        gemini.decode(value, TWO.origin)
        gemini.parse_error(value)
        streamed(stream(value, chunk(finishReason="STOP")))
    except AntiphonError:
        pass


@settings(max_examples=80, deadline=None)
@given(
    anything
    | st.lists(a_content, max_size=5)
    | st.fixed_dictionaries({"contents": st.lists(a_content), "tools": anything})
)
def test_whatever_is_read_can_be_sent(value: Any):
    reading = gemini.read(value, THREE.origin)
    conversation, _ = reading.conversation.repair()
    conversation.add_user("and now?")
    for target in (THREE, TWO):
        body = encoded(conversation, target)
        assert [
            found for found in rules.check(body, "gemini", target.model) if found.param.startswith("contents")
        ] == []


origins = st.sampled_from([TWO.origin, THREE.origin, ELSEWHERE])
natives = st.builds(
    ProviderPayload,
    origins,
    st.sampled_from([{"text": "n"}, {"executableCode": {}}, {"type": "x"}, {"text": "", "thoughtSignature": "AA"}]),
)
words = st.text(min_size=1, max_size=5)
assistant_parts = (
    st.builds(Text, words)
    | st.builds(Reasoning, words, st.none() | natives)
    | st.builds(OpaquePart, natives, st.sampled_from(["", "[x]"]))
)
user_parts = (
    st.builds(Text, words.filter(str.strip))
    | st.builds(Chat, st.just("@a"), words.filter(str.strip))
    | st.just(PNG)
    | st.builds(OpaquePart, natives, st.sampled_from(["", "[x]"]))
)
results = st.text(max_size=3) | st.lists(st.builds(Text, words) | st.just(PNG), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    conversation = Conversation()
    for turn in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            conversation.add_user(draw(st.lists(user_parts, min_size=1, max_size=3)))
            continue
        parts: list[Any] = draw(st.lists(assistant_parts, max_size=3))
        for number in range(draw(st.integers(0, 2))):
            native = ProviderPayload(draw(origins), call("f", id="n") | {"thoughtSignature": "AAAA"})
            parts.append(ToolCall(f"c{turn}-{number}", "f", native=draw(st.sampled_from([None, native]))))
        turn_added = conversation.add_reply(parts)
        conversation.add_tool_results([ToolResult(item.id, draw(results)) for item in turn_added.open_calls])
    conversation.add_user("end")
    return conversation


@settings(max_examples=80, deadline=None)
@given(conversations())
def test_every_ready_conversation_keeps_the_rules(conversation: Conversation):
    for target in (TWO, THREE, replace(THREE, provider="vertex")):
        contents(conversation, target)


# The official SDK as the referee


def test_the_official_types_take_what_is_written():
    types = pytest.importorskip("google.genai.types")
    conversation = Conversation("s", [WEATHER, ToolSpec("bare")])
    conversation.add_user(["go", PNG, Image(url="https://x.test/a.png")])
    conversation.add_assistant(["ok", ToolCall("a", "weather", {"city": "x"}), ToolCall("b", "bare")])
    conversation.add_tool_results([ToolResult("a", ["x", PNG]), ToolResult("b", "no", True)])
    conversation.add_reply(decoded(call("bare", id="z") | {"thoughtSignature": "AAAA"}, target=THREE).parts)
    conversation.add_tool_result("z", "")
    conversation.add_user("hi", author="@bob")
    for target in (TWO, THREE):
        body = encoded(
            conversation, target, max_tokens=5, temperature=1, stop=("x",), reasoning="high", tool_choice="weather"
        )
        for content in body["contents"]:
            types.Content.model_validate(content)
        types.Content.model_validate(body["systemInstruction"])
        types.GenerationConfig.model_validate(body["generationConfig"])
        types.ToolConfig.model_validate(body["toolConfig"])
        for tool in body["tools"]:
            types.Tool.model_validate(tool)


# Recorded traffic


def recorded() -> Iterator[dict[str, Any]]:
    directory = os.environ.get("ANTIPHON_RECORDINGS")
    if not directory:
        pytest.skip("ANTIPHON_RECORDINGS names no directory of recorded traffic")
    for file in sorted(Path(directory).glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            exchange = json.loads(line)
            if exchange["api"] == "gemini":
                yield exchange


def recorded_target(exchange: dict[str, Any]) -> Target:
    found = re.search(r"models/([^:]+)", exchange["uri"])
    return Target("google", "gemini", found[1] if found else "gemini")


def settled(body: dict[str, Any]) -> dict[str, Any]:
    """The body without the differences that mean nothing: key case, merged neighbours, split system texts."""
    body = {to_camel_case(name): value for name, value in body.items() if value is not None}
    body |= {name: camelize_keys(body[name]) for name in ("generationConfig", "toolConfig") if name in body}
    turns: list[tuple[str, list[Any]]] = []
    for content in body["contents"]:
        role = "model" if content.get("role") == "model" else "user"
        if not (turns and turns[-1][0] == role):
            turns.append((role, []))
        turns[-1][1].extend(normalize_part(part) for part in content["parts"])
    texts = [part["text"] for part in body.get("systemInstruction", {}).get("parts", [])]
    tools = [{to_camel_case(name): value} for tool in body.get("tools") or [] for name, value in tool.items()]
    functions = [
        {"description": ""} | {to_camel_case(name): value for name, value in function.items()}
        for tool in tools
        for function in tool.get("functionDeclarations", [])
    ]
    others = [tool for tool in tools if "functionDeclarations" not in tool]
    return body | {"contents": turns, "systemInstruction": "\n\n".join(texts), "tools": (functions, others)}


def test_recorded_requests_are_read_and_written_again():
    for exchange in recorded():
        request, target = exchange["request"], recorded_target(exchange)
        reading, written = reread(request, target)
        if exchange["status"] == 200:
            assert reading.changes == [], exchange["id"]
        assert settled(written) == settled(request), exchange["id"]


def test_recorded_answers_are_decoded_and_continued():
    for exchange in recorded():
        if exchange["status"] != 200:
            assert gemini.parse_error(exchange["response"]).message, exchange["id"]
            continue
        target = recorded_target(exchange)
        if exchange["stream"]:
            data = exchange["response"].encode()
            reply, deltas = streamed(data, target=target)
            for size in (1, 7, 1000):
                assert streamed(data, size, target) == (reply, deltas), exchange["id"]
            assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
        else:
            reply = gemini.decode(exchange["response"], target.origin)
        assert reply.stop_reason, exchange["id"]
        reading = gemini.read(exchange["request"], target.origin)
        conversation = reading.conversation
        for item in conversation.add_reply(reply.parts).calls:
            conversation.add_tool_result(item.id, "done")
        conversation.add_user("Go on.")
        body = encoded(conversation, target, extra=reading.rest)
        assert rules.check(body, "gemini", target.model) == [], exchange["id"]


def test_a_late_response_finds_its_call_by_its_id_though_an_earlier_one_had_it_too():
    given = [
        user("a"),
        model(call("f", id="x")),
        user(response("f", {"result": "1"}, id="x")),
        model(call("f", id="x")),
        model("Hm."),
        user("wait"),
        model("Go on."),
        user(response("f", {"result": "2"}, id="x")),
    ]
    results = [
        item for turn in gemini.read(given, TWO.origin).conversation.turns for item in getattr(turn, "results", ())
    ]
    assert [(item.call_id, item.text) for item in results] == [("x", "1"), ("call00001", "2")]


def test_pieces_of_thought_are_joined_and_those_with_a_signature_go_back_as_they_came():
    signed = {"text": " more", "thought": True, "thoughtSignature": "AAAA"}
    pieces = [{"text": "a", "thought": True}, {"text": "b", "thought": True}, signed, {"text": "c", "thought": True}]
    reply, deltas = streamed(stream(chunk(*pieces), chunk({"text": "d"}, {"text": "e"}, finishReason="STOP")))
    assert [(type(part).__name__, part.text) for part in reply.parts] == [
        ("Reasoning", "ab"),
        ("Reasoning", " more"),
        ("Reasoning", "c"),
        ("Text", "de"),
    ]
    assert reply.parts[1].native.data == signed
    assert "".join(delta.text for delta in deltas) == "ab morecde"


def test_alternatives_of_a_schema_are_rewritten_each():
    schema = {"anyOf": [{"const": 1}, {"type": "array", "prefixItems": [{"const": "a"}]}], "required": ["a"]}
    tool = ToolSpec("look", "", {"type": "object", "properties": {"a": schema}})
    conversation = Conversation(tools=[tool])
    conversation.add_user("Hi.")
    target = Target("google", "gemini", "gemini-3-pro")
    body = json.loads(wire("gemini").encode(conversation, target, Options()).body)
    text = json.dumps(body["tools"])
    assert "const" not in text
    assert '"enum": [1]' in text
