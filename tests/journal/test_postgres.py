"""A journal in PostgreSQL: versions, a server that goes away, and a password that is never shown."""

from __future__ import annotations

import contextvars
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from antiphon.errors import StoreError
from antiphon.journal import Journal, TakenOver, Unfinished
from tests import postgres_server
from tests.postgres_server import PASSWORD, Server


@pytest.fixture
def server() -> Generator[Server]:
    """A server of the test's own."""
    server = postgres_server.restartable()
    try:
        yield server
    finally:
        server.remove()


def test_tables_lie_in_a_namespace_of_their_own(postgres: str) -> None:
    with (journal := Journal(postgres)).run("r"):
        journal.step(len, "abc")
    with psycopg.connect(postgres) as connection:
        tables = connection.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename IN ('runs', 'effects')")
        assert tables.fetchall() == [("antiphon",)]


def test_a_journal_of_a_newer_release_is_told(postgres: str) -> None:
    assert Journal(postgres).runs() == []
    with psycopg.connect(postgres) as connection:
        connection.execute("INSERT INTO antiphon.schema VALUES (99)")
    with pytest.raises(StoreError, match=r"written by a newer release \(schema 99.*update antiphon"):
        Journal(postgres).runs()


def test_tables_of_an_older_release_are_brought_up_to_date_by_one_of_many(postgres: str) -> None:
    from antiphon.journal.postgres import Postgres

    first = ("CREATE TABLE things (id BIGINT PRIMARY KEY)",)
    assert Postgres(postgres, migrations=(first,)).read("SELECT count(*) FROM things", ()) == [(0,)]
    added = ("ALTER TABLE things ADD COLUMN name TEXT",)
    with ThreadPoolExecutor(8) as pool:
        newer = [Postgres(postgres, migrations=(first, added)) for _ in range(8)]
        assert list(pool.map(lambda each: each.read("SELECT name FROM things", ()), newer)) == [[]] * 8
    assert newer[0].read("SELECT version FROM schema ORDER BY version", ()) == [(1,), (2,)]


def test_many_that_begin_at_once_find_one_set_of_tables_and_one_has_the_run(postgres: str) -> None:
    inside, over = threading.Barrier(8), threading.Event()

    def begin(_: int) -> str:
        journal = Journal(postgres)
        inside.wait()
        try:
            with journal.run("r"):
                over.wait()
                return "had it"
        except Unfinished:
            return "too late"

    with ThreadPoolExecutor(8) as pool:
        began = [pool.submit(begin, n) for n in range(8)]
        while sum(each.done() for each in began) < 7:
            over.wait(0.01)
        over.set()
    assert sorted(each.result() for each in began) == ["had it"] + ["too late"] * 7


def test_a_run_cannot_be_taken_over_between_the_look_and_the_writing(postgres: str) -> None:
    """What is written while somebody takes the run waits for him, and is not written."""
    journal = Journal(postgres)
    with journal.run("r"), ThreadPoolExecutor(1) as pool, psycopg.connect(postgres) as taker:
        copied = contextvars.copy_context()
        taker.execute("UPDATE antiphon.runs SET epoch = epoch + 1 WHERE id = 'r'")
        written = pool.submit(copied.run, journal.step, len, "abc")
        with psycopg.connect(postgres, autocommit=True) as watcher:
            while not watcher.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall() and not written.done():
                time.sleep(0.01)
        assert not written.done()
        taker.commit()
        with pytest.raises(TakenOver):
            written.result()
    assert journal.read("SELECT path FROM effects", ()) == []


def test_a_server_that_is_restarted_is_waited_for(server: Server) -> None:
    journal = Journal(server.url)
    with journal.run("r"):
        assert journal.step(len, "a") == 1
        server.stop()
        again = threading.Timer(0.3, server.start)
        again.start()
        assert [journal.step(len, "a" * n) for n in range(2, 9)] == [*range(2, 9)]
        again.join()
        server.stop("immediate")
        server.start()
        assert journal.step(len, "abc") == 3
    (entry,) = journal.runs()
    assert (entry.state, entry.effects) == ("done", 9)


def test_a_server_that_stays_away_interrupts_the_run_and_does_not_fail_it(server: Server) -> None:
    from antiphon.journal.postgres import Postgres

    journal = Journal(server.url)
    journal._database = Postgres(server.url, patience=0.2)

    def go() -> None:
        with journal.run("r"):
            journal.step(server.stop)

    with pytest.raises(StoreError, match="cannot be reached; look whether the server runs"):
        go()
    server.start()
    assert [each.state for each in Journal(server.url).runs()] == ["running"]


def bad_urls(url: str) -> list[tuple[str, str]]:
    return [
        (url.replace("postgres:", "nobody-of-this-name:"), "cannot be opened; look at the URL"),
        (url.replace(PASSWORD, PASSWORD + "x"), "cannot be opened; look at the URL"),
        (url + "-gone", "cannot be opened; look at the URL"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:1/x", "cannot be reached; look whether the server runs"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:1/x?wrong={PASSWORD}", "cannot be read; it is postgresql://"),
        (f"postgresql://me:{PASSWORD}@[::1", "cannot be read; it is postgresql://"),
        (f"postgresql://127.0.0.1:1/x?user=me&password={PASSWORD}", "cannot be reached"),
    ]


@pytest.mark.parametrize("number", range(7))
def test_what_is_wrong_with_a_url_is_told_without_its_password(
    number: int, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    url, said = bad_urls(postgres)[number]
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreError, match=said) as caught:
        Journal(url).runs()
    everything = f"{caught.value!r} {caught.getrepr(style='native')} {caplog.text}"
    assert PASSWORD not in everything


def test_a_journal_does_not_show_its_password(postgres: str) -> None:
    journal = Journal(postgres)
    journal.runs()
    assert PASSWORD not in f"{journal!r} {journal._database!r} {journal._database._free!r}"
    assert repr(journal._database).startswith("Postgres('postgresql://postgres@127.0.0.1:")


WITHOUT = """
import sys
sys.modules["psycopg"] = None
from antiphon.errors import StoreError
from antiphon.journal import Journal
with Journal(sys.argv[1]).run("r"):
    pass
assert not [name for name in sys.modules if name.startswith(("psycopg.", "procrastinate"))]
try:
    Journal("postgresql://localhost/x")
except StoreError as error:
    print(error)
"""


def test_files_need_nothing_of_it_and_a_missing_package_is_told(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path / "j.db"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "a journal in PostgreSQL needs `psycopg`: pip install 'antiphon[postgres]'\n"
