"""Loop detection: warn the model about a call that fails repeatedly, then end the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.tools.approval import identify_call

#: After this many replies with the same failing call the model is warned, or the run ends.
WARN_AFTER, STOP_AFTER = 3, 5


class LoopDetector:
    """Counts the replies in which the same call failed, until it succeeds."""

    def __init__(self) -> None:
        self._failure_counts: dict[tuple[str, str], int] = {}

    def count(self, answered: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Record the results of one reply. Duplicate calls in it count once."""
        for each in {identify_call(call) for call, result in answered if result.is_error}:
            self._failure_counts[each] = self._failure_counts.get(each, 0) + 1
        for call, result in answered if self._failure_counts else ():
            if not result.is_error:
                self._failure_counts.pop(identify_call(call), None)

    def noted(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result, with a warning if the model repeats a failing call."""
        times = self._failure_counts.get(identify_call(call), 0) if result.is_error else 0
        if times < WARN_AFTER:
            return result
        note = Text(f"This same call has now failed {times} times. Do something else.")
        return replace(result, content=(*result.parts, note))

    @property
    def reason(self) -> str:
        """The reason to end the run; empty if there is none."""
        for (name, arguments), count in self._failure_counts.items():
            if count >= STOP_AFTER:
                return f"the same call failed {count} times: {name}({arguments[:200]})"
        return ""
