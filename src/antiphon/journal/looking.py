"""What the journal knows of runs and of what they have done, as values to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._json import loads
from antiphon._shape import obj
from antiphon.effects import Effect, Outcome, outcome_from_json
from antiphon.effects.written import effect_from_json
from antiphon.errors import AntiphonError, StoreError
from antiphon.journal.seal import MARK

if TYPE_CHECKING:
    from antiphon.journal.journal import Journal

#: The columns that `run_entry` takes, in its order; the sums are of what a run itself has done.
COLUMNS = (
    "id, state, kind, title, created, updated, parent, number, wake_at, owner, begun_as, ending,"
    " (SELECT sum(cost) FROM effects WHERE run = id AND kind = 'request'),"
    " (SELECT count(*) FROM effects WHERE run = id)"
)
#: So many open questions of a run are listed with it; `Journal.questions` gives all.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class QuestionEntry:
    """What a run waits for somebody to say, at its place: a question, or whether a call may run."""

    path: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class RunEntry:
    """What the journal knows of a run. `waiting` are its open questions, `wake_at` is when it wants to go on.

    `begun_as` is what it was begun with, `ending` how it ended; `cost` is of the models it asked, `None` where it
    asked none whose price is known.
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


@dataclass(frozen=True, slots=True)
class EffectEntry:
    """One thing that a run has done, or is at: what was asked for, and what came of it where it is over.

    `asked` is the effect as JSON data, without what a model was shown before; of what is private it says only that,
    and there is no outcome.
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


def run_entry(journal: Journal, row: tuple[Any, ...]) -> RunEntry:
    """A run from its row."""
    id, state, *known, begun_as, ending, cost, count = row
    waiting = journal.questions(id, _SHOWN) if state in ("waiting", "ready") else ()
    how = None if ending is None else _data(journal, ending, id)
    read: Any = (_begun_as(journal, begun_as, id), how, cost, count, waiting)
    return RunEntry(id, state, *known, *read)


def effect_entry(journal: Journal, row: tuple[Any, ...]) -> EffectEntry:
    """An effect from its row."""
    path, kind, hash, effect, state, outcome, *rest = row
    if journal.raw(effect).startswith(MARK):
        return EffectEntry(path, kind, hash, {"kind": kind, "private": True}, state, None, *rest)
    came = outcome_from_json(_data(journal, outcome, path)) if outcome else None
    return EffectEntry(path, kind, hash, _data(journal, effect, path), state, came, *rest)


def _begun_as(journal: Journal, kept: str, id: str) -> dict[str, Any]:
    """How a run was begun; where that cannot be read, why not, so that the run can be listed all the same."""
    try:
        return _data(journal, kept, id)
    except StoreError as error:
        return {"unreadable": str(error)}


def effect_of(journal: Journal, kind: str, kept: str) -> Effect:
    """An effect from its row; of a request, without the turns that it showed."""
    asked = _data(journal, kept, kind)
    return effect_from_json({"turns": [], **asked} if kind == "request" else asked)


def question_entry(path: str, effect: str) -> QuestionEntry:
    """A question from the text of its effect."""
    asked = obj(loads(effect, f"step {path}"))
    return QuestionEntry(path, str(asked.get("about", "question")), str(asked.get("text", "")))


def _data(journal: Journal, kept: str, what: str) -> dict[str, Any]:
    try:
        return obj(loads(journal.text(kept), what))
    except StoreError:
        raise
    except AntiphonError as error:
        raise StoreError(f"the journal is damaged at {what!r}: {error}") from None
