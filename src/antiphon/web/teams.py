"""Teams on the page: list, tasks, changes, and the messages and answers of the user."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from antiphon.errors import ContentError, NotReadyError, NotSavedError, OptionError
from antiphon.results import diff, terminal
from antiphon.storage.sessions import has_session
from antiphon.team import SecretRefused, Team
from antiphon.team.diffs import FileVersions, file_versions_between
from antiphon.team.git import RepositoryError
from antiphon.team.queries import find_commit_range, get_task
from antiphon.team.state import ACCEPT_WORDS, normalize_decision
from antiphon.views.markdown import markdown_json
from antiphon.web.steps import render_result_json

if TYPE_CHECKING:
    from collections.abc import Generator

    from antiphon.durable import Journal
    from antiphon.web.run_launcher import RunLauncher

#: The most files, and the most bytes in all, of a diff.
_MAX_FILES, _MAX_DIFF_BYTES = 300, 4_000_000
#: How long, and how often, to wait for a process that is releasing a team, in seconds.
_RELEASE_SECONDS, _RELEASE_POLL_SECONDS = 5.0, 0.1
SHARED_JOURNAL_NOTE = "A team works on one machine: in a journal that many share there is none."


def load_team(journal: Journal, id: str) -> Team:
    """Return a team with its current state; raise `NotReadyError` if its creation is unfinished."""
    team = find_team(journal, id)
    if team.refresh().begun is None:
        raise NotReadyError(describe_unfinished_creation(id))
    return team


def describe_unfinished_creation(id: str) -> str:
    """Return the message about a team whose creation is unfinished."""
    return f"team {id} is just being begun; `antiphon resume {id}` does the rest if nobody does"


def find_team(journal: Journal, id: str) -> Team:
    """Return a team without loading its state; raise `NotSavedError` if there is none."""
    if journal.is_shared:
        raise NotSavedError(SHARED_JOURNAL_NOTE)
    if not has_session(journal.database, id, "team"):
        raise NotSavedError(f"team {id!r} does not exist")
    return Team(id, journal)


def task_details_json(team: Team, which: str) -> dict[str, Any]:
    """Return the details of a task: specification, plan, summary, notes and test result."""
    known = get_task(team, which)
    texts = {"spec": known.spec, "plan": known.plan, "summary": known.summary, "notes": known.notes}
    blocks = {name: markdown_json(text) for name, text in texts.items()}
    seen: dict[str, Any] = {"id": known.id, "checks": list(known.checks), **texts, "blocks": blocks}
    if (check := known.check) is not None:
        output = terminal(check.command, check.output) if check.command else None
        seen["check"] = {
            "why": check.why,
            "passed": check.passed,
            "tests": list(check.tests),
            "leftOut": list(check.left_out),
            "marks": list(check.marks),
            **({} if output is None else {"output": render_result_json(output, 2000)}),
        }
    return seen


def team_diff_json(team: Team, which: str | None, rows: int) -> dict[str, Any]:
    """Return the changes of a task, or of the whole team, as a diff for each file."""
    with _map_errors():
        between = find_commit_range(team, which)
        files = [] if between is None else file_versions_between(team.task_files().work, *between, _MAX_DIFF_BYTES)
    return {
        "files": [_file_diff_json(each, rows) for each in files[:_MAX_FILES]],
        "more": max(0, len(files) - _MAX_FILES),
    }


def _file_diff_json(file: FileVersions, rows: int) -> dict[str, Any]:
    about = {"path": file.path, "status": file.status, "role": file.role, "unseen": file.unseen}
    if file.unseen:
        return about
    return {**about, "view": render_result_json(diff(file.path, file.before, file.after or ""), rows)}


# Actions


TeamAction = Callable[[Team, "RunLauncher", dict[str, Any]], dict[str, Any]]


def act_on_team(journal: Journal, launcher: RunLauncher, name: str, id: str, given: dict[str, Any]) -> dict[str, Any]:
    """Perform an action on a team by its name; raise `OptionError` if a team has no such action."""
    if (act := _TEAM_ACTIONS.get(name)) is None:
        raise OptionError(f"session {id} is a team, and a team cannot do this: {name}")
    with _map_errors():
        return act(load_team(journal, id), launcher, given)


def answer_question(team: Team, going: RunLauncher, given: dict[str, Any]) -> dict[str, Any]:
    """Answer a question and resume the team."""
    number, said = given.get("question"), _require_text(given)
    if not isinstance(number, int) or isinstance(number, bool):
        raise OptionError("`question` must be the number of a question")
    allowed = given.get("allowed")
    if not (allowed is None or isinstance(allowed, bool)):
        raise OptionError("`allowed` must be true or false")
    team.answer(number, said if allowed is None else "yes" if allowed else _format_denial(said))
    return _resume_when_released(team, going)


def _format_denial(reason: str) -> str:
    """Return the text of a denial, such that it cannot be mistaken for an approval."""
    return f"no: {reason}" if normalize_decision(reason) in ACCEPT_WORDS else reason if reason.strip() else "no"


def post_message(team: Team, _: RunLauncher, given: dict[str, Any]) -> dict[str, Any]:
    """Post a message of the user in a channel."""
    channel, to, said = _require_text(given, "channel"), _require_text(given, "to"), _require_text(given).strip()
    if said:
        message = team.say(said, to, channel or "product") if to else team.say_line(said, channel or None)
        return {"id": message.id, "running": team.is_running()}
    raise OptionError("the message is empty")


def raise_limits(team: Team, going: RunLauncher, given: dict[str, Any]) -> dict[str, Any]:
    """Raise the limits of a team; resume it if it was paused by one of them."""
    cost, requests = _require_amount(given.get("cost"), "cost"), _require_amount(given.get("requests"), "requests")
    if requests is not None and requests != int(requests):
        raise OptionError("`requests` must be an integer")
    if cost is None and requests is None:
        raise OptionError("no limit is given; set `cost` in US dollars, or `requests`")
    waited = any(turn.paused is not None and turn.paused.over == "cap" for turn in team.state.turns.values())
    if cost is not None:
        team.raise_cost(cost)
    if requests is not None:
        team.raise_requests(int(requests))
    return _resume_when_released(team, going) if waited else {"goesOn": team.is_running()}


def stop_team(team: Team, _: RunLauncher, __: dict[str, Any]) -> dict[str, Any]:
    """Ask the process that runs a team to suspend it."""
    if not team.is_running():
        raise NotReadyError(f"team {team.id} is not running")
    team.stop()
    return {"stops": True}


def resume_team(team: Team, going: RunLauncher, _: dict[str, Any]) -> dict[str, Any]:
    """Resume a suspended team."""
    if team.state.ended is not None:
        raise NotReadyError(f"team {team.id} is done")
    return _resume_when_released(team, going)


_TEAM_ACTIONS: dict[str, TeamAction] = {
    "answer": answer_question,
    "send": post_message,
    "limits": raise_limits,
    "stop": stop_team,
    "resume": resume_team,
}


def _resume_when_released(team: Team, going: RunLauncher) -> dict[str, Any]:
    """Resume a team, and return whether it runs. Another process may need a moment to release it."""
    until = time.monotonic() + _RELEASE_SECONDS
    while not (goes_on := team.is_running() or going.go_on(team.id)) and time.monotonic() < until:
        time.sleep(_RELEASE_POLL_SECONDS)
    return {"goesOn": goes_on, "resume": f"antiphon resume {team.id}"}


def _require_text(given: dict[str, Any], name: str = "text") -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise OptionError(f"`{name}` must be a string")
    return value


def _require_amount(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise OptionError(f"`{name}` must be a number above 0")
    return value


@contextmanager
def _map_errors() -> Generator[None]:
    """Convert errors that the user can fix into client errors."""
    try:
        yield
    except (SecretRefused, ContentError) as error:
        raise OptionError(str(error)) from None
    except RepositoryError as error:
        raise NotReadyError(str(error)) from None
