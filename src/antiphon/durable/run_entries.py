"""Runs, effects and questions of a journal as read-only values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon.effects import Effect, Outcome, SendBatch, outcome_from_json
from antiphon.effects.codec import effect_from_json
from antiphon.errors import FormatError, StoreError
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.secret_refs import REFERENCES_MARK, SecretMissing, parse_redacted_json
from antiphon.storage.sessions import SessionRow
from antiphon.storage.steps import StepRow

if TYPE_CHECKING:
    from antiphon.durable.journal_reader import JournalReader

T = TypeVar("T")
#: The number of open questions in a `RunEntry`; `Journal.list_questions` returns all.
LISTED_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class QuestionEntry:
    """An open question of a run and its path: a question of the program, or the approval of a call."""

    path: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run of the journal. `waiting` are its open questions; at `wake_at` it wants to be resumed.

    `begun_as` is its launch data, `ending` describes how it ended. `cost` is the cost of its model requests, `None`
    if no price is known. A fork replays the steps of the run `fork_of` before its step `fork_at`. `damage` lists
    what cannot be read, and why.
    """

    id: str
    state: str
    kind: str
    title: str
    created: float
    updated: float
    parent: str | None
    number: int | None
    wake_at: float | None
    owner: str
    begun_as: dict[str, Any]
    ending: dict[str, Any] | None
    cost: float | None
    effects: int
    waiting: tuple[QuestionEntry, ...]
    fork_of: str | None = None
    fork_at: str | None = None
    damage: str = ""


@dataclass(frozen=True, slots=True)
class EffectEntry:
    """A step of a run: the requested effect and its outcome, if it has one.

    `asked` is the effect as JSON data, without the turns of a model request. For a private effect it says only that,
    and there is no outcome. `damage` lists what cannot be read, and why.
    """

    path: str
    kind: str
    hash: str
    asked: dict[str, Any]
    state: str
    outcome: Outcome | None
    began: float
    ended: float | None
    cost: float | None
    attempt: int
    damage: str = ""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch of model requests of a run at its provider: its step, and what was noted about it.

    `id` is that of the provider; without one, it is not known whether the batch was sent. `done` of its requests were
    finished when the provider was last asked.
    """

    path: str
    effect: SendBatch
    id: str
    done: int
    sent: float


class _LenientReader:
    """Reads values and collects errors, so that damaged fields do not hide the others."""

    def __init__(self) -> None:
        self.damage: list[str] = []

    def __call__(self, read: Callable[[], T], instead: T) -> T:
        try:
            return read()
        except StoreError as error:
            self.damage.append(str(error))
            return instead

    def number(self, value: Any, what: str, instead: Any = 0.0) -> Any:
        if (value is None and instead is None) or isinstance(value, int | float):
            return value
        self.damage.append(f"the database is damaged: {what} has {value!r} instead of a number")
        return instead


def read_run_entry(journal: JournalReader, row: SessionRow) -> RunEntry:
    """Return a run from its row, as far as it can be read."""
    whole, what = _LenientReader(), f"session {row.id}"
    waiting: tuple[QuestionEntry, ...] = ()
    if row.state in ("waiting", "ready"):
        waiting = whole(lambda: journal.list_questions(row.id, LISTED_QUESTIONS), waiting)
    return RunEntry(
        row.id,
        journal.determine_state(str(row.state), str(row.owner)),
        str(row.kind),
        str(row.title),
        whole.number(row.created, what),
        whole.number(row.updated, what),
        row.parent,
        row.number,
        whole.number(row.wake_at, what, None),
        str(row.owner),
        whole(lambda: _read_json(journal, row.launch, what), {}),
        None if row.result is None else whole(lambda: _read_json(journal, row.result or "", what), {}),
        row.cost,
        row.steps,
        waiting,
        row.forked_from,
        row.forked_at,
        "; ".join(whole.damage),
    )


def read_effect_entry(journal: JournalReader, row: StepRow) -> EffectEntry:
    """Return an effect from its row, as far as it can be read."""
    _, path, kind, hash, effect, state, outcome, began, ended, cost, attempt = row
    whole, step = _LenientReader(), f"step {path}"
    over, spent = whole.number(ended, step, None), whole.number(cost, step, None)
    times: Any = whole.number(began, step), over, spent, int(whole.number(attempt, step, 1))
    if whole(lambda: journal.load_raw_text(effect), "").startswith(ENCRYPTED_MARK):
        asked, came = {"kind": kind, "private": True}, None
    else:
        asked = whole(lambda: _read_json(journal, effect, step), {"kind": kind})
        is_over = state in ("done", "failed") and kind != "environment"
        came = whole(lambda: read_outcome(journal, outcome or "", path), None) if is_over else None
    told = "; ".join(dict.fromkeys(whole.damage))
    return EffectEntry(path, str(kind), str(hash), asked, str(state), came, *times, damage=told)


def read_outcome(journal: JournalReader, kept: str, path: str) -> Outcome:
    """Return the stored outcome of a step, with names of variables in place of secret values."""
    text = journal.load_text(kept)
    try:
        return outcome_from_json(parse_redacted_json(text, f"step {path}"))
    except FormatError as error:
        if text.startswith(REFERENCES_MARK):
            # Without the value, the outcome cannot be decoded.
            return Outcome("(it contains values of the environment)")
        raise StoreError(f"the database is damaged at step {path}: {error}") from None


def read_effect(journal: JournalReader, kind: str, kept: str) -> Effect:
    """Return an effect from its stored form, without the turns of a model request."""
    text, what = journal.load_text(kept), f"a step of kind {kind!r}"
    try:
        asked = journal.secret_refs.parse_with_values(text, what)
    except SecretMissing:
        asked = parse_redacted_json(text, what)
    try:
        return effect_from_json({"turns": [], **asked} if kind == "request" else asked)
    except FormatError as error:
        raise StoreError(f"the database is damaged: {error}") from None


def read_question_entry(journal: JournalReader, path: str, kept: str) -> QuestionEntry:
    """Return a question from the stored form of its effect."""
    asked = _read_json(journal, kept, f"step {path}")
    return QuestionEntry(path, str(asked.get("about", "question")), str(asked.get("text", "")))


def format_local_time(moment: float, unit: str = "minutes") -> str:
    """Format a time in the time zone of this machine."""
    try:
        return datetime.fromtimestamp(moment).astimezone().isoformat(" ", unit)
    except (OverflowError, ValueError, OSError):
        # Clocks may be wrong, and a program may sleep beyond the last year that can be formatted.
        return "the end of time" if moment > 0 else "the beginning of time"


def _read_json(journal: JournalReader, kept: str, what: str) -> dict[str, Any]:
    return parse_redacted_json(journal.load_text(kept), what)
