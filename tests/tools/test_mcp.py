"""Other programs' tools: results, names, hints, and servers that die, hang or never start."""

import asyncio
import base64
import os
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import mcp.client.stdio
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server import Server
from mcp.server.mcpserver import MCPServer

from antiphon.conversation import Conversation, Image, Text, ToolCall, ToolResult, ToolSpec
from antiphon.errors import ConfigurationError
from antiphon.tools import Policy, Rule, Tool, canonicalize, execute
from antiphon.tools.approval import make_standing_decision
from antiphon.tools.mcp import McpServer, McpTools
from antiphon.tools.mcp.names import make_legal_name
from tests.tools.mcp_servers import free_port, serving

PNG = base64.b64encode(b"\x89PNG").decode()


async def call(tools: McpTools, name: str, /, **arguments: Any) -> ToolResult:
    tool = next(tool for tool in tools.tools if tool.name == name)
    return (await execute(tool, ToolCall("c1", name, arguments), Conversation())).result


def server_of(*tools: types.Tool, answer: Any = None, page: int = 100) -> Server[Any]:
    """A server in this process that lists these tools, `page` at a time, and answers every call the same way."""

    async def list_tools(_context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        start = int(params.cursor) if params and params.cursor else 0
        after = str(start + page) if start + page < len(tools) else None
        return types.ListToolsResult(tools=list(tools[start : start + page]), next_cursor=after)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return answer(params) if callable(answer) else answer

    return Server("s", on_list_tools=list_tools, on_call_tool=call_tool)


def described(name: str, **fields: Any) -> types.Tool:
    return types.Tool(name=name, **{"input_schema": {"type": "object"}, **fields})


def listed(*offered: types.Tool, prefix: bool = True, page: int = 100) -> list[Tool]:
    async def main() -> list[Tool]:
        server = McpServer("srv", server=server_of(*offered, page=page))
        async with McpTools([server], prefix=prefix) as tools:
            return tools.tools

    return asyncio.run(main())


def answered(answer: Any, /, **arguments: Any) -> ToolResult:
    async def main() -> ToolResult:
        async with McpTools([McpServer("srv", server=server_of(described("t"), answer=answer))]) as tools:
            return await call(tools, "srv_t", **arguments)

    return asyncio.run(main())


# Results


@pytest.mark.parametrize(
    ("content", "structured", "expected"),
    [
        ([types.TextContent(text="one"), types.TextContent(text="two")], None, "one\ntwo"),
        ([], None, ""),
        ([], {"n": 1}, '{"n":1}'),
        ([types.TextContent(text="one")], {"n": 1}, "one"),
        (
            [types.TextContent(text="see"), types.ImageContent(data=PNG, mime_type="image/png")],
            None,
            (Text("see"), Image(data=PNG, media_type="image/png")),
        ),
        (
            [types.ImageContent(data=PNG, mime_type="image/png")],
            {"n": 1},
            (Text('{"n":1}'), Image(data=PNG, media_type="image/png")),
        ),
        (
            [types.AudioContent(data="AAAA", mime_type="audio/wav")],
            None,
            (
                "[audio, audio/wav, not shown: an audio cannot be used: it is called audio/wav, but its bytes are none;"
                " was it read whole, as bytes?]"
            ),
        ),
        (
            [types.EmbeddedResource(resource=types.TextResourceContents(uri="file:///a", text="inside"))],
            None,
            "inside",
        ),
        (
            [types.EmbeddedResource(resource=types.BlobResourceContents(uri="x:a", blob=PNG, mime_type="image/png"))],
            None,
            (Image(data=PNG, media_type="image/png"),),
        ),
        (
            [types.EmbeddedResource(resource=types.BlobResourceContents(uri="x:a", blob="AAAA"))],
            None,
            "[resource x:a, of unknown type, 3 bytes, not shown]",
        ),
        (
            [types.ResourceLink(name="log", uri="file:///log", mime_type="text/plain", description="today's")],
            None,
            "[resource log: file:///log (text/plain, today's)]",
        ),
    ],
)
def test_every_kind_of_content_reaches_the_model(content: Any, structured: Any, expected: Any) -> None:
    result = answered(types.CallToolResult(content=content, structured_content=structured))
    assert (result.is_error, result.content) == (False, expected)


def test_a_failed_call_is_an_error_result_in_the_servers_words() -> None:
    blocks = [types.TextContent(text="no luck"), types.ImageContent(data=PNG, mime_type="image/png")]
    result = answered(types.CallToolResult(content=blocks, is_error=True))
    assert (result.is_error, result.content) == (True, "no luck")


def test_a_protocol_error_is_an_error_result() -> None:
    def refuse(_params: Any) -> Any:
        raise mcp.MCPError(-32602, "there is no such thing")

    result = answered(refuse)
    assert (result.is_error, result.content) == (True, "there is no such thing")


def test_arguments_are_handed_on_as_they_are() -> None:
    def echo(params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content=params.arguments)

    given = {"self": 1, "class": [None, 1.5], "a b": {"x": "1"}, "name": "é"}
    assert answered(echo, **given).text == '{"self":1,"class":[null,1.5],"a b":{"x":"1"},"name":"é"}'


# What the model and the policy are told


def test_hints_schema_and_words_are_kept() -> None:
    schema = {"type": "object", "properties": {"p": {"type": "string", "title": "P"}}, "$schema": "x"}
    hints = types.ToolAnnotations
    silent, reader, deleter, odd = listed(
        described("silent", input_schema=schema, description="Says.", title="Silent"),
        described("reader", annotations=hints(read_only_hint=True), title="Reads"),
        described("deleter", annotations=hints(destructive_hint=True, title="Deletes")),
        described("odd", annotations=hints(read_only_hint=True, destructive_hint=True)),
    )
    assert silent.spec == ToolSpec("srv_silent", "Says.", schema)
    assert (silent.read_only, silent.destructive, silent.needs_approval) == (False, True, True)
    assert (reader.read_only, reader.destructive, reader.spec.description) == (True, False, "Reads")
    assert (deleter.read_only, deleter.destructive, deleter.spec.description) == (False, True, "Deletes")
    assert (odd.read_only, odd.destructive) == (True, False)


def test_tools_without_hints_ask_and_an_always_on_a_shell_covers_one_line() -> None:
    command = {"type": "object", "properties": {"command": {"type": "string"}}}
    path = {"type": "object", "properties": {"path": {"type": "string"}}}
    silent, bash, reader, writer = listed(
        described("silent"),
        described("bash", input_schema=command),
        described("reader", annotations=types.ToolAnnotations(read_only_hint=True)),
        described("write", input_schema=path, annotations=types.ToolAnnotations(destructive_hint=False)),
    )

    def decide(tool: Tool, *rules: Rule, **arguments: str) -> str:
        return Policy(rules).decide(ToolCall("c", tool.name, arguments), tool)

    assert [decide(each) for each in (silent, bash, reader, writer)] == ["ask", "ask", "allow", "ask"]
    assert make_standing_decision(canonicalize(silent, ToolCall("c", "silent"))).arguments is None
    assert (
        make_standing_decision(canonicalize(bash, ToolCall("c", "bash", {"command": "ls"}))).arguments
        == '{"command": "ls"}'
    )
    git = Rule("allow", "srv_bash", {"command": "git *"})
    assert [decide(bash, git, command=each) for each in ("git rev-parse x", "git rev-parse x; rm x")] == [
        "allow",
        "ask",
    ]
    assert decide(writer, Rule("allow", "*", {"path": "/tmp/*"}), path="/tmp/../etc/x") == "ask"


def test_all_pages_are_listed_and_names_made_legal() -> None:
    tools = [described(name) for name in ("a.b", "a_b", "9", "é" * 80, "a.b")]
    names = [tool.name for tool in listed(*tools, prefix=False, page=2)]
    assert names[0] == "a_b"
    assert names[1].startswith("a_b_")
    assert names[2] == "_9"
    assert len(names) == 4


@given(st.lists(st.text(max_size=80) | st.sampled_from(["a", "a_b", "a.b", "a b", "x" * 64, "x" * 65])))
def test_names_are_legal_and_differ_whatever_servers_call_their_tools(wanted: list[str]) -> None:
    taken: dict[str, str] = {}
    for name in wanted:
        legal = make_legal_name(name, taken)
        assert legal not in taken
        taken[ToolSpec(legal).name] = name


def test_servers_without_tools_give_none() -> None:
    async def main() -> list[Tool]:
        async with McpTools([McpServer("empty", server=Server("empty"))]) as tools:
            assert tools.failures == {}
            return tools.tools

    assert asyncio.run(main()) == []


# Processes

#: A server of an older protocol, in nothing but the standard library: it starts at once and can be made to misbehave.
OLD_SERVER = """
import json, os, sys, time
print("hello from stderr", file=sys.stderr, flush=True)
def answer(method, params):
    if method == "initialize":
        info = {"name": "old", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("pid", "hang", "die")]}
    if params["name"] == "hang":
        time.sleep(60)
    if params["name"] == "die":
        os.kill(os.getpid(), 9)
    return {"content": [{"type": "text", "text": str(os.getpid())}]}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    reply = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] in ("initialize", "tools/list", "tools/call"): reply["result"] = answer(m["method"], m.get("params"))
    else: reply["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def old_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpServer:
    # A server that hangs is given less time to end by itself than in real life.
    monkeypatch.setattr(mcp.client.stdio, "PROCESS_TERMINATION_TIMEOUT", 0.1)
    monkeypatch.setattr(mcp.client.stdio, "FORCE_KILL_TIMEOUT", 0.1)
    script = tmp_path / "old.py"
    script.write_text(OLD_SERVER)
    return McpServer("old", command=sys.executable, args=(str(script),), timeout=60)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def links(server: str) -> set[asyncio.Task[Any]]:
    """The connections to a server, each of which is a task."""
    return {task for task in asyncio.all_tasks() if task.get_name() == f"MCP server {server}"}


def test_a_process_sees_only_its_own_environment_and_ends_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        textwrap.dedent("""
            import os, sys
            from mcp.server.mcpserver import MCPServer

            server = MCPServer("t")
            print("chatter", file=sys.stderr, flush=True)

            @server.tool()
            def look(name: str) -> dict[str, object]:
                return {"value": os.environ.get(name), "cwd": os.getcwd(), "pid": os.getpid()}

            server.run()
        """)
    )
    monkeypatch.setenv("API_KEY", "secret")
    server = McpServer("t", sys.executable, ("server.py",), env={"GIVEN": "yes"}, cwd=tmp_path)

    async def main() -> int:
        async with McpTools([server]) as tools:
            secret, given = await call(tools, "t_look", name="API_KEY"), await call(tools, "t_look", name="GIVEN")
            pid = int(given.text.split('"pid":')[1].split("}")[0])
            assert '"value":null' in secret.text.replace(" ", "")
            assert '"value":"yes"' in given.text.replace(" ", "")
            assert str(tmp_path) in given.text
            assert is_alive(pid)
            return pid

    assert not is_alive(asyncio.run(main()))
    out, err = capfd.readouterr()
    assert "chatter" not in out + err


def test_a_server_killed_between_calls_is_started_again_once_for_all_callers(old_server: McpServer) -> None:
    async def main() -> None:
        async with McpTools([old_server]) as tools:
            first = (await call(tools, "old_pid")).text
            os.kill(int(first), signal.SIGKILL)
            while links("old"):
                await asyncio.sleep(0.01)
            results = await asyncio.gather(*(call(tools, "old_pid") for _ in range(5)))
            (second,) = {result.text for result in results}
            assert second != first
            assert not any(result.is_error for result in results)

    asyncio.run(main())


def test_a_server_that_dies_during_a_call_is_an_error_result_and_the_next_call_works(old_server: McpServer) -> None:
    async def main() -> None:
        async with McpTools([old_server]) as tools:
            lost = await call(tools, "old_die")
            assert lost.is_error
            assert "broke during the call" in lost.text
            assert not (await call(tools, "old_pid")).is_error

    asyncio.run(main())


def with_time_enough(main: Callable[[float], Awaitable[None]]) -> None:
    """Run it with a short time-out; with longer ones where the machine was too slow to start the server in it."""

    async def within(seconds: float) -> None:
        await main(seconds)

    for seconds in (4, 16):
        with suppress(AssertionError, ConfigurationError):
            return asyncio.run(within(seconds))
    return asyncio.run(within(64))


def test_a_server_that_hangs_times_out_and_is_replaced(old_server: McpServer) -> None:
    async def main(seconds: float) -> None:
        server = McpServer("old", old_server.command, old_server.args, timeout=seconds)
        async with McpTools([server]) as tools:
            first = await call(tools, "old_pid")
            late = await call(tools, "old_hang")
            assert (late.is_error, late.text) == (True, f"MCP server `old` did not answer within {seconds:g} seconds")
            second = await call(tools, "old_pid")
            assert not second.is_error
            assert second.text != first.text
        assert not is_alive(int(first.text))
        assert not is_alive(int(second.text))

    with_time_enough(main)


class Slow:
    """A server whose one tool returns when it is let go, and that says who waits."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.free: set[str] = set()
        self.server = MCPServer("slow")
        self.server.add_tool(self.wait, name="wait")

    async def wait(self, name: str) -> str:
        self.waiting.append(name)
        while name not in self.free:
            await asyncio.sleep(0.01)
        return name


def test_a_cancelled_call_leaves_the_connection_alone() -> None:
    slow = Slow()

    async def main() -> None:
        with serving(slow.server.streamable_http_app()) as url:
            async with McpTools([McpServer("s", url=url, timeout=120)]) as tools:
                cancelled, beside = (asyncio.create_task(call(tools, "s_wait", name=name)) for name in "ab")
                while set(slow.waiting) != {"a", "b"}:
                    await asyncio.sleep(0.01)
                cancelled.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await cancelled
                slow.free = {"b", "c"}
                assert (await beside).text == "b"
                assert (await call(tools, "s_wait", name="c")).text == "c"

    asyncio.run(main())


def test_a_slow_call_leaves_the_connection_alone() -> None:
    async def main(seconds: float) -> None:
        slow = Slow()
        slow.free = {"b"}
        with serving(slow.server.streamable_http_app()) as url:
            async with McpTools([McpServer("s", url=url, timeout=seconds)]) as tools:
                before = links("s")
                late = await call(tools, "s_wait", name="a")
                assert (late.is_error, slow.waiting) == (True, ["a"])
                assert (await call(tools, "s_wait", name="b")).text == "b"
                assert links("s") == before != set()

    with_time_enough(main)


def test_servers_that_do_not_start_do_not_take_the_others_down(old_server: McpServer) -> None:
    missing = McpServer("missing", command="no-such-command-here")
    failing = McpServer("failing", command=sys.executable, args=("-c", "import sys; sys.exit('no key given')"))
    mute = McpServer("mute", command="sleep", args=("300",), timeout=0.5)
    nobody = McpServer("nobody", url=f"http://127.0.0.1:{free_port()}/mcp")

    async def main() -> None:
        async with McpTools([missing, failing, old_server, mute, nobody]) as tools:
            assert not (await call(tools, "old_pid")).is_error
            assert set(tools.failures) == {"missing", "failing", "mute", "nobody"}
            assert "No such file or directory: 'no-such-command-here'" in tools.failures["missing"]
            assert "it ended before it was ready; it wrote: no key given" in tools.failures["failing"]
            assert "not ready within 0.5 seconds" in tools.failures["mute"]
            assert "attempts failed" in tools.failures["nobody"]

    asyncio.run(main())


def test_if_no_server_can_be_reached_entering_raises_and_says_why() -> None:
    async def main() -> None:
        async with McpTools([McpServer("missing", command="no-such-command-here")]):
            pytest.fail("entered")

    with pytest.raises(ConfigurationError, match=r"`missing`.*No such file"):
        asyncio.run(main())


def test_cancelling_the_entry_ends_the_processes_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp.client.stdio, "PROCESS_TERMINATION_TIMEOUT", 0.1)
    note = tmp_path / "pid"
    script = f"import os, pathlib, time; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(60)"

    async def main() -> None:
        tools = McpTools([McpServer("mute", command=sys.executable, args=("-c", script))])
        entering = asyncio.create_task(tools.__aenter__())
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.02)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering

    asyncio.run(main())
    assert not is_alive(int(note.read_text()))


