"""Our tools for other programs, driven by the library's own client."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ElicitResult, ImageContent, TextContent

from antiphon.conversation import Image, Text
from antiphon.tools import Tool, ToolContext, ToolFailure, tool
from antiphon.tools.mcp import McpServer, McpTools, make_mcp_server
from antiphon.tools.tool import NeedsHumanInput

#: A server gets no variables but those it is given.
HERE = {"PYTHONPATH": os.environ["PYTHONPATH"]}
PIXEL = Image.from_bytes(b"\x89PNG", "image/png")


@tool(read_only=True)
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
    """
    return a + b


@tool(destructive=True)
def wipe() -> str:
    """Wipe."""
    raise ToolFailure("nothing to wipe")


@tool
async def look() -> list[Any]:
    """Look."""
    return ["here", PIXEL]


@tool(output_limit=10)
def long() -> str:
    """Much."""
    return "line\n" * 1000


@tool
def ask() -> str:
    """Ask."""
    raise NeedsHumanInput("which one?")


def called(name: str, **arguments: Any) -> CallToolResult:
    async def main() -> CallToolResult:
        async with Client(make_mcp_server([add, wipe, look, long, ask])) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(main())


def test_tools_are_listed_with_their_schemas_and_hints() -> None:
    async def main() -> Any:
        async with Client(make_mcp_server([add, wipe])) as client:
            return (await client.list_tools()).tools

    adds, wipes = asyncio.run(main())
    assert (adds.name, adds.description, adds.input_schema) == ("add", add.spec.description, add.spec.parameters)
    assert (adds.annotations.read_only_hint, adds.annotations.destructive_hint) == (True, False)
    assert (wipes.annotations.read_only_hint, wipes.annotations.destructive_hint) == (False, True)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("wipe", {}, "nothing to wipe"),
        ("add", {"a": "x"}, "the arguments of `add` do not fit: `a`: input should be a valid integer"),
        ("add", {}, "`a` is missing"),
        ("none", {}, "there is no tool named 'none'"),
        ("a.b", {}, "there is no tool named 'a.b'"),
        ("ask", {}, "nobody can be asked here, and the tool needs an answer to: which one?"),
    ],
)
def test_failures_are_error_results_in_words(name: str, arguments: dict[str, Any], text: str) -> None:
    result = called(name, **arguments)
    (block,) = result.content
    assert result.is_error
    assert isinstance(block, TextContent)
    assert text in block.text


def test_text_images_and_long_results_arrive_whole() -> None:
    assert called("add", a=2).content == [TextContent(text="3")]
    assert called("look").content == [
        TextContent(text="here"),
        ImageContent(data=PIXEL.data, mime_type="image/png"),
    ]
    (block,) = called("long").content
    assert isinstance(block, TextContent)
    assert block.text == "line\n" * 1000


def test_our_client_and_our_server_understand_each_other() -> None:
    async def main() -> list[Tool]:
        async with McpTools([McpServer("us", server=make_mcp_server([add, wipe, look]))], prefix=False) as tools:
            assert (await tools.tools[2]()).content == (Text("here"), PIXEL)
            return tools.tools

    ours = asyncio.run(main())
    assert [tool.spec for tool in ours] == [add.spec, wipe.spec, look.spec]
    assert [(tool.read_only, tool.destructive) for tool in ours] == [(True, False), (False, True), (False, False)]


