"""Compaction: whole turns, whole pairs, nothing lost on the way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import AssistantTurn, Conversation, Image, Text, ToolCall, ToolResult, UserTurn
from antiphon.errors import CompactionError
from tests.strategies import conversations


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


def test_a_summary_that_is_itself_too_long_is_refused():
    with pytest.raises(CompactionError, match=r"with its summary the conversation needs about \d+ tokens"):
        long_conversation(6, 4000).compact(3200, summary="x" * 9000)


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


def test_a_plan_can_be_applied_with_a_summary_made_elsewhere():
    conversation = long_conversation(6, 4000)
    plan = conversation.compaction(3200)
    assert plan.before > 3200 >= plan.after
    assert [len(plan.first), len(plan.dropped)] == [1, 3]
    assert "Summary: made elsewhere" in plan.apply("made elsewhere")[0].text


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
