"""Budgets: limits on requests, tool calls, tokens, cost and time, which hold before each model request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields

from antiphon._base.did_you_mean import hint_arguments
from antiphon._base.optional_deps import format_price_hint
from antiphon.effects.pipeline import EffectCall, Middleware
from antiphon.effects.types import AskModel, CallTool, ModelReplied, Outcome
from antiphon.errors import AntiphonError, OptionError
from antiphon.wire.reply import Usage

#: Names that users try instead of the fields of `Limits`.
LIMIT_ALIASES = {
    **dict.fromkeys(("max_turns", "max_requests", "max_iterations", "max_steps", "request_limit"), "requests"),
    **dict.fromkeys(("max_calls", "max_tool_calls", "tool_calls_limit"), "tool_calls"),
    **dict.fromkeys(("max_tokens", "total_tokens_limit"), "tokens"),
    **dict.fromkeys(("max_output_tokens", "output_tokens_limit", "response_tokens_limit"), "output_tokens"),
    **dict.fromkeys(("max_cost", "max_budget", "budget", "usd", "dollars"), "cost"),
    **dict.fromkeys(("max_seconds", "timeout", "max_time", "max_execution_time"), "seconds"),
}


@hint_arguments({name: f"write `Limits({field}=…)`" for name, field in LIMIT_ALIASES.items()})
@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a session or a budget; `None` means no limit. The defaults suit one run of a session.

    In a session, `requests` and `tool_calls` are its own. Calls beyond `tool_calls` are not run. After
    `seconds`, current work is interrupted; the time that people take to answer does not count. `tokens`,
    `output_tokens` and `cost` (US dollars) include nested runs and are checked before each request.
    """

    requests: int | None = 50
    tool_calls: int | None = 200
    tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            limit: object = getattr(self, each.name)
            if limit is not None and not (
                isinstance(limit, int | float) and not isinstance(limit, bool) and limit >= 0
            ):
                raise OptionError(f"the limit of {each.name} is a number from 0 on, or None, not {limit!r:.80}")


NO_LIMITS = Limits(requests=None, tool_calls=None)
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Spending:
    """The sum of some requests and tool calls. `cost` is in US dollars, or `None` if a part of it is unknown."""

    requests: int = 0
    tool_calls: int = 0
    usage: Usage = _NO_USAGE
    cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The input and output tokens."""
        return (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)

    @property
    def output_tokens(self) -> int:
        """The output tokens, with those of reasoning."""
        return self.usage.output_tokens or 0

    def plus(self, other: Spending) -> Spending:
        """Return the sum of both."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        if self.usage is _NO_USAGE:
            usage = other.usage
        else:
            usage = self.usage if other.usage is _NO_USAGE else self.usage.plus(other.usage)
        return Spending(self.requests + other.requests, self.tool_calls + other.tool_calls, usage, cost)


_NOTHING = Spending()
_ONE_REQUEST = Spending(requests=1)


class Counter:
    """The sum of a budget, in this process. Several budgets may share one. `spent` is the initial sum."""

    def __init__(self, spent: Spending | None = None) -> None:
        self._spent = spent or _NOTHING
        self._lock = threading.Lock()

    def load(self) -> Spending:
        """Return the sum so far."""
        return self._spent

    def add(self, spent: Spending) -> Spending:
        """Add to the sum and return it."""
        with self._lock:
            self._spent = self._spent.plus(spent)
            return self._spent


class BudgetExceeded(AntiphonError):
    """A limit forbids more requests or calls: `used` of `limit`, in the unit `name`, such as `cost`.

    `used` is `None` if a cost is unknown, so that its limit cannot be enforced. `scope` names the budget.
    """

    def __init__(self, scope: str, name: str, limit: float, used: float | None, label: str = "") -> None:
        told = format_limit(name, limit, label)
        unknown = f"cannot be kept: the cost of a model is not known{format_price_hint()}"
        super().__init__(f"the limit of {told} {unknown if used is None else 'is reached'}")
        self.scope = scope
        self.name = name
        self.limit = limit
        self.used = used


def format_limit(name: str, limit: float, label: str = "") -> str:
    """Return a limit as text: `$5`, `400 requests` or, with a label, `$2 for task 1`."""
    number = f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
    told = f"${limit:g}" if name == "cost" else f"{number} {name.replace('_', ' ')}"
    return f"{told} {label}".rstrip()


