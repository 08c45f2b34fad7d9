"""Output schemas and progress: results are data that fits, and long calls are seen to move."""

import asyncio
import time
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.session import CallProgressed, Session
from antiphon.tools import ALLOW_ALL, CallHost, ToolFailure, execute
from antiphon.tools.canonical_call import canonicalize
from antiphon.tools.execution import execute_call
from antiphon.tools.mcp import McpServer, McpTools
from antiphon.tools.mcp.limited_schema import LimitedSchema
from antiphon.views.run_state import RunViews
from tests.session.scripted import Scripted, calls
from tests.tools.mcp_servers import OBJECT, lowlevel, said, serving

CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}


def typed(structured: Any, schema: Any = CITY, **more: Any) -> ToolResult:
    async def handle(_context: Any, _params: Any) -> types.CallToolResult:
        return said("text", structured_content=structured, **more)

    async def main() -> ToolResult:
        server = lowlevel(handle, types.Tool(name="city", input_schema=OBJECT, output_schema=schema))
        async with McpTools([McpServer("geo", server=server)]) as mcp:
            assert mcp.tools[0].output_schema == schema
            return (await execute(mcp.tools[0], ToolCall("c", "geo_city"), Conversation())).result

    return asyncio.run(main())


def test_a_result_that_fits_is_kept_as_data() -> None:
    result = typed({"name": "Oslo", "people": 700_000})
    assert not result.is_error
    assert result.semantic is not None
    assert result.semantic.data["structuredContent"] == {"name": "Oslo", "people": 700_000}


@pytest.mark.parametrize(
    ("structured", "why"),
    [
        ({"name": "Oslo", "people": -1}, "`people`: -1 is less than the minimum of 0"),
        ({}, "'name' is a required property"),
        (None, "its output schema requires structured content"),
    ],
)
def test_a_result_that_does_not_fit_is_an_error_that_names_the_tool(structured: Any, why: str) -> None:
    result = typed(structured)
    assert result.is_error
    assert result.text == f"`city` of MCP server `geo` returned a wrong result: {why}"


def test_a_failure_needs_no_structured_content() -> None:
    assert typed(None, is_error=True).text == "text"


def test_programs_get_the_data_of_a_call() -> None:
    server = MCPServer("geo")

    @server.tool()
    def city(name: str) -> dict[str, int]:
        return {name: 3}

    @server.tool()
    def double(n: int) -> int:
        return 2 * n

    @server.tool()
    def fail() -> int:
        raise ToolError("no luck")

    async def main() -> None:
        async with McpTools([McpServer("geo", server=server)], prefix=False) as mcp:
            by_name = {tool.name: tool for tool in mcp.tools}
            for each in by_name.values():
                assert each.data is not None
            assert await by_name["city"].data(name="x") == {"x": 3}
            assert await by_name["double"].data(n=4) == 8
            with pytest.raises(ToolFailure, match="no luck"):
                await by_name["fail"].data()

    asyncio.run(main())


# Schemas of hostile servers

BOMB = {
    "$defs": {
        "a0": {"type": "integer"},
        **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 3} for n in range(1, 30)},
    },
    "$ref": "#/$defs/a29",
}


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        (BOMB, 1, "more than 300,000 steps"),
        ({"type": "string", "pattern": r"^(?=x)(a+)+$"}, "a" * 40 + "!", "endless time"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, 1, "outside itself"),
        ({"$ref": "#/$defs/none"}, 1, "outside itself"),
        ({"type": "nonsense"}, 1, "its schema is invalid"),
        ({"description": "x" * 300_000}, 1, "more than 200,000 characters"),
        ({"uniqueItems": True}, [{"n": n} for n in range(6_000)], "steps"),
        ({"unevaluatedProperties": False}, {}, "not supported"),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, [], ""),
        ({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}, {"x1": "a"}, ""),
        ({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}, {"y": 1}, "no field 'y'"),
        ({"patternProperties": {"^x": {"type": "string"}}}, {"x1": 1}, "is not of type 'string'"),
    ],
)
def test_a_schema_takes_bounded_work_and_refers_to_nothing_outside(schema: Any, value: Any, why: str) -> None:
    began = time.process_time()
    problem = LimitedSchema(schema).find_problem(value)
    assert (why in problem) if why else problem == ""
    assert time.process_time() - began < 20


def test_ordinary_patterns_are_searched_in_linear_time() -> None:
    began = time.process_time()
    assert LimitedSchema({"pattern": "^(a+)+$"}).find_problem("a" * 5_000 + "!")
    assert time.process_time() - began < 5


