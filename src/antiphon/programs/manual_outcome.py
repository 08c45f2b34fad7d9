"""Outcomes that operators give for steps, parsed as the type of the step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.effects import HumanAnswer, ModelReplied, Outcome, ToolReturned
from antiphon.errors import NotReadyError
from antiphon.storage import steps
from antiphon.tools.execution import make_call_record
from antiphon.wire import Reply

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Journal
    from antiphon.lang.typecheck.types import Type

_DENIALS = ("n", "no", "false", "deny")


def parse_manual_outcome(journal: Journal, run: str, path: str, text: str) -> Outcome:
    """Convert an operator's answer into the outcome of a step.

    For a function of a `system/…` module the text is parsed as its type; for Python it is JSON, if it is valid JSON.
    """
    entry = journal.find_effect(run, path)
    match entry.kind:
        case "person" if entry.asked.get("about") == "approval":
            return Outcome(HumanAnswer(allowed=text.strip().lower() not in _DENIALS))
        case "person":
            return Outcome(HumanAnswer(text))
        case "request":
            return Outcome(ModelReplied(Reply((Text(text),), stop="end")))
        case "tool":
            return Outcome(_make_tool_outcome(journal, run, entry, text))
        case "python":
            return Outcome(_parse_value(text))
        case "clock":
            return Outcome(text)
        case _:
            raise NotReadyError(f"step {entry.path} is {entry.kind}, whose outcome cannot be given")


def describe_outcome_type(entry: EffectEntry) -> str:
    """Return the type of a step's outcome, or an empty string if any text is valid."""
    from antiphon.lang.typecheck.type_printer import format_type

    wanted = _find_system_type(entry)
    return "" if wanted is None else format_type(wanted)


def _make_tool_outcome(journal: Journal, run: str, entry: EffectEntry, text: str) -> Any:
    whole, _, id = entry.path.rpartition("/")
    # A call of a model comes after a request. The id alone does not tell it from a counted step.
    if not whole or steps.find_step(journal.database, run, f"{whole}/r1") is None:
        # The program called the tool itself.
        wanted = _find_system_type(entry)
        if wanted is not None:
            from antiphon.lang.runtime.inputs import InputMismatch, parse_text_input

            try:
                return parse_text_input(str(entry.asked["tool"]), wanted, text)
            except InputMismatch as wrong:
                raise NotReadyError(f"step {entry.path}: {wrong}") from None
        from antiphon.tools.builtin import all_tools

        # Some tools return data other than text to programs.
        known = next((each.data for each in all_tools() if each.name == entry.asked.get("tool")), None)
        has_data = known is not None and known.__annotations__.get("return") != "str"
        return [_parse_value(text) if has_data else text]
    if "tool" not in entry.asked:
        raise NotReadyError(f"the request of step {entry.path} cannot be read; repeat it with `--retry {entry.path}`")
    call = ToolCall(id, entry.asked["tool"], entry.asked["arguments"])
    result = ToolResult(id, text)
    return ToolReturned(result, make_call_record(call, result))


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _find_system_type(entry: EffectEntry) -> Type | None:
    """Return the return type if a step calls a function of a `system/…` module."""
    from antiphon.lang.runtime.system import SYSTEM_MODULES, load_system_functions
    from antiphon.lang.typecheck.types import NUMBER

    module, dot, name = str(entry.asked.get("tool", "")).partition(".")
    if entry.kind != "tool" or not dot or module not in SYSTEM_MODULES:
        return None
    if (module, name) == ("random", "seed"):
        # The runtime draws the seed in a step of its own; programs do not call it.
        return NUMBER
    function = load_system_functions(module).get(name)
    return None if function is None else function.returns