def test_calls_after_the_block_say_that_it_is_over(old_server: McpServer) -> None:
    async def main() -> None:
        async with McpTools([old_server]) as tools:
            pass
        result = await call(tools, "old_pid")
        assert (result.is_error, result.text) == (True, "the connection to MCP server `old` has been closed")

    asyncio.run(main())


def test_calls_from_another_threads_event_loop_go_over_the_same_connection(old_server: McpServer) -> None:
    async def main() -> None:
        async with McpTools([old_server]) as tools:
            here = await call(tools, "old_pid")
            there = await asyncio.to_thread(lambda: asyncio.run(call(tools, "old_pid")))
            assert here.text == there.text

    asyncio.run(main())


def test_refreshing_lists_again() -> None:
    server = MCPServer("growing")
    server.add_tool(lambda: "1", name="one")

    async def main() -> None:
        async with McpTools([McpServer("g", server=server)]) as tools:
            assert [tool.name for tool in tools.tools] == ["g_one"]
            server.add_tool(lambda: "2", name="two")
            await tools.refresh()
            assert (await call(tools, "g_two")).text == "2"

    asyncio.run(main())


def test_two_servers_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="two MCP servers are named `a`"):
        McpTools([McpServer("a", "x"), McpServer("a", "y")])


# HTTP


