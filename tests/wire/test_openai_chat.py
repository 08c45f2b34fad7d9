"""OpenAI's Chat Completions API: exact bodies, decoding, streams of all manners, foreign histories, real traffic."""

import json
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

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
    shorten_call_id,
)
from antiphon.errors import (
    AntiphonError,
    BadReply,
    OptionError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StatusError,
    StreamCut,
)
from antiphon.providers import PROVIDERS
from antiphon.wire import CallDelta, Options, Profile, ReasoningDelta, Target, TextDelta, Usage, openai_chat, rules
from antiphon.wire.body import UNSHOWABLE_TEXT
from tests.lazily import Lazily
from tests.recordings import exchanges
from tests.strategies import json_values
from tests.wire.referee import judge

TARGET = Target("openai", "openai-chat", "gpt-4o")
ORIGIN = TARGET.origin
DEEPSEEK = Target("deepseek", "openai-chat", "deepseek-v4", PROVIDERS["deepseek"].profile)
MISTRAL = Target("mistral", "openai-chat", "mistral-large", PROVIDERS["mistral"].profile)
OPENROUTER = Target("openrouter", "openai-chat", "anthropic/claude-sonnet-5", PROVIDERS["openrouter"].profile)
SDK = Lazily("openai")
PNG = Image(data="iVBORw0KGgo=", media_type="image/png")
PNG_BLOCK = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@cache
def request_type() -> TypeAdapter[Any]:
    return TypeAdapter(SDK.types.chat.completion_create_params.CompletionCreateParamsNonStreaming)


def body(conversation: Conversation, target: Target = TARGET, **options: Any) -> dict[str, Any]:
    data = json.loads(openai_chat.encode(conversation, target, Options(**options)).body)
    assert rules.check(data, "openai-chat") == []
    if target is TARGET and not options.get("stream"):
        judge(request_type(), data)
    return data


def sent(conversation: Conversation, target: Target = TARGET) -> list[dict[str, Any]]:
    return body(conversation, target)["messages"]


def call_message(*calls: tuple[str, str, str], content: str | None = None) -> dict[str, Any]:
    functions = [(id, {"name": name, "arguments": arguments}) for id, name, arguments in calls]
    tool_calls = [{"id": id, "type": "function", "function": function} for id, function in functions]
    return {"role": "assistant", "content": content, "tool_calls": tool_calls}


def tool_message(id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def asking(*calls: ToolCall) -> Conversation:
    conversation = Conversation()
    conversation.add_user("hi")
    conversation.add_assistant_tool_calls(calls or [ToolCall("t1", "f")])
    return conversation


def after(*parts: Any) -> Conversation:
    """A conversation in which the model has said this and is asked to go on."""
    conversation = Conversation()
    conversation.add_user("hi")
    conversation.add_reply(parts)
    conversation.add_tool_results([ToolResult(call.id, "x") for call in conversation.open_calls])
    conversation.add_user("go on")
    return conversation


def test_results_come_first_and_human_input_after_them_in_one_message():
    tool = ToolSpec("list_files", "Lists", {"properties": {"pattern": {}}})
    conversation = Conversation("Be brief.", [tool])
    conversation.add_user("What is here?")
    conversation.add_assistant_tool_calls([ToolCall("tool-1", "list_files", {"pattern": "*"})], "Let me check...")
    conversation.add_user("general knowledge probably...")
    conversation.add_user("I am busy", author="@coder-2")
    conversation.add_tool_result("tool-1", "file1.go\nfile2.go")
    parameters = {"type": "object", "properties": {"pattern": {}}}
    function = {"name": "list_files", "description": "Lists", "parameters": parameters}
    assert body(conversation) == {
        "model": "gpt-4o",
        "tools": [{"type": "function", "function": function}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is here?"},
            call_message(("tool-1", "list_files", '{"pattern":"*"}'), content="Let me check..."),
            tool_message("tool-1", "file1.go\nfile2.go"),
            {"role": "user", "content": "general knowledge probably...\n\n[Chat from @coder-2]: I am busy"},
        ],
    }
    assert openai_chat.path(TARGET, stream=False) == "/chat/completions"


def test_parallel_calls_are_one_message_and_their_results_stand_together_in_order():
    conversation = asking(ToolCall("a", "f"), ToolCall("b", "g", {"x": "é"}))
    conversation.add_tool_result("b", "2")
    conversation.add_tool_result("a", "1")
    assert sent(conversation)[1:] == [
        call_message(("a", "f", "{}"), ("b", "g", '{"x":"é"}')),
        tool_message("a", "1"),
        tool_message("b", "2"),
    ]


def test_arguments_go_back_as_the_model_wrote_them():
    arguments = '{ "b":1.0,\n "a": [ ] }'
    message = sent(after(ToolCall.read("c", "f", arguments)))[1]
    assert message["tool_calls"][0]["function"]["arguments"] == arguments


def test_arguments_that_were_never_json_go_back_as_json():
    message = sent(after(ToolCall.read("c", "f", '{"a": ')))[1]
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"_malformed": '{"a": '}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("t1", " "), "(no output)"),
        (ToolResult("t1", ()), "(no output)"),
        (ToolResult("t1", "no such file", True), "Error: no such file"),
        (ToolResult("t1", "Error: no such file", True), "Error: no such file"),
        (ToolResult("t1", "", True), "Error: (no output)"),
        (ToolResult("t1", (Text("a"), Text("b"))), "a\nb"),
        (ToolResult("t1", (OpaquePart(ProviderPayload(Origin("x", "gemini", "y"), {}), "[doc]"),)), "[doc]"),
    ],
)
def test_results(result: ToolResult, text: str):
    conversation = asking()
    conversation.add_tool_results([result])
    assert sent(conversation)[-1] == tool_message("t1", text)


def test_images_of_results_follow_all_tool_messages_in_one_user_message():
    conversation = asking(ToolCall("a", "f"), ToolCall("b", "g"))
    conversation.add_tool_result("a", [PNG])
    conversation.add_tool_result("b", ["seen", Image(url="https://example.com/x.png")])
    conversation.add_user("Well?")
    assert sent(conversation)[2:] == [
        tool_message("a", "(The images follow in the next message.)"),
        tool_message("b", "seen"),
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Image in the result of call a to `f`:"},
                PNG_BLOCK,
                {"type": "text", "text": "Image in the result of call b to `g`:"},
                {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}},
                {"type": "text", "text": "Well?"},
            ],
        },
    ]


def test_where_images_are_not_taken_they_are_lines_of_text():
    conversation = asking()
    conversation.add_tool_result("t1", [PNG])
    conversation.add_user(["look", PNG, Image(url="https://example.com/x.png")])
    target = Target("deepseek", "openai-chat", "m", Profile(images=False))
    reason = "m cannot see images; describe it, or ask a model that can"
    assert sent(conversation, target)[2:] == [
        tool_message("t1", f"[an image that is not shown: {reason}]"),
        {
            "role": "user",
            "content": f"look\n\n[an image that is not shown: {reason}]"
            f"\n\n[an image at https://example.com/x.png that is not shown: {reason}]",
        },
    ]


def test_an_answer_with_nothing_to_send_is_left_out_and_its_neighbours_merge():
    other = ProviderPayload(Origin("google", "gemini", "g"), {"x": 1})
    assert sent(after(Reasoning("hm"), Text(" "), OpaquePart(other))) == [{"role": "user", "content": "hi\n\ngo on"}]


