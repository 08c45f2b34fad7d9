"""What repair finds and does, in words for a person and codes for a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from antiphon.conversation.parts import ToolCall, ToolResult

ChangeCode = Literal[
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
class Change:
    """One problem of a history, and what repairing it does."""

    code: ChangeCode
    where: str
    found: str
    action: str
    call_id: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.found}; {self.action}"


def interrupted(call: ToolCall) -> ToolResult:
    """The result of a call that nobody will ever finish."""
    return ToolResult(call.id, "Interrupted: this call did not finish and has no result.", is_error=True)


def unanswered(call: ToolCall, where: str) -> Change:
    """The change that answers an open call as interrupted."""
    found = f"call {call.id!r} to `{call.name}` has no result"
    return Change("unanswered-call", where, found, "it is answered as interrupted", call.id)
