"""Putting right what a rule names, in the body itself: what no conversation has a place for.

A mend changes a body in place and says whether it did. Pairing, order and whatever else a conversation guarantees by
itself are not mended here; reading a body into one and writing it again does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.formats.finding import Finding
from antiphon.formats.mending import anthropic, chat, gemini, names, responses
from antiphon.wire.rules import Violation

Mend = tuple[Callable[[dict[str, Any]], bool], str]

_MENDS: dict[str, Mend] = {**anthropic.MENDS, **chat.MENDS, **responses.MENDS, **gemini.MENDS}

#: What a person has to do where no repair can know what is meant.
_ADVICE = {
    "A0": "give the field what the API wants",
    "O0": "give the field what the API wants",
    "R0": "give the field what the API wants",
    "G0": "give the field what the API wants",
    "O11": "add a message",
    "O13": "declare fewer tools, those that this conversation needs",
    "G12": "give the object its properties",
    "G13": "leave out the tools or the response type",
}


def mend(body: dict[str, Any], api: str, violations: Iterable[Violation]) -> list[Finding]:
    """Repair what these violations name; the findings say what was done."""
    found = [Finding("bad-name", *told) for told in names.mend(body, api)]
    by_code: dict[str, list[Violation]] = {}
    for violation in violations:
        by_code.setdefault(violation.code, []).append(violation)
    for code, named in by_code.items():
        repair, action = _MENDS.get(code, (None, ""))
        if repair is not None and repair(body):
            found += [Finding(code, each.param, each.message, action) for each in named]
    return found


def advice(code: str) -> str:
    """What to do about a rule that nothing here repairs."""
    return _ADVICE.get(code, "this cannot be repaired without knowing what is meant: change it by hand")