def test_a_user_turn_always_says_something():
    conversation = Conversation()
    conversation.add_user(OpaquePart(ProviderPayload(Origin("google", "gemini", "g"), {"fileData": {}})))
    assert sent(conversation) == [{"role": "user", "content": UNSHOWABLE_TEXT}]
    conversation.add_assistant("What is it?").add_user("A song.")
    assert [each["role"] for each in sent(conversation)] == ["user", "assistant", "user"]


def test_texts_around_other_parts_are_one_text():
    assert sent(after(Text("a"), ToolCall("c", "f"), Text("b")))[1]["content"] == "a\n\nb"


class TestReasoning:
    def test_it_goes_back_to_its_own_model_alone(self):
        thinking = Reasoning("hm", ProviderPayload(DEEPSEEK.origin, {"reasoning_content": "hm"}))
        conversation = after(thinking, Text("well"))
        assert sent(conversation, DEEPSEEK)[1]["reasoning_content"] == "hm"
        other = Target("deepseek", "openai-chat", "deepseek-v5", DEEPSEEK.profile)
        assert sent(conversation, other)[1] == {"role": "assistant", "content": "well"}
        assert "hm" not in json.dumps(sent(conversation))

    def test_deepseek_gets_the_field_with_calls_whoever_made_them(self):
        thinking = Reasoning("hm", ProviderPayload(ORIGIN, {"reasoning_content": "hm"}))
        conversation = after(thinking, ToolCall("c", "f"))
        # In thinking mode it refuses calls without the field.
        assert sent(conversation, DEEPSEEK)[1]["reasoning_content"] == ""
        assert "reasoning_content" not in sent(after(Text("well")), DEEPSEEK)[1]

    def test_only_servers_that_want_it_get_it(self):
        thinking = Reasoning("hm", ProviderPayload(ORIGIN, {"reasoning_content": "hm"}))
        assert sent(after(thinking, Text("well")))[1] == {"role": "assistant", "content": "well"}

    def test_details_go_back_as_the_list_they_were(self):
        details = [
            {"type": "reasoning.text", "text": "hm", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.encrypted", "data": "c2ln", "id": "r1", "index": 0, "format": None},
        ]
        message = {"role": "assistant", "content": "well", "reasoning": "hm", "reasoning_details": details}
        reply = openai_chat.decode({"choices": [{"message": message}]}, OPENROUTER.origin)
        assert reply.reasoning == "hm"
        back = {"role": "assistant", "content": "well", "reasoning_details": details}
        assert sent(after(*reply.parts), OPENROUTER)[1] == back
        assert "reasoning_details" not in json.dumps(sent(after(*reply.parts), DEEPSEEK))

    def test_a_message_without_thinking_has_no_field_for_it(self):
        for message in ({"content": "well", "reasoning": None}, {"content": "well", "reasoning_details": []}):
            reply = openai_chat.decode({"choices": [{"message": message}]}, OPENROUTER.origin)
            assert sent(after(*reply.parts), OPENROUTER)[1] == {"role": "assistant", "content": "well"}

    @pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_text"])
    def test_text_goes_back_in_the_field_that_the_server_has_for_it(self, field: str):
        for provider, own in (("ollama", "reasoning"), ("zai", "reasoning_content"), ("openrouter", "reasoning")):
            target = Target(provider, "openai-chat", "m", PROVIDERS[provider].profile)
            reply = openai_chat.decode({"choices": [{"message": {"content": "well", field: "hm"}}]}, target.origin)
            assert reply.reasoning == "hm"
            assert sent(after(*reply.parts), target)[1] == {"role": "assistant", "content": "well", own: "hm"}

    def test_thinking_in_the_content(self):
        target = Target("mistral", "openai-chat", "magistral", MISTRAL.profile)
        content = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "well"}]
        reply = openai_chat.decode({"choices": [{"message": {"content": content}}]}, target.origin)
        assert (reply.reasoning, reply.text) == ("hm", "well")
        assert sent(after(*reply.parts), target)[1]["content"] == content
        assert sent(after(*reply.parts))[1]["content"] == "well"

    def test_a_call_keeps_its_signature_for_its_own_model(self):
        extra = {"google": {"thought_signature": "c2ln"}}
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
        reply = openai_chat.decode({"choices": [{"message": {"tool_calls": [call]}}]}, ORIGIN)
        conversation = after(*reply.parts)
        assert sent(conversation)[1]["tool_calls"] == [call]
        other = Target("openai", "openai-chat", "gpt-5")
        assert "c2ln" not in json.dumps(sent(conversation, other))


class TestProfiles:
    def test_nine_letters_and_digits(self):
        conversation = asking(ToolCall("call_1", "f"), ToolCall("abcDEF123", "f"))
        conversation.add_tool_result("call_1", [PNG])
        conversation.add_tool_result("abcDEF123", "y")
        messages = sent(conversation, MISTRAL)
        ids = [shorten_call_id("call_1"), "abcDEF123"]
        assert [call["id"] for call in messages[1]["tool_calls"]] == ids
        assert [message["tool_call_id"] for message in messages[2:4]] == ids
        assert ids[0] in messages[-1]["content"][0]["text"]

    def test_the_assistant_speaks_between_results_and_user(self):
        conversation = asking()
        conversation.add_tool_result("t1", "x")
        before = openai_chat.encode(conversation, MISTRAL, Options()).body
        conversation.add_user(
            OpaquePart(ProviderPayload(MISTRAL.origin, {"role": "user", "content": "q", "name": "ann"}))
        )
        roles = [message["role"] for message in sent(conversation, MISTRAL)]
        assert roles == ["user", "assistant", "tool", "assistant", "user"]
        assert openai_chat.encode(conversation, MISTRAL, Options()).body.startswith(before[:-2])
        conversation.add_reply([Text("ok"), ToolCall("t2", "f")])
        conversation.add_tool_result("t2", [PNG])
        roles = [message["role"] for message in sent(conversation, MISTRAL)]
        assert roles[5:] == ["assistant", "tool", "assistant", "user"]
        assert b"\x1e" not in before

    def test_called_tools_are_declared_where_servers_insist(self):
        conversation = asking()
        conversation.add_tool_result("t1", "x")
        target = Target("litellm", "openai-chat", "m", Profile(declare_called_tools=True))
        data = body(conversation, target, tool_choice="auto")
        assert [tool["function"]["name"] for tool in data["tools"]] == ["f"]
        assert data["tool_choice"] == "none"
        conversation.tools = [ToolSpec("g")]
        assert [tool["function"]["name"] for tool in body(conversation, target)["tools"]] == ["g"]
        assert "tools" not in body(asking_nothing(), target)

    def test_the_system_role(self):
        conversation = asking_nothing()
        conversation.system = "Be brief."
        target = Target("openai", "openai-chat", "o3", Profile(system_role="developer"))
        assert sent(conversation, target)[0] == {"role": "developer", "content": "Be brief."}


def asking_nothing() -> Conversation:
    conversation = Conversation()
    conversation.add_user("hi")
    return conversation


