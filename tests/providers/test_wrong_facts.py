"""An answer that contradicts a fact about its model says so: once for a conversation, and nothing else changes."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from antiphon import Conversation, Session, facts
from antiphon.session import Event
from antiphon.terminal.live_view import LiveView
from antiphon.views.stream import event_json
from antiphon.wire import FactWrong
from tests.providers.scripted import Scripted
from tests.providers.test_continuation import CLAUDE, FACES, GPT, ask, asked, events, message, said

THINKING = {"type": "thinking", "thinking": "", "signature": "c2ln"}
FORM = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
LONG = "word " * 8000
FORMED = {"output_schema": FORM}


def thought(text: str = "Fine.", *told: dict[str, Any]) -> dict[str, Any]:
    return message(THINKING, said(text)) | ({"input_transformations": list(told)} if told else {})


def changed(kind: str = "thinking_mismatch_allowed", reason: str = "prefix_mismatch") -> dict[str, Any]:
    return {"type": kind, "path": "messages.1.content.0", "reason": reason}


def read(count: int, fresh: int = 100) -> dict[str, Any]:
    """Return an answer to a prompt of which so many tokens came from the cache."""
    usage = {"input_tokens": fresh, "cache_read_input_tokens": count, "output_tokens": 5}
    return message(said("1")) | {"usage": usage | {"cache_creation_input_tokens": 0}}


def talk(server: Scripted, model: str, *options: dict[str, Any], first: str = "Hi.") -> list[tuple[FactWrong, ...]]:
    conversation, found = Conversation(), list[tuple[FactWrong, ...]]()
    connected = server.connect(model)
    for number, more in enumerate(options):
        conversation.add_user(first if not number else f"And {number}?")
        found.append(connected.chat(conversation, **more).contradicted_facts)
    return found


class TestThinking:
    @pytest.mark.parametrize("face", FACES)
    def test_a_block_that_was_thought_to_fit_and_did_not(self, face: str):
        conversation, replies = asked(), [thought(), thought("Yes.", changed()), thought("No.", changed())]
        with Scripted(*(events(face, each) for each in replies)) as server:
            model = server.connect(CLAUDE)
            first, _ = ask(model, conversation, face)
            second, _ = ask(model, conversation.add_user("And?"), face)
            third, _ = ask(model, conversation.add_user("And?"), face)
        (wrong,) = second.contradicted_facts
        assert (wrong.model, wrong.fact, wrong.theirs) == (CLAUDE, "binds", "prefix_mismatch")
        assert wrong.ours == list(model.target.facts.binds or ())
        assert "messages.1.content.0" in wrong.said
        assert first.contradicted_facts == third.contradicted_facts == ()

    def test_a_model_that_was_thought_to_bind_nothing(self):
        with Scripted(thought(), thought("Yes.", changed("thinking_dropped"))) as server:
            _, (wrong,) = talk(server, "anthropic/claude-opus-5", {}, {})
        assert (wrong.fact, wrong.ours, wrong.theirs) == ("bound_thinking", "no", "drops")

    def test_blocks_that_the_server_was_asked_to_drop_are_expected(self):
        conversation = asked()
        with Scripted(thought(), thought("Yes.", changed("thinking_dropped"))) as server:
            model = server.connect(CLAUDE)
            ask(model, conversation)
            conversation.state.keep(model.target.origin, drop_block=True)
            reply, _ = ask(model, conversation.add_user("And?"))
        assert reply.contradicted_facts == ()

    def test_what_is_no_thinking_contradicts_nothing(self):
        told = [{"type": "image_downsized", "path": "messages.0.content.0"}, changed("thinking_dropped", "new_reason")]
        with Scripted(thought(), thought("Yes.", *told)) as server:
            assert talk(server, CLAUDE, {}, {}) == [(), ()]

    def test_a_related_model_that_does_not_read_it(self):
        with Scripted(thought(), thought("Yes.", changed("thinking_dropped", "model_mismatch"))) as server:
            _, (wrong,) = talk(server, CLAUDE, {}, {})
        assert (wrong.fact, wrong.theirs) == ("reads_thinking_of", "model_mismatch")
        assert "claude-sonnet-5-5" in wrong.ours


def removed(reason: str) -> dict[str, Any]:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Fine."}]}
    told = [{"id": "rs_1", "action": "removed", "reason": reason}] if reason else []
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {"id": "resp_1", "status": "completed", "output": [item], "usage": usage, "input_transformations": told}


class TestReasoningItems:
    def test_removed_behind_a_prompt_that_only_grew(self):
        with Scripted(removed(""), removed("prefix_mismatch"), removed("prefix_mismatch")) as server:
            _, (wrong,), third = talk(server, GPT, {}, {}, {})
        assert (wrong.fact, wrong.theirs, third) == ("binds", "prefix_mismatch", ())

    def test_removed_behind_a_change_is_expected_from_then_on(self):
        with Scripted(*map(removed, ["", "prefix_mismatch", "prefix_mismatch"])) as server:
            model, conversation = server.connect(GPT), asked()
            model.chat(conversation)
            conversation.undo(2)
            assert model.chat(conversation.add_user("Something else.")).contradicted_facts == ()
            assert model.chat(conversation.add_user("And?")).contradicted_facts == ()

    def test_removed_from_a_history_of_another_process_is_no_surprise(self):
        with Scripted(*map(removed, ["", "prefix_mismatch", "prefix_mismatch"])) as server:
            model, conversation = server.connect(GPT), asked()
            model.chat(conversation)
            loaded = conversation.add_user("And?").fork()
            loaded.derived.clear()
            assert model.chat(loaded).contradicted_facts == ()
            assert model.chat(loaded.add_user("And?")).contradicted_facts == ()

    def test_the_end_of_a_turn_and_another_organization(self):
        with Scripted(*map(removed, ["", "turn_boundary", "organization_mismatch"])) as server:
            _, second, (wrong,) = talk(server, GPT, {}, {}, {})
        assert (second, wrong.fact, wrong.theirs) == ((), "signature_scope", "organization_mismatch")


class TestCache:
    def test_a_predicted_miss_that_was_a_hit(self):
        with Scripted(read(0, 10_000), read(10_000), read(10_000)) as server:
            first, (wrong,), third = talk(server, CLAUDE, {}, FORMED, {}, first=LONG)
        assert (wrong.fact, wrong.ours, wrong.theirs) == ("in_prefix", "output_config.format", None)
        assert wrong.said == "`output_config.format` changed, and 10,000 of 10,000 tokens came from the cache"
        assert first == third == ()

    def test_a_predicted_miss_that_was_one(self):
        with Scripted(read(0, 10_000), read(0, 10_100)) as server:
            assert talk(server, CLAUDE, {}, FORMED, first=LONG) == [(), ()]

    def test_a_form_that_was_used_before_may_be_in_the_cache(self):
        with Scripted(read(0, 10_000), read(0, 10_100), read(10_000)) as server:
            assert talk(server, CLAUDE, {}, FORMED, {}, first=LONG) == [(), (), ()]

    def test_a_head_that_another_conversation_may_have_put_there(self):
        conversation = Conversation(LONG).add_user("Hi.")
        with Scripted(read(0, 10_000), read(10_000)) as server:
            model = server.connect(CLAUDE)
            model.chat(conversation)
            assert model.chat(conversation.add_user("And?"), output_schema=FORM).contradicted_facts == ()

    def test_less_than_the_minimum(self):
        least = facts.lookup_facts("anthropic", "claude-sonnet-5-5").cache.min
        assert least
        with Scripted(read(0), read(least - 1), read(least - 1)) as server:
            _, (wrong,), third = talk(server, CLAUDE, {}, {}, {})
        assert (wrong.fact, wrong.ours, wrong.theirs, third) == ("cache.min", least, least - 1, ())


def test_a_session_tells_it_as_an_event_which_views_show():
    with Scripted(thought(), thought("Yes.", changed())) as server:
        session, shown = Session(server.connect(CLAUDE)), StringIO()
        session.chat("Hi.")
        told: list[Event] = []
        with LiveView(Console(file=shown, width=200)) as view, session.stream("And?") as stream:
            for event in stream:
                view.show(event)
                told.append(event)
    (event,) = (each for each in told if isinstance(each.body, FactWrong))
    data = event_json(event)
    assert (data["type"], data["fact"], data["theirs"]) == ("fact_wrong", "binds", "prefix_mismatch")
    assert f"the fact `binds` about {CLAUDE} is wrong: " in shown.getvalue()
