"""Runs on many machines: workers are killed, paused and stopped, the server is restarted, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import psycopg
import pytest

from antiphon.cli.sessions import Sessions
from antiphon.cli.telling import describe_session, iter_next_steps
from antiphon.durable import Dispatcher, Journal, RateLimits
from antiphon.durable.worker import WATCH_SECONDS
from antiphon.effects import AskModel, EffectCall, EffectContext, HumanAnswer, PathCounter, use_context
from antiphon.errors import NotReadyError, RunInUse, StoreError, Suspended
from antiphon.fakes import Fake
from antiphon.lang.runtime import Host, loads
from antiphon.session import Session
from antiphon.storage import run_queue
from antiphon.storage.postgres import PostgresConnection, PostgresDatabase
from antiphon.storage.run_queue import MAX_TAKEOVERS
from tests import postgres_server
from tests.forks import Forked
from tests.lang_unit.harness import connecting
from tests.postgres_server import PASSWORD
from tests.session.scripted import Scripted

#: Nothing here depends on how quick it is; this is when a test that hangs is given up.
PATIENCE = 180
LEASE = 2.0


def until(found: Callable[[], object], what: str = "it") -> None:
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end, f"{what} never happens"
        time.sleep(0.05)


class Workers:
    """Worker processes at one database, and what they say."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self.home = home
        self.lease = LEASE
        self.journal = Journal(url)
        self.dispatcher = Dispatcher(url, lease=LEASE)
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, slots: int = 4) -> subprocess.Popen[bytes]:
        words = self.url, str(self.home), str(self.lease), str(slots)
        with (self.home / "errors").open("a") as errors:
            started = Forked(*words, work="tests.durable.worker_program:main", stderr=errors, stdout=errors)
        self._processes.append(started)
        return started

    def close(self) -> None:
        for each in self._processes:
            if each.poll() is None:
                each.kill()
            each.wait()

    def supervise(self, is_over: Callable[[], object]) -> int:
        """Start a worker whenever there is none; how many died until it is over."""
        dead, worker = 0, self.start()

        def look() -> object:
            nonlocal dead, worker
            if worker.poll() is not None:
                dead, worker = dead + 1, self.start()
            return is_over()

        until(look, "the end")
        worker.kill()
        worker.wait()
        return dead

    def kill_in(self, run: str, number: int, times: int) -> None:
        (self.home / f"kill.{run}.{number}").write_text(str(times))

    def shut(self) -> None:
        (self.home / "closed").touch()

    def open(self, only: subprocess.Popen[bytes] | None = None) -> None:
        if only is None:
            (self.home / "closed").unlink()
        else:
            (self.home / f"open.{only.pid}").touch()

    def said(self, who: subprocess.Popen[bytes] | None = None) -> list[list[str]]:
        lines = [line.split() for line in (self.home / "log").read_text().splitlines()] if self.has_log else []
        return [words for words in lines if who is None or words[0] == str(who.pid)]

    @property
    def has_log(self) -> bool:
        return (self.home / "log").exists()

    def took(self, run: str, who: subprocess.Popen[bytes]) -> int:
        return self.said(who).count([str(who.pid), "took", run])

    def begin(self, *names: str) -> list[str]:
        """Runs that are not handed out yet."""
        for number, name in enumerate(names):
            self.journal.begin("test", name, id=name, state="ready", number=number)
        return list(names)

    def state(self, run: str) -> str:
        return self.journal.find(run).state

    def states(self) -> dict[str, int]:
        return dict(self.dispatcher.metrics().runs)

    def effects(self) -> list[tuple[object, ...]]:
        return self.journal.database.query("SELECT session, path, state, attempt FROM steps ORDER BY session, path", ())


@pytest.fixture
def workers(postgres: str, tmp_path: Path) -> Generator[Workers]:
    workers = Workers(postgres, tmp_path)
    try:
        yield workers
    finally:
        workers.close()


