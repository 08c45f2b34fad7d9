"""What holds for every wire and every conversation."""

import itertools
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import AssistantTurn, Conversation, ProviderPayload, Reasoning, Text, ToolCall, ToolResult
from antiphon.errors import AntiphonError, OptionError
from antiphon.wire import APIS, Options, Profile, Target, detect_api, rules, wire
from antiphon.wire import read as read_history
from tests.strategies import TARGETS, any_text, conversations, json_values, ready_conversations

apis = pytest.mark.parametrize("api", APIS)


def violations(conversation: Conversation, target: Target, options: Options | None = None) -> list[rules.Violation]:
    body = wire(target.api).encode(conversation, target, options or Options()).body
    return rules.check(json.loads(body), target.api, target.model)


@apis
@given(conversation=ready_conversations())
@settings(max_examples=250)
def test_every_body_of_every_conversation_passes_the_rules(api: str, conversation: Conversation):
    assert violations(conversation, TARGETS[api]) == []


@apis
@given(
    conversation=ready_conversations(),
    stream=st.booleans(),
    cache=st.booleans(),
    tool_choice=st.sampled_from([None, "auto", "none", "required", "now"]),
    parallel=st.sampled_from([None, True]),
    reasoning=st.sampled_from([None, "none", "low", "high"]),
)
@settings(max_examples=100)
def test_whatever_the_options(api: str, conversation: Conversation, stream, cache, tool_choice, parallel, reasoning):
    options = Options(
        max_tokens=100,
        stream=stream,
        cache=cache,
        tool_choice=tool_choice,
        parallel_tool_calls=parallel,
        reasoning=reasoning,
    )
    target = TARGETS[api]
    if target.facts.thinking.default == "never" and reasoning in ("low", "high"):
        with pytest.raises(OptionError, match="does not reason"):
            violations(conversation, target, options)
        return
    assert violations(conversation, target, options) == []


@given(conversation=ready_conversations(), budget=st.integers(1024, 4096))
@settings(max_examples=100)
def test_thinking_is_never_asked_for_where_it_is_refused(conversation: Conversation, budget: int):
    for model, reasoning in (("claude-sonnet-4-5", budget), ("claude-sonnet-5", "high")):
        target = Target("anthropic", "anthropic", model)
        for choice in (None, "required"):
            assert violations(conversation, target, Options(reasoning=reasoning, tool_choice=choice)) == []


@pytest.mark.parametrize(
    "profile",
    [
        Profile(short_ids=True, assistant_after_tool=True, max_tokens_field="max_tokens"),
        Profile(reasoning_fields=("reasoning_content",), reasoning_required=True, images=False),
        Profile(declare_called_tools=True, system_role="developer"),
    ],
)
@given(conversation=ready_conversations())
@settings(max_examples=60)
def test_every_profile_of_compatible_servers(profile: Profile, conversation: Conversation):
    target = Target("custom", "openai-chat", "some-model", profile)
    body = json.loads(wire("openai-chat").encode(conversation, target, Options()).body)
    assert rules.check(body, "openai-chat", "some-model") == []
    if profile.short_ids:
        sent = [call["id"] for message in body["messages"] for call in message.get("tool_calls", [])]
        assert all(len(id) == 9 and id.isalnum() for id in sent)
        assert len(set(sent)) == len(sent)
        roles = [message["role"] for message in body["messages"]]
        assert ("tool", "user") not in list(itertools.pairwise(roles))


@apis
@given(conversation=ready_conversations(), data=st.data())
@settings(max_examples=60)
def test_the_bytes_of_what_is_settled_never_change(api: str, conversation: Conversation, data: st.DataObject):
    """A provider's prompt cache goes by the bytes: what was sent once is sent the same way again."""
    target, codec = TARGETS[api], wire(api)
    before = messages_of(codec.encode(conversation, target, Options()).body)
    conversation.add_reply([Text("I will look."), ToolCall("fresh", "now")])
    for call in conversation.open_calls:
        conversation.add_tool_result(call.id, data.draw(any_text))
    conversation.add_user("and then?")
    after = messages_of(codec.encode(conversation, target, Options()).body)
    assert after[: len(before)] == before
    assert after == messages_of(codec.encode(conversation.fork(), target, Options()).body), (
        "kept bytes are the right bytes"
    )


def messages_of(body: bytes) -> list[str]:
    data = json.loads(body)
    return [json.dumps(message) for message in data.get("messages") or data.get("input") or data.get("contents")]


@apis
@given(conversation=conversations())
@settings(max_examples=150)
def test_what_a_wire_writes_it_reads_without_complaint(api: str, conversation: Conversation):
    conversation, _ = conversation.repair()
    target, codec = TARGETS[api], wire(api)
    history = codec.history(conversation, target)
    reading = codec.read(json.loads(json.dumps(history)), target.origin)
    assert reading.changes == []
    again = codec.history(reading.conversation, target)
    assert again == history, "encode after import is the identity"