class TestOptions:
    def test_all_of_them(self):
        conversation = asking_nothing()
        conversation.tools = [ToolSpec("f")]
        data = body(
            conversation,
            Target("openai", "openai-chat", "gpt-5.2"),
            max_tokens=100,
            temperature=0.0,
            top_p=0.5,
            stop=("END",),
            tool_choice="f",
            parallel_tool_calls=False,
            reasoning="none",
            stream=True,
            extra={"seed": 1, "top_p": 0.7},
        )
        del data["messages"], data["tools"]
        assert data == {
            "model": "gpt-5.2",
            "max_completion_tokens": 100,
            "temperature": 0.0,
            "top_p": 0.7,
            "stop": ["END"],
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "parallel_tool_calls": False,
            "reasoning_effort": "none",
            "stream": True,
            "stream_options": {"include_usage": True},
            "seed": 1,
        }

    @pytest.mark.parametrize("choice", ["auto", "none", "required"])
    def test_tool_choices(self, choice: str):
        conversation = asking_nothing()
        assert "tool_choice" not in body(conversation, tool_choice=choice, parallel_tool_calls=True)
        conversation.tools = [ToolSpec("f")]
        assert body(conversation, tool_choice=choice)["tool_choice"] == choice

    def test_where_servers_differ(self):
        target = Target("x", "openai-chat", "m", Profile(stream_usage=False, max_tokens_field="max_tokens"))
        data = body(asking_nothing(), target, stream=True, max_tokens=7)
        assert "stream_options" not in data
        assert data["max_tokens"] == 7

    def test_options_the_api_has_no_field_for(self):
        with pytest.raises(OptionError, match="`reasoning`; give a word"):
            body(asking_nothing(), Target("openai", "openai-chat", "gpt-5.2"), reasoning=2048)
        with pytest.raises(OptionError, match="gpt-4o does not reason"):
            body(asking_nothing(), reasoning="low")
        target = Target("openai", "openai-chat", "o3", Profile(sampling=False))
        with pytest.raises(OptionError, match="`temperature` or `top_p`"):
            body(asking_nothing(), target, temperature=1.0)

    def test_a_schema_with_null_for_required_is_mended(self):
        schema = {"properties": {"a": {"type": "object", "required": None}}, "required": None}
        conversation = Conversation(tools=[ToolSpec("f", "", schema)])
        conversation.add_user("hi")
        parameters = body(conversation)["tools"][0]["function"]["parameters"]
        assert parameters == {"type": "object", "properties": {"a": {"type": "object"}}}

    def test_tools_of_other_providers(self):
        other = Origin("anthropic", "anthropic", "c")
        marked = ToolSpec("f", "", {"properties": {}}, ProviderPayload(other, {"name": "f", "strict": True}))
        builtin = ToolSpec("bash", "", {}, ProviderPayload(other, {"type": "bash_20250124", "name": "bash"}))
        conversation = Conversation(tools=[marked, builtin])
        conversation.add_user("hi")
        assert [tool["function"]["name"] for tool in body(conversation)["tools"]] == ["f"]


CALLS = call_message(("call_1", "list_files", '{"pattern": "*"}'), ("call_2", "now", "{}"))["tool_calls"]
USAGE = {
    "prompt_tokens": 17,
    "completion_tokens": 7,
    "total_tokens": 24,
    "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def response(reason: str | None = "tool_calls", **message: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], **message}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    top = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024-08-06"}
    return {**top, "choices": [choice], "usage": USAGE}


WHOLE = response(content="Looking — ✓", reasoning_content="Hm, well.", tool_calls=CALLS)