def test_a_thousand_rows_over_three_workers_of_which_one_is_killed(workers: Workers) -> None:
    names = workers.begin(*(f"row-{number}" for number in range(1_000)))
    assert workers.dispatcher.make_ready(names) == 1_000
    killed, *_ = (workers.start(8) for _ in range(3))
    until(lambda: len(workers.said(killed)) > 50)
    killed.send_signal(signal.SIGKILL)
    until(lambda: workers.states() == {"done": 1_000}, "the end of all runs")
    rows = workers.effects()
    assert len(rows) == 3_000
    assert {state for _, _, state, _ in rows} == {"done"}
    # Only what the killed one was at was begun twice, and nobody gave up.
    assert sum(attempt - 1 for *_, attempt in rows) <= 8
    assert not [words for words in workers.said() if words[1] == "lost"]
    until(
        lambda: (
            workers.journal.database.query("SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'", ())
            == [(0,)]
        )
    )


def test_runs_are_taken_over_when_the_lease_of_their_worker_is_over_and_not_before(postgres: str) -> None:
    """So it is a lease after the last sign of life, and at most one look of another worker later."""
    assert WATCH_SECONDS <= 0.5
    journal, database = Journal(postgres), PostgresDatabase(postgres)
    for name in ("r", "next"):
        journal.begin("test", name, id=name, state="ready")
    Dispatcher(postgres).make_ready(["r"])

    def taken_over_after(silence: float, lease: float) -> int:
        def look(connection: PostgresConnection) -> int:
            connection.execute(
                "UPDATE procrastinate_workers SET last_heartbeat = now() - make_interval(secs => ?)", (silence,)
            )
            return run_queue.requeue_lost_runs(connection, lease)

        return database.transact(look)

    with psycopg.connect(postgres, options="-c search_path=antiphon", autocommit=True) as connection:
        connection.execute("INSERT INTO procrastinate_workers (id) OVERRIDING SYSTEM VALUE VALUES (0)")
        connection.execute("SELECT id FROM procrastinate_fetch_job_v2(ARRAY['antiphon'], 0)")
        Dispatcher(postgres).make_ready(["next"], priority=999)
        # A server that was started less than a lease ago knows nothing of who is silent.
        assert taken_over_after(silence=1e8, lease=1e7) == 0
        assert taken_over_after(silence=0.19, lease=0.2) == 0
        assert taken_over_after(silence=0.21, lease=0.2) == 1
        assert taken_over_after(silence=0.21, lease=0.2) == 0
        jobs = connection.execute("SELECT queueing_lock, status FROM procrastinate_jobs ORDER BY id").fetchall()
        assert jobs == [("r", "failed"), ("next", "todo"), ("r", "todo")]
        first = connection.execute("SELECT args FROM procrastinate_fetch_job_v2(ARRAY['antiphon'], 0)").fetchall()
    assert first == [({"run": "r", "lost": 1, "steps": 0},)]


def test_a_worker_that_was_paused_past_its_lease_writes_nothing_and_works_on(workers: Workers) -> None:
    workers.shut()
    workers.dispatcher.make_ready(workers.begin("r"))
    paused = workers.start()
    until(lambda: workers.took("r", paused))
    paused.send_signal(signal.SIGSTOP)
    other = workers.start()
    until(lambda: workers.took("r", other), "the take-over")
    workers.open(other)
    until(lambda: workers.state("r") == "done")
    before = workers.effects()
    paused.send_signal(signal.SIGCONT)
    workers.open()
    until(lambda: [str(paused.pid), "lost", "r", "LeaseLost"] in workers.said(paused), "the end of the paused run")
    assert workers.effects() == before
    assert workers.state("r") == "done"
    other.terminate()
    assert other.wait(PATIENCE) == 0
    workers.dispatcher.make_ready(workers.begin("next"))
    until(lambda: workers.state("next") == "done")


def test_a_run_whose_second_worker_dies_after_the_first_came_back_is_not_lost(workers: Workers) -> None:
    workers.shut()
    workers.dispatcher.make_ready(workers.begin("r"))
    first = workers.start()
    until(lambda: workers.took("r", first))
    first.send_signal(signal.SIGSTOP)
    second = workers.start()
    until(lambda: workers.took("r", second))
    first.send_signal(signal.SIGCONT)
    workers.open(first)
    until(lambda: [str(first.pid), "lost", "r", "LeaseLost"] in workers.said(first))
    # Proves that it has ended its job: there is room for another.
    second.send_signal(signal.SIGKILL)
    until(lambda: workers.took("r", first) == 2, "the second take-over")
    until(lambda: workers.state("r") == "done")
    assert [state for _, _, state, _ in workers.effects()] == ["done"] * 3


