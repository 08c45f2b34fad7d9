"""Retirement of models: warnings before shutdown, and a message after it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from antiphon.facts.resolution import lookup_facts

if TYPE_CHECKING:
    from datetime import date

#: Days before a model's shutdown from which on a warning is issued.
NOTICE_DAYS = 60
_warned: set[tuple[str, str]] = set()


class ModelRetirementWarning(FutureWarning):
    """Warning that a model is near its shutdown, or past it."""


def describe_retirement(provider: str, model: str, *, notice_days: int = NOTICE_DAYS, today: date | None = None) -> str:
    """Return a message that a model is retired or soon will be, and its replacement, or ""."""
    life = lookup_facts(provider, model).lifecycle
    if life.retires is None and life.state != "retired":
        return ""
    from datetime import date, timedelta

    day = today or date.today()
    instead = f"; use {provider}/{life.replaced_by}" if life.replaced_by else ""
    if life.retires is not None and life.retires > day + timedelta(notice_days):
        return ""
    if life.retires is None or life.state == "retired" or life.retires <= day:
        since = f" since {life.retires.isoformat()}" if life.retires else ""
        return f"{provider}/{model} is retired{since}{instead}"
    return f"{provider}/{model} will be shut down on {life.retires.isoformat()}{instead}"


def warn_of_retirement(provider: str, model: str) -> None:
    """Warn of a model's shutdown, once per model."""
    key = (provider, model)
    if key in _warned:
        return
    _warned.add(key)
    if text := describe_retirement(provider, model):
        warnings.warn(text, ModelRetirementWarning, stacklevel=3)
