"""Anthropic's Messages API: exact bodies, decoding, streams, foreign histories, and real traffic."""

import json
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from antiphon.conversation import (
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
from antiphon.errors import BadReply, OptionError, RateLimited, ServerFailed, StreamCut
from antiphon.wire import CallDelta, Options, Profile, ReasoningDelta, Target, TextDelta, Usage, anthropic, rules
from antiphon.wire.body import UNSHOWABLE_TEXT
from tests.lazily import Lazily
from tests.recordings import exchanges
from tests.wire.referee import judge

TARGET = Target("anthropic", "anthropic", "claude-sonnet-5", Profile(sampling=False))
ORIGIN = TARGET.origin
#: The last models that take a number of tokens to think.
BUDGET = Target("anthropic", "anthropic", "claude-sonnet-4-5")
SDK = Lazily("anthropic")
THINKING = {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}


@cache
def request_type() -> TypeAdapter[Any]:
    return TypeAdapter(SDK.types.message_create_params.MessageCreateParamsNonStreaming)


def body(conversation: Conversation, target: Target = TARGET, **options: Any) -> dict[str, Any]:
    data = json.loads(anthropic.encode(conversation, target, Options(**{"cache": False, **options})).body)
    assert rules.check(data, "anthropic") == []
    judge(request_type(), data)
    return data


def test_the_referee_looks_into_every_block():
    wrong = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text"}]}]}
    with pytest.raises(ValidationError):
        judge(request_type(), wrong)


def test_the_limit_lies_above_the_thinking_budget():
    conversation = Conversation()
    conversation.add_user("a")
    sent = body(conversation, BUDGET, max_tokens=1000, reasoning=2000)
    assert (sent["max_tokens"], sent["thinking"]["budget_tokens"]) == (3024, 2000)
    assert body(conversation, BUDGET, max_tokens=9000, reasoning=2000)["max_tokens"] == 9000
    with pytest.raises(OptionError, match="takes no number of tokens as `reasoning`"):
        body(conversation, reasoning=2000)


def test_no_tool_use_says_nothing_of_parallel_ones():
    conversation = Conversation(tools=[ToolSpec("f")])
    conversation.add_user("a")
    assert body(conversation, tool_choice="none", parallel_tool_calls=False)["tool_choice"] == {"type": "none"}
    assert body(conversation, parallel_tool_calls=False)["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }


def conversation_with_calls() -> Conversation:
    conversation = Conversation("Be brief.", [ToolSpec("list_files", "Lists", {"properties": {"pattern": {}}})])
    conversation.add_user("What is here?")
    conversation.add_assistant_tool_calls([ToolCall("tool-1", "list_files", {"pattern": "*"})], "Let me check...")
    return conversation


def test_results_and_human_input_are_one_user_message_results_first():
    conversation = conversation_with_calls()
    conversation.add_user("general knowledge probably...")
    conversation.add_user("I am busy", author="@coder-2")
    conversation.add_tool_result("tool-1", "file1.go\nfile2.go")
    assert body(conversation) == {
        "model": "claude-sonnet-5",
        "max_tokens": 16000,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [
            {
                "name": "list_files",
                "description": "Lists",
                "input_schema": {"type": "object", "properties": {"pattern": {}}},
            }
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is here?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me check..."},
                    {"type": "tool_use", "id": "tool-1", "name": "list_files", "input": {"pattern": "*"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "tool-1", "content": "file1.go\nfile2.go"},
                    {"type": "text", "text": "general knowledge probably..."},
                    {"type": "text", "text": "[Chat from @coder-2]: I am busy"},
                ],
            },
        ],
    }


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (ToolResult("tool-1", " "), {"content": "(no output)"}),
        (ToolResult("tool-1", ()), {"content": "(no output)"}),
        (ToolResult("tool-1", "no such file", True), {"content": "no such file", "is_error": True}),
        (
            ToolResult("tool-1", (Text("see"), Image(data="iVBORw0KGgo=", media_type="image/png"))),
            {
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                ]
            },
        ),
    ],
)
def test_results(result: ToolResult, expected: dict[str, Any]):
    conversation = conversation_with_calls()
    conversation.add_tool_results([result])
    assert body(conversation)["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "tool-1", **expected}
    ]


