"""One tool has one name in a request, and two tools have two, whatever a history calls them."""

import json
from typing import Any

import pytest

from antiphon.wire import APIS, Options, Target, read, rules, wire

NAMES = ["a.b", "a/b", "a b", "9x", "x" * 70, "x" * 71]


def anthropic(names: list[str]) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": f"t{n}", "name": name, "input": {}} for n, name in enumerate(names)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "r"} for n in range(len(names))]
    said = [("user", "go"), ("assistant", calls), ("user", results)]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    return {"model": "m", "tools": tools, "messages": [{"role": role, "content": content} for role, content in said]}


def chat(names: list[str]) -> dict[str, Any]:
    calls = [
        {"id": f"t{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(names)
    ]
    results = [{"role": "tool", "tool_call_id": f"t{n}", "name": name, "content": "r"} for n, name in enumerate(names)]
    tools = [{"type": "function", "function": {"name": name, "strict": True}} for name in names]
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": calls}, *results]
    return {"model": "m", "tools": tools, "messages": messages}


def responses(names: list[str]) -> dict[str, Any]:
    calls = [
        {"type": "function_call", "call_id": f"t{n}", "name": name, "arguments": "{}"} for n, name in enumerate(names)
    ]
    results = [{"type": "function_call_output", "call_id": f"t{n}", "output": "r"} for n in range(len(names))]
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False} for name in names]
    return {"model": "m", "tools": tools, "input": [{"role": "user", "content": "go"}, *calls, *results]}


def gemini(names: list[str]) -> dict[str, Any]:
    calls = [{"functionCall": {"name": name, "args": {}}} for name in names]
    results = [{"functionResponse": {"name": name, "response": {}}} for name in names]
    said = [("user", [{"text": "go"}]), ("model", calls), ("user", results)]
    contents = [{"role": role, "parts": parts} for role, parts in said]
    return {"tools": [{"functionDeclarations": [{"name": name} for name in names]}], "contents": contents}


def interactions(names: list[str]) -> dict[str, Any]:
    calls = [{"type": "function_call", "id": f"t{n}", "name": name, "arguments": {}} for n, name in enumerate(names)]
    results = [{"type": "function_result", "call_id": f"t{n}", "result": "r"} for n in range(len(names))]
    asked = {"type": "user_input", "content": [{"type": "text", "text": "go"}]}
    tools = [{"type": "function", "name": name} for name in names]
    return {"model": "m", "tools": tools, "input": [asked, *calls, *results]}


HISTORIES = {
    "anthropic": anthropic,
    "openai-chat": chat,
    "openai-responses": responses,
    "gemini": gemini,
    "google-interactions": interactions,
}


def names_in(body: dict[str, Any], api: str) -> tuple[list[str], list[str], str, list[str]]:
    """The names that are declared, called, chosen, and answered for."""
    match api:
        case "anthropic":
            called = [block["name"] for block in body["messages"][1]["content"]]
            return [tool["name"] for tool in body["tools"]], called, body["tool_choice"]["name"], []
        case "openai-chat":
            called = [call["function"]["name"] for call in body["messages"][1]["tool_calls"]]
            answered = [message["name"] for message in body["messages"][2:] if "name" in message]
            declared = [tool["function"]["name"] for tool in body["tools"]]
            return declared, called, body["tool_choice"]["function"]["name"], answered
        case "openai-responses":
            called = [item["name"] for item in body["input"] if item.get("type") == "function_call"]
            return [tool["name"] for tool in body["tools"]], called, body["tool_choice"]["name"], []
        case "google-interactions":
            called = [step["name"] for step in body["input"] if step["type"] == "function_call"]
            answered = [step["name"] for step in body["input"] if step["type"] == "function_result"]
            chosen = body["generation_config"]["tool_choice"]["allowed_tools"]["tools"][0]
            return [tool["name"] for tool in body["tools"]], called, chosen, answered
        case _:
            called = [part["functionCall"]["name"] for part in body["contents"][1]["parts"]]
            answered = [part["functionResponse"]["name"] for part in body["contents"][2]["parts"]]
            declared = [tool["name"] for tool in body["tools"][0]["functionDeclarations"]]
            chosen = body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"][0]
            return declared, called, chosen, answered


@pytest.mark.parametrize("model", ["m", "another"])
@pytest.mark.parametrize("to", HISTORIES)
@pytest.mark.parametrize("came_from", HISTORIES)
@pytest.mark.parametrize("names", [NAMES, ["a_b", *NAMES], [*NAMES, "a_b", "a_b_2"]])
def test_illegal_names_are_the_same_everywhere_and_never_of_two_tools(
    names: list[str], came_from: str, to: str, model: str
) -> None:
    conversation = read(HISTORIES[came_from](names), came_from, "m").conversation
    assert len({tool.name for tool in conversation.tools}) == len(names)
    for tool in conversation.tools:
        body = json.loads(
            wire(to)
            .encode(conversation, Target(APIS[to].owner, to, model), Options(tool_choice=tool.name, max_tokens=99))
            .body
        )
        declared, called, chosen, answered = names_in(body, to)
        assert declared == called
        assert answered in ([], declared)
        assert len(set(declared)) == len(names)
        assert chosen == declared[conversation.tools.index(tool)]
        assert [
            found for found in rules.check(body, to, model) if found.code in ("A8", "O6", "R17", "G14", "I7", "I9")
        ] == []


def test_a_tool_of_chat_that_is_no_function_is_chosen_as_what_it_is() -> None:
    tool = {"type": "custom", "custom": {"name": "write"}}
    conversation = read({"model": "m", "tools": [tool], "messages": [{"role": "user", "content": "go"}]}).conversation
    target = Target("openai", "openai-chat", "m")
    body = json.loads(wire("openai-chat").encode(conversation, target, Options(tool_choice="write")).body)
    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "write"}}
