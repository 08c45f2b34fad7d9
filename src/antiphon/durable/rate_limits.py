"""Rate limits that processes share: requests and tokens per minute to a model."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from os import PathLike

from antiphon.durable.journal_middleware import LONG_SLEEP
from antiphon.durable.run_entries import format_local_time
from antiphon.effects import AskModel, EffectCall, Middleware, ModelReplied, Outcome, current_context, use_context
from antiphon.errors import NotReadyError, Suspended
from antiphon.storage.budgets import add_used_seconds, get_used_seconds, reserve_moment
from antiphon.storage.places import open_database

#: How many seconds of a limit of tokens may be used at once.
_BURST = 60.0


class RateLimits(Middleware):
    """Middleware that delays model requests so that all processes with the same database stay within rate limits.

    `location` is a file, the URL of a PostgreSQL database, or `":memory:"` for this process; the default is the user's
    own file. Replayed requests do not wait. On many machines, a durable run that has to wait long is suspended; its
    moment is reserved.

    `per_minute` maps model names to requests per minute; a pattern such as `openai/*` is one limit for all its models.
    `tokens_per_minute` does the same for input and output tokens, which count when the answer is complete: a request is
    sent unless the tokens of the last minute were used.
    """

    def __init__(
        self,
        location: str | PathLike[str] | None = None,
        per_minute: Mapping[str, float] | None = None,
        *,
        tokens_per_minute: Mapping[str, float] | None = None,
    ) -> None:
        requests, tokens = per_minute or {}, tokens_per_minute or {}
        for unit, limits in (("requests", requests), ("tokens", tokens)):
            for name, number in limits.items():
                if not number > 0:
                    raise NotReadyError(f"the limit of {name!r} must be more than 0 {unit} per minute, not {number:g}")
        self._database = open_database(location)
        self._seconds_per_request = {name: 60 / number for name, number in requests.items()}
        self._seconds_per_token = {name: 60 / number for name, number in tokens.items()}

    @contextmanager
    def enforce(self) -> Generator[None]:
        """Apply the limits inside the block."""
        where = current_context()
        with use_context(replace(where, performers=(*where.performers, self))):
            yield

    def delay(self, step: EffectCall) -> float:
        """Reserve the next free moment for a model request, and return the seconds until then."""
        if not isinstance(step.effect, AskModel):
            return 0.0
        model = step.effect.model
        wait, reason = self._wait_for_request(model, step.path), f"the limit of requests per minute to {model}"
        if (debt := self._compute_token_wait(model)) > wait:
            wait, reason = debt, f"the limit of tokens per minute of {model}"
        if wait > 0 and step.report_delay is not None:
            step.report_delay(wait, reason)
        return wait

    def handle_performed(self, step: EffectCall, outcome: Outcome) -> None:
        """Count the tokens of an answer."""
        if not isinstance(step.effect, AskModel) or not isinstance(outcome.value, ModelReplied):
            return
        usage, name = outcome.value.reply.usage, _find_limit(step.effect.model, self._seconds_per_token)
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        if name is not None and tokens:
            add_used_seconds(self._database, f"tokens of {name}", tokens * self._seconds_per_token[name])

    def _wait_for_request(self, model: str, path: str) -> float:
        name = _find_limit(model, self._seconds_per_request)
        if name is None:
            return 0.0
        where = current_context()
        run = where.run if where.is_durable and self._database.is_shared else ""
        wait = reserve_moment(self._database, name, self._seconds_per_request[name], run, path, LONG_SLEEP)
        if run and wait > LONG_SLEEP:
            raise Suspended(
                f"the rate limit of {model} delays the request until {format_local_time(time.time() + wait, 'seconds')}"
            )
        return max(0.0, wait)

    def _compute_token_wait(self, model: str) -> float:
        name = _find_limit(model, self._seconds_per_token)
        return 0.0 if name is None else get_used_seconds(self._database, f"tokens of {name}") - _BURST


def _find_limit(model: str, limits: Mapping[str, float]) -> str | None:
    return next((each for each in limits if fnmatchcase(model, each)), None)
