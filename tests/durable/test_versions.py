"""Journals of other releases, and runs that are long: what was there is there, and what is long costs no memory."""

from __future__ import annotations

import json
import sqlite3
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store
from antiphon.conversation import Conversation, Text
from antiphon.conversation.serialization import conversation_to_json
from antiphon.durable import Journal
from antiphon.durable.replay_cache import set_aside_run
from antiphon.effects import EffectCall, HumanAnswer, Print
from antiphon.errors import StoreError
from antiphon.storage.postgres import PostgresDatabase, make_migrations
from antiphon.storage.schema import MIGRATIONS
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.team.channels import Channel
from tests.storage_versions import OLD, write_file


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT max(version) FROM schema").fetchone()[0]


def test_a_file_from_before_there_were_runs_has_them_when_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    with (
        closing(SqliteDatabase(path, migrations=MIGRATIONS[:1])) as database,
        database.write_transaction() as connection,
    ):
        connection.execute(
            "INSERT INTO conversations VALUES ('3abc', 'Of then', '', 'chat', 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1)"
        )
        connection.execute("INSERT INTO heads VALUES ('3abc', '{}')")
    assert version(path) == 1
    journal = Journal(path)
    assert journal.list_runs() == []
    with journal.run("nightly"):
        assert journal.step(len, [1, 2]) == 2
    assert (version(path), [each.state for each in Journal(path).list_runs()]) == (len(MIGRATIONS), ["done"])
    assert [each.title for each in Store(path).list()] == ["Of then"]


def read_all(path: Path) -> dict[str, Any]:
    """Return what public names read of a file."""
    with Store(path) as store:
        saved = {each.id: each.to_json() for each in store.list()}
        conversations = {id: conversation_to_json(store.load(id)) for id in saved}
        found = {word: [each.id for each in store.list(query=word)] for word in ("deployment", "slowly", "nowhere")}
        reports = len(store.cache_reports("3abc0001"))
    journal = Journal(path)
    runs = journal.list_runs()
    rows = [row for run in runs for row in journal.list_runs(parent=run.id)]
    told = [replace(each, waiting=()) for each in (*runs, *rows)]
    steps = {run.id: list(journal.iterate_effects(run.id)) for run in runs}
    questions = {run.id: journal.list_questions(run.id) for run in runs}
    posts = Channel("lab", path)
    return {
        "saved": saved,
        "conversations": conversations,
        "found": found,
        "reports": reports,
        "runs": {each.id: each for each in told},
        "steps": steps,
        "questions": questions,
        "posts": [(each.id, each.author, each.text) for each in posts.messages()],
        "unread": [each.text for each in posts.unread("bob")],
    }


def check_messages(found: dict[str, Any], journal: Journal) -> None:
    """Check that runs of messages are steps of their conversation, and that the unfinished one is stopped."""
    chat, ask = found["runs"]["3abc0001"], found["runs"]["3abe0003"]
    assert (chat.kind, chat.state, chat.title) == ("chat", "cancelled", "First")
    assert [(each.path, each.kind, each.state) for each in found["steps"]["3abc0001"]] == [
        ("1", "message", "done"),
        ("1/r1", "request", "done"),
        ("1/call_a", "tool", "done"),
        ("1/call_a/approval", "person", "done"),
        ("2", "message", "done"),
        ("2/r1", "request", "done"),
        ("2/call_a", "tool", "waiting"),
        ("2/call_a/approval", "person", "failed"),
    ]
    assert found["questions"]["3abc0001"] == ()
    first, second = journal.list_messages("3abc0001")
    assert (first.asked["text"], first.asked["turn"], second.asked["turn"]) == ("message 3abe0001", 0, 2)
    ends = [each.outcome.value for each in (first, second) if each.outcome is not None]
    assert ends == [{"outcome": "done"}, {"outcome": "stopped"}]
    before, mode, prompt = journal.load_request("3abc0001", "2")
    assert (mode, prompt, len(before.turns)) == ("chat", (Text("message 3abe0002"),), 2)
    assert (ask.state, [each.path for each in found["steps"]["3abe0003"]]) == (
        "failed", ["1/r1", "1/call_a", "1/call_a/approval"],
    )  # fmt: skip


