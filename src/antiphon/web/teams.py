"""Teams on the page: which there are, what each has changed, and what people say to them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from antiphon.agents import SecretRefused, Team
from antiphon.agents.changes import Contents, contents_between
from antiphon.agents.git import RepositoryError
from antiphon.agents.looking import span, task_of
from antiphon.agents.state import ACCEPTS, word
from antiphon.errors import ContentError, NotReadyError, NotSavedError, OptionError
from antiphon.journal.owner import is_there
from antiphon.results import diff, terminal
from antiphon.views.markdown import markdown_json
from antiphon.web.steps import drawn

if TYPE_CHECKING:
    from collections.abc import Generator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.journal import Journal
    from antiphon.web.going import Going

#: So many teams are listed, the newest first.
_LISTED = 200
#: What is sent of a diff: so many files, and of all of them together so many bytes.
_FILES, _BYTES = 300, 4_000_000
#: What a person sends is no longer than this, in bytes.
_LARGEST = 1_000_000
#: For how long it is waited for a process that is about to leave a team, in seconds.
_LEAVING, _OFTEN = 5.0, 0.1
ONE_MACHINE = "A team works on one machine: in a journal that many share there is none."


def routes(journal: Journal, going: Going) -> list[Route]:
    """What the page asks for, and what it sends."""
    from starlette.routing import Route

    made = _Routes(journal, going)
    team = "/api/teams/{id:path}"
    acts = [Route(f"{team}/{name}", made.acting(act), methods=["POST"]) for name, act in _ACTS.items()]
    return [
        Route("/api/teams", made.teams),
        Route("/api/teams/events", made.events),
        Route(f"{team}/events", made.events),
        Route(f"{team}/task", made.task),
        Route(f"{team}/diff", made.diff),
        *acts,
    ]


class _Routes:
    """What is asked of teams. Each is run in a thread, as it reads and waits."""

    def __init__(self, journal: Journal, going: Going) -> None:
        self._journal = journal
        self._going = going

    def teams(self, request: Request) -> Response:  # noqa: ARG002
        from antiphon.web.sent import answer

        return answer(listed(self._journal))

    def task(self, request: Request) -> Response:
        from antiphon.web.sent import answer

        team = found(self._journal, request.path_params["id"])
        return answer(task(team, request.query_params.get("task", "")))

    def diff(self, request: Request) -> Response:
        from antiphon.web.sent import answer, number

        team = found(self._journal, request.path_params["id"])
        rows = number(request.query_params, "rows", 400)
        return answer(changed(team, request.query_params.get("task"), rows))

    async def events(self, request: Request) -> Response:
        from antiphon.web.stream import events
        from antiphon.web.teamwatch import TeamWatch

        return events(self._journal, self._going, request, TeamWatch)

    def acting(self, act: Act) -> Callable[[Request], Any]:
        """Take what is sent, and do something with a team."""

        async def acted(request: Request) -> Response:
            from starlette.concurrency import run_in_threadpool

            from antiphon.web.sent import answer, json_of

            given = await json_of(request, _LARGEST)
            return answer(await run_in_threadpool(self._act, act, request.path_params["id"], given))

        return acted

    def _act(self, act: Act, id: str, given: dict[str, Any]) -> dict[str, Any]:
        with _told():
            return act(found(self._journal, id), self._going, given)


# Looking


def listed(journal: Journal) -> dict[str, Any]:
    """All teams, the newest first, with how many questions of each are open."""
    if journal.is_shared:
        return {"teams": [], "note": ONE_MACHINE}
    rows = journal.read(
        "SELECT id, title, state, created, owner, (SELECT count(*) FROM messages AS asked"
        " WHERE channel IN (runs.id || '/product', runs.id || '/development') AND asked.kind = 'question'"
        " AND NOT EXISTS (SELECT 1 FROM messages AS said WHERE said.kind = 'answer' AND said.reply_to = asked.id))"
        f" FROM runs WHERE kind = 'team' ORDER BY created DESC LIMIT {_LISTED}",
        (),
    )
    return {"teams": [_line(*row) for row in rows]}


def _line(id: str, title: str, state: str, created: float, owner: str, asked: int) -> dict[str, Any]:
    is_run = bool(owner) and is_there(owner)
    now = "done" if state == "done" else "running" if is_run else "waiting" if asked else "ready"
    return {"id": id, "title": title, "state": now, "created": created, "waiting": 0 if state == "done" else asked}


def found(journal: Journal, id: str) -> Team:
    """The team of this name, as it stands."""
    team = named(journal, id)
    if team.refresh().begun is None:
        raise NotReadyError(half_begun(id))
    return team


def half_begun(id: str) -> str:
    """What is told of a team that somebody begins, or was broken off at: nothing of it is made here."""
    return f"team {id} is just being begun; `antiphon team resume {id}` does the rest if nobody does"


def named(journal: Journal, id: str) -> Team:
    """The team of this name, of which nothing is read yet."""
    if journal.is_shared:
        raise NotSavedError(ONE_MACHINE)
    if not journal.read("SELECT 1 FROM runs WHERE id = ? AND kind = 'team'", (id,)):
        raise NotSavedError(f"there is no team {id!r}")
    return Team(id, journal)


def task(team: Team, which: str) -> dict[str, Any]:
    """What there is of a task: what is wanted, how it is planned, what was found of it."""
    known = task_of(team, which)
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
            **({} if output is None else {"output": drawn(output, 2000)}),
        }
    return seen


def changed(team: Team, which: str | None, rows: int) -> dict[str, Any]:
    """What a task has changed, or the team in all: each file as a diff."""
    with _told():
        between = span(team, which)
        files = [] if between is None else contents_between(team.workshop().work, *between, _BYTES)
    return {"files": [_file(each, rows) for each in files[:_FILES]], "more": max(0, len(files) - _FILES)}


def _file(file: Contents, rows: int) -> dict[str, Any]:
    about = {"path": file.path, "status": file.status, "role": file.role, "unseen": file.unseen}
    if file.unseen:
        return about
    return {**about, "view": drawn(diff(file.path, file.before, file.after or ""), rows)}


# Saying and doing


Act = Callable[[Team, "Going", dict[str, Any]], dict[str, Any]]


def answer(team: Team, going: Going, given: dict[str, Any]) -> dict[str, Any]:
    """Answer a question, and let the team go on."""
    number, said = given.get("question"), _text(given)
    if not isinstance(number, int) or isinstance(number, bool):
        raise OptionError("`question` is the number of a question")
    allowed = given.get("allowed")
    if not (allowed is None or isinstance(allowed, bool)):
        raise OptionError("`allowed` is true or false")
    team.answer(number, said if allowed is None else "yes" if allowed else _denied(said))
    return _going_on(team, going)


def _denied(reason: str) -> str:
    """Why not, so that no word of it is taken for leave."""
    return f"no: {reason}" if word(reason) in ACCEPTS else reason if reason.strip() else "no"


def say(team: Team, _: Going, given: dict[str, Any]) -> dict[str, Any]:
    """Say something in a channel, to somebody or to whom it is for."""
    channel, to, said = _text(given, "channel"), _text(given, "to"), _text(given).strip()
    if said:
        message = team.say(said, to, channel or "product") if to else team.say_line(said, channel or None)
        return {"id": message.id, "running": team.is_running()}
    raise OptionError("there is nothing in this message")


def raise_limits(team: Team, going: Going, given: dict[str, Any]) -> dict[str, Any]:
    """Let a team use more; one that waits for that goes on."""
    cost, requests = _amount(given.get("cost"), "cost"), _amount(given.get("requests"), "requests")
    if requests is not None and requests != int(requests):
        raise OptionError("`requests` is a whole number")
    if cost is None and requests is None:
        raise OptionError("say which limit is to be another: `cost` in US dollars, or `requests`")
    waited = any(turn.paused is not None and turn.paused.over == "cap" for turn in team.state.turns.values())
    if cost is not None:
        team.raise_cost(cost)
    if requests is not None:
        team.raise_requests(int(requests))
    return _going_on(team, going) if waited else {"goesOn": team.is_running()}


def stop(team: Team, _: Going, __: dict[str, Any]) -> dict[str, Any]:
    """Have whoever runs a team leave it as it is."""
    if not team.is_running():
        raise NotReadyError(f"nobody runs team {team.id}")
    team.stop()
    return {"stops": True}


def go_on(team: Team, going: Going, _: dict[str, Any]) -> dict[str, Any]:
    """Go on with a team that was left."""
    if team.state.ended is not None:
        raise NotReadyError(f"team {team.id} is done")
    return _going_on(team, going)


_ACTS: dict[str, Act] = {"answer": answer, "say": say, "limits": raise_limits, "stop": stop, "go": go_on}


def _going_on(team: Team, going: Going) -> dict[str, Any]:
    """Whether the team goes on now. Whoever has just left it may need a moment until he is gone."""
    until = time.monotonic() + _LEAVING
    while not (goes_on := team.is_running() or going.go_on(team.id)) and time.monotonic() < until:
        time.sleep(_OFTEN)
    return {"goesOn": goes_on, "resume": f"antiphon team resume {team.id}"}


def _text(given: dict[str, Any], name: str = "text") -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise OptionError(f"`{name}` is a text")
    return value


def _amount(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise OptionError(f"`{name}` is a number above 0")
    return value


@contextmanager
def _told() -> Generator[None]:
    """What a person can do something about is no failure of ours."""
    try:
        yield
    except (SecretRefused, ContentError) as error:
        raise OptionError(str(error)) from None
    except RepositoryError as error:
        raise NotReadyError(str(error)) from None
