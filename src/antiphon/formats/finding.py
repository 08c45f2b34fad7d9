"""What a check finds in a history, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.conversation import Change


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

    @classmethod
    def of(cls, change: Change) -> Finding:
        """What reading a history repaired."""
        return cls(change.code, change.where, change.found, change.action, change.call_id)

    def __str__(self) -> str:
        return f"{self.where}: {self.found}; {self.action}" if self.where else f"{self.found}; {self.action}"
