"""What a person says that came of an effect, as the outcome that such an effect has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.effects import Answered, Outcome, Returned, Said
from antiphon.errors import NotReadyError
from antiphon.tools.execution import record
from antiphon.wire import Reply

if TYPE_CHECKING:
    from antiphon.journal.journal import Journal
    from antiphon.journal.looking import EffectEntry

_NO = ("n", "no", "false", "deny")


def outcome_given(journal: Journal, run: str, path: str, text: str) -> Outcome:
    """The outcome of a step that says this; what a program reads as a value is read as JSON, where it is JSON."""
    entry = journal.effect(run, path)
    match entry.kind:
        case "person" if entry.asked.get("about") == "approval":
            return Outcome(Said(allowed=text.strip().lower() not in _NO))
        case "person":
            return Outcome(Said(text))
        case "request":
            return Outcome(Answered(Reply((Text(text),), stop="end")))
        case "tool":
            return Outcome(_tool_outcome(journal, run, entry, text))
        case "python":
            return Outcome(_value(text))
        case "clock":
            return Outcome(text)
        case _:
            raise NotReadyError(f"step {entry.path} is {entry.kind}, and what comes of it cannot be given")


def _tool_outcome(journal: Journal, run: str, entry: EffectEntry, text: str) -> Any:
    whole, _, id = entry.path.rpartition("/")
    # Where a model calls, it was asked: by a number alone, which it may be, a call cannot be told from a count.
    if not whole or not journal.read("SELECT 1 FROM effects WHERE run = ? AND path = ?", (run, f"{whole}/r1")):
        # The program itself called it.
        return [text]
    if "tool" not in entry.asked:
        raise NotReadyError(
            f"what was asked for in step {entry.path} cannot be read; `--retry {entry.path}` asks again"
        )
    call = ToolCall(id, entry.asked["tool"], entry.asked["arguments"])
    result = ToolResult(id, text)
    return Returned(result, record(call, result))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
