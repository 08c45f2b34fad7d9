"""Servers from configuration, and what is said when it is wrong."""

import json
from typing import Any

import pytest

from antiphon.errors import ConfigurationError
from antiphon.tools.mcp import McpServer


def test_the_usual_shape_is_read_with_variables_replaced() -> None:
    config = json.loads("""
        {"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "${HOME}/files"], "env": {"KEY": "${KEY}", "MODE": "${MODE:-r}"},
                      "cwd": "${HOME}", "alwaysAllow": ["read"]},
            "far": {"type": "http", "url": "https://${HOST:-example.com}/mcp", "timeout": 5,
                    "headers": {"Authorization": "Bearer ${KEY}"}},
            "off": {"command": "${NOT_SET}", "disabled": true}
        }}
    """)
    files, far = McpServer.from_config(config, {"HOME": "/home/x", "KEY": "k", "HOST": ""})
    assert files == McpServer("files", "npx", ("-y", "/home/x/files"), {"KEY": "k", "MODE": "r"}, "/home/x")
    assert far == McpServer("far", url="https://example.com/mcp", headers={"Authorization": "Bearer k"}, timeout=5)
    assert "Bearer" not in repr(far)


def test_the_inner_object_and_our_own_environment_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "bin")
    assert McpServer.from_config({"a": {"command": "/${WHERE}/a"}}) == [McpServer("a", "/bin/a")]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([], "MCP server `s` is an object with a `command` or a `url`, not a list"),
        ({"comand": "x"}, "MCP server `s` has neither `command` nor `url`; it has `comand`"),
        ({"command": "x", "url": "http://x"}, "MCP server `s` has more than one of `command`, `url` and `server`"),
        ({"command": ["x"]}, "`command` of MCP server `s` is text, not a list"),
        ({"command": "x", "args": "-y"}, "`args` of MCP server `s` is a list of texts, not text"),
        ({"command": "x", "args": ["a", 1]}, r"`args\[1\]` of MCP server `s` is text, not a number"),
        ({"command": "x", "env": ["A=1"]}, "`env` of MCP server `s` is an object of texts, not a list"),
        ({"command": "x", "env": {"A": True}}, "`env.A` of MCP server `s` is text, not a boolean"),
        ({"command": "${NOT_SET}"}, r"`command` of MCP server `s` uses \$\{NOT_SET\}, which is not set"),
        ({"url": "example.com"}, "the `url` of MCP server `s` starts with http:// or https://"),
        ({"url": "http://x", "type": "sse"}, "MCP server `s` is of type 'sse'; here are 'stdio' and 'http'"),
        ({"command": "x", "type": "http"}, "MCP server `s` is of type 'http', which needs a `url`"),
        ({"command": "x", "timeout": "5"}, "the `timeout` of MCP server `s` is a number of seconds above 0, not '5'"),
        ({"command": "x", "timeout": 0}, "a number of seconds above 0, not 0"),
    ],
)
def test_a_mistake_is_named_with_its_place(entry: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        McpServer.from_config({"mcpServers": {"s": entry}}, {})


def test_a_server_in_code_is_checked_too() -> None:
    with pytest.raises(ConfigurationError, match="has none of"):
        McpServer("s")
    with pytest.raises(ConfigurationError, match="needs a name"):
        McpServer("", "x")
    with pytest.raises(ConfigurationError, match="a list of texts, not one text"):
        McpServer("s", "x", "-y")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="`mcpServers` is an object"):
        McpServer.from_config({"mcpServers": []})
