"""What a run has done, a line for each effect under what it is part of; opened, with what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from antiphon._json import dumps
from antiphon.conversation import ToolCall
from antiphon.effects import Answered, Returned, Said
from antiphon.errors import ContentError
from antiphon.journal import EffectEntry
from antiphon.render.context import console as make_console
from antiphon.render.lines import StateLine, call_head, duration, spent, summary, written_call
from antiphon.render.scroll import Scroll, opened
from antiphon.results import Result, text
from antiphon.results import error as error_result
from antiphon.views import results_of

_STATES = {"done": "done", "failed": "failed", "waiting": "waiting", "begun": "open"}
_STEPS = re.compile(r"[/.]")


class ShowEffects:
    """Prints effects; `full` opens what came of each."""

    def __init__(self, console: Console | None = None, *, full: bool = False) -> None:
        self._scroll = Scroll(console if console is not None else make_console())
        self._full = full

    def effects(self, entries: Iterable[EffectEntry]) -> None:
        """Print them, each under what it is part of."""
        for entry in entries:
            line = effect_line(entry)
            self._scroll.line(line)
            for result in effect_results(entry) if self._full else ():
                self._scroll.put(opened(result, full=True), line.indent + 2)


def effect_line(entry: EffectEntry) -> StateLine:
    """An effect in a line: what was asked for, what came of it, how long it took and what it cost."""
    took = [] if entry.ended is None else [duration(entry.ended - entry.began)]
    tries = [f"{entry.attempt} times"] if entry.attempt > 1 else []
    value = None if entry.outcome is None else entry.outcome.value
    cost = spent(value.reply.usage, entry.cost) if isinstance(value, Answered) else []
    state, head = _STATES.get(entry.state, "open"), f"{entry.path}  {effect_head(entry)}"
    state = "failed" if entry.damage else state
    indent = 2 * len(_STEPS.findall(entry.path))
    return StateLine(state, head, _came(entry), " · ".join([*took, *cost, *tries]), indent)


def effect_head(entry: EffectEntry) -> str:
    """What was asked for."""
    asked = entry.asked
    if asked.get("private"):
        return f"{entry.kind} (private)"
    match entry.kind:
        case "request":
            return str(asked.get("model", "a model"))
        case "tool" if isinstance(asked.get("arguments"), dict):
            return written_call(str(asked.get("tool")), asked["arguments"], dumps(asked["arguments"]))
        case "tool":
            return f"{asked.get('tool')}({_value(asked.get('arguments'))})"
        case "person":
            return str(asked.get("text", ""))
        case "print":
            return f"print {_value(asked.get('text'))}"
        case "python":
            return f"python {asked.get('source', '')}"
        case "environment":
            return f"env {asked.get('name')}"
        case "sleep":
            return f"sleep {asked.get('seconds')} s"
        case _:
            return entry.kind


def effect_results(entry: EffectEntry) -> list[Result]:
    """What came of an effect, as results that can be opened."""
    outcome = entry.outcome
    if outcome is None or entry.kind in ("print", "sleep"):
        return []
    if outcome.error is not None:
        return [error_result(str(outcome.error) or type(outcome.error).__name__)]
    value = outcome.value
    if isinstance(value, Returned) and value.result is not None:
        return results_of(value.result)
    return [text(said)] if (said := _said(value)) else []


def _came(entry: EffectEntry) -> str:
    outcome = entry.outcome
    if entry.damage:
        return entry.damage
    if outcome is None or entry.kind in ("print", "sleep"):
        return ""
    if outcome.error is not None:
        return str(outcome.error) or type(outcome.error).__name__
    if isinstance(outcome.value, Returned) and outcome.value.result is not None:
        return summary(outcome.value.result)
    return _said(outcome.value)


def _said(value: Any) -> str:
    match value:
        case Answered(reply):
            calls = ", ".join(f"→ {call_head(part)}" for part in reply.parts if isinstance(part, ToolCall))
            return " ".join(part for part in (reply.text, calls) if part)
        case Returned():
            return value.asks
        case Said():
            return value.text or ("allowed" if value.allowed else "not allowed")
        case _:
            return value if isinstance(value, str) else _value(value)


def _value(value: Any) -> str:
    try:
        return dumps(value)
    except ContentError:
        return repr(value)