def test_a_run_that_kills_its_workers_is_set_aside_and_can_be_tried_again(workers: Workers) -> None:
    workers.kill_in("deadly", 1, times=99)
    workers.dispatcher.make_ready(workers.begin("deadly"))
    dead = workers.supervise(lambda: workers.state("deadly") == "failed")
    assert dead == 1 + MAX_TAKEOVERS
    entry = workers.journal.find("deadly")
    said = (entry.ending or {})["error"]["message"]
    assert f"{dead} workers in a row died" in said
    assert "at step 2" in said
    assert "`antiphon resume deadly`" in said
    sessions = Sessions()
    assert said in describe_session(sessions, sessions.make_entry(entry))
    assert said in " ".join(iter_next_steps(workers.journal, "deadly", is_shown=True))
    metrics = workers.dispatcher.metrics()
    assert (dict(metrics.runs), metrics.lost) == ({"failed": 1}, 1)
    assert "\nantiphon_runs_lost 1\n" in metrics.to_prometheus()
    workers.kill_in("deadly", 1, times=MAX_TAKEOVERS)
    # What happened before does not count any more.
    workers.dispatcher.make_ready(["deadly"])
    assert workers.supervise(lambda: workers.state("deadly") == "done") == MAX_TAKEOVERS
    assert workers.dispatcher.metrics().lost == 0


def begin_rows(workers: Workers, batch: str, count: int) -> list[str]:
    """A batch with so many rows, all ready."""
    running = workers.journal.begin("map", batch, id=batch, state="preparing")
    workers.journal.add_rows(*running.fence, [(number, {}) for number in range(1, count + 1)])
    workers.journal.complete_batch(*running.fence)
    return [f"{batch}.{number}" for number in range(1, count + 1)]


def test_a_run_beside_one_that_kills_its_workers_is_not_set_aside_and_their_batch_ends(workers: Workers) -> None:
    deadly, healthy = begin_rows(workers, "b", 2)
    workers.kill_in(deadly, 0, times=99)
    workers.shut()
    workers.dispatcher.make_ready([healthy])
    first = workers.start()
    until(lambda: workers.took(healthy, first))
    workers.dispatcher.make_ready([deadly])
    first.wait()
    since: list[float] = []

    def is_over() -> bool:
        # The healthy one is slow: it ends a step only where it is not killed for two seconds.
        if (workers.home / "closed").exists() and workers.effects() and workers.state(healthy) == "running":
            alive = [words[0] for words in workers.said() if words[1:] == ["took", healthy]][-1]
            if not is_there(alive):
                since.clear()
            elif not since:
                since.append(time.monotonic())
            elif time.monotonic() > since[0] + 2:
                workers.open()
        return workers.state("b") == "done"

    workers.supervise(is_over)
    assert (workers.state(deadly), workers.state(healthy)) == ("failed", "done")
    assert workers.dispatcher.metrics().lost == 1


def is_there(process: str) -> bool:
    return Path(f"/proc/{process}").exists()


@pytest.mark.parametrize("how", ["dispatcher", "journal", "never begun"])
def test_a_batch_ends_with_its_last_row_however_that_ends(workers: Workers, how: str) -> None:
    one, two = begin_rows(workers, "b", 2)
    journal, dispatcher = workers.journal, workers.dispatcher
    journal.resume(one).finish("done")
    # A batch that is being worked on waits for nobody.
    journal.resume(two)
    assert dispatcher.metrics().oldest is None
    journal.revoke_lease(two)
    if how == "dispatcher":
        assert dispatcher.cancel([two]) == 1
    elif how == "journal":
        journal.cancel(two)
    else:

        def execute(run: str) -> None:
            raise ValueError(f"the program of {run} is gone")

        with InProcess(workers.url, execute) as working:
            working.make_ready([two])
            until(lambda: workers.state(two) == "failed")
            until(lambda: workers.state("b") == "done")
    assert workers.state("b") == "done"


