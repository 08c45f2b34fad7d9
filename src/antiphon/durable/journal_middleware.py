"""Middleware that saves each effect of a run before and after, and replays the outcomes of finished ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from antiphon.durable.run_entries import format_local_time
from antiphon.durable.turn_history import chain_turns, forget_stored_turns
from antiphon.effects import (
    AskModel,
    AskPerson,
    CallTool,
    Effect,
    EffectCall,
    IndeterminateEffect,
    Middleware,
    ModelReplied,
    Outcome,
    Print,
    ReadEnvironment,
    RunPython,
    SendBatch,
    SendMessage,
    Sleep,
    ToolReturned,
)
from antiphon.effects.codec import (
    dump_ascii_json,
    effect_to_json_without_turns,
    fingerprint,
    recorded_outcome_from_json,
    recorded_outcome_to_json,
    serialize_effect,
)
from antiphon.effects.pipeline import is_effect_private
from antiphon.errors import ConfigurationError, FormatError, SessionAborted, StoreError, Suspended
from antiphon.storage import steps
from antiphon.storage.database import LeasedWrite
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.secret_refs import SecretMissing, is_public_variable, parse_redacted_json
from antiphon.storage.steps import NO_VALUE, StepRow
from antiphon.storage.texts import TurnRow

if TYPE_CHECKING:
    from antiphon.durable.journal import Journal
    from antiphon.providers.continuation import Pending
    from antiphon.storage.secret_refs import SecretRefs

H = TypeVar("H", bound=SessionAborted)
#: A run that sleeps longer, in seconds, is suspended and resumed when it is due.
LONG_SLEEP = 60
#: The number of rows that a resumed run reads at once, and the number it holds for concurrent branches.
_READ_AHEAD, _MAX_BUFFERED = 256, 4_096
#: The field with a keyed hash of the value in the outcome of reading a variable.
VALUE_HASH = "noted"
#: The field with the id of a pending background response of a request.
_PENDING = "pending"


class JournalFailed(SessionAborted, StoreError):
    """The effects of a run can no longer be written or read, so the run stops."""


class ReplayDiverged(SessionAborted):
    """A resumed run requested another effect than before: the program or something it depends on has changed."""

    option = "--edited"


class PrintedLine(NamedTuple):
    """A line that a program printed before its run was created."""

    step: EffectCall
    is_private: bool


class ReplaySource(Protocol):
    """A source of earlier outcomes for a restarted run."""

    #: Environment variables whose value has changed.
    changed_variables: list[str]

    def take(self, path: str, kind: str, hash: str) -> StepRow | None:
        """Return a finished effect with this request, each only once."""
        ...


class JournalMiddleware(Middleware):
    """Middleware for one run of a journal."""

    #: A run that needs a person can be suspended until the answer arrives.
    is_durable = True

    def __init__(
        self, journal: Journal, run: str, epoch: int, *, other_model: bool = False, printed: int | None = None
    ) -> None:
        self._journal = journal
        self._run = run
        self._epoch = epoch
        self._other_model = other_model
        #: The message about missing steps, which forbid to continue; empty if there are none.
        self._gap = ""
        if printed is None:
            counted = steps.count_steps(journal.database, run)
            if counted.stored != max(counted.noted, counted.last):
                path = steps.find_first_gap(journal.database, run)
                where = f" before step {path}" if path else " at the end"
                self._gap = (
                    f"session {run!r} stops: the database is damaged: steps{where} are missing and would be repeated;"
                    f" `antiphon resume {run} --edited` resumes anyway and repeats them"
                )
            self._count = self._known = counted.last
        else:
            # A new run, which has printed lines that it will not request again.
            self._count, self._known = printed, 0
        self._rows: dict[str, StepRow] = {}
        #: Paths of steps that were suspended here, and may be requested again here.
        self._suspended: set[str] = set()
        self._read_to = -1 if self._known else None
        self._lock = threading.Lock()
        #: Held while a new step is written, so that the numbers of steps have no gaps.
        self._numbering = threading.Lock()
        self._secret_refs = journal.secret_refs.copy()
        #: Saved hashes of variables that are being read again, by path.
        self._value_hashes: dict[str, str] = {}
        self.replay_source: ReplaySource | None = None

    @property
    def run(self) -> str:
        """The id of the run."""
        return self._run

    def get_trace_seed(self) -> str:
        """Return the id of the outermost session and the time at which it was created."""
        entry = self._journal.find(self._run)
        while entry.parent is not None:
            entry = self._journal.find(entry.parent)
        return f"{entry.id} {entry.created!r}"

    def before(self, step: EffectCall) -> Outcome | None:
        """Return the saved outcome, or save that the effect starts."""
        if self._gap:
            raise _with_resume_option(JournalFailed(self._gap), "--edited")
        row = self._find_row(step.path)
        if row is None:
            return self._begin_effect(
                step, *encode_effect(self._journal, self._secret_refs, step.effect, is_effect_private())
            )
        self._check_same_request(step, serialize_effect(step.effect)[1], row)
        if row.state in ("done", "failed"):
            return self._decode_outcome(step.effect, row)
        if isinstance(step.effect, Sleep) and row.state == "waiting":
            return self._finish_sleep(step, row.began + step.effect.seconds)
        if row.state == "begun" and is_unrepeatable(step.effect):
            outcome = Outcome(error=make_indeterminate_error(step.effect))
            self.after(step, outcome)
            return outcome
        again = steps.restart_step(step.path, _initial_state(step.effect))
        self._write(again, is_durable=is_unrepeatable(step.effect))
        return None

    def begin_message(self, step: EffectCall, beside: LeasedWrite) -> None:
        """Save that a message starts, with another change of the session in the same transaction."""
        text, hash = encode_effect(self._journal, self._secret_refs, step.effect, is_effect_private())
        self._insert_effect(step, text, hash, _initial_state(step.effect), None, beside=beside)

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Save the outcome."""
        if isinstance(step.effect, Print) and outcome.error is None:
            return
        if isinstance(outcome.error, Suspended):
            # An effect inside this one is pending; this one starts again to reach it.
            with self._lock:
                self._suspended.add(step.path)
            self._write(steps.update_step(step.path, state="waiting"))
            return
        if isinstance(outcome.error, SessionAborted):
            return
        if isinstance(step.effect, AskModel) and isinstance(outcome.error, ConfigurationError):
            # Without a key no request was sent, so nothing is saved and a resumed run asks.
            return
        state = "failed" if outcome.error is not None else "done"
        cost = outcome.value.cost if isinstance(outcome.value, ModelReplied | ToolReturned) else None
        text = self._encode_value_hash(step, outcome) or dump_ascii_json(recorded_outcome_to_json(step.effect, outcome))
        text, ended = self.protect(text), self._journal.now()
        self._write(steps.update_step(step.path, state=state, outcome=text, ended=ended, cost=cost))

    def pending(self, path: str) -> Pending | None:
        """Return where the id of a response in the background is kept, with the id of the last time."""
        from antiphon.providers.continuation import Pending

        def note(id: str) -> None:
            self.note(path, {_PENDING: id} if id else {}, is_durable=True)

        return Pending(str(self.load_note(path).get(_PENDING, "")), note)

    def load_note(self, path: str) -> dict[str, Any]:
        """Return what was noted about a step that has no outcome yet."""
        row = steps.find_step(self._journal.database, self.run, path)
        if row is None or row.state not in ("begun", "waiting") or not row.outcome:
            return {}
        return self._read(row, row.outcome, self._secret_refs.parse_with_values)

    def note(self, path: str, data: Mapping[str, Any], *, is_durable: bool = False) -> None:
        """Note JSON data about a step that has no outcome yet, in place of what was noted before."""
        text = self.protect(dump_ascii_json(data)) if data else None
        self._write(steps.update_step(path, outcome=text), is_durable=is_durable)

    def stream_listener(self, path: str) -> AbstractContextManager[Callable[[str], object] | None]:
        """Return a context with a function that publishes the chunks of an answer."""
        live = self._journal.live_output
        return nullcontext() if live is None or is_effect_private() else live.publish(self.run, path, self._secret_refs)

    def protect(self, text: str) -> str:
        """Return the stored form of a JSON text: without secret values, and encrypted if the effect is private."""
        text = self._secret_refs.insert_references(text)
        return self._journal.cipher.encrypt(text) if is_effect_private() else text

    def skip_replay(self) -> None:
        """Perform all effects from now on, because none of them was performed before."""
        self._gap, self._read_to = "", None
        self._rows.clear()

    def _find_row(self, path: str) -> StepRow | None:
        with self._lock:
            if path not in self._rows and self._read_to is not None and len(self._rows) < _MAX_BUFFERED:
                self._read_ahead(self._read_to)
            if (row := self._rows.pop(path, None)) is not None:
                return row
            if self._read_to is None and path not in self._suspended:
                # All earlier steps have been read, so this one is new.
                return None
            self._suspended.discard(path)
        return steps.find_step(self._journal.database, self.run, path)

    def _read_ahead(self, after: int) -> None:
        found = steps.list_steps(self._journal.database, self.run, after, _READ_AHEAD, before=self._known)
        self._rows |= {row.path: row for row in found}
        self._read_to = found[-1].seq if len(found) == _READ_AHEAD else None

    def _has_hash(self, row: StepRow, hash: str) -> bool:
        return row.hash == (_hash_with_key(self._journal, hash) if row.hash.startswith(ENCRYPTED_MARK) else hash)

    def _check_same_request(self, step: EffectCall, hash: str, row: StepRow) -> None:
        if row.kind == step.effect.kind and self._has_hash(row, hash):
            return
        then = self._read(row, row.request, parse_redacted_json)
        if self._other_model and isinstance(step.effect, AskModel) and then.get("kind") == "request":
            # The same request to another model counts as the same.
            same = replace(step.effect, model=then["model"], options=then["options"])
            if self._has_hash(row, fingerprint(same)):
                return
        now = parse_redacted_json(
            self._secret_refs.insert_references(dump_ascii_json(effect_to_json_without_turns(step.effect))), "a step"
        )
        raise ReplayDiverged(
            f"step {step.path} of session {self.run} differs from the saved one.\n"
            f"  then: {_format_request(then)}\n  now:  {_format_request(now)}"
        )

    def _decode_outcome(self, effect: Effect, row: StepRow) -> Outcome | None:
        try:
            data = self._read(row, row.outcome, self._secret_refs.parse_with_values)
            if isinstance(effect, ReadEnvironment) and VALUE_HASH in data:
                self._value_hashes[row.path] = str(data[VALUE_HASH])
                return None
            return recorded_outcome_from_json(data)
        except SecretMissing as error:
            changed = ReplayDiverged(
                f"the outcome of step {row.path} of session {self.run} refers to the variable {error.name!r} of the"
                " environment, which has another value now; set the earlier value, or repeat the step with"
                f" `antiphon resume {self.run} --retry {row.path}`"
            )
            raise _with_resume_option(changed, f"--retry {row.path}") from None
        except FormatError as error:
            raise self._make_damage_error(row, error) from None

    def _read(self, row: StepRow, kept: str | None, read: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
        try:
            return read(self._journal.load_text(kept or ""), f"step {row.path}")
        except StoreError as error:
            raise self._make_damage_error(row, error) from None

    def _encode_value_hash(self, step: EffectCall, outcome: Outcome) -> str:
        """Return the outcome of reading a variable with a hash instead of the value, which may be secret.

        It is empty if the value itself is saved. A changed value ends the run, unless the run was restarted.
        """
        effect, value, then = step.effect, outcome.value, self._value_hashes.pop(step.path, None)
        if not isinstance(effect, ReadEnvironment) or outcome.error is not None:
            return ""
        if isinstance(value, str) and not is_public_variable(effect.name):
            self._secret_refs.add(effect.name, value)
        noted = f"{self._journal.cipher.key_id}{self._secret_refs.hash(value)}" if isinstance(value, str) else None
        if then is not None and then != noted:
            self._handle_changed_value(step.path, effect.name, then)
        return "" if noted is None or is_public_variable(effect.name) else dump_ascii_json({VALUE_HASH: noted})

    def _handle_changed_value(self, path: str, name: str, then: str) -> None:
        if not then.startswith(self._journal.cipher.key_id):
            other = self._journal.cipher.make_wrong_key_error(
                f"what step {path} of session {self.run} read from the environment"
            )
            raise JournalFailed(str(other))
        if self.replay_source is None:
            raise ReplayDiverged(
                f"the environment variable {name!r} has another value than when step {path} of session {self.run} read"
                f" it; set the earlier value, or use the new one and repeat the steps that depend on it with"
                f" `antiphon resume {self.run} --edited`"
            )
        self.replay_source.changed_variables.append(name)

    def _make_damage_error(self, row: StepRow, why: object) -> JournalFailed:
        again = f"`antiphon resume {self.run} --retry {row.path}` repeats the step"
        why = str(why).removeprefix("the database is damaged: ")
        told = f"session {self.run!r} stops: the database is damaged at its step {row.path}: {why}; {again}"
        return _with_resume_option(JournalFailed(told), f"--retry {row.path}")

    def _begin_effect(self, step: EffectCall, text: str, hash: str) -> Outcome | None:
        effect = step.effect
        known = None if self.replay_source is None else self.replay_source.take(step.path, effect.kind, hash)
        if known is not None:
            self._insert_effect(step, text, hash, known.state, known.outcome, known.cost)
            return self._decode_outcome(effect, known._replace(path=step.path))
        state = _initial_state(effect)
        # A line is saved before it is printed: a lost line is better than one printed twice.
        self._insert_effect(step, text, hash, state, NO_VALUE if isinstance(effect, Print) else None)
        if isinstance(effect, Sleep) and state == "waiting":
            raise Suspended(_format_wake_time(self._journal.now() + effect.seconds))
        return None

    def _finish_sleep(self, step: EffectCall, until: float) -> Outcome:
        if self._journal.now() < until:
            raise Suspended(_format_wake_time(until))
        outcome = Outcome()
        self.after(step, outcome)
        return outcome

    def _insert_effect(
        self,
        step: EffectCall,
        text: str,
        hash: str,
        state: str,
        outcome: str | None,
        cost: float | None = None,
        *,
        beside: LeasedWrite | None = None,
    ) -> None:
        now = self._journal.now()
        ended = now if state in ("done", "failed") else None
        said, turns = None, list[TurnRow]()
        if isinstance(step.effect, AskModel | SendMessage) and not is_effect_private():
            said, turns = chain_turns(self._journal, step.effect.turns, self._secret_refs)
        try:
            with self._numbering:
                # An effect that must not be repeated has to be saved even if the power fails.
                row = StepRow(
                    self._count, step.path, step.effect.kind, hash, text, state, outcome, now, ended, cost, attempt=1
                )
                self._write(steps.insert_step(row, said), turns, _is_written_durably(step.effect), beside=beside)
                self._count += 1
        except BaseException:
            forget_stored_turns(step.effect)
            raise

    def _write(
        self,
        write: LeasedWrite,
        turns: Sequence[TurnRow] = (),
        is_durable: bool = False,
        *,
        beside: LeasedWrite | None = None,
    ) -> None:
        self._journal.write_at_epoch(self.run, self._epoch, write, turns, is_durable, beside=beside)


def _with_resume_option(error: H, option: str) -> H:
    """Set the option of `antiphon resume` that resolves an error."""
    error.option = option
    return error


def encode_effect(journal: Journal, withheld: SecretRefs, effect: Effect, is_private: bool) -> tuple[str, str]:
    """Return the stored text and fingerprint of an effect."""
    text, hash = serialize_effect(effect)
    if is_private or withheld.contains_secret(effect, text):
        hash = _hash_with_key(journal, hash)
    text = withheld.insert_references(text)
    return journal.cipher.encrypt(text) if is_private else text, hash


def _hash_with_key(journal: Journal, hash: str) -> str:
    """Return a keyed fingerprint, which nobody without the key finds by trying."""
    return ENCRYPTED_MARK + journal.cipher.hash(hash)


def _initial_state(effect: Effect) -> str:
    match effect:
        case Print():
            return "done"
        case AskPerson():
            return "waiting"
        case Sleep(seconds) if seconds > LONG_SLEEP:
            return "waiting"
        case _:
            return "begun"


def is_unrepeatable(effect: Effect) -> bool:
    """Return whether a person must decide before an interrupted effect is repeated."""
    match effect:
        case CallTool():
            return effect.again == "unsure"
        case RunPython():
            return not effect.is_harmless
        case _:
            return False


def _is_written_durably(effect: Effect) -> bool:
    """Return whether the start of an effect is saved even if the power fails."""
    return isinstance(effect, SendBatch) or is_unrepeatable(effect)


def make_indeterminate_error(effect: Effect) -> IndeterminateEffect:
    """Return the error for an effect that was interrupted and may have completed."""
    said = f"{_describe_effect(effect)} was interrupted: it is not known whether it took effect"
    return IndeterminateEffect(f"{said}; look before it is repeated")


def _format_wake_time(moment: float) -> str:
    return f"it sleeps until {format_local_time(moment, 'seconds')}"


def _describe_effect(effect: Effect) -> str:
    match effect:
        case CallTool(tool):
            return f"`{tool}`"
        case RunPython(source):
            return f"Python ({source.strip().splitlines()[0][:60]})"
        case AskModel(model):
            return model
        case _:
            return effect.kind


def _format_request(asked: Mapping[str, Any]) -> str:
    given = ", ".join(
        f"{name} {dump_ascii_json({'': each})[4:-1]}" for name, each in asked.items() if name != "kind" and each
    )
    kind = asked.get("kind", "something")
    said = f"{kind}: {given}" if given else str(kind)
    return said if len(said) <= 400 else f"{said[:400]}…"