@pytest.mark.parametrize("version", OLD)
def test_a_file_of_an_older_release_reads_as_before(tmp_path: Path, version: int) -> None:
    conversation = Conversation("Be brief.")
    conversation.add_user("How does the déployment work? 🎉")
    conversation.add_assistant("Slowly, but it does.")
    data = conversation_to_json(conversation)
    turns = [json.dumps(each, ensure_ascii=False) for each in data.pop("turns")]
    write_file(tmp_path / "logs.db", version, turns, json.dumps(data))
    found = read_all(tmp_path / "logs.db")
    conversation.keep("result-1", "@whole " + "x" * 9_000)
    fork = conversation.fork(1)
    assert found["conversations"] == {
        "3abc0001": conversation_to_json(conversation),
        "3abc0002": conversation_to_json(fork),
    }
    first, second = found["saved"]["3abc0001"], found["saved"]["3abc0002"]
    assert (first["title"], first["turns"], first["input_tokens"], first["cost"]) == ("First", 2, 30, 0.25)
    assert (second["parent"], second["parent_turns"], second["models"]) == ("3abc0001", 1, ["m"])
    assert first["updated"] == "1970-01-01T00:03:20+00:00"
    assert {word: sorted(ids) for word, ids in found["found"].items()} == {
        "deployment": ["3abc0001", "3abc0002"],
        "slowly": ["3abc0001"],
        "nowhere": [],
    }
    assert found["reports"] == (version >= 10)
    with Store(tmp_path / "logs.db") as store:
        assert store.find("3abc0001").tools == ({"shell": True} if version >= 8 else None)
        # It goes on as a conversation of today.
        again = store.load("3abc0001")
        again.add_user("And now?")
        assert store.save(again, id="3abc0001", model="m", command="chat") == "3abc0001"
        assert store.load("3abc0001") == again
    assert (found["posts"], found["unread"]) == (
        ([(1, "@ada", "hello all")], ["hello all"]) if version >= 3 else ([], [])
    )
    if version < 2:
        assert found["runs"] == {}
        return
    assert list(found["runs"]) == ["3abe0003", "3abd0002", "3abd0001", "3abc0002", "3abc0001", "3abd0002.0"]
    check_messages(found, Journal(tmp_path / "logs.db"))
    run, row = found["runs"]["3abd0001"], found["runs"]["3abd0002.0"]
    assert (run.state, run.kind, run.begun_as, run.wake_at, run.effects) == (
        "waiting", "program", {"file": "p.vibe"}, 700.0, 3,
    )  # fmt: skip
    assert (run.fork_of, run.fork_at) == (("3abd0002", "1") if version >= 6 else (None, None))
    assert (row.parent, row.number, row.begun_as, row.ending) == (
        "3abd0002", 0, {"inputs": {"text": "y" * 9_000}}, {"outcome": "done"},
    )  # fmt: skip
    assert [(each.path, each.kind, each.state) for each in found["steps"]["3abd0001"]] == [
        ("1", "python", "done"),
        ("2", "print", "done"),
        ("3", "person", "waiting"),
    ]
    assert [each.text for each in found["questions"]["3abd0001"]] == ["Sure?"]
    journal = Journal(tmp_path / "logs.db")
    journal.answer("3abd0001", "3", HumanAnswer("yes"))
    assert journal.find("3abd0001").state == "ready"
    journal.remove("3abd0001", "3abd0002")
    assert [each.id for each in journal.list_runs()] == ["3abe0003", "3abc0002", "3abc0001"]
    assert Store(tmp_path / "logs.db").load("3abc0001") == again


