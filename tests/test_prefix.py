"""Each request begins with the whole request before it: sessions of every kind, and the programs of the examples."""

from __future__ import annotations

import pytest

from tests.prefix import cases, prefix

ASKS = 20
#: Where a tool that is added cannot be told behind the messages, it changes the beginning, once.
CANNOT_ADD_TOOLS = ("openai-chat", "google")


@pytest.mark.parametrize("api", cases.MODELS)
@pytest.mark.parametrize("scenario", cases.SCENARIOS)
def test_no_request_of_a_session_changes_what_was_sent(scenario: str, api: str):
    watch = cases.run(scenario, api, ASKS)
    assert len(watch.asked) >= ASKS
    if scenario == "added tool" and api in CANNOT_ADD_TOOLS:
        assert [text.split(":")[0] for text in watch.rewritten()] == [f"request {ASKS + 1}, piece 1"]
        return
    assert watch.rewritten() == []
    assert watch.factor <= 1.01


@pytest.mark.parametrize("example", cases.examples(), ids=lambda example: example[0])
def test_no_request_of_an_example_changes_what_was_sent(example: tuple):
    watch = example[1]()
    assert watch.asked
    assert watch.rewritten() == []
    assert watch.factor <= 1.01


def test_programs_of_the_documentation_change_nothing_that_was_sent():
    watches = {name: program() for name, program in cases.docs()}
    assert sum(len(watch.asked) for watch in watches.values()) > 50
    assert {name: found for name, watch in watches.items() if (found := watch.rewritten())} == {}


def test_a_prompt_that_was_changed_is_seen():
    old, new = ["[tools]", "system", "", "one", "two"], ["[tools]", "system", "", "one", "2", "three"]
    watch = prefix.Watch([prefix.Asked(old, None, 0), prefix.Asked(new, 0, 0)])
    assert watch.breaks() == watch.rewritten() == ["request 2, piece 5: two → 2"]
    assert watch.factor > 1.01
