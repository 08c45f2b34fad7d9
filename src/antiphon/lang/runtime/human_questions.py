"""Questions of a program to its user."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon.effects.pipeline import current_context
from antiphon.errors import SessionAborted, Suspended
from antiphon.lang.runtime.errors import ProgramAborted, VibeError

if TYPE_CHECKING:
    from antiphon.effects import HumanAnswer
    from antiphon.session.human_input import ApprovalCache, HumanInput

#: So much of a question stands in an error; the whole of it is in the journal.
_MOST_SHOWN = 200


def ask_human_now(
    people: HumanInput | None,
    id: str,
    kind: Any,
    text: str,
    who: str,
    *,
    refused: str = "",
    once: ApprovalCache | None = None,
) -> HumanAnswer:
    """Ask a person and return the answer; raise V0923 if nobody answers."""
    if people is not None:
        from antiphon.session import Question

        said = people.ask_now(Question(id, kind, text, who=who), once)
        if said is not None:
            return said
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    raise make_suspended_error(refused or f"nobody is here to answer: {shown}", "run it in a terminal")


class ProgramSuspended(VibeError, Suspended):
    """The program waits for a human; the effect that asked has no outcome yet."""


class ProgramSleeping(ProgramSuspended):
    """The program waits for a time that is far off."""


def make_aborted_error(error: SessionAborted) -> ProgramAborted:
    """Return the uncatchable error that ends an aborted program."""
    told = VibeError("V0930", str(error))
    told.__cause__ = error
    return ProgramAborted(told)


def make_suspended_error(
    message: str, hint: str = "", kind: type[ProgramSuspended] = ProgramSuspended
) -> BaseException:
    """Return the error for a question nobody answers; in a durable run, the program cannot catch it."""
    error = kind("V0923", message, hint)
    return ProgramAborted(error) if current_context().is_durable else error


def is_suspended_error(error: BaseException | None) -> bool:
    """Return True if an error only means that the program is suspended and can be resumed after an answer."""
    return isinstance(error, ProgramAborted) and isinstance(error.error, ProgramSuspended)


def quote_for_question(text: str) -> str:
    """Quote a text of the program for a question, so that no part of it passes for the question itself."""
    said = json.dumps(text)
    return said if len(said) <= 600 else f"{said[:300]} … {len(said) - 600:,} more characters … {said[-300:]}"