def test_an_answer_with_nothing_to_send_is_left_out_and_its_neighbours_merge():
    conversation = Conversation()
    conversation.add_user("a")
    conversation.add_reply([Reasoning("hm"), Text(" ")])
    conversation.add_user("b")
    assert [m["role"] for m in body(conversation)["messages"]] == ["user"]


def test_a_conversation_may_begin_with_the_assistant():
    conversation = Conversation()
    conversation.add_assistant("Hello! How can I help?")
    conversation.add_user("hi")
    assert [m["role"] for m in body(conversation)["messages"]] == ["assistant", "user"]


def test_thinking_goes_back_to_its_own_model_alone_unchanged_on_any_platform():
    conversation = conversation_with_calls()
    conversation.undo()
    other, same = {**THINKING, "signature": "other"}, {**THINKING, "signature": "same"}
    conversation.add_reply(
        [
            Reasoning("Let me see.", ProviderPayload(ORIGIN, THINKING)),
            Reasoning("Let me see.", ProviderPayload(Origin("anthropic", "anthropic", "claude-opus-5"), other)),
            Reasoning("Let me see.", ProviderPayload(Origin("openai", "openai-responses", "claude-sonnet-5"), other)),
            Reasoning("Let me see.", ProviderPayload(Origin("bedrock", "anthropic", "claude-sonnet-5"), same)),
            ToolCall("t", "list_files"),
        ]
    )
    conversation.add_tool_result("t", "x")
    data = body(conversation, reasoning="high")
    assert data["messages"][1]["content"][:2] == [THINKING, same]
    assert "other" not in json.dumps(data)


def test_calls_made_without_thinking_are_continued_without_it():
    conversation = conversation_with_calls()
    conversation.add_tool_result("tool-1", "x")
    assert "thinking" not in thinking_on(conversation, "claude-sonnet-4-5")
    assert "thinking" in thinking_on(conversation, "claude-sonnet-4-6"), "newer models do not mind"
    forced = Options(reasoning=2048, tool_choice="required")
    fresh = Conversation(tools=[ToolSpec("f")]).add_user("go")
    assert "thinking" not in json.loads(anthropic.encode(fresh, BUDGET, forced).body)
    assert body(conversation, reasoning="high", tool_choice="required")["output_config"] == {"effort": "high"}
    conversation.add_assistant("There.")
    conversation.add_user("thanks")
    assert "thinking" in thinking_on(conversation, "claude-sonnet-4-5")


def thinking_on(conversation: Conversation, model: str) -> dict[str, Any]:
    target = Target("anthropic", "anthropic", model)
    data = json.loads(anthropic.encode(conversation, target, Options(reasoning=2048)).body)
    assert rules.check(data, "anthropic") == []
    return data


def test_a_model_that_thought_at_the_start_of_a_row_of_calls_goes_on_thinking():
    origin = Origin("anthropic", "anthropic", "claude-sonnet-4-5")
    conversation = Conversation()
    conversation.add_user("go")
    for parts in ([Reasoning("hm", ProviderPayload(origin, THINKING)), ToolCall("a", "f")], [ToolCall("b", "f")]):
        conversation.add_reply(parts)
        conversation.add_tool_results([ToolResult(call.id, "x") for call in conversation.open_calls])
    assert "thinking" in thinking_on(conversation, "claude-sonnet-4-5")
    assert "thinking" not in thinking_on(conversation, "claude-sonnet-4-0")