class TestDecoding:
    def test_a_reply(self):
        SDK.types.chat.ChatCompletion.model_validate(WHOLE)
        reply = openai_chat.decode(WHOLE, ORIGIN)
        assert (reply.text, reply.reasoning) == ("Looking — ✓", "Hm, well.")
        assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
            ("call_1", "list_files", {"pattern": "*"}),
            ("call_2", "now", {}),
        ]
        assert (reply.stop, reply.stop_reason, reply.model, reply.id) == (
            "tool_calls",
            "tool_calls",
            "gpt-4o-2024-08-06",
            "chatcmpl-1",
        )
        assert reply.usage == Usage(17, 7, 5, 2, 3)

    @pytest.mark.parametrize(
        ("reason", "message", "stop"),
        [
            ("stop", {}, "end"),
            ("stop", {"tool_calls": CALLS}, "tool_calls"),
            ("stop", {"refusal": "no"}, "refusal"),
            ("tool_calls", {}, "end"),
            ("function_call", {"function_call": {"name": "f", "arguments": ""}}, "tool_calls"),
            ("length", {}, "length"),
            ("content_filter", {}, "refusal"),
            (None, {}, "end"),
        ],
    )
    def test_stop_reasons(self, reason: str | None, message: dict[str, Any], stop: str):
        reply = openai_chat.decode(response(reason, **message), ORIGIN)
        assert (reply.stop, reply.stop_reason) == (stop, reason or "")

    def test_a_call_cut_off_by_the_token_limit_is_marked(self):
        first, second = openai_chat.decode(response("length", tool_calls=CALLS), ORIGIN).tool_calls
        assert first.problem is None
        assert second.problem == "cut off by the token limit before its arguments were complete"

    @pytest.mark.parametrize(
        ("arguments", "expected", "problem"),
        [
            ("", {}, None),
            (None, {}, None),
            ({"a": 1}, {"a": 1}, None),
            ('{"a": ', {"_malformed": '{"a": '}, "not JSON"),
            ("null", {"_malformed": None}, "JSON object"),
            ("5", {"_malformed": 5}, "JSON object"),
        ],
    )
    def test_arguments(self, arguments: Any, expected: dict[str, Any], problem: str | None):
        call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
        (read,) = openai_chat.decode(response(tool_calls=[call]), ORIGIN).tool_calls
        assert read.arguments == expected
        assert (problem or "") in (read.problem or "")
        assert (problem is None) == (read.problem is None)

    def test_ids_that_are_missing_or_not_unique_are_made_up(self):
        function = {"name": "f", "arguments": "{}"}
        calls = [{"id": id, "function": function} for id in ("", None, "x", "x", "functions.f:0")]
        ids = [call.id for call in openai_chat.decode(response(tool_calls=calls), ORIGIN).tool_calls]
        assert len(set(ids)) == 5
        assert ids[2] == "x"

    @pytest.mark.parametrize(
        "message",
        [
            {"refusal": "I cannot."},
            {"content": "hi", "name": "ann"},
            {"content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]},
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]},
        ],
    )
    def test_what_only_this_api_has_goes_back_as_it_came(self, message: dict[str, Any]):
        reply = openai_chat.decode(response(**message), ORIGIN)
        assert sent(after(*reply.parts))[1] == {"role": "assistant", "content": None, **message}

    @pytest.mark.parametrize("content", ["", "\n\n"])
    def test_an_answer_without_words_goes_back_too(self, content: str):
        reply = openai_chat.decode(response("length", content=content), ORIGIN)
        assert reply.text == content
        assert sent(after(*reply.parts))[1] == {"role": "assistant", "content": content}
        assert [message["role"] for message in sent(after(*reply.parts), DEEPSEEK)] == ["user"]

    def test_a_system_text_keeps_the_role_it_was_read_with(self):
        conversation = openai_chat.read([{"role": "developer", "content": "s"}, USER], ORIGIN).conversation
        assert conversation.system == "s"
        assert sent(conversation)[0]["role"] == "developer"
        assert sent(conversation, DEEPSEEK)[0]["role"] == "system"
        conversation.system = "t"
        assert sent(conversation)[0] == {"role": "system", "content": "t"}

    def test_fields_that_no_request_may_hold_are_kept_but_not_sent(self):
        cited = {"annotations": [{"type": "url_citation"}], "executed_tools": [{"type": "search"}]}
        reply = openai_chat.decode(response(content="See x.", **cited), ORIGIN)
        assert sent(after(*reply.parts))[1] == {"role": "assistant", "content": "See x."}
        (kept,) = (part for part in reply.parts if isinstance(part, OpaquePart))
        assert kept.native.data == {"_received": cited}

    def test_other_providers_are_shown_what_can_be_read(self):
        refusal = openai_chat.decode(response(refusal="I cannot."), ORIGIN)
        assert sent(after(*refusal.parts), DEEPSEEK)[1]["content"] == "I cannot."
        call = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
        custom = openai_chat.decode(response(tool_calls=[call]), ORIGIN)
        function = sent(after(*custom.parts), DEEPSEEK)[1]["tool_calls"][0]["function"]
        assert function == {"name": "sql", "arguments": '{"input":"select 1"}'}

    def test_sound_goes_back_by_its_id(self):
        audio = {"id": "audio_1", "data": "aGk=", "expires_at": 1, "transcript": "hello"}
        reply = openai_chat.decode(response("stop", audio=audio), ORIGIN)
        assert sent(after(*reply.parts))[1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
        assert sent(after(*reply.parts), DEEPSEEK)[1]["content"] == "hello"

    def test_only_the_first_choice_counts(self):
        data = response(content="a")
        data["choices"] = [{"index": 1, "message": {"content": "b"}}, *data["choices"]]
        assert openai_chat.decode(data, ORIGIN).text == "a"

    @pytest.mark.parametrize(
        ("usage", "expected"),
        [
            ({}, Usage()),
            ({"prompt_tokens": 3, "completion_tokens": 4, "prompt_cache_hit_tokens": 2}, Usage(3, 4, 2)),
            (
                {
                    "prompt_tokens": 3,
                    "completion_tokens": 4,
                    "total_tokens": 12,
                    "completion_tokens_details": {"reasoning_tokens": 5},
                },
                Usage(3, 9, reasoning_tokens=5),
            ),
        ],
    )
    def test_usage_of_other_servers(self, usage: dict[str, Any], expected: Usage):
        assert openai_chat.decode({"choices": [], "usage": usage}, ORIGIN).usage == expected

    @pytest.mark.parametrize("nonsense", [None, 3, [], "x", {}])
    def test_what_is_no_answer_is_a_bad_reply(self, nonsense: object):
        with pytest.raises(BadReply, match="openai answered with"):
            openai_chat.decode(nonsense, ORIGIN)

    def test_an_error_with_status_200(self):
        with pytest.raises(RateLimited, match="slow down") as caught:
            openai_chat.decode({"error": {"code": 429, "message": "slow down"}}, ORIGIN)
        assert caught.value.status == 429

    @pytest.mark.parametrize(
        ("data", "message", "kind"),
        [
            (
                {"error": {"message": "no", "type": "invalid_request_error", "code": None}},
                "no",
                "invalid_request_error",
            ),
            ({"error": {"message": "no", "type": "x", "code": "model_not_found"}}, "no", "model_not_found"),
            ({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, "no", "BadRequestError"),
            ({"error": "no"}, "no", ""),
            ({"detail": "no"}, "no", ""),
            ({"detail": [{"loc": ["body"], "msg": "a"}, {"msg": "b"}]}, "body: a; b", ""),
            ("no", "", ""),
        ],
    )
    def test_error_bodies(self, data: object, message: str, kind: str):
        text = openai_chat.parse_error(data)
        assert (text.message, text.kind) == (message, kind)


def events(chunks: list[Any], done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([": keep-alive\n\n", *lines, "data: [DONE]\n\n" if done else ""]).encode("utf-8", "replace")


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    top = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-2024-08-06"}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {**top, "choices": [choice], "usage": None}


def piece(index: int | None, id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    given = {k: v for k, v in (("index", index), ("id", id)) if v is not None}
    return {**given, "type": "function", "function": function}


STREAM = events(
    [
        chunk(role="assistant", content="", refusal=None),
        chunk(reasoning_content="Hm, "),
        chunk(reasoning_content="well."),
        {**chunk(), "choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        chunk(content="Looking "),
        chunk(content="— ✓"),
        chunk(tool_calls=[piece(0, "call_1", "list_files", "")]),
        chunk(tool_calls=[piece(0, None, None, '{"pat')]),
        chunk(tool_calls=[piece(1, "call_2", "now", "")]),
        chunk(tool_calls=[piece(0, None, None, 'tern": "*"}')]),
        chunk(tool_calls=[piece(1, None, None, "{}")]),
        chunk("tool_calls"),
        {**chunk(), "choices": [], "usage": USAGE},
    ]
)


def fed(stream: bytes, size: int = 1 << 20, origin: Origin = ORIGIN):
    decoder = openai_chat.Decoder(origin)
    deltas = [delta for n in range(0, len(stream), size) for delta in decoder.feed(stream[n : n + size])]
    return decoder.reply(), deltas


def calls_of(*pieces: list[dict[str, Any]]) -> list[tuple[str, str]]:
    reply, deltas = fed(events([*(chunk(tool_calls=group) for group in pieces), chunk("tool_calls")]))
    for index, call in enumerate(reply.tool_calls):
        mine = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == index]
        assert (mine[0].name, "".join(delta.arguments for delta in mine)) == (call.name, call.arguments_json)
    assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)
    return [(call.name, call.arguments_json) for call in reply.tool_calls]


class TestStreams:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
    def test_split_anywhere_it_is_the_same_reply(self, size: int):
        reply, deltas = fed(STREAM, size)
        assert reply == openai_chat.decode(WHOLE, ORIGIN)
        assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Looking — ✓"
        assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Hm, well."
        calls = [d for d in deltas if isinstance(d, CallDelta)]
        assert [(d.index, d.name) for d in calls if d.name] == [(0, "list_files"), (1, "now")]
        assert "".join(d.arguments for d in calls if d.index == 0) == '{"pattern": "*"}'

    @pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
    def test_split_at_every_byte_with_every_line_ending(self, ending: str):
        stream = STREAM.replace(b"\n", ending.encode())
        whole = openai_chat.decode(WHOLE, ORIGIN)
        for cut in range(len(stream) + 1):
            decoder = openai_chat.Decoder(ORIGIN)
            decoder.feed(stream[:cut])
            decoder.feed(stream[cut:])
            assert decoder.reply() == whole

    def test_cut_anywhere_before_its_reason_to_stop_it_is_a_cut_stream(self):
        end = STREAM.index(b'"finish_reason": "tool_calls"')
        for cut in range(0, end, 7):
            with pytest.raises(StreamCut):
                fed(STREAM[:cut])

    def test_cut_after_its_reason_to_stop_it_is_complete(self):
        start = STREAM.index(b"data", STREAM.index(b'"finish_reason": "tool_calls"'))
        for cut in range(start, len(STREAM), 7):
            assert fed(STREAM[:cut])[0].parts == openai_chat.decode(WHOLE, ORIGIN).parts

    def test_the_last_event_need_not_be_closed(self):
        reply, _ = fed(events([chunk(content="a"), chunk("stop")], done=False).removesuffix(b"\n\n"))
        assert (reply.text, reply.stop) == ("a", "end")

    def test_an_end_without_a_reason_is_an_end(self):
        reply, _ = fed(events([chunk(content="a")]))
        assert (reply.text, reply.stop, reply.stop_reason) == ("a", "end", "")
        reply, _ = fed(events([chunk(tool_calls=[piece(0, "a", "f", "{}")])]))
        assert reply.stop == "tool_calls"

    def test_what_had_come_is_kept(self):
        with pytest.raises(StreamCut) as caught:
            fed(STREAM[: STREAM.index(b"call_1")])
        assert caught.value.partial == "Looking — ✓"
        with pytest.raises(StreamCut, match="the stream is broken"):
            fed(events([chunk(content="a")], done=False) + b"data: {nonsense\n\n")

    def test_a_call_cut_off_by_the_token_limit_is_marked(self):
        reply, _ = fed(events([chunk(tool_calls=[piece(0, "a", "f", '{"x": "y')]), chunk("length")]))
        assert reply.stop == "length"
        assert reply.tool_calls[0].problem == "cut off by the token limit before its arguments were complete"

    @pytest.mark.parametrize(
        "pieces",
        [
            pytest.param([[piece(0, "a", "f", '{"a":1}')], [piece(0, "b", "g", '{"b":2}')]], id="index always 0"),
            pytest.param(
                [
                    [piece(0, "a", "f", "")],
                    [piece(0, None, None, '{"a"')],
                    [piece(0, "", "", ":1}")],
                    [piece(0, "b", "g", "")],
                    [piece(0, None, None, '{"b":2}')],
                ],
                id="index always 0, in pieces",
            ),
            pytest.param([[piece(None, "a", "f", '{"a":1}'), piece(None, "b", "g", '{"b":2}')]], id="no index"),
            pytest.param(
                [
                    [piece(None, "a", "f", '{"a"'), piece(None, "b", "g", '{"b"')],
                    [piece(None, "a", None, ":1}"), piece(None, "b", None, ":2}")],
                ],
                id="no index, ids repeated",
            ),
            pytest.param([[piece(0, None, "f", '{"a":1}')], [piece(0, None, "g", '{"b":2}')]], id="no ids"),
            pytest.param([[piece(None, "", "f", '{"a":1}'), piece(None, "", "g", '{"b":2}')]], id="nothing at all"),
            pytest.param([[piece(0, "", "f", '{"a":1}'), piece(1, "", "g", '{"b":2}')]], id="empty ids"),
            pytest.param([[piece(0, "x", "f", '{"a":1}'), piece(1, "x", "g", '{"b":2}')]], id="the same id twice"),
            pytest.param(
                [
                    [piece(0, "a", "f", '{"a"')],
                    [piece(0, "a", "f", ":1}")],
                    [piece(1, "b", "g", '{"b":')],
                    [piece(1, "b", "g", "2}")],
                ],
                id="name and id repeated",
            ),
            pytest.param(
                [
                    [piece(0, "a", "f", '{"a"')],
                    [piece(0, "a2", None, ":1}")],
                    [piece(1, "b", "g", '{"b":2}')],
                ],
                id="another id in every piece",
            ),
            pytest.param(
                [[piece(0, "a", "f", '{"a":1}')], [piece(1, "b", "g", '{"b":2}')], [piece(1, "b", "g", '{"b":2}')]],
                id="a whole call repeated",
            ),
        ],
    )
    def test_two_calls_are_two_calls_however_they_are_streamed(self, pieces: list[list[dict[str, Any]]]):
        assert calls_of(*pieces) == [("f", '{"a":1}'), ("g", '{"b":2}')]

    def test_after_a_complete_call_another_id_begins_another_call_even_before_its_name(self):
        pieces = [[piece(0, "a", "f", '{"a":1}')], [piece(0, "b", None, '{"b":')], [piece(0, "b", "g", "2}")]]
        reply, _ = fed(events([chunk(tool_calls=group) for group in pieces]))
        found = [(call.id, call.name, call.arguments_json) for call in reply.tool_calls]
        assert found == [("a", "f", '{"a":1}'), ("b", "g", '{"b":2}')]

    def test_a_name_with_another_id_begins_another_call_even_before_the_first_is_complete(self):
        pieces = [[piece(0, "a", "f", '{"a":')], [piece(0, "b", "g", '{"b":2}')]]
        first, second = fed(events([chunk(tool_calls=group) for group in pieces]))[0].tool_calls
        assert (first.id, first.arguments) == ("a", {"_malformed": '{"a":'})
        assert (second.id, second.name, second.arguments, second.problem) == ("b", "g", {"b": 2}, None)

    @pytest.mark.parametrize(
        "nothing",
        [
            {"function_call": None},
            {"function_call": {}},
            {"function_call": {"name": "", "arguments": ""}},
            {"function_call": {"name": None, "arguments": None}},
            {"function_call": {"name": "", "arguments": "{}"}},
            {"function_call": ""},
            {"tool_calls": None},
            {"tool_calls": []},
            {"tool_calls": [{}]},
            {"tool_calls": [None]},
            {"tool_calls": [{"index": 0, "id": "", "type": "function", "function": {"name": "", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "id": None, "function": None, "custom": {"name": "", "input": ""}}]},
        ],
    )
    def test_a_call_that_says_nothing_is_none(self, nothing: dict[str, Any]):
        stream = events([chunk(role="assistant", content="Hi", **nothing), chunk(**nothing), chunk("stop", **nothing)])
        reply, deltas = fed(stream)
        assert (reply.parts, reply.stop, deltas) == ((Text("Hi"),), "end", [TextDelta("Hi")])
        whole = openai_chat.decode(response("stop", content="Hi", **nothing), ORIGIN)
        assert (whole.parts, whole.stop) == ((Text("Hi"),), "end")
        # Nor does it disturb a call that says something.
        calls = [
            chunk(tool_calls=[piece(0, "a", "f", '{"a"')]),
            chunk(**nothing),
            chunk(tool_calls=[piece(0, None, None, ":1}")]),
        ]
        assert [call.arguments for call in fed(events(calls))[0].tool_calls] == [{"a": 1}]

    @pytest.mark.parametrize("value", [{"city": "Oslo"}, {}, {"deep": [{"a": None}]}])
    def test_arguments_that_are_an_object_are_read(self, value: dict[str, Any]):
        call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": value}}
        for reply in (
            fed(events([chunk(tool_calls=[call]), chunk("tool_calls")]))[0],
            fed(events([chunk(function_call=call["function"]), chunk("function_call")]))[0],
            openai_chat.decode(response(tool_calls=[call]), ORIGIN),
        ):
            assert [(each.arguments, each.problem) for each in reply.tool_calls] == [(value, None)]

    @pytest.mark.parametrize("value", [["Oslo"], [], 7, 0, True, False, 1.5, "Oslo", '["Oslo"]', "null"])
    def test_arguments_of_another_kind_are_a_problem_and_kept(self, value: Any):
        call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": value}}
        for reply in (
            fed(events([chunk(tool_calls=[call]), chunk("tool_calls")]))[0],
            openai_chat.decode(response(tool_calls=[call]), ORIGIN),
        ):
            (found,) = reply.tool_calls
            assert found.problem
            assert "_malformed" in found.arguments

    def test_the_input_of_a_custom_call_is_not_lost_when_it_is_no_text(self):
        call = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": {"query": "x"}}}
        reply, _ = fed(events([chunk(tool_calls=[call]), chunk("tool_calls")]))
        assert reply.tool_calls[0].arguments == {"input": '{"query":"x"}'}

    def test_signed_blocks_in_pieces_are_whole_again_and_go_back(self):
        target = Target("litellm", "openai-chat", "claude", PROVIDERS["litellm"].profile)
        pieces = [
            {"type": "thinking", "thinking": "a", "signature": None},
            {"type": "thinking", "thinking": "b", "signature": None},
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "thinking", "thinking": "c", "signature": "c2lo"},
            {"type": "redacted_thinking", "data": "eA=="},
            {"type": "redacted_thinking", "data": "eQ=="},
        ]
        stream = events(
            [
                *(chunk(thinking_blocks=[piece], reasoning_content="x") for piece in pieces),
                chunk("stop", content="well"),
            ]
        )
        reply, _ = fed(stream, origin=target.origin)
        assert sent(after(*reply.parts), target)[1]["thinking_blocks"] == [
            {"type": "thinking", "thinking": "ab", "signature": "c2ln"},
            {"type": "thinking", "thinking": "c", "signature": "c2lo"},
            {"type": "redacted_thinking", "data": "eA=="},
            {"type": "redacted_thinking", "data": "eQ=="},
        ]

    def test_details_of_two_indexes_may_alternate(self):
        pieces = [
            {"type": "reasoning.text", "index": 0, "text": "a"},
            {"type": "reasoning.text", "index": 1, "text": "x"},
            {"type": "reasoning.text", "index": 0, "text": "b", "signature": "c2ln"},
            {"type": "reasoning.encrypted", "index": 1, "data": "eA=="},
        ]
        stream = events([*(chunk(reasoning_details=[piece]) for piece in pieces), chunk("stop", content="well")])
        reply, _ = fed(stream, origin=OPENROUTER.origin)
        assert sent(after(*reply.parts), OPENROUTER)[1]["reasoning_details"] == [
            {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "c2ln"},
            {"type": "reasoning.text", "index": 1, "text": "x"},
            {"type": "reasoning.encrypted", "index": 1, "data": "eA=="},
        ]

    def test_a_whole_answer_in_place_of_a_stream(self):
        text = json.dumps(response("stop", content="Hi")).encode()
        for size in (1, 7, 1 << 20):
            assert fed(b"\n " + text, size)[0].text == "Hi"
        with pytest.raises(StreamCut, match="the answer is no stream, and cut"):
            fed(text[:-5])

    def test_an_error_after_the_end_of_an_answer_does_not_undo_it(self):
        error = {"error": {"code": 400, "message": "Token limit reached"}, "choices": [], "usage": {"prompt_tokens": 4}}
        reply, _ = fed(events([chunk("length", content="Hi"), error]))
        assert (reply.text, reply.stop, reply.usage.input_tokens) == ("Hi", "length", 4)
        for before in (chunk(content="Hi"), chunk("error", content="Hi")):
            with pytest.raises(RequestRejected, match="Token limit reached"):
                fed(events([before, error]))

    def test_two_whole_calls_of_the_same_tool_without_ids(self):
        assert calls_of([piece(None, None, "f", "{}")], [piece(None, None, "f", "{}")]) == [("f", "{}"), ("f", "{}")]

    def test_a_name_that_comes_late(self):
        reply, _ = fed(
            events([chunk(tool_calls=[piece(0, "a", None, "")]), chunk(tool_calls=[piece(0, "", "f", "{}")])])
        )
        assert [call.name for call in reply.tool_calls] == ["f"]

    def test_custom_calls_old_calls_and_other_fields(self):
        pieces = [
            chunk(tool_calls=[{"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "sel"}}]),
            chunk(tool_calls=[{"index": 0, "custom": {"input": "ect"}}]),
            chunk("stop", audio={"id": "a1", "data": "aG", "transcript": "x"}),
            chunk(audio={"data": "k=", "transcript": "y"}, refusal="no"),
            chunk(refusal="pe", annotations=[{"a": 1}]),
        ]
        reply, _ = fed(events(pieces))
        call = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select"}}
        audio = {"id": "a1", "data": "aGk=", "transcript": "xy"}
        more = {"audio": audio, "refusal": "nope", "annotations": [{"a": 1}]}
        whole = openai_chat.decode(response("stop", tool_calls=[call], **more), ORIGIN)
        assert reply.parts == whole.parts
        old = [chunk(function_call={"name": "f", "arguments": ""}), chunk("stop", function_call={"arguments": "{}"})]
        assert [call.name for call in fed(events(old))[0].tool_calls] == ["f"]

    def test_thinking_in_pieces_is_whole_again(self):
        details = [
            {"type": "reasoning.text", "index": 0, "text": "a"},
            {"type": "reasoning.text", "index": 0, "text": "b"},
        ]
        signed = {"type": "reasoning.text", "index": 0, "signature": "c2ln"}
        pieces = [chunk(reasoning_details=[detail], reasoning=detail.get("text")) for detail in (*details, signed)]
        reply, deltas = fed(events([*pieces, chunk("stop", content="x")]))
        (thinking, _) = reply.parts
        assert isinstance(thinking, Reasoning)
        assert thinking.native is not None
        whole = {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "c2ln"}
        assert thinking.native.data == {"reasoning": "ab", "reasoning_details": [whole]}
        assert [d.text for d in deltas if isinstance(d, ReasoningDelta)] == ["a", "b"]

    def test_content_that_streams_as_lists_of_parts(self):
        thinking = [[{"type": "thinking", "thinking": [{"type": "text", "text": text}]}] for text in ("h", "m")]
        pieces = [*(chunk(content=content) for content in thinking), chunk(content="we"), chunk(content="ll")]
        reply, deltas = fed(events([*pieces, chunk("stop")]))
        assert (reply.reasoning, reply.text) == ("hm", "well")
        assert deltas == [ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("we"), TextDelta("ll")]

    def test_a_whole_message_in_place_of_a_stream(self):
        assert fed(events([WHOLE]))[0] == openai_chat.decode(WHOLE, ORIGIN)
        repeated = chunk("stop")
        repeated["choices"][0]["message"] = {"content": "ab"}
        assert fed(events([chunk(content="a"), chunk(content="b"), repeated]))[0].text == "ab"

    def test_usage_where_servers_put_it(self):
        usage = {"prompt_tokens": 1, "completion_tokens": 2}
        moonshot = chunk("stop")
        moonshot["choices"][0]["usage"] = usage
        for last in ([moonshot], [{**chunk("stop"), "x_groq": {"usage": usage}}], [{**chunk("stop"), "usage": usage}]):
            assert fed(events(last))[0].usage == Usage(1, 2)

    @pytest.mark.parametrize(
        ("data", "error", "status"),
        [
            ({"error": {"message": "m", "type": "server_error", "code": None}}, ServerFailed, 500),
            ({"error": {"message": "m", "type": "x", "code": "rate_limit_exceeded"}}, RateLimited, 429),
            ({"error": {"message": "m", "code": 502}}, ServerFailed, 502),
            ({"error": {"message": "m", "type": "invalid_request_error"}}, RequestRejected, 400),
            ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, RequestRejected, 400),
            ({"error": "m"}, ServerFailed, 500),
            ({**chunk("error"), "error": {"code": "429", "message": "m"}}, RateLimited, 429),
        ],
    )
    def test_errors_in_the_stream(self, data: dict[str, Any], error: type[StatusError], status: int):
        with pytest.raises(error, match="openai broke off the stream: m") as caught:
            fed(events([chunk(content="a"), data]))
        assert (caught.value.status, caught.value.text, caught.value.provider) == (status, "m", "openai")

    def test_the_stream_is_one_that_the_sdk_takes(self):
        for line in STREAM.decode().split("\n\n"):
            if line.startswith("data: {") and "another choice" not in line:
                SDK.types.chat.ChatCompletionChunk.model_validate_json(line.removeprefix("data: "))


def read(messages: object):
    return openai_chat.read(messages, ORIGIN)


USER = {"role": "user", "content": "hi"}
STRICT = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
ONE = call_message(("t1", "f", "{}"))
DONE = tool_message("t1", "x")
ANSWER = {"role": "assistant", "content": "ok"}


class TestForeignHistories:
    @pytest.mark.parametrize(
        "messages",
        [
            [USER, ONE, DONE, ANSWER, USER],
            [ANSWER, USER],
            [{"role": "system", "content": "s"}, USER],
            [USER, {"role": "developer", "content": "from now on in French"}, ANSWER, USER],
            [{"role": "system", "content": "s", "name": "example_user"}, USER],
            [{**USER, "name": "ann"}, ANSWER, USER],
            [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}, USER],
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
            [{"role": "user", "content": [{"type": "text", "text": ""}, PNG_BLOCK]}],
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}}]}],
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png,x"}}]}],
            [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]}],
            [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}],
            [USER, ONE, tool_message("t1", "")],
            [USER, ONE, tool_message("t1", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
            [USER, ONE, {**DONE, "name": "f"}],
            [USER, {**ONE, "content": "text", "name": "ann"}, DONE],
            [USER, {"role": "assistant", "content": None, "refusal": "no"}, USER],
            [USER, {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}, USER],
            [USER, call_message(("t1", "1st", "{}")), DONE],
            [USER, call_message(("functions.f:0", "f", "{}")), tool_message("functions.f:0", "x")],
            [USER, {**ONE, "content": ""}, DONE],
            [USER, {**ONE, "content": "\n\n"}, DONE],
            [{"role": "developer", "content": "s"}, USER],
            [{"role": "system", "content": ""}, USER],
        ],
    )
    def test_what_the_api_takes_goes_back_as_it_came(self, messages: list[dict[str, Any]]):
        reading = read({"model": "gpt-4o", "messages": messages, "seed": 1})
        assert reading.changes == []
        assert json.loads(openai_chat.encode(reading.conversation, TARGET, Options(extra=reading.rest)).body) == {
            "model": "gpt-4o",
            "messages": messages,
            "seed": 1,
        }

    @pytest.mark.parametrize(
        ("messages", "codes"),
        [
            ([USER, ONE], []),
            ([USER, ONE, USER, ANSWER], ["unanswered-call"]),
            ([DONE, ANSWER], ["orphan-result"]),
            ([USER, ONE, DONE, DONE], ["duplicate-result"]),
            ([USER, ONE, USER, DONE], ["misplaced-result"]),
            ([USER, DONE, ONE], ["misplaced-result"]),
            ([USER, ONE, ANSWER, DONE], ["split-calls"]),
            ([USER, ONE, DONE, ONE, DONE], ["duplicate-id"]),
            ([{"role": "user", "content": None}], ["empty-message"]),
            ([{"role": "user", "content": []}], ["empty-message"]),
            ([USER, {"role": "assistant", "content": None}], ["empty-message"]),
            ([{"role": "system", "content": None}, USER], ["empty-message"]),
            ([{"role": "system", "content": [PNG_BLOCK, {"type": "text", "text": "s"}]}, USER], ["unreadable"]),
            ([USER, {**ANSWER, "tool_calls": []}], ["empty-message"]),
            ([{"role": "robot", "content": "x"}], ["unknown-role"]),
            (["x"], ["unreadable"]),
            ([{"role": "user", "content": [5, "x", {"type": "text"}]}], ["unreadable"] * 3),
            ([{"role": "assistant", "content": 5}], ["unreadable", "empty-message"]),
            ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], ["unreadable"]),
            ([call_message(("t1", "f", "{"))], ["bad-arguments"]),
            ([call_message(("t1", "f", {"a": 1}))], ["bad-arguments"]),  # type: ignore[arg-type]
            ([call_message(("t1", "a.b", "{}"))], ["bad-name"]),
            ([call_message(("x" * 41, "f", "{}"))], ["bad-id"]),
            ([call_message(("functions.f:0", "f", "{}"))], []),
            ([ONE, tool_message("t1", None)], ["bad-result"]),
        ],
    )
    def test_each_problem_is_named(self, messages: list[Any], codes: list[str]):
        reading = read(messages)
        assert [change.code for change in reading.changes] == codes
        repaired, _ = reading.conversation.repair()
        repaired.add_user("go on")
        sent(repaired)

    def test_the_system_text_is_what_stands_first(self):
        parts = [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]
        reading = read([{"role": "system", "content": "a"}, {"role": "developer", "content": parts}, USER])
        assert reading.conversation.system == "a\n\nb\n\nc"
        assert reading.conversation.turns[0].text == "hi"

    def test_a_system_message_between_call_and_result_waits(self):
        system = {"role": "system", "content": "be quick"}
        reading = read([USER, ONE, system, DONE, ANSWER])
        assert reading.changes == []
        assert sent(reading.conversation) == [USER, ONE, DONE, system, ANSWER]
        assert sent(reading.conversation, DEEPSEEK)[3] == {"role": "user", "content": "be quick"}

    def test_the_old_form_of_calls(self):
        old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
        result = {"role": "function", "name": "f", "content": "x"}
        function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
        request = {"messages": [USER, old, result, old, {**result, "content": None}], "functions": [function]}
        reading = read({**request, "function_call": {"name": "f"}})
        assert reading.changes == []
        ids = [call.id for turn in reading.conversation.turns[1:] for call in turn.calls]
        assert sent(reading.conversation)[1:] == [
            call_message((ids[0], "f", "{}")),
            tool_message(ids[0], "x"),
            call_message((ids[1], "f", "{}")),
            tool_message(ids[1], "(no output)"),
        ]
        assert [tool.name for tool in reading.conversation.tools] == ["f"]
        assert reading.rest == {"tool_choice": {"type": "function", "function": {"name": "f"}}}

    def test_calls_and_results_without_ids_are_paired_in_order(self):
        calls = call_message(("", "f", "{}"), ("", "g", "{}"))
        reading = read([USER, calls, tool_message("", "first"), tool_message("", "second")])
        assert {change.code for change in reading.changes} == {"bad-id"}
        turn = reading.conversation.turns[1]
        assert [result.text for result in turn.results] == ["first", "second"]

    def test_images_in_a_tool_message_move_out_of_it(self):
        messages = [USER, ONE, tool_message("t1", [{"type": "text", "text": "see"}, PNG_BLOCK])]
        conversation = read(messages).conversation
        assert sent(conversation)[2:] == [
            tool_message("t1", "see"),
            {
                "role": "user",
                "content": [{"type": "text", "text": "Image in the result of call t1 to `f`:"}, PNG_BLOCK],
            },
        ]

    def test_tools(self):
        schema = {"type": "object", "properties": {"a": {}}, "required": None}
        tools = [
            {"type": "function", "function": {"name": "f", "strict": True, "parameters": STRICT}},
            {"type": "function", "function": {"name": "g"}},
            {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}},
            {"type": "function", "function": {"name": "1st", "parameters": {"type": "object", "properties": {}}}},
        ]
        bad = [None, {"type": "function", "function": {"name": "h", "parameters": schema}}]
        reading = read({"messages": [USER], "tools": [*tools, *bad]})
        assert [change.code for change in reading.changes] == ["unreadable", "unreadable"]
        clean = {"name": "h", "parameters": {"type": "object", "properties": {"a": {}}}}
        assert body(reading.conversation)["tools"] == [*tools, {"type": "function", "function": clean}]
        elsewhere = [tool["function"]["name"] for tool in body(reading.conversation, DEEPSEEK)["tools"]]
        assert elsewhere[:2] == ["f", "g"]
        assert "strict" not in json.dumps(body(reading.conversation, DEEPSEEK))

    def test_chat_and_images_are_read_as_they_were_written(self):
        conversation = Conversation("s")
        conversation.add_user([Text("a"), PNG, Chat("@ann", "b")])
        history = openai_chat.history(conversation, TARGET)
        again = read(history).conversation
        assert openai_chat.history(again, TARGET) == history
        assert PNG in again.turns[0].parts


