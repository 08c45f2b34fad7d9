"""The limits of single tools in a run: how often each is called, and how often it fails in a row."""

from __future__ import annotations

from collections import defaultdict

from antiphon.conversation import ToolResult
from antiphon.effects.budget import BudgetExceeded, format_limit
from antiphon.session.exceptions import StopRun
from antiphon.tools import Tool


class ToolLimits:
    """Counts the calls of a run and their failures, for the tools that have limits."""

    def __init__(self) -> None:
        #: The tools of the calls that may run and have no result yet, by the id of the call.
        self.open_calls: dict[str, Tool] = {}
        self.exceeded: StopRun | None = None
        #: By tool, the ids of the calls that may run.
        self._allowed: defaultdict[str, set[str]] = defaultdict(set)
        self._failures: dict[str, int] = {}

    def find_refusal(self, tool: Tool, most: int) -> str:
        """Return why the tool may not run another call; empty if it may."""
        if len(self._allowed[tool.name]) < most:
            return ""
        return f"not run: the limit of {format_limit('calls', most, f'of `{tool.name}`')} is reached; go on without it"

    def allow(self, tool: Tool, call: str) -> None:
        """Count a call that may run, by its id."""
        self._allowed[tool.name].add(call)
        self.open_calls[call] = tool

    def count_result(self, tool: Tool, result: ToolResult, scope: str) -> None:
        """Count whether a call has failed. A success begins the count anew. `scope` is that of the run."""
        self._failures[tool.name] = failed = self._failures.get(tool.name, 0) + 1 if result.is_error else 0
        if tool.max_failures is not None and failed >= tool.max_failures and self.exceeded is None:
            exceeded = BudgetExceeded(scope, "failures", tool.max_failures, failed, f"in a row of `{tool.name}`")
            self.exceeded = StopRun("limit", f"{exceeded}; the last: {result.text}")
            self.exceeded.__cause__ = exceeded