def test_a_system_message_within_is_shown_to_older_models_as_text():
    told = [{"role": "user", "content": "a"}, {"role": "system", "content": "Be brief."}]
    conversation = anthropic.read(told, ORIGIN).conversation
    assert body(conversation)["messages"][1] == told[1]
    older = Target("anthropic", "anthropic", "claude-sonnet-4-5")
    assert json.loads(anthropic.encode(conversation, older, Options()).body)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "Be brief."}]}
    ]


def test_blocks_of_other_providers_are_shown_as_text_or_left_out():
    conversation = Conversation()
    audio = ProviderPayload(Origin("openai", "openai-chat", "gpt-4o"), {"type": "input_audio"})
    conversation.add_user([OpaquePart(audio, "[a recording]"), OpaquePart(audio)])
    assert body(conversation)["messages"][0]["content"] == [{"type": "text", "text": "[a recording]"}]
    conversation = Conversation()
    conversation.add_user(OpaquePart(audio))
    assert body(conversation)["messages"][0]["content"][0]["text"] == UNSHOWABLE_TEXT
    conversation.add_assistant("What is it?").add_user("A song.")
    assert [m["role"] for m in body(conversation)["messages"]] == ["user", "assistant", "user"]


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "fields"),
        [
            ({"max_tokens": 5}, {"max_tokens": 5}),
            ({"stop": ("x",)}, {"stop_sequences": ["x"]}),
            ({"tool_choice": "auto"}, {"tool_choice": {"type": "auto"}}),
            ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
            ({"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
            ({"tool_choice": "list_files"}, {"tool_choice": {"type": "tool", "name": "list_files"}}),
            ({"parallel_tool_calls": False}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
            # This model thinks unless it is told not to.
            ({"reasoning": "high"}, {"output_config": {"effort": "high"}}),
            ({"reasoning": "none"}, {"thinking": {"type": "disabled"}}),
            ({"cache": True}, {"cache_control": {"type": "ephemeral"}}),
            ({"extra": {"metadata": {"user_id": "u"}}}, {"metadata": {"user_id": "u"}}),
        ],
    )
    def test_in_the_body(self, options: dict[str, Any], fields: dict[str, Any]):
        conversation = conversation_with_calls()
        conversation.add_tool_result("tool-1", "x")
        data = body(conversation, **options)
        assert {name: data[name] for name in fields} == fields

    def test_sampling_is_refused_where_the_api_has_none(self):
        conversation = Conversation()
        conversation.add_user("hi")
        with pytest.raises(OptionError, match="anthropic takes no `temperature`"):
            anthropic.encode(conversation, TARGET, Options(temperature=0.0))
        other = Target("custom", "anthropic", "some-model")
        assert json.loads(anthropic.encode(conversation, other, Options(temperature=0.0)).body)["temperature"] == 0.0

    def test_a_deferred_tool_bears_no_mark(self):
        target = Target("anthropic", "anthropic", "claude-sonnet-5-5")
        form = {"type": "object", "properties": {}}
        search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
        late = {"name": "late", "input_schema": form, "defer_loading": True}
        tools = [ToolSpec(data["name"], native=ProviderPayload(target.origin, data)) for data in (search, late)]
        sent = json.loads(anthropic.encode(Conversation(tools=tools).add_user("Hi."), target, Options()).body)
        assert [tool.get("cache_control") for tool in sent["tools"]] == [{"type": "ephemeral"}, None]
        assert rules.check(sent, "anthropic") == []

    def test_at_most_two_cache_marks(self):
        conversation = conversation_with_calls()
        conversation.add_tool_result("tool-1", "x")
        assert json.dumps(body(conversation, cache=True)).count("ephemeral") == 2

    def test_alternatives_at_the_top_of_a_schema_are_offered_together(self):
        schema = {"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
        conversation = Conversation(tools=[ToolSpec("f", "", schema)])
        conversation.add_user("hi")
        assert set(body(conversation)["tools"][0]["input_schema"]["properties"]) == {"a", "b"}


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-20260101",
    "content": [
        {"type": "thinking", "thinking": "Hm, well.", "signature": "sig=="},
        {"type": "text", "text": "Looking — ✓"},
        {"type": "tool_use", "id": "toolu_1", "name": "list_files", "input": {"pattern": "*"}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
    },
}


def events(message: dict[str, Any]) -> bytes:
    start = {**message, "content": [], "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        empty = {**block, **{k: type(block[k])() for k in ("text", "thinking", "signature", "input") if k in block}}
        out.append({"type": "content_block_start", "index": index, "content_block": empty})
        for kind, field, value in (
            ("text_delta", "text", block.get("text")),
            ("thinking_delta", "thinking", block.get("thinking")),
            ("signature_delta", "signature", block.get("signature")),
            ("input_json_delta", "partial_json", json.dumps(block["input"]) if "input" in block else None),
        ):
            pieces = [] if value is None else ["", value[:3], value[3:]]
            out += [
                {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}
                for piece in pieces
            ]
        out.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    out.append({"type": "message_delta", "delta": delta, "usage": message["usage"]})
    out.append({"type": "message_stop"})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in out).encode()


class TestDecoding:
    def test_a_reply(self):
        reply = anthropic.decode(MESSAGE, ORIGIN)
        assert reply.text == "Looking — ✓"
        assert reply.reasoning == "Hm, well."
        assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
            ("toolu_1", "list_files", {"pattern": "*"}),
            ("toolu_2", "now", {}),
        ]
        assert (reply.stop, reply.stop_reason, reply.model, reply.id) == (
            "tool_calls",
            "tool_use",
            "claude-sonnet-5-20260101",
            "msg_1",
        )
        assert reply.usage == Usage(17, 7, 5, 2, 3)

    def test_it_goes_back_as_it_came(self):
        conversation = Conversation()
        conversation.add_user("hi")
        conversation.add_reply(anthropic.decode(MESSAGE, ORIGIN).parts)
        conversation.add_tool_results([ToolResult("toolu_1", "x"), ToolResult("toolu_2", "y")])
        assert body(conversation)["messages"][1]["content"] == MESSAGE["content"]

    def test_blank_text_does_not_go_back_whatever_it_carries(self):
        blank = {"type": "text", "text": " ", "citations": [{"type": "char_location"}]}
        said = [blank, {"type": "text", "text": "x"}]
        conversation = Conversation()
        conversation.add_user("hi")
        conversation.add_reply(anthropic.decode({"stop_reason": "end_turn", "content": said}, ORIGIN).parts)
        conversation.add_user("go on")
        assert body(conversation)["messages"][1]["content"] == [{"type": "text", "text": "x"}]

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("end_turn", "end"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("stop_sequence", "stop_sequence"),
            ("refusal", "refusal"),
            ("pause_turn", "pause"),
        ],
    )
    def test_stop_reasons(self, reason: str, stop: str):
        reply = anthropic.decode({"content": [], "stop_reason": reason}, ORIGIN)
        assert (reply.stop, reply.stop_reason) == (stop, reason)

    def test_a_call_cut_off_by_the_token_limit_is_marked(self):
        first, second = anthropic.decode({**MESSAGE, "stop_reason": "max_tokens"}, ORIGIN).tool_calls
        assert first.problem is None
        assert second.problem == "cut off by the token limit before its arguments were complete"

    def test_unknown_usage_stays_unknown(self):
        assert anthropic.decode({"content": [], "stop_reason": "end_turn"}, ORIGIN).usage == Usage()

    @pytest.mark.parametrize("nonsense", [None, 3, [], "x"])
    def test_what_is_no_object_is_a_bad_reply(self, nonsense: object):
        with pytest.raises(BadReply, match=r"anthropic answered with .* instead of an object"):
            anthropic.decode(nonsense, ORIGIN)


class TestStreams:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
    def test_split_anywhere_it_is_the_same_reply(self, size: int):
        stream = events(MESSAGE)
        decoder = anthropic.Decoder(ORIGIN)
        deltas = [d for n in range(0, len(stream), size) for d in decoder.feed(stream[n : n + size])]
        assert decoder.reply() == anthropic.decode(MESSAGE, ORIGIN)
        assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Looking — ✓"
        assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Hm, well."
        calls = [d for d in deltas if isinstance(d, CallDelta)]
        assert [(d.index, d.name) for d in calls if d.name] == [(0, "list_files"), (1, "now")]
        assert "".join(d.arguments for d in calls if d.index == 0) == '{"pattern": "*"}'

    @pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
    def test_split_at_every_byte_with_every_line_ending(self, ending: str):
        stream = events(MESSAGE).replace(b"\n", ending.encode())
        whole = anthropic.decode(MESSAGE, ORIGIN)
        for cut in range(len(stream) + 1):
            decoder = anthropic.Decoder(ORIGIN)
            decoder.feed(stream[:cut])
            decoder.feed(stream[cut:])
            assert decoder.reply() == whole

    def test_cut_anywhere_before_its_end_it_is_a_cut_stream(self):
        stream = events(MESSAGE)
        end = stream.rindex(b"}")
        for cut in range(0, end, 17):
            decoder = anthropic.Decoder(ORIGIN)
            decoder.feed(stream[:cut])
            with pytest.raises(StreamCut):
                decoder.reply()

    def test_a_call_may_come_whole_and_another_model_may_go_on(self):
        use = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
        fallback = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
        told = [
            {"type": "content_block_start", "index": 0, "content_block": fallback},
            {"type": "content_block_start", "index": 1, "content_block": use},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ]
        decoder = anthropic.Decoder(ORIGIN)
        decoder.feed("".join(f"data: {json.dumps(event)}\n\n" for event in told).encode())
        reply = decoder.reply()
        assert reply.tool_calls[0].arguments == {"a": 1}
        assert reply.model == "b"

    def test_what_had_come_is_kept(self):
        stream = events(MESSAGE)
        decoder = anthropic.Decoder(ORIGIN)
        decoder.feed(stream[: stream.index(b"toolu_1")])
        with pytest.raises(StreamCut) as caught:
            decoder.reply()
        assert caught.value.partial == "Looking — ✓"

    def test_arguments_that_never_become_json_are_marked(self):
        stream = events(MESSAGE).replace(rb"tern\": \"*\"}", rb"tern\": ")
        decoder = anthropic.Decoder(ORIGIN)
        decoder.feed(stream)
        call = decoder.reply().tool_calls[0]
        assert call.problem is not None
        assert call.arguments == {"_malformed": '{"pattern": '}

    @pytest.mark.parametrize(
        ("kind", "error", "status"),
        [
            ("overloaded_error", ServerFailed, 529),
            ("api_error", ServerFailed, 500),
            ("rate_limit_error", RateLimited, 429),
        ],
    )
    def test_errors_in_the_stream(self, kind: str, error: type[ServerFailed], status: int):
        event = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
        with pytest.raises(error, match="anthropic broke off the stream: Overloaded") as caught:
            anthropic.Decoder(ORIGIN).feed(f"event: error\ndata: {json.dumps(event)}\n\n".encode())
        assert caught.value.status == status


def changes(messages: object) -> list[str]:
    return [change.code for change in anthropic.read(messages, ORIGIN).changes]


USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}