def test_batches_whose_end_nobody_saw_are_found(workers: Workers) -> None:
    rows = begin_rows(workers, "b", 2)
    for each in rows:
        workers.journal.resume(each).finish("done")
    assert (workers.state("b"), workers.dispatcher.metrics().oldest) == ("ready", None)
    PostgresDatabase(workers.url).transact(run_queue.repair_queue)
    assert workers.state("b") == "done"


def test_a_run_that_gets_on_is_taken_over_as_often_as_it_takes(workers: Workers) -> None:
    for number in range(3):
        workers.kill_in("r", number, times=2)
    workers.dispatcher.make_ready(workers.begin("r"))
    assert workers.supervise(lambda: workers.state("r") in ("done", "failed")) == 6
    assert workers.state("r") == "done"


def test_workers_survive_a_restart_of_the_server(tmp_path: Path) -> None:
    server = postgres_server.restartable()
    workers = Workers(server.url, tmp_path)
    try:
        names = workers.begin(*(f"row-{number}" for number in range(150)))
        workers.dispatcher.make_ready(names)
        both = [workers.start(), workers.start()]
        until(lambda: all(len(workers.said(each)) > 8 for each in both))
        server.stop()
        server.start()
        until(lambda: len(workers.said()) > 200)
        server.stop("immediate")
        time.sleep(0.5)
        server.start()
        until(lambda: workers.states() == {"done": 150}, "the end of all runs")
        assert len(workers.effects()) == 450
        assert [each.poll() for each in both] == [None, None]
        for each in both:
            each.terminate()
        assert [each.wait(PATIENCE) for each in both] == [0, 0]
        assert PASSWORD not in (tmp_path / "errors").read_text()
    finally:
        workers.close()
        server.remove()


def test_a_worker_that_is_asked_to_stop_ends_what_it_runs_and_keeps_it_meanwhile(workers: Workers) -> None:
    workers.shut()
    workers.dispatcher.make_ready(workers.begin("r"))
    stopping = workers.start()
    until(lambda: workers.took("r", stopping))
    stopping.terminate()
    other = workers.start()
    workers.dispatcher.make_ready(workers.begin("next"))
    until(lambda: workers.took("next", other))
    time.sleep(2 * LEASE)
    assert stopping.poll() is None
    workers.open()
    assert stopping.wait(PATIENCE) == 0
    until(lambda: workers.states() == {"done": 2})
    assert (workers.took("r", stopping), workers.took("r", other)) == (1, 0)
    assert [attempt for *_, attempt in workers.effects()] == [1] * 6


def test_a_cancelled_run_does_nothing_more(workers: Workers) -> None:
    workers.shut()
    workers.begin("running", "waiting-for-a-worker")
    workers.dispatcher.make_ready(["running"])
    worker = workers.start(slots=1)
    until(lambda: workers.took("running", worker))
    workers.dispatcher.make_ready(["waiting-for-a-worker"])
    assert workers.dispatcher.cancel(["running", "waiting-for-a-worker", "no-such-run"]) == 2
    workers.open()
    until(lambda: [str(worker.pid), "lost", "running", "LeaseLost"] in workers.said())
    workers.dispatcher.make_ready(workers.begin("last"))
    until(lambda: workers.state("last") == "done")
    assert workers.states() == {"cancelled": 2, "done": 1}
    assert not workers.took("waiting-for-a-worker", worker)
    assert [path for run, path, *_ in workers.effects() if run == "running"] == ["1"]
    assert workers.dispatcher.cancel(["running", "last"]) == 0
    assert workers.dispatcher.make_ready(["running", "last"]) == 0