fields = st.sampled_from(
    ["role", "content", "tool_calls", "function_call", "refusal", "audio", "name", "tool_call_id", "reasoning_details"]
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image_url", "function", "custom", "thinking"]) | json_values,
        "text": json_values,
        "image_url": json_values | st.fixed_dictionaries({"url": json_values}),
        "index": json_values | st.integers(0, 1),
        "id": json_values | st.sampled_from(["a", "b"]),
        "function": json_values | st.fixed_dictionaries({"name": json_values, "arguments": json_values}),
        "custom": json_values | st.fixed_dictionaries({"name": json_values, "input": json_values}),
    },
)
values = json_values | st.lists(parts, max_size=3) | st.sampled_from(["a", "b"])
loose_messages = st.builds(
    lambda role, message: {"role": role, **message},
    st.sampled_from(["user", "assistant", "tool", "system", "function"]),
    st.dictionaries(fields.filter(lambda name: name != "role") | st.text(max_size=5), values, max_size=4),
)


class TestAnything:
    @given(messages=st.lists(loose_messages, max_size=5), tools=st.lists(parts | json_values, max_size=2))
    @settings(max_examples=120)
    def test_any_history_is_read_or_refused_and_then_legal(self, messages: list[Any], tools: list[Any]):
        with suppress(AntiphonError):
            reading = read({"messages": messages, "tools": tools})
            repaired, _ = reading.conversation.repair()
            repaired.add_user("go on")
            data = json.loads(openai_chat.encode(repaired, TARGET, Options()).body)
            assert rules.check(data, "openai-chat") == []

    @given(message=loose_messages, reason=json_values)
    @settings(max_examples=120)
    def test_any_message_is_decoded_or_refused_and_then_legal(self, message: dict[str, Any], reason: Any):
        with suppress(AntiphonError):
            reply = openai_chat.decode(response(reason, **message), ORIGIN)
            data = json.loads(openai_chat.encode(after(*reply.parts), TARGET, Options()).body)
            assert rules.check(data, "openai-chat") == []

    @given(deltas=st.lists(st.dictionaries(fields | st.text(max_size=5), values, max_size=3), max_size=4))
    @settings(max_examples=120)
    def test_any_deltas_make_a_reply_or_an_error_of_ours(self, deltas: list[dict[str, Any]]):
        with suppress(AntiphonError):
            reply, pieces = fed(events([*(chunk(**{"reason": None, **delta}) for delta in deltas), chunk("stop")]))
            text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
            assert text.replace("\0", "\ufffd") == reply.text


