"""Stop reasons of each API, and rejections that a changed request fixes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from antiphon.facts.table import load_fact_table

StopOutcome = Literal["done", "tools", "continue", "truncated", "refused", "malformed", "failed", "not_done"]
STOP_OUTCOMES: tuple[StopOutcome, ...] = (
    "done",
    "tools",
    "continue",
    "truncated",
    "refused",
    "malformed",
    "failed",
    "not_done",
)


class StopReason(NamedTuple):
    """A stop reason of an API, and the outcome that it means."""

    word: str
    outcome: StopOutcome
    note: str = ""


class RejectionFix(NamedTuple):
    """A rejection that one more, changed request fixes.

    `pattern` is searched in the server's message. `fact` is the dotted field that the rejection
    teaches, `value` its new value if that does not depend on the request, and `action` how the request
    changes.
    """

    pattern: re.Pattern[str]
    status: int
    fact: str
    value: Any
    action: str


@cache
def stop_reasons(api: str) -> Mapping[str, StopReason]:
    """Return the stop reasons of an API by word. A missing word is unknown."""
    words = load_fact_table().stop_reasons.get(api, {})
    return MappingProxyType(
        {word: StopReason(word, _parse_outcome(each), each["note"]) for word, each in words.items()}
    )


@cache
def cures(api: str) -> tuple[RejectionFix, ...]:
    """Return the rejection fixes of an API, in the order in which they are tried."""
    return tuple(
        RejectionFix(
            re.compile(each["pattern"], re.IGNORECASE), each["status"], each["fact"], each["value"], each["action"]
        )
        for each in load_fact_table().rejection_fixes
        if api in each["apis"]
    )


def _parse_outcome(data: Mapping[str, str]) -> StopOutcome:
    return next(each for each in STOP_OUTCOMES if each == data["outcome"])