def test_the_urgent_comes_first_and_batches_take_turns(workers: Workers) -> None:
    long, short = (workers.begin(*(f"{batch}{n}" for n in range(size))) for batch, size in (("a", 4), ("b", 2)))
    workers.dispatcher.make_ready(long)
    workers.dispatcher.make_ready(short)
    workers.dispatcher.make_ready(workers.begin("urgent"), priority=1)
    workers.dispatcher.make_ready(workers.begin("idle"), priority=-1)
    worker = workers.start(slots=1)
    until(lambda: workers.states() == {"done": 8})
    order = [words[2] for words in workers.said(worker) if words[1] == "took"]
    assert order == ["urgent", "a0", "b0", "a1", "b1", "a2", "a3", "idle"]


def test_a_run_that_nobody_would_look_at_is_found(workers: Workers) -> None:
    workers.begin("never-handed-out")
    workers.journal.begin("map", "batch", id="batch", state="ready")
    workers.shut()
    workers.dispatcher.make_ready(workers.begin("of-a-dead-worker"))
    dead = workers.start()
    until(lambda: workers.took("of-a-dead-worker", dead))
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    with psycopg.connect(workers.url, options="-c search_path=antiphon") as connection:
        connection.execute("DELETE FROM procrastinate_jobs")
    workers.open()
    worker = workers.start()
    # A batch is nothing for a worker, and over when no row of it is open.
    until(lambda: workers.states() == {"done": 3})
    assert not workers.took("batch", worker)


def test_a_batch_that_is_still_written_is_neither_run_nor_closed(workers: Workers) -> None:
    journal, database = workers.journal, PostgresDatabase(workers.url)
    batch = journal.begin("map", "batch", id="batch", state="preparing")
    journal.add_rows("batch", 1, [(number, {}) for number in range(1, 4)])
    names = [f"batch.{number}" for number in range(1, 4)]
    # Neither by hand nor by whoever looks for runs that nobody would look at.
    assert workers.dispatcher.make_ready([*names, "batch"]) == 0
    assert database.transact(run_queue.repair_queue) == 0
    assert workers.dispatcher.metrics().oldest is None
    assert workers.states() == {"preparing": 4}
    with pytest.raises(RunInUse, match="not all rows of its batch are written"):
        journal.resume("batch.1")
    # Done again, as where the server went away before it could answer.
    journal.add_rows("batch", 1, [(number, {"large": "x" * 10_000}) for number in range(3, 6)])
    journal.complete_batch(*batch.fence)
    workers.start()
    assert database.transact(run_queue.repair_queue) == 5
    until(lambda: workers.states() == {"done": 6}, "the end of the batch")
    assert [row.begun_as["inputs"].get("large", "")[:1] for row in journal.iterate_rows("batch")] == [
        "",
        "",
        "x",
        "x",
        "x",
    ]


def test_a_run_of_a_process_that_is_no_worker_is_left_alone(workers: Workers) -> None:
    """Whoever runs it in the foreground, here or elsewhere, has it for himself."""
    with workers.journal.run("mine"):
        assert workers.dispatcher.make_ready(["mine"]) == 0
        with psycopg.connect(workers.url, options="-c search_path=antiphon") as connection:
            connection.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock, args)"
                " VALUES ('antiphon', 'antiphon.look', 'mine', '{\"run\": \"mine\"}')"
            )
        worker = workers.start()
        workers.dispatcher.make_ready(workers.begin("other"))
        until(lambda: workers.state("other") == "done")
        until(lambda: workers.journal.database.query("SELECT count(*) FROM procrastinate_jobs", ()) == [(0,)])
        assert workers.journal.step(len, "abc") == 3
    assert (workers.state("mine"), workers.took("mine", worker)) == ("done", 0)


class InProcess:
    """A worker in a thread, which executes what it is given."""

    def __init__(self, url: str, execute: Callable[[str], object], slots: int = 2) -> None:
        self.dispatcher = Dispatcher(url, lease=LEASE)
        self._thread = threading.Thread(target=lambda: self.dispatcher.work(execute, slots))

    def __enter__(self) -> Dispatcher:
        self._thread.start()
        return self.dispatcher

    def __exit__(self, *_: object) -> None:
        until(lambda: self.dispatcher.stop() or not self._thread.is_alive())


