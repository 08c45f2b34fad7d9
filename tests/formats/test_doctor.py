"""What doctor finds it repairs, and what it repaired is clean by the rules."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.cli import cli
from antiphon.cli.export import FormatParam
from antiphon.errors import FormatError
from antiphon.formats import WRITABLE_FORMATS, load, validate_histories
from antiphon.formats.fixes import get_manual_advice
from antiphon.wire import rules
from antiphon.wire.rules import RULES
from tests.cli.test_commands import invoke

CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
HI = {"role": "user", "content": "hi"}
CLAUDE = {"model": "claude-sonnet-4-5", "max_tokens": 2000}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
MARK = {"cache_control": {"type": "ephemeral"}}
G_HI = {"role": "user", "parts": [{"text": "hi"}]}
G_CALL = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
G_RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "ok"}}}]}
O_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
O_CALLS = {"role": "assistant", "content": None, "tool_calls": [O_CALL]}
O_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
R_CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
R_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


#: A body, its API, and the code under which it must be told.
BROKEN: dict[str, tuple[Any, str, str]] = {
    "missing thinking": (CLAUDE | THINKING | {"messages": [HI, assistant(CALL), user(RESULT)]}, "anthropic", "A15"),
    "trailing white space": (CLAUDE | {"messages": [HI, {"role": "assistant", "content": "So "}]}, "anthropic", "A11"),
    "six cache marks": (
        CLAUDE | {"messages": [user(*({"type": "text", "text": str(n)} | MARK for n in range(6)))]},
        "anthropic",
        "A24",
    ),
    "no signature": (
        {"messages": [HI, assistant({"type": "thinking", "thinking": "hm"}, CALL), user(RESULT)]},
        "anthropic",
        "A17",
    ),
    "prefill": (
        CLAUDE | {"model": "claude-opus-4-6", "messages": [HI, {"role": "assistant", "content": "So"}]},
        "anthropic",
        "A12",
    ),
    "system role": (CLAUDE | {"messages": [{"role": "system", "content": "Be brief."}, HI]}, "anthropic", "A13"),
    "system role, early and late": (
        CLAUDE | {"messages": [{"role": "system", "content": "a"}, HI, {"role": "system", "content": "b"}, HI]},
        "anthropic",
        "A13",
    ),
    "split results": (
        [HI, assistant(CALL, CALL | {"id": "t2"}), user(RESULT), user(RESULT | {"tool_use_id": "t2"})],
        "anthropic",
        "split-results",
    ),
    "result of the wrong role": ([HI, assistant(CALL, RESULT), HI], "anthropic", "A0"),
    "object as a result": ([HI, assistant(CALL), user(RESULT | {"content": {"a": 1}})], "anthropic", "A26"),
    "image in an error": (
        [HI, assistant(CALL), user(RESULT | {"is_error": True, "content": [{"type": "document", "source": {}}]})],
        "anthropic",
        "A21",
    ),
    "illegal name": (
        CLAUDE
        | {
            "tools": [{"name": "mcp.server/tool", "input_schema": {"type": "object"}}],
            "messages": [HI, assistant(CALL | {"name": "mcp.server/tool"}), user(RESULT)],
        },
        "anthropic",
        "bad-name",
    ),
    "forced tool": (
        CLAUDE | THINKING | {"tool_choice": {"type": "any"}, "messages": [HI]},
        "anthropic",
        "A20",
    ),
    "alternatives on top": (
        CLAUDE | {"tools": [{"name": "f", "input_schema": {"type": "object", "anyOf": []}}], "messages": [HI]},
        "anthropic",
        "A23",
    ),
    "orphaned result": ([HI, O_RESULT], "openai-chat", "orphan-result"),
    "missing result": ([HI, O_CALLS, HI], "openai-chat", "unanswered-call"),
    "interleaved": ([HI, O_CALLS, HI, O_RESULT], "openai-chat", "misplaced-result"),
    "duplicate": ([HI, O_CALLS, O_RESULT, O_RESULT], "openai-chat", "duplicate-result"),
    "choice without tools": ({"model": "gpt-5", "tool_choice": "auto", "messages": [HI]}, "openai-chat", "O8"),
    "illegal chat name": (
        [HI, {**O_CALLS, "tool_calls": [O_CALL | {"function": {"name": "a.b/c", "arguments": "{}"}}]}, O_RESULT],
        "openai-chat",
        "bad-name",
    ),
    "lone reasoning": (
        {"model": "gpt-5", "input": [HI, {"type": "reasoning", "id": "rs_1", "summary": []}]},
        "openai-responses",
        "R3",
    ),
    "orphaned output": ([HI, R_OUTPUT], "openai-responses", "orphan-result"),
    "messages of the other API": (
        {"model": "gpt-5", "input": [HI, O_CALLS | {"content": "Well"}, O_RESULT]},
        "openai-responses",
        "bad-item",
    ),
    "wrong item id": ([HI, R_CALL | {"id": "x_1"}, R_OUTPUT], "openai-responses", "R6"),
    "starts with a call": ([G_CALL, G_RESULT], "gemini", "G2"),
    "ends with the model": ([G_HI, {"role": "model", "parts": [{"text": "hey"}]}], "gemini", "G10"),
    "missing signature": (
        {"model": "gemini-3-pro-preview", "contents": [G_HI, G_CALL, G_RESULT]},
        "gemini",
        "G4",
    ),
    "a signature is missing, and no model named": (
        [
            G_HI,
            {"role": "model", "parts": [G_CALL["parts"][0] | {"thoughtSignature": "c2ln"}]},
            G_RESULT,
            G_CALL,
            G_RESULT,
        ],
        "gemini",
        "G4",
    ),
    "system role in a bare list": (
        [{"role": "system", "content": "s"}, HI, assistant(CALL), user(RESULT)],
        "anthropic",
        "A13",
    ),
    "count": ([G_HI, {"role": "model", "parts": G_CALL["parts"] * 2}, G_RESULT], "gemini", "unanswered-call"),
    "split contents": (
        [G_HI, {"role": "model", "parts": G_CALL["parts"] * 2}, G_RESULT, G_RESULT],
        "gemini",
        "split-results",
    ),
    "json schema": (
        {"contents": [G_HI], "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"$ref": "x"}}]}]},
        "gemini",
        "G11",
    ),
}


def request_of(data: Any, api: str) -> dict[str, Any]:
    key = {"openai-responses": "input", "gemini": "contents"}.get(api, "messages")
    needed = {"model": "some"} | ({"max_tokens": 1} if api == "anthropic" else {})
    return needed | (data if isinstance(data, dict) else {key: data})


@pytest.mark.parametrize("name", BROKEN)
def test_a_fault_is_told_repaired_and_then_gone(name: str, tmp_path: Path):
    body, api, code = BROKEN[name]
    path = tmp_path / "h.json"
    path.write_text(json.dumps(body))
    exit_code, output = invoke("check", "--json", "--fix", str(path))
    (report,) = json.loads(output)["histories"]
    assert (exit_code, report["format"]) == (1, api)
    assert code in {problem["code"] for problem in report["problems"]}
    assert all(problem["repaired"] for problem in report["problems"])
    known = {each.code for each in rules.check(request_of(body, api), api)}
    assert known <= {each["code"] for each in report["violations"]}
    after = json.loads(path.read_text())
    assert after != body
    assert rules.check(request_of(after, api), api) == []
    assert invoke("check", str(path))[0] == 0


def test_calls_in_the_form_of_the_other_api_are_not_lost(tmp_path: Path):
    (tmp_path / "h.json").write_text(json.dumps(BROKEN["messages of the other API"][0]))
    converted = json.loads(
        CliRunner().invoke(cli, ["export", str(tmp_path / "h.json"), "--format", "openai-chat"]).stdout
    )
    assert converted["messages"][1:] == [O_CALLS | {"content": "Well"}, O_RESULT]
    invoke("check", "--fix", str(tmp_path / "h.json"))
    said = {"role": "assistant", "content": "Well"}
    assert json.loads((tmp_path / "h.json").read_text())["input"] == [HI, said, R_CALL, R_OUTPUT]


def test_a_renamed_tool_has_its_new_name_everywhere(tmp_path: Path):
    (tmp_path / "h.json").write_text(json.dumps(BROKEN["illegal name"][0]))
    invoke("check", "--fix", str(tmp_path / "h.json"))
    after = json.loads((tmp_path / "h.json").read_text())
    assert after["tools"][0]["name"] == after["messages"][1]["content"][0]["name"] == "mcp_server_tool"


def test_marks_of_the_cache_outlive_other_repairs(tmp_path: Path):
    body = [user({"type": "text", "text": "hi"} | MARK), assistant(CALL), HI]
    (tmp_path / "h.json").write_text(json.dumps(body))
    invoke("check", "--fix", str(tmp_path / "h.json"))
    assert json.loads((tmp_path / "h.json").read_text())[0]["content"][0] == {"type": "text", "text": "hi"} | MARK


@pytest.mark.parametrize("escape", ["\\ud83d", "\\u0000"])
def test_a_character_that_cannot_travel_is_told_and_gone(escape: str, tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_text(f'[{{"role": "user", "content": "a{escape}"}}]')
    code, output = invoke("check", "--fix", str(path))
    assert code == 1
    assert "[0].content: a character that no provider takes" in output
    assert json.loads(path.read_text()) == [{"role": "user", "content": "a\ufffd"}]
    assert invoke("check", str(path))[0] == 0


@pytest.mark.parametrize("wrapped", [lambda b: {"body": b}, lambda b: {"request": {"body": json.dumps(b)}}])
def test_a_wrapped_history_is_repaired_where_it_is(wrapped: Any, tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_text(json.dumps(wrapped({"messages": [HI, O_CALLS, HI]})))
    assert invoke("check", "--fix", str(path))[0] == 1
    again = json.loads(path.read_text())
    inner = again["body"] if "body" in again else json.loads(again["request"]["body"])
    assert inner["messages"][2]["role"] == "tool"
    assert invoke("check", str(path))[0] == 0


def test_lines_of_messages_stay_lines(tmp_path: Path):
    path = tmp_path / "h.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (HI, O_CALLS, HI)))
    assert invoke("check", "--fix", str(path))[0] == 1
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 4
    assert invoke("check", str(path))[0] == 0


@pytest.mark.parametrize("lines", [True, False])
def test_a_request_on_each_line_is_checked_and_repaired_there(lines: bool, tmp_path: Path):
    path = tmp_path / "h.jsonl"
    requests = [{"model": "gpt-5", "messages": [HI]}, {"body": {"messages": [HI, O_CALLS]}}]
    path.write_text("".join(json.dumps(each) + "\n" for each in requests) if lines else json.dumps(requests))
    code, output = invoke("check", "--fix", str(path))
    assert code == 1
    assert "2 of openai-chat, 1 problem" in output
    assert f"{'line 2' if lines else 'item 1'}, message 1: call 'c1' to `f` has no result" in output
    after = [json.loads(line) for line in path.read_text().splitlines()] if lines else json.loads(path.read_text())
    assert after[0] == requests[0]
    assert [message["role"] for message in after[1]["body"]["messages"]] == ["user", "assistant", "tool"]
    assert invoke("check", str(path)) == (0, f"{path}: 2 of openai-chat, 3 turns, nothing to repair\n")
    with pytest.raises(FormatError, match="has 2 histories"):
        invoke("export", str(path), "--format", "gemini")


def test_what_nobody_can_repair_is_left_and_told(tmp_path: Path):
    tools = [{"type": "function", "function": {"name": f"f{n}"}} for n in range(129)]
    path = tmp_path / "h.json"
    path.write_text(json.dumps({"model": "gpt-5", "messages": [HI], "tools": tools}))
    before = path.read_bytes()
    code, output = invoke("check", "--fix", str(path))
    assert code == 1
    assert "not repaired: declare fewer tools" in output
    assert path.read_bytes() == before


@pytest.mark.parametrize("code", RULES)
def test_what_no_repair_was_found_for_says_what_the_api_wants(code: str):
    said = get_manual_advice(code)
    assert said.endswith(RULES[code].wants) or "by hand" not in said


def test_the_names_of_formats_are_the_same_everywhere():
    assert tuple(FormatParam().to_info_dict()["choices"]) == (*WRITABLE_FORMATS, "replay")


def test_a_provider_has_its_own_rules(tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_text(json.dumps({"model": "m", "tool_choice": "auto", "messages": [HI]}))
    assert invoke("check", str(path))[0] == 1
    assert invoke("check", "--provider", "mistral", str(path))[0] == 0


PIECES: dict[str, list[Any]] = {
    "anthropic": [
        HI, assistant(CALL), assistant(CALL | {"id": "a b"}), user(RESULT), user({"type": "text", "text": " "}, RESULT),
        assistant({"type": "thinking", "thinking": "x"}), {"role": "assistant", "content": "x "}, user(CALL),
        {"role": "system", "content": "s"}, {"role": "user", "content": []}, assistant(RESULT), {"role": "user"}, 3,
        assistant(CALL | {"input": "{"}), user(RESULT | {"content": 5}),
    ],
    "openai-chat": [
        HI, O_CALLS, O_RESULT, {"role": "assistant", "content": None}, {"role": "user", "content": 3}, {"role": "x"},
        {"role": "assistant", "tool_calls": []}, {"role": "system", "content": "s"}, {"role": "tool", "content": "x"},
        {**O_CALLS, "tool_calls": [O_CALL | {"id": "x" * 50}]}, {"role": "assistant", "content": "x"}, 3,
        {**O_CALLS, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "a.b", "arguments": {}}}]},
    ],
    "openai-responses": [
        HI, R_CALL, R_OUTPUT, {"type": "reasoning", "id": "rs_1", "summary": []}, R_CALL | {"id": "x"}, {"type": "x"},
        {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}, R_CALL | {"arguments": {}},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
        R_OUTPUT | {"output": None}, R_OUTPUT | {"call_id": "c2"}, {"role": "user", "content": []}, 3,
    ],
    "gemini": [
        G_HI, G_CALL, G_RESULT, {"role": "model", "parts": [{"text": "x"}]}, {"role": "model", "parts": []},
        {"role": "model", "parts": [{"function_call": {"name": "f"}, "thought_signature": "a"}]}, {"role": "x"},
        {"role": "user", "parts": [{"functionResponse": {"name": "g", "response": "x"}}]}, {"parts": [{}]},
        {"role": "model", "parts": G_CALL["parts"] * 2},
    ],
}  # fmt: skip
FRAMES = {
    "anthropic": [{}, CLAUDE, CLAUDE | THINKING, CLAUDE | {"model": "claude-opus-4-6"}],
    "openai-chat": [{}, {"model": "gpt-4o"}],
    "openai-responses": [{}, {"model": "gpt-5", "store": False}, {"model": "gpt-4o"}],
    "gemini": [{}, {"model": "gemini-3-pro-preview"}],
}


@pytest.mark.parametrize("api", PIECES)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_whatever_is_broken_is_clean_afterwards(api: str, data: st.DataObject):
    pieces = data.draw(st.lists(st.sampled_from(PIECES[api]), min_size=1, max_size=7))
    frame = data.draw(st.sampled_from(FRAMES[api]))
    key = {"openai-responses": "input", "gemini": "contents"}.get(api, "messages")
    # What is nothing but rubbish is no history; somebody has to have said something.
    body = copy.deepcopy(frame | {key: [*pieces, G_HI if api == "gemini" else HI]})
    (checkup,), repaired = validate_histories([load(json.dumps(body).encode(), "h", api)])
    assert all(finding.repaired for finding in checkup.findings)
    again = load(repaired, "h", api)
    assert again.checked().findings == []
    assert rules.check(request_of(again.document.body, api), api) == []
