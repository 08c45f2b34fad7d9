"""What frameworks and programs write down is read whole, or what is left out is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.conversation import AssistantTurn, Conversation, Image, Reasoning
from antiphon.errors import FormatError
from antiphon.formats import load, write
from tests.cli.test_commands import invoke, run

PNG = "iVBORw0KGgo="


def read(data: Any, lines: bool = False) -> tuple[str, Conversation, list[str]]:
    text = "\n".join(map(json.dumps, data)) if lines else json.dumps(data)
    history = load(text.encode(), "h")
    return history.format, history.conversation, [finding.found for finding in history.findings]


def told(conversation: Conversation) -> list[Any]:
    """Each turn as its text, or its calls with their results."""
    return [
        [(call.name, call.arguments, r.text, r.is_error) for call, r in zip(turn.calls, turn.results, strict=True)]
        if isinstance(turn, AssistantTurn) and turn.calls
        else turn.text
        for turn in conversation.turns
    ]


WEATHER = ["hi", [("weather", {"city": "Rome"}, "sunny", False), ("fail", {}, "no", True)], "It is sunny."]

PYDANTIC: list[Any] = [
    {
        "kind": "request",
        "parts": [
            {"part_kind": "system-prompt", "content": "Be brief."},
            {"part_kind": "user-prompt", "content": ["hi", {"kind": "binary", "data": PNG, "media_type": "image/png"}]},
        ],
    },
    {
        "kind": "response",
        "model_name": "claude-sonnet-4-5",
        "provider_name": "anthropic",
        "parts": [
            {"part_kind": "thinking", "content": "hm", "signature": "c2ln"},
            {"part_kind": "tool-call", "tool_name": "weather", "args": '{"city": "Rome"}', "tool_call_id": "a"},
            {"part_kind": "tool-call", "tool_name": "fail", "args": None, "tool_call_id": "b"},
        ],
    },
    {
        "kind": "request",
        "parts": [
            {"part_kind": "tool-return", "tool_name": "weather", "content": "sunny", "tool_call_id": "a"},
            {
                "part_kind": "tool-return",
                "tool_name": "fail",
                "content": "no",
                "tool_call_id": "b",
                "outcome": "failed",
            },
        ],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "It is sunny."}]},
]
LANGCHAIN: list[Any] = [
    {"type": "system", "data": {"content": "Be brief."}},
    {
        "type": "human",
        "data": {
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            ]
        },
    },
    {
        "type": "ai",
        "data": {
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}},
            ],
            "response_metadata": {"model_name": "claude-sonnet-4-5"},
            "tool_calls": [
                {"name": "weather", "args": {"city": "Rome"}, "id": "a", "type": "tool_call"},
                {"name": "fail", "args": {}, "id": "b", "type": "tool_call"},
            ],
        },
    },
    {"type": "tool", "data": {"content": "sunny", "tool_call_id": "a", "status": "success"}},
    {"type": "tool", "data": {"content": "no", "tool_call_id": "b", "status": "error"}},
    {"type": "ai", "data": {"content": "It is sunny.", "tool_calls": []}},
]
NAMES = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
CONSTRUCTORS = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", NAMES[m["type"]]], "kwargs": m["data"]}
    for m in LANGCHAIN
]
FLAT = [{"type": m["type"], **m["data"]} for m in LANGCHAIN]
UI_USER = {
    "id": "1",
    "role": "user",
    "parts": [
        {"type": "text", "text": "hi"},
        {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
    ],
}
UI_SYSTEM = {"id": "0", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]}
UI5: list[Any] = [
    UI_SYSTEM,
    UI_USER,
    {
        "id": "2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm", "providerMetadata": {"anthropic": {"signature": "c2ln"}}},
            {"type": "tool-weather", "toolCallId": "a", "state": "output-available", "input": {"city": "Rome"}, "output": "sunny"},  # noqa: E501
            {"type": "dynamic-tool", "toolName": "fail", "toolCallId": "b", "state": "output-error", "input": {}, "errorText": "no"},  # noqa: E501
            {"type": "step-start"},
            {"type": "text", "text": "It is sunny."},
        ],
    },
]  # fmt: skip
UI4: list[Any] = [
    UI_SYSTEM,
    UI_USER,
    {
        "id": "2",
        "role": "assistant",
        "content": "It is sunny.",
        "parts": [
            {"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "text": "hm", "signature": "c2ln"}]},
            {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "a", "toolName": "weather", "args": {"city": "Rome"}, "result": "sunny"}},  # noqa: E501
            {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "b", "toolName": "fail", "args": {}, "result": {"content": [{"type": "text", "text": "no"}], "isError": True}}},  # noqa: E501
            {"type": "text", "text": "It is sunny."},
        ],
    },
]  # fmt: skip
MODEL: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "image": PNG, "mediaType": "image/png"}]},  # noqa: E501
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "c2ln"}}},
            {"type": "tool-call", "toolCallId": "a", "toolName": "weather", "input": {"city": "Rome"}},
            {"type": "tool-call", "toolCallId": "b", "toolName": "fail", "input": {}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "a", "toolName": "weather", "output": {"type": "text", "value": "sunny"}},  # noqa: E501
            {"type": "tool-result", "toolCallId": "b", "toolName": "fail", "output": {"type": "error-text", "value": "no"}},  # noqa: E501
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It is sunny."}]},
]  # fmt: skip


def camel(message: dict[str, Any]) -> dict[str, Any]:
    def key(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(word.title() for word in rest)

    fields = {key(name): value for name, value in message.items()}
    return fields | {"parts": [{key(name): value for name, value in part.items()} for part in message["parts"]]}


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (PYDANTIC, "pydantic-ai"),
        ([camel(message) for message in PYDANTIC], "pydantic-ai"),
        (LANGCHAIN, "langchain"),
        (CONSTRUCTORS, "langchain"),
        (FLAT, "langchain"),
        ({"values": {"messages": FLAT}}, "langchain"),
        (UI5, "vercel"),
        (UI4, "vercel"),
        (MODEL, "vercel"),
    ],
)
def test_messages_of_frameworks_are_read_whole(data: Any, format: str):
    found, conversation, findings = read(data)
    assert (found, findings) == (format, [])
    assert conversation.system == "Be brief."
    assert told(conversation) == WEATHER
    assert any(isinstance(part, Image) and part.data == PNG for part in conversation.turns[0].parts)
    (reasoning,) = (part for part in conversation.turns[1].parts if isinstance(part, Reasoning))
    assert reasoning.text == "hm"
    assert reasoning.native is not None
    assert reasoning.native.data["signature"] == "c2ln"
    assert reasoning.native.origin.api == "anthropic"
    assert '"signature": "c2ln"' in json.dumps(write(conversation, "anthropic").data)


def line(kind: str, content: Any, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content} | more.pop("message", {})
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def test_a_session_of_claude_code_is_its_last_branch():
    answer = {"message": {"id": "msg_1", "model": "claude-opus-4-5"}}
    calls = [{"type": "tool_use", "id": id, "name": "read", "input": {}} for id in ("a", "b")]
    results = [[{"type": "tool_result", "tool_use_id": id, "content": id.upper()}] for id in ("a", "b")]
    lines = [
        {"type": "summary", "summary": "x", "leafUuid": "9"},
        line("user", "taken back", "0", None),
        line("user", "hi", "1", None),
        line("assistant", [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}], "2", "1", **answer),
        line("assistant", [calls[0]], "3", "2", **answer),
        line("user", results[0], "5", "3"),
        line("assistant", [calls[1]], "4", "3", **answer),
        line("user", "other", "x", "4", isSidechain=True),
        line("user", results[1], "6", "4"),
        line("assistant", "done", "7", "6", message={"id": "msg_2", "model": "claude-opus-4-5"}),
    ]
    format, conversation, findings = read(lines, lines=True)
    assert format == "claude-code"
    assert told(conversation) == ["hi", [("read", {}, "A", False), ("read", {}, "B", False)], "done"]
    assert findings == [
        "1 line of side chains, which other agents spoke",
        "1 line of branches that were taken back",
    ]
    (reasoning,) = (part for part in conversation.turns[1].parts if isinstance(part, Reasoning))
    assert reasoning.native is not None
    assert reasoning.native.origin.model == "claude-opus-4-5"


def boundary(**told: Any) -> dict[str, Any]:
    more = {"uuid": "b", "parentUuid": None, "logicalParentUuid": "2", "compactMetadata": {"trigger": "auto", **told}}
    return {"type": "system", "subtype": "compact_boundary", **more}


BEFORE = [line("user", "old", "0", None), line("assistant", "done", "1", "0"), line("user", "kept", "2", "1")]
SUMMARY = line("user", "summary", "s", "b", isCompactSummary=True)


def test_a_compacted_session_of_claude_code_goes_on_from_its_summary():
    lines = [*BEFORE, boundary(), SUMMARY, line("user", "next", "3", "s")]
    _, conversation, findings = read(lines, lines=True)
    assert told(conversation) == ["summary\n\nnext"]
    assert findings == ["3 lines that the session itself had summed up"]


@pytest.mark.parametrize(
    "kept",
    [
        {"preservedSegment": {"headUuid": "2", "anchorUuid": "s", "tailUuid": "2"}},
        {"preservedMessages": {"anchorUuid": "s", "uuids": ["2"]}},
    ],
)
def test_what_a_summary_kept_word_for_word_stands_behind_it(kept: dict[str, Any]):
    lines = [*BEFORE, boundary(**kept), SUMMARY, line("assistant", "next", "3", "2")]
    _, conversation, findings = read(lines, lines=True)
    assert told(conversation) == ["summary\n\nkept", "next"]
    assert findings == ["2 lines that the session itself had summed up"]


def test_what_was_typed_while_the_model_worked_is_the_users_and_an_error_is_nobodys():
    def attached(uuid: str, parent: str, **fields: Any) -> dict[str, Any]:
        return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": fields}

    lines = [
        line("user", "hi", "1", None),
        attached("2", "1", type="queued_command", commandMode="prompt", prompt="and that"),
        attached("3", "2", type="queued_command", commandMode="task-notification", prompt="<task>"),
        line("assistant", "API Error: 529", "4", "3", isApiErrorMessage=True, message={"model": "<synthetic>"}),
        line("user", "again", "5", "4"),
    ]
    _, conversation, findings = read(lines, lines=True)
    assert told(conversation) == ["hi\n\nand that\n\nagain"]
    assert findings == [
        "1 line with errors that the program wrote in the model's place",
        "1 line with what the program attached",
    ]


def test_what_a_session_keeps_beside_the_conversation_is_no_fault(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    lines = [line("user", "hi", "1", None), line("user", "other", "x", "1", isSidechain=True)]
    path.write_text("\n".join(map(json.dumps, lines)))
    code, output = invoke("check", str(path))
    assert code == 0
    assert "claude-code, 1 turn, nothing to repair\n  session: 1 line of side chains" in output
    lines.append(line("assistant", [{"type": "tool_use", "id": "a", "name": "f", "input": {}}], "2", "1"))
    path.write_text("\n".join(map(json.dumps, lines)))
    code, output = invoke("check", str(path))
    assert code == 1
    assert f"repair and convert it with `antiphon export {path} OUT --format anthropic`" in output


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **fields}}


ITEMS = [
    item("message", role="user", content=[{"type": "input_text", "text": "hi"}]),
    item("reasoning", id="rs_1", summary=[], encrypted_content="abc"),
    item("function_call", call_id="a", name="shell", arguments="{}"),
    item("custom_tool_call", call_id="b", name="apply_patch", input="*** Begin"),
    item("function_call_output", call_id="a", output="ok"),
    item("custom_tool_call_output", call_id="b", output="patched"),
    item("message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
]
CODEX_TOLD = ["hi", [("shell", {}, "ok", False), ("apply_patch", {"input": "*** Begin"}, "patched", False)], "done"]


def test_a_session_of_codex_is_read():
    head = {"type": "session_meta", "payload": {"id": "1", "base_instructions": {"text": "Be brief."}}}
    context = {"type": "turn_context", "payload": {"model": "gpt-5-codex"}}
    event = {"type": "event_msg", "payload": {"type": "agent_message", "message": "done"}}
    format, conversation, findings = read([head, context, *ITEMS, event], lines=True)
    assert (format, findings, conversation.system) == ("codex", [], "Be brief.")
    assert told(conversation) == CODEX_TOLD
    (reasoning,) = (part for part in conversation.turns[1].parts if isinstance(part, Reasoning))
    assert reasoning.native is not None
    assert reasoning.native.origin.model == "gpt-5-codex"


def test_an_old_session_of_codex_is_read():
    head = {"id": "1", "timestamp": "t", "instructions": "Be brief."}
    format, conversation, findings = read([head, *(each["payload"] for each in ITEMS)], lines=True)
    assert (format, findings, conversation.system) == ("codex", [], "Be brief.")
    assert told(conversation) == CODEX_TOLD


def test_a_compacted_session_of_codex_goes_on_from_its_summary():
    compacted = {"type": "compacted", "payload": {"message": "All went well."}}
    more = item("message", role="user", content=[{"type": "input_text", "text": "and now?"}])
    _, conversation, findings = read([*ITEMS, compacted, more], lines=True)
    assert told(conversation) == ["hi\n\nAll went well.\n\nand now?"]
    assert findings == ["7 items that the session itself had summed up"]


RS = [{"itemId": "rs_1", "reasoningEncryptedContent": "abc"}] * 2
PARTED_REASONING: list[Any] = [
    [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]},
        {
            "kind": "response",
            "provider_name": "openai",
            "parts": [
                {"part_kind": "thinking", "content": "a", "id": "rs_1", "signature": "abc", "provider_name": "openai"},
                {"part_kind": "thinking", "content": "b", "id": "rs_1", "provider_name": "openai"},
                {"part_kind": "text", "content": "yes"},
            ],
        },
    ],
    [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                *(
                    {"type": "reasoning", "text": t, "providerMetadata": {"openai": m}}
                    for t, m in zip("ab", RS, strict=True)
                ),
                {"type": "text", "text": "yes"},
            ],
        },
    ],
]


@pytest.mark.parametrize("data", PARTED_REASONING)
def test_the_pieces_of_one_item_of_reasoning_are_one_again(data: Any):
    made = write(read(data)[1], "openai-responses")
    assert made.violations == []
    written = made.data["input"]
    (item,) = (each for each in written if each.get("type") == "reasoning")
    assert [piece["text"] for piece in item["summary"]] == ["a", "b"]
    assert item["encrypted_content"] == "abc"


SIGNED: list[Any] = [
    [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {"type": "tool-f", "toolCallId": "a", "state": "output-available", "input": {}, "output": "ok",
                 "callProviderMetadata": {"google": {"thoughtSignature": "c2ln"}}},
            ],
        },
    ],
    [
        {"type": "human", "content": "hi"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "a"}],
         "additional_kwargs": {"__gemini_function_call_thought_signatures__": {"a": "c2ln"}}},
        {"type": "tool", "content": "ok", "tool_call_id": "a"},
    ],
]  # fmt: skip


@pytest.mark.parametrize("data", SIGNED)
def test_a_call_keeps_the_signature_that_gemini_wants_back(data: Any):
    parts = [part for content in write(read(data)[1], "gemini").data["contents"] for part in content["parts"]]
    assert [part["thoughtSignature"] for part in parts if "functionCall" in part] == ["c2ln"]


def test_what_a_provider_did_by_itself_never_goes_back_in_the_form_of_a_framework():
    search = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": "x"}, "tool_call_id": "s"}
    summary = {"part_kind": "compaction", "content": "All went well."}
    said = {"kind": "response", "provider_name": "anthropic", "parts": [search, summary]}
    _, conversation, findings = read([PYDANTIC[0], said])
    assert findings == []
    written = write(conversation, "anthropic")
    assert written.violations == []
    texts = [block["text"] for block in written.data["messages"][1]["content"]]
    # What was searched for is no word of the model's.
    assert texts == ["All went well."]


def test_old_interface_messages_keep_their_steps_and_reasoning():
    calls = [
        {"state": "result", "step": step, "toolCallId": str(step), "toolName": "f", "args": {}, "result": "ok"}
        for step in (0, 1)
    ]
    data = [
        {"id": "1", "role": "user", "content": "hi"},
        {"id": "2", "role": "assistant", "content": "done", "reasoning": "hm", "toolInvocations": calls},
    ]
    format, conversation, findings = read(data)
    assert (format, findings) == ("vercel", [])
    assert told(conversation) == ["hi", [("f", {}, "ok", False)], [("f", {}, "ok", False)], "done"]
    assert [part.text for part in conversation.turns[1].parts if isinstance(part, Reasoning)] == ["hm"]


def test_a_call_that_was_refused_says_why():
    refused = {"approved": False, "reason": "not now"}
    part = {"type": "tool-f", "toolCallId": "a", "state": "approval-responded", "input": {}, "approval": refused}
    _, conversation, findings = read([UI_USER, {"id": "2", "role": "assistant", "parts": [part]}])
    assert findings == []
    assert told(conversation)[1] == [("f", {}, "not now", True)]


@pytest.mark.parametrize(
    "part",
    [
        (PYDANTIC, {"kind": "response", "parts": [{"part_kind": "hologram", "content": "x"}]}),
        (LANGCHAIN, {"type": "ai", "data": {"content": [{"type": "hologram"}]}}),
        (UI5, {"id": "9", "role": "assistant", "parts": [{"type": "text", "text": "x"}, {"type": "data-hologram"}]}),
    ],
)
def test_a_part_that_is_not_known_is_told(part: tuple[Any, Any]):
    _, _, findings = read([*part[0], part[1]])
    assert any("hologram" in found for found in findings)


@pytest.mark.parametrize(
    "data",
    [
        {"a": 1},
        [{"a": 1}],
        [{"kind": "request", "parts": [{"what": 1}]}],
        [{"role": "user", "parts": [{"type": "hologram"}]}],
        {"messages": [{"from": "human", "value": "hi"}]},
        {"input": {"a": 1}},
        {"contents": "text"},
        [{"type": "hologram", "x": 1}],
        ["hi"],
        # One message of a framework among others that it does not write.
        [{"kind": "request", "parts": []}, {"what": 1}],
        [{"type": "human", "content": "hi"}, {"role": "user", "content": "hi"}],
        # Nobody wraps a history six times.
        {"body": {"body": {"body": {"body": {"body": {"body": {"messages": [{"role": "user", "content": "hi"}]}}}}}}},
    ],
)
def test_what_is_not_recognised_is_no_history(data: Any, tmp_path: Path):
    with pytest.raises(FormatError, match=r"expected messages of Anthropic.*; found "):
        read(data)
    path = tmp_path / "h.json"
    path.write_text(json.dumps(data))
    code, output, errors = run("check", str(path))
    assert (code, output) == (2, "")
    assert "found " in errors


def test_a_foreign_format_is_converted_but_not_written(tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_text(json.dumps(PYDANTIC[:2]))
    code, _, errors = run("check", "--fix", str(path))
    assert code == 2
    assert "cannot be written; repair and convert it with `antiphon export FILE OUT --format" in errors
    assert invoke("check", str(path))[0] == 1
    _, output, errors = run("export", str(path), "--format", "openai-chat")
    assert "reasoning that only claude-sonnet-4-5 can read; left out" in errors
    assert "reasoning that only claude-sonnet-4-5" in run("export", str(path), "--format", "gemini")[2]
    assert json.loads(output)["messages"][2]["tool_calls"][0]["function"]["name"] == "weather"


def test_messages_of_langchain_in_short_are_read() -> None:
    given = [["system", "Be brief."], ["human", "Hi."], ["ai", "Yo."], ["user", [{"type": "text", "text": "And?"}]]]
    found, conversation, findings = read(given)
    assert (found, conversation.system, findings) == ("langchain", "Be brief.", [])
    assert told(conversation) == ["Hi.", "Yo.", "And?"]


def test_objects_of_langchain_that_do_not_name_their_class_are_told_by_their_fields() -> None:
    def written(**fields: Any) -> dict[str, Any]:
        return {"lc_serializable": True, "lc_kwargs": fields, "lc_namespace": ["langchain_core", "messages"], **fields}

    call = {"id": "c1", "name": "f", "args": {"a": 1}}
    given = [written(content="Hi."), written(content="", tool_calls=[call]), written(content="r", tool_call_id="c1")]
    found, conversation, findings = read(given)
    assert (found, findings) == ("langchain", ["a message of role ''"])
    assert told(conversation) == ["Hi.", [("f", {"a": 1}, "r", False)]]


def test_a_response_without_content_is_told() -> None:
    empty = {"kind": "response", "parts": [], "model_name": "claude-sonnet-5", "provider_name": "anthropic"}
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi."}]}
    _, conversation, findings = read([asked, empty, asked])
    assert any("a response without content" in each for each in findings)
    assert [turn.text for turn in conversation.turns if turn.text] == ["Hi.", "Hi."]
    assert not conversation.auto_assistant_tool_calls


def test_a_retry_of_a_call_is_its_result_and_one_of_an_answer_is_a_message():
    called = {"part_kind": "tool-call", "tool_name": "look", "args": {}, "tool_call_id": "c1"}
    history = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi."}]},
        {"kind": "response", "parts": [called], "model_name": "claude-sonnet-5"},
        {
            "kind": "request",
            "parts": [{"part_kind": "retry-prompt", "content": "no", "tool_name": "look", "tool_call_id": "c1"}],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Four."}], "model_name": "claude-sonnet-5"},
        {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "not a number"}]},
    ]
    _, conversation, findings = read(history)
    assert findings == []
    (result,) = conversation.turns[1].results
    assert (result.text, result.is_error) == ("no\n\nFix the errors and try again.", True)
    assert conversation.turns[-1].text == "not a number\n\nFix the errors and try again."