class TestRecordings:
    def test_every_request_reads_and_encodes_again_to_an_equivalent_body(self):
        for exchange in exchanges("openai-chat"):
            request = exchange["request"]
            target = Target("openai", "openai-chat", request["model"])
            reading = openai_chat.read(request, target.origin)
            assert reading.changes == [], exchange["id"]
            if "Content blocks are expected to be either" in str(exchange["response"]):
                # The server refused the audio, which our request has not: the facts say the same.
                continue
            again = openai_chat.encode(reading.conversation, target, Options(cache=False, extra=reading.rest)).body
            assert normal(json.loads(again)) == normal(request), exchange["id"]

    def test_every_answer_decodes_and_goes_back_as_it_came(self):
        for exchange in exchanges("openai-chat"):
            request, answer = exchange["request"], exchange["response"]
            target = Target("openai", "openai-chat", request["model"])
            if exchange["status"] != 200:
                assert openai_chat.parse_error(answer).message
                continue
            if exchange["stream"]:
                reply, *others = [fed(answer.encode(), size, target.origin)[0] for size in (1 << 20, 1000, 7, 1)]
                assert all(other == reply for other in others), exchange["id"]
            else:
                reply = openai_chat.decode(answer, target.origin)
            conversation = openai_chat.read(request, target.origin).conversation
            conversation.add_reply(reply.parts)
            conversation.add_tool_results([ToolResult(call.id, "done") for call in conversation.open_calls])
            conversation.add_user("go on")
            messages = sent(conversation, target)
            if not exchange["stream"]:
                message = answer["choices"][0]["message"]
                # A message in which there is nothing at all is refused when it comes back.
                if bare(message) != {"role": "assistant"}:
                    back = [m for m in messages if m["role"] == "assistant"][-1]
                    assert bare(back) == bare(message), exchange["id"]


def bare(value: Any) -> Any:
    """Without fields that say nothing."""
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if v is not None and v != []}
    return [bare(item) for item in value] if isinstance(value, list) else value


def normal(request: dict[str, Any]) -> dict[str, Any]:
    """The request in one of the forms that mean the same: lists of parts, merged neighbours, one system text."""
    data = bare(request)
    messages: list[dict[str, Any]] = []
    for message in data["messages"]:
        content = message.get("content")
        if message["role"] in ("user", "system") and isinstance(content, str):
            message = {**message, "content": [{"type": "text", "text": content}]}
        if messages and messages[-1]["role"] == message["role"] in ("user", "system"):
            messages[-1] = {**message, "content": [*messages[-1]["content"], *message["content"]]}
        else:
            messages.append(message)
    for message in messages:
        if message["role"] in ("user", "system") and all(part["type"] == "text" for part in message["content"]):
            message["content"] = "\n\n".join(part["text"] for part in message["content"])
    return {**data, "messages": messages}
