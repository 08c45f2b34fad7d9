"""Many machines: 10,000 runs of 3 effects over 3 workers, one of which is killed. `make bench` runs it.

A PostgreSQL of the tests' own wheel serves them, on this machine: what it says is for comparing, not for sizing alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
LEASE = 5
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import psycopg  # noqa: E402

from antiphon.durable import Dispatcher, Journal  # noqa: E402
from tests import postgres_server  # noqa: E402

INSERT = (
    "INSERT INTO antiphon.sessions (id, state, created, updated, epoch, owner, kind, title, launch, number)"
    " SELECT 'row-' || n, 'ready', 0, extract(epoch FROM now()), 1, '', 'bench', '', '{}', n"
    " FROM generate_series(0, %s) AS n"
)


def timed(what: str, started: float, each: int | None = None) -> None:
    took = time.perf_counter() - started
    per = f"  {1000 * took / each:.2f} ms each" if each else ""
    print(f"{what:<44}{took:>8.2f} s{per}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=10_000)
    options.add_argument("--workers", type=int, default=3)
    options.add_argument("--slots", type=int, default=8)
    given = options.parse_args()
    postgres_server.configure()
    try:
        with postgres_server.database() as url:
            durable(url)
            one(url)
            many(url, given.runs, given.workers, given.slots)
        with postgres_server.database() as url:
            take_over(url, given.workers, given.slots)
    finally:
        postgres_server.finish()


def durable(url: str) -> None:
    """Tests need not survive a power failure; what is measured here is what one would run."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = on")
        connection.execute("SELECT pg_reload_conf()")


def one(url: str) -> None:
    journal = Journal(url)
    with journal.run("one"):
        started, cpu = time.perf_counter(), time.process_time()
        for number in range(500):
            journal.step(abs, number)
        timed("500 effects of one run", started, 500)
        print(f"{'  CPU of the worker':<44}{1000 * (time.process_time() - cpu) / 500:>8.2f} ms each")
    journal.remove("one")


def many(url: str, runs: int, count: int, slots: int) -> None:
    dispatcher = Dispatcher(url, lease=LEASE)
    dispatcher.metrics()
    with psycopg.connect(url, options="-c search_path=antiphon", autocommit=True) as connection:
        connection.execute(INSERT, (runs - 1,))
        started = time.perf_counter()
        assert dispatcher.make_ready([f"row-{number}" for number in range(runs)]) == runs
        timed(f"{runs} runs made ready", started)
        connection.execute("INSERT INTO procrastinate_workers (id) OVERRIDING SYSTEM VALUE VALUES (0)")
        started = time.perf_counter()
        for _ in range(20):
            connection.execute("SELECT id FROM procrastinate_fetch_job_v2(ARRAY['antiphon'], 0)")
        timed("20 fetched with all of them waiting", started, 20)
        connection.execute("DELETE FROM procrastinate_workers WHERE id = 0")
        work(connection, url, dispatcher, runs, count, slots)


def work(connection: psycopg.Connection, url: str, dispatcher: Dispatcher, runs: int, count: int, slots: int) -> None:
    home = Path(tempfile.mkdtemp())
    program = [sys.executable, str(ROOT / "tests/durable/worker_program.py"), url, str(home), str(LEASE), str(slots)]
    workers = [subprocess.Popen(program) for _ in range(count)]
    while not dispatcher.metrics().runs.get("done"):
        time.sleep(0.05)
    started = time.perf_counter()
    while dispatcher.metrics().runs.get("done", 0) < runs / 2:
        time.sleep(0.5)
    memory = Path(f"/proc/{workers[1].pid}/status")
    if memory.exists():
        (line,) = (each for each in memory.read_text().splitlines() if each.startswith("VmRSS"))
        print(f"{'memory of a worker':<44}{int(line.split()[1]) / 1024:>8.0f} MB")
    workers[0].kill()
    while dispatcher.metrics().runs.get("done", 0) < runs:
        time.sleep(0.2)
    took = time.perf_counter() - started
    print(f"{f'{count} workers of {slots} slots, one killed halfway':<44}{took:>8.2f} s  {runs / took:.0f} runs/s")
    for each in workers[1:]:
        each.terminate()
    for each in workers:
        each.wait()
    ((effects, twice),) = connection.execute("SELECT count(*), sum(attempt - 1) FROM steps").fetchall()
    ((size,),) = connection.execute(
        "SELECT pg_total_relation_size('effects') + pg_total_relation_size('runs')"
    ).fetchall()
    print(f"{'effects, begun twice':<44}{effects:>8}  {twice}")
    print(f"{'bytes on disk for a run':<44}{size / runs:>8.0f}")


def take_over(url: str, count: int, slots: int, rounds: int = 5) -> None:
    """How long after a worker is killed its runs are at others."""
    journal, dispatcher = Journal(url), Dispatcher(url, lease=LEASE)
    home = Path(tempfile.mkdtemp())
    program = [sys.executable, str(ROOT / "tests/durable/worker_program.py"), url, str(home), str(LEASE), str(slots)]
    workers = [subprocess.Popen(program) for _ in range(count)]
    waits: list[float] = []

    def held(worker: subprocess.Popen[bytes]) -> set[str]:
        asked = "SELECT id FROM sessions WHERE state = 'running' AND split_part(owner, ':', 2) = ?"
        return {id for (id,) in journal.database.query(asked, (str(worker.pid),))}

    for number in range(rounds):
        (home / "closed").touch()
        names = [f"held-{number}-{n}" for n in range((count - 1) * slots)]
        for name in names:
            journal.begin("bench", "", id=name, state="ready")
        dispatcher.make_ready(names)
        while sum(len(held(each)) for each in workers) < len(names):
            time.sleep(0.05)
        killed = max(workers, key=lambda each: len(held(each)))
        lost, workers = held(killed), [*(each for each in workers if each is not killed), subprocess.Popen(program)]
        killed.kill()
        killed.wait()
        started = time.perf_counter()
        while lost:
            taken = lost & {id for each in workers for id in held(each)}
            waits += [time.perf_counter() - started] * len(taken)
            lost -= taken
            time.sleep(0.01)
        (home / "closed").unlink()
        while dispatcher.metrics().runs != {"done": len(names) * (number + 1)}:
            time.sleep(0.05)
    for each in workers:
        each.terminate()
        each.wait()
    told = f"{median(waits):.1f} s in the middle, {max(waits):.1f} s at most"
    print(f"{f'a killed worker is taken over (lease {LEASE} s)':<44}{told}, of {len(waits)} runs")


if __name__ == "__main__":
    main()
