"""What all wires do alike: fields of `extra` that the conversation writes too, and who speaks first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.conversation import Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import APIS, Options, rules, wire
from tests.strategies import TARGETS

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
TOOLS: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "web_search_20250305", "name": "web_search"},
    "openai-chat": {"type": "custom", "custom": {"name": "sql"}},
    "openai-responses": {"type": "web_search"},
    "gemini": {"googleSearch": {}},
    "google-interactions": {"type": "google_search"},
}
MESSAGES = {api: spec.history.field for api, spec in APIS.items()}
SYSTEM = {
    "anthropic": "system",
    "openai-responses": "instructions",
    "gemini": "systemInstruction",
    "google-interactions": "system_instruction",
}


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key may stand twice."""
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def body(api: str, *tools: ToolSpec, system: str = "s", **options: Any) -> dict[str, Any]:
    conversation = Conversation(system, tools)
    conversation.add_user("Hello")
    return json.loads(wire(api).encode(conversation, TARGETS[api], Options(**options)).body, object_pairs_hook=once)


@pytest.mark.parametrize("api", TOOLS)
def test_tools_of_extra_are_declared_behind_those_of_the_conversation(api: str):
    own = body(api, ToolSpec("f", "", SCHEMA))["tools"]
    assert body(api, ToolSpec("f", "", SCHEMA), extra={"tools": [TOOLS[api]]})["tools"] == [*own, TOOLS[api]]
    assert body(api, ToolSpec("f", "", SCHEMA), extra={"tools": []})["tools"] == own
    assert body(api, extra={"tools": [TOOLS[api]]})["tools"] == [TOOLS[api]]


@pytest.mark.parametrize("api", TOOLS)
def test_what_the_conversation_says_is_not_said_again_in_extra(api: str):
    for name in (MESSAGES[api], *([SYSTEM[api]] if api in SYSTEM else [])):
        with pytest.raises(OptionError, match=f"`extra` holds `{name}`"):
            body(api, extra={name: []})
    with pytest.raises(OptionError, match="`extra` holds `tools`"):
        body(api, ToolSpec("f", "", SCHEMA), extra={"tools": "all"})


@pytest.mark.parametrize("api", SYSTEM)
def test_extra_may_hold_a_system_text_where_the_conversation_has_none(api: str):
    assert body(api, system="", extra={SYSTEM[api]: "Be brief."})[SYSTEM[api]] == "Be brief."


def test_a_choice_among_the_tools_of_extra_is_sent():
    for api in ("anthropic", "openai-responses"):
        assert "tool_choice" in body(api, extra={"tools": [TOOLS[api]]}, tool_choice="required")
    assert "toolConfig" in body("gemini", extra={"tools": [TOOLS["gemini"]]}, tool_choice="required")


@pytest.mark.parametrize("api", MESSAGES)
def test_a_conversation_may_begin_with_the_assistant_and_the_user_opens_it_only_where_the_api_wants_it(api: str):
    conversation = Conversation("s")
    conversation.add_assistant("Hello!")
    conversation.add_user("Hi.")
    sent = json.loads(wire(api).encode(conversation, TARGETS[api], Options()).body)
    assert rules.check(sent, api, TARGETS[api].model) == []
    first = next(message for message in sent[MESSAGES[api]] if message.get("role") != "system")
    opened = {"gemini": "user", "google-interactions": "user_input"}.get(api, "assistant")
    assert first.get("role", first.get("type")) == opened
    history = wire(api).history(conversation, TARGETS[api])
    assert history[MESSAGES[api]] == sent[MESSAGES[api]]
