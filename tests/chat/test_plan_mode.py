"""Plan mode: what may run before the user agrees."""

from __future__ import annotations

from antiphon.chat.plan_mode import SUBMIT_PLAN, select_harmless_tools
from antiphon.tools import Toolset, as_tool


def look() -> str:
    """Look."""
    return "seen"


def test_only_tools_that_change_nothing_and_are_no_shell_are_left() -> None:
    tools = [
        as_tool(look, name="reads", read_only=True),
        as_tool(look, name="writes"),
        as_tool(look, name="shell", read_only=True, is_shell=True),
        *Toolset([as_tool(look, name="asks", read_only=True)]).requiring_approval(),
    ]
    assert [each.name for each in select_harmless_tools(tools)] == ["reads", SUBMIT_PLAN]
