"""Loop detection: warn the model about a call that it repeats in vain, then end the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.tools import Tool
from antiphon.tools.approval import identify_call

#: After this many replies with the same call and result the model is warned, or the run ends.
WARN_AFTER, STOP_AFTER = 3, 5


class LoopDetector:
    """Counts the replies that repeat a call with the same result, while nothing changes.

    All failures of a call are the same result. A success counts only if the tool is read-only or idempotent:
    other tools may do something new each time. A success of a tool that is not read-only is a change, which
    resets the counts of all other calls.

    It is no middleware: it also counts calls that were rejected and so are no effects, and each call once per
    reply. Replayed calls count as well.
    """

    def __init__(self) -> None:
        #: By call and text of the result, which is `None` for a failure.
        self._counts: dict[tuple[tuple[str, str], str | None], int] = {}

    def count(self, answered: Sequence[tuple[ToolCall, ToolResult, Tool | None]]) -> None:
        """Record the calls of one reply with their results and tools. `None` stands for an unknown tool."""
        for call, result, tool in answered if self._counts else ():
            if not result.is_error:
                self._counts.pop((identify_call(call), None), None)
                if tool is not None and not tool.read_only:
                    same = identify_call(call)
                    self._counts = {each: times for each, times in self._counts.items() if each[0] == same}
        for each in {
            _identify_repetition(call, result)
            for call, result, tool in answered
            if result.is_error or (tool is not None and (tool.read_only or tool.idempotent) and _is_text(result))
        }:
            self._counts[each] = self._counts.get(each, 0) + 1

    def add_warning(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result, with a warning if the model repeats the call."""
        times = self._counts.get(_identify_repetition(call, result), 0) if self._counts else 0
        if times < WARN_AFTER:
            return result
        told = f"failed {times} times" if result.is_error else f"given the same result {times} times"
        return replace(result, content=(*result.parts, Text(f"This same call has now {told}. Do something else.")))

    @property
    def reason(self) -> str:
        """The reason to end the run; empty if there is none."""
        for ((name, arguments), text), times in self._counts.items():
            if times >= STOP_AFTER:
                told = "failed" if text is None else "gave the same result"
                return f"the same call {told} {times} times: {name}({arguments[:200]})"
        return ""


def _identify_repetition(call: ToolCall, result: ToolResult) -> tuple[tuple[str, str], str | None]:
    return identify_call(call), None if result.is_error else result.text


def _is_text(result: ToolResult) -> bool:
    return all(isinstance(part, Text) for part in result.parts)
