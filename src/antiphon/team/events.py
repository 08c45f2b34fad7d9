"""Events of a team, as stored in its log; replaying them yields the state of the team."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, cast, get_args

from antiphon.errors import FormatError

#: How a turn ended: with text, with a question to the human, with a submission, or without progress.
TurnOutcome = Literal["said", "asked", "submitted", "stuck"]


@dataclass(frozen=True, slots=True)
class TeamStarted:
    """The team was created. `forked` names the team and message that it was copied from."""

    kind: ClassVar[str] = "begun"
    request: str
    repository: str
    base: str
    settings: Mapping[str, Any]
    forked: str = ""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn of an agent was started. `text` is its prompt, besides new messages.

    `after` is the previous turn of the same thread, whose conversation this one continues.
    """

    kind: ClassVar[str] = "turn"
    number: int
    agent: str
    thread: str
    why: str
    text: str
    task: str = ""
    after: int = 0
    #: The tests before any change: the runner that printed a closing summary, and how many tests it ran.
    runner: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn ended. `value` is its text or submission; `commit` is a snapshot of the task's files at its end."""

    kind: ClassVar[str] = "turned"
    number: int
    outcome: TurnOutcome
    value: Any = None
    commit: str = ""


@dataclass(frozen=True, slots=True)
class TurnPaused:
    """A turn cannot continue until a given time, an answer, or a higher limit."""

    kind: ClassVar[str] = "paused"
    number: int
    why: str
    until: float | None = None
    over: Literal["", "cap", "questions"] = ""


@dataclass(frozen=True, slots=True)
class TaskAssigned:
    """A task was assigned to a coder."""

    kind: ClassVar[str] = "assigned"
    task: str
    coder: str


@dataclass(frozen=True, slots=True)
class TaskChecked:
    """A submission was tested.

    `why` is passed, failed, cut short, timed out, unchanged or untested. `tests` are changed files that
    define what is tested; `marks` are notes for the reviewer. With `merging`, an approved change was tested
    again together with what was merged since.
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
class TaskConflicted:
    """A task conflicts with merged work; `commit` has both sides marked in these files."""

    kind: ClassVar[str] = "conflict"
    task: str
    files: tuple[str, ...]
    commit: str = ""


@dataclass(frozen=True, slots=True)
class TaskMerged:
    """A task was merged into the team's branch, which was at `since` before."""

    kind: ClassVar[str] = "merged"
    task: str
    commit: str
    since: str


@dataclass(frozen=True, slots=True)
class LimitsRaised:
    """The human changed the cost limit or, with `requests`, the request limit."""

    kind: ClassVar[str] = "raised"
    cost: float | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The human asked the process that runs the team to suspend it."""

    kind: ClassVar[str] = "stop"


@dataclass(frozen=True, slots=True)
class TeamFinished:
    """All possible work is done; `head` is the tip of the team's branch."""

    kind: ClassVar[str] = "ended"
    head: str
    merged: tuple[str, ...] = ()
    rejected: tuple[str, ...] = field(default=())


TeamEvent = (
    TeamStarted
    | TurnStarted
    | TurnEnded
    | TurnPaused
    | TaskAssigned
    | TaskChecked
    | TaskConflicted
    | TaskMerged
    | LimitsRaised
    | StopRequested
    | TeamFinished
)
_EVENT_TYPES: dict[str, type[Any]] = {each.kind: each for each in get_args(TeamEvent)}


def event_to_json(fact: TeamEvent) -> dict[str, Any]:
    """Convert an event to JSON data."""
    return {"fact": fact.kind, **asdict(fact)}


def event_from_json(data: Mapping[str, Any]) -> TeamEvent:
    """Convert JSON data of `event_to_json` back to an event."""
    made = _EVENT_TYPES.get(str(data.get("fact")))
    if made is None:
        raise FormatError(f"a team's log has a fact of kind {data.get('fact')!r}, which this version does not know")
    names = {each.name for each in fields(made)}
    given = {
        name: tuple(cast(list[Any], each)) if isinstance(each, list) else each
        for name, each in data.items()
        if name in names
    }
    try:
        return made(**given)
    except TypeError as error:
        raise FormatError(f"a fact of a team's log cannot be read: {error}") from None
