"""The end of models: warnings before it, and words after it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from antiphon.facts.resolution import lookup

if TYPE_CHECKING:
    from datetime import date

#: How many days before its shutdown a model is warned of.
NOTICE_DAYS = 60
_told: set[tuple[str, str]] = set()


class ModelRetirement(FutureWarning):
    """A model is near its shutdown, or beyond it."""


def describe_end(provider: str, model: str, *, notice_days: int = NOTICE_DAYS, today: date | None = None) -> str:
    """Return in words that a model is retired or soon will be, and what to use instead; empty if neither is so."""
    life = lookup(provider, model).lifecycle
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


def warn_of_end(provider: str, model: str) -> None:
    """Warn of a model's shutdown, once for each model."""
    key = (provider, model)
    if key in _told:
        return
    _told.add(key)
    if text := describe_end(provider, model):
        warnings.warn(text, ModelRetirement, stacklevel=3)
