"""Lists over many sessions: 100,000 sessions with 1,000,000 steps in a file, and 100,000 rows of a batch in PostgreSQL.

`make bench` runs it. CPU of the second call, as the page asks again and again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from antiphon import Store  # noqa: E402
from antiphon.conversation import Conversation  # noqa: E402
from antiphon.durable import Dispatcher, Journal  # noqa: E402
from antiphon.storage.leases import PREPARING  # noqa: E402
from antiphon.storage.sqlite import SqliteDatabase  # noqa: E402
from antiphon.web import inbox, search, stored  # noqa: E402
from tests import postgres_server  # noqa: E402

STEPS, PAGE = 10, 500
SESSION_COLUMNS = (
    "id", "state", "created", "updated", "epoch", "owner", "kind", "title", "launch", "parent", "number",
)  # fmt: skip
STEP_COLUMNS = (
    "session", "path", "seq", "kind", "hash", "request", "state", "outcome", "began", "ended", "cost", "attempt",
)  # fmt: skip


def fill(database: SqliteDatabase, batches: int, rows: int) -> None:
    """Write batches with rows; the last step of each row of every tenth batch is an open question."""
    now = time.time()

    def write(connection: Any) -> None:
        for batch in range(batches):
            state = "done" if batch % 10 else "waiting"
            head = (f"b{batch:04}", state, now - batch, now - batch, 1, "", "map", "p.vibe", "{}", None, None)
            children = [
                (f"b{batch:04}.{row}", state, now - batch, now, 1, "", "row", f"row {row}", "{}", head[0], row)
                for row in range(rows)
            ]
            database.insert_rows(connection, "sessions", SESSION_COLUMNS, [head, *children])
            steps = [
                (id, str(seq + 1), seq, *what(seq, state), now - batch, now, 0.001, 1)
                for id, *_ in children
                for seq in range(STEPS)
            ]
            database.insert_rows(connection, "steps", STEP_COLUMNS, steps)

    database.transact(write)


def what(seq: int, state: str) -> tuple[str, str, str, str, str | None]:
    """Return kind, hash, request, state and outcome of a step."""
    if seq == STEPS - 1 and state == "waiting":
        return "person", "h", '{"kind":"person","about":"question","text":"Sure?"}', "waiting", None
    return "request" if seq % 2 else "python", "h", '{"kind":"python","source":"f"}', "done", '{"value":3}'


def measure(name: str, ask: Callable[[], object], goal: float = 0.3) -> None:
    ask()
    before = time.process_time()
    found = ask()
    took = time.process_time() - before
    print(f"{name:<44}{took:>8.4f} s of CPU, found {found}{'' if took <= goal else ': NOT met'}", flush=True)


def lists(folder: Path, batches: int, rows: int) -> None:
    """Ask what the terminal and the page list."""
    path = folder / "logs.db"
    database = SqliteDatabase(path)
    fill(database, batches, rows)
    journal, store = Journal(path), Store(path)
    conversation = Conversation()
    for number in range(200):
        (conversation.add_assistant if number % 2 else conversation.add_user)(f"turn {number} {'word ' * 200}")
    store.save(conversation, model="m", command="chat")
    size = path.stat().st_size / 1e6
    print(f"{batches * (rows + 1):,} sessions, {batches * rows * STEPS:,} steps, {size:.0f} MB", flush=True)
    measure("the newest 50", lambda: len(journal.list_runs(limit=50)))
    measure("those that wait", lambda: len(journal.list_runs(state="waiting", limit=50)))
    measure("those that run", lambda: len(journal.list_runs(state="running", limit=50)))
    measure("the rows of a batch", lambda: len(journal.list_runs(parent="b0003")))
    measure("one by its name", lambda: journal.find("b0007").id)
    measure("the page: sessions", lambda: len(stored.runs(journal)))
    measure("the page: what has changed", lambda: len(stored.changes(journal)))
    measure("the page: the oldest 100 open questions", lambda: len(inbox.inbox(journal)))
    measure("the page: a word", lambda: len(search.searched(journal, ("vibe",), journal.make_filter())["sessions"]))
    measure("conversations", lambda: len(store.list(50)))
    measure("conversations with a word", lambda: len(store.list(50, query="word")))
    measure("a fork of 200 turns", lambda: store.find(store.fork("last")).turns)


def rows_in_postgres(rows: int) -> None:
    """Write the rows of a batch to a server, and queue them for workers."""
    postgres_server.configure()
    try:
        with postgres_server.database() as url:
            journal, dispatcher = Journal(url), Dispatcher(url)
            dispatcher.make_ready([])
            wall, cpu = time.perf_counter(), time.process_time()
            batch = journal.begin("map", "p.vibe", state=PREPARING)
            for first in range(0, rows, PAGE):
                journal.add_rows(*batch.fence, [(number, {"n": number}) for number in range(first, first + PAGE)])
            journal.complete_batch(*batch.fence)
            dispatcher.make_ready(f"{batch.id}.{number}" for number in range(rows))
            took = time.perf_counter() - wall
            print(
                f"{rows:,} rows written with COPY and queued: {took:.1f} s by the clock,"
                f" {time.process_time() - cpu:.1f} s of CPU here{'' if took < 60 else ': NOT met'}"
            )
            dispatcher.close()
            journal.close()
    finally:
        postgres_server.finish()


def main() -> None:
    """Measure all and print it."""
    options = argparse.ArgumentParser()
    options.add_argument("--batches", type=int, default=100)
    options.add_argument("--rows", type=int, default=1000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lists(Path(folder), given.batches, given.rows)
    rows_in_postgres(given.batches * given.rows)


if __name__ == "__main__":
    main()
