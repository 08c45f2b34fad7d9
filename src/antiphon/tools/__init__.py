"""Tools: functions that models may call, how they are run, who must allow it, and those that come built in.

This room knows conversations but no provider.
"""

from antiphon._public import publish
from antiphon.tools.approval import ALLOW_ALL, Policy, Rule, Standing
from antiphon.tools.canonical import CanonicalCall, canonicalize
from antiphon.tools.execution import Executed, ToolCallRecord, execute
from antiphon.tools.provider_tools import (
    CodeExecution,
    Computer,
    FileSearch,
    MCPServer,
    ProviderTool,
    ToolSearch,
    WebFetch,
    WebSearch,
)
from antiphon.tools.signature import InvalidArguments
from antiphon.tools.tool import (
    Before,
    Finish,
    Pause,
    Tool,
    ToolContext,
    ToolDefinitionError,
    ToolFailure,
    as_tool,
    as_tools,
    tool,
)
from antiphon.tools.wrappers import filtered, prefixed, renamed, requiring_approval

__all__ = [
    "ALLOW_ALL",
    "Before",
    "CanonicalCall",
    "CodeExecution",
    "Computer",
    "Executed",
    "FileSearch",
    "Finish",
    "InvalidArguments",
    "MCPServer",
    "Pause",
    "Policy",
    "ProviderTool",
    "Rule",
    "Standing",
    "Tool",
    "ToolCallRecord",
    "ToolContext",
    "ToolDefinitionError",
    "ToolFailure",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "as_tool",
    "as_tools",
    "canonicalize",
    "execute",
    "filtered",
    "prefixed",
    "renamed",
    "requiring_approval",
    "tool",
]

publish(globals())
