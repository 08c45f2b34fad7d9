"""Toolsets: what they derive from tools, and what they choose before a request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from antiphon import Conversation, ToolCall
from antiphon.tools import (
    Policy,
    StepContext,
    Tool,
    ToolDefinitionError,
    Toolset,
    as_tool,
    tool,
)


def read(path: str = "") -> str:
    """Read something."""
    return f"read {path}"


@tool(read_only=False, timeout=3)
def write(path: str = "") -> str:
    """Write something."""
    return f"wrote {path}"


def names(toolset: Toolset[Any], deps: Any = None) -> list[str]:
    context = StepContext(deps, Conversation(), 1, "scripted")
    return [each.name for each in asyncio.run(toolset.list_tools(context))]


class TestDerivation:
    def test_functions_tools_and_toolsets_are_collected_in_order(self):
        made = Toolset([Toolset([write]), read], name="files")
        assert [each.name for each in made] == ["write", "read"]
        assert len(made) == 2
        assert names(made) == ["write", "read"]
        assert repr(made) == "<Toolset files: 2 tools>"

    def test_a_toolset_of_a_toolset_is_the_same(self):
        assert [each.name for each in Toolset(Toolset([read, write]))] == ["read", "write"]

    def test_its_tools_keep_their_settings_under_another_name(self):
        (made,) = Toolset([write]).prefixed("fs_")
        assert (made.name, made.timeout, made("x")) == ("fs_write", 3, "wrote x")

    def test_methods_leave_the_toolset_as_it_is(self):
        given = Toolset([read])
        given.prefixed("a_").requiring_approval()
        assert [(each.name, each.needs_approval) for each in given] == [("read", False)]

    def test_a_pattern_or_a_function_selects(self):
        given = Toolset([read, write])
        assert [each.name for each in given.filtered("r*")] == ["read"]
        assert [each.name for each in given.filtered(lambda each: each.timeout is not None)] == ["write"]

    def test_two_tools_of_one_name_are_refused(self):
        with pytest.raises(ToolDefinitionError, match="two tools are named `read`"):
            Toolset([read, Toolset([read])])

    def test_an_empty_toolset_is_no_missing_one(self):
        assert Toolset()
        assert len(Toolset()) == 0


class TestApproval:
    def judge(self, made: Tool, **arguments: Any) -> str:
        return Policy().decide(ToolCall("c", made.name, arguments), made)

    def test_all_calls(self):
        (made,) = Toolset([read]).requiring_approval()
        assert self.judge(made) == "ask"

    def test_some_calls(self):
        def is_secret(made: Tool, arguments: Mapping[str, Any]) -> bool:
            return made.name == "read" and "secret" in str(arguments["path"])

        (made,) = Toolset([read]).requiring_approval(is_secret)
        assert [self.judge(made, path=path) for path in ("a.txt", "secret.txt")] == ["allow", "ask"]

    def test_a_function_that_fails_asks(self):
        (made,) = Toolset([read]).requiring_approval(lambda _, arguments: arguments["nothing"])
        assert self.judge(made) == "ask"

    def test_what_asked_before_still_asks(self):
        asking = as_tool(read, asks_about=lambda path: path == "a")
        (made,) = Toolset([asking]).requiring_approval(lambda _, arguments: arguments["path"] == "b")
        assert [self.judge(made, path=path) for path in "abc"] == ["ask", "ask", "allow"]
        (made,) = Toolset([as_tool(read, needs_approval=True)]).requiring_approval(lambda *_: False)
        assert self.judge(made, path="c") == "ask"


class TestPreparation:
    def only_reading(self, context: StepContext[str], tools: tuple[Tool, ...]) -> list[Tool]:
        return [each for each in tools if context.deps == "admin" or each.name == "read"]

    def test_a_function_chooses_with_the_dependencies(self):
        made = Toolset([read, write]).prepared(self.only_reading)
        assert (names(made, "admin"), names(made, "guest")) == (["read", "write"], ["read"])

    def test_it_may_be_asynchronous_and_derive_tools(self):
        async def widen(context: StepContext[Any], tools: tuple[Tool, ...]) -> list[Any]:
            return [*Toolset(tools).prefixed(f"{context.deps}_"), read]

        assert names(Toolset([write]).prepared(widen), "my") == ["my_write", "read"]

    def test_what_follows_applies_to_what_was_chosen(self):
        made = Toolset([read, write]).prepared(self.only_reading).filtered("w*").prefixed("fs_")
        assert (names(made, "admin"), names(made, "guest")) == (["fs_write"], [])

    def test_it_holds_inside_another_toolset(self):
        made = Toolset([Toolset([write]).prepared(self.only_reading), read]).requiring_approval()
        assert (names(made, "admin"), names(made, "guest")) == (["write", "read"], ["read"])

    def test_its_tools_cannot_be_taken_out_of_it(self):
        made = Toolset([read], "files").prepared(self.only_reading)
        assert repr(made) == "<Toolset files: prepared>"
        with pytest.raises(ToolDefinitionError, match="give `tools=` the toolset itself"):
            list(made)

    @pytest.mark.parametrize("chosen", [None, "read", 3])
    def test_a_wrong_choice_is_refused(self, chosen: Any):
        made = Toolset([read]).prepared(lambda *_: chosen)
        with pytest.raises(ToolDefinitionError, match="returns a list of tools"):
            names(made)

    def test_something_else_than_a_function_is_refused(self):
        with pytest.raises(ToolDefinitionError, match="`prepared` takes a function"):
            Toolset([read]).prepared(3)  # type: ignore[arg-type]
