"""Where sessions are saved: files that can be written, the memory of the process, and what both withhold."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store, tool
from antiphon.conversation import Conversation
from antiphon.durable import Journal
from antiphon.effects import AskPerson, EffectCall, HumanAnswer
from antiphon.errors import NotReadyError, StoreError
from antiphon.session import NeedsHuman, Session
from antiphon.storage.sqlite import SqliteDatabase
from tests.session.scripted import Scripted, calls

SECRET = "sk-live-0123456789abcdef"


def talk(*texts: str) -> Conversation:
    conversation = Conversation()
    for number, text in enumerate(texts):
        (conversation.add_assistant if number % 2 else conversation.add_user)(text)
    return conversation


def save(store: Store, conversation: Conversation, id: str | None = None) -> str:
    return store.save(conversation, id=id, model="m", command="chat")


# Memory


def test_a_store_and_a_journal_in_memory_are_one_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MY_API_KEY", SECRET)
    monkeypatch.delenv("ANTIPHON_DB", raising=False)
    store, journal = Store(":memory:"), Journal(":memory:")
    with journal.run("in-memory"):
        assert journal.step(str.upper, SECRET) == SECRET.upper()
    id = save(store, talk("hello", SECRET))
    with store, Store(":memory:") as other:
        assert other.load(id).turns[1].text == "[$MY_API_KEY]"
    assert store.load(id).turns[0].text == "hello", "closing keeps it"
    assert [each.id for each in Journal(":memory:").list_runs()] == ["in-memory"]
    assert journal.live_output is None
    with pytest.raises(NotReadyError, match="is not a file"):
        _ = journal.file
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []
    journal.remove("in-memory")
    store.remove(id)


def test_threads_share_a_store_in_memory() -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: save(Store(":memory:"), talk(f"number {number}")), range(40)))
    store = Store(":memory:")
    assert {store.load(id).turns[0].text for id in ids} == {f"number {number}" for number in range(40)}
    store.remove(*ids)


# At the start


def make_foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE things (x)")


def make_newer(path: Path) -> None:
    with Store(path) as store:
        save(store, talk("hi"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schema VALUES (999)")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("a text " * 100), "is not a database"),
        (make_foreign, "is a database of another program"),
        (make_newer, "newer release"),
        (lambda path: path.mkdir(), "cannot be opened"),
    ],
)
@pytest.mark.parametrize("kind", [Store, Journal])
def test_a_place_that_cannot_be_written_is_told_at_the_start(
    tmp_path: Path, make: Callable[[Path], Any], message: str, kind: type[Store] | type[Journal]
) -> None:
    path = tmp_path / "logs.db"
    make(path)
    with pytest.raises(StoreError, match=rf"logs\.db .*{message}.*--db"):
        kind(path).check_writable()


def test_a_file_in_a_place_where_none_can_be_made_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot be opened: its directory cannot be written"):
        Store(tmp_path / "file" / "logs.db").check_writable()


def test_a_read_only_file_is_told_at_the_start() -> None:
    # Other users can reach this directory.
    with tempfile.TemporaryDirectory() as name:
        place, root = Path(name), os.geteuid() == 0
        with Store(place / "logs.db") as store:
            save(store, talk("hi"))
        (place / "logs.db").chmod(0o444)
        place.chmod(0o555)
        # The superuser could write it.
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(StoreError, match="cannot be written: the file or its directory is read-only"):
                Store(place / "logs.db").check_writable()
        finally:
            if root:
                os.seteuid(0)
            place.chmod(0o755)


def test_a_place_that_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    Store(tmp_path / "new" / "logs.db").check_writable()
    assert list(tmp_path.iterdir()) == []
    with Store(tmp_path / "logs.db") as store:
        id = save(store, talk("hi"))
        store.check_writable()
        assert store.load(id) == talk("hi")


# Turns


def test_a_chat_and_its_requests_store_each_turn_once_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    path = tmp_path / "logs.db"
    store = Store(path)
    session = Session(Scripted(f"the key is {SECRET}", "bye"), journal=Journal(path))
    session.chat(f"Here is {SECRET}.")
    id = save(store, session.conversation)
    session.chat("Bye.")
    assert save(store, session.conversation, id) == id
    with closing(SqliteDatabase(path)) as database:
        # The requests sent one and three turns, and the transcript has four.
        assert database.query("SELECT count(*) FROM turns", ()) == [(4,)]
        assert database.query("SELECT count(*) FROM transcript", ()) == [(4,)]
    store.close()
    assert not [each for each in tmp_path.iterdir() if SECRET.encode() in each.read_bytes()]
    with Store(path) as again:
        loaded = again.load(id)
        assert [turn.text for turn in loaded.turns[:2]] == ["Here is [$MY_API_KEY].", "the key is [$MY_API_KEY]"]
        assert [each.id for each in again.list(query="MY_API_KEY")] == [id]
        loaded.add_user("And again?")
        assert save(again, loaded, id) == id
        assert again.load(id) == loaded


def test_a_fork_stores_no_turn_again(tmp_path: Path) -> None:
    with Store(tmp_path / "logs.db") as store:
        id = save(store, talk("one", "two", "three"))
        fork = store.load(store.fork(id, 2))
        fork.add_user("other")
        other = save(store, fork, store.list()[0].id)
        assert store.database.query("SELECT count(*) FROM turns", ()) == [(4,)]
        assert store.database.query("SELECT count(*) FROM turn_texts", ()) == [(4,)]
        store.remove(id)
        assert store.load(other) == fork
        assert store.database.query("SELECT count(*) FROM turns", ()) == [(3,)]
        assert [each.id for each in store.list(query="one")] == [other]
        assert list(store.list(query="three")) == []


def test_a_conversation_can_become_a_run_and_a_run_a_conversation(tmp_path: Path) -> None:
    journal, store = Journal(tmp_path / "logs.db"), Store(tmp_path / "logs.db")
    id = save(store, talk("hello"))
    journal.begin("chat", "hello", id=id).finish("waiting")
    with journal.run("nightly"):
        journal.step(len, "abc")
    store.save(talk("of the night"), id="nightly", is_new=True, model="m", command="chat")
    assert {each.id: each.state for each in journal.list_runs()} == {id: "waiting", "nightly": "done"}
    assert {each.id for each in store.list()} == {id, "nightly"}
    assert (store.load(id), store.load("nightly")) == (talk("hello"), talk("of the night"))
    assert [each.path for each in journal.iterate_effects("nightly")] == ["1"]
    journal.remove("nightly")
    assert {each.id for each in store.list()} == {id}
    assert list(store.list(query="night")) == []
    assert store.database.query("SELECT text FROM turn_texts", ()) == [("hello",)]


def test_an_answer_during_a_save_is_not_missed(tmp_path: Path) -> None:
    journal, store = Journal(tmp_path / "logs.db"), Store(tmp_path / "logs.db")
    conversation = talk("hello")
    id = save(store, conversation)
    running = journal.begin("chat", "hello", id=id)
    running.middleware.before(EffectCall("1/q", AskPerson("question", "Sure?")))
    journal.answer(id, "1/q", HumanAnswer("yes"))
    conversation.add_assistant("Sure?")
    assert save(store, conversation, id) == id
    running.finish("waiting")
    assert journal.find(id).state == "ready"


def test_a_conversation_that_another_process_changed_shares_its_texts(tmp_path: Path) -> None:
    with Store(tmp_path / "logs.db") as store, Store(tmp_path / "logs.db") as other:
        id = save(store, talk("one", "two"))
        here, there = store.load(id), other.load(id)
        here.add_user("from here")
        there.add_user("from there")
        save(store, here, id)
        fork = save(other, there, id)
        assert (store.load(id), store.load(fork)) == (here, there)
        assert store.database.query("SELECT count(*) FROM turn_texts", ()) == [(4,)]


def test_a_request_with_a_secret_goes_on_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)

    @tool(needs_approval=True)
    def pay(cents: int) -> str:
        """Pay."""
        return f"paid {cents}"

    first = Session(Scripted(calls("pay", cents=5)), [pay], journal=Journal(tmp_path / "logs.db"))
    with pytest.raises(NeedsHuman):
        first.vibe(f"Pay with {SECRET}.")
    journal = Journal(tmp_path / "logs.db")
    (run,) = journal.list_runs()
    assert (run.title, run.begun_as["prompt"][0]["text"]) == ("Pay with [$MY_API_KEY].", "Pay with [$MY_API_KEY].")
    assert not [each for each in tmp_path.iterdir() if SECRET.encode() in each.read_bytes()]
    journal.answer(run.id, run.waiting[0].path, HumanAnswer(allowed=True))
    model = Scripted("done")
    assert Session(model, [pay], journal=journal).resume_run(run.id).value == "done"
    conversation, _, prompt = journal.load_request(run.id)
    assert SECRET in str(prompt)
    assert conversation.turns == ()
