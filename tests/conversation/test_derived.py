"""Values that packages keep with a conversation or a turn, and runs that reserve a conversation."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from antiphon import Conversation, Session
from antiphon.conversation import DerivedKey, DerivedValues, ToolCall
from antiphon.errors import NotReadyError
from antiphon.fakes import Fake

SIZE = DerivedKey[int]("size")
READ = DerivedKey[str]("read", forks=True)


def test_a_value_is_found_by_its_key_and_subject() -> None:
    values = DerivedValues()
    assert values.get(SIZE) is None
    assert values.set(SIZE, 3) == 3
    values[SIZE, "other"] = 4
    assert (values.get(SIZE), values.get((SIZE, "other")), values.get((SIZE, "third"))) == (3, 4, None)
    values.pop(SIZE, None)
    values.pop(SIZE, None)
    assert (values.get(SIZE), values.get((SIZE, "other"))) == (None, 4)


def test_keys_of_one_name_are_apart() -> None:
    values = DerivedValues()
    values.set(SIZE, 3)
    assert values.get(DerivedKey[int]("size")) is None


def test_a_fork_of_the_whole_takes_along_what_goes_with_forks() -> None:
    conversation = Conversation()
    conversation.add_user("Hi.")
    conversation.derived.set(SIZE, 3)
    conversation.derived.set(READ, "all")
    whole, part = conversation.fork(), conversation.fork(1)
    assert (whole.derived.get(SIZE), whole.derived.get(READ)) == (None, "all")
    assert part.derived.get(READ) is None
    whole.derived.set(READ, "more")
    assert conversation.derived.get(READ) == "all"


def test_a_copy_leaves_out_what_grows_where_both_go_on() -> None:
    grown = DerivedKey[list[int]]("grown", grows=True)
    values = DerivedValues()
    values.set(SIZE, 3)
    values.set(grown, [1])
    assert values.copy().get(grown) == [1]
    apart = values.copy(growing=False)
    assert (apart.get(SIZE), apart.get(grown)) == (3, None)


def test_a_conversation_is_claimed_by_one_owner_at_a_time() -> None:
    conversation, first, second = Conversation(), object(), object()
    conversation.claim(first)
    conversation.claim(first)
    with pytest.raises(NotReadyError, match="already in a run"):
        conversation.claim(second)
    conversation.fork().claim(second)
    conversation.release()
    conversation.claim(second)


def test_a_reply_in_the_copy_for_a_request_takes_no_id_of_the_conversation() -> None:
    conversation = Conversation().add_user("Go.")
    asked = conversation.fork_for_request()
    asked.add_reply([ToolCall("call_1", "look")])
    turn = conversation.add_reply([ToolCall("call_1", "look")])
    assert [call.id for call in turn.calls] == ["call_1"]


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_or_a_pickle_of_a_conversation_continues(
    antiphon_fake: Fake, clone: Callable[[Conversation], Conversation]
):
    model = antiphon_fake.connect("anthropic/claude-sonnet-5-5")
    antiphon_fake.play("Hello.", "Hello again.", "Still here.")
    session = Session(model, [weather])
    session.vibe("Hello?")
    made = clone(session.conversation)
    assert made == session.conversation
    assert not made.derived
    assert Session(model, [weather], conversation=made).vibe("And now?") == "Hello again."
    assert session.vibe("And you?") == "Still here."
    assert len(made.turns) == len(session.conversation.turns) == 4


def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"
