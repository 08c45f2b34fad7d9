"""The journal in PostgreSQL, for many processes on many machines."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from antiphon._base.json import sanitize_unicode
from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import StoreError, StoreUnreachable
from antiphon.storage.database import Database, LeasedWrite, T
from antiphon.storage.schema import (
    AT_EPOCH,
    CREATE_CACHE_REPORTS,
    ENDED_STATES,
    NAME_SESSIONS,
    RUN_MIGRATIONS,
    UNIFY_SESSIONS,
)
from antiphon.storage.search import is_indexed, is_prefix, list_words

if TYPE_CHECKING:
    import psycopg

#: The schema of the journal in the user's database.
SCHEMA = "antiphon"
#: Seconds for which a lost connection is retried; a restart takes less.
RETRY_SECONDS = 30.0
#: The most characters of a turn that are indexed; PostgreSQL has a limit for the words of a text.
_MAX_INDEXED = 300_000

#: The lock prevents a takeover of the run during the statement.
_AT_LOCKED = f"{AT_EPOCH.removesuffix(')')} FOR SHARE)"
#: Additional tables for several machines: workers, rate limits, costs and the queue.
_SHARED_TABLES = (
    "CREATE INDEX runs_state ON runs (state)",
    # Listings of the newest runs skip the many rows of batches.
    "CREATE INDEX runs_alone ON runs (created, id) WHERE parent IS NULL",
    "CREATE INDEX runs_wake_at ON runs (wake_at) WHERE wake_at IS NOT NULL",
    f"CREATE INDEX runs_open ON runs (parent) WHERE kind = 'row' AND state NOT IN {ENDED_STATES}",
    """CREATE INDEX runs_lost ON runs (id) WHERE state = 'failed' AND ending LIKE '{"outcome":"lost"%'""",
    # Rows are in order of time, so a small BRIN index finds the last minute.
    "CREATE INDEX effects_began ON effects USING brin (began) WITH (autosummarize = on)",
    """CREATE TABLE workers (
        process TEXT PRIMARY KEY,
        slots INTEGER NOT NULL,
        started REAL NOT NULL,
        seen REAL NOT NULL
    )""",
    "CREATE TABLE limits (name TEXT PRIMARY KEY, free_at REAL NOT NULL)",
    # Reserved moments of requests in suspended runs.
    """CREATE TABLE held (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        until REAL NOT NULL,
        PRIMARY KEY (run, path)
    )""",
    # The cost of batches with a limit; NULL if a price is unknown.
    "CREATE TABLE spent (batch TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE, cost REAL)",
    # The newest migration of Procrastinate's tables.
    "CREATE TABLE queue (migration TEXT PRIMARY KEY)",
)
#: Later migrations.
_LATER_MIGRATIONS = (
    ("CREATE INDEX runs_batches ON runs (id) WHERE kind = 'map' AND state = 'ready'",),
    # The number of steps of a run, written on release and when a step is removed.
    (
        "ALTER TABLE runs ADD COLUMN steps BIGINT",
        f"""CREATE FUNCTION note_removed_steps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            UPDATE {SCHEMA}.runs SET steps = greatest(runs.steps, gone.last)
            FROM (SELECT run, max(seq) + 1 AS last FROM removed GROUP BY run) AS gone WHERE id = gone.run;
            RETURN NULL;
        END $$""",
        "CREATE TRIGGER effects_removed AFTER DELETE ON effects REFERENCING OLD TABLE AS removed"
        " FOR EACH STATEMENT EXECUTE FUNCTION note_removed_steps()",
    ),
    (
        "DROP TRIGGER effects_removed ON effects",
        "DROP FUNCTION note_removed_steps",
        *UNIFY_SESSIONS,
        "ALTER TABLE turn_texts ADD COLUMN words TSVECTOR NOT NULL",
        "CREATE INDEX turn_texts_words ON turn_texts USING gin (words)",
        CREATE_CACHE_REPORTS,
        "CREATE INDEX cache_reports_session ON cache_reports (session, key)",
        f"""CREATE FUNCTION note_removed_steps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            UPDATE {SCHEMA}.sessions SET step_count = greatest(sessions.step_count, gone.last)
            FROM (SELECT session, max(seq) + 1 AS last FROM removed GROUP BY session) AS gone
            WHERE id = gone.session;
            RETURN NULL;
        END $$""",
        "CREATE TRIGGER steps_removed AFTER DELETE ON steps REFERENCING OLD TABLE AS removed"
        " FOR EACH STATEMENT EXECUTE FUNCTION note_removed_steps()",
        "ALTER INDEX effects_seq RENAME TO steps_seq",
        "ALTER INDEX effects_began RENAME TO steps_began",
        "DROP INDEX runs_alone",
        "CREATE INDEX sessions_newest ON sessions (created, id) WHERE parent IS NULL AND kind <> 'conversation'",
        "ALTER INDEX runs_state RENAME TO sessions_state",
        "ALTER INDEX runs_wake_at RENAME TO sessions_wake",
        "ALTER INDEX runs_open RENAME TO sessions_open_rows",
        "ALTER INDEX runs_lost RENAME TO sessions_lost",
        "ALTER INDEX runs_batches RENAME TO sessions_batches",
        "ALTER TABLE limits RENAME TO rate_limits",
        "ALTER TABLE held RENAME TO reservations",
        "ALTER TABLE reservations RENAME COLUMN run TO session",
        "ALTER TABLE spent RENAME TO budgets",
        "ALTER TABLE budgets RENAME COLUMN batch TO scope",
        "ALTER TABLE queue RENAME TO queue_schema",
    ),
    NAME_SESSIONS,
)
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
_TYPES = {
    "INTEGER PRIMARY KEY AUTOINCREMENT": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INTEGER": "BIGINT",
    "REAL": "DOUBLE PRECISION",
    ") WITHOUT ROWID": ")",
}


def make_migrations() -> tuple[tuple[str, ...], ...]:
    """Return migration 1, 2, … of PostgreSQL."""
    types = re.compile("|".join(map(re.escape, _TYPES)))
    return tuple(
        tuple(types.sub(lambda found: _TYPES[found[0]], statement) for statement in each)
        for each in ((*RUN_MIGRATIONS[0], *_SHARED_TABLES), *RUN_MIGRATIONS[1:], *_LATER_MIGRATIONS)
    )


@lru_cache(maxsize=256)
def _convert_placeholders(statement: str) -> str:
    """Replace the placeholders of SQLite by those of psycopg."""
    return statement.replace("%", "%%").replace("?", "%s")


def is_postgres_url(place: object) -> bool:
    """Return whether the place of a journal is the URL of a PostgreSQL database."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


