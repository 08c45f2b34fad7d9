"""An issue that validation finds in a history, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.conversation import RepairAction

#: Code of content that was never part of the conversation: other branches, side chains, display-only text.
OMITTED_CODE = "left-out"


@dataclass(frozen=True, slots=True)
class Finding:
    """One issue. `code` is that of a repair (`unanswered-call`) or of a rule (`A17`).

    Without `repaired`, `action` says what a person has to do.
    """

    code: str
    where: str
    found: str
    action: str
    call_id: str = ""
    repaired: bool = True

    @property
    def is_fault(self) -> bool:
        """True if something is wrong. Content that a program keeps beside a conversation is omitted and no
        fault.
        """
        return self.code != OMITTED_CODE

    @classmethod
    def of(cls, change: RepairAction) -> Finding:
        """Create an issue from a change that reading a history made."""
        return cls(change.code, change.where, change.found, change.action, change.call_id)

    def __str__(self) -> str:
        return f"{self.where}: {self.found}; {self.action}" if self.where else f"{self.found}; {self.action}"
