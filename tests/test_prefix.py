"""Each request begins with the whole request before it: sessions of every kind, and the programs of the examples."""

from __future__ import annotations

import pytest

from antiphon import Conversation, Session
from antiphon.errors import PrefixBroken, RequestRejected
from antiphon.fakes import Fail, Fake
from antiphon.session import PrefixChanged
from tests.prefix import cases, prefix
from tests.prefix import pieces as prefix_pieces

ASKS = 20
#: Where a tool that is added cannot be told behind the messages, it changes the beginning, once.
CANNOT_ADD_TOOLS = ("openai-chat", "google", "google-interactions")


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


@pytest.mark.parametrize("api", cases.MODELS)
@pytest.mark.parametrize("turns", [0, 2])
def test_a_text_that_was_not_answered_changes_in_one_api_alone(api: str, turns: int):
    with Fake([*["Yes."] * turns, Fail(400, "no"), Fail(400, "no"), "Two.", "Three."]) as fake:
        session = Session(fake.connect(cases.MODELS[api]))
        for _ in range(turns):
            session.vibe("Zero?")
        for text in ("One?", "Two?"):
            with pytest.raises(RequestRejected):
                session.vibe(text)
        with session.stream("Three?") as events:
            told = [event.body for event in events if isinstance(event.body, PrefixChanged)]
        with session.stream("Four?") as events:
            assert not [event for event in events if isinstance(event.body, PrefixChanged)]
    *_, first, second, third, fourth = map(prefix_pieces, fake.requests)
    assert fourth[: len(third)] == third
    if api != "openai-chat":
        assert told == []
        assert second[: len(first)] == first
        assert third[: len(second)] == second
        return
    # Its user messages are one text: a second text is joined to the first, and told.
    assert second[-1] == first[-1].replace("One?", r"One?\n\nTwo?")
    ((at, turn, tokens),) = [(change.at, change.turn, change.tokens) for change in told]
    assert (at, turn) == ("messages", 2 * turns + 1)
    assert 0 < tokens < 50


def test_a_text_that_was_not_answered_and_is_joined_can_be_an_error():
    with Fake([Fail(400, "no"), "Two."]) as fake:
        model = fake.connect("openai-chat/gpt-5.2", prefix="error")
        conversation = Conversation()
        conversation.add_user("One?")
        with pytest.raises(RequestRejected):
            model.chat(conversation)
        copy = conversation.fork()
        conversation.add_user("Two?")
        with pytest.raises(PrefixBroken, match="text of turn 1 was sent without an answer, and is now joined"):
            model.chat(conversation)
        assert model.chat(copy).text == "Two.", "the same text again is no change"
        assert len(fake.requests) == 2
