"""The journal: it starts, resumes, releases, forks and removes runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from antiphon.conversation import Conversation, Turn, UserPart
from antiphon.durable.active_run import ActiveRun
from antiphon.durable.journal_middleware import NO_VALUE, JournalMiddleware, PrintedLine, encode_effect
from antiphon.durable.journal_writer import PREPARING, JournalWriter, RunInUse, make_text_ref
from antiphon.durable.run_owner import make_owner_id
from antiphon.durable.turn_history import TurnRow, chain_turns, session_request_to_json
from antiphon.effects import (
    EffectCall,
    EffectContext,
    HumanAnswer,
    Outcome,
    PathCounter,
    RunPython,
    current_context,
    perform,
    use_context,
)
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import NotReadyError, NotSavedError, StoreError, Suspended
from antiphon.storage.conversation_entry import ID_TABLES, find_unused_id
from antiphon.storage.schema import ENDED_STATES, INSERT_TURN

P = ParamSpec("P")
R = TypeVar("R")


class Journal(JournalWriter):
    """Runs and their effects. Without a place, it is the file of the store of conversations.

    A URL, `postgresql://USER:PASSWORD@HOST/DATABASE`, is a database that many machines share.

    `with journal.run("nightly-7"):` starts or resumes a run. Finished effects give their saved outcomes, errors
    included, and only the others are performed. The effects of sessions and programs are saved automatically; `step`
    saves a call of your own function.
    """

    @contextmanager
    def run(self, id: str) -> Generator[None]:
        """Start or resume a run inside the block. After an exception, the run can be resumed."""
        running = self.resume(id) if self.has_run(id) else self.begin("python", id, id=id)
        state = "failed"
        try:
            with use_context(EffectContext(PathCounter(), (*current_context().performers, running.middleware))):
                yield
            state = "done"
        except Suspended:
            state = "waiting"
            raise
        except StoreError:
            # The journal has failed, not the run.
            state = "interrupted"
            raise
        except Exception:
            raise
        except BaseException:
            state = "interrupted"
            raise
        finally:
            running.finish(state)

    def step(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function once; later runs get the saved value. The value must have a JSON form."""
        where = current_context()
        if not any(isinstance(each, JournalMiddleware) for each in where.performers):
            raise NotReadyError("call `step` inside `with journal.run(…):`")
        # Methods of built-in types have no module, and callable objects have no name.
        owner = getattr(function, "__module__", None) or "builtins"
        name = f"{owner}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        effect = RunPython(name, {"args": list(args), **({"kwargs": kwargs} if kwargs else {})})
        return perform(EffectCall(where.node.next(), effect), lambda: function(*args, **kwargs))

    def begin(
        self,
        kind: str,
        title: str,
        begun_as: Mapping[str, Any] | None = None,
        *,
        id: str = "",
        state: str = "running",
        parent: str | None = None,
        number: int | None = None,
        said: str | None = None,
        is_private: bool = False,
        printed: Sequence[PrintedLine] = (),
    ) -> ActiveRun:
        """Create a run that this process owns. `begun_as` is its launch data: what it takes to resume it, as JSON data.

        The lines that it has `printed` are saved in the same transaction, so that a resumed run does not repeat them.
        """
        _check_id(id or "run")
        now, body, owner = (
            self.now(),
            dump_ascii_json(begun_as or {}),
            make_owner_id() if state in ("running", PREPARING) else "",
        )
        body = self.cipher.encrypt(body) if is_private else body
        lines = [
            (each.step.path, *encode_effect(self, self.secret_refs, each.step.effect, each.is_private))
            for each in printed
        ]

        tried: list[str] = []

        def make(connection: Any) -> str:
            # After a lost connection this runs again, and the first attempt may have been committed.
            for each in tried:
                if connection.execute("SELECT 1 FROM runs WHERE id = ? AND created = ?", (each, now)).fetchone():
                    return each
            self._store_text(connection, body)
            while True:
                chosen = id or self._find_unused_id(connection)
                tried.append(chosen)
                made = connection.execute(
                    "INSERT INTO runs"
                    " (id, state, created, updated, epoch, owner, kind, title, begun_as, parent, number, said)"
                    " VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (chosen, state, now, now, owner, kind, title, make_text_ref(body), parent, number, said),
                ).rowcount
                if made:
                    self._insert_lines(connection, chosen, lines, now)
                    return chosen
                if id:
                    raise RunInUse(f"another process has just started session {id!r}; resume that one")

        return ActiveRun(self, self._database.transact(make), 1, printed=len(lines))

    def begin_request(
        self,
        conversation: Conversation,
        mode: str,
        prompt: Sequence[UserPart] | None,
        title: str,
        kind: str = "session",
        about: Mapping[str, Any] | None = None,
    ) -> ActiveRun | None:
        """Create a run for a request of a session; `about` is more launch data."""
        key = self.save_turns(conversation.turns)
        return self.begin(
            kind, title, {**session_request_to_json(conversation, mode, prompt), **(about or {})}, said=key
        )

    def save_turns(self, turns: Sequence[Turn]) -> str:
        """Save the turns of a conversation, each once, and return the key of the history."""
        key, new = chain_turns(self, turns, self.secret_refs)
        if new:
            self._database.transact(lambda connection: _insert_turns(connection, new))
        return key

    def resume(self, id: str, *, by_force: bool = False, other_model: bool = False) -> ActiveRun:
        """Acquire an existing run. A living owner is an error, unless the run is taken `by_force`."""
        from antiphon.durable.replay_cache import load_replay_cache

        running = ActiveRun(self, id, self._acquire(id, by_force=by_force), other_model=other_model)
        running.middleware.replay_source = load_replay_cache(self, id)
        return running

    def resume_preparing(self, id: str) -> ActiveRun:
        """Acquire a batch whose rows are not all written, to write the others."""
        return ActiveRun(self, id, self._acquire(id, into=PREPARING))

    def revoke_lease(self, id: str) -> None:
        """Take a run and its children from their owners, which stop at their next effect."""
        with self._database.write_transaction() as connection:
            connection.execute(
                "UPDATE runs SET state = 'interrupted', owner = '', epoch = epoch + 1, updated = ?"
                " WHERE (id = ? OR parent = ?) AND state = 'running'",
                (self._database.now(connection), id, id),
            )
            connection.execute(
                "UPDATE runs SET owner = '', epoch = epoch + 1 WHERE id = ? AND state = ?", (id, PREPARING)
            )

    def release(self, id: str, epoch: int, state: str, body: str | None = None) -> None:
        """Release a run that this process still owns; `body` is the stored form of its ending."""

        def let_go(connection: Any) -> None:
            if body is not None:
                self._store_text(connection, body)
            as_now = "ready" if state == "waiting" and connection.execute(_ANSWERED, (id,)).fetchone() else state
            now, wakes = self._database.now(connection), self._compute_wake_time(connection, id)
            connection.execute(_RELEASE, (as_now, now, body and make_text_ref(body), wakes, id, epoch))
            if state == "done":
                connection.execute(_DISCARD_SET_ASIDE, (id,))

        self._database.transact(let_go)

    def answer(self, id: str, path: str, said: HumanAnswer) -> None:
        """Answer an open question of a run. The run reads the answer when it is resumed."""
        body = self.encode_outcome(id, path, Outcome(said))
        with self._database.write_transaction() as connection:
            # The lock orders this before or after an acquisition of the run, which then sees the answer.
            connection.execute("SELECT 1 FROM runs WHERE id = ?" + self._database.lock_clause, (id,))
            changed = connection.execute(
                "UPDATE effects SET state = 'done', outcome = ?, ended = ?"
                " WHERE run = ? AND path = ? AND kind = 'person' AND state = 'waiting'",
                (body, self._database.now(connection), id, path),
            ).rowcount
            connection.execute("UPDATE runs SET state = 'ready' WHERE id = ? AND state = 'waiting'", (id,))
            self._database.announce_ready(connection, id)
        if not changed:
            found = [each.path for each in self.list_questions(id, 11)]
            open_paths = ", ".join([*found[:10], "…"] if len(found) > 10 else found) or "none"
            raise NotReadyError(f"session {id!r} has no open question {path!r}; open: {open_paths}")

    def cancel(self, id: str) -> None:
        """Cancel a run. Its owner can write no more, and stops at its next effect."""
        with self._database.write_transaction() as connection:
            asked = "SELECT state FROM runs WHERE id = ?" + self._database.lock_clause
            found = connection.execute(asked, (id,)).fetchone()
            if found is None:
                raise NotSavedError(f"there is no session {id!r}")
            if found[0] in ENDED_STATES:
                raise NotReadyError(f"session {id!r} has already ended: {found[0]}")
            connection.execute(
                "UPDATE runs SET state = 'cancelled', owner = '', epoch = epoch + 1, updated = ?, wake_at = NULL"
                " WHERE id = ?",
                (self._database.now(connection), id),
            )
        self._database.finish_batch_of(id)

    def set_aside(self, id: str, epoch: int, about: str) -> str:
        """Move the effects of a run to a new child run, which serves for replay until the run is done."""
        with self._database.write_transaction() as connection:
            self._check_epoch(connection, id, epoch)
            ((count,),) = connection.execute(
                "SELECT count(*) FROM runs WHERE parent = ? AND kind = 'earlier'", (id,)
            ).fetchall()
            name = f"{id}~{count + 1}"
            connection.execute(
                "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, parent, ending)"
                " SELECT ?, 'shelved', created, updated, 0, '', 'earlier', title, begun_as, id, ? FROM runs"
                " WHERE id = ?",
                (name, about, id),
            )
            connection.execute("UPDATE effects SET run = ? WHERE run = ?", (name, id))
            # If this process dies, whoever resumes the run must not restart it again.
            connection.execute("UPDATE runs SET ending = NULL, steps = NULL WHERE id = ?", (id,))
        return name

    def fork(self, id: str, at: str, given: Outcome | None = None, begun_as: Mapping[str, Any] | None = None) -> str:
        """Create a run that replays the steps of another before a step, whose outcome may be `given`."""
        body, now = None if begun_as is None else self.encode_launch_data(id, dump_ascii_json(begun_as)), self.now()
        outcome = None if given is None else self.encode_outcome(id, at, given)
        with self._database.write_transaction() as connection:
            found = connection.execute("SELECT seq FROM effects WHERE run = ? AND path = ?", (id, at)).fetchone()
            if found is None:
                raise NotReadyError(f"session {id!r} has no step {at!r}; `antiphon show {id}` lists them")
            asked = "SELECT count(*) FROM effects WHERE run = ? AND seq < ?"
            if connection.execute(asked, (id, found[0])).fetchall() != [(found[0],)]:
                raise StoreError(
                    f"session {id!r} cannot be forked at {at}: the database is damaged, a step before it is gone"
                )
            if body is not None:
                self._store_text(connection, body)
            name = self._find_unused_id(connection)
            connection.execute(_INSERT_FORK, (name, now, now, body and make_text_ref(body), at, id))
            connection.execute(_COPY_EFFECTS, (name, id, found[0] + (given is not None), at))
            connection.execute(_REOPEN_OUTER, (name, at))
            if outcome is not None:
                self._store_text(connection, outcome)
                connection.execute(
                    "UPDATE effects SET state = 'done', outcome = ?, ended = ? WHERE run = ? AND path = ?",
                    (make_text_ref(outcome), now, name, at),
                )
        return name

    def remove(self, *ids: str) -> None:
        """Remove runs, their effects and their child runs."""
        with self._database.write_transaction() as connection:
            for id in ids:
                connection.execute("DELETE FROM runs WHERE id = ? OR parent = ?", (id, id))
                for table in () if self.is_shared else ("messages", "deliveries"):
                    # The names of a team's channels begin with its id and a slash.
                    connection.execute(f"DELETE FROM {table} WHERE channel > ? AND channel < ?", (f"{id}/", f"{id}0"))
            connection.execute(_DELETE_UNUSED_TEXTS)
            connection.execute(_DELETE_UNUSED_TURNS)

    def _find_unused_id(self, connection: Any) -> str:
        return find_unused_id(connection, ("runs",) if self.is_shared else ID_TABLES)

    def _insert_lines(self, connection: Any, run: str, lines: Sequence[tuple[str, str, str]], now: float) -> None:
        """Save printed lines as effects of a run."""
        for _, text, _ in lines:
            self._store_text(connection, text)
        rows = [
            (run, path, number, "print", hash, make_text_ref(text), "done", NO_VALUE, now, now, 1)
            for number, (path, text, hash) in enumerate(lines)
        ]
        self._database.insert_rows(connection, "effects", _LINE_COLUMNS, rows)

    def _compute_wake_time(self, connection: Any, id: str) -> float | None:
        """Return when the first sleep of a run ends, or its first rate-limited request may be sent."""
        rows = connection.execute(
            "SELECT began, effect FROM effects WHERE run = ? AND state = 'waiting' AND kind = 'sleep'", (id,)
        ).fetchall()
        sleeps = [
            (began, self.secret_refs.parse_with_values(self.load_text(effect), "a sleep")) for began, effect in rows
        ]
        moments = [began + asked["seconds"] for began, asked in sleeps]
        held = self._database.find_reserved_time(connection, id)
        return min([*moments, *([] if held is None else [held])], default=None)


