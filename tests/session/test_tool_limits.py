"""Limits of single tools: how often they are called in a run, and how often they fail in a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon import Session, Store, tool
from antiphon.session import LimitReached, NeedsHuman
from antiphon.tools import Tool, ToolDefinitionError, ToolFailure, Toolset
from tests.session.scripted import Scripted, calls


def search(query: str) -> str:
    """Search."""
    if query.startswith("bad"):
        raise ToolFailure(f"no index for {query}")
    return f"found {query}"


def read(path: str) -> str:
    """Read."""
    return f"text of {path}"


def searches(*queries: str) -> list[tuple[str, dict[str, Any]]]:
    return [("search", {"query": query}) for query in queries]


class TestCalls:
    def test_further_calls_are_not_run_and_the_model_is_told(self):
        model = Scripted(searches("a"), searches("b"), searches("c"), "Done.")
        result = Session(model, [Toolset([search]).limited(max_calls=2), read]).vibe("Go.")
        assert [(each.result, each.error) for each in result.tool_calls] == [
            ("found a", None),
            ("found b", None),
            (None, "not run: the limit of 2 calls of `search` is reached; go on without it"),
        ]

    def test_it_holds_within_one_reply_and_only_for_its_tool(self):
        model = Scripted([*searches("a", "b", "c"), ("read", {"path": "x"})], "Done.")
        result = Session(model, [Toolset([search]).limited(max_calls=2), read]).vibe("Go.")
        assert [each.error is None for each in result.tool_calls] == [True, True, False, True]

    def test_each_run_has_its_own_calls(self):
        session = Session(
            Scripted(searches("a"), "Once.", searches("b"), "Twice."), [Toolset([search]).limited(max_calls=1)]
        )
        assert session.vibe("Go.").tool_calls[0].error is None
        assert session.vibe("Go on.").tool_calls[0].error is None

    def test_calls_that_a_person_denies_do_not_count(self):
        def decide(question: Any) -> bool:
            return "'a'" not in question.text and '"a"' not in question.text

        searching = tool(max_calls=1, needs_approval=True)(search)
        result = Session(Scripted(searches("a"), searches("b"), "Done."), [searching], people=decide).vibe("Go.")
        assert [each.result for each in result.tool_calls] == [None, "found b"]

    def test_a_call_that_waited_for_a_person_counts_once(self):
        searching = tool(max_calls=1, needs_approval=True)(search)
        session = Session(Scripted(searches("a"), searches("b"), "Done."), [searching])
        with pytest.raises(NeedsHuman) as waiting:
            session.vibe("Go.")
        session.allow(waiting.value.run.waiting[0].id)
        result = session.resume()
        assert [each.result for each in result.tool_calls] == ["found a", None]

    def test_a_replayed_run_counts_the_same(self, tmp_path: Path):
        for script in ([searches("a"), searches("b"), "Done."], []):
            with Session(
                Scripted(*script), [Toolset([search]).limited(max_calls=1)], store=Store(tmp_path / "a.db"), id="x"
            ) as session:
                assert [each.error is None for each in session.vibe("Go.").tool_calls] == [True, False]


class TestFailures:
    def test_too_many_failures_in_a_row_end_the_run(self):
        model = Scripted(searches("bad a"), searches("bad b"), "Never.")
        session = Session(model, [Toolset([search]).limited(max_failures=2)])
        with pytest.raises(LimitReached) as ended:
            session.vibe("Go.")
        assert (
            str(ended.value) == "the limit of 2 failures in a row of `search` is reached; the last: no index for bad b"
        )
        exceeded = ended.value.exceeded
        assert exceeded is not None
        assert (exceeded.name, exceeded.limit, exceeded.used) == ("failures", 2, 2)
        assert [each.error for each in ended.value.run.tool_calls] == ["no index for bad a", "no index for bad b"]
        # The conversation can go on, and the next run counts anew.
        assert session.resume() == "Never."

    def test_a_success_begins_anew(self):
        model = Scripted(searches("bad a"), searches("b"), searches("bad c"), "Done.")
        assert Session(model, [Toolset([search]).limited(max_failures=2)]).vibe("Go.") == "Done."

    def test_another_tool_does_not(self):
        model = Scripted(searches("bad a"), calls("read", path="x"), searches("bad c"), "Done.")
        with pytest.raises(LimitReached, match="2 failures in a row of `search`"):
            Session(model, [Toolset([search]).limited(max_failures=2), read]).vibe("Go.")

    def test_arguments_that_do_not_fit_are_failures(self):
        with pytest.raises(LimitReached, match=r"1 failures in a row of `search`.*`query` is missing"):
            Session(Scripted(calls("search", text="a"), "Done."), [Toolset([search]).limited(max_failures=1)]).vibe(
                "Go."
            )

    def test_calls_that_are_not_run_are_none(self):
        model = Scripted(searches("bad a"), searches("bad b"), searches("bad c"), "Done.")
        assert Session(model, [Toolset([search]).limited(max_calls=1, max_failures=2)]).vibe("Go.") == "Done."

    def test_without_a_limit_failures_are_only_told(self):
        model = Scripted(*[searches(f"bad {number}") for number in range(9)], "Done.")
        assert Session(model, [search]).vibe("Go.") == "Done."


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "3"])
def test_a_limit_is_a_number_of_calls(value: Any):
    for make in (
        lambda: tool(max_calls=value)(search),
        lambda: tool(max_failures=value)(search),
        lambda: Toolset([search]).limited(max_calls=value),
    ):
        with pytest.raises(ToolDefinitionError, match="a whole number from 1"):
            make()


def test_a_limited_tool_is_still_the_tool():
    (one,) = Toolset([tool(timeout=3)(search)]).limited(max_calls=1)
    assert isinstance(one, Tool)
    assert (one.timeout, one.max_calls, one.max_failures, one("x")) == (3, 1, None, "found x")