def test_questions_hold_no_slot_and_are_answered_while_others_run(postgres: str) -> None:
    journal = Journal(postgres)
    text = 'const who = ask "Who?"\nwho\n'
    values: list[object] = []

    def execute(run: str) -> None:
        with journal.run(run):
            values.append(loads(text, "asks.vibe").run(Host(write=lambda _: None)).value)

    names = [f"r{number}" for number in range(10)]
    for name in names:
        journal.begin("test", name, id=name, state="ready")
    with InProcess(postgres, execute, slots=2) as dispatcher:
        dispatcher.make_ready(names)
        until(lambda: dict(dispatcher.metrics().runs) == {"waiting": 10})
        for name in names:
            (question,) = journal.list_questions(name)
            journal.answer(name, question.path, HumanAnswer(f"me of {name}"))
            dispatcher.make_ready([name])
        until(lambda: dict(dispatcher.metrics().runs) == {"done": 10})
    assert sorted(map(str, values)) == [f"me of {name}" for name in names]


def test_an_answer_that_comes_while_the_run_is_on_its_way_is_not_lost(postgres: str) -> None:
    journal = Journal(postgres)
    tries: list[str] = []

    def execute(run: str) -> None:
        with journal.run(run):
            for _ in (host := Host(write=lambda _: None),):
                try:
                    loads('const who = ask "Who?"\nwho\n', "asks.vibe").run(host)
                finally:
                    tries.append(run)
                    if len(tries) == 1:
                        (question,) = journal.list_questions(run)
                        journal.answer(run, question.path, HumanAnswer("me"))

    journal.begin("test", "r", id="r", state="ready")
    with InProcess(postgres, execute) as dispatcher:
        dispatcher.make_ready(["r"])
        until(lambda: journal.find("r").state == "done")
    assert tries == ["r", "r"]


