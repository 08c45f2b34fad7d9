"""A journal in PostgreSQL: versions, a server that goes away, and a password that is never shown."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psycopg
import pytest

from antiphon.durable import Journal
from antiphon.effects import IndeterminateEffect
from antiphon.errors import LeaseLost, RunInUse, StoreError
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
        tables = connection.execute(
            "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename IN ('sessions', 'steps')"
        )
        assert tables.fetchall() == [("antiphon",)]


def test_a_journal_of_a_newer_release_is_told(postgres: str) -> None:
    assert Journal(postgres).list_runs() == []
    with psycopg.connect(postgres) as connection:
        connection.execute("INSERT INTO antiphon.schema VALUES (99)")
    with pytest.raises(StoreError, match=r"written by a newer release \(schema 99.*update antiphon"):
        Journal(postgres).list_runs()


def test_tables_of_an_older_release_are_brought_up_to_date_by_one_of_many(postgres: str) -> None:
    from antiphon.storage.postgres import PostgresDatabase

    first = ("CREATE TABLE things (id BIGINT PRIMARY KEY)",)
    assert PostgresDatabase(postgres, migrations=(first,)).query("SELECT count(*) FROM things", ()) == [(0,)]
    added = ("ALTER TABLE things ADD COLUMN name TEXT",)
    with ThreadPoolExecutor(8) as pool:
        newer = [PostgresDatabase(postgres, migrations=(first, added)) for _ in range(8)]
        assert list(pool.map(lambda each: each.query("SELECT name FROM things", ()), newer)) == [[]] * 8
    assert newer[0].query("SELECT version FROM schema ORDER BY version", ()) == [(1,), (2,)]


def test_many_that_begin_at_once_find_one_set_of_tables_and_one_has_the_run(postgres: str) -> None:
    inside, over = threading.Barrier(8), threading.Event()

    def begin(_: int) -> str:
        journal = Journal(postgres)
        inside.wait()
        try:
            with journal.run("r"):
                over.wait()
                return "had it"
        except RunInUse:
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
        taker.execute("UPDATE antiphon.sessions SET epoch = epoch + 1 WHERE id = 'r'")
        written = pool.submit(copied.run, journal.step, len, "abc")
        with psycopg.connect(postgres, autocommit=True) as watcher:
            while not watcher.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall() and not written.done():
                time.sleep(0.01)
        assert not written.done()
        taker.commit()
        with pytest.raises(LeaseLost):
            written.result()
    assert journal.database.query("SELECT path FROM steps", ()) == []


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
    (entry,) = journal.list_runs()
    assert (entry.state, entry.effects) == ("done", 9)


def test_a_server_that_stays_away_interrupts_the_run_and_does_not_fail_it(server: Server) -> None:
    from antiphon.storage.postgres import PostgresDatabase

    journal = Journal(server.url)
    journal.database = PostgresDatabase(server.url, patience=0.2)

    def go() -> None:
        with journal.run("r"):
            journal.step(server.stop)

    with pytest.raises(StoreError, match="cannot be reached; check that the server runs"):
        go()
    server.start()
    assert [each.state for each in Journal(server.url).list_runs()] == ["running"]


class Cutting:
    """Stands between us and the server, and cuts the connection with the n-th message of one side, which is lost."""

    def __init__(self, url: str, side: str) -> None:
        self._server = (urlsplit(url).hostname, urlsplit(url).port)
        self._side = side
        self._left: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        name = urlsplit(url)
        here = f"{name.username}:{name.password}@127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = name._replace(netloc=here).geturl()
        threading.Thread(target=self._listen, daemon=True).start()

    def cut_at(self, number: int) -> None:
        self._left = number

    @property
    def has_cut(self) -> bool:
        return self._left == 0

    def close(self) -> None:
        self._listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(self._server)
                for side, one, other in (("ours", client, server), ("theirs", server, client)):
                    threading.Thread(target=self._pass_on, args=(side, one, other), daemon=True).start()

    def _pass_on(self, side: str, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if side == self._side and self._left:
                    self._left -= 1
                    if self._left == 0:
                        break
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_connection_that_breaks_at_any_message_loses_nothing_and_does_nothing_twice(postgres: str, side: str) -> None:
    cutting = Cutting(postgres, side)
    journal, number, is_cut, did = Journal(cutting.url), 0, True, list[int]()
    journal.list_runs()
    while is_cut:
        number += 1
        did.clear()
        cutting.cut_at(number)
        before = {each.id for each in Journal(postgres).list_runs()}
        running = journal.begin("test", "t")
        running.finish("interrupted")
        with journal.run(running.id):
            assert [journal.step(lambda n: did.append(n) or n, n) for n in range(3)] == [0, 1, 2]
        is_cut = cutting.has_cut
        assert did == [0, 1, 2], number
        (new,) = (each for each in Journal(postgres).list_runs() if each.id not in before)
        assert (new.id, new.state, new.effects) == (running.id, "done", 3), number
        assert {each.state for each in journal.iterate_effects(new.id)} == {"done"}
    assert number > 10
    cutting.close()


def test_a_server_without_room_stops_the_run_and_nothing_is_lost_or_done_twice(postgres: str) -> None:
    journal, number, is_full, did = Journal(postgres), 0, True, list[tuple[int, int]]()
    journal.list_runs()

    def go(run: int) -> list[object]:
        with journal.run(f"r{run}"):
            return [settled(journal, lambda n: did.append((run, n)) or n, n) for n in range(3)]

    with psycopg.connect(postgres, options="-c search_path=antiphon", autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE writes")
        connection.execute(FULL)
        while is_full:
            number += 1
            connection.execute(f"ALTER SEQUENCE writes RESTART WITH {101 - number}".encode())
            connection.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON steps FOR EACH ROW EXECUTE FUNCTION fill()"
            )
            with contextlib.suppress(StoreError):
                go(number)
                is_full = False
            connection.execute("DROP TRIGGER full_disk ON steps")
            came = go(number)
            assert came == [0, 1, 2] or sorted(map(str, came))[-1] == "unsure", number
            assert sorted(did) == [(run, n) for run in range(1, number + 1) for n in range(3)]
    assert number == 7


FULL = """CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('writes') >= 100 THEN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END IF;
    RETURN NEW;
END $$"""


def settled(journal: Journal, do: Callable[[int], object], n: int) -> object:
    """What came of a step; of one that took effect and could not be written down, that it is not known."""
    try:
        return journal.step(do, n)
    except IndeterminateEffect:
        return "unsure"


def bad_urls(url: str) -> list[tuple[str, str]]:
    return [
        (url.replace("postgres:", "nobody-of-this-name:"), "cannot be opened; check the URL"),
        (url.replace(PASSWORD, PASSWORD + "x"), "cannot be opened; check the URL"),
        (url + "-gone", "cannot be opened; check the URL"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:1/x", "cannot be reached; check that the server runs"),
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
        Journal(url).list_runs()
    everything = f"{caught.value!r} {caught.getrepr(style='native')} {caplog.text}"
    assert PASSWORD not in everything


def test_a_journal_does_not_show_its_password(postgres: str) -> None:
    journal = Journal(postgres)
    journal.list_runs()
    assert PASSWORD not in f"{journal!r} {journal.database!r} {journal.database._free!r}"
    assert repr(journal.database).startswith("Postgres('postgresql://postgres@127.0.0.1:")


WITHOUT = """
import sys
sys.modules["psycopg"] = None
from antiphon.errors import StoreError
from antiphon.durable import Journal
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
