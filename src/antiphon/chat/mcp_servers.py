"""MCP servers named by users: a name from the configuration, a URL or a command."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon._base.did_you_mean import suggest_name
from antiphon.errors import OptionError

if TYPE_CHECKING:
    from antiphon.tools.mcp import McpServer

#: Words of launchers; the server is named after the first other word of its command.
_LAUNCHER_WORDS = re.compile(
    r"-.*|npx|bunx|uvx|uv|pipx|run|exec|node|deno|bun|docker|env|sh|bash|py|python[\d.]*", re.IGNORECASE
)


def resolve_mcp_server(given: str, configured: Mapping[str, McpServer]) -> McpServer:
    """Return the server with this name, URL or command; configured names come first."""
    if given in configured:
        return configured[given]
    from antiphon.tools.mcp import McpServer

    if given.startswith(("http://", "https://")):
        from antiphon.config import McpCredentials

        name = _sanitize_server_name(urlsplit(given).hostname or "server")
        return McpServer(name, url=given, credentials=McpCredentials())
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise OptionError(f"the command of an MCP server cannot be read: {given!r}: {error}") from None
    if not words or shutil.which(words[0]) is None:
        names = ", ".join(f"`{name}`" for name in configured) or "none"
        meant = suggest_name(given, configured)
        hint = f"did you mean `{meant}`?" if meant else f"configured are: {names}; a command or an address will do too"
        raise OptionError(f"there is no MCP server `{given}`, and no command of that name; {hint}")
    return McpServer(_choose_server_name(words), command=words[0], args=tuple(words[1:]))


def _choose_server_name(words: list[str]) -> str:
    """Return a name for a server: the first word of its command that is not a launcher."""
    named = next((word for word in words if not _LAUNCHER_WORDS.fullmatch(PurePath(word).name)), words[0])
    return _sanitize_server_name(PurePath(re.sub(r"(?<=.)@[^/@]*$", "", named)).stem)


def _sanitize_server_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "server"