class TestForeignHistories:
    @pytest.mark.parametrize(
        ("messages", "codes"),
        [
            ([("user", "hi"), ("assistant", [USE]), ("user", [RESULT])], []),
            ([("user", "hi"), ("assistant", [USE])], []),
            ([("user", "hi"), ("assistant", [USE]), ("user", "stop"), ("assistant", "ok")], ["unanswered-call"]),
            ([("user", [RESULT]), ("assistant", "ok")], ["orphan-result"]),
            ([("user", "hi"), ("assistant", [USE]), ("user", [RESULT, RESULT])], ["duplicate-result"]),
            (
                [("user", "hi"), ("assistant", [USE]), ("user", [{"type": "text", "text": "y"}, RESULT])],
                ["misplaced-result"],
            ),
            (
                [("user", "hi"), ("assistant", [USE]), ("user", "wait"), ("user", [RESULT])],
                ["misplaced-result"],
            ),
            ([("user", "hi"), ("user", [RESULT]), ("assistant", [USE])], ["misplaced-result"]),
            (
                [("user", "a"), ("assistant", [USE]), ("user", [RESULT]), ("assistant", [USE]), ("user", [RESULT])],
                ["duplicate-id"],
            ),
            ([("user", ""), ("assistant", "x")], ["empty-text"]),
            ([("user", [])], ["empty-message"]),
            ([("tool", "hi")], ["unknown-role"]),
            ([("assistant", [{**USE, "input": "x"}])], ["bad-arguments"]),
            ([("assistant", [{**USE, "name": ""}])], ["bad-name"]),
            ([("assistant", [{**USE, "id": "a|b"}])], ["bad-id"]),
            ([("user", [{}])], ["unreadable"]),
        ],
    )
    def test_each_problem_is_named(self, messages: list[tuple[str, Any]], codes: list[str]):
        assert changes([{"role": role, "content": content} for role, content in messages]) == codes

    @pytest.mark.parametrize(
        "blocks",
        [
            ([{**USE, "name": "3d"}], [RESULT]),
            ([{**USE, "name": "x" * 100}], [RESULT]),
            ([{**USE, "id": "i" * 60}], [{**RESULT, "tool_use_id": "i" * 60}]),
            ([USE], [{**RESULT, "content": " "}]),
            ([USE], [{**RESULT, "content": [{"type": "text", "text": ""}, {"type": "text", "text": "x"}]}]),
            (
                [USE],
                [RESULT, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a-_"}}],
            ),
        ],
    )
    def test_what_the_api_takes_goes_back_as_it_came(self, blocks: tuple[list[dict[str, Any]], ...]):
        asked = {"role": "user", "content": [{"type": "text", "text": "a"}]}
        messages = [asked, {"role": "assistant", "content": blocks[0]}, {"role": "user", "content": blocks[1]}]
        reading = anthropic.read(messages, ORIGIN)
        assert reading.changes == []
        assert body(reading.conversation)["messages"] == messages

    def test_a_name_or_id_that_is_legal_here_alone_is_another_elsewhere(self):
        call = {**USE, "id": "i" * 60, "name": "3d"}
        reading = anthropic.read([{"role": "assistant", "content": [call]}], ORIGIN)
        (found,) = reading.conversation.open_calls
        assert (len(found.id), found.name) == (9, "d")

    def test_marks_inside_of_results_are_not_kept(self):
        marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
        result = {**RESULT, "content": [marked] * 4, "brand_new": 1}
        messages = [("user", "a"), ("assistant", [USE]), ("user", [result])]
        reading = anthropic.read([{"role": role, "content": content} for role, content in messages], ORIGIN)
        assert "ephemeral" not in json.dumps(body(reading.conversation))

    def test_tools_keep_their_own_names(self):
        schema = {"type": "object", "properties": {}}
        tools = [
            {"type": "mcp_toolset", "mcp_server_name": "a"},
            {"type": "mcp_toolset", "mcp_server_name": "b"},
            {"name": "tool_1", "input_schema": schema},
            {"name": "3d", "input_schema": schema},
            {"name": "tool_2", "input_schema": schema, "strict": True},
        ]
        reading = anthropic.read({"messages": [{"role": "user", "content": "a"}], "tools": tools}, ORIGIN)
        assert anthropic.history(reading.conversation, TARGET)["tools"] == tools
        assert len({tool.name for tool in reading.conversation.tools}) == 5

    def test_a_real_result_is_never_dropped_or_moved_to_another_call(self):
        later = {**USE, "id": "t2"}
        messages = [("user", "a"), ("assistant", [USE, later]), ("user", "b"), ("user", [{**RESULT, "content": "one"}])]
        reading = anthropic.read([{"role": r, "content": c} for r, c in messages], ORIGIN)
        turn = reading.conversation.turns[1]
        assert [(r.call_id, r.text) for r in turn.results] == [("t1", "one")]
        assert [call.id for call in reading.conversation.open_calls] == ["t2"]


class TestRecordings:
    def test_every_request_reads_and_encodes_again_to_an_equivalent_body(self):
        for exchange in exchanges("anthropic"):
            request = exchange["request"]
            target = Target("anthropic", "anthropic", request["model"])
            reading = anthropic.read(request, target.origin)
            if exchange["status"] == 200:
                assert reading.changes == [], exchange["id"]
            again = anthropic.encode(reading.conversation, target, Options(cache=False, extra=reading.rest)).body
            assert normal(json.loads(again)) == normal(request), exchange["id"]

    def test_every_answer_decodes_and_goes_back_as_it_came(self):
        for exchange in exchanges("anthropic"):
            if exchange["status"] != 200:
                continue
            request, response = exchange["request"], exchange["response"]
            target = Target("anthropic", "anthropic", request["model"])
            if exchange["stream"]:
                response = streamed(response.encode(), target.origin, exchange["id"])
            reply = response if exchange["stream"] else anthropic.decode(response, target.origin)
            conversation = anthropic.read(request, target.origin).conversation
            conversation.add_reply(reply.parts)
            conversation.add_tool_results([ToolResult(call.id, "done") for call in conversation.open_calls])
            conversation.add_user("go on")
            data = json.loads(anthropic.encode(conversation, target, Options()).body)
            assert rules.check(data, "anthropic") == [], exchange["id"]
            # Blank text, which models give now and then, is refused when it comes back.
            given = [] if exchange["stream"] else response["content"]
            expected = [bare(block) for block in given if block.get("text", "x").strip()]
            if expected and request["messages"][-1]["role"] != "assistant":
                sent = [m for m in data["messages"] if m["role"] == "assistant"][-1]["content"]
                assert [bare(block) for block in sent] == expected, exchange["id"]


def streamed(stream: bytes, origin: Origin, name: str):
    replies = []
    for size in (1, 7, 1000, len(stream)):
        decoder = anthropic.Decoder(origin)
        for start in range(0, len(stream), size):
            decoder.feed(stream[start : start + size])
        replies.append(decoder.reply())
    assert all(reply == replies[0] for reply in replies), name
    return replies[0]


def bare(value: Any) -> Any:
    """Without fields that say nothing."""
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if v is not None and k != "cache_control"}
    return [bare(item) for item in value] if isinstance(value, list) else value


def normal(request: dict[str, Any]) -> dict[str, Any]:
    """The request in one of the forms that mean the same: lists of blocks, merged neighbours, no cache marks."""
    data = bare(request)
    if isinstance(data.get("system"), list):
        data["system"] = "\n\n".join(block["text"] for block in data["system"])
    data.pop("cache_control", None)
    messages: list[dict[str, Any]] = []
    for message in data["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [{k: v for k, v in b.items() if (k, v) != ("is_error", False)} for b in blocks]
        if messages and messages[-1]["role"] == message["role"] != "system":
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": message["role"], "content": blocks})
    data["messages"] = messages
    for tool in data.get("tools", []):
        for name, value in (("type", "custom"), ("description", "")):
            if tool.get(name) == value:
                del tool[name]
        if "input_schema" in tool:
            tool["input_schema"].setdefault("properties", {})
    if not data.get("tools"):
        data.pop("tools", None)
    return data
