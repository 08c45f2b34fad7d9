"""Results in the words of MCP and ACP, and back."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.types import CallToolResult

from antiphon import results
from antiphon.errors import FormatError
from antiphon.results import Display, Result
from antiphon.results.protocols import from_mcp, to_acp, to_mcp
from tests.strategies import json_values

EXAMPLES = [
    results.text("hello"),
    results.diff("a.py", "x\n", "y\n"),
    results.table([{"a": 1}]),
    results.image(base64="aGk=", alt="a cat"),
    results.error("no"),
    Result("git.status", {"branch": "main"}, "clean", "", Display("tree", priority=0.5), audience=("user",)),
    Result("plain.list", [1, 2]),
]


@pytest.mark.parametrize("result", EXAMPLES, ids=lambda result: result.kind)
def test_to_mcp_and_back_loses_nothing(result: Result):
    data = to_mcp(result)
    assert from_mcp(json.loads(json.dumps(data))) == result
    read = CallToolResult.model_validate(data)
    assert read.is_error == result.is_error
    assert read.content[0].text == results.to_model_text(result)  # type: ignore[union-attr]


def test_annotations_are_mapped():
    (block,) = to_mcp(EXAMPLES[5])["content"]
    assert block["annotations"] == {"audience": ["user"], "priority": 0.5}


def test_what_other_servers_send_is_kept_as_it_came():
    data = {
        "content": [
            {"type": "text", "text": "\nTwo things\nmore", "annotations": {"audience": ["user"], "priority": 1}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        ],
        "structuredContent": {"n": 2},
        "isError": False,
        "_meta": {"other": 1},
    }
    result = from_mcp(data)
    assert (result.kind, result.summary, result.display.priority, result.audience) == (
        "mcp.result",
        "Two things",
        1,
        ("user",),
    )
    assert to_mcp(result) == data


@given(json_values)
@settings(max_examples=150)
def test_any_json_is_a_result_or_refused(value: Any):
    for shape in (
        value,
        {"content": value},
        {"content": [value], "_meta": value},
        {"_meta": {"antiphon/result": value}},
    ):
        try:
            from_mcp(shape)
        except FormatError:
            continue


def test_an_edit_in_an_editor():
    update = to_acp(results.diff("a.py", "x\n", "y\n"), "call_1")
    assert update["kind"] == "edit"
    assert update["status"] == "completed"
    assert update["title"] == "a.py"
    assert update["locations"] == [{"path": "a.py"}]
    assert update["content"] == [{"type": "diff", "path": "a.py", "oldText": "x\n", "newText": "y\n"}]
    assert to_acp(results.error("no"), "call_1")["status"] == "failed"


@given(st.sampled_from(EXAMPLES))
def test_every_kind_has_a_form_there(result: Result):
    json.dumps(to_acp(result, "c"), allow_nan=False)


def test_an_image_that_is_only_an_address_is_no_block():
    assert [block["type"] for block in to_mcp(results.image(url="https://x.test/a.png"))["content"]] == ["text"]


def test_a_new_file_has_no_text_of_old_in_an_editor():
    (change,) = to_acp(results.diff("a.py", None, "y\n"), "c1")["content"]
    assert change == {"type": "diff", "path": "a.py", "newText": "y\n", "oldText": None}


def test_those_a_result_is_for_are_named_once():
    blocks = [
        {"type": "text", "text": "x", "annotations": {"audience": [who, "nobody"]}} for who in ("user", "assistant")
    ]
    assert from_mcp({"content": blocks}).audience == ("user",)