def test_turns_that_a_conversation_and_a_run_share_are_stored_once(tmp_path: Path) -> None:
    conversation = Conversation()
    conversation.add_user("hello")
    turns = [json.dumps(each, separators=(",", ":")) for each in conversation_to_json(conversation)["turns"]]
    write_file(tmp_path / "logs.db", 10, turns, "{}")
    with closing(SqliteDatabase(tmp_path / "logs.db")) as database:
        assert database.query("SELECT count(*) FROM turns", ()) == [(1,)]
        assert database.query("SELECT count(*) FROM transcript", ()) == [(2,)]


def test_a_migration_is_done_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    write_file(path, 4, [], "{}")
    before = rows_of(path)
    with pytest.raises(StoreError), closing(SqliteDatabase(path, migrations=(*MIGRATIONS, ("NONSENSE",)))) as database:
        database.query("SELECT 1", ())
    assert (version(path), rows_of(path)) == (4, before)


def rows_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if "words" not in line]


def test_a_file_of_a_newer_release_is_refused_with_words_and_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    newer = (*MIGRATIONS, ("CREATE TABLE more (x)",))
    with closing(SqliteDatabase(path, migrations=newer)) as database, database.write_transaction():
        pass
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer release .* update antiphon"), Journal(path).run("nightly"):
        pytest.fail("it was begun")
    with pytest.raises(StoreError, match="newer release"):
        Journal(path).list_runs()
    assert path.read_bytes() == before


def test_what_is_set_aside_of_a_long_run_takes_no_memory_but_numbers(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "logs.db")
    running = journal.begin("python", "long", id="long")
    for number in range(1_000):
        running.middleware.before(EffectCall(str(number + 1), Print(f"{number}" + "x" * 5_000)))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = set_aside_run(journal, running)
        assert tracemalloc.get_traced_memory()[0] - before < 1_000_000
    finally:
        tracemalloc.stop()
    assert kept.unused == 1_000
    for number in range(999):
        assert running.middleware.before(EffectCall(str(number + 2), Print(f"{number + 1}" + "x" * 5_000))) is not None
    assert (kept.reused, kept.unused, [row.path for row in kept.list_unused(10)]) == (999, 1, ["1"])


def test_a_database_of_an_older_release_reads_as_before(postgres: str) -> None:
    with (
        closing(PostgresDatabase(postgres, migrations=make_migrations()[:5])) as database,
        database.write_transaction() as connection,
    ):
        for id, parent, number, ending in (("b", None, None, '{"outcome":"done"}'), ("b.0", "b", 0, None)):
            connection.execute(
                "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, parent, number,"
                " ending, steps) VALUES (?, 'waiting', 1, 2, 3, '', ?, 'p', '{\"x\":1}', ?, ?, ?, 1)",
                (id, "row" if parent else "map", parent, number, ending),
            )
        connection.execute("INSERT INTO said VALUES ('k', '', '{}')")
        connection.execute(
            "INSERT INTO effects (run, path, seq, kind, hash, effect, state, outcome, began, attempt, said)"
            " VALUES ('b.0', '1', 0, 'person', 'h', ?, 'waiting', NULL, 1, 1, 'k')",
            ('{"kind":"person","text":"Sure?"}',),
        )
        connection.execute("INSERT INTO limits VALUES ('m', 5)")
        connection.execute("INSERT INTO spent VALUES ('b', 0.5)")
        connection.execute("INSERT INTO held VALUES ('b.0', '1', 77)")
    journal = Journal(postgres)
    (batch,), (row,) = journal.list_runs(), journal.list_runs(parent="b")
    assert (batch.kind, batch.begun_as, batch.ending) == ("map", {"x": 1}, {"outcome": "done"})
    assert (row.number, row.effects, [each.text for each in row.waiting]) == (0, 1, ["Sure?"])
    with journal.database.read_transaction() as connection:
        assert journal.database.find_reserved_time(connection, "b.0") == 77
    journal.answer("b.0", "1", HumanAnswer("yes"))
    assert journal.find("b.0").state == "ready"
    journal.remove("b")
    for table in ("sessions", "steps", "turns", "budgets", "reservations"):
        assert journal.database.query(f"SELECT count(*) FROM {table}", ()) == [(0,)], table
