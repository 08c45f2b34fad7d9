"""Messages, JSON and exit codes of `antiphon ask` without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.cli.output import print_json, print_message

if TYPE_CHECKING:
    from antiphon.chat.chat import Chat
    from antiphon.errors import AntiphonError

NO_ANSWER, MISTAKE, WAITING, LIMIT, INTERRUPTED = 1, 2, 3, 4, 130


def report_failure(error: AntiphonError, talk: Chat, *, as_json: bool, is_seen: bool, saved: str) -> int:
    """Print why there is no answer and what to do, and return the exit code.

    A partial answer that was not displayed is named by its id `saved`, or printed.
    """
    from antiphon.session import NeedsHuman, NoAnswer, ReturnError

    said = str(error)
    if isinstance(error, NoAnswer) and not isinstance(error, ReturnError):
        said = f"{error.run.outcome}: {said}"
    if isinstance(error, NoAnswer) and error.run.outcome == "truncated" and not is_seen:
        said = f"{said}; {describe_answer_location(error.run.said, saved)}"
    if isinstance(error, NeedsHuman) and talk.id:
        said = f"{said} (`antiphon resume {talk.id}` asks you and continues)"
    elif isinstance(error, NeedsHuman) and talk.run_id:
        said = f"{said}; `antiphon show {talk.run_id}` says how to answer and resume it"
    print_message(said)
    if as_json:
        print_json(make_failure_json(str(error), talk, error))
    return _get_exit_code(error)


def describe_answer_location(said: str, id: str) -> str:
    """Return a hint where an answer can be read: in the saved conversation `id`, or here."""
    return f"`antiphon show {id}` shows it" if id else f"it is not saved; this is the text:\n{said}"


def make_failure_json(reason: str, talk: Chat | None = None, error: AntiphonError | None = None) -> dict[str, Any]:
    """Return the JSON object for a failure; without a `talk`, nothing was sent."""
    from dataclasses import asdict

    from antiphon.session import RunRecord
    from antiphon.terminal.state_lines import sum_run_usage

    known = {"value": None, "id": talk.id or None if talk else None}
    if error is not None and isinstance(error.run, RunRecord) and error.run.outcome != "failed":
        from antiphon.views.stream import record_json

        return {**record_json(error.run), **known}
    usage, cost = sum_run_usage(talk.usage_history if talk else [])
    return {
        "outcome": "error",
        "detail": reason,
        "model": talk.session.model.name if talk else None,
        "usage": asdict(usage),
        "cost": cost,
        "tool_calls": [],
        **known,
    }


def _get_exit_code(error: AntiphonError) -> int:
    """Return the exit code: a mistake of the user, a pending approval, or no answer."""
    from antiphon import errors
    from antiphon.errors import LeaseLost
    from antiphon.session import LimitReached, NeedsHuman

    if isinstance(error, NeedsHuman):
        return WAITING
    if isinstance(error, LimitReached):
        return LIMIT
    if isinstance(error, LeaseLost):
        return INTERRUPTED
    mistakes = (
        errors.ConfigurationError,
        errors.OptionError,
        errors.WeightsError,
        errors.AuthenticationFailed,
        errors.NotFound,
    )
    return MISTAKE if isinstance(error, mistakes) else NO_ANSWER
