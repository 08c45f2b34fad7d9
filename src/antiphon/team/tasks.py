"""Tasks, pending submissions and active turns of a team."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from antiphon.team.events import TaskChecked, TurnPaused, TurnStarted

TaskState = Literal["planned", "coding", "testing", "review", "merging", "merged", "rejected", "human"]


@dataclass(slots=True)
class Task:
    """A task and its progress."""

    id: str
    title: str
    spec: str
    checks: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    state: TaskState = "planned"
    coder: str = ""
    plan: str = ""
    summary: str = ""
    #: The reviewer's last notes.
    notes: str = ""
    rounds: int = 0
    tries: int = 0
    conflicts: int = 0
    check: TaskChecked | None = None
    conflicting_files: tuple[str, ...] = ()
    #: A commit with the latest known content of its files.
    files: str = ""
    #: Once merged: its commit on the team's branch, and the tip of the branch before.
    commit: str = ""
    since: str = ""
    #: The problem that the human has to decide.
    trouble: str = ""

    @property
    def is_over(self) -> bool:
        """True once the task is merged or rejected."""
        return self.state in ("merged", "rejected")

    @property
    def branch(self) -> str:
        """The name of its branch and worktree within the team."""
        return f"task-{self.id}"


@dataclass(slots=True)
class SubmissionJob:
    """A submission that an agent owes, with the tool `expected_tool`.

    `turn_reason` is the reason for the next turn; it is empty while the agent waits for messages.
    `resume_reason` is the reason to use when messages arrive.
    """

    name: str
    agent: str
    thread: str
    wants: str
    why: str = ""
    task: str = ""
    reminder_count: int = 0
    then: str = ""
    #: How often it asked the human each question.
    asked: Counter[str] = field(default_factory=Counter[str])


@dataclass(slots=True)
class ActiveTurn:
    """A turn of an agent that has not ended."""

    begun: TurnStarted
    paused: TurnPaused | None = None
