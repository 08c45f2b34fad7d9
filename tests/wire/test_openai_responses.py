"""OpenAI's Responses API: bodies, answers, streams and histories."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Image,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserTurn,
)
from antiphon.errors import (
    AntiphonError,
    OptionError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StreamCut,
)
from antiphon.wire import CallDelta, Options, Profile, ReasoningDelta, Reply, Target, TextDelta, Usage, wire
from antiphon.wire.body import UNSHOWABLE_TEXT
from antiphon.wire.openai_responses.item_rules import CLIENT_CALLS
from antiphon.wire.rules import check
from tests.lazily import Lazily
from tests.wire.referee import judge

SDK = Lazily("openai")
WIRE = wire("openai-responses")
TARGET = Target("openai", "openai-responses", "gpt-5")
ORIGIN = TARGET.origin
OTHER_MODEL = Target("openai", "openai-responses", "gpt-5-mini")
ELSEWHERE = Origin("anthropic", "anthropic", "claude-opus-4-6")
STORED = {"store": None, "include": None}
LOOKUP = ToolSpec("lookup", "Looks it up.", {"type": "object", "properties": {"q": {"type": "string"}}})

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
ENCRYPTED = REASONING | {"encrypted_content": "gAAAA=="}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Let me see.", "annotations": [], "logprobs": []}],
}
CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "lookup",
    "arguments": '{"q": "x"}',
    "status": "completed",
}
ANSWERED = {"type": "function_call_output", "call_id": "call_1", "output": "found"}


def body(conversation: Conversation, target: Target = TARGET, **options: Any) -> dict[str, Any]:
    encoded = json.loads(WIRE.encode(conversation, target, Options(**options)).body)
    assert check(encoded, "openai-responses", target.model) == []
    return encoded


def items(conversation: Conversation, target: Target = TARGET, **options: Any) -> list[dict[str, Any]]:
    return body(conversation, target, **options)["input"]


def asked(*parts: Any) -> Conversation:
    """A conversation with a question and this answer to it, calls answered."""
    conversation = Conversation()
    conversation.add_user("Hello")
    for call in conversation.add_reply(parts).calls:
        conversation.add_tool_result(call.id, "found")
    conversation.add_user("And now?")
    return conversation


def middle(conversation: Conversation, target: Target = TARGET, **options: Any) -> list[dict[str, Any]]:
    """What stands between the first and the last message."""
    return items(conversation, target, **options)[1:-1]


def reply(*output: Mapping[str, Any], **fields: Any) -> Reply:
    return WIRE.decode({"status": "completed", "output": list(output)} | fields, ORIGIN)


def foreign(data: dict[str, Any], text: str = "", origin: Origin = ORIGIN) -> OpaquePart:
    return OpaquePart(ProviderPayload(origin, data), text)


# Bodies


def test_a_plain_request_is_stateless() -> None:
    conversation = Conversation("Be brief.", [LOOKUP])
    conversation.add_user("Hello")
    assert body(conversation) == {
        "model": "gpt-5",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "lookup",
                "description": "Looks it up.",
                "parameters": LOOKUP.parameters,
                "strict": False,
            }
        ],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
    }
    assert WIRE.path(TARGET, True) == "/responses"


def test_text_calls_results_and_chat_keep_their_order() -> None:
    conversation = Conversation()
    conversation.add_user("Compare both.")
    conversation.add_assistant(
        [Text("I look."), ToolCall("call_a", "lookup", {"q": "ä"}), ToolCall("call_b", "lookup")]
    )
    conversation.add_user("Hurry up", author="@coder-2")
    conversation.add_tool_results([ToolResult("call_b", ""), ToolResult("call_a", "no such thing", is_error=True)])
    assert items(conversation) == [
        {"role": "user", "content": [{"type": "input_text", "text": "Compare both."}]},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_a", "name": "lookup", "arguments": '{"q":"ä"}'},
        {"type": "function_call", "call_id": "call_b", "name": "lookup", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": "Error: no such thing"},
        {"type": "function_call_output", "call_id": "call_b", "output": "(no output)"},
        {"role": "user", "content": [{"type": "input_text", "text": "[Chat from @coder-2]: Hurry up"}]},
    ]


def test_images_go_into_messages_and_outputs() -> None:
    conversation = Conversation()
    conversation.add_user(["Look:", Image(url="https://example.org/cat.png")])
    conversation.add_assistant(ToolCall("call_a", "lookup"))
    conversation.add_tool_result("call_a", ["A dog:", Image(data="iVBORw0KGgo=", media_type="image/png")])
    said, _, output = items(conversation)
    assert said["content"][1] == {
        "type": "input_image",
        "image_url": "https://example.org/cat.png",
        "detail": "auto",
    }
    assert output["output"] == [
        {"type": "input_text", "text": "A dog:"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
    ]
    blind = Target("openai", "openai-responses", "gpt-5", Profile(images=False))
    assert items(conversation, blind)[2]["output"][1] == {
        "type": "input_text",
        "text": "[an image that is not shown: gpt-5 cannot see images; describe it, or ask a model that can]",
    }


def test_arguments_are_sent_as_the_model_wrote_them() -> None:
    spelled = '{ "q" : "x",  "n": 1.0 }'
    call = ToolCall.read("call_1", "lookup", spelled)
    assert middle(asked(call))[0]["arguments"] == spelled


def test_an_error_of_several_parts_says_so_once() -> None:
    conversation = Conversation()
    conversation.add_user("Go")
    conversation.add_assistant(ToolCall("call_a", "lookup"))
    conversation.add_tool_results([ToolResult("call_a", (Text("one"), Text(" "), Text("two")), is_error=True)])
    assert [block["text"] for block in items(conversation)[2]["output"]] == ["Error: one", "two"]


def test_neighbouring_users_become_one_message_where_the_model_had_nothing_to_send() -> None:
    conversation = asked(Reasoning("Hm."))
    assert [block["text"] for block in items(conversation)[0]["content"]] == ["Hello", "And now?"]


def test_a_user_turn_of_foreign_parts_alone_still_says_something() -> None:
    conversation = Conversation()
    conversation.add_user(foreign({"type": "document"}, origin=ELSEWHERE))
    assert items(conversation)[0]["content"][0]["text"] == UNSHOWABLE_TEXT


def test_turns_are_encoded_once() -> None:
    conversation = asked(ToolCall("call_1", "lookup"))
    first = body(conversation)
    turn = conversation.turns[1]
    kept = turn.derived.snapshot()
    conversation.add_assistant("Fine.")
    conversation.add_user("Go on")
    assert body(conversation)["input"][: len(first["input"])] == first["input"]
    assert kept
    assert all(turn.derived.snapshot()[key] is kept[key] for key in kept)


def test_history_is_the_conversation_as_data() -> None:
    conversation = Conversation("Be brief.", [LOOKUP])
    conversation.add_user("Hello")
    data = WIRE.history(conversation, TARGET)
    assert set(data) == {"instructions", "tools", "input"}
    again = WIRE.read(data, ORIGIN)
    assert (again.conversation, again.changes) == (conversation, [])


# Options


def test_every_option_has_its_field() -> None:
    conversation = Conversation(tools=[LOOKUP])
    conversation.add_user("Hello")
    sent = body(
        conversation,
        max_tokens=100,
        tool_choice="lookup",
        parallel_tool_calls=False,
        reasoning="low",
        stream=True,
        extra={"service_tier": "flex", "include": ["message.output_text.logprobs"]},
    )
    assert (
        sent.items()
        >= {
            "max_output_tokens": 100,
            "tool_choice": {"type": "function", "name": "lookup"},
            "parallel_tool_calls": False,
            "reasoning": {"effort": "low"},
            "stream": True,
            "service_tier": "flex",
            "include": ["message.output_text.logprobs"],
        }.items()
    )
    for choice in ("auto", "none", "required"):
        assert body(conversation, tool_choice=choice)["tool_choice"] == choice
    older = Target("openai", "openai-responses", "gpt-4.1")
    sampled = json.loads(wire("openai-responses").encode(conversation, older, Options(temperature=0.5, top_p=0.9)).body)
    assert (sampled["temperature"], sampled["top_p"]) == (0.5, 0.9)
    with pytest.raises(OptionError, match="takes no `temperature`"):
        body(conversation, temperature=0.5)


def test_tool_options_need_tools() -> None:
    conversation = Conversation()
    conversation.add_user("Hello")
    sent = body(conversation, tool_choice="auto", parallel_tool_calls=True)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(sent)


@pytest.mark.parametrize(
    ("options", "profile"),
    [
        ({"stop": ("END",)}, Profile()),
        ({"reasoning": 2000}, Profile()),
        ({"temperature": 1.0}, Profile(sampling=False)),
    ],
)
def test_options_the_api_has_no_field_for_are_refused(options: dict[str, Any], profile: Profile) -> None:
    conversation = Conversation()
    conversation.add_user("Hello")
    with pytest.raises(OptionError, match=f"`{next(iter(options))}`"):
        WIRE.encode(conversation, Target("openai", "openai-responses", "gpt-5", profile), Options(**options))


@pytest.mark.parametrize(
    ("extra", "store", "include"),
    [
        ({"store": True}, True, True),
        ({"store": None}, None, True),
        ({"store": None, "include": None}, None, False),
        ({"previous_response_id": "resp_1"}, None, True),
        ({"conversation": "conv_1", "store": False}, False, True),
        ({"previous_response_id": None}, False, True),
    ],
)
def test_extra_decides_what_is_stored(extra: dict[str, Any], store: bool | None, include: bool) -> None:
    conversation = Conversation()
    conversation.add_user("Hello")
    sent = body(conversation, extra=extra)
    assert sent.get("store") is store
    assert ("include" in sent) is include


def test_models_that_do_not_reason_are_not_asked_for_reasoning() -> None:
    conversation = Conversation()
    conversation.add_user("Hello")
    for model in ("gpt-4o", "ft:gpt-4.1:org", "openai/gpt-4o-mini", "gpt-5-chat-latest"):
        assert "include" not in body(conversation, Target("openai", "openai-responses", model))


def test_functions_of_other_providers_are_declared_and_their_own_tools_are_not() -> None:
    own = ToolSpec(
        "web_search", native=ProviderPayload(ELSEWHERE, {"type": "web_search_20250305", "name": "web_search"})
    )
    theirs = ToolSpec("lookup", "", LOOKUP.parameters, ProviderPayload(ELSEWHERE, {"name": "lookup", "strict": True}))
    ours = ToolSpec("tool_3", native=ProviderPayload(ORIGIN, {"type": "web_search"}))
    either = ToolSpec("either", "", {"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]})
    conversation = Conversation(tools=[own, theirs, ours, either])
    conversation.add_user("Hello")
    tools = body(conversation)["tools"]
    assert [tool.get("name") for tool in tools] == ["lookup", None, "either"]
    assert set(tools[2]["parameters"]) == {"type", "properties"}
    assert set(tools[2]["parameters"]["properties"]) == {"a", "b"}


# What only this API understands


def test_encrypted_reasoning_goes_back_to_its_model_only() -> None:
    conversation = asked(*reply(ENCRYPTED, SAID, CALLED).parts)
    sent = middle(conversation)
    assert [item.get("type", "message") for item in sent] == [
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert sent[0] == ENCRYPTED
    assert "reasoning" not in [item.get("type") for item in middle(conversation, OTHER_MODEL)]


def test_a_stateless_request_names_no_stored_items() -> None:
    conversation = asked(*reply(REASONING, SAID | {"phase": "commentary"}, CALLED).parts)
    assert middle(conversation) == [
        {"role": "assistant", "content": "Let me see.", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_1", "name": "lookup", "arguments": '{"q": "x"}'},
        ANSWERED,
    ]


def test_a_stored_request_names_them_all() -> None:
    conversation = asked(*reply(REASONING, SAID, CALLED).parts)
    assert middle(conversation, extra=STORED) == [REASONING, SAID, CALLED, ANSWERED]
    assert middle(conversation) != middle(conversation, extra=STORED)
    # The other model does not get the reasoning, so nothing may ask for it.
    assert not any("id" in item for item in middle(conversation, OTHER_MODEL, extra=STORED))


@pytest.mark.parametrize("extra", [{}, STORED])
def test_reasoning_goes_only_with_what_it_led_to(extra: dict[str, Any]) -> None:
    conversation = asked(*reply(SAID, ENCRYPTED).parts)
    assert [item.get("type", "message") for item in middle(conversation, extra=extra)] == ["message"]
    conversation = asked(*reply(ENCRYPTED).parts, foreign({"type": "web_search_call", "id": "ws_1"}))
    assert [item["type"] for item in middle(conversation, extra=extra)] == ["reasoning", "web_search_call"]


def test_plain_text_does_not_stand_in_for_a_stored_message() -> None:
    conversation = asked(Reasoning("", ProviderPayload(ORIGIN, ENCRYPTED)), Text("Mine."))
    assert middle(conversation, extra=STORED) == [{"role": "assistant", "content": "Mine."}]
    assert len(middle(conversation)) == 2


def test_foreign_items_survive_for_their_own_api() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    conversation = asked(*reply(search, SAID).parts)
    assert middle(conversation)[0] == search
    assert middle(conversation, Target("xai", "openai-responses", "grok"))[0]["content"] == "Let me see."


def test_encrypted_items_go_to_their_own_model_only() -> None:
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    conversation = asked(*reply(compaction, SAID).parts)
    assert middle(conversation)[0] == compaction
    assert middle(conversation, OTHER_MODEL)[0] == {"role": "assistant", "content": "Let me see."}


def test_a_foreign_call_without_its_output_becomes_text() -> None:
    called = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_x", "name": "shell", "input": "ls"}
    output = {"type": "custom_tool_call_output", "call_id": "call_x", "output": "a.txt"}
    conversation = Conversation()
    conversation.add_user("Hello")
    conversation.add_assistant([foreign(called, "[custom_tool_call: shell]")])
    unanswered = conversation.fork()
    unanswered.add_user("Never mind")
    assert middle(unanswered) == [{"role": "assistant", "content": "[custom_tool_call: shell]"}]
    conversation.add_user(foreign(output))
    assert items(conversation)[1:] == [called, output]
    orphan = Conversation()
    orphan.add_user(foreign(output, "[Result]"))
    assert items(orphan)[0]["content"][0]["text"] == "[Result]"


SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "call_s", "status": "completed"}
OTHER_CALLS = [
    (
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_s", "name": "sql", "input": "select 1"},
        ("sql", {"input": "select 1"}),
        {"type": "custom_tool_call_output", "call_id": "call_s", "output": "done"},
        {"type": "custom_tool_call_output", "call_id": "call_s", "output": "Error: done"},
    ),
    (
        SHELL | {"action": {"commands": ["ls"], "max_output_length": 100}, "environment": {"type": "local"}},
        ("shell", {"commands": ["ls"], "max_output_length": 100}),
        {
            "type": "shell_call_output",
            "call_id": "call_s",
            "output": [{"stdout": "done", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            "max_output_length": 100,
        },
        {
            "type": "shell_call_output",
            "call_id": "call_s",
            "output": [{"stdout": "", "stderr": "Error: done", "outcome": {"type": "exit", "exit_code": 1}}],
            "max_output_length": 100,
        },
    ),
    (
        SHELL | {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        ("local_shell", {"type": "exec", "command": ["ls"], "env": {}}),
        {"type": "local_shell_call_output", "id": "call_s", "output": "done"},
        {"type": "local_shell_call_output", "id": "call_s", "output": "Error: done"},
    ),
    (
        SHELL | {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}},
        ("apply_patch", {"type": "delete_file", "path": "a"}),
        {"type": "apply_patch_call_output", "call_id": "call_s", "status": "completed", "output": "done"},
        {"type": "apply_patch_call_output", "call_id": "call_s", "status": "failed", "output": "Error: done"},
    ),
]


@pytest.mark.parametrize(("item", "read", "good", "bad"), OTHER_CALLS, ids=lambda value: str(value)[:40])
def test_calls_that_are_no_functions_are_read_and_answered_in_their_own_form(
    item: dict[str, Any], read: tuple[str, Any], good: dict[str, Any], bad: dict[str, Any]
) -> None:
    answer = reply(item)
    assert answer.stop == "tool_calls"
    [call] = answer.tool_calls
    assert ((call.name, call.arguments), call.id, call.problem) == (read, "call_s", None)
    for is_error, output in ((False, good), (True, bad)):
        conversation = Conversation()
        conversation.add_user("Hello")
        conversation.add_reply(answer.parts)
        conversation.add_tool_result("call_s", "done", is_error)
        conversation.add_user("Go on")
        assert middle(conversation) == [item, output]
        # Elsewhere it is a function like any other.
        elsewhere = items(conversation, Target("xai", "openai-responses", "grok"))[1:3]
        assert [each["type"] for each in elsewhere] == ["function_call", "function_call_output"]
        assert (elsewhere[0]["name"], json.loads(elsewhere[0]["arguments"])) == read


def test_a_screen_and_a_search_are_answered_in_their_form_or_as_functions() -> None:
    look = {"type": "computer_call", "call_id": "c", "id": "cu_1", "action": {"type": "screenshot"}}
    search = {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "mail"}}
    image = Image(data="iVBORw0KGgo=", media_type="image/png")
    cases: list[tuple[Any, Any, list[str]]] = [
        (look, ["seen", image], ["computer_call", "computer_call_output"]),
        (look, "no screen", ["function_call", "function_call_output"]),
        (look | {"pending_safety_checks": [{"id": "x"}]}, [image], ["function_call", "function_call_output"]),
        (search, '[{"type":"function","name":"f"}]', ["tool_search_call", "tool_search_output"]),
        (search, "nothing found", ["function_call", "function_call_output"]),
    ]
    for item, content, kinds in cases:
        conversation = Conversation()
        conversation.add_user("Hello")
        conversation.add_reply(reply(item).parts)
        conversation.add_tool_result("c", content)
        conversation.add_user("Go on")
        assert [each["type"] for each in middle(conversation)] == kinds


def test_calls_that_the_server_answers_or_has_answered_are_none_of_ours() -> None:
    container = SHELL | {"action": {"commands": ["ls"]}, "environment": {"type": "container_reference"}}
    answered = SHELL | {"action": {"commands": ["ls"]}}
    output = {"type": "shell_call_output", "call_id": "call_s", "output": []}
    for made in ([container, SAID], [answered, output, SAID]):
        assert (reply(*made).stop, reply(*made).tool_calls) == ("end", ())
        assert middle(asked(*reply(*made).parts))[:-1] == made[:-1]
    grok = Target("xai", "openai-responses", "grok-4")
    searched = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "xs_1", "name": "x_keyword_search", "input": "{}"}
    parts = WIRE.decode({"status": "completed", "output": [searched, SAID]}, grok.origin).parts
    body = json.loads(WIRE.encode(asked(*parts), grok, Options()).body)
    assert body["input"][1] == searched
    assert check(body, "openai-responses", provider="xai") == []


def test_a_question_for_approval_is_no_end() -> None:
    asking = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"}
    answer = reply(asking)
    assert (answer.stop, answer.stop_reason) == ("pause", "mcp_approval_request")
    assert middle(asked(*answer.parts)) == [asking]


def test_every_item_of_the_sdk_is_read_as_a_call_or_kept() -> None:
    from typing import get_args

    kinds = [
        get_args(cls.model_fields["type"].annotation)[0]
        for cls in get_args(get_args(SDK.types.responses.ResponseOutputItem)[0])
    ]
    assert "custom_tool_call" in kinds
    for kind in kinds:
        item: dict[str, Any] = {"type": kind, "id": "x_1", "call_id": "call_s", "role": "assistant", "name": "f"}
        if kind == "message":
            item["content"] = [{"type": "output_text", "text": "a"}]
        answer = reply(item)
        [part] = answer.parts
        assert isinstance(part, ToolCall | ServerCall | ServerResult | OpaquePart | Text | Reasoning)
        assert (answer.stop == "tool_calls") == isinstance(part, ToolCall)
        assert isinstance(part, ToolCall) == (kind == "function_call" or kind in CLIENT_CALLS), kind


def test_a_call_of_a_history_that_nobody_answered_can_still_be_answered() -> None:
    reading = WIRE.read([USER, OTHER_CALLS[0][0]], ORIGIN)
    reading.conversation.add_tool_result("call_s", "1")
    assert items(reading.conversation)[1:] == [OTHER_CALLS[0][0], OTHER_CALLS[0][2] | {"output": "1"}]


@pytest.mark.parametrize("item", [case[0] for case in OTHER_CALLS], ids=lambda item: item["type"])
@pytest.mark.parametrize("told", ["pieces", "end", "cut"])
def test_a_streamed_call_that_is_no_functions_is_told_like_one(item: dict[str, Any], told: str) -> None:
    bare = item | ({"input": ""} if "input" in item else {})
    begun = {"type": "response.output_item.added", "output_index": 0, "item": bare}
    piece = {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": item.get("input", "")}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    ended = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    events = {"pieces": [begun, piece, done, ended], "end": [ended], "cut": [begun, piece, ended]}[told]
    if told == "cut":
        ended["response"]["output"] = []
    decoder = WIRE.Decoder(ORIGIN)
    deltas = decoder.feed("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())
    answer = decoder.reply()
    assert answer.tool_calls == reply(item).tool_calls
    assert answer.stop == "tool_calls"
    assert deltas[0] == CallDelta(0, answer.tool_calls[0].name, "")
    if told != "cut":
        assert json.loads("".join(delta.arguments for delta in deltas)) == answer.tool_calls[0].arguments


def test_text_is_told_once_whatever_numbers_its_pieces_have() -> None:
    def told(*numbers: int, texts: tuple[str, ...] = ("Hel", "lo")) -> list[Any]:
        blocks = [{"type": "output_text", "text": text} for text in texts]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": blocks}
        begun = {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}}
        pieces = [
            {"type": "response.output_text.delta", "output_index": 0, "content_index": number, "delta": text}
            for number, text in zip(numbers, filter(None, texts), strict=True)
        ]
        done = {"type": "response.output_item.done", "output_index": 0, "item": item}
        ended = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
        decoder = WIRE.Decoder(ORIGIN)
        events = [begun, *pieces, done, ended]
        deltas = decoder.feed("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())
        assert decoder.reply().text == "Hello"
        return deltas

    assert told(0, 1) == told(1, 2) == told(1, 1) == told(0, 0) == [TextDelta("Hel"), TextDelta("lo")]
    assert (
        told(1, texts=("", "Hello"))
        == told(0, texts=("", "Hello"))
        == told(3, texts=("Hello",))
        == [TextDelta("Hello")]
    )


def test_thoughts_are_told_once_whatever_numbers_their_pieces_have() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    piece = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "Hm."}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    decoder = WIRE.Decoder(ORIGIN)
    deltas = decoder.feed("".join(f"data: {json.dumps(event)}\n\n" for event in (piece, done)).encode())
    assert deltas == [ReasoningDelta("Hm.")]


def test_reasoning_whose_id_stands_twice_keeps_its_encrypted_content() -> None:
    other = {**ENCRYPTED, "encrypted_content": "gBBB"}
    parts = reply(ENCRYPTED, SAID, other, {**SAID, "id": "msg_other"}).parts
    sent = [item for item in middle(asked(*parts)) if item.get("type") == "reasoning"]
    assert [item["encrypted_content"] for item in sent] == [ENCRYPTED["encrypted_content"], "gBBB"]
    assert not any("id" in item for item in sent)
    grok = Target("xai", "openai-responses", "grok-4")
    given = [ENCRYPTED, SAID, other]
    parts = WIRE.decode({"status": "completed", "output": [*given, SAID]}, grok.origin).parts
    sent = json.loads(WIRE.encode(asked(*parts), grok, Options()).body)["input"]
    assert [item for item in sent if item.get("type") == "reasoning"] == [ENCRYPTED, other]


@pytest.mark.parametrize(
    ("body_", "said"),
    [
        ({"detail": "Unsupported model"}, "Unsupported model"),
        (
            {"detail": [{"loc": ["body", "input"], "msg": "Field required"}, {"msg": "No."}]},
            "body.input: Field required; No.",
        ),
        ({"detail": {"message": "Slow down", "code": "rate"}}, "Slow down"),
        ({"detail": {"error": "Slow down"}}, "Slow down"),
        ({"code": "invalid-argument", "error": "Wrong key"}, "Wrong key"),
        ({"detail": None}, ""),
    ],
)
def test_errors_under_detail_are_read(body_: dict[str, Any], said: str) -> None:
    assert WIRE.parse_error(body_).message == said
    if "error" not in body_:
        assert wire("anthropic").parse_error(body_).message == wire("gemini").parse_error(body_).message == said


def test_items_the_server_answers_itself_need_no_output() -> None:
    search = {"type": "tool_search_call", "call_id": "tsc_1", "execution": "server", "arguments": {}}
    assert middle(asked(*reply(search, SAID).parts))[0] == search


def test_items_that_stand_twice_lose_their_ids_or_their_place() -> None:
    conversation = asked(*reply(ENCRYPTED, SAID, CALLED).parts)
    conversation.add_reply(reply(ENCRYPTED, SAID, CALLED).parts)
    conversation.add_tool_results([ToolResult(call.id, "ok") for call in conversation.open_calls])
    for extra in ({}, STORED):
        sent = items(conversation, extra=extra)
        assert not any("id" in item for item in sent)
        assert len({item["call_id"] for item in sent if "call_id" in item}) == 2


def test_parts_keep_their_native_form_only_where_it_fits() -> None:
    [said] = reply(SAID).parts
    assert isinstance(said, Text)
    conversation = Conversation()
    conversation.add_user(said)
    conversation.add_assistant([Text("Ok", ProviderPayload(ORIGIN, {"type": "input_text", "text": "Ok"}))])
    conversation.add_user("Go on")
    for extra in ({}, STORED):
        assert items(conversation, extra=extra)[:2] == [
            {"role": "user", "content": [{"type": "input_text", "text": "Let me see."}]},
            {"role": "assistant", "content": "Ok"},
        ]


# Answers


def test_a_reply_has_its_parts_in_order() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    answer = reply(ENCRYPTED, CALLED, SAID, id="resp_1", model="gpt-5-2025", usage=usage)
    assert [type(part) for part in answer.parts] == [Reasoning, ToolCall, Text]
    assert (answer.text, answer.reasoning, answer.stop, answer.stop_reason) == (
        "Let me see.",
        "Hm.",
        "tool_calls",
        "completed",
    )
    assert (answer.id, answer.model, answer.usage) == ("resp_1", "gpt-5-2025", Usage(10, 7, 4, 2, 5))
    assert reply(SAID).usage == Usage()


@pytest.mark.parametrize(
    ("fields", "stop", "reason"),
    [
        ({}, "end", "completed"),
        ({"status": "complete"}, "end", "complete"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal", "content_filter"),
        ({"status": "cancelled"}, "not_done", "cancelled"),
        ({"status": "queued"}, "pause", "queued"),
    ],
)
def test_stop_reasons(fields: dict[str, Any], stop: str, reason: str) -> None:
    answer = reply(SAID, **fields)
    assert (answer.stop, answer.stop_reason) == (stop, reason)


def test_a_refusal_is_text_and_a_stop() -> None:
    refused = SAID | {"content": [{"type": "refusal", "refusal": "I will not."}]}
    answer = reply(refused)
    assert (answer.text, answer.stop) == ("I will not.", "refusal")
    sent = middle(asked(*answer.parts))
    assert sent == [{"type": "message", "role": "assistant", "content": refused["content"]}]


def test_a_call_cut_by_the_token_limit_must_not_run() -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    half = CALLED | {"arguments": '{"q": "x'}
    first, last = reply(CALLED, half | {"call_id": "call_2"}, **cut).tool_calls
    assert first.problem is None
    assert "token limit" in (last.problem or "")
    [marked] = reply(CALLED | {"status": "incomplete", "arguments": "{}"}).tool_calls
    assert "token limit" in (marked.problem or "")
    sent = middle(asked(last), extra=STORED)
    assert json.loads(sent[0]["arguments"]) == {"_malformed": '{"q": "x'}
    assert "status" not in sent[0]


@pytest.mark.parametrize("arguments", ["{", "5", "null", None, ["x"]])
def test_arguments_that_are_no_object_are_a_problem(arguments: object) -> None:
    [call] = reply(CALLED | {"arguments": arguments}).tool_calls
    assert call.problem
    assert "_malformed" in call.arguments


def test_empty_arguments_are_an_empty_object() -> None:
    [call] = reply(CALLED | {"arguments": ""}).tool_calls
    assert (call.arguments, call.problem) == ({}, None)


def test_illegal_ids_and_names_are_replaced_on_both_sides() -> None:
    [call] = reply(CALLED | {"call_id": "functions.lookup:0|" + "x" * 60, "name": "look up"}).tool_calls
    assert call.problem
    for extra in ({}, STORED):
        sent = middle(asked(call), extra=extra)
        assert sent[0]["call_id"] == sent[1]["call_id"] == call.id
        assert sent[0]["name"] == "look_up"
        assert "id" not in sent[0]


@pytest.mark.parametrize(
    ("code", "error", "status"),
    [
        ("server_error", ServerFailed, 500),
        ("rate_limit_exceeded", RateLimited, 429),
        ("invalid_prompt", RequestRejected, 400),
        (None, ServerFailed, 500),
    ],
)
def test_failed_responses_raise(code: str | None, error: type[RequestRejected], status: int) -> None:
    response = {"status": "failed", "error": {"code": code, "message": "Sorry."}, "output": []}
    events = [event("response.failed", response=response), event("error", code=code, message="Sorry.")]
    with pytest.raises(error) as caught:
        WIRE.decode(response, ORIGIN)
    assert (caught.value.status, caught.value.text, caught.value.provider) == (status, "Sorry.", "openai")
    for data in events:
        with pytest.raises(error, match=r"Sorry\."):
            WIRE.Decoder(ORIGIN).feed(data)


def test_error_bodies() -> None:
    data = {"error": {"message": "No.", "type": "invalid_request_error", "code": "model_not_found"}}
    assert (WIRE.parse_error(data).message, WIRE.parse_error(data).kind) == ("No.", "model_not_found")
    assert WIRE.parse_error({"error": "No."}).message == "No."
    assert WIRE.parse_error(None).message == ""


# Streams


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields, ensure_ascii=False)}\n\n".encode(
        "utf-8", "replace"
    )


THOUGHT = ENCRYPTED | {"summary": [{"type": "summary_text", "text": t} for t in ("One.", "Two.")]}
GREETED: dict[str, Any] = SAID | {"content": [{"type": "output_text", "text": "Grüße", "annotations": []}]}
SECOND = CALLED | {"id": "fc_2", "call_id": "call_2", "name": "other", "arguments": ""}
FINAL = {
    "id": "resp_1",
    "model": "gpt-5",
    "status": "completed",
    "output": [THOUGHT, GREETED, CALLED, SECOND],
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
EVENTS = [
    event("response.created", response=FINAL | {"status": "in_progress", "output": []}),
    event("response.output_item.added", output_index=0, item=THOUGHT | {"summary": [], "encrypted_content": "g"}),
    event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="One."),
    event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="Tw"),
    event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="o."),
    event("response.output_item.done", output_index=0, item=THOUGHT),
    event("response.output_item.added", output_index=1, item=GREETED | {"content": [], "status": "in_progress"}),
    event("response.output_text.delta", output_index=1, content_index=0, delta="Gr"),
    event("response.output_text.delta", output_index=1, content_index=0, delta="üße"),
    event("response.output_text.done", output_index=1, content_index=0, text="Grüße"),
    event("response.output_item.done", output_index=1, item=GREETED),
    event("response.output_item.added", output_index=2, item=CALLED | {"arguments": "", "status": "in_progress"}),
    event("response.function_call_arguments.delta", output_index=2, delta='{"q":'),
    event("response.output_item.added", output_index=3, item=SECOND | {"status": "in_progress"}),
    event("response.function_call_arguments.delta", output_index=2, delta=' "x"}'),
    event("response.function_call_arguments.done", output_index=2, arguments='{"q": "x"}'),
    event("response.output_item.done", output_index=2, item=CALLED),
    event("response.output_item.done", output_index=3, item=SECOND),
    event("response.something_new", output_index=3, delta="?"),
]
STREAM = b"".join([*EVENTS, event("response.completed", response=FINAL)])


def streamed(stream: bytes, size: int = 1 << 30) -> tuple[Reply, list[Any]]:
    decoder = WIRE.Decoder(ORIGIN)
    deltas = [d for start in range(0, len(stream), size) for d in decoder.feed(stream[start : start + size])]
    return decoder.reply(), deltas


def joined(deltas: Iterable[Any], kind: type[Any]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))


def test_a_stream_gives_what_the_whole_response_gives() -> None:
    answer, deltas = streamed(STREAM)
    assert answer == WIRE.decode(FINAL, ORIGIN)
    assert joined(deltas, TextDelta) == answer.text == "Grüße"
    assert joined(deltas, ReasoningDelta) == answer.reasoning == "One.\n\nTwo."
    assert [delta for delta in deltas if isinstance(delta, CallDelta)] == [
        CallDelta(0, "lookup", ""),
        CallDelta(0, "", '{"q":'),
        CallDelta(1, "other", ""),
        CallDelta(0, "", ' "x"}'),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_may_be_split_anywhere(end: str) -> None:
    stream = STREAM.replace(b"\n", end.encode())
    assert streamed(stream, 1) == streamed(stream, 7) == streamed(STREAM)
    decoder = WIRE.Decoder(ORIGIN)
    for cut in range(0, len(stream), 97):
        decoder = WIRE.Decoder(ORIGIN)
        decoder.feed(stream[:cut])
        decoder.feed(stream[cut:])
        assert decoder.reply() == WIRE.decode(FINAL, ORIGIN)


def test_a_last_event_without_output_leaves_it_to_the_items() -> None:
    last = event("response.completed", response=FINAL | {"output": []})
    assert streamed(b"".join(EVENTS) + last + b"data: [DONE]\n\n")[0] == WIRE.decode(FINAL, ORIGIN)
    unfinished = [data for data in EVENTS if b"output_item.done" not in data]
    answer, _ = streamed(b"".join(unfinished) + last)
    assert (answer.text, answer.tool_calls[0].arguments) == ("Grüße", {"q": "x"})


def test_a_server_without_deltas_still_gives_some() -> None:
    done = b"".join(data for data in EVENTS if b"output_item.done" in data)
    last = event("response.completed", response=FINAL)
    for stream in (done + last, last, last.rstrip()):
        answer, deltas = streamed(stream)
        assert answer == WIRE.decode(FINAL, ORIGIN)
        if stream is not last.rstrip() and deltas:
            assert joined(deltas, TextDelta) == "Grüße"
            assert joined(deltas, ReasoningDelta) == "One.\n\nTwo."
            assert CallDelta(0, "", '{"q": "x"}') in deltas


def test_an_incomplete_stream_is_a_reply_cut_by_the_limit() -> None:
    response = FINAL | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    answer, _ = streamed(b"".join(EVENTS) + event("response.incomplete", response=response))
    assert answer.stop == "length"
    assert [bool(call.problem) for call in answer.tool_calls] == [False, True]


@pytest.mark.parametrize("tail", [b"", b"event: response.completed\ndata: {", b"data: {\n\n"])
def test_a_cut_stream_says_what_had_come(tail: bytes) -> None:
    with pytest.raises(StreamCut) as caught:
        streamed(b"".join(EVENTS[:8]) + tail)
    assert caught.value.partial == "Gr"


# Histories


def equivalent(request: dict[str, Any]) -> dict[str, Any]:
    """A request without the differences that mean nothing: split messages and text that is not in a list."""
    given = request.get("input")
    merged: list[dict[str, Any]] = []
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or []:
        item = {k: v for k, v in item.items() if (k, v) != ("type", "message")}
        if "role" in item and isinstance(item.get("content"), str):
            kind = "output_text" if item["role"] == "assistant" else "input_text"
            item["content"] = [{"type": kind, "text": item["content"]}]
        if merged and item.get("role") == merged[-1].get("role") == "user":
            merged[-1]["content"] = merged[-1]["content"] + item["content"]
        else:
            merged.append(item)
    return request | {"input": merged}


def reencoded(request: dict[str, Any]) -> dict[str, Any]:
    target = Target("openai", "openai-responses", request["model"])
    reading = WIRE.read(request, target.origin)
    assert reading.changes == []
    return json.loads(WIRE.encode(reading.conversation, target, Options(extra=reading.rest, cache=False)).body)


USER = {"role": "user", "content": "Hello"}
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_x", "name": "shell", "input": "ls"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "call_x", "output": "a.txt"}


@pytest.mark.parametrize(
    "given",
    [
        "Hello",
        [USER, ENCRYPTED, SAID, CALLED, ANSWERED, {"role": "user", "content": "Go on"}],
        [USER, REASONING, CALLED, SAID, ANSWERED | {"id": "fco_1", "status": "completed"}],
        [USER, {"role": "assistant", "content": "Hi", "phase": "final_answer"}, USER],
        [{"role": "developer", "content": "Be brief."}, USER, {"role": "system", "content": "Now."}],
        [USER, CUSTOM, CUSTOM_OUTPUT],
        [USER, REASONING, CALLED, CUSTOM, CUSTOM_OUTPUT, ANSWERED],
        [USER, CALLED, CUSTOM, ANSWERED, CUSTOM_OUTPUT, SAID, USER],
        [USER, {"type": "shell_call", "call_id": "c", "action": {}}, {**ANSWERED, "call_id": "c"}],
        [USER, {"type": "item_reference", "id": "fc_9"}, {**ANSWERED, "call_id": "call_9"}],
        [{"id": "msg_9"}, USER],
        [{"type": "compaction", "id": "cmp_1", "encrypted_content": "gA"}, {**ANSWERED, "call_id": "call_9"}, USER],
        [USER, CALLED, ANSWERED | {"output": ""}, {"type": "additional_tools", "role": "developer", "tools": []}],
        [USER, CALLED, ANSWERED | {"output": [{"type": "input_file", "file_id": "file_1"}]}],
        [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/y.png", "detail": "low"}]}],
        [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}],
        [{"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:..."}]}],
        [{"role": "user", "content": [{"type": "brand_new", "x": 1}]}],
        [{"role": "user", "content": ""}],
        [USER, CALLED | {"call_id": "functions.f:0"}, ANSWERED | {"call_id": "functions.f:0"}],
        [USER, CALLED | {"call_id": "c" * 64, "name": "3d"}, ANSWERED | {"call_id": "c" * 64}],
        [USER, SAID | {"status": "incomplete", "content": []}, USER],
        [{"type": "message", "id": "msg_9", "status": "completed", **USER}, USER],
        [USER, SAID | {"content": [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}]}, USER],
        [
            USER,
            {"type": "computer_call", "call_id": "c", "id": "cu_1"},
            {"type": "computer_call_output", "call_id": "c"},
        ],
    ],
)
def test_what_the_api_accepts_comes_back_the_same(given: Any) -> None:
    request = {"model": "gpt-6-sol", "input": given, "instructions": "Be brief.", "previous_response_id": None}
    sent = reencoded(request)
    assert equivalent(sent) == equivalent(request)
    assert check(sent, "openai-responses") == []


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False},
        {"type": "function", "name": "f", "parameters": None, "strict": True, "description": None},
        {"type": "function", "name": "1f", "parameters": {"type": "object", "properties": {}}, "strict": False},
        {"type": "web_search", "search_context_size": "low"},
        {"type": "custom", "name": "shell", "description": "Runs."},
        {"type": "namespace", "name": "ns", "description": "", "tools": []},
        {"type": "function", "name": "tool_1", "parameters": {"type": "object", "properties": {}}, "strict": False},
    ],
)
def test_tools_come_back_the_same(tool: dict[str, Any]) -> None:
    tools = [{"type": "mcp", "server_label": "a"}, tool]
    request = {"model": "gpt-5", "input": [USER], "tools": tools, "include": ["x"], "store": False, "temperature": 1}
    assert equivalent(reencoded(request)) == equivalent(request)


def test_what_a_compaction_leaves_of_the_user_stays_the_users() -> None:
    left = {"type": "message", "id": "msg_9", "status": "completed", "role": "user"}
    left["content"] = [{"type": "input_text", "text": "Hello"}]
    answer = reply(left, {"type": "compaction", "id": "cmp_1", "encrypted_content": "gA"})
    assert middle(asked(*answer.parts))[0] == left
    assert answer.text == ""


def test_a_custom_tool_can_be_chosen_by_name() -> None:
    reading = WIRE.read({"input": [USER], "tools": [{"type": "custom", "name": "shell"}]}, ORIGIN)
    assert body(reading.conversation, tool_choice="shell")["tool_choice"] == {"type": "custom", "name": "shell"}


def test_outputs_for_calls_on_the_server_need_the_server_to_know() -> None:
    request = {"model": "gpt-5", "input": [ANSWERED], "previous_response_id": "resp_1"}
    assert equivalent(reencoded(request)) == request
    reading = WIRE.read(request, ORIGIN)
    assert reading.conversation.ready()
    [said] = items(reading.conversation)
    assert said["content"][0]["text"] == "[Result of an earlier call call_1]: found"


def test_a_request_that_ends_in_a_foreign_output_can_be_sent() -> None:
    reading = WIRE.read([USER, CUSTOM, CUSTOM_OUTPUT], ORIGIN)
    assert reading.rest == {}
    assert reading.conversation.ready()


def test_foreign_messages_have_a_text_for_others() -> None:
    content = [{"type": "input_text", "text": "Be brief."}]
    reading = WIRE.read([{"role": "developer", "content": content}, USER], ORIGIN)
    turn = reading.conversation.turns[0]
    assert isinstance(turn, UserTurn)
    assert [part.text for part in turn.parts if not isinstance(part, Image)] == ["Be brief.", "Hello"]
    assert reading.conversation.system == ""


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ([USER, CALLED, USER, SAID], ["unanswered-call"]),
        ([USER, ANSWERED], ["orphan-result"]),
        ([USER, CALLED, ANSWERED, ANSWERED], ["duplicate-result"]),
        ([USER, CALLED, ANSWERED, CALLED, ANSWERED], ["duplicate-id"]),
        ([USER, ANSWERED, CALLED], ["misplaced-result"]),
        ([USER, CALLED | {"arguments": "{"}, ANSWERED], ["bad-arguments"]),
        ([USER, CALLED | {"arguments": {"q": "x"}}, ANSWERED], ["bad-arguments"]),
        ([USER, CALLED | {"call_id": ""}, ANSWERED | {"call_id": ""}], ["bad-id"]),
        ([USER, CALLED | {"name": ""}, ANSWERED], ["bad-name"]),
        ([USER, CALLED, ANSWERED | {"output": {"a": 1}}], ["bad-result"]),
        ([USER, {"role": "critic", "content": "Bad."}], ["unknown-role"]),
        ([USER, {"role": "user", "content": []}], ["empty-message"]),
        ([USER, "text", {"x": 1}], ["unreadable", "unreadable"]),
        ([USER, {"role": "assistant", "content": [{"type": "input_text", "text": "Hi"}]}, USER], ["unreadable"]),
        ([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], ["unreadable"]),
        ([{"role": "user", "content": [{"type": "input_image"}]}], ["unreadable"]),
    ],
)
def test_broken_histories_are_repaired_and_reported(given: Any, codes: list[str]) -> None:
    reading = WIRE.read(given, ORIGIN)
    assert [change.code for change in reading.changes] == codes
    repaired, _ = reading.conversation.repair()
    repaired.add_user("Go on")
    for extra in ({}, STORED):
        body(repaired, extra=extra)


# The official SDK as referee


def parsed(adapter: TypeAdapter[Any], value: object) -> Any:
    """Validate, iterables too: pydantic leaves them for later."""
    checked = adapter.validate_python(value)
    return json.loads(adapter.dump_json(checked, warnings=False)) and checked


def test_the_sdk_knows_every_body() -> None:
    conversation = Conversation("Be brief.", [LOOKUP, ToolSpec("now")])
    conversation.add_user(["Hello", Chat("@coder-2", "Hi"), Image(data="iVBORw0KGgo=", media_type="image/png")])
    conversation.add_reply(reply(ENCRYPTED, SAID, CALLED, CALLED | {"call_id": "call_2"}).parts)
    conversation.add_tool_result("call_1", ["See:", Image(url="https://example.org/cat.png")])
    conversation.add_tool_result("call_2", "It broke", is_error=True)
    conversation.add_assistant([Text("Done."), foreign({"type": "tool_use"}, "[a tool]", ELSEWHERE)])
    conversation.add_user("Thanks")
    known = SDK.types.responses
    whole = TypeAdapter(known.response_create_params.ResponseCreateParamsNonStreaming)
    item: TypeAdapter[Any] = TypeAdapter(known.ResponseInputItemParam)
    tool: TypeAdapter[Any] = TypeAdapter(known.ToolParam)
    for extra in ({}, STORED):
        sent = body(conversation, max_tokens=50, reasoning="low", tool_choice="lookup", extra=extra)
        judge(whole, sent)
        for entry in sent["input"]:
            assert parsed(item, entry)
        for entry in sent["tools"]:
            assert parsed(tool, entry)


# Anything at all

names = st.sampled_from(
    ["type", "id", "role", "content", "input", "output", "call_id", "name", "arguments", "status", "error", "tools"]
)
words = st.sampled_from(
    [
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "user",
        "assistant",
        "call_1",
        "failed",
        "",
        "{}",
        "custom_tool_call",
        "input_image",
        "incomplete",
        "item_reference",
        "input_text",
        "developer",
        "\ud800",
    ]
)
leaves = st.none() | st.booleans() | st.integers(-3, 3) | words
anything = st.recursive(
    leaves, lambda x: st.lists(x, max_size=4) | st.dictionaries(names, x, max_size=6), max_leaves=25
)


@settings(max_examples=150, deadline=None)
@given(anything)
def test_any_json_can_be_read_and_decoded(data: Any) -> None:
    for given_ in (data, {"input": data}, {"output": data, "status": "completed"}, [data]):
        reading = WIRE.read(given_, ORIGIN)
        WIRE.encode(reading.conversation, TARGET, Options(extra={k: reading.rest.get(k) for k in ("store", "include")}))
        WIRE.parse_error(given_)
        try:
            conversation = Conversation()
            conversation.add_reply(WIRE.decode(given_, ORIGIN).parts)
            WIRE.encode(conversation, TARGET, Options())
        except AntiphonError:
            pass
        try:
            decoder = WIRE.Decoder(ORIGIN)
            decoder.feed(b"data: " + json.dumps(given_).encode() + b"\n\n")
            for kind in ("response.output_item.added", "response.output_text.delta", "response.completed"):
                decoder.feed(event(kind, item=data, delta=data, output_index=data, response=given_))
            decoder.reply()
        except AntiphonError:
            pass


origins = st.sampled_from([ORIGIN, OTHER_MODEL.origin, ELSEWHERE])
numbers = st.integers(1, 3)


def native(kind: str, prefix: str, **fields: Any) -> st.SearchStrategy[ProviderPayload]:
    return st.builds(lambda o, n: ProviderPayload(o, {"type": kind, "id": f"{prefix}_{n}", **fields}), origins, numbers)


def paired(kind: str, prefix: str) -> st.SearchStrategy[OpaquePart]:
    data = st.builds(
        lambda o, n, m: (o, {"type": kind, "id": f"{prefix}_{m}", "call_id": f"x_{n}"}), origins, numbers, numbers
    )
    return data.map(lambda pair: OpaquePart(ProviderPayload(*pair), ""))


user_parts = st.one_of(
    st.sampled_from([Text("Hi"), Chat("@a", "Yo"), Image(url="https://x/y.png")]),
    paired("custom_tool_call_output", "ctco").map(
        lambda f: OpaquePart(ProviderPayload(f.native.origin, f.native.data | {"output": ""}))
    ),
    native("input_file", "x", file_id="file_1").map(OpaquePart),
)
assistant_parts = st.one_of(
    st.sampled_from([Text("Hi"), Text(" "), Reasoning("Hm.")]),
    native("reasoning", "rs", summary=[], encrypted_content="gA").map(lambda n: Reasoning("", n)),
    native("reasoning", "rs", summary=[]).map(lambda n: Reasoning("", n)),
    native("message", "msg", role="assistant", content=SAID["content"]).map(lambda n: Text("Let me see.", n)),
    native("function_call", "fc", name="f", call_id="call_1").map(lambda n: ToolCall("call_1", "f", native=n)),
    native("web_search_call", "ws").map(OpaquePart),
    native("compaction", "cmp", encrypted_content="gA").map(OpaquePart),
    native("item_reference", "msg").map(OpaquePart),
    paired("custom_tool_call", "ctc"),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.lists(user_parts, min_size=1, max_size=3) | st.lists(assistant_parts, max_size=4), max_size=5))
def test_every_ready_conversation_is_accepted(turns: list[list[Any]]) -> None:
    conversation = Conversation(tools=[LOOKUP])
    for parts in turns:
        if parts and all(isinstance(part, Text | Chat | Image | OpaquePart) for part in parts) and _says(parts):
            conversation.add_user(parts)
        else:
            calls = conversation.add_reply([part for part in parts if not isinstance(part, Chat | Image)]).calls
            conversation.add_tool_results([ToolResult(call.id, "", bool(n % 2)) for n, call in enumerate(calls)])
    conversation.add_user("Go on")
    for target in (TARGET, OTHER_MODEL, Target("openai", "openai-responses", "gpt-4o")):
        for extra in ({}, STORED, {"previous_response_id": "resp_1"}):
            body(conversation, target, extra=extra)


def _says(parts: list[Any]) -> bool:
    return all(part.text.strip() for part in parts if isinstance(part, Text))


# Real traffic

RECORDINGS = os.environ.get("ANTIPHON_RECORDINGS", "")
recorded = pytest.mark.skipif(not RECORDINGS, reason="ANTIPHON_RECORDINGS names no directory of recorded traffic")


def exchanges() -> list[dict[str, Any]]:
    lines = Path(RECORDINGS, "openai-responses.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@recorded
def test_recorded_requests_come_back_the_same() -> None:
    for exchange in exchanges():
        if exchange["status"] == 200:
            assert equivalent(reencoded(exchange["request"])) == equivalent(exchange["request"]), exchange["id"]
        else:
            WIRE.read(exchange["request"], ORIGIN)
            assert WIRE.parse_error(exchange["response"]).message


@recorded
def test_recorded_answers_are_read_and_can_be_gone_on_from() -> None:
    for exchange in exchanges():
        if exchange["status"] != 200:
            continue
        target = Target("openai", "openai-responses", exchange["request"]["model"])
        if exchange["stream"]:
            stream = exchange["response"].encode()
            answer, deltas = streamed(stream)
            assert all(streamed(stream, size) == (answer, deltas) for size in (1, 7, 1000)), exchange["id"]
            assert joined(deltas, TextDelta) == answer.text
        else:
            answer = WIRE.decode(exchange["response"], target.origin)
        conversation = WIRE.read(exchange["request"], target.origin).conversation
        turn = conversation.add_reply(answer.parts)
        assert isinstance(turn, AssistantTurn)
        conversation.add_tool_results([ToolResult(call.id, "done") for call in turn.calls])
        conversation.add_user("Go on")
        for extra in ({}, STORED):
            body(conversation, target, extra=extra)


def test_what_ends_otherwise_than_it_was_told_is_not_told_again() -> None:
    item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Goodbye."}]}
    piece = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hel"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    ended = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    decoder = WIRE.Decoder(ORIGIN)
    deltas = decoder.feed("".join(f"data: {json.dumps(event)}\n\n" for event in (piece, done, ended)).encode())
    assert deltas == [TextDelta("Hel")]
    assert decoder.reply().text == "Goodbye."
