"""Journals of other releases, and runs that are long: what was there is there, and what is long costs no memory."""

from __future__ import annotations

import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.durable import Journal
from antiphon.durable.replay_cache import set_aside_run
from antiphon.effects import EffectCall, Print
from antiphon.errors import StoreError
from antiphon.storage import Store
from antiphon.storage.schema import MIGRATIONS
from antiphon.storage.sqlite import SqliteDatabase


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
