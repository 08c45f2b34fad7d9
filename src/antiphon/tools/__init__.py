"""Tools: functions that models may call, how they are run, who must allow it, and those that come built in.

This room knows conversations but no provider.
"""

from antiphon.tools.approval import ALLOW_ALL, ApprovalRequest, Approver, Decision, Policy, Rule
from antiphon.tools.execution import ToolCallRecord, execute
from antiphon.tools.signature import InvalidArguments
from antiphon.tools.tool import (
    HumanNeeded,
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
    "ApprovalRequest",
    "Approver",
    "Decision",
    "HumanNeeded",
    "InvalidArguments",
    "Policy",
    "Rule",
    "Tool",
    "ToolCallRecord",
    "ToolContext",
    "ToolDefinitionError",
    "ToolFailure",
    "as_tool",
    "as_tools",
    "execute",
    "filtered",
    "prefixed",
    "renamed",
    "requiring_approval",
    "tool",
]
