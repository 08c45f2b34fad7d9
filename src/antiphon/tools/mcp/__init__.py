"""The Model Context Protocol, both ways: other programs' tools for our models, and our tools for other programs.

The `mcp` library takes a second to import, so only functions that need it do.
"""

from antiphon._public import publish
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.server import mcp_server, serve
from antiphon.tools.mcp.toolset import McpTools

__all__ = ["McpServer", "McpTools", "mcp_server", "serve"]

publish(globals())
