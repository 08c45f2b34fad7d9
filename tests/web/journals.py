"""Runs as they could have happened, written into a journal."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Mapping
from typing import Any

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.durable import ActiveRun, Journal
from antiphon.durable.session_run import MessageStep
from antiphon.effects import (
    AskModel,
    AskPerson,
    CallTool,
    Effect,
    EffectCall,
    ModelReplied,
    Outcome,
    Print,
    ToolReturned,
)
from antiphon.results import Result
from antiphon.wire import Reply, Usage

#: A process of this machine that cannot be there: no number of a process is as large.
DEAD = f"{socket.gethostname()}:4194305:1:0000"


def begun(
    journal: Journal, id: str, title: str = "", data: Mapping[str, Any] | None = None, **options: Any
) -> ActiveRun:
    return journal.begin("program", title or id, data, id=id, **options)


def set_times(journal: Journal, id: str, times: Mapping[str, tuple[float, float]]) -> None:
    """Set when steps began and ended, in seconds; the last one ended just now."""
    zero = time.time() - max(ended for _, ended in times.values())
    with journal.database.write_transaction() as connection:
        for path, (began, ended) in times.items():
            connection.execute(
                "UPDATE steps SET began = ?, ended = ? WHERE session = ? AND path = ?",
                (zero + began, zero + ended, id, path),
            )


def owned(journal: Journal, owner: str, *ids: str) -> None:
    """As if that process was at these runs."""
    with journal.database.write_transaction() as connection:
        for id in ids:
            connection.execute("UPDATE sessions SET owner = ?, state = 'running' WHERE id = ?", (owner, id))


def do(running: ActiveRun | MessageStep, path: str, effect: Effect, outcome: Outcome | None = None) -> None:
    step = EffectCall(path, effect)
    running.middleware.before(step)
    if outcome is not None:
        running.middleware.after(step, outcome)


def show(running: ActiveRun, path: str, result: Result, tool: str = "show", arguments: Mapping[str, Any] = {}) -> None:
    came = ToolReturned(ToolResult("c1", result.summary or "shown", semantic=result))
    do(running, path, CallTool(tool, dict(arguments)), Outcome(came))


def say(
    running: ActiveRun | MessageStep, path: str, text: str, cost: float = 0.0125, calls: Iterable[ToolCall] = ()
) -> None:
    reply = Reply((Text(text), *calls), "end", usage=Usage(1200, 80))
    do(running, path, AskModel("claude-sonnet-5", "Be kind.", ()), Outcome(ModelReplied(reply, cost)))


def put(running: ActiveRun, path: str, text: str) -> None:
    do(running, path, Print(text), Outcome())


def ask(running: ActiveRun, path: str, text: str) -> None:
    do(running, path, AskPerson("question", text))


def want(running: ActiveRun, path: str, tool: str, arguments: dict[str, Any]) -> None:
    do(running, path, AskPerson("approval", f"May `{tool}` run with it?", ToolCall("c1", tool, arguments)))
