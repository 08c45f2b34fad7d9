"""The journal: it starts, resumes, releases, forks and removes runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from antiphon.conversation import Conversation, Turn, UserPart
from antiphon.durable.active_run import ActiveRun
from antiphon.durable.journal_middleware import JournalFailed, JournalMiddleware, PrintedLine, encode_effect
from antiphon.durable.journal_reader import JournalReader
from antiphon.durable.run_owner import describe_owner, find_main_script, make_owner_id, may_owner_be_alive
from antiphon.durable.turn_history import chain_turns, session_request_to_json
from antiphon.effects import (
    EffectCall,
    EffectContext,
    HumanAnswer,
    Outcome,
    PathCounter,
    RunPython,
    current_context,
    outcome_to_json,
    perform,
    use_context,
)
from antiphon.effects.codec import dump_ascii_json, encode_value
from antiphon.errors import NotReadyError, StoreError, Suspended
from antiphon.storage import leases, sessions, steps
from antiphon.storage.database import LeasedWrite
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.leases import PREPARING, ClosedStep
from antiphon.storage.sessions import NewSession, PrintedRow
from antiphon.storage.texts import TurnRow, insert_turns, split_large_texts

P = ParamSpec("P")
R = TypeVar("R")


class Journal(JournalReader):
    """Runs and their effects. Without a place, it is the file of the store of conversations.

    A URL, `postgresql://USER:PASSWORD@HOST/DATABASE`, is a database that many machines share. `":memory:"` lasts as
    long as the process.

    `with journal.run("nightly-7"):` starts or resumes a run. Finished effects give their saved outcomes, errors
    included, and only the others are performed. The effects of sessions and programs are saved automatically; `step`
    saves a call of your own function.
    """

    @contextmanager
    def run(self, id: str) -> Generator[None]:
        """Start or resume a run inside the block. After an exception, the run can be resumed."""
        running = (
            self.resume(id) if self.has_run(id) else self.begin("python", id, {"script": find_main_script()}, id=id)
        )
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
            self.withhold_in_request(begun_as or {}),
            make_owner_id() if state in ("running", PREPARING) else "",
        )
        body = self.cipher.encrypt(body) if is_private else body
        lines = [
            PrintedRow(each.step.path, *encode_effect(self, self.secret_refs, each.step.effect, each.is_private))
            for each in printed
        ]
        new = NewSession(kind, self.secret_refs.redact(title), body, state, owner, parent, number, said)
        return ActiveRun(self, sessions.create(self.database, new, now, lines, id=id), 1, printed=len(lines))

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
            self.database.transact(lambda connection: insert_turns(connection, new))
        return key

    def resume(self, id: str, *, by_force: bool = False, other_model: bool = False, reopens: bool = False) -> ActiveRun:
        """Acquire an existing run. A living owner is an error, unless the run is taken `by_force`.

        A cancelled run is an error too, unless it `reopens`.
        """
        epoch = self._acquire(id, by_force=by_force, reopens=reopens)
        running = ActiveRun(self, id, epoch)
        running.start_replay(other_model=other_model)
        return running

    def resume_preparing(self, id: str) -> ActiveRun:
        """Acquire a batch whose rows are not all written, to write the others."""
        return ActiveRun(self, id, self._acquire(id, into=PREPARING))

    def revoke_lease(self, id: str) -> None:
        """Take a run and its children from their owners, which stop at their next effect."""
        leases.revoke(self.database, id)

    def hold(self, id: str) -> ActiveRun:
        """Acquire a run without changing its state, so that no other process can."""
        return ActiveRun(self, id, self._acquire(id, into=self.find(id).state, reopens=True))

    def release(
        self,
        id: str,
        epoch: int,
        state: str,
        body: str | None = None,
        *,
        is_held: bool = False,
        step: tuple[str, Outcome] | None = None,
    ) -> None:
        """Release a run that this process still owns, unless it `is_held`; `body` is the stored form of its ending.

        `step` is a path and the outcome of this step; `Suspended` says that it waits.
        """
        closed: ClosedStep | None = None
        if step is not None:
            path, outcome = step
            is_waiting = isinstance(outcome.error, Suspended)
            ended = "waiting" if is_waiting else "done" if outcome.error is None else "failed"
            closed = ClosedStep(path, ended, None if is_waiting else self.encode_outcome(id, path, outcome))
        leases.release(self.database, id, epoch, state, body, self._compute_wake_time, is_held=is_held, step=closed)

    def answer(self, id: str, path: str, said: HumanAnswer) -> None:
        """Answer an open question of a run. The run reads the answer when it is resumed."""
        body = self.encode_outcome(id, path, Outcome(said))
        if not steps.answer_question(self.database, id, path, body):
            found = [each.path for each in self.list_questions(id, 11)]
            open_paths = ", ".join([*found[:10], "…"] if len(found) > 10 else found) or "none"
            raise NotReadyError(f"session {id!r} has no open question {path!r}; open: {open_paths}")

    def cancel(self, id: str) -> None:
        """Cancel a run. Its owner can write no more, and stops at its next effect."""
        leases.cancel(self.database, id)

    def fork(self, id: str, at: str, given: Outcome | None = None, begun_as: Mapping[str, Any] | None = None) -> str:
        """Create a run that replays the steps of another before a step, whose outcome may be `given`."""
        launch = None if begun_as is None else self.encode_launch_data(id, begun_as)
        outcome = None if given is None else self.encode_outcome(id, at, given)
        return sessions.fork(self.database, id, at, self.now(), launch=launch, outcome=outcome)

    # Writes

    def encode_outcome(self, id: str, path: str, outcome: Outcome) -> str:
        """Return the stored form of an outcome that was given for a step; it is encrypted if the step is private."""
        body = self.secret_refs.insert_references(dump_ascii_json(outcome_to_json(outcome)))
        step = steps.find_step(self.database, id, path)
        is_private = step is not None and self.load_raw_text(step.request).startswith(ENCRYPTED_MARK)
        return self.cipher.encrypt(body) if is_private else body

    def encode_launch_data(self, id: str, data: Mapping[str, Any]) -> str:
        """Return the stored form of launch data; it is encrypted if that of this run is."""
        body = self.withhold_in_request(data)
        kept = sessions.find_text(self.database, id, "launch")
        is_private = kept is not None and self.load_raw_text(kept).startswith(ENCRYPTED_MARK)
        return self.cipher.encrypt(body) if is_private else body

    def withhold_in_request(self, data: Mapping[str, Any]) -> str:
        """Return launch data as JSON, with references in place of secrets if it is that of a session.

        The inputs of programs are withheld by encryption.
        """
        body = dump_ascii_json(data)
        return self.secret_refs.insert_references(body) if "mode" in data else body

    def write_at_epoch(
        self,
        run: str,
        epoch: int,
        write: LeasedWrite,
        turns: Sequence[TurnRow] = (),
        is_durable: bool = False,
        *,
        beside: LeasedWrite | None = None,
    ) -> None:
        """Change a run, or raise LeaseLost if another process took it. Large texts are stored apart.

        `turns` holds the rows of new turns, and `beside` is another change of the run in the same transaction. If
        `is_durable`, the write survives a power failure.
        """
        write, extra = split_large_texts(write, turns)
        if beside is not None:
            second, large = split_large_texts(beside, ())
            extra = [*extra, *large, leases.fence_write(run, epoch, second)]
        try:
            if not self.database.write_at_epoch(run, epoch, write, extra, is_durable):
                leases.transact_at_epoch(self.database, run, epoch, lambda _: None)
        except StoreError as error:
            raise JournalFailed(
                f"session {run!r} stops, because its steps cannot be written to the database: {error}"
            ) from error

    def add_rows(
        self, batch: str, epoch: int, rows: Sequence[tuple[int, Mapping[str, Any]]], is_private: bool = False
    ) -> None:
        """Write rows of a batch that is `preparing`, in the order of their numbers. They cannot run yet."""
        close = self.cipher.encrypt if is_private else str
        bodies = [(number, close(dump_ascii_json({"inputs": encode_value(inputs)}))) for number, inputs in rows]
        sessions.add_rows(self.database, batch, epoch, bodies, self.now())

    def complete_batch(self, batch: str, epoch: int) -> None:
        """Make a batch and its rows ready to run, in one transaction."""
        sessions.complete_batch(self.database, batch, epoch)

    def remove(self, *ids: str) -> None:
        """Remove runs, their effects and their child runs."""
        sessions.remove(self.database, ids)

    def _acquire(self, id: str, *, into: str = "running", by_force: bool = False, reopens: bool = False) -> int:

        def describe_alive(owner: str) -> str:
            return describe_owner(owner, id) if may_owner_be_alive(owner) else ""

        return leases.acquire(
            self.database,
            id,
            make_owner_id(),
            into=into,
            by_force=by_force,
            reopens=reopens,
            describe_alive=describe_alive,
        )

    def _compute_wake_time(self, sleeps: list[tuple[float, str]]) -> float | None:
        """Return when the first of these sleeps ends; each has its beginning and its request."""
        asked = [
            (began, self.secret_refs.parse_with_values(self.load_text(request), "a sleep")) for began, request in sleeps
        ]
        return min((began + each["seconds"] for began, each in asked), default=None)


def _check_id(id: str) -> None:
    if not id or len(id) > 200:
        raise NotReadyError("the id of a run has 1 to 200 characters")
