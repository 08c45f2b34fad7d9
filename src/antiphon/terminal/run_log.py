"""The log of a run: one line per effect, nested by path; expanded with its result."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from antiphon._base.json import dump_json
from antiphon.conversation import ToolCall
from antiphon.durable import EffectEntry
from antiphon.effects import HumanAnswer, ModelReplied, ToolReturned
from antiphon.errors import ContentError
from antiphon.results import Result, text
from antiphon.results import error as error_result
from antiphon.terminal.render_context import make_console
from antiphon.terminal.scrollback import Scrollback, make_expanded
from antiphon.terminal.state_lines import (
    StateLine,
    format_call,
    format_duration,
    format_tool_call,
    format_usage,
    summarize_tool_result,
)
from antiphon.views import list_display_results

_STATE_MARKS = {"done": "done", "failed": "failed", "waiting": "waiting", "begun": "open"}
_PATH_SEPARATORS = re.compile(r"[/.]")


class EffectPrinter:
    """A printer for effects; `full` expands the result of each."""

    def __init__(self, console: Console | None = None, *, full: bool = False) -> None:
        self._scrollback = Scrollback(console if console is not None else make_console())
        self._full = full

    def effects(self, entries: Iterable[EffectEntry]) -> None:
        """Print effects, each indented under its parent."""
        for entry in entries:
            line = make_effect_line(entry)
            self._scrollback.line(line)
            for result in list_effect_results(entry) if self._full else ():
                self._scrollback.put(make_expanded(result, full=True), line.indent + 2)


def make_effect_line(entry: EffectEntry) -> StateLine:
    """Return an effect as one line: the request, its outcome, duration and cost."""
    took = [] if entry.ended is None else [format_duration(entry.ended - entry.began)]
    tries = [f"{entry.attempt} times"] if entry.attempt > 1 else []
    value = None if entry.outcome is None else entry.outcome.value
    cost = format_usage(value.reply.usage, entry.cost) if isinstance(value, ModelReplied) else []
    state, head = _STATE_MARKS.get(entry.state, "open"), f"{entry.path}  {format_effect_request(entry)}"
    state = "failed" if entry.damage else state
    indent = 2 * len(_PATH_SEPARATORS.findall(entry.path))
    return StateLine(state, head, _format_outcome(entry), " · ".join([*took, *cost, *tries]), indent)


def format_effect_request(entry: EffectEntry) -> str:
    """Return the request of an effect as text."""
    asked = entry.asked
    if asked.get("private"):
        return f"{entry.kind} (private)"
    match entry.kind:
        case "request":
            return str(asked.get("model", "a model"))
        case "tool" if isinstance(asked.get("arguments"), dict):
            return format_call(str(asked.get("tool")), asked["arguments"], dump_json(asked["arguments"]))
        case "tool":
            return f"{asked.get('tool')}({_format_value(asked.get('arguments'))})"
        case "person" | "message":
            return str(asked.get("text", ""))
        case "print":
            return f"print {_format_value(asked.get('text'))}"
        case "python":
            return f"python {asked.get('source', '')}"
        case "environment":
            return f"env {asked.get('name')}"
        case "upload":
            return f"upload {_format_value(asked.get('name') or asked.get('media_type'))} to {asked.get('model')}"
        case "sleep":
            return f"sleep {asked.get('seconds')} s"
        case "batch":
            return f"batch of {asked.get('requests')} requests to {asked.get('model')}"
        case _:
            return entry.kind


def list_effect_results(entry: EffectEntry) -> list[Result]:
    """Return the outcome of an effect as results that can be expanded."""
    outcome = entry.outcome
    if outcome is None or entry.kind in ("print", "sleep"):
        return []
    if outcome.error is not None:
        return [error_result(str(outcome.error) or type(outcome.error).__name__)]
    value = outcome.value
    if isinstance(value, ToolReturned) and value.result is not None:
        return list_display_results(value.result)
    return [text(said)] if (said := _format_outcome_value(value)) else []


def _format_outcome(entry: EffectEntry) -> str:
    outcome = entry.outcome
    if entry.damage:
        return entry.damage
    if outcome is None or entry.kind in ("print", "sleep"):
        return ""
    if outcome.error is not None:
        return str(outcome.error) or type(outcome.error).__name__
    if isinstance(outcome.value, ToolReturned) and outcome.value.result is not None:
        return summarize_tool_result(outcome.value.result)
    return _format_outcome_value(outcome.value)


def _format_outcome_value(value: Any) -> str:
    match value:
        case ModelReplied(reply):
            calls = ", ".join(f"→ {format_tool_call(part)}" for part in reply.parts if isinstance(part, ToolCall))
            return " ".join(part for part in (reply.text, calls) if part)
        case ToolReturned():
            return value.asks
        case HumanAnswer():
            return value.text or ("allowed" if value.allowed else "not allowed")
        case _:
            return value if isinstance(value, str) else _format_value(value)


def _format_value(value: Any) -> str:
    try:
        return dump_json(value)
    except ContentError:
        return repr(value)
