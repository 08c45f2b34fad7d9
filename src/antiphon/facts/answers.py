"""What servers answer: the stop reasons of each API, and the refusals that name their cure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from antiphon.facts.table import load_table

Outcome = Literal["done", "tools", "continue", "truncated", "refused", "malformed", "failed", "not_done"]
OUTCOMES: tuple[Outcome, ...] = (
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
    """A word that an API ends an answer with, and what follows from it."""

    word: str
    outcome: Outcome
    note: str = ""


class Cure(NamedTuple):
    """A refusal that is cured by one more request.

    `pattern` is searched in the server's words. `fact` is the dotted field that the refusal teaches, `value` its new
    value where that does not depend on the request, and `action` what the request is changed by.
    """

    pattern: re.Pattern[str]
    status: int
    fact: str
    value: Any
    action: str


@cache
def stop_reasons(api: str) -> Mapping[str, StopReason]:
    """Return the stop reasons of an API by word; a word that is not there is unknown."""
    words = load_table().stops.get(api, {})
    return MappingProxyType({word: StopReason(word, _outcome(each), each["note"]) for word, each in words.items()})


@cache
def cures(api: str) -> tuple[Cure, ...]:
    """Return the cures of refusals by an API, in the order in which they are tried."""
    return tuple(
        Cure(re.compile(each["pattern"], re.IGNORECASE), each["status"], each["fact"], each["value"], each["action"])
        for each in load_table().cures
        if api in each["apis"]
    )


def _outcome(data: Mapping[str, str]) -> Outcome:
    return next(each for each in OUTCOMES if each == data["outcome"])
