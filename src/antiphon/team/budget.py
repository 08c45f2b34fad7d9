"""The budget of a team, checked before each model request, and the usage of its agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from antiphon.effects import Budget, Counter, Limits, Spending
from antiphon.effects.budget import NO_LIMITS
from antiphon.storage.steps import UsageRow
from antiphon.team.events import TurnStarted
from antiphon.team.settings import TeamSettings


@dataclass(frozen=True, slots=True)
class AgentCost:
    """The usage of an agent; `cost` is `None` if the price of any request is unknown."""

    agent: str
    turns: int
    requests: int
    cost: float | None


def sum_agent_costs(used: Sequence[UsageRow], turns: Mapping[int, TurnStarted]) -> list[AgentCost]:
    """Return the usage of each agent, in order of their first turns."""
    by_agent: dict[str, list[UsageRow]] = {}
    for each in used:
        by_agent.setdefault(turns[each.number].agent, []).append(each)
    return [
        AgentCost(
            agent,
            len(mine),
            sum(each.requests for each in mine),
            None if any(each.unpriced for each in mine) else sum(each.cost for each in mine),
        )
        for agent, mine in by_agent.items()
    ]


class TeamCounter(Counter):
    """A counter in which requests without a known price cost nothing; the limit of requests holds for them."""

    def add(self, spent: Spending) -> Spending:
        """Add to the sum and return it."""
        return super().add(replace(spent, cost=spent.cost or 0.0))


class TeamBudget:
    """The spending of a team, in total and by task. `settings` returns the current limits."""

    def __init__(
        self,
        team: str,
        settings: Callable[[], TeamSettings],
        used: Sequence[UsageRow] = (),
        turns: Mapping[int, TurnStarted] | None = None,
    ) -> None:
        self._scope = f"team:{team}"
        self._settings = settings
        self._counters: defaultdict[str, TeamCounter] = defaultdict(TeamCounter)
        self._total = Budget(self._get_limits, self._scope, TeamCounter(), label="for all of it")
        for each in used:
            self.make_budget((turns or {})[each.number].task).add(Spending(requests=each.requests, cost=each.cost))

    @property
    def spent(self) -> Spending:
        """The sum of all tasks."""
        return self._total.spent

    def make_budget(self, task: str, on_warning: Callable[[str], object] | None = None) -> Budget:
        """Return the budget of a turn: that of its task, inside that of the team."""

        def get_limits() -> Limits:
            return replace(NO_LIMITS, cost=(self._settings().task_cost or None) if task else None)

        scope, label = f"{self._scope}/{task}", f"for task {task}"
        return Budget(get_limits, scope, self._counters[task], self._total, label=label, on_warning=on_warning)

    def _get_limits(self) -> Limits:
        settings = self._settings()
        return Limits(requests=settings.requests or None, tool_calls=None, cost=settings.cost or None)