@apis
@given(value=json_values, data=st.data())
@settings(max_examples=150)
def test_any_json_reads_or_fails_with_our_own_errors(api: str, value: object, data: st.DataObject):
    key = APIS[api].history.field
    shape = data.draw(
        st.sampled_from(
            [
                value,
                {key: value},
                {key: [value]},
                {key: [{"role": "user", "content": value, "parts": value}]},
                {key: [{"role": "assistant", "content": value, "parts": value, "tool_calls": value}]},
                {key: [{"role": "model", "parts": [value]}, {"role": "user", "parts": [{"functionResponse": value}]}]},
                {key: [{"role": "user", "content": [{"type": "tool_result", "content": value, "tool_use_id": value}]}]},
                {key: [{"type": "function_call", "arguments": value, "call_id": value, "name": value}]},
                {key: [], "tools": value, "system": value, "instructions": value, "systemInstruction": value},
                {key: [], "tools": [value]},
                {key: [{"type": "user_input", "content": value}, {"type": "model_output", "content": [value]}]},
                {key: [{"type": "function_call", "id": value, "name": value, "arguments": value}]},
                {key: [{"type": "function_result", "call_id": value, "result": value}], "tools": [{"type": value}]},
            ]
        )
    )
    codec = wire(api)
    with suppress(AntiphonError):
        reading = codec.read(shape, TARGETS[api].origin)
        repaired, _ = reading.conversation.repair()
        codec.history(repaired, TARGETS[api])
        repaired.add_user("go on")
        assert violations(repaired, TARGETS[api]) == []
    with suppress(AntiphonError):
        codec.decode(shape, TARGETS[api].origin)
    with suppress(AntiphonError):
        codec.parse_error(shape)
    with suppress(AntiphonError):
        read_history(shape)


@apis
@given(chunks=st.lists(st.binary(max_size=40), max_size=5), value=json_values)
@settings(max_examples=100)
def test_any_bytes_stream_or_fail_with_our_own_errors(api: str, chunks: list[bytes], value: object):
    decoder = wire(api).Decoder(TARGETS[api].origin)
    with suppress(AntiphonError):
        for chunk in [*chunks, f"data: {json.dumps(value)}\n\n".encode("utf-8", "replace")]:
            decoder.feed(chunk)
        decoder.reply()


@pytest.mark.parametrize("second", APIS)
@pytest.mark.parametrize("first", APIS)
@given(text=any_text)
@settings(max_examples=10)
def test_a_switch_of_provider_in_mid_conversation(first: str, second: str, text: str):
    """Calls, results, images and reasoning made with one provider, continued with another, and back again."""
    data = {
        "anthropic": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        "openai-chat": {"reasoning_content": "hm"},
        "openai-responses": {"type": "reasoning", "summary": [], "encrypted_content": "c2ln"},
        "gemini": {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        "google-interactions": {"type": "thought", "signature": "c2ln"},
    }
    conversation = Conversation("Be brief.", [])
    conversation.add_user("look")
    for number, api in enumerate((first, second, first)):
        block = {**data[api], "id": f"rs_{number}"} if api == "openai-responses" else data[api]
        reasoning = Reasoning("hm", ProviderPayload(TARGETS[api].origin, block))
        calls = [ToolCall("c", "read_file", {"p": text}), ToolCall("d", "now")]
        conversation.add_reply([reasoning, Text("Looking."), *calls])
        for call in conversation.open_calls:
            conversation.add_tool_result(call.id, text)
        conversation.add_user("go on")
        for target in TARGETS.values():
            assert violations(conversation, target) == []
    body = wire(second).encode(conversation, TARGETS[second], Options()).body.decode()
    assert body.count("c2ln") == (0 if second == "openai-chat" else 3 if first == second else 1)


@apis
@given(conversation=conversations())
@settings(max_examples=50)
def test_the_shape_of_a_written_history_is_recognised(api: str, conversation: Conversation):
    conversation, _ = conversation.repair()
    conversation.add_user("x")
    conversation.add_reply([ToolCall("some_id", "now")])
    conversation.add_tool_results([ToolResult(call.id, "y") for call in conversation.open_calls])
    history = wire(api).history(conversation, TARGETS[api])
    assert detect_api(history) == api
    listed = history.get("messages") or history.get("input") or history.get("contents")
    assert detect_api(listed) == api
    assert isinstance(read_history(listed).conversation.turns[-1], AssistantTurn)


def test_a_request_of_mere_text_is_recognised_by_its_model():
    said = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert detect_api({"model": "claude-sonnet-5", "max_tokens": 5, "messages": said}) == "anthropic"
    assert detect_api({"model": "anthropic/claude-sonnet-5", "max_tokens": 5, "messages": said}) == "openai-chat"
    served = {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "x", "content": []}]}
    assert detect_api([*said, served]) == "anthropic"
