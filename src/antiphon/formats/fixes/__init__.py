"""Fixes for violated rules in the body itself, where a conversation cannot represent the problem.

A fix changes a body in place and returns whether it did. Pairing, order and other properties that a
conversation guarantees are not fixed here: reading a body into a conversation and encoding it again
does that.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from antiphon.formats.fixes.history_fixer import HistoryFixer
from antiphon.formats.fixes.tool_names import fix_tool_names
from antiphon.formats.issue import Finding
from antiphon.wire import get_api_spec
from antiphon.wire.rules import RULES, Violation

#: Advice for violations that no fix can repair without knowing the intent.
_ADVICE = {
    "A16": "send the thinking as the model gave it, or leave it out",
    "A18": "leave out the thinking: it is of another conversation",
    "O11": "add a message",
    "O13": "declare fewer tools, those that this conversation needs",
    "R12": "leave out the reasoning: its encrypted content is not of this account",
    "R13": "send the whole conversation, without `previous_response_id`",
    "R14": "write it in the form of the Responses API",
    "G13": "leave out the tools or the response type",
}


def get_fixer(api: str) -> HistoryFixer:
    """Return the fixes of an API, whose module is imported on first use."""
    return cast(HistoryFixer, import_module(f"{__name__}.{get_api_spec(api).module}").FIXER)


def fix_violations(
    body: dict[str, Any], api: str, violations: Iterable[Violation], *, bare: bool = False
) -> list[Finding]:
    """Repair these violations in place and return the issues. A bare list has nothing but its messages."""
    fixer = get_fixer(api)
    fixes = {**fixer.fixes, **(fixer.list_fixes if bare else {})}
    found = [Finding("bad-name", *told) for told in fix_tool_names(fixer.iter_names(body), fixer.legal_name)]
    by_code: dict[str, list[Violation]] = {}
    for violation in violations:
        by_code.setdefault(violation.code, []).append(violation)
    for code, named in by_code.items():
        repair, action = fixes.get(code, (None, ""))
        if repair is not None and repair(body):
            found += [Finding(code, each.param, each.message, action) for each in named]
    return found


def get_manual_advice(code: str) -> str:
    """Return what to do about a rule without a fix: at least what the API requires."""
    # Rules with the number 0 are about the types of fields.
    shape = "give the field what the API wants" if code[1:] == "0" else ""
    return shape or _ADVICE.get(code) or f"change it by hand: {RULES[code].wants}"
