"""The Model Context Protocol in both directions: a client for MCP servers, and a server for our tools.

The `mcp` library takes a second to import, so only functions that need it import it.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.oauth import CredentialStore
from antiphon.tools.mcp.resources import McpPrompt, McpResource
from antiphon.tools.mcp.server import make_mcp_server, serve
from antiphon.tools.mcp.session import log_in
from antiphon.tools.mcp.toolset import McpTools

__all__ = ["CredentialStore", "McpPrompt", "McpResource", "McpServer", "McpTools", "log_in", "make_mcp_server", "serve"]

publish_exports(globals())
