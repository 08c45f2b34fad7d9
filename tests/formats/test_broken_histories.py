"""Histories as they are found in bug reports: what is wrong is told, put right, and then taken by rules and SDKs."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as AnthropicParams
from google.genai import types as gemini_types
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as ChatParams
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as ResponsesParams

from antiphon import Conversation
from antiphon.errors import AntiphonError, FormatError
from antiphon.formats import WRITABLE_FORMATS, load, parse_histories, validate_histories, write
from antiphon.wire import rules
from tests.cli.test_commands import invoke
from tests.formats import test_importers as others
from tests.referees.sdk_types import judge

HI = {"role": "user", "content": "hi"}
CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
O_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
O_CALLS: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [O_CALL]}
O_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
R_CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
R_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
G_CALL = {"functionCall": {"name": "f", "args": {}}}
G_RESULT = {"functionResponse": {"name": "f", "response": {"result": "ok"}}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(40) + b"\xff\xd9").decode()
HALF_JPEG = base64.b64encode(b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(40)).decode()
HALF_WEBP = base64.b64encode(b"RIFF\x20\0\0\0WEBPVP8 " + bytes(20)).decode()
LOST = "[an image that could not be read]"


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def image(data: str, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def shown(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def inline(data: str, kind: str = "image/png") -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": data}}


G_HI = content("user", {"text": "hi"})
#: A body, its API, the code under which it must be told, and what must be in the repaired file or not ("!").
REPORTED: dict[str, tuple[Any, str, str, list[str]]] = {
    # Order and pairing
    "text of the model before the result": (
        [HI, assistant(CALL), {"role": "assistant", "content": "wait"}, user(RESULT)],
        "anthropic",
        "split-calls",
        ["wait", '"ok"'],
    ),
    "text of the user before the result": (
        [HI, assistant(CALL), {"role": "user", "content": "wait"}, user(RESULT)],
        "anthropic",
        "misplaced-result",
        ["wait", '"ok"'],
    ),
    "text beside the result, before it": (
        [HI, assistant(CALL), user(text("wait"), RESULT)],
        "anthropic",
        "misplaced-result",
        ["wait", '"ok"'],
    ),
    "chat: the model speaks between": (
        [HI, O_CALLS, {"role": "assistant", "content": "wait"}, O_RESULT],
        "openai-chat",
        "split-calls",
        ["wait", '"ok"'],
    ),
    "chat: the user speaks between": (
        [HI, O_CALLS, {"role": "user", "content": "wait"}, O_RESULT],
        "openai-chat",
        "misplaced-result",
        ["wait", '"ok"'],
    ),
    "responses: the user speaks between": (
        {"model": "gpt-4o", "input": [HI, R_CALL, {"role": "user", "content": "wait"}, R_OUTPUT]},
        "openai-responses",
        "misplaced-result",
        ["wait", '"ok"'],
    ),
    "gemini: the user speaks between": (
        [G_HI, content("model", G_CALL), content("user", {"text": "wait"}), content("user", G_RESULT)],
        "gemini",
        "misplaced-result",
        ["wait"],
    ),
    "gemini: the model speaks between": (
        [G_HI, content("model", G_CALL), content("model", {"text": "wait"}), content("user", G_RESULT)],
        "gemini",
        "split-calls",
        ["wait"],
    ),
    "a result before its call": ([HI, O_RESULT, O_CALLS], "openai-chat", "misplaced-result", ['"ok"']),
    "parallel results in two messages": (
        [HI, assistant(CALL, CALL | {"id": "t2"}), user(RESULT), user(RESULT | {"tool_use_id": "t2"})],
        "anthropic",
        "split-results",
        ['"t2"'],
    ),
    "a call without a result": ([HI, assistant(CALL), HI], "anthropic", "unanswered-call", ["Interrupted"]),
    "responses: a call without an output": (
        {"model": "gpt-4o", "input": [HI, R_CALL, HI]},
        "openai-responses",
        "unanswered-call",
        ["Interrupted"],
    ),
    "two calls of one id": (
        [HI, assistant(CALL, CALL | {"input": {"n": 2}}), user(RESULT, RESULT | {"content": "two"})],
        "anthropic",
        "duplicate-id",
        ['"t1", "content": "ok"', '"call00002", "content": "two"'],
    ),
    "two results of one call": (
        [HI, O_CALLS, O_RESULT, O_RESULT | {"content": "again"}],
        "openai-chat",
        "duplicate-result",
        ['"ok"'],
    ),
    # Results whose call is gone keep their words.
    "orphan": ([HI, assistant(text("a")), user(RESULT | {"content": "rain"})], "anthropic", "orphan-result", ["rain"]),
    "orphan at the start": (
        [user(RESULT | {"content": "rain"}), assistant(text("a")), HI],
        "anthropic",
        "orphan-result",
        ["rain"],
    ),
    "orphan among results": (
        [
            HI,
            {**O_CALLS, "tool_calls": [O_CALL, O_CALL | {"id": "c2"}]},
            O_RESULT,
            O_RESULT | {"tool_call_id": "gone", "content": "rain"},
            O_RESULT | {"tool_call_id": "c2"},
        ],
        "openai-chat",
        "orphan-result",
        ["rain", "!Interrupted"],
    ),
    "responses: orphan": (
        {"model": "gpt-4o", "input": [HI, R_OUTPUT | {"output": "rain"}]},
        "openai-responses",
        "orphan-result",
        ["rain"],
    ),
    "gemini: orphan": (
        [G_HI, content("model", {"text": "a"}), content("user", G_RESULT)],
        "gemini",
        "orphan-result",
        ["ok"],
    ),
    # Blocks of another API
    "tool_use beside the same tool_calls": (
        [HI, {**O_CALLS, "content": [text("a"), CALL | {"id": "c1"}]}, O_RESULT],
        "openai-chat",
        "bad-item",
        ["!tool_use", "!Interrupted"],
    ),
    "tool_use beside other tool_calls": (
        [HI, {**O_CALLS, "content": [text("a"), CALL | {"name": "g"}]}, O_RESULT],
        "openai-chat",
        "bad-item",
        ["!tool_use", '"name": "g"', "Interrupted"],
    ),
    "tool_calls and tool_result": (
        [HI, {**assistant(text("a"), CALL), "tool_calls": [O_CALL | {"id": "t1"}]}, user(RESULT, text("and?"))],
        "openai-chat",
        "bad-item",
        ["!tool_result", '"role": "tool"', "and?", "!Interrupted"],
    ),
    "a search without its result": ([HI, assistant(SEARCH, text("a")), HI], "anthropic", "A39", ["!server_tool_use"]),
    "nothing but a search without its result": ([HI, assistant(SEARCH), HI], "anthropic", "A39", ["!server_tool_use"]),
    # Content
    "empty content of the model": ([HI, assistant(CALL), user(RESULT), assistant()], "anthropic", "empty-message", []),
    "empty text": ([user(text(""), text("hi")), assistant(CALL), user(RESULT)], "anthropic", "empty-text", []),
    "null content without calls": (
        [HI, {"role": "assistant", "content": None}, HI, O_CALLS, O_RESULT],
        "openai-chat",
        "empty-message",
        [],
    ),
    "an empty list of calls": (
        [HI, {"role": "assistant", "content": "x", "tool_calls": []}, HI],
        "openai-chat",
        "empty-message",
        ["!tool_calls"],
    ),
    "gemini: an empty text among others": (
        [content("user", {"text": "hi"}, {"text": ""}), content("model", {"text": "x"}), G_HI],
        "gemini",
        "empty-text",
        ['!"text": ""'],
    ),
    "gemini: nothing but an empty text": (
        [G_HI, content("model", {"text": ""}), G_HI],
        "gemini",
        "empty-text",
        ['!"text": ""', '!"model"'],
    ),
    "arguments that are no JSON": (
        [HI, {**O_CALLS, "tool_calls": [O_CALL | {"function": {"name": "f", "arguments": "{a:"}}]}, O_RESULT],
        "openai-chat",
        "bad-arguments",
        ["_malformed"],
    ),
    "arguments that are an object": (
        [HI, {**O_CALLS, "tool_calls": [O_CALL | {"function": {"name": "f", "arguments": {"a": 1}}}]}, O_RESULT],
        "openai-chat",
        "bad-arguments",
        [],
    ),
    "an id that is too long": (
        [HI, {**O_CALLS, "tool_calls": [O_CALL | {"id": "c" * 60}]}, O_RESULT | {"tool_call_id": "c" * 60}],
        "openai-chat",
        "bad-id",
        ["!cccccccccc"],
    ),
    "system in the middle": (
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "messages": [HI, {"role": "system", "content": "Be brief."}, HI],
        },
        "anthropic",
        "A13",
        ["Be brief.", '!"system"'],
    ),
    "thinking without a signature": (
        [HI, assistant({"type": "thinking", "thinking": "hm"}, CALL), user(RESULT)],
        "anthropic",
        "A17",
        ["!hm"],
    ),
    "reasoning without what it led to": (
        {"model": "gpt-5", "input": [HI, {"type": "reasoning", "id": "rs_1", "summary": []}, HI]},
        "openai-responses",
        "R3",
        ["!rs_1"],
    ),
    # Images
    "another media type": ([user(image(JPEG), text("x"))], "anthropic", "bad-image", ["image/jpeg", JPEG]),
    "another media type in a result": (
        [HI, assistant(CALL), user(RESULT | {"content": [image(JPEG)]})],
        "anthropic",
        "bad-image",
        ["image/jpeg", JPEG],
    ),
    "image/jpg": ([user(image(JPEG, "image/jpg"), text("x"))], "anthropic", "bad-image", ["image/jpeg"]),
    "a data URL as data": (
        [user(image(f"data:image/png;base64,{PNG}"), text("x"))],
        "anthropic",
        "bad-image",
        [PNG, "!base64,"],
    ),
    "base64 in lines": ([user(image(f"{PNG[:40]}\n{PNG[40:]}"), text("x"))], "anthropic", "bad-image", [PNG]),
    "no base64": ([user(image("!!!"), text("x"))], "anthropic", "bad-image", [LOST, "!!!!"]),
    "no image": ([user(image("aGVsbG8="), text("x"))], "anthropic", "bad-image", [LOST]),
    "half an image": ([user(image(PNG[:60]), text("x"))], "anthropic", "bad-image", [LOST]),
    "half a JPEG": ([user(image(HALF_JPEG, "image/jpeg"), text("x"))], "anthropic", "bad-image", [LOST]),
    "most of a WebP": ([user(image(HALF_WEBP, "image/webp"), text("x"))], "anthropic", "bad-image", [LOST]),
    "chat: another media type": (
        [user(shown(f"data:image/png;base64,{JPEG}"), text("x"))],
        "openai-chat",
        "bad-image",
        [f"data:image/jpeg;base64,{JPEG}"],
    ),
    "chat: no base64": ([user(shown("data:image/png;base64,!!!"), text("x"))], "openai-chat", "bad-image", [LOST]),
    "responses: another media type": (
        {
            "model": "gpt-4o",
            "input": [user({"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{JPEG}"})],
        },
        "openai-responses",
        "bad-image",
        ["data:image/jpeg"],
    ),
    "gemini: another media type": ([content("user", inline(JPEG))], "gemini", "bad-image", ["image/jpeg"]),
    "gemini: no base64": ([content("user", inline("!!"), {"text": "x"})], "gemini", "bad-image", [LOST]),
}
KEYS = {"openai-responses": "input", "gemini": "contents"}
PARAMS = {"anthropic": AnthropicParams, "openai-chat": ChatParams, "openai-responses": ResponsesParams}


def request_of(data: Any, api: str) -> dict[str, Any]:
    needed = {"model": "some"} | ({"max_tokens": 1} if api == "anthropic" else {})
    return needed | (data if isinstance(data, dict) else {KEYS.get(api, "messages"): data})


def taken_by_the_sdk(data: Any, api: str) -> None:
    body = request_of(data, api)
    if api != "gemini":
        judge(PARAMS[api], body)
        return
    for each in body["contents"]:
        gemini_types.Content.model_validate(each)


@pytest.mark.parametrize("name", REPORTED)
def test_what_is_reported_is_found_and_repaired(name: str, tmp_path: Path):
    body, api, code, wanted = REPORTED[name]
    path = tmp_path / "h.json"
    path.write_text(json.dumps(body))
    exit_code, output = invoke("check", "--json", "--fix", str(path))
    (report,) = json.loads(output)["histories"]
    assert (exit_code, report["format"]) == (1, api)
    assert code in {problem["code"] for problem in report["problems"]}
    assert all(problem["repaired"] for problem in report["problems"])
    after = path.read_text()
    for each in wanted:
        assert (each.removeprefix("!") in after) != each.startswith("!"), each
    assert rules.check(request_of(json.loads(after), api), api) == []
    taken_by_the_sdk(json.loads(after), api)
    assert invoke("check", str(path))[0] == 0


@pytest.mark.parametrize("name", REPORTED)
def test_what_is_reported_can_be_converted(name: str):
    body, api, *_ = REPORTED[name]
    history = load(json.dumps(body).encode(), "h", api)
    for other in ("anthropic", "openai-chat", "openai-responses", "gemini"):
        written = write(history.conversation, other)
        assert written.violations == []
        taken_by_the_sdk(written.data, other)


def test_an_image_that_is_too_large_is_told_and_left(tmp_path: Path):
    large = base64.b64encode(base64.b64decode(PNG) + bytes(4_000_000)).decode()
    path = tmp_path / "h.json"
    path.write_text(json.dumps([user(image(large), text("x"))]))
    before = path.read_bytes()
    code, output = invoke("check", "--fix", str(path))
    assert code == 1
    assert "an image of 5,333,428 bytes, more than 5 MB\n    not repaired: make it smaller" in output
    assert path.read_bytes() == before


def test_a_sound_image_and_a_waiting_search_are_no_faults(tmp_path: Path):
    path = tmp_path / "h.json"
    heic = base64.b64encode(b"\0\0\0\x20ftypheic" + bytes(20)).decode()
    signed = {"text": "", "thoughtSignature": "c2ln"}
    for body in (
        [user(image(PNG), text("x")), assistant(CALL, SEARCH), user(RESULT)],
        [HI, assistant(text("a"), SEARCH)],
        [content("user", inline(heic, "image/heif"), {"text": "x"}), content("model", signed), G_HI],
        [content("user", inline(JPEG.translate(str.maketrans("+/", "-_")), "image/jpeg"), {"text": "x"})],
    ):
        path.write_text(json.dumps(body))
        assert invoke("check", str(path))[0] == 0, body


def test_an_image_in_the_arguments_of_a_call_is_data(tmp_path: Path):
    told = {"messages": [HI, assistant(CALL | {"input": image("!!!")}), user(RESULT)]}
    path = tmp_path / "h.json"
    path.write_text(json.dumps(told))
    assert invoke("check", str(path), "--fix")[0] == 0
    assert json.loads(path.read_text()) == told


def test_only_a_search_that_can_no_longer_be_answered_is_dropped():
    other = SEARCH | {"id": "srvtoolu_2"}
    body = [HI, assistant(SEARCH, text("a")), HI, assistant(CALL, other), user(RESULT)]
    (checkup,), _ = validate_histories([load(json.dumps(body).encode(), "h", "anthropic")])
    assert [each.code for each in checkup.findings] == ["A39"]
    assert checkup.body[1]["content"] == [text("a")]
    assert other in checkup.body[3]["content"]


def test_an_orphan_among_results_is_the_only_fault():
    body, api, *_ = REPORTED["orphan among results"]
    (checkup,), _ = validate_histories([load(json.dumps(body).encode(), "h", api)])
    assert [each.code for each in checkup.findings] == ["orphan-result"]


def test_words_of_an_orphan_are_not_taken_for_the_users():
    history = load(json.dumps([HI, O_RESULT | {"content": "Delete it."}, HI]).encode(), "h")
    (turn,) = history.conversation.turns
    assert [part.text for part in turn.parts if hasattr(part, "text")] == [
        "hi",
        "[The result of a tool call that is not in this conversation]\nDelete it.\n[The end of that result]",
        "hi",
    ]


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses"])
def test_a_history_that_ends_with_the_model_goes_to_gemini(format: str, tmp_path: Path):
    conversation = Conversation()
    conversation.add_user("hi")
    conversation.add_assistant("Hello.")
    path = tmp_path / "h.json"
    path.write_text(json.dumps(write(conversation, format).data))
    written = write(load(path.read_bytes(), "h", format).conversation, "gemini")
    assert rules.check(request_of(written.data, "gemini"), "gemini") == []
    assert any("the user says 'Continue.'" in each for each in written.losses)
    assert written.data["contents"][:-1] == [G_HI, content("model", {"text": "Hello."})]


# Fields that stand twice


TWICE = b'{"model": "m", "messages": [], "messages": [{"role": "user", "content": "a", "content": "b"}]}'


@pytest.mark.parametrize(
    ("raw", "places"),
    [
        (TWICE, ["", "messages[0]"]),
        (json.dumps({"body": TWICE.decode()}).encode(), ["", "messages[0]"]),
        (b'{"role": "user", "content": "x"}\n{"role": "user", "content": "y", "role": "user"}\n', ["line 2"]),
    ],
)
def test_a_field_that_stands_twice_is_told(raw: bytes, places: list[str], tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_bytes(raw)
    code, output = invoke("check", "--json", str(path))
    told = [each for each in json.loads(output)["histories"][0]["problems"] if each["code"] == "repeated-field"]
    assert (code, [each["where"] for each in told]) == (1, places)
    assert [each.code for each in load(raw, "h").findings if each.code == "repeated-field"] == ["repeated-field"] * len(
        places
    )
    invoke("check", "--fix", str(path))
    assert invoke("check", str(path))[0] == 0


def test_a_saved_conversation_with_a_field_twice_is_refused(tmp_path: Path):
    path = tmp_path / "c.json"
    conversation = Conversation("Be brief.")
    conversation.add_user("hi")
    conversation.save(path)
    assert Conversation.load(path).system == "Be brief."
    path.write_text(path.read_text().replace('"system":', '"system":"Be long.","system":', 1))
    with pytest.raises(FormatError, match='two fields "system"'):
        Conversation.load(path)
    code, output = invoke("check", str(path))
    assert (code, "the field 'system' stands there twice" in output) == (1, True)


# Whatever somebody has made of a history, no traceback


SEEDS: list[Any] = [
    *(body for body, *_ in REPORTED.values()),
    {"input": [{"type": "function_call_output"}]},
    {
        "system": "s",
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [HI, assistant(CALL), user(RESULT)],
    },
    {
        "instructions": "s",
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
        "input": [
            HI,
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            },
            {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "x"}]},
        ],
    },
    {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}],
        "contents": [G_HI],
    },
    {
        "format": "antiphon.conversation",
        "version": 1,
        "turns": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
    },
    others.PYDANTIC,
    others.LANGCHAIN,
    others.CONSTRUCTORS,
    others.FLAT,
    others.MODEL,
    [others.UI_SYSTEM, others.UI_USER],
    [*others.BEFORE, others.SUMMARY],
    others.ITEMS,
]
ODD: list[Any] = [None, 0, 1.5, True, "", "x", "{", [], {}, [None], [[]], {"a": None}, {"type": "text"}, [3]]
NAMES = ["type", "role", "content", "id", "parts", "text", "name", "uuid", "kind"]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inside for place in ((*path, key), *places_in(each, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A history with keys dropped, values of other types, and things that are there twice."""
    body = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        if not (places := places_in(body)):
            break
        *path, last = draw(st.sampled_from(places))
        holder = body
        for step in path:
            holder = holder[step]
        match draw(st.sampled_from(["drop", "change", "change", "add"])):
            case "drop":
                del holder[last]
            case "change":
                holder[last] = copy.deepcopy(draw(st.sampled_from(ODD)))
            case _ if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            case _:
                holder[draw(st.sampled_from(NAMES))] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return body


@given(mutated())
@settings(max_examples=300, deadline=None)
def test_no_history_is_a_traceback(body: Any):
    raw = json.dumps(body).encode()
    try:
        histories = parse_histories(raw, "h")
    except AntiphonError:
        return
    validate_histories(histories)
    for history in histories:
        for format in WRITABLE_FORMATS:
            write(history.conversation, format, history.rest)
