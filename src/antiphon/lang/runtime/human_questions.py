"""Questions of a program to its user, and the parsing of the answers as the wanted type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json import decode_json
from antiphon.effects.pipeline import current_context
from antiphon.errors import SessionAborted, Suspended
from antiphon.lang.runtime.errors import ProgramAborted, VibeError
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.type_printer import format_type

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


_YES_WORDS = ("y", "yes", "true", "ok", "1")
_NO_WORDS = ("n", "no", "false", "0")


def parse_human_answer(answer: str, wanted: t.Type) -> tuple[Any, str]:
    """Parse an answer as a type; return the value, and why it does not fit, which is empty if it does."""
    said = answer.strip()
    if wanted == t.JSON:
        return _parse_json_or_default(said, said), ""
    if t.get_base_type(wanted) == t.TEXT and not isinstance(wanted, t.Literal | t.Union):
        return answer, ""
    if t.is_nullable(wanted) and not said:
        return None, ""
    if wanted == t.BOOLEAN:
        word = said.lower()
        return (word in _YES_WORDS, "") if word in _YES_WORDS + _NO_WORDS else (answer, "expected yes or no")
    if wanted == t.NUMBER:
        value = _parse_json_or_default(said, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value, ""
        return said, "expected a number"
    for option in t.union_options(wanted):
        if isinstance(option, t.Literal) and said.lower() == str(option.value).lower():
            return option.value, ""
    value: Any = _parse_json_or_default(said, None)
    if isinstance(wanted, t.Array) and not isinstance(value, list):
        parts = [parse_human_answer(part, wanted.item) for part in said.split(",")] if said else []
        fault = next((fault for _, fault in parts if fault), "")
        return [part.strip() if isinstance(part, str) else part for part, _ in parts], fault
    if value is None or describe_mismatch(value, wanted, ""):
        return answer, f"expected {describe_wanted_type(wanted)}"
    return cast(Any, value), ""


def _parse_json_or_default(said: str, otherwise: Any) -> Any:
    try:
        return decode_json(said)
    except (ValueError, RecursionError):
        return otherwise


def describe_wanted_type(wanted: t.Type) -> str:
    """Return what kind of answer is wanted, in words."""
    if isinstance(wanted, t.Union):
        return " or ".join(format_type(each) for each in wanted.options)
    return {"number": "a number", "boolean": "yes or no"}.get(format_type(wanted), format_type(wanted))
