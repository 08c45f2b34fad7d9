"""Asking people, the clock, and the bundles."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from antiphon.conversation import ToolCall
from antiphon.tools import NeedsHumanInput, Policy, as_tools
from antiphon.tools.builtin import all_tools, ask_user_tool, now, read_only_tools, todo_tool
from tests.tools.calls import Failed, call


def test_somebody_answers() -> None:
    async def later(question: str) -> str:
        return question.upper()

    for answer in (str.upper, later, lambda question: later(question)):
        assert call([ask_user_tool(answer)], "ask_user", question="why?") == "WHY?"


def test_nobody_answers() -> None:
    import asyncio

    with pytest.raises(NeedsHumanInput, match=r"^why\?$"):
        asyncio.run(ask_user_tool()("why?"))


def test_the_clock_knows_zones() -> None:
    utc = datetime.fromisoformat(call([now], "now"))
    tokyo = datetime.fromisoformat(call([now], "now", timezone="Asia/Tokyo"))
    assert utc.utcoffset() == timedelta(0)
    assert tokyo.utcoffset() == timedelta(hours=9)
    assert abs(tokyo - utc) < timedelta(seconds=5)


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("berlin", "did you mean Europe/Berlin"),
        ("Europe/Brlin", "did you mean"),
        ("../../etc/passwd", "no time zone"),
        ("", "no time zone"),
    ],
)
def test_zones_that_are_none_are_explained(zone: str, words: str) -> None:
    with pytest.raises(Failed, match=words):
        call([now], "now", timezone=zone)


def test_a_list_of_steps_is_kept_within_bounds() -> None:
    items = [{"text": "a", "state": "done"}, {"text": "b", "state": "active"}]
    assert call([todo_tool()], "write_todos", items=items) == "The list is shown: 1 of 2 done."
    with pytest.raises(Failed, match="at most one step is active"):
        call([todo_tool()], "write_todos", items=items[1:] * 2)
    with pytest.raises(Failed, match="the list has 60 steps"):
        call([todo_tool()], "write_todos", items=items[:1] * 60)
    with pytest.raises(Failed, match="do not fit"):
        call([todo_tool()], "write_todos", items=[{"text": "a", "state": "maybe"}])


def test_the_read_only_bundle_changes_nothing(tmp_path: Path) -> None:
    tools = as_tools(read_only_tools(tmp_path))
    assert [tool.name for tool in tools] == [
        "read_file", "list_files", "glob_files", "grep_files", "git_status", "git_diff", "git_log", "now"
    ]  # fmt: skip
    assert all(tool.read_only and not tool.destructive for tool in tools)


def test_the_whole_bundle_asks_before_it_changes_anything(tmp_path: Path) -> None:
    tools = as_tools(all_tools(tmp_path, shell_allow=["ls *"], fetch_allow=["example.org"], answer=str.upper))
    asked = {tool.name for tool in tools if Policy().decide(ToolCall("a", tool.name), tool) == "ask"}
    assert asked == {"write_file", "edit_file", "run_shell"}
    assert len(tools) == 13
    assert all(tool.spec.description for tool in tools)
    for tool in tools:
        for name, schema in tool.spec.parameters["properties"].items():
            assert schema.get("description"), f"{tool.name}: {name}"
