"""What a team may spend, looked at before each request; and agents that go in circles."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from antiphon.agents.facts import TurnBegun
from antiphon.agents.settings import TeamSettings
from antiphon.effects import Answered, AskModel, CallTool, Outcome, Performer, Returned, Step
from antiphon.errors import AntiphonError
from antiphon.store.database import Database

#: The same call with the same result so often is no progress.
_CIRCLES = 3
#: From here on an agent is told that little is left.
_NEARLY = 0.8


class OverCap(AntiphonError):
    """A request that is not sent, because what may be spent is spent. More can be allowed, and it is gone on."""


class InCircles(AntiphonError):
    """An agent does the same again and again."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a turn has used: `cost` is of the requests whose price is known, of which `unknown` are none."""

    turn: int
    requests: int
    cost: float
    unknown: int


@dataclass(frozen=True, slots=True)
class AgentCost:
    """What an agent has used; `cost` is `None` where the price of a request is not known."""

    agent: str
    turns: int
    requests: int
    cost: float | None


def used_by(database: Database, team: str, turns: Sequence[int] | None = None) -> list[Used]:
    """What turns of a team have used, or all of them; a request that failed is counted, and nobody knows of a price."""
    which = "" if turns is None else f" AND runs.number IN ({', '.join('?' * len(turns))})"
    rows = database.read(
        "SELECT runs.number, count(*), coalesce(sum(effects.cost), 0.0),"
        " sum(effects.state = 'done' AND effects.cost IS NULL)"
        " FROM effects JOIN runs ON runs.id = effects.run"
        " WHERE runs.parent = ? AND effects.kind = 'request' AND effects.state IN ('done', 'failed')"
        f"{which} GROUP BY runs.number",
        (team, *(turns or ())),
    )
    return [Used(*row) for row in rows]


def costs_of(used: Sequence[Used], turns: Mapping[int, TurnBegun]) -> list[AgentCost]:
    """What each agent has used, in the order in which they began."""
    by_agent: dict[str, list[Used]] = {}
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


class Spending:
    """What the team has spent so far, all and by task; a cost that is not known is counted in requests alone."""

    def __init__(self, used: Sequence[Used] = (), turns: Mapping[int, TurnBegun] | None = None) -> None:
        self.requests = 0
        self.cost = 0.0
        self.tasks: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        for each in used:
            self.add((turns or {})[each.turn].task, each.cost, each.requests)

    def add(self, task: str, cost: float | None, requests: int = 1) -> None:
        """Requests were made."""
        with self._lock:
            self.requests += requests
            self.cost += cost or 0.0
            self.tasks[task] += cost or 0.0

    def share(self, settings: TeamSettings, task: str) -> tuple[float, str]:
        """How much of what may be spent is spent, and of what."""
        caps = [
            (self.cost, settings.cost, f"${settings.cost or 0:g} for all of it"),
            (float(self.requests), settings.requests, f"{settings.requests} requests"),
        ]
        if task:
            caps.append((self.tasks[task], settings.task_cost, f"${settings.task_cost or 0:g} for task {task}"))
        return max((used / cap, name) for used, cap, name in caps if cap) if any(cap for _, cap, _ in caps) else (0, "")


class Meter(Performer):
    """Stands in the door behind the journal: counts what is really asked, and refuses what would be too much."""

    def __init__(
        self, spending: Spending, settings: Callable[[], TeamSettings], task: str, warn: Callable[[str], object]
    ) -> None:
        self._spending = spending
        self._settings = settings
        self._task = task
        self._warn = warn

    def before(self, step: Step) -> None:
        """Refuse a request beyond what may be spent."""
        if not isinstance(step.effect, AskModel):
            return
        share, name = self._spending.share(self._settings(), self._task)
        if share >= 1:
            raise OverCap(f"the limit of {name} is reached")

    def after(self, step: Step, outcome: Outcome) -> None:
        """Add what it cost."""
        if not isinstance(step.effect, AskModel):
            return
        cost = outcome.value.cost if isinstance(outcome.value, Answered) else None
        self._spending.add(self._task, cost)
        share, name = self._spending.share(self._settings(), self._task)
        if _NEARLY <= share < 1:
            self._warn(f"{share:.0%} of {name} is used; come to an end soon.")


class Circles(Performer):
    """Stands in the door before the journal, so that what was done before counts too."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self._name = ""

    def before(self, step: Step) -> None:
        """Ask no more where it goes in circles."""
        if self._name and isinstance(step.effect, AskModel):
            raise InCircles(f"it called `{self._name}` {_CIRCLES} times with the same arguments and the same result")

    def after(self, step: Step, outcome: Outcome) -> None:
        """Count what came of a call."""
        effect, value = step.effect, outcome.value
        if isinstance(effect, CallTool) and isinstance(value, Returned) and value.result is not None:
            seen = (effect.tool, json.dumps(effect.arguments, sort_keys=True, default=str), value.result.text)
            self._seen[seen] += 1
            if self._seen[seen] >= _CIRCLES:
                self._name = effect.tool