#: The number of steps never decreases, so that a lost last step is noticed.
_RELEASE = (
    "UPDATE runs SET state = ?, owner = '', updated = ?, ending = ?, wake_at = ?, steps = (SELECT CASE"
    " WHEN runs.steps > coalesce(max(seq), -1) THEN runs.steps ELSE max(seq) + 1 END FROM effects WHERE run = runs.id)"
    " WHERE id = ? AND epoch = ?"
)
_LINE_COLUMNS = ("run", "path", "seq", "kind", "hash", "effect", "state", "outcome", "began", "ended", "attempt")
#: A forked row of a batch becomes a program.
_INSERT_FORK = (
    "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, said, fork_of, fork_at)"
    " SELECT ?, 'ready', ?, ?, 0, '', CASE kind WHEN 'row' THEN 'program' ELSE kind END, title,"
    " coalesce(?, begun_as), said, id, ? FROM runs WHERE id = ?"
)
_STEP_COLUMNS = "path, kind, hash, effect, state, outcome, began, ended, cost, attempt, said"
#: Unfinished steps are not copied; the fork performs them itself.
_COPY_EFFECTS = (
    # Steps are renumbered, because a gap would count as damage.
    f"INSERT INTO effects (run, seq, {_STEP_COLUMNS})"
    f" SELECT ?, row_number() OVER (ORDER BY seq) - 1, {_STEP_COLUMNS} FROM effects"
    " WHERE run = ? AND seq < ? AND (state <> 'begun' OR path = ?)"
)
#: The enclosing steps of a step are reopened, to reach it.
_REOPEN_OUTER = (
    "UPDATE effects SET state = 'waiting', outcome = NULL, ended = NULL, cost = NULL"
    " WHERE run = ? AND substr(?, 1, length(path) + 1) = path || '/'"
)
#: Set-aside effects of a finished run are not needed any more.
_DISCARD_SET_ASIDE = "UPDATE runs SET state = 'replaced' WHERE parent = ? AND kind = 'earlier' AND state = 'shelved'"
_USED = " UNION ".join(
    f"SELECT {column} FROM {table} WHERE {column} LIKE '@%'"
    for table, column in (("effects", "effect"), ("effects", "outcome"), ("runs", "begun_as"), ("runs", "ending"))
)
_DELETE_UNUSED_TEXTS = f"DELETE FROM texts WHERE '@' || hash NOT IN ({_USED})"
#: An answer that arrived while the run was being suspended.
_ANSWERED = (
    "SELECT 1 FROM effects JOIN runs ON id = run WHERE run = ? AND effects.kind = 'person'"
    " AND effects.state = 'done' AND ended >= updated LIMIT 1"
)
_DELETE_UNUSED_TURNS = (
    "DELETE FROM said WHERE key NOT IN (WITH RECURSIVE used (key) AS ("
    "SELECT said FROM runs WHERE said IS NOT NULL UNION SELECT said FROM effects WHERE said IS NOT NULL"
    " UNION SELECT before FROM said JOIN used ON said.key = used.key"
    ") SELECT key FROM used)"
)


def _insert_turns(connection: Any, rows: Sequence[TurnRow]) -> None:
    for row in rows:
        connection.execute(INSERT_TURN, row)


def _check_id(id: str) -> None:
    if not id or len(id) > 200:
        raise NotReadyError("the id of a run has 1 to 200 characters")