class PostgresConnection:
    """A connection that accepts the placeholders of SQLite."""

    def __init__(self, raw: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.raw = raw

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        return self.raw.execute(_convert_placeholders(statement).encode(), values)


class PostgresDatabase(Database):
    """A PostgreSQL database with a connection pool. Each transaction has its own connection."""

    is_shared = True
    position_function = "strpos"
    now_expression = "extract(epoch FROM clock_timestamp())::float8"
    greatest_function = "greatest"
    lock_clause = " FOR UPDATE"

    def __init__(
        self, url: str, *, patience: float = RETRY_SECONDS, migrations: Sequence[Sequence[str]] | None = None
    ) -> None:
        driver = _import_driver()
        try:
            parts = driver.conninfo.conninfo_to_dict(url)
        except driver.Error:
            # The message of the driver quotes the URL with the password.
            raise StoreError(
                "the URL of the PostgreSQL database cannot be read; it is postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            ) from None
        #: Contains the password, so it must not be printed.
        self.url = url
        self.secrets = tuple(str(parts[name]) for name in ("password", "sslpassword") if parts.get(name))
        options = f"{parts.get('options') or ''} -c search_path={SCHEMA}".strip()
        self.conninfo = driver.conninfo.make_conninfo(
            **{"connect_timeout": "10", "application_name": "antiphon", **parts, "options": options}
        )
        user = f"{parts['user']}@" if parts.get("user") else ""
        port = f":{parts['port']}" if parts.get("port") else ""
        self.name = f"postgresql://{user}{parts.get('host') or ''}{port}/{parts.get('dbname') or ''}"
        self._patience = patience
        self._migrations = make_migrations() if migrations is None else migrations
        self._free: list[psycopg.Connection[tuple[Any, ...]]] = []
        self._lock = Lock()
        self._is_current = False
        #: The difference between the server's clock and our monotonic clock.
        self._ahead: float | None = None

    def __repr__(self) -> str:
        return f"Postgres({self.name!r})"

    @contextmanager
    def read_transaction(self) -> Generator[PostgresConnection]:
        """Start a read-only transaction, which sees one snapshot."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            yield connection

    @contextmanager
    def write_transaction(self) -> Generator[PostgresConnection]:
        """Start a transaction."""
        with self._transaction("BEGIN") as connection:
            yield connection

    def query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a statement. It is retried after a lost connection."""

        def ask() -> list[Any]:
            with self._use_connection() as connection:
                return connection.execute(statement, values).fetchall()

        return self._retry(ask)

    def transact(self, work: Callable[[PostgresConnection], T]) -> T:
        """Return the result of a transaction. It is retried after a lost connection, so `work` may run twice."""

        def transact() -> T:
            with self.write_transaction() as connection:
                return work(connection)

        return self._retry(transact)

    def write_at_epoch(
        self, run: str, epoch: int, write: LeasedWrite, kept: Sequence[LeasedWrite] = (), is_durable: bool = False
    ) -> bool:
        del is_durable

        def send() -> bool:
            with self._use_connection() if not kept else self.write_transaction() as connection:
                done = connection.execute(f"{_AT_LOCKED} {write.statement}", (run, epoch, *write.values))
                is_changed = done.rowcount > 0
                for keep, row in kept if is_changed else ():
                    connection.execute(keep, row)
                return is_changed

        return self._retry(send)

    def insert_rows(self, connection: Any, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert many rows with `COPY`, in one message."""
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        with connection.raw.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def announce_ready(self, connection: Any, run: str) -> None:
        """Queue a ready run for workers in this transaction, if the queue exists."""
        ((there,),) = connection.execute(f"SELECT to_regclass('{SCHEMA}.procrastinate_jobs')")
        if there:
            from antiphon.storage.run_queue import enqueue_runs

            enqueue_runs(connection, [run], 0)

    def finish_batch_of(self, row: str) -> None:
        """Mark the batch of an ended row as done if it was the last row."""
        from antiphon.storage.run_queue import finish_batches

        finish_batches(self, [row])

    def insert_turn_texts(self, connection: Any, texts: Sequence[str]) -> list[int]:
        return [
            connection.execute(
                "INSERT INTO turn_texts (text, words) VALUES (?, to_tsvector('simple', ?)) RETURNING key",
                (sanitize_unicode(text), " ".join(list_words(text))[:_MAX_INDEXED]),
            ).fetchone()[0]
            for text in texts
        ]

    def delete_unlisted_texts(self, connection: Any, keys: Sequence[int] | None = None) -> None:
        unlisted = "DELETE FROM turn_texts WHERE NOT EXISTS (SELECT 1 FROM transcript WHERE text_key = key)"
        if keys is None:
            connection.execute(unlisted)
        else:
            connection.execute(f"{unlisted} AND key = ANY(?)", (list(keys),))

    def find_turns(self, connection: Any, term: str) -> Iterable[tuple[str, int]]:
        listed = "SELECT session, position FROM turn_texts JOIN transcript ON text_key = key"
        if is_indexed(term):
            asked = " <-> ".join(list_words(term)) + (":*" if is_prefix(term) else "")
            return connection.execute(f"{listed} WHERE words @@ to_tsquery('simple', ?)", (asked,)).fetchall()
        return connection.execute(f"{listed} WHERE strpos(lower(text), lower(?)) > 0", (term,)).fetchall()

    def check_writable(self) -> None:
        with self.write_transaction():
            pass

    def now(self, connection: Any = None) -> float:
        """Return the time of the server, because clocks of machines differ and may jump.

        With a connection, the server is asked. Otherwise the time is computed from that of the last connection.
        """
        if connection is not None:
            return connection.execute(_NOW).fetchall()[0][0]
        if self._ahead is None:
            self.query("SELECT 1", ())
        assert self._ahead is not None
        return self._ahead + time.monotonic()

    def find_reserved_time(self, connection: Any, run: str) -> float | None:
        return connection.execute("SELECT min(until) FROM reservations WHERE session = ?", (run,)).fetchone()[0]

    def list_heartbeats(self, process: str) -> list[tuple[float]]:
        return self.query("SELECT seen FROM workers WHERE process = ?", (process,))

    def close(self) -> None:
        with self._lock:
            free, self._free = self._free, []
        for each in free:
            each.close()

    @contextmanager
    def _transaction(self, begin: str) -> Generator[PostgresConnection]:
        with self._use_connection(begin) as connection:
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(_import_driver().Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _use_connection(self, begin: str = "") -> Generator[PostgresConnection]:
        """Borrow a connection, on which the statement `begin` was executed."""
        driver = _import_driver()
        raw = None
        try:
            raw = self._retry(lambda: self._begin_on_connection(begin))
            yield PostgresConnection(raw)
        except driver.Error as error:
            raise (StoreUnreachable if _is_connection_lost(error) else StoreError)(self._make_message(error)) from None
        finally:
            if raw is not None and raw.info.transaction_status == driver.pq.TransactionStatus.IDLE:
                with self._lock:
                    self._free.append(raw)
            elif raw is not None:
                # The connection is lost, or still inside a transaction.
                raw.close()

    def _begin_on_connection(self, begin: str) -> psycopg.Connection[tuple[Any, ...]]:
        """Return a working connection. A pooled one may be dead; then the next one is tried."""
        driver = _import_driver()
        while True:
            with self._lock:
                free = self._free.pop() if self._free else None
            try:
                raw = free or self._connect()
                if begin:
                    raw.execute(begin.encode())
                return raw
            except driver.OperationalError as error:
                if free is None or not _is_connection_lost(error):
                    raise (StoreUnreachable if _is_connection_lost(error) else StoreError)(
                        self._make_message(error)
                    ) from None
                free.close()

    def _retry(self, work: Callable[[], T]) -> T:
        end, pause = time.monotonic() + self._patience, 0.05
        while True:
            try:
                return work()
            except StoreUnreachable:
                # A server that never answered is probably not restarting, so fail at once.
                if not self._is_current or time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        raw = _import_driver().connect(self.conninfo, autocommit=True)
        try:
            if not self._is_current:
                self._prepare(PostgresConnection(raw))
            before = time.monotonic()
            said = self.now(PostgresConnection(raw))
            self._ahead = said - (before + time.monotonic()) / 2
        except BaseException:
            raw.close()
            raise
        return raw

    def _prepare(self, connection: PostgresConnection) -> None:
        if self._version(connection) < len(self._migrations):
            with connection.raw.transaction():
                # The lock lets one process at a time migrate.
                connection.execute("SELECT pg_advisory_xact_lock(1098871920)")
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                connection.execute("CREATE TABLE IF NOT EXISTS schema (version INTEGER PRIMARY KEY)")
                for number in range(self._version(connection), len(self._migrations)):
                    for statement in self._migrations[number]:
                        connection.execute(statement)
                    connection.execute("INSERT INTO schema VALUES (?)", (number + 1,))
        self._is_current = True

    def _version(self, connection: PostgresConnection) -> int:
        ((there,),) = connection.execute(f"SELECT to_regclass('{SCHEMA}.schema')")
        ((version,),) = connection.execute("SELECT max(version) FROM schema") if there else ((0,),)
        if (version or 0) > len(self._migrations):
            raise StoreError(
                f"the database in {self.name} was written by a newer release (schema {version}, this one knows"
                f" {len(self._migrations)}); update antiphon, or name another database"
            )
        return version or 0

    def _make_message(self, error: Exception) -> str:
        said = " ".join(str(error).split())
        for secret in self.secrets:
            said = said.replace(secret, "…")
        return f"the database in {self.name} {_explain_error(error)}: {said}"


def _import_driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise StoreError(describe_missing_extra("a journal in PostgreSQL needs", "postgres", error)) from None
    return psycopg


def _is_connection_lost(error: Exception) -> bool:
    """Return whether a retry may succeed: the connection was lost, or two transactions conflicted."""
    state = getattr(error, "sqlstate", None)
    if not isinstance(error, _import_driver().OperationalError):
        return False
    if state is None:
        # Errors while connecting have no state. Wrong credentials are not retried.
        return not re.search(r"authentication failed|does not exist|no password supplied|pg_hba", str(error))
    return state[:2] == "08" or state in ("40001", "40P01", "57P01", "57P02", "57P03")


def _explain_error(error: Exception) -> str:
    state = getattr(error, "sqlstate", None) or ""
    if _is_connection_lost(error):
        return "cannot be reached; check that the server runs, then try again"
    if state in ("53100", "53200", "58030"):
        return "cannot be written: the disk or memory of the server is full; nothing was changed"
    if state == "42501":
        return f"cannot be used: the role may not do this; it needs CREATE in the database, or the schema {SCHEMA!r}"
    if not state or state[:2] in ("28", "3D"):
        return "cannot be opened; check the URL"
    return "cannot be used"