SIMPLE = st.recursive(
    st.sampled_from([{"type": "integer"}, {"type": "string", "minLength": 2}, {"enum": [1, "a", None]}, {}]),
    lambda inner: st.one_of(
        st.builds(lambda a: {"type": "array", "items": a}, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(
            lambda a, closed: {"type": "object", "properties": {"x": a}, "additionalProperties": not closed},
            inner,
            st.booleans(),
        ),
        st.builds(lambda a: {"patternProperties": {"^x": a}, "additionalProperties": {"type": "integer"}}, inner),
    ),
    max_leaves=5,
)
VALUES = st.recursive(
    st.none() | st.integers(-2, 2) | st.sampled_from(["", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "xy", "z"]), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=200)
@given(SIMPLE, VALUES)
def test_our_limited_validation_agrees_with_the_library(schema: Any, value: Any) -> None:
    import jsonschema

    assert (LimitedSchema(schema).find_problem(value) == "") == jsonschema.Draft202012Validator(schema).is_valid(value)


def test_a_huge_result_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.tools.mcp.results._MAX_RESULT", 1_000_000)

    async def handle(_context: Any, _params: Any) -> types.CallToolResult:
        return said("x" * 1_000_001)

    async def main() -> ToolResult:
        async with McpTools([McpServer("big", server=lowlevel(handle))]) as mcp:
            return (await execute(mcp.tools[0], ToolCall("c", "big_t"), Conversation())).result

    assert asyncio.run(main()).text == "`t` of MCP server `big` returned more than 1 MB, which is not read"


def test_a_server_that_lists_endlessly_is_left() -> None:
    async def main() -> dict[str, str]:
        from mcp.server import Server

        async def list_tools(_context: Any, params: Any) -> types.ListToolsResult:
            page = int(params.cursor) if params and params.cursor else 0
            listed = [types.Tool(name=f"t{page}_{n}", input_schema=OBJECT) for n in range(5_000)]
            return types.ListToolsResult(tools=listed, next_cursor=str(page + 1))

        mcp = McpTools([McpServer("endless", server=Server("s", on_list_tools=list_tools))])
        try:
            async with mcp:
                pytest.fail("entered")
        except Exception:
            return mcp.failures

    assert "more than 10,000" in asyncio.run(main())["endless"]


# Progress


def stepping(steps: int, seconds: float = 0.0) -> MCPServer:
    server = MCPServer("slow")

    @server.tool()
    async def work(ctx: Context) -> str:
        for number in range(steps):
            await ctx.report_progress(number + 1, steps, f"file {number + 1}\x1b[2J")
            await asyncio.sleep(seconds)
        return "done"

    return server


@pytest.mark.parametrize("over_http", [True, False])
def test_progress_is_an_event_of_the_run(over_http: bool) -> None:
    async def use(server: McpServer) -> list[CallProgressed]:
        async with McpTools([server]) as mcp:
            session = Session(Scripted(calls("slow_work"), "ok"), mcp.tools, policy=ALLOW_ALL)
            run = await session.astart("Go.")
            views, bodies, shown = RunViews(), [], []
            async for event in run.aevents():
                view = views.take(event)
                shown += [each.progress for each in view.calls.values() if each.progress]
                bodies.append(event.body)
            assert shown[0].startswith("1 of 3, file 1")
            assert (await run).value == "ok"
            return [body for body in bodies if isinstance(body, CallProgressed)]

    async def main() -> list[CallProgressed]:
        if not over_http:
            return await use(McpServer("slow", server=stepping(3)))
        with serving(stepping(3).streamable_http_app()) as url:
            return await use(McpServer("slow", url=url))

    found = asyncio.run(main())
    assert [(each.done, each.total, each.message[:6]) for each in found] == [(n, 3, f"file {n}") for n in (1, 2, 3)]


class Reports(CallHost):
    def __init__(self) -> None:
        self.count = 0

    def report(self, done: float, total: float | None, message: str) -> None:
        del done, total, message
        self.count += 1


def work(server: McpServer, host: CallHost) -> ToolResult:
    async def main() -> ToolResult:
        async with McpTools([server]) as mcp:
            call = canonicalize(mcp.tools[0], ToolCall("c", mcp.tools[0].name))
            return (await execute_call(call, Conversation(), host=host)).result

    return asyncio.run(main())


def test_progress_extends_the_time_of_a_call_and_a_silent_one_ends() -> None:
    # Each step takes most of the limit, so all of them take several times as long.
    assert work(McpServer("slow", server=stepping(5, 0.6), timeout=2), Reports()).text == "done"
    late = work(McpServer("slow", server=stepping(1, 60), timeout=0.5), Reports())
    assert late.text == "MCP server `slow` did not answer within 0.5 seconds"


def test_progress_extends_a_call_only_tenfold_and_floods_are_cut() -> None:
    reports = Reports()
    result = work(McpServer("slow", server=stepping(1_000_000, 0.0), timeout=0.3), reports)
    assert result.is_error
    assert 0 < reports.count <= 1_000