def test_over_standard_input_and_output_what_tools_print_does_no_harm(tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text(
        "import asyncio\n"
        "from antiphon.tools.mcp import serve\n"
        "def greet(name: str) -> str:\n"
        "    print('this is not JSON')\n"
        "    return f'hello {name}'\n"
        "asyncio.run(serve([greet], name='greeter'))\n"
    )

    async def main() -> CallToolResult:
        async with Client(StdioServerParameters(command=sys.executable, args=[str(script)], env=HERE)) as client:
            assert client.server_info
            assert client.server_info.name == "greeter"
            return await client.call_tool("greet", {"name": "you"})

    assert asyncio.run(main()).content == [TextContent(text="hello you")]


def test_the_library_is_imported_only_when_used() -> None:
    code = (
        "import sys, antiphon.tools.mcp, antiphon.cli.mcp; assert not {'mcp', 'mcp_types', 'anyio'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_serves_the_built_in_tools(tmp_path: Path) -> None:
    command = "from antiphon.cli.mcp import mcp; mcp()"

    async def main() -> list[Tool]:
        less = McpServer("less", sys.executable, ("-c", command, "--root", str(tmp_path)), env=HERE)
        more = McpServer("more", sys.executable, ("-c", command, "--root", str(tmp_path), "--all"), env=HERE)
        async with McpTools([less, more]) as tools:
            assert tools.failures == {}
            return tools.tools

    tools = asyncio.run(main())
    less = [tool for tool in tools if tool.name.startswith("less_")]
    assert less
    assert all(tool.read_only for tool in less)
    assert any(tool.destructive for tool in tools)


# Questions, progress and cancellation


@tool(read_only=True, asks_about=lambda path: path.endswith(".env"))
def read(path: str) -> str:
    """Read."""
    return f"content of {path}"


def asked(name: str, answer: Any, *, is_old: bool = False, **arguments: Any) -> tuple[str, list[str]]:
    """The text of a call whose client gives this answer to questions, and the questions."""
    questions: list[str] = []

    async def elicit(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return answer

    async def main() -> str:
        server = make_mcp_server([ask, read])
        async with Client(server, mode="legacy" if is_old else "auto", elicitation_callback=elicit) as client:
            (block,) = (await client.call_tool(name, arguments)).content
            assert isinstance(block, TextContent)
            return block.text

    return asyncio.run(main()), questions


@pytest.mark.parametrize("is_old", [False, True])
def test_questions_of_tools_go_to_the_clients_user(is_old: bool) -> None:
    said = ElicitResult(action="accept", content={"answer": "the red one"})
    assert asked("ask", said, is_old=is_old) == ("The user answered: the red one", ["which one?"])
    declined = ElicitResult(action="decline")
    assert asked("ask", declined, is_old=is_old) == ("the user declined to answer", ["which one?"])


@pytest.mark.parametrize("is_old", [False, True])
def test_secrets_are_read_only_after_the_clients_user_agreed(is_old: bool) -> None:
    agreed, refused = ElicitResult(action="accept", content={}), ElicitResult(action="decline")
    text, questions = asked("read", agreed, is_old=is_old, path=".env")
    assert text == "content of .env"
    assert questions[0].startswith("This looks like a secret. May `read` run with")
    assert "the user did not allow it" in asked("read", refused, is_old=is_old, path=".env")[0]
    assert asked("read", refused, is_old=is_old, path="a.txt") == ("content of a.txt", [])


def test_an_answer_to_no_question_does_not_run_a_tool_twice() -> None:
    runs: list[str] = []

    @tool
    def act() -> str:
        """Act."""
        runs.append("act")
        raise NeedsHumanInput("Sure?")

    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "yes"})

    async def main() -> None:
        async with Client(make_mcp_server([act]), elicitation_callback=elicit) as client:
            await client.call_tool("act", {})

    asyncio.run(main())
    assert runs == ["act"]


@pytest.mark.parametrize("is_old", [False, True])
def test_progress_of_a_tool_reaches_the_client_before_its_result(is_old: bool) -> None:
    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        for number in (1, 2):
            context.host.report(number, 2, f"step {number}")
        return "done"

    heard: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def main() -> None:
        async with Client(make_mcp_server([work]), mode="legacy" if is_old else "auto") as client:
            await client.call_tool("work", {}, progress_callback=hear)

    asyncio.run(main())
    assert heard == [(1, 2, "step 1"), (2, 2, "step 2")]


def test_a_cancelled_call_is_cancelled_here() -> None:
    events: list[str] = []

    async def main() -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            started.set()
            try:
                await asyncio.sleep(3600)
            finally:
                events.append("ended")
                ended.set()
            return ""

        async with Client(make_mcp_server([wait]), mode="legacy") as client:
            calling = asyncio.create_task(client.call_tool("wait", {}))
            await started.wait()
            calling.cancel()
            async with asyncio.timeout(60):
                await ended.wait()

    asyncio.run(main())
    assert events == ["ended"]


def test_a_tool_of_another_server_is_served_with_its_output_schema() -> None:
    inner = MCPServer("geo")

    @inner.tool()
    def city() -> dict[str, int]:
        return {"people": 3}

    async def main() -> None:
        async with McpTools([McpServer("geo", server=inner)]) as mcp, Client(make_mcp_server(mcp.tools)) as client:
            (listed,) = (await client.list_tools()).tools
            assert listed.output_schema == mcp.tools[0].output_schema is not None
            assert (await client.call_tool("geo_city", {})).structured_content == {"people": 3}

    asyncio.run(main())