class Budget(Middleware):
    """Middleware that counts requests and calls, and rejects those beyond a limit.

    What passes is added to the budget and to its parents, and must be within the limits of all of them. Inside
    a durable middleware it counts only what really happens, so its counter starts with the sum of the saved
    steps. Outside, it also counts replayed steps, and starts at zero.

    `limits` may be a function, for limits that change. `scope` names the budget in `BudgetExceeded`, and
    `label` in messages. `on_warning` is called once with a text, when the share `warn_at` of a limit is used.
    """

    def __init__(
        self,
        limits: Limits | Callable[[], Limits] = NO_LIMITS,
        scope: str = "",
        counter: Counter | None = None,
        parent: Budget | None = None,
        *,
        label: str = "",
        warn_at: float = 0.8,
        on_warning: Callable[[str], object] | None = None,
    ) -> None:
        self.scope = scope
        self.counter = counter or Counter()
        self.parent = parent
        self._limits = limits
        self._label = label
        self._warn_at = warn_at
        self._on_warning = on_warning
        self._began = time.monotonic()
        # Budgets with the same parent are checked and added to together.
        self._lock: threading.RLock = threading.RLock() if parent is None else parent._lock
        self._chain: tuple[Budget, ...] = (self,) if parent is None else (self, *parent._chain)

    @property
    def limits(self) -> Limits:
        """The current limits."""
        return self._limits() if callable(self._limits) else self._limits

    @property
    def spent(self) -> Spending:
        """The sum so far."""
        return self.counter.load()

    def add(self, spent: Spending) -> Spending:
        """Add to this budget and its parents, and warn if little of a limit is left. Return the sum of this budget."""
        total, *_ = [each.counter.add(spent) for each in self._chain]
        if self._on_warning is not None:
            share, told = self._compute_used_share()
            if self._warn_at <= share < 1:
                warn, self._on_warning = self._on_warning, None
                warn(f"{share:.0%} of {told} is used")
        return total

    def check(self, requests: int | None = None, seconds: float | None = None) -> None:
        """Raise `BudgetExceeded` if a limit of this budget or a parent forbids another request.

        A session gives its own requests and its time, which do not count for its parents.
        """
        for each in self._chain:
            spent, limits = each.counter.load(), each.limits
            most_requests, most_seconds = limits.requests, limits.seconds
            if requests is not None and each is not self:
                most_requests = most_seconds = None
            for name, limit, used in (
                ("requests", most_requests, spent.requests if requests is None else requests),
                ("tokens", limits.tokens, spent.tokens if limits.tokens is not None else 0),
                ("output_tokens", limits.output_tokens, spent.output_tokens if limits.output_tokens is not None else 0),
                ("cost", limits.cost, spent.cost),
                ("seconds", most_seconds, time.monotonic() - each._began if seconds is None else seconds),
            ):
                if limit is not None and (used is None or used >= limit):
                    raise BudgetExceeded(each.scope, name, limit, used, each._label)

    def start_request(self, requests: int | None = None, seconds: float | None = None) -> None:
        """Count a request before it is sent. Raise `BudgetExceeded` if `check` forbids it."""
        with self._lock:
            self.check(requests, seconds)
            self.add(_ONE_REQUEST)

    def before(self, step: EffectCall) -> None:
        """Count a request or call before it happens, because concurrent ones share the budget."""
        match step.effect:
            case AskModel():
                self.start_request()
            case CallTool():
                with self._lock:
                    for each in self._chain:
                        limit, used = each.limits.tool_calls, each.spent.tool_calls
                        if limit is not None and used >= limit:
                            raise BudgetExceeded(each.scope, "tool_calls", limit, used, each._label)
                    self.add(Spending(tool_calls=1))
            case _:
                pass

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Add the tokens and the cost of a request."""
        del step
        if isinstance(outcome.value, ModelReplied):
            with self._lock:
                self.add(Spending(usage=outcome.value.reply.usage, cost=outcome.value.cost))

    def _compute_used_share(self) -> tuple[float, str]:
        """Return the largest used share of any limit, and that limit as text."""
        shares = [
            (used / limit, format_limit(name, limit, each._label))
            for each in self._chain
            for limits, spent in [(each.limits, each.spent)]
            for name, limit, used in (
                ("requests", limits.requests, spent.requests),
                ("tool_calls", limits.tool_calls, spent.tool_calls),
                ("tokens", limits.tokens, spent.tokens),
                ("output_tokens", limits.output_tokens, spent.output_tokens),
                ("cost", limits.cost, spent.cost),
            )
            if limit and used is not None
        ]
        return max(shares, default=(0.0, ""))
