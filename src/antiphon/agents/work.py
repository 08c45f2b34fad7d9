"""What a team has in hand: tasks, what its agents are to hand in, and turns under way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from antiphon.agents.facts import Checked, TurnBegun, TurnPaused

TaskState = Literal["planned", "coding", "testing", "review", "merging", "merged", "rejected", "human"]


@dataclass(slots=True)
class Task:
    """A piece of work, and how far it is."""

    id: str
    title: str
    spec: str
    checks: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    state: TaskState = "planned"
    coder: str = ""
    plan: str = ""
    summary: str = ""
    #: What the reviewer said last.
    notes: str = ""
    rounds: int = 0
    tries: int = 0
    conflicts: int = 0
    check: Checked | None = None
    clashing: tuple[str, ...] = ()
    #: A commit that has its files as they were last seen.
    files: str = ""
    #: Once it is merged: its commit on the team's branch, and where that was before.
    commit: str = ""
    since: str = ""
    #: What it waits for the human to decide.
    trouble: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in ("merged", "rejected")

    @property
    def branch(self) -> str:
        """What its branch and its files are called."""
        return f"task-{self.id}"


@dataclass(slots=True)
class Job:
    """What an agent is to hand in, with the tool it `wants`. `why` is what it has to be told; nothing, while it waits
    for what others say, and `then` is what it goes on with when that comes.
    """

    name: str
    agent: str
    thread: str
    wants: str
    why: str = ""
    task: str = ""
    nudges: int = 0
    then: str = ""
    #: How often it asked the human the same.
    asked: Counter[str] = field(default_factory=Counter[str])


@dataclass(slots=True)
class Turn:
    """A turn of an agent that is under way."""

    begun: TurnBegun
    paused: TurnPaused | None = None
