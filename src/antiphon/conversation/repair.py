"""Repairs of a history: each has a description for people and a code for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from antiphon.conversation.parts import ToolCall, ToolResult

RepairCode = Literal[
    "unanswered-call",
    "orphan-result",
    "duplicate-result",
    "duplicate-id",
    "misplaced-result",
    "split-calls",
    "bad-arguments",
    "bad-name",
    "bad-id",
    "bad-result",
    "empty-text",
    "empty-message",
    "unknown-role",
    "unreadable",
    "left-out",
    "bad-item",
    "bad-image",
]


@dataclass(frozen=True, slots=True)
class RepairAction:
    """One problem of a history, and the repair for it."""

    code: RepairCode
    where: str
    found: str
    action: str
    call_id: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.found}; {self.action}"


def make_interrupted_result(call: ToolCall) -> ToolResult:
    """Return the error result of a call that will never complete."""
    return ToolResult(call.id, "Interrupted: this call did not finish and has no result.", is_error=True)


def make_unanswered_action(call: ToolCall, where: str) -> RepairAction:
    """Return the repair that answers an open call as interrupted."""
    found = f"call {call.id!r} to `{call.name}` has no result"
    return RepairAction("unanswered-call", where, found, "it is answered as interrupted", call.id)
