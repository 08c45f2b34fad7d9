"""Plan mode: the model may only read until the user agrees to its plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from antiphon.conversation import Note
from antiphon.tools import FinishRun, ProviderTool, Tool, Toolset, as_tool

SUBMIT_PLAN = "submit_plan"
AGREEMENT = "I agree. Carry out the plan."
_INSTRUCTION = (
    "Plan mode is on: only tools that change nothing are there. Find out what is needed, then call `submit_plan` with"
    " the plan. The user decides about it; then the other tools are there."
)


def make_plan_note() -> Note:
    """Return the note that tells the model about plan mode."""
    return Note(_INSTRUCTION, "instruction")


def make_plan_tool() -> Tool:
    """Return the tool with which the model submits its plan; it ends the answer."""

    def submit_plan(plan: str) -> str:
        """Submit the plan for the task. The user sees it and decides.

        Args:
            plan: The steps in Markdown: what you will change, in which files, and how you will check it.
        """
        raise FinishRun(plan, "The plan is shown to the user, who decides.")

    return as_tool(submit_plan, name=SUBMIT_PLAN, read_only=True, concurrent=False)


def select_harmless_tools(
    tools: Iterable[Tool | ProviderTool | Toolset[Any]],
) -> list[Tool | ProviderTool | Toolset[Any]]:
    """Return the tools that change nothing, and that for the plan."""
    kept = [tool for tool in tools if isinstance(tool, Tool) and _is_harmless(tool)]
    return [*kept, make_plan_tool()]


def _is_harmless(tool: Tool) -> bool:
    return tool.read_only and not (tool.destructive or tool.needs_approval or tool.is_shell)
