"""The tool `write_todos`: a list of the steps of a task that the model keeps and the user sees."""

from __future__ import annotations

from typing import Literal, TypedDict

from antiphon.conversation import ToolResult
from antiphon.results import text as text_result
from antiphon.tools.dual_result import make_dual_result
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_MAX_ITEMS = 50
_MAX_CHARACTERS = 200


class TodoItem(TypedDict):
    """A step of a task."""

    text: str
    state: Literal["open", "active", "done"]


def todo_tool() -> Tool:
    """Return the tool `write_todos`. It changes nothing; the list is in its last call."""

    def write_todos(items: list[TodoItem]) -> ToolResult:
        """Keep a list of the steps of a longer task, so that the user sees how far it is. It replaces the last one.

        Args:
            items: All steps in order, each with its state. At most one is active.
        """
        if len(items) > _MAX_ITEMS:
            raise ToolFailure(f"the list has {len(items)} steps; keep it to {_MAX_ITEMS}")
        if sum(item["state"] == "active" for item in items) > 1:
            raise ToolFailure("at most one step is active")
        done = sum(item["state"] == "done" for item in items)
        summary = f"{done} of {len(items)} done"
        lines: list[str] = []
        for item in items:
            text = " ".join(item["text"].split())[:_MAX_CHARACTERS]
            mark = "x" if item["state"] == "done" else " "
            lines.append(f"- [{mark}] **{text}**" if item["state"] == "active" else f"- [{mark}] {text}")
        shown = text_result("\n".join(lines), markdown=True, summary=summary, collapsed=False)
        return make_dual_result(f"The list is shown: {summary}.", shown)

    return as_tool(write_todos, read_only=True, concurrent=False)