@pytest.mark.parametrize("ahead", [-600, 600])
def test_an_answer_from_a_machine_with_another_clock_is_not_lost(
    postgres: str, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    journal, elsewhere, now = Journal(postgres), Journal(postgres), time.time
    tries: list[str] = []

    def execute(run: str) -> None:
        with journal.run(run):
            try:
                loads('const who = ask "Who?"\nwho\n', "asks.vibe").run(Host(write=lambda _: None))
            finally:
                tries.append(run)
                if len(tries) == 1:
                    monkeypatch.setattr(time, "time", lambda: now() + ahead)
                    (question,) = elsewhere.list_questions(run)
                    elsewhere.answer(run, question.path, HumanAnswer("me"))
                    monkeypatch.setattr(time, "time", now)

    journal.begin("test", "r", id="r", state="ready")
    with InProcess(postgres, execute) as dispatcher:
        dispatcher.make_ready(["r"])
        until(lambda: len(tries) == 2 or journal.find("r").state == "waiting")
        until(lambda: journal.find("r").state != "running")
    assert (tries, journal.find("r").state) == (["r", "r"], "done")


@pytest.mark.parametrize("ahead", [-1800, 1800])
def test_timers_go_by_the_clock_of_the_database(postgres: str, monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    now, journal, begun = time.time, Journal(postgres), list[str]()
    monkeypatch.setattr(time, "time", lambda: now() + ahead)

    def execute(run: str) -> None:
        begun.append(run)
        with journal.run(run):
            loads("sleep(3600)\n", "sleeps.vibe").run(Host(write=lambda _: None))

    journal.begin("test", "r", id="r", state="ready")
    with InProcess(postgres, execute) as dispatcher:
        dispatcher.make_ready(["r"])
        until(lambda: journal.find("r").state == "waiting")
        entry = journal.find("r")
        assert entry.created == pytest.approx(now(), abs=100)
        assert entry.wake_at == pytest.approx(now() + 3600, abs=100)
        assert (dispatcher.metrics().oldest, dispatcher.metrics().effects_per_second) == (None, 1 / 60)
        # The hour passes.
        with psycopg.connect(postgres, options="-c search_path=antiphon") as connection:
            connection.execute("UPDATE steps SET began = began - 3600")
            connection.execute("UPDATE sessions SET wake_at = wake_at - 3600")
        until(lambda: journal.find("r").state != "waiting" and len(begun) > 1)
        until(lambda: journal.find("r").state != "running")
    assert (journal.find("r").state, begun) == ("done", ["r", "r"])


def test_a_run_whose_time_has_come_is_woken(postgres: str) -> None:
    journal = Journal(postgres)
    slept: list[str] = []

    def execute(run: str) -> None:
        with journal.run(run):
            slept.append(run)
            if len(slept) == 1:
                raise Suspended("it sleeps")

    journal.begin("test", "r", id="r", state="ready")
    with InProcess(postgres, execute) as dispatcher:
        dispatcher.make_ready(["r"])
        until(lambda: journal.find("r").state == "waiting")
        with psycopg.connect(postgres) as connection:
            connection.execute("UPDATE antiphon.sessions SET wake_at = extract(epoch FROM now()) - 1")
        until(lambda: journal.find("r").state == "done")


def test_what_cannot_even_be_begun_has_failed(postgres: str) -> None:
    journal = Journal(postgres)

    def execute(run: str) -> None:
        raise ValueError(f"the program of {run} is gone")

    journal.begin("test", "r", id="r", state="ready")
    with InProcess(postgres, execute) as dispatcher:
        dispatcher.make_ready(["r"])
        until(lambda: journal.find("r").state == "failed")


def test_limits_are_kept_by_all_together(postgres: str) -> None:
    asked = EffectCall("1", AskModel("openai/gpt-5", "", ()))
    limits = [RateLimits(postgres, {"openai/*": 600, "other": 1}) for _ in range(4)]
    ((start,),) = limits[0]._database.query("SELECT extract(epoch FROM clock_timestamp())::float8", ())
    with ThreadPoolExecutor(4) as pool:
        delays = list(pool.map(lambda number: limits[number % 4].delay(asked), range(40)))
    ((free_at,),) = limits[0]._database.query("SELECT free_at FROM rate_limits WHERE name = 'openai/*'", ())
    assert free_at >= start + 40 * 0.1 - 0.001
    assert min(delays) >= 0
    assert limits[0].delay(EffectCall("1", AskModel("unlimited", "", ()))) == 0
    with pytest.raises(NotReadyError, match="must be more than 0"):
        RateLimits(postgres, {"x": 0})


def test_what_was_answered_before_does_not_wait_again(postgres: str) -> None:
    journal, limits = Journal(postgres), RateLimits(postgres, {"*": 6_000})

    def moments() -> list[object]:
        return journal.database.query("SELECT free_at FROM rate_limits", ())

    with journal.run("r"), limits.enforce():
        assert str(Session(Scripted("ho")).vibe("hi")) == "ho"
    ((first,),) = moments()
    with journal.run("r"), limits.enforce():
        assert str(Session(Scripted()).vibe("hi")) == "ho"
    assert moments() == [(first,)]
    with use_context(EffectContext(PathCounter(), (limits,))):
        assert str(Session(Scripted("ho")).vibe("hi")) == "ho"
    assert moments() != [(first,)]


@pytest.mark.parametrize(
    "text", ['do "hi"\n', 'vibe "hi"\n', 'const x = async for i in 1..1 { yield do "hi" }\nx[0]\n']
)
def test_a_long_wait_for_a_limit_holds_no_slot_and_keeps_its_moment(postgres: str, text: str) -> None:
    journal, limits, values = Journal(postgres), RateLimits(postgres, {"*": 6_000}), dict[str, object]()

    def execute(run: str) -> None:
        with journal.run(run), limits.enforce():
            fake = Fake(["ho"])
            host = Host(write=lambda _: None, connect=connecting(fake), default_model=lambda: "openai-chat/gpt-5")
            values[run] = loads(text if run != "other" else "1\n", "p.vibe").run(host).value

    def change(statement: str) -> None:
        with psycopg.connect(postgres, options="-c search_path=antiphon") as connection:
            connection.execute(statement.encode())

    journal.begin("test", "r", id="r", state="ready")
    journal.begin("test", "other", id="other", state="ready")
    change("INSERT INTO rate_limits VALUES ('*', extract(epoch FROM now()) + 1000)")
    with InProcess(postgres, execute, slots=1) as dispatcher:
        dispatcher.make_ready(["r"])
        until(lambda: journal.find("r").state == "waiting")
        wake_at = journal.find("r").wake_at
        assert wake_at is not None
        assert (limits_at := journal.database.query("SELECT free_at::float8 FROM rate_limits", ())) == [
            (pytest.approx(wake_at, abs=1),)
        ]
        dispatcher.make_ready(["other"])
        until(lambda: journal.find("other").state == "done")
        # Somebody who goes on with it early does not lose his place, and takes no other.
        dispatcher.make_ready(["r"])
        until(lambda: journal.find("r").state == "waiting")
        assert journal.find("r").wake_at == pytest.approx(wake_at, abs=0.1)
        assert journal.database.query("SELECT free_at FROM rate_limits", ()) == limits_at
        change("UPDATE reservations SET until = until - 1000")
        change("UPDATE sessions SET wake_at = wake_at - 1000 WHERE id = 'r'")
        until(lambda: journal.find("r").state in ("done", "failed"))
    assert values == {"r": "ho", "other": 1}
    assert journal.database.query("SELECT free_at FROM rate_limits", ()) == limits_at
    assert journal.database.query("SELECT count(*) FROM reservations", ()) == [(0,)]


def test_numbers_of_how_it_goes(workers: Workers) -> None:
    empty = workers.dispatcher.metrics()
    assert (dict(empty.runs), empty.oldest, empty.effects_per_second, empty.cost, empty.workers) == ({}, None, 0, 0, ())
    workers.dispatcher.make_ready(workers.begin("r"))
    assert (workers.dispatcher.metrics().oldest or 0) > 0
    workers.start(slots=3)
    until(lambda: workers.state("r") == "done" and workers.dispatcher.metrics().workers)
    metrics = workers.dispatcher.metrics()
    assert (metrics.slots, metrics.effects_per_second) == (3, 3 / 60)
    text = metrics.to_prometheus()
    assert '# TYPE antiphon_runs gauge\nantiphon_runs{state="done"} 1\n' in text
    assert "\nantiphon_slots 3\n" in text


def test_the_tables_of_the_queue_are_brought_up_to_date(postgres: str) -> None:
    files = resources.files("procrastinate.sql") / "migrations"
    names = sorted(each.name for each in files.iterdir() if each.name.endswith(".sql"))
    older = [name for name in names if name < "03.03"]
    assert Journal(postgres).list_runs() == []
    with psycopg.connect(postgres, options="-c search_path=antiphon", autocommit=True) as connection:
        for name in older:
            connection.execute((files / name).read_text().encode())
        connection.execute("INSERT INTO queue_schema VALUES (%s)", (older[-1],))
        journal = Journal(postgres)
        journal.begin("test", "r", id="r", state="ready")
        with InProcess(postgres, lambda run: journal.resume(run).finish("done")) as dispatcher:
            dispatcher.make_ready(["r"])
            until(lambda: journal.find("r").state == "done")
        assert connection.execute("SELECT max(migration) FROM queue_schema").fetchall() == [(names[-1],)]
        connection.execute("INSERT INTO queue_schema VALUES ('99.00.00_01_pre_of_the_future.sql')")
    with pytest.raises(StoreError, match="newer release of Procrastinate"):
        Dispatcher(postgres).make_ready([])


def test_what_is_wrong_with_a_dispatcher_is_told(postgres: str) -> None:
    with pytest.raises(NotReadyError, match="at least one second"):
        Dispatcher(postgres, lease=0)
    with pytest.raises(NotReadyError, match="at least one slot"):
        Dispatcher(postgres).work(lambda _: None, slots=0)
    with pytest.raises(NotReadyError, match="between -1000 and 999"):
        Dispatcher(postgres).make_ready([], priority=1000)
    program = "import sys; sys.modules['procrastinate'] = None; from antiphon.durable import Dispatcher"
    program += f"\ntry: Dispatcher({postgres!r}).make_ready([])\nexcept Exception as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
    assert done.stdout == "workers need `procrastinate`: pip install 'antiphon[postgres]'\n", done.stderr
