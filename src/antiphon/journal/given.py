"""What a person says that came of an effect, as the outcome that such an effect has."""

from __future__ import annotations

import json
import re
from typing import Any

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.effects import Answered, Outcome, Returned, Said
from antiphon.errors import NotReadyError
from antiphon.journal.looking import EffectEntry
from antiphon.tools.execution import record
from antiphon.wire import Reply

#: How a path ends that a program counted, and no model named: `3`, `3.1`, `3[7].1`.
_COUNTED = re.compile(r"\d+((\[\d+\])?\.\d+)*")
_NO = ("n", "no", "false", "deny")


def outcome_given(entry: EffectEntry, text: str) -> Outcome:
    """The outcome that says this; what a program reads as a value is read as JSON, where it is JSON."""
    match entry.kind:
        case "person" if entry.asked.get("about") == "approval":
            return Outcome(Said(allowed=text.strip().lower() not in _NO))
        case "person":
            return Outcome(Said(text))
        case "request":
            return Outcome(Answered(Reply((Text(text),), stop="end")))
        case "tool":
            return Outcome(_tool_outcome(entry, text))
        case "python":
            return Outcome(_value(text))
        case "clock":
            return Outcome(text)
        case _:
            raise NotReadyError(f"step {entry.path} is {entry.kind}, and what comes of it cannot be given")


def _tool_outcome(entry: EffectEntry, text: str) -> Any:
    id = entry.path.rpartition("/")[2]
    if _COUNTED.fullmatch(id):
        # The program itself called it.
        return [text]
    call = ToolCall(id, entry.asked["tool"], entry.asked["arguments"])
    result = ToolResult(id, text)
    return Returned(result, record(call, result))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
