"""State of providers belongs to the conversation, and to the origin that it came from."""

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import Conversation, Store
from antiphon.conversation import Origin, ProviderState
from antiphon.conversation.serialization import conversation_from_json, conversation_to_json
from antiphon.errors import FormatError

HERE, THERE = Origin("anthropic", "anthropic", "claude-a"), Origin("openai", "openai-responses", "gpt-b")


def stateful() -> Conversation:
    conversation = Conversation().add_user("Hi.")
    conversation.state.keep(HERE, container={"id": "c1"}, drop_block=True)
    return conversation


def test_values_belong_to_their_origin():
    state = stateful().state
    assert state.get(HERE, {}) == {"container": {"id": "c1"}, "drop_block": True}
    assert state.get(THERE, {}) == {}
    state.keep(HERE, container=None)
    assert state.get(HERE, {}) == {"drop_block": True}
    state.keep(HERE, drop_block=None)
    assert not state
    assert state == ProviderState()


def test_a_fork_has_a_copy_and_a_request_shares_it():
    conversation = stateful()
    fork, asked = conversation.fork(), conversation.fork_for_request()
    fork.state.keep(HERE, drop_block=None)
    asked.state.keep(HERE, container=None)
    assert conversation.state.get(HERE, {}) == {"drop_block": True}
    assert fork.state.get(HERE, {}) == {"container": {"id": "c1"}}


def test_it_survives_compaction_repair_and_undo():
    conversation = stateful()
    wanted = conversation.state.copy()
    for other in (conversation.compact(1000), conversation.repair()[0]):
        assert other.state == wanted
    conversation.undo()
    assert conversation.state == wanted
    taker = Conversation()
    taker.replace_with(conversation)
    assert taker.state == wanted


def test_it_is_saved_and_loaded(tmp_path: Path):
    conversation = stateful()
    conversation.save(tmp_path / "c.json")
    loaded = Conversation.load(tmp_path / "c.json")
    assert loaded.state == conversation.state
    assert loaded == conversation
    loaded.state.keep(HERE, drop_block=None)
    assert loaded != conversation


def test_files_without_it_load_and_none_is_written_where_there_is_none():
    data = conversation_to_json(Conversation().add_user("Hi."))
    assert "state" not in data
    assert not conversation_from_json(json.loads(json.dumps(data)))[0].state


@pytest.mark.parametrize("bad", [3, {}, ["x"], [{"origin": ["a"], "values": {}}], [{"origin": ["a", "b", "c"]}]])
def test_what_is_no_state_is_told(bad: Any):
    with pytest.raises(FormatError, match="`state`"):
        conversation_from_json(conversation_to_json(Conversation().add_user("Hi.")) | {"state": bad})


def test_the_store_keeps_it_where_nothing_else_changed(tmp_path: Path):
    store = Store(tmp_path / "store.db")
    conversation = stateful()
    id = store.save(conversation, model="m", command="chat")
    assert store.load(id).state == conversation.state
    conversation.state.keep(HERE, drop_block=None)
    store.save(conversation, id=id, model="m", command="chat")
    assert store.load(id).state == conversation.state
