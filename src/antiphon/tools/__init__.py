"""Tools: functions that models may call, their execution and approval, and the built-in ones.

This package knows conversations but no provider.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.tools.approval import ALLOW_ALL, Policy, Rule, StandingDecision
from antiphon.tools.call_host import CallHost
from antiphon.tools.canonical_call import CanonicalCall, canonicalize
from antiphon.tools.execution import ToolCallRecord, ToolExecution, execute
from antiphon.tools.function_schema import InvalidArguments
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
from antiphon.tools.tool import (
    Before,
    FinishRun,
    NeedsHumanInput,
    Tool,
    ToolContext,
    ToolDefinitionError,
    ToolFailure,
    as_tool,
    as_tools,
    tool,
)
from antiphon.tools.toolset import StepContext, Toolset, renamed

__all__ = [
    "ALLOW_ALL",
    "Before",
    "CallHost",
    "CanonicalCall",
    "CodeExecution",
    "Computer",
    "FileSearch",
    "FinishRun",
    "InvalidArguments",
    "MCPServer",
    "NeedsHumanInput",
    "Policy",
    "ProviderTool",
    "Rule",
    "StandingDecision",
    "StepContext",
    "Tool",
    "ToolCallRecord",
    "ToolContext",
    "ToolDefinitionError",
    "ToolExecution",
    "ToolFailure",
    "ToolSearch",
    "Toolset",
    "WebFetch",
    "WebSearch",
    "as_tool",
    "as_tools",
    "canonicalize",
    "execute",
    "renamed",
    "tool",
]

publish_exports(globals())
