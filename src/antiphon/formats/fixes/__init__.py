"""Fixes for violated rules in the body itself, where a conversation cannot represent the problem.

A fix changes a body in place and returns whether it did. Pairing, order and other properties that a
conversation guarantees are not fixed here: reading a body into a conversation and encoding it again
does that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from antiphon._base.json_access import as_string
from antiphon.conversation import RepairAction, ToolCall
from antiphon.formats.issue import Finding
from antiphon.wire import get_api_spec
from antiphon.wire.rules import RULES, Violation

Body = dict[str, Any]
#: The text of a user that asks for the next part of an answer.
CONTINUE_TEXT = "Continue."
#: A fix changes a body in place and returns whether it did; the text says what it does.
BodyFix = tuple[Callable[[Body], bool], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFixer:
    """The fixes for the histories of one API, and what a history without a model is checked against."""

    #: The fixes by rule code, and those for a list without a request.
    fixes: Mapping[str, BodyFix]
    list_fixes: Mapping[str, BodyFix] = field(default_factory=dict[str, BodyFix])
    #: The legal names of functions, and every object of a body with such a name.
    legal_name: re.Pattern[str]
    iter_names: Callable[[Body], Iterator[tuple[str, Body]]]
    #: Return a body with the messages of other APIs converted, and the changes.
    convert: Callable[[Any], tuple[Any, list[RepairAction]]] = lambda body: (body, [])
    #: Return a list of messages without foreign or empty content, and the changes.
    clean: Callable[[list[Any]], tuple[list[Any], list[RepairAction]]] = lambda items: (items, [])
    #: Return where the results of one turn are in several messages, and in how many.
    find_split_results: Callable[[Body], list[tuple[str, int]]] = lambda body: []  # noqa: ARG005
    #: Return where the model speaks again before its calls are answered.
    find_split_calls: Callable[[Body], list[str]] = lambda body: []  # noqa: ARG005
    #: Return where a result is late, with the id of its call.
    find_late_results: Callable[[Body], list[tuple[str, str]]] = lambda body: []  # noqa: ARG005
    #: Return the fields that a request requires beside its messages.
    complete: Callable[[Body], Body] = lambda body: {}  # noqa: ARG005
    #: Return violations of rules that only some models have, if a body without a model shows that it needs them.
    check_strictly: Callable[[Body, str | None], list[Violation]] = lambda body, provider: []  # noqa: ARG005
    #: Copy marks that encoding again loses.
    restore_marks: Callable[[Body, Body], None] = lambda old, new: None  # noqa: ARG005


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


def fix_tool_names(places: Iterable[tuple[str, dict[str, Any]]], legal: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """Rename illegal names in place. Return location, finding and new name of each."""
    places = list(places)
    taken = {as_string(holder.get("name")) for _, holder in places}
    renamed: dict[str, str] = {}
    told: list[tuple[str, str, str]] = []
    for where, holder in places:
        name = as_string(holder.get("name"))
        if not name or legal.fullmatch(name):
            continue
        if name not in renamed:
            renamed[name] = _make_unused_name(ToolCall.read("id", name, {}).name, taken)
            told.append((where, f"the name {name[:80]!r}, which is not legal", f"it becomes `{renamed[name]}`"))
        holder["name"] = renamed[name]
    return told


def _make_unused_name(name: str, taken: set[str]) -> str:
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name[:60]}_{number}"
    taken.add(made)
    return made
