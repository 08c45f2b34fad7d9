"""Putting right what a rule names, in the body itself: what no conversation has a place for.

A mend changes a body in place and says whether it did. Pairing, order and whatever else a conversation guarantees by
itself are not mended here; reading a body into one and writing it again does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.formats.finding import Finding
from antiphon.formats.mending import anthropic, chat, gemini, names, responses
from antiphon.wire.rules import RULES, Violation

Mend = tuple[Callable[[dict[str, Any]], bool], str]

_MENDS: dict[str, Mend] = {**anthropic.MENDS, **chat.MENDS, **responses.MENDS, **gemini.MENDS}

#: What a person has to do where no repair can know what is meant.
_ADVICE = {
    "A0": "give the field what the API wants",
    "O0": "give the field what the API wants",
    "R0": "give the field what the API wants",
    "G0": "give the field what the API wants",
    "A16": "send the thinking as the model gave it, or leave it out",
    "A18": "leave out the thinking: it is of another conversation",
    "O11": "add a message",
    "O13": "declare fewer tools, those that this conversation needs",
    "R12": "leave out the reasoning: its encrypted content is not of this account",
    "R13": "send the whole conversation, without `previous_response_id`",
    "R14": "write it in the form of the Responses API",
    "G13": "leave out the tools or the response type",
}


def mend(body: dict[str, Any], api: str, violations: Iterable[Violation], *, bare: bool = False) -> list[Finding]:
    """Repair what these violations name; the findings say what was done. A bare list has no place but its messages."""
    found = [Finding("bad-name", *told) for told in names.mend(body, api)]
    by_code: dict[str, list[Violation]] = {}
    for violation in violations:
        by_code.setdefault(violation.code, []).append(violation)
    for code, named in by_code.items():
        repair, action = (anthropic.BARE if bare else {}).get(code) or _MENDS.get(code, (None, ""))
        if repair is not None and repair(body):
            found += [Finding(code, each.param, each.message, action) for each in named]
    return found


def advice(code: str) -> str:
    """What to do about a rule that nothing here repairs; at least what the API wants."""
    return _ADVICE.get(code) or f"change it by hand: {RULES[code].wants}"
