"""The store in PostgreSQL: chats that many machines share."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from antiphon import Store
from antiphon.conversation import Conversation
from antiphon.durable import Journal
from antiphon.errors import NotSavedError, StoreError
from antiphon.wire import Usage


@pytest.fixture
def store(postgres: str) -> Iterator[Store]:
    with Store(postgres) as store:
        yield store


def talk(*texts: str) -> Conversation:
    conversation = Conversation("Be brief.")
    for number, text in enumerate(texts):
        (conversation.add_assistant if number % 2 else conversation.add_user)(text)
    return conversation


def save(store: Store, conversation: Conversation, id: str | None = None) -> str:
    return store.save(
        conversation,
        id=id,
        model="openai/gpt",
        command="chat",
        usage=Usage(10, 5),
        cost=0.5,
        tools={"shell": True, "web": None},
    )


def test_a_conversation_is_saved_loaded_and_continued(store: Store, postgres: str) -> None:
    conversation = talk("hello", "hi")
    conversation.keep("result-1", "the whole \0 " + "x" * 20_000)
    id = save(store, conversation)
    with Store(postgres) as other:
        loaded = other.load(id[:6])
        assert loaded == conversation
        loaded.add_user("more")
        assert save(other, loaded, id) == id
    assert store.load("last") == loaded
    entry = store.find(id)
    assert (entry.turns, entry.models, entry.input_tokens, entry.cost) == (3, ("openai/gpt",), 20, 1.0)
    assert (entry.title, entry.tools) == ("hello", {"shell": True})


def test_a_conversation_that_another_machine_changed_becomes_a_fork(store: Store, postgres: str) -> None:
    id = save(store, talk("hello", "hi"))
    with Store(postgres) as other:
        here, there = store.load(id), other.load(id)
        here.add_user("from here")
        there.add_user("from there")
        assert save(store, here, id) == id
        forked = save(other, there, id)
    assert forked != id
    assert (store.find(forked).parent, store.find(forked).parent_turns) == (id, 2)
    assert (store.load(id), store.load(forked)) == (here, there)


@pytest.mark.parametrize(
    "query",
    [
        "deployment",
        "DEPLOY",
        "how does",
        '"how does"',
        "resume",
        "C++",
        "100%",
        "数据",
        "🎉",
        "deployment slow",
        "b.toml",
    ],
)
def test_words_are_found_wherever_they_were_said(store: Store, query: str) -> None:
    wanted = save(store, talk("How does the Deployment résumé work? 🎉", "slow: C++, 100%, 数据库, b.toml"))
    save(store, talk("something else"))
    (found,) = store.list(query=query)
    assert found.id == wanted
    assert found.excerpt is not None
    assert found.excerpt.found


@pytest.mark.parametrize("query", ["nothere", "deployment nothere", '"does how"', "eployment"])
def test_what_was_not_said_is_not_found(store: Store, query: str) -> None:
    save(store, talk("How does the Deployment work?"))
    assert list(store.list(query=query)) == []


def test_lists_are_narrowed_and_paged(store: Store) -> None:
    ids = [save(store, talk(f"number {number}")) for number in range(5)]
    assert [each.id for each in store.list(2)] == ids[:2:-1]
    assert [each.id for each in store.list(2, after=ids[3])] == [ids[2], ids[1]]
    assert len(store.list(model="GPT")) == 5
    assert list(store.list(model="claude")) == []


def test_a_fork_shares_turns_and_removal_keeps_those_of_others(store: Store) -> None:
    id = save(store, talk("one", "two", "three"))
    fork = store.fork(id, 2)
    assert store.database.query("SELECT count(*) FROM turns", ()) == [(3,)]
    store.remove(id)
    assert store.load(fork) == talk("one", "two")
    assert store.database.query("SELECT count(*) FROM turns", ()) == [(2,)]
    with pytest.raises(NotSavedError, match="there is no session"):
        store.load(id)


def test_a_long_text_and_a_text_of_one_word_can_be_saved(store: Store) -> None:
    conversation = talk(" ".join(f"word{number}" for number in range(400_000)), "x" * 3_000_000)
    assert store.load(save(store, conversation)) == conversation


def test_conversations_are_no_runs_and_runs_are_no_conversations(store: Store, postgres: str) -> None:
    id = save(store, talk("hello"))
    journal = Journal(postgres)
    with journal.run("nightly"):
        assert journal.step(len, "abc") == 3
    assert [each.id for each in journal.list_runs()] == ["nightly"]
    assert [each.id for each in store.list()] == [id]
    with pytest.raises(NotSavedError):
        journal.find(id)
    with pytest.raises(NotSavedError):
        journal.resume(id)


def test_threads_share_a_store(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: save(store, talk(f"number {number}")), range(40)))
    assert len(set(ids)) == 40
    assert {store.load(id).turns[0].text for id in ids} == {f"number {number}" for number in range(40)}


def test_a_server_that_is_not_there_is_told_at_the_start() -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        Store("postgresql://nobody@127.0.0.1:1/none").check_writable()
