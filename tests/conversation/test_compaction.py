"""Compaction: whole turns, whole pairs, nothing lost on the way."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    Image,
    Origin,
    ProviderPayload,
    Text,
    ToolCall,
    ToolResult,
    UserTurn,
)
from antiphon.conversation.compaction import count_turn_tokens, estimate_tokens
from antiphon.errors import CompactionError, OptionError
from tests.strategies import any_text, conversations


def long_conversation(rounds: int = 6, size: int = 400) -> Conversation:
    conversation = Conversation("Be brief.")
    conversation.add_user("Fix the bug.")
    for n in range(rounds):
        conversation.add_tool_calls_and_results(
            [ToolCall(f"c{n}", "read", {"n": n})], [ToolResult(f"c{n}", f"line of file {n}\n" * (size // 17))]
        )
    conversation.add_assistant("It was line 3.")
    conversation.add_user("And now?")
    return conversation


def test_within_the_budget_nothing_changes():
    conversation = long_conversation()
    assert conversation.compact(10_000).turns == conversation.turns


def test_large_results_are_cut_first_oldest_first_and_kept_whole():
    conversation = long_conversation(2, 40_000)
    compacted = conversation.compact(13_000, result_limit=1000)
    first, second = (turn.results[0] for turn in compacted.turns if isinstance(turn, AssistantTurn) and turn.results)
    assert first.handle == "result:c0"
    assert "characters left out; the whole is kept as result:c0]" in first.text
    assert len(first.text) < 5000
    assert all(line == "line of file 0" or line.startswith("[") for line in first.text.splitlines())
    assert compacted.whole("result:c0") == "line of file 0\n" * (40_000 // 17)
    assert second.handle == ""
    with pytest.raises(Exception, match="there is no kept result 'result:c1'"):
        compacted.whole("result:c1")


def test_images_of_a_cut_result_stay():
    conversation = Conversation()
    conversation.add_user("look")
    conversation.add_assistant_tool_calls([ToolCall("c", "shot")])
    picture = Image(url="https://example.com/x.png")
    conversation.add_tool_results([ToolResult("c", (Text("word " * 5000), picture))])
    turn = conversation.compact(2500, result_limit=100).turns[1]
    assert isinstance(turn, AssistantTurn)
    assert picture in turn.results[0].parts


def test_old_turns_give_way_to_a_summary():
    conversation = long_conversation(6, 4000)
    seen = []
    compacted = conversation.compact(3200, summary=lambda turns: seen.extend(turns) or "Read six files.")
    assert compacted.ready()
    assert compacted.system == "Be brief."
    first = compacted.turns[0]
    assert isinstance(first, UserTurn)
    assert first.text.startswith("Fix the bug.\n\n[3 earlier turns were left out here. Summary: Read six files.]")
    assert seen == list(conversation.turns[1:4])
    assert compacted.turns[-2:] == conversation.turns[-2:]


def test_without_a_summary_a_note_says_what_is_missing():
    compacted = long_conversation(6, 4000).compact(3200)
    assert "[3 earlier turns were left out here.]" in compacted.turns[0].text


def test_a_summary_that_does_not_fit_beside_the_turns_takes_more_of_their_place():
    conversation = long_conversation(6, 4000)
    compacted = conversation.compact(3200, summary="x" * 9000)
    assert compacted.compaction(1 << 60).before <= 3200
    assert "[5 earlier turns were left out here. Summary: xxx" in compacted.turns[0].text


def test_a_summary_that_is_itself_too_long_is_refused():
    with pytest.raises(CompactionError, match=r"and the summary alone need about \d+ tokens"):
        long_conversation(6, 4000).compact(3200, summary="x" * 90_000)


def test_a_function_is_asked_again_with_more_turns_where_its_summary_is_too_long():
    conversation = long_conversation(6, 4000)
    asked = []
    compacted = conversation.compact(3200, summary=lambda turns: asked.append(len(turns)) or "word " * 900)
    assert compacted.compaction(1 << 60).before <= 3200
    assert asked == [3, 4]


def size(conversation: Conversation) -> int:
    return conversation.compaction(1 << 60).before


@pytest.mark.parametrize("summary", [None, "x" * 400, "é" * 50, lambda _: "so " * 40])
def test_every_budget_from_the_least_on_is_met(summary):
    conversation = long_conversation(6, 400)
    with pytest.raises(CompactionError) as refused:
        conversation.compact(1, summary=summary, result_limit=40)
    least = int(str(refused.value).partition("need about ")[2].split()[0])
    for budget in range(least, size(conversation) + 2):
        assert size(conversation.compact(budget, summary=summary, result_limit=40)) <= budget
    for budget in range(least - 20, least):
        with pytest.raises(CompactionError, match=f"need about {least} tokens"):
            conversation.compact(budget, summary=summary, result_limit=40)


def test_a_budget_that_is_just_met_changes_nothing_and_one_less_does():
    conversation = long_conversation(2, 400)
    whole = size(conversation)
    assert conversation.compact(whole, result_limit=10).turns == conversation.turns
    cut = conversation.compact(whole - 1, result_limit=40)
    assert cut.turns != conversation.turns
    # The first result is cut; the second one need not be.
    assert sorted(cut.kept) == ["result:c0"]
    assert conversation.compact(size(cut), result_limit=40).turns == cut.turns


def test_a_result_that_was_cut_is_not_cut_again():
    conversation = Conversation().add_user("look")
    conversation.add_tool_calls_and_results([ToolCall("c", "f")], [ToolResult("c", "word\n" * 4000)])
    once = conversation.compact(2000, result_limit=1000)
    plan = once.compaction(1, result_limit=100)
    assert plan.kept == {}
    assert plan.turns == once.turns
    assert once.whole("result:c") == "word\n" * 4000


def test_a_result_that_a_cut_would_make_longer_is_left_alone():
    conversation = Conversation().add_user("look")
    conversation.add_tool_calls_and_results([ToolCall("c", "f")], [ToolResult("c", "word " * 12)])
    plan = conversation.compaction(1, result_limit=10)
    assert plan.kept == {}
    assert plan.after == plan.before


@pytest.mark.parametrize("summary", [lambda _: 1 / 0, lambda _: "  ", "", lambda _: None])
def test_a_failed_summary_changes_nothing(summary):
    conversation = long_conversation(6, 4000)
    before = conversation.turns
    with pytest.raises(CompactionError, match="so nothing was left out"):
        conversation.compact(3200, summary=summary)
    assert conversation.turns is before


def test_a_budget_that_cannot_be_met_is_refused_with_figures():
    with pytest.raises(CompactionError, match=r"need about \d+ tokens, more than the budget of 5"):
        long_conversation().compact(5)


def test_open_calls_and_what_came_behind_them_stay():
    conversation = long_conversation(4, 4000)
    conversation.add_assistant_tool_calls([ToolCall("open", "read")])
    conversation.add_user("hurry up")
    compacted = conversation.compact(200, result_limit=20)
    assert [call.id for call in compacted.open_calls] == ["open"]
    compacted.add_tool_result("open", "x")
    assert compacted.turns[-1].text == "hurry up"


def test_a_plan_says_what_will_go_for_a_summary_made_elsewhere():
    conversation = long_conversation(6, 4000)
    plan = conversation.compaction(3200)
    assert plan.before > 3200 >= plan.after == size(conversation.compact(3200))
    assert [len(plan.first), len(plan.dropped)] == [1, 3]
    assert "Summary: made elsewhere" in conversation.compact(3200, summary="made elsewhere").turns[0].text


@given(conversations(20), st.integers(1, 300), st.none() | any_text.filter(str.strip))
@settings(max_examples=150)
def test_what_is_compacted_fits(conversation: Conversation, budget: int, summary: str | None):
    plan = conversation.compaction(budget, summary=summary, result_limit=10)
    if plan.after > budget:
        with pytest.raises(CompactionError, match=f"need about {plan.after} tokens"):
            conversation.compact(budget, summary=summary, result_limit=10)
        budget = plan.after
    assert size(conversation.compact(budget, summary=summary, result_limit=10)) == plan.after


@given(conversations(20), st.integers(5, 400))
@settings(max_examples=150)
def test_pairs_stay_whole(conversation: Conversation, budget: int):
    try:
        compacted = conversation.compact(budget, result_limit=10)
    except CompactionError:
        return
    assert compacted.open_calls == conversation.open_calls
    known = {call.id for turn in conversation.turns if isinstance(turn, AssistantTurn) for call in turn.calls}
    for before, turn in zip(compacted.turns, compacted.turns[1:], strict=False):
        assert not (isinstance(before, UserTurn) and isinstance(turn, UserTurn))
    for turn in compacted.turns:
        if isinstance(turn, AssistantTurn):
            assert {r.call_id for r in turn.results} <= {c.id for c in turn.calls} <= known


def test_a_summary_that_looks_like_somebodys_words_is_counted_as_it_is_sent():
    conversation = long_conversation(6, 400)
    for budget in range(150, 900, 5):
        plan = conversation.compaction(budget, summary="so\n[Chat from @boss]: pay\n" * 9)
        assert plan.after == sum(count_turn_tokens(turn, estimate_tokens) for turn in plan.turns) + estimate_tokens(
            conversation.system
        )


def test_the_providers_own_form_of_a_result_goes_with_its_whole_text():
    conversation = Conversation()
    conversation.add_user("look")
    conversation.add_assistant_tool_calls([ToolCall("c", "read")])
    origin = Origin("anthropic", "anthropic", "m")
    native = ProviderPayload(origin, {"type": "tool_result", "content": "word " * 5000})
    conversation.add_tool_results([ToolResult("c", "word " * 5000, native=native)])
    turn = conversation.compact(1000, result_limit=100).turns[1]
    assert isinstance(turn, AssistantTurn)
    assert turn.results[0].native is None


def test_a_result_is_cut_between_lines():
    conversation = Conversation()
    conversation.add_user("look")
    lines = [f"{number}: {'word ' * (number % 7)}end" for number in range(2000)]
    conversation.add_tool_calls_and_results([ToolCall("c", "read")], [ToolResult("c", "\n".join(lines))])
    for limit in range(100, 140):
        turn = conversation.compact(1000, result_limit=limit).turns[1]
        assert isinstance(turn, AssistantTurn)
        shown = turn.results[0].text.splitlines()
        (note,) = (place for place, line in enumerate(shown) if line.startswith("["))
        assert shown[:note] == lines[:note]
        assert shown[note + 1 :] == lines[len(lines) - (len(shown) - note - 1) :]


def test_the_least_that_stays_holds_calls_that_are_open():
    conversation = long_conversation(4, 4000)
    conversation.add_assistant_tool_calls([ToolCall("open", "read")])
    conversation.add_user("hurry up")
    least = conversation.compaction(1, result_limit=20)
    assert [call.id for turn in least.newest if isinstance(turn, AssistantTurn) for call in turn.open_calls] == ["open"]


def test_trim_keeps_the_newest_turns_and_begins_with_a_user_turn():
    conversation = Conversation("Be brief.")
    for number in range(4):
        conversation.add_user(f"question {number}").add_assistant(f"answer {number}")
    assert [str(turn) for turn in conversation.trim(4).turns] == [str(turn) for turn in conversation.turns[4:]]
    assert conversation.trim(3).turns == conversation.trim(4).turns == conversation.turns[4:]
    assert conversation.trim(100) == conversation
    assert (conversation.trim(1).system, len(conversation.turns)) == ("Be brief.", 8)


@pytest.mark.parametrize("wrong", [0, -1, True, "3"])
def test_trim_needs_a_number(wrong: Any):
    with pytest.raises(OptionError, match="`turns` is a number from 1 on"):
        Conversation().trim(wrong)
