"""The budget of a team, checked before each model request, and a detector for agents that repeat
themselves.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from antiphon.effects import AskModel, CallTool, EffectCall, Middleware, ModelReplied, Outcome, ToolReturned
from antiphon.errors import AntiphonError
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.team.events import TurnStarted
from antiphon.team.settings import TeamSettings

#: The same call with the same result this often counts as a loop.
_MAX_REPEATS = 3
#: The share of the budget from which an agent is warned.
_WARNING_SHARE = 0.8


class TeamBudgetExceeded(AntiphonError):
    """Raised when a request would exceed the budget. The turn resumes once the limit is raised."""


class AgentLoopDetected(AntiphonError):
    """Raised when an agent repeats the same call with the same result."""


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """The usage of a turn. `cost` covers requests with a known price; `unpriced_requests` counts the others."""

    turn: int
    requests: int
    cost: float
    unknown: int


@dataclass(frozen=True, slots=True)
class AgentCost:
    """The usage of an agent; `cost` is `None` if the price of any request is unknown."""

    agent: str
    turns: int
    requests: int
    cost: float | None


def load_turn_usage(database: SqliteDatabase, team: str, turns: Sequence[int] | None = None) -> list[TurnUsage]:
    """Return the usage of some or all turns of a team; failed requests are counted without a cost."""
    which = "" if turns is None else f" AND runs.number IN ({', '.join('?' * len(turns))})"
    rows = database.query(
        "SELECT runs.number, count(*), coalesce(sum(effects.cost), 0.0),"
        " sum(effects.state = 'done' AND effects.cost IS NULL)"
        " FROM effects JOIN runs ON runs.id = effects.run"
        " WHERE runs.parent = ? AND effects.kind = 'request' AND effects.state IN ('done', 'failed')"
        f"{which} GROUP BY runs.number",
        (team, *(turns or ())),
    )
    return [TurnUsage(*row) for row in rows]


def sum_agent_costs(used: Sequence[TurnUsage], turns: Mapping[int, TurnStarted]) -> list[AgentCost]:
    """Return the usage of each agent, in order of their first turns."""
    by_agent: dict[str, list[TurnUsage]] = {}
    for each in used:
        by_agent.setdefault(turns[each.turn].agent, []).append(each)
    return [
        AgentCost(
            agent,
            len(mine),
            sum(each.requests for each in mine),
            None if any(each.unknown for each in mine) else sum(each.cost for each in mine),
        )
        for agent, mine in by_agent.items()
    ]


class TeamBudget:
    """The spending of a team, in total and by task.

    Requests without a known price only count as requests.
    """

    def __init__(self, used: Sequence[TurnUsage] = (), turns: Mapping[int, TurnStarted] | None = None) -> None:
        self.requests = 0
        self.cost = 0.0
        self.tasks: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        for each in used:
            self.add((turns or {})[each.turn].task, each.cost, each.requests)

    def add(self, task: str, cost: float | None, requests: int = 1) -> None:
        """Record requests and their cost."""
        with self._lock:
            self.requests += requests
            self.cost += cost or 0.0
            self.tasks[task] += cost or 0.0

    def used_share(self, settings: TeamSettings, task: str) -> tuple[float, str]:
        """Return the largest used share of any limit, and the name of that limit."""
        caps = [
            (self.cost, settings.cost, f"${settings.cost or 0:g} for all of it"),
            (float(self.requests), settings.requests, f"{settings.requests} requests"),
        ]
        if task:
            caps.append((self.tasks[task], settings.task_cost, f"${settings.task_cost or 0:g} for task {task}"))
        return max((used / cap, name) for used, cap, name in caps if cap) if any(cap for _, cap, _ in caps) else (0, "")


class BudgetMiddleware(Middleware):
    """Effect middleware behind the journal: counts requests that are really sent and rejects those over
    budget.
    """

    def __init__(
        self, spending: TeamBudget, settings: Callable[[], TeamSettings], task: str, warn: Callable[[str], object]
    ) -> None:
        self._budget = spending
        self._settings = settings
        self._task = task
        self._warn = warn

    def before(self, step: EffectCall) -> None:
        """Raise `TeamBudgetExceeded` if a limit is reached."""
        if not isinstance(step.effect, AskModel):
            return
        share, name = self._budget.used_share(self._settings(), self._task)
        if share >= 1:
            raise TeamBudgetExceeded(f"the limit of {name} is reached")

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Record the cost of a request, and warn when little of a limit is left."""
        if not isinstance(step.effect, AskModel):
            return
        cost = outcome.value.cost if isinstance(outcome.value, ModelReplied) else None
        self._budget.add(self._task, cost)
        share, name = self._budget.used_share(self._settings(), self._task)
        if _WARNING_SHARE <= share < 1:
            self._warn(f"{share:.0%} of {name} is used; come to an end soon.")


class AgentLoopDetector(Middleware):
    """Effect middleware before the journal, so that replayed calls count too."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self._name = ""

    def before(self, step: EffectCall) -> None:
        """Raise `AgentLoopDetected` before the next request once a loop was found."""
        if self._name and isinstance(step.effect, AskModel):
            raise AgentLoopDetected(
                f"it called `{self._name}` {_MAX_REPEATS} times with the same arguments and the same result"
            )

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Count the results of tool calls."""
        effect, value = step.effect, outcome.value
        if isinstance(effect, CallTool) and isinstance(value, ToolReturned) and value.result is not None:
            seen = (effect.tool, json.dumps(effect.arguments, sort_keys=True, default=str), value.result.text)
            self._seen[seen] += 1
            if self._seen[seen] >= _MAX_REPEATS:
                self._name = effect.tool