def adder(*, modern: bool = True) -> Any:
    """An app that adds for whoever has the key; if not `modern`, it keeps sessions and forgets them when restarted."""
    server = MCPServer("adder")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        status = 0
        if scope["type"] == "http" and headers.get(b"authorization") != b"Bearer k":
            status = 401
        if not modern and headers.get(b"mcp-method") == b"server/discover":
            status = 404
        if not status:
            return await inner(scope, receive, send)
        await send({"type": "http.response.start", "status": status, "headers": []})
        return await send({"type": "http.response.body", "body": b""})

    return app


@pytest.mark.parametrize("modern", [True, False])
def test_an_http_server_that_was_away_is_found_again(modern: bool) -> None:
    port = free_port()

    async def main() -> None:
        with serving(adder(modern=modern), port) as url:
            tools = McpTools([McpServer("h", url=url, headers={"Authorization": "Bearer k"})])
            await tools.__aenter__()
            assert (await call(tools, "h_add", a=1, b=2)).text == "3"
        with serving(adder(modern=modern), port):
            assert (await call(tools, "h_add", a=2, b=3)).text == "5"
        away = await call(tools, "h_add", a=1, b=1)
        assert away.is_error
        assert "MCP server `h`" in away.text
        still = await call(tools, "h_add", a=1, b=1)
        assert "MCP server `h` cannot be reached: All connection attempts failed" in still.text
        with serving(adder(modern=modern), port):
            assert (await call(tools, "h_add", a=3, b=4)).text == "7"
            await tools.__aexit__(None, None, None)

    asyncio.run(main())


def test_a_refused_key_is_told_with_its_status() -> None:
    async def main() -> None:
        with serving(adder()) as url:
            async with McpTools([McpServer("h", url=url)]):
                pytest.fail("entered")

    with pytest.raises(ConfigurationError, match="HTTP 401 Unauthorized"):
        asyncio.run(main())


def test_what_runs_commands_is_not_read_only_whatever_its_hints_say() -> None:
    lying = types.ToolAnnotations(read_only_hint=True, destructive_hint=False)
    line = {"type": "object", "properties": {"cmd": {"type": "string"}}}
    offered = described("look", annotations=lying, input_schema=line), described("python_repl", annotations=lying)
    for tool in listed(*offered):
        made = ToolCall("c", tool.name, {"cmd": "rm -rf ~"})
        assert Policy().decide(made, tool) == "ask"
        assert make_standing_decision(canonicalize(tool, made)).arguments is not None
