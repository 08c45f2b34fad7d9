"""What happens in a team, as values that its log keeps: whoever reads them all knows how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, cast

from antiphon.errors import FormatError

#: How a turn of an agent ended: with words, a question to the human, something handed in; or it got nowhere.
Outcome = Literal["said", "asked", "submitted", "stuck"]


@dataclass(frozen=True, slots=True)
class Begun:
    """The team was begun. `settings` is how, `forked` the team and the message it was copied from."""

    kind: ClassVar[str] = "begun"
    request: str
    repository: str
    base: str
    settings: Mapping[str, Any]
    forked: str = ""


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """An agent is to do something: `text` is what it is told for that, besides what was said to it.

    `after` is the turn before it in the same thread, which holds the conversation up to here.
    """

    kind: ClassVar[str] = "turn"
    number: int
    agent: str
    thread: str
    why: str
    text: str
    task: str = ""
    after: int = 0
    #: The tests before anything was changed: the runner that closed them with a summary, and how many it ran.
    runner: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """It has done so. `value` is what it said or handed in; `commit` has the files of its task as it left them."""

    kind: ClassVar[str] = "turned"
    number: int
    outcome: Outcome
    value: Any = None
    commit: str = ""


@dataclass(frozen=True, slots=True)
class TurnPaused:
    """It cannot go on now: until a moment, or until somebody has answered or raised a limit."""

    kind: ClassVar[str] = "paused"
    number: int
    why: str
    until: float | None = None
    over: Literal["", "cap", "questions"] = ""


@dataclass(frozen=True, slots=True)
class Assigned:
    """A task is a coder's."""

    kind: ClassVar[str] = "assigned"
    task: str
    coder: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The machine has looked at what was handed in.

    `why` is passed, failed, cut short, timed out, unchanged or untested. `tests` are the files among the changed ones
    that say what is tested, `marks` what else a reviewer should know of the run. `merging`: it was green, and is looked
    at again together with what was merged since.
    """

    kind: ClassVar[str] = "checked"
    task: str
    why: str
    passed: bool
    commit: str
    command: str = ""
    output: str = ""
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    merging: bool = False
    marks: tuple[str, ...] = ()
    runner: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Conflicted:
    """It does not go together with what was merged before: both sides are marked in these files, at `commit`."""

    kind: ClassVar[str] = "conflict"
    task: str
    files: tuple[str, ...]
    commit: str = ""


@dataclass(frozen=True, slots=True)
class TaskMerged:
    """It is on the team's branch, which was at `since` before."""

    kind: ClassVar[str] = "merged"
    task: str
    commit: str
    since: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The human has changed how much may be spent; or, with `requests`, how often models may be asked."""

    kind: ClassVar[str] = "raised"
    cost: float | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """Whoever runs the team is to leave it as it is."""

    kind: ClassVar[str] = "stop"


@dataclass(frozen=True, slots=True)
class Ended:
    """All is done that can be; `head` is where the branch is."""

    kind: ClassVar[str] = "ended"
    head: str
    merged: tuple[str, ...] = ()
    rejected: tuple[str, ...] = field(default=())


Fact = (
    Begun | TurnBegun | TurnEnded | TurnPaused | Assigned | Checked | Conflicted | TaskMerged | Raised | Stopped | Ended
)
_KINDS: dict[str, type[Any]] = {
    each.kind: each
    for each in (
        Begun,
        TurnBegun,
        TurnEnded,
        TurnPaused,
        Assigned,
        Checked,
        Conflicted,
        TaskMerged,
        Raised,
        Stopped,
        Ended,
    )
}


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact as JSON data."""
    return {"fact": fact.kind, **asdict(fact)}


def fact_from_json(data: Mapping[str, Any]) -> Fact:
    """What `fact_json` made."""
    made = _KINDS.get(str(data.get("fact")))
    if made is None:
        raise FormatError(f"a team's log has a fact of kind {data.get('fact')!r}, which this version does not know")
    names = {each.name for each in fields(made)}
    given = {name: _frozen(each) for name, each in data.items() if name in names}
    try:
        return made(**given)
    except TypeError as error:
        raise FormatError(f"a fact of a team's log cannot be read: {error}") from None


def _frozen(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value
