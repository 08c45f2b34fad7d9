"""Results of MCP calls: what people see of other servers' results, and ours on their way to other programs."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.server import Server

from antiphon import results
from antiphon.conversation import Conversation, Image, Text, ToolCall, ToolResult
from antiphon.results import Display, Location, Result, to_model_text
from antiphon.results.protocols import MCP_META_KEY
from antiphon.tools import Tool, execute, tool
from antiphon.tools.builtin import all_tools
from antiphon.tools.mcp import McpServer, McpTools, make_mcp_server
from antiphon.tools.mcp.results import from_mcp_result, to_mcp_result
from tests.strategies import json_values

PNG = base64.b64encode(b"\x89PNG").decode()
EXAMPLES = [
    results.text("hello"),
    results.diff("a.py", "x\n", "y\n"),
    results.table([{"a": 1}]),
    results.image(base64=PNG, alt="a cat"),
    results.image(url="https://example.org/cat.png", alt="a cat"),
    results.error("no", details={"code": 3}),
    Result("git.status", {"branch": "main"}, "clean", "", Display("tree", priority=0.5), audience=("user",)),
    Result("plain.list", [1, 2], "two", title="t", locations=(Location("a", 3),)),
    Result("plain.nothing"),
]


def given_back(result: Any) -> Tool:
    def get() -> Any:
        """Get it."""
        return result

    return tool(name="get")(get)


def through(server: Server[Any], name: str = "get", **arguments: Any) -> ToolResult:
    """A call over our client."""

    async def main() -> ToolResult:
        async with McpTools([McpServer("s", server=server)], prefix=False) as tools:
            found = next(tool for tool in tools.tools if tool.name == name)
            return (await execute(found, ToolCall("c1", name, arguments), Conversation())).result

    return asyncio.run(main())


def raw(server: Server[Any], name: str = "get", **arguments: Any) -> types.CallToolResult:
    """The same over the library's own client."""

    async def main() -> types.CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(main())


@pytest.mark.parametrize("result", EXAMPLES, ids=lambda result: result.kind)
def test_our_client_gets_from_our_server_what_the_tool_returned(result: Result) -> None:
    got = through(make_mcp_server([given_back(result)]))
    assert got.semantic == result
    assert (got.call_id, got.is_error) == ("c1", result.is_error)
    assert got.text.startswith(to_model_text(result))


def test_the_tools_own_words_for_the_model_are_sent(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    server = make_mcp_server(all_tools(tmp_path))
    sent = raw(server, "read_file", path="a.txt", start_line=2)
    assert sent.content == [types.TextContent(text="[lines 2 to 2]\ntwo\n")]
    assert sent.structured_content["content"] == "two\n"
    got = through(server, "read_file", path="a.txt", start_line=2)
    assert got.text == "[lines 2 to 2]\ntwo\n"
    assert got.semantic is not None
    assert (got.semantic.kind, got.semantic.locations) == ("file_content", (Location("a.txt", 2),))


def test_who_it_is_for_goes_along() -> None:
    (block,) = raw(make_mcp_server([given_back(EXAMPLES[6])])).content
    assert block.annotations == types.Annotations(audience=["user"], priority=0.5)


def test_plain_values_are_sent_as_before() -> None:
    sent = raw(make_mcp_server([given_back("hello")]))
    assert (sent.content, sent.structured_content, sent.is_error) == ([types.TextContent(text="hello")], None, False)
    assert MCP_META_KEY not in (sent.meta or {})


def other(answer: types.CallToolResult) -> Server[Any]:
    """A server that knows nothing of kinds."""

    async def list_tools(*_: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="get", input_schema={"type": "object"})])

    async def call_tool(*_: Any) -> types.CallToolResult:
        return answer

    return Server("other", on_list_tools=list_tools, on_call_tool=call_tool)


MIXED = types.CallToolResult(
    content=[
        types.TextContent(text="two things", annotations=types.Annotations(priority=0.3)),
        types.ImageContent(data=PNG, mime_type="image/png"),
        types.AudioContent(data="AAAA", mime_type="audio/wav"),
    ],
    structured_content={"n": 2, "none": None},
)


def test_what_other_servers_send_is_seen_whole() -> None:
    got = through(other(MIXED))
    assert got.parts[:2] == (Text("two things"), Image(PNG, "image/png"))
    assert got.semantic is not None
    assert (got.semantic.kind, got.semantic.summary, got.semantic.display.priority) == ("mcp.result", "two things", 0.3)
    assert got.semantic.data["structuredContent"] == {"n": 2, "none": None}
    assert [block["type"] for block in got.semantic.data["content"]] == ["text", "image", "audio"]


@pytest.mark.parametrize("data", ["no base64!", "AAA", "AA=A", "é"])
def test_a_broken_image_is_a_line_and_no_failure(data: str) -> None:
    picture = types.ImageContent(data=data, mime_type="image/png")
    resource = types.BlobResourceContents(uri="file:///a.png", blob=data, mime_type="image/png")
    blocks = [types.TextContent(text="see"), picture, types.EmbeddedResource(resource=resource)]
    got = from_mcp_result(types.CallToolResult(content=blocks))
    assert not got.is_error
    lines = got.text.split("\n")
    assert lines[0] == "see"
    assert lines[1].startswith("[image, image/png, not shown: an image's `data` is base64")
    assert lines[2].startswith("[resource file:///a.png, image/png, not shown: ")


def test_a_failure_keeps_what_came_with_it() -> None:
    answer = types.CallToolResult(content=[], structured_content={"code": 3}, is_error=True)
    got = through(other(answer))
    assert (got.is_error, got.content) == (True, '{"code":3}')
    assert got.semantic is not None
    assert got.semantic.data["isError"] is True
    silent = through(other(types.CallToolResult(content=[], is_error=True)))
    assert (silent.is_error, silent.content) == (True, "it failed without saying why")


def test_other_servers_results_can_be_handed_on() -> None:
    async def main() -> types.CallToolResult:
        async with (
            McpTools([McpServer("s", server=other(MIXED))], prefix=False) as tools,
            Client(make_mcp_server(tools.tools)) as client,
        ):
            return await client.call_tool("get", {})

    handed = asyncio.run(main())
    assert (handed.content, handed.structured_content) == (MIXED.content, MIXED.structured_content)


def test_a_result_that_only_claims_to_be_a_servers_is_sent_in_words() -> None:
    got = raw(make_mcp_server([given_back(Result("mcp.result", {"content": 3}, "odd"))]))
    assert got.content == [types.TextContent(text='odd\n{"content":3}')]


@given(json_values | st.fixed_dictionaries({"kind": st.sampled_from(["text", "json", "a.b"])}, optional={
    "data": json_values, "display": json_values, "locations": json_values, "audience": json_values}))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_whatever_stands_where_our_results_do_the_answer_is_read(value: Any) -> None:
    got = from_mcp_result(
        types.CallToolResult(content=[types.TextContent(text="fine")], _meta={MCP_META_KEY: value, "other": 1})
    )
    assert (got.content, got.is_error) == ("fine", False)
    assert got.semantic is not None
    assert got.semantic.kind == "mcp.result" or (
        isinstance(value, dict) and got.semantic.kind in (value["kind"], "structured")
    )


@given(st.sampled_from(EXAMPLES), st.text(max_size=20))
def test_both_faces_survive_the_way_there_and_back(result: Result, words: str) -> None:
    got = from_mcp_result(to_mcp_result(ToolResult("", words, result.is_error, semantic=result)))
    assert got.semantic == result
    assert got.is_error == result.is_error
    assert got.text == ToolResult("", words).text or not words
