"""Going in circles: the same call that fails again and again is told to the model, and then ends the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.tools.approval import identity

#: The same failing call in this many replies: the model is told; in this many: the run ends.
WARN_AFTER, STOP_AFTER = 3, 5


class Breaker:
    """Counts the replies in which a call failed, until it works again."""

    def __init__(self) -> None:
        self._failing: dict[tuple[str, str], int] = {}

    def count(self, answered: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Take note of the calls of one reply: one that is in it several times counts once."""
        for each in {identity(call) for call, result in answered if result.is_error}:
            self._failing[each] = self._failing.get(each, 0) + 1
        for call, result in answered if self._failing else ():
            if not result.is_error:
                self._failing.pop(identity(call), None)

    def noted(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result, with a word to a model that repeats itself."""
        times = self._failing.get(identity(call), 0) if result.is_error else 0
        if times < WARN_AFTER:
            return result
        note = Text(f"This same call has now failed {times} times. Do something else.")
        return replace(result, content=(*result.parts, note))

    @property
    def reason(self) -> str:
        """Why the run must end; nothing, while it need not."""
        for (name, arguments), count in self._failing.items():
            if count >= STOP_AFTER:
                return f"the same call failed {count} times: {name}({arguments[:200]})"
        return ""
