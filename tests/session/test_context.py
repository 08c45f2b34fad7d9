"""Long conversations: made shorter before they are too long, or when a provider says so; pairs stay whole."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    Text,
    ToolCall,
    ToolResult,
    UserTurn,
    estimate_tokens,
)
from antiphon.conversation.compaction import count_turn_tokens, estimate_conversation_tokens
from antiphon.errors import ContextOverflow
from antiphon.session import Compacted, Context, RequestStarted, Session
from antiphon.session.context_window import SUMMARY_PROMPT
from antiphon.wire import Options, Reply, Usage, rules, wire
from tests.session.scripted import Scripted, calls, within
from tests.strategies import TARGETS


@dataclass
class Known:
    context: int | None


def size(conversation: Conversation) -> int:
    """Tokens as this provider counts them: otherwise than we guess."""
    return len(json.dumps([str(turn) for turn in conversation.turns])) // 6


class Small(Scripted):
    """A model with little room, which says so; what it is asked fits every wire."""

    def __init__(self, *script: Any, room: int = 2_000, tells: bool = True, counts: bool = True) -> None:
        super().__init__(*script, price=0.5)
        self.room, self.counts = room, counts
        self.facts = Known(room if tells else None)
        self.rejected = 0
        self.summaries: list[str] = []
        self.largest = 0

    def _reply(self, conversation: Conversation) -> Reply:
        for api, target in TARGETS.items():
            body = json.loads(wire(api).encode(conversation, target, Options()).body)
            assert rules.check(body, api, target.model) == []
        tokens = size(conversation)
        if tokens > self.room:
            self.rejected += 1
            error = ContextOverflow("too long", status=400)
            error.tokens, error.limit = tokens, self.room
            raise error
        self.largest = max(self.largest, tokens)
        usage = Usage(tokens, 5) if self.counts else Usage()
        if conversation.system.startswith("What follows is the older part"):
            self.summaries.append(conversation.turns[-1].text)
            reply = Reply((Text(f"SUMMARY {len(self.summaries)}"),), "end", usage=usage)
            conversation.add_reply(reply.parts)
            return reply
        return replace(super()._reply(conversation), usage=usage, window=None)


def look(n: int) -> str:
    """Much to read."""
    return f"page {n}: " + "some words " * 60


def looking(count: int, *end: Any) -> list[Any]:
    return [calls("look", n=n) for n in range(count)] + list(end or ["Done."])


def whole(conversation: Conversation) -> str:
    return "\n".join(turn.text for turn in conversation.turns)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"counts": False}, {"tells": False}, {"tells": False, "counts": False}],
    ids=["by the provider's count", "by a guess", "by overflow", "by overflow, uncounted"],
)
def test_a_long_loop_goes_on(settings: dict[str, bool], stream: bool):
    model = Small(*looking(40), **settings)
    here = Session(model, [look])
    run = here.start("Read all of it.") if stream else None
    result = within(60, run.wait) if run else here.vibe("Read all of it.")
    assert result == "Done."
    assert len(result.tool_calls) == 40
    assert model.summaries
    assert here.conversation.turns[0].text.startswith("Read all of it.")
    assert f"SUMMARY {len(model.summaries)}" in whole(here.conversation)
    if settings.get("tells", True) and settings.get("counts", True):
        # Known beforehand, nothing is refused.
        assert model.rejected == 0
    else:
        assert model.largest <= model.room


def test_what_a_turn_remembers_does_not_grow_with_each_shortening():
    model = Small(*looking(40))
    here = Session(model, [look])
    here.vibe("Read all of it.")
    assert len(model.summaries) > 1
    sizes = [[key for key in turn.derived.snapshot() if key[0] == "tokens"] for turn in here.conversation.turns]
    assert all(len(each) <= 1 for each in sizes), sizes


def test_the_summary_is_asked_for_told_and_counted():
    model = Small(*looking(20))
    here = Session(model, [look])
    run = here.start("Go.")
    result = within(60, run.wait)
    events = [event.body for event in run.events()]
    compacted = [each for each in events if isinstance(each, Compacted)]
    assert len(compacted) == len(model.summaries) > 0
    assert sum(isinstance(each, RequestStarted) for each in events) == 21 + len(model.summaries)
    assert result.run.cost == 0.5 * (21 + len(model.summaries))
    assert "page 0" in model.summaries[0]
    assert all(each.dropped and isinstance(each.before, Conversation) for each in compacted)
    assert "page 1:" in str(compacted[0].before.turns)


def test_without_a_summary_nothing_is_asked():
    model = Small(*looking(20))
    here = Session(model, [look], context=Context(summarize=False))
    assert here.vibe("Go.") == "Done."
    assert model.summaries == []
    assert "earlier turns were left out here" in whole(here.conversation)


def test_a_summary_that_fails_does_not_stop_the_work():
    class NoSummary(Small):
        def _reply(self, conversation: Conversation) -> Reply:
            if conversation.system.startswith("What follows"):
                raise ContextOverflow("too long", status=400)
            return super()._reply(conversation)

    assert Session(NoSummary(*looking(20)), [look]).vibe("Go.") == "Done."


def test_a_summary_that_is_too_long_is_left_out():
    class Verbose(Small):
        def _reply(self, conversation: Conversation) -> Reply:
            reply = super()._reply(conversation)
            is_summary = conversation.system.startswith("What follows")
            return replace(reply, parts=(Text("words " * 9_000),)) if is_summary else reply

    here = Session(Verbose(*looking(20)), [look])
    assert here.vibe("Go.") == "Done."
    assert "words words" not in here.conversation.turns[0].text


def test_a_typed_run_in_the_middle_of_it_keeps_its_form():
    end = ['{"value": "forty"}', '{"value": 40}']
    model = Small("Hello.", *looking(30, *end))
    here = Session(model, [look])
    here.chat("Hi.")
    assert here.vibe("How many?", returns=int).value == 40
    assert model.summaries
    assert str(here.conversation.turns).count("JSON Schema") == 1
    assert "'value' expected number" in str(here.conversation.turns[-2]).replace("\\'", "'")
    assert here.conversation.turns[-1].text == '{"value": 40}'
    assert [spec.name for spec in here.conversation.tools] == ["look", "read_result"]
    model.script.append("Fine.")
    assert here.chat("Thanks.") == "Fine."


def test_one_very_long_result_is_cut_and_can_be_read_on():
    def dump() -> str:
        """All of it."""
        return "\n".join(f"line {n}" for n in range(4_000))

    def read_on(conversation: Conversation) -> Any:
        (handle,) = conversation.kept
        return calls("read_result", handle=handle, start=0, length=40)

    class Reads(Small):
        def _reply(self, conversation: Conversation) -> Reply:
            if callable(self.script[0]):
                self.script[0] = self.script[0](conversation)
            return super()._reply(conversation)

    model = Reads(calls("dump"), calls("look", n=1), read_on, "Done.", room=6_000)
    result = Session(model, [dump, look]).vibe("Go.")
    assert result == "Done."
    assert "line 0" in str(result.tool_calls[2].result)


def test_overflow_is_tried_again_once():
    class Full(Small):
        def _reply(self, conversation: Conversation) -> Reply:
            self.rejected += 1
            if conversation.system.startswith("What follows"):
                return super()._reply(conversation)
            raise ContextOverflow("too long", status=400)

    model = Full(tells=False)
    here = Session(model, [look])
    for number in range(6):
        here.conversation.add_user(f"{number} " + "words " * 200).add_assistant("I see.")
    with pytest.raises(ContextOverflow) as caught:
        here.vibe("Go.")
    assert model.rejected == 3
    assert caught.value.run.conversation is here.conversation


def test_without_a_policy_it_is_raised():
    here = Session(Small(*looking(20)), [look], context=None)
    with pytest.raises(ContextOverflow) as caught:
        here.vibe("Go.")
    assert caught.value.run.tool_calls
    assert here.conversation.open_calls == ()


def test_what_cannot_be_made_shorter_is_raised():
    with pytest.raises(ContextOverflow):
        Session(Small("Done.")).vibe("words " * 5_000)


class TestBeforeRequest:
    def test_it_adds_and_cuts(self):
        seen: list[int] = []

        def before(conversation: Conversation) -> None:
            seen.append(len(conversation.turns))
            if len(conversation.turns) == 3:
                conversation.add_user("Hurry up.")

        model = Scripted(*[calls("look", n=n) for n in range(3)], "Done.")
        here = Session(model, [look], before_request=before)
        assert here.vibe("Go.") == "Done."
        assert len(seen) == 4
        assert "Hurry up." in whole(here.conversation)
        assert "Hurry up." in model.seen[2]

    def test_it_may_wait_and_make_it_shorter(self):
        async def before(conversation: Conversation) -> None:
            if len(conversation.turns) > 6:
                conversation.replace_with(conversation.compact(400))

        here = Session(Small(*looking(20)), [look], before_request=before, context=None)
        assert here.vibe("Go.") == "Done."
        assert len(here.conversation.turns) < 12

    def test_what_it_raises_ends_the_run(self):
        def before(_: Conversation) -> None:
            raise PermissionError("not now")

        here = Session(Scripted("Done."), before_request=before)
        with pytest.raises(PermissionError):
            here.vibe("Go.")
        assert isinstance(here.conversation.turns[-1], UserTurn)


def test_results_stay_with_their_calls():
    model = Small(*[calls(("look", {"n": n}), ("look", {"n": n + 100})) for n in range(20)], "Done.")
    here = Session(model, [look])
    assert here.vibe("Go.") == "Done."
    for turn in here.conversation.turns:
        if isinstance(turn, AssistantTurn):
            assert [each.id for each in turn.calls] == [each.call_id for each in turn.results]


def test_a_model_is_told_about_the_request_for_a_summary_too():
    class Told(Small):
        told: list[str]

        def announce(self, conversation: Conversation, **_: Any) -> None:
            self.told.append(conversation.system)
            conversation.announce()

    model = Told(*looking(20))
    model.told = []
    Session(model, [look]).vibe("Go.")
    assert model.summaries
    assert [system for system in model.told if system] == [SUMMARY_PROMPT] * len(model.summaries)


def test_a_result_counts_more_than_its_text():
    turn = AssistantTurn((ToolCall("a", "f"),), (ToolResult("a", "word"),))
    assert count_turn_tokens(turn, len) == len("f") + len("{}") + 8 + len("word") + 8


def test_the_results_since_the_last_count_are_estimated():
    talk = Conversation("Be brief.").add_user("Look.")
    talk.add_assistant_tool_calls([ToolCall("a", "look")])
    counted = talk.turns, 1_000
    talk.add_tool_result("a", "word " * 400)
    assert estimate_conversation_tokens(talk, counted) == 1_000 + estimate_tokens("word " * 400) + 8


def test_a_hook_that_shortens_keeps_the_form_of_the_answer():
    wanted = {f"number_{number}": int for number in range(40)}
    answer = json.dumps(dict.fromkeys(wanted, 1))
    model = Scripted(answer, answer)

    def keep_recent(conversation: Conversation) -> None:
        conversation.replace_with(conversation.trim(1))

    session = Session(model, before_request=keep_recent, strategy="prompted")
    session.do("How many?", returns=wanted)
    session.do("And now?", returns=wanted)
    assert len(session.conversation.turns) == 2
    # The second prompt referred to the form by its number.
    assert "form 1" in model.seen[1]
    assert "number_39" in model.seen[1]
