"""One row for each effect of a run, written before and after; one that is finished gives its outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from antiphon.durable.asks import SaidRow, chained, forget_kept
from antiphon.durable.looking import local_time
from antiphon.durable.seal import MARK
from antiphon.durable.withheld import NotThere, is_plain, shown
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

if TYPE_CHECKING:
    from antiphon.durable.journal import Journal
    from antiphon.durable.withheld import Withheld
    from antiphon.providers.continuation import Pending

H = TypeVar("H", bound=SessionAborted)
#: Whoever sleeps longer, in seconds, is not waited for: the run is gone on with when it is time.
LONG_SLEEP = 60
#: So many rows are read at once when a run is gone on with, and so many are kept for those who come late.
_AHEAD, _KEPT = 256, 4_096
#: Where the outcome of reading a variable has a keyed hash of its value.
NOTED = "noted"
#: The columns that make a `Row`, in its order.
COLUMNS = "path, seq, kind, hash, state, effect, outcome, began, cost"
#: The outcome of what gives no value.
NOTHING = '{"value":null}'
#: Where a request that is not answered yet has the id of the response that is being made.
_PENDING = "pending"

_BEGIN = (
    "INSERT INTO effects (run, path, seq, kind, hash, effect, state, outcome, began, ended, cost, attempt, said)"
    # A server takes a `NULL` for a text unless it is told.
    " SELECT run, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION), 1, ? FROM at"
    " WHERE true ON CONFLICT DO NOTHING"
)
_HERE = "WHERE run = (SELECT run FROM at) AND path = ?"
_END = f"UPDATE effects SET state = ?, outcome = ?, ended = ?, cost = ? {_HERE}"


class JournalFailed(SessionAborted, StoreError):
    """What a run does can no longer be written down, or what it did not be read, so it does nothing more."""


class Changed(SessionAborted):
    """A run asks for something else than it did the last time: the program, or what it depends on, has changed."""

    option = "--edited"


class Row(NamedTuple):
    """An effect as it is written down; `effect` and `outcome` are JSON, or where that is kept."""

    path: str
    seq: int
    kind: str
    hash: str
    state: str
    effect: str
    outcome: str | None
    began: float
    cost: float | None


class Printed(NamedTuple):
    """A line that a program printed before its run was written down."""

    step: EffectCall
    is_private: bool


class Shelf(Protocol):
    """Where outcomes of an earlier text of the program may be found."""

    #: The environment variables that have another value by now.
    changed: list[str]

    def take(self, path: str, kind: str, hash: str) -> Row | None:
        """A finished effect that is the same, once."""
        ...


class Entries(Middleware):
    """Stands in the door for one run of a journal."""

    #: Whoever needs a person here need not have one: the run is gone on with when the answer is there.
    is_durable = True

    def __init__(
        self, journal: Journal, run: str, epoch: int, *, other_model: bool = False, printed: int | None = None
    ) -> None:
        self._journal = journal
        self._run = run
        self._epoch = epoch
        self._other_model = other_model
        #: Why nothing can be done in this run before somebody has decided; nothing, where all is well.
        self._gap = ""
        if printed is None:
            self._count = self._known = self._counted()
        else:
            # A new run, which has printed so many lines and does not ask for them again.
            self._count, self._known = printed, 0
        self._rows: dict[str, Row] = {}
        self._read_to = -1 if self._known else None
        self._lock = threading.Lock()
        #: Held while a step is written that is new: its number is used when it is there, so that none is left out.
        self._numbering = threading.Lock()
        self._withheld = journal.withheld.copy()
        #: What was noted of variables that are being read again, by path.
        self._noted: dict[str, str] = {}
        self.shelf: Shelf | None = None

    @property
    def run(self) -> str:
        """The name of the run."""
        return self._run

    def before(self, step: EffectCall) -> Outcome | None:
        """The outcome of the last time; where there is none, a note that it is begun."""
        if self._gap:
            raise _with_option(JournalFailed(self._gap), "--edited")
        row = self._row(step.path)
        if row is None:
            return self._first_time(
                step, *written_form(self._journal, self._withheld, step.effect, is_effect_private())
            )
        self._check(step, serialize_effect(step.effect)[1], row)
        if row.state in ("done", "failed"):
            return self._outcome(step.effect, row)
        if isinstance(step.effect, Sleep) and row.state == "waiting":
            return self._slept(step, row.began + step.effect.seconds)
        if row.state == "begun" and is_unsure(step.effect):
            outcome = Outcome(error=half_done(step.effect))
            self.after(step, outcome)
            return outcome
        self._write(
            f"UPDATE effects SET attempt = attempt + 1, state = ? {_HERE}",
            (_first_state(step.effect), step.path),
            is_durable=is_unsure(step.effect),
        )
        return None

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Note what came of it."""
        if isinstance(step.effect, Print) and outcome.error is None:
            return
        if isinstance(outcome.error, Suspended):
            # Whatever waits inside of it is written down too: it is begun again to get there.
            self._write(f"UPDATE effects SET state = 'waiting' {_HERE}", (step.path,))
            return
        if isinstance(outcome.error, SessionAborted):
            return
        if isinstance(step.effect, AskModel) and isinstance(outcome.error, ConfigurationError):
            # Without a key nobody was asked: when there is one, the model is.
            return
        state = "failed" if outcome.error is not None else "done"
        cost = outcome.value.cost if isinstance(outcome.value, ModelReplied | ToolReturned) else None
        text = self._noted_value(step, outcome) or dump_ascii_json(recorded_outcome_to_json(step.effect, outcome))
        self._write(_END, (state, self.closed(text), self._journal.now(), cost, step.path))

    def pending(self, path: str) -> Pending | None:
        """Return where the id of a response in the background is kept, with the id of the last time."""
        from antiphon.providers.continuation import Pending

        found = self._journal.read(
            f"SELECT {COLUMNS} FROM effects WHERE run = ? AND path = ? AND state = 'begun'", (self.run, path)
        )
        row = Row(*found[0]) if found else None
        kept = self._read(row, row.outcome, shown) if row is not None and row.outcome else {}

        def note(id: str) -> None:
            text = self.closed(dump_ascii_json({_PENDING: id})) if id else None
            self._write(f"UPDATE effects SET outcome = ? {_HERE}", (text, path), is_durable=True)

        return Pending(str(kept.get(_PENDING, "")), note)

    def hearing(self, path: str) -> AbstractContextManager[Callable[[str], object] | None]:
        """Take the pieces of an answer as they come, for whoever looks at the run."""
        live = self._journal.live
        return nullcontext() if live is None or is_effect_private() else live.speaking(self.run, path, self._withheld)

    def closed(self, text: str) -> str:
        """A text of JSON as it is written down: without values of the environment, and sealed where it is private."""
        text = self._withheld.out(text)
        return self._journal.seal.close(text) if is_effect_private() else text

    # What was written down

    def _counted(self) -> int:
        """Count the steps of the run, whose numbers have no gap: a step that is gone would be repeated."""
        found = self._journal.read(
            "SELECT (SELECT steps FROM runs WHERE id = ?), max(seq) + 1, count(*) FROM effects WHERE run = ?",
            (self.run, self.run),
        )
        had, last, count = found[0] if found else (None, None, 0)
        if count != max(had or 0, last or 0):
            self._gap = _told_gap(self._journal, self.run)
        return last or 0

    def _row(self, path: str) -> Row | None:
        with self._lock:
            if path not in self._rows and self._read_to is not None and len(self._rows) < _KEPT:
                self._read_ahead(self._read_to)
            if (row := self._rows.pop(path, None)) is not None:
                return row
            if self._read_to is None:
                # All there was is known; what was done since then was new.
                return None
        found = self._journal.read(f"SELECT {COLUMNS} FROM effects WHERE run = ? AND path = ?", (self.run, path))
        return Row(*found[0]) if found else None

    def _read_ahead(self, after: int) -> None:
        found = self._journal.read(
            f"SELECT {COLUMNS} FROM effects WHERE run = ? AND seq > ? AND seq < ? ORDER BY seq LIMIT {_AHEAD}",
            (self.run, after, self._known),
        )
        self._rows |= {row[0]: Row._make(row) for row in found}
        self._read_to = found[-1][1] if len(found) == _AHEAD else None

    def _is_same(self, row: Row, hash: str) -> bool:
        return row.hash == (_keyed(self._journal, hash) if row.hash.startswith(MARK) else hash)

    def _check(self, step: EffectCall, hash: str, row: Row) -> None:
        if row.kind == step.effect.kind and self._is_same(row, hash):
            return
        then = self._read(row, row.effect, shown)
        if self._other_model and isinstance(step.effect, AskModel) and then.get("kind") == "request":
            # What was asked of another model, in its own way, was asked all the same.
            same = replace(step.effect, model=then["model"], options=then["options"])
            if self._is_same(row, fingerprint(same)):
                return
        now = shown(self._withheld.out(dump_ascii_json(effect_to_json_without_turns(step.effect))), "a step")
        raise Changed(
            f"step {step.path} of run {self.run} is not the one of the last time.\n"
            f"  then: {_shown(then)}\n  now:  {_shown(now)}"
        )

    def _outcome(self, effect: Effect, row: Row) -> Outcome | None:
        try:
            data = self._read(row, row.outcome, self._withheld.filled)
            if isinstance(effect, ReadEnvironment) and NOTED in data:
                self._noted[row.path] = str(data[NOTED])
                return None
            return recorded_outcome_from_json(data)
        except NotThere as error:
            changed = Changed(
                f"what came of step {row.path} of run {self.run} is written down without the value that the environment"
                f" variable {error.name!r} had then, and it has another one now; set it as it was, or"
                f" `antiphon runs resume {self.run} --retry {row.path}` does the step again"
            )
            raise _with_option(changed, f"--retry {row.path}") from None
        except FormatError as error:
            raise self._damaged(row, error) from None

    def _read(self, row: Row, kept: str | None, read: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
        try:
            return read(self._journal.text(kept or ""), f"step {row.path}")
        except StoreError as error:
            raise self._damaged(row, error) from None

    # What is read from the environment

    def _noted_value(self, step: EffectCall, outcome: Outcome) -> str:
        """What is written down of a variable in place of its value, which may be a secret and is read again.

        Nothing, where it is no such value. One that is not the value of the last time ends the run, unless what was
        done is decided anew: then it counts as what it is.
        """
        effect, value, then = step.effect, outcome.value, self._noted.pop(step.path, None)
        if not isinstance(effect, ReadEnvironment) or outcome.error is not None:
            return ""
        if isinstance(value, str) and not is_plain(effect.name):
            self._withheld.learn(effect.name, value)
        noted = f"{self._journal.seal.name}{self._withheld.hash(value)}" if isinstance(value, str) else None
        if then is not None and then != noted:
            self._differs(step.path, effect.name, then)
        return "" if noted is None or is_plain(effect.name) else dump_ascii_json({NOTED: noted})

    def _differs(self, path: str, name: str, then: str) -> None:
        if not then.startswith(self._journal.seal.name):
            other = self._journal.seal.other_key(f"what step {path} of run {self.run} read from the environment")
            raise JournalFailed(str(other))
        if self.shelf is None:
            raise Changed(
                f"the environment variable {name!r} has another value than when step {path} of run {self.run} read it;"
                f" set it as it was, or `antiphon runs resume {self.run} --edited` goes on with the new one, and does"
                " again what used it"
            )
        self.shelf.changed.append(name)

    def _damaged(self, row: Row, why: object) -> JournalFailed:
        again = f"`antiphon runs resume {self.run} --retry {row.path}` does it again"
        why = str(why).removeprefix("the journal is damaged: ")
        told = f"run {self.run!r} stops: the journal is damaged at its step {row.path}: {why}; {again}"
        return _with_option(JournalFailed(told), f"--retry {row.path}")

    # What is new

    def _first_time(self, step: EffectCall, text: str, hash: str) -> Outcome | None:
        effect = step.effect
        known = None if self.shelf is None else self.shelf.take(step.path, effect.kind, hash)
        if known is not None:
            self._insert(step, text, hash, known.state, known.outcome, known.cost)
            return self._outcome(effect, known._replace(path=step.path))
        state = _first_state(effect)
        # A line that is printed twice is worse than one that is lost with the process that printed it.
        self._insert(step, text, hash, state, NOTHING if isinstance(effect, Print) else None)
        if isinstance(effect, Sleep) and state == "waiting":
            raise Suspended(_until(self._journal.now() + effect.seconds))
        return None

    def _slept(self, step: EffectCall, until: float) -> Outcome:
        if self._journal.now() < until:
            raise Suspended(_until(until))
        outcome = Outcome()
        self.after(step, outcome)
        return outcome

    def _insert(
        self, step: EffectCall, text: str, hash: str, state: str, outcome: str | None, cost: float | None = None
    ) -> None:
        now = self._journal.now()
        ended = now if state in ("done", "failed") else None
        said, turns = self._said(step.effect)
        about = (step.effect.kind, hash, text, state, outcome, now, ended, cost, said)
        try:
            with self._numbering:
                # That it is begun is known even after a power cut: else it would be done again.
                self._write(_BEGIN, (step.path, self._count, *about), turns, is_unsure(step.effect))
                self._count += 1
        except BaseException:
            forget_kept(step.effect)
            raise

    def _said(self, effect: Effect) -> tuple[str | None, list[SaidRow]]:
        """The name of what a model is shown, and what of it is new; of what is private nothing is kept."""
        if not isinstance(effect, AskModel) or is_effect_private():
            return None, []
        return chained(self._journal, effect.turns, self._withheld)

    def _write(
        self, statement: str, values: tuple[Any, ...], said: Sequence[SaidRow] = (), is_durable: bool = False
    ) -> None:
        self._journal.write(self.run, self._epoch, statement, values, said, is_durable)


def _with_option(error: H, option: str) -> H:
    """Say what `antiphon runs resume` has to be told after this."""
    error.option = option
    return error


def written_form(journal: Journal, withheld: Withheld, effect: Effect, is_private: bool) -> tuple[str, str]:
    """Return the text and the fingerprint of an effect as they are written down."""
    text, hash = serialize_effect(effect)
    if is_private or withheld.covers(effect, text):
        hash = _keyed(journal, hash)
    text = withheld.out(text)
    return journal.seal.close(text) if is_private else text, hash


def _keyed(journal: Journal, hash: str) -> str:
    """A fingerprint of something that nobody is to find by trying."""
    return MARK + journal.seal.hash(hash)


def _told_gap(journal: Journal, run: str) -> str:
    """Say where a step of a run is gone: before another one, or at the end."""
    rows = journal.read(
        "SELECT path, seq FROM effects AS here WHERE run = ? AND seq > 0 AND NOT EXISTS"
        " (SELECT 1 FROM effects WHERE run = here.run AND seq = here.seq - 1) ORDER BY seq LIMIT 1",
        (run,),
    )
    where = f" before step {rows[0][0]}" if rows else " last"
    return (
        f"run {run!r} stops: the journal is damaged: what it did{where} is gone, and would be done again;"
        f" `antiphon runs resume {run} --edited` goes on all the same, and does again what is not there"
    )


def _first_state(effect: Effect) -> str:
    match effect:
        case Print():
            return "done"
        case AskPerson():
            return "waiting"
        case Sleep(seconds) if seconds > LONG_SLEEP:
            return "waiting"
        case _:
            return "begun"


def is_unsure(effect: Effect) -> bool:
    """Whether it must not be done again without somebody having looked."""
    match effect:
        case CallTool():
            return effect.again == "unsure"
        case RunPython():
            return not effect.is_harmless
        case _:
            return False


def half_done(effect: Effect) -> IndeterminateEffect:
    """What is said of something that was interrupted in the middle."""
    said = f"{_named(effect)} was interrupted: it is not known whether it took effect"
    return IndeterminateEffect(f"{said}; look before it is repeated")


def _until(moment: float) -> str:
    return f"it sleeps until {local_time(moment, 'seconds')}"


def _named(effect: Effect) -> str:
    match effect:
        case CallTool(tool):
            return f"`{tool}`"
        case RunPython(source):
            return f"Python ({source.strip().splitlines()[0][:60]})"
        case AskModel(model):
            return model
        case _:
            return effect.kind


def _shown(asked: Mapping[str, Any]) -> str:
    """An effect in a line, as far as two of them may differ."""
    given = ", ".join(
        f"{name} {dump_ascii_json({'': each})[4:-1]}" for name, each in asked.items() if name != "kind" and each
    )
    kind = asked.get("kind", "something")
    said = f"{kind}: {given}" if given else str(kind)
    return said if len(said) <= 400 else f"{said[:400]}…"
