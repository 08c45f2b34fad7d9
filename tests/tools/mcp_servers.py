"""Servers of the official library, on loopback or in this process, for tests of our client."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server

OBJECT = {"type": "object"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def serving(app: Any, port: int = 0) -> Iterator[str]:
    """The app on loopback, in a thread of its own."""
    port = port or free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join()


def without_discovery(inner: Any) -> Any:
    """An app that speaks only the older protocol, whose servers ask while a call runs."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if dict(scope.get("headers", ())).get(b"mcp-method") != b"server/discover":
            return await inner(scope, receive, send)
        await send({"type": "http.response.start", "status": 404, "headers": []})
        return await send({"type": "http.response.body", "body": b""})

    return app


def lowlevel(handle: Callable[..., Any], *tools: types.Tool, **handlers: Any) -> Server[Any]:
    """A server whose calls are handled by a function of the context and the parameters."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools) or [types.Tool(name="t", input_schema=OBJECT)])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        return await handle(context, params)

    return Server("s", on_list_tools=list_tools, on_call_tool=call_tool, **handlers)


def asking(*requests: Any, seen: list[Any] | None = None) -> Server[Any]:
    """A server whose tool first asks for input, and then returns what it got."""

    async def handle(_context: Any, params: types.CallToolRequestParams) -> Any:
        if params.input_responses is None:
            return types.InputRequiredResult(
                input_requests={f"q{number}": each for number, each in enumerate(requests)}, request_state="state"
            )
        assert params.request_state == "state"
        answers = [
            each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in params.input_responses.values()
        ]
        if seen is not None:
            seen.append(answers)
        return said(str(answers))

    return lowlevel(handle)


def said(text: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], **more)


def form(message: str, required: tuple[str, ...] = (), **properties: Any) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def link(message: str, url: str) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestURLParams(message=message, url=url))


def sampling(text: str, **more: Any) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100, **more)
    return types.CreateMessageRequest(params=params)
