"""Fixes for violated rules in the body itself, where a conversation cannot represent the problem.

A fix changes a body in place and returns whether it did. Pairing, order and other properties that a
conversation guarantees are not fixed here: reading a body into a conversation and encoding it again
does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.formats.fixes import anthropic, gemini
from antiphon.formats.fixes import openai_chat as chat
from antiphon.formats.fixes import openai_responses as responses
from antiphon.formats.fixes import tool_names as names
from antiphon.formats.issue import Finding
from antiphon.wire.rules import RULES, Violation

BodyFix = tuple[Callable[[dict[str, Any]], bool], str]

_FIXES: dict[str, BodyFix] = {
    **anthropic.ANTHROPIC_FIXES,
    **chat.CHAT_FIXES,
    **responses.RESPONSES_FIXES,
    **gemini.GEMINI_FIXES,
}

#: Advice for violations that no fix can repair without knowing the intent.
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


def fix_violations(
    body: dict[str, Any], api: str, violations: Iterable[Violation], *, bare: bool = False
) -> list[Finding]:
    """Repair these violations in place and return the issues. A bare list has nothing but its messages."""
    found = [Finding("bad-name", *told) for told in names.fix_tool_names(body, api)]
    by_code: dict[str, list[Violation]] = {}
    for violation in violations:
        by_code.setdefault(violation.code, []).append(violation)
    for code, named in by_code.items():
        repair, action = (anthropic.ANTHROPIC_LIST_FIXES if bare else {}).get(code) or _FIXES.get(code, (None, ""))
        if repair is not None and repair(body):
            found += [Finding(code, each.param, each.message, action) for each in named]
    return found


def get_manual_advice(code: str) -> str:
    """Return what to do about a rule without a fix: at least what the API requires."""
    return _ADVICE.get(code) or f"change it by hand: {RULES[code].wants}"
