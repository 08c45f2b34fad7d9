"""Deferred tools: a search over many, at the cost of two, with the rules of the tools that are called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon import Agent, Conversation, Session, ToolCall
from antiphon.fakes import Fake, call
from antiphon.session import NeedsHuman, NeedsResults, PrefixChanged, hand_off
from antiphon.tools import Policy, Rule, Tool, Toolset, as_tool, tool
from tests.session.scripted import Scripted, calls


def make_many(count: int) -> list[Tool]:
    def make(number: int) -> Tool:
        def act(value: int = 0) -> str:
            return f"{number}: {value}"

        kinds = ("invoice", "customer", "shipment", "employee")
        about = f"Update the {kinds[number % 4]} of region {number}."
        return as_tool(act, name=f"update_{kinds[number % 4]}_{number}", description=about)

    return [make(number) for number in range(count)]


@tool(destructive=True)
def cancel_subscription(customer: str) -> str:
    """End the newsletter of a customer."""
    return f"{customer} gets no more mail"


@tool(external=True)
def print_label(address: str) -> str:
    """Print a label in the warehouse."""
    return address


def search(found: Toolset[Any], query: str, **more: Any) -> list[str]:
    (looking, _) = found
    return [each["name"] for each in looking(query=query, **more)]


def run(toolset: Toolset[Any], name: str, arguments: Any, **options: Any) -> Session:
    return Session(Scripted(calls("call_tool", name=name, arguments=arguments), "Done."), [toolset], **options)


class TestSearch:
    many = Toolset([*make_many(1000), cancel_subscription], "crm").deferred()

    def test_it_finds_one_of_many(self):
        assert search(self.many, "end a newsletter") == ["cancel_subscription"]
        assert search(self.many, "cancel subscriptions")[0] == "cancel_subscription"
        assert search(self.many, "shipment 702")[0] == "update_shipment_702"

    def test_as_many_as_wanted(self):
        assert len(search(self.many, "update invoice")) == 5
        assert len(search(self.many, "update invoice", limit=12)) == 12

    def test_nothing_fits(self):
        done = Session(Scripted(calls("search_tools", query="zebra"), "Done."), [self.many]).vibe("Go.")
        assert done.tool_calls[0].error == "no tool fits; search with other words"

    @pytest.mark.parametrize("model", ["anthropic/claude-sonnet-5-5", "openai/gpt-6-sol", "google/gemini-3-flash"])
    def test_a_request_costs_the_same_with_a_thousand_tools(self, model: str):
        sizes: list[int] = []
        for count in (10, 1000):
            toolset = Toolset(make_many(count)).deferred()
            wanted = call("call_tool", name="update_shipment_2", arguments={"value": 9})
            script = [call("search_tools", query="shipment 2", limit=1), wanted, "Done."]
            with Fake(script) as fake:
                session = Session(fake.connect(model), [toolset])
                with session.stream("Update shipment 2.") as events:
                    told = [each.body for each in events]
                assert events.result.tool_calls[1].result == "2: 9"
                sizes.append(max(len(json.dumps(each.body)) for each in fake.requests))
            assert not [each for each in told if isinstance(each, PrefixChanged)]
        assert sizes[1] - sizes[0] < 100


class TestCalls:
    def test_the_record_is_that_of_the_tool(self):
        (made,) = run(Toolset(make_many(9)).deferred(), "update_invoice_4", {"value": 3}).vibe("Go.").tool_calls
        assert (made.tool, made.args, made.result) == ("update_invoice_4", {"value": 3}, "4: 3")

    @pytest.mark.parametrize(
        ("name", "arguments", "why"),
        [
            ("update_nothing", {}, "there is no tool `update_nothing`; find one with `search_tools`"),
            ("update_invoice_4", {"value": "many"}, "the arguments of `update_invoice_4` do not fit"),
            ("update_invoice_4", [1], "the arguments of `call_tool` do not fit"),
        ],
    )
    def test_a_wrong_call_is_told_to_the_model(self, name: str, arguments: Any, why: str):
        (made,) = run(Toolset(make_many(9)).deferred(), name, arguments).vibe("Go.").tool_calls
        assert why in str(made.error)

    def test_approval_is_asked_for_the_tool_itself(self):
        session = run(Toolset([cancel_subscription]).deferred(), "cancel_subscription", {"customer": "Ada"})
        with pytest.raises(NeedsHuman) as stopped:
            session.vibe("Go.")
        (question,) = stopped.value.run.waiting
        assert question.text == 'May `cancel_subscription` run with {"customer":"Ada"}?'
        assert session.pending_questions[0].text == question.text
        session.allow(question.id, always=True)
        assert session.policy.decided[0].tool == "cancel_subscription"
        assert session.resume().tool_calls[0].result == "Ada gets no more mail"

    def test_rules_are_those_of_the_tool_itself(self):
        policy = Policy([Rule("deny", "cancel_*"), Rule("allow")])
        session = run(
            Toolset([cancel_subscription]).deferred(), "cancel_subscription", {"customer": "A"}, policy=policy
        )
        assert session.vibe("Go.").tool_calls[0].error == "not run: a policy forbids it"

    def test_results_may_come_from_outside(self):
        session = run(Toolset([print_label]).deferred(), "print_label", {"address": "Main St."})
        with pytest.raises(NeedsResults) as stopped:
            session.vibe("Go.")
        session.deliver(stopped.value.run.waiting[0].id, "label 7")
        assert session.resume() == "Done."

    def test_a_hand_off_is_refused(self):
        session = run(Toolset([hand_off(Agent(Scripted()), name="pass_on")]).deferred(), "pass_on", {})
        assert session.vibe("Go.").tool_calls[0].error == "not run: a hand-off cannot be deferred"

    def test_several_have_prefixes(self):
        toolsets = [Toolset(make_many(3)).deferred().prefixed(prefix) for prefix in ("a_", "b_")]
        script = calls("b_call_tool", name="update_customer_1", arguments={})
        assert Session(Scripted(script, "Done."), toolsets).vibe("Go.").tool_calls[0].result == "1: 0"

    def test_what_is_prepared_is_deferred_later(self):
        toolset = Toolset(make_many(9)).prepared(lambda _, tools: tools[:2]).deferred()
        (made,) = run(toolset, "update_invoice_4", {}).vibe("Go.").tool_calls
        assert "there is no tool `update_invoice_4`" in str(made.error)

    def test_an_empty_toolset_has_no_search(self):
        assert len(Toolset().deferred()) == 0

    def test_outside_of_a_session_nothing_runs(self):
        import asyncio

        from antiphon.tools import execute

        (_, calling) = Toolset([cancel_subscription]).deferred()
        wanted = {"name": "cancel_subscription", "arguments": {"customer": "Ada"}}
        done = asyncio.run(execute(calling, ToolCall("c", "call_tool", wanted), Conversation()))
        assert done.record.error == "`cancel_subscription` can be called in sessions only"
