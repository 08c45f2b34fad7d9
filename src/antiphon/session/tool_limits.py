"""The limits of single tools in a run: how often each is called, and how often it fails in a row."""

from __future__ import annotations

from collections import Counter, defaultdict

from antiphon.conversation import ToolResult
from antiphon.effects.budget import BudgetExceeded, format_limit
from antiphon.session.exceptions import StopRun
from antiphon.tools import Tool


class ToolLimits:
    """Counts the calls of a run and their failures by tool."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        #: By tool, the ids of the calls that may run.
        self._allowed: defaultdict[str, set[str]] = defaultdict(set)
        self._failures: Counter[str] = Counter()
        self._exceeded: tuple[BudgetExceeded, str] | None = None

    def find_refusal(self, tool: Tool) -> str:
        """Return why the tool may not run another call; empty if it may."""
        most = tool.max_calls
        if most is None or len(self._allowed[tool.name]) < most:
            return ""
        return f"not run: the limit of {format_limit('calls', most, f'of `{tool.name}`')} is reached; go on without it"

    def allow(self, tool: Tool, call: str) -> None:
        """Count a call that may run, by its id."""
        self._allowed[tool.name].add(call)

    def count_result(self, tool: Tool, result: ToolResult) -> None:
        """Count whether a call has failed. A success begins the count anew."""
        self._failures[tool.name] = failed = self._failures[tool.name] + 1 if result.is_error else 0
        if tool.max_failures is not None and failed >= tool.max_failures and self._exceeded is None:
            label = f"in a row of `{tool.name}`"
            exceeded = BudgetExceeded(self._scope, "failures", tool.max_failures, failed, label)
            self._exceeded = exceeded, result.text

    def check_failures(self) -> None:
        """Raise `StopRun` if a tool has failed too often in a row."""
        if self._exceeded is not None:
            exceeded, last = self._exceeded
            raise StopRun("limit", f"{exceeded}; the last: {last}") from exceeded
