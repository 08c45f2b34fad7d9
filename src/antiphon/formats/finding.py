"""What a check finds in a history, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.conversation import Change

#: The code of what was never part of the conversation: other branches, side chains, what only people were shown.
LEFT_OUT = "left-out"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem. `code` is a repair's (`unanswered-call`) or a rule's (`A17`); without `repaired`, `action` says what
    a person has to do."""

    code: str
    where: str
    found: str
    action: str
    call_id: str = ""
    repaired: bool = True

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong. What a program keeps beside a conversation is left out of it, and no fault."""
        return self.code != LEFT_OUT

    @classmethod
    def of(cls, change: Change) -> Finding:
        """What reading a history repaired."""
        return cls(change.code, change.where, change.found, change.action, change.call_id)

    def __str__(self) -> str:
        return f"{self.where}: {self.found}; {self.action}" if self.where else f"{self.found}; {self.action}"
