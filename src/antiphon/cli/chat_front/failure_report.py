"""What `antiphon ask` says where there is no answer, and the exit codes of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.cli.chat_front.output import print_json, print_message

if TYPE_CHECKING:
    from antiphon.chat.chat_journal import ChatJournal
    from antiphon.chat.saved_chat import SavedChat
    from antiphon.errors import AntiphonError

NO_ANSWER, MISTAKE, WAITING, INTERRUPTED = 1, 2, 3, 130


def report_failure(
    error: AntiphonError, talk: SavedChat, kept: ChatJournal | None, *, as_json: bool, is_seen: bool, saved: str
) -> int:
    """Say why there is no answer, and how there could be one; gives the exit code.

    Half an answer that nobody has seen is not lost: it is `saved` under that name, or is told.
    """
    from antiphon.session import NeedsHuman, NoAnswer, ReturnError

    said = str(error)
    if isinstance(error, NoAnswer) and not isinstance(error, ReturnError):
        said = f"{error.run.outcome}: {said}"
    if isinstance(error, NoAnswer) and error.run.outcome == "truncated" and not is_seen:
        said = f"{said}; {where(error.run.said, saved)}"
    if isinstance(error, NeedsHuman) and talk.id:
        said = f"{said} (`antiphon chat --resume {talk.id}` asks you, and goes on)"
    if isinstance(error, NeedsHuman) and kept is not None and kept.running is not None:
        said = f"{said}; run {kept.running.id}: `antiphon runs show {kept.running.id}` says how to go on"
    print_message(said)
    if as_json:
        print_json(make_failure_json(str(error), talk, error))
    return _code(error)


def where(said: str, id: str) -> str:
    """Where something that was said can be seen, if it is not on standard output; `id` is where it is saved."""
    return f"`antiphon logs show {id}` shows it" if id else f"it is nowhere saved, so here it is:\n{said}"


def make_failure_json(reason: str, talk: SavedChat | None = None, error: AntiphonError | None = None) -> dict[str, Any]:
    """What `--json` prints where there is no result at all; without a `talk` nothing was even asked."""
    from dataclasses import asdict

    from antiphon.session import RunRecord
    from antiphon.terminal.status_line import sum_run_usage

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


def _code(error: AntiphonError) -> int:
    """Whether the user has something to mend, or there just was no answer."""
    from antiphon import errors
    from antiphon.session import NeedsHuman

    if isinstance(error, NeedsHuman):
        return WAITING
    mistakes = (
        errors.ConfigurationError,
        errors.OptionError,
        errors.WeightsError,
        errors.AuthenticationFailed,
        errors.NotFound,
    )
    return MISTAKE if isinstance(error, mistakes) else NO_ANSWER
