"""`antiphon resume`: continue a session where it stopped, or a copy of it."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.completers import MODEL_PARAM, SESSION_PARAM
from antiphon.cli.options import JSON_REPORT_OPTION, MAX_COST_OPTION, WAIT_OPTION
from antiphon.cli.output import is_terminal, print_message
from antiphon.cli.resume_session import resume_run_here
from antiphon.cli.sessions import SessionEntry, Sessions, describe_resumption, find_script, open_sessions
from antiphon.errors import NotReadyError
from antiphon.views.session_words import MESSAGE_KINDS

if TYPE_CHECKING:
    pass

#: Options that only a fork takes, and options that a fork does not take.
_FORK_ONLY = {"at": "--at", "value": "--set", "reply": "--answer", "model": "--model", "no_run": "--no-run"}
_NOT_FORK = {"edited": "--edited", "retry": "--retry", "skip": "--skip", "force": "--force", "max_cost": "--max-cost"}


@dataclass(frozen=True, slots=True)
class _Wishes:
    """The options of the command."""

    retry: tuple[str, ...]
    skip: tuple[tuple[str, str], ...]
    edited: bool
    max_cost: float | None
    max_requests: int | None
    force: bool
    at: str | None
    value: str | None
    reply: str | None
    model: str | None
    no_run: bool
    wait: bool
    as_json: bool


@click.command()
@click.argument("session", default="last", type=SESSION_PARAM)
@click.argument("message", required=False)
@click.option("--edited", is_flag=True, help="Run the changed program; unchanged steps are not repeated.")
@click.option("--retry", multiple=True, metavar="STEP", help="Run this step again. (Repeatable.)")
@click.option("--skip", nargs=2, multiple=True, metavar="STEP VALUE",
              help="Do not run this step; VALUE is its outcome. (Repeatable.)")  # fmt: skip
@MAX_COST_OPTION
@click.option("--max-requests", type=click.IntRange(1), metavar="N", help="Raise the limit of requests of a team.")
@click.option("--force", is_flag=True, help="Take the session from another process, which then stops.")
@click.option("--fork", "is_fork", is_flag=True, help="Continue a copy; the session stays as it is.")
@click.option("--at", metavar="STEP", help="With --fork: the first step that is not copied. [default: the last]")
@click.option("--set", "value", metavar="VALUE", help="With --fork: do not run that step; VALUE is its outcome.")
@click.option("--answer", "reply", metavar="TEXT", help="With --fork: the answer, if that step is a question.")
@click.option("-m", "--model", metavar="NAME", type=MODEL_PARAM, help="With --fork: use this model from there on.")
@click.option("--no-run", is_flag=True, help="With --fork: make the copy and print its id; do not run it.")
@WAIT_OPTION
@JSON_REPORT_OPTION
def resume(session: str, message: str | None, is_fork: bool, **given: Any) -> None:
    """Continue a session where it stopped, or a copy of it (--fork).

    Finished steps are not repeated. A failed step fails again, unless `--retry` runs it again. MESSAGE is sent to a
    chat or a team. Exit code: 0 done, 1 failed, 2 usage error, 3 waiting, 4 limit, 130 interrupted.
    """
    wishes = _Wishes(**given)
    _check_options(given, message, is_fork)
    with open_sessions() as sessions:
        found, step = sessions.resolve(session)
        if step is not None and not is_fork:
            raise click.UsageError(f"a step cannot be resumed; use `antiphon resume {found.id}`, or `--fork`")
        if is_fork:
            sys.exit(_resume_fork(sessions, found, wishes, step))
        sys.exit(_resume(sessions, found, message, wishes))


def _check_options(given: dict[str, Any], message: str | None, is_fork: bool) -> None:
    """Raise a usage error for options that exclude each other."""
    wrong = next((flag for name, flag in _FORK_ONLY.items() if given[name]), None)
    if wrong is not None and not is_fork:
        raise click.UsageError(f"`{wrong}` needs `--fork`, which continues a copy")
    wrong = next((flag for name, flag in _NOT_FORK.items() if given[name]), None)
    if is_fork and (wrong is not None or message is not None):
        raise click.UsageError(f"`--fork` takes no {f'`{wrong}`' if wrong else 'MESSAGE'}; resume the copy with it")
    if given["value"] is not None and given["reply"] is not None:
        raise click.UsageError("`--set` and `--answer` exclude each other; use one of them")
    if both := {*given["retry"]} & {step for step, _ in given["skip"]}:
        raise click.UsageError(f"`--retry` and `--skip` exclude each other; use one of them for step {min(both)}")


# Resuming


def _resume(sessions: Sessions, found: SessionEntry, message: str | None, wishes: _Wishes) -> int:
    if found.is_final:
        raise NotReadyError(
            f"session {found.id} was stopped for good; `antiphon resume {found.id} --fork` continues a copy"
        )
    if wishes.max_requests is not None and found.kind != "team":
        raise NotReadyError(f"session {found.id} is not a team; it has no `--max-requests`")
    if found.kind == "team":
        return _resume_team(found, message, wishes)
    run = found.run
    if run is not None and run.kind == "turn":
        raise NotReadyError(f"{found.id} is a turn of a team: resume that with `antiphon resume {run.parent}`")
    if run is not None and found.state != "done" and find_script(run) is not None:
        raise NotReadyError(f"session {found.id} is of a Python script: {describe_resumption(run)}")
    if message is not None:
        if found.kind != "chat" or (run is not None and run.kind not in (*MESSAGE_KINDS, "session")):
            raise NotReadyError(f"session {found.id} is a {found.kind}, which takes no message")
        return _send(found, message, wishes)
    decided = _find_decisions(sessions, found, wishes)
    is_over = run is None or run.kind == "agui" or (run.state in ("done", "cancelled") and decided is None)
    if found.kind == "chat" and is_over:
        return _open_chat(found)
    assert run is not None
    if wishes.force:
        sessions.journal.revoke_lease(run.id)
        run = sessions.journal.find(run.id)
    code = resume_run_here(
        sessions.journal, run, as_json=wishes.as_json, wait=wishes.wait, anew=decided, max_cost=wishes.max_cost
    )
    if code == 0 and run.kind == "chat" and _has_terminal():
        return _open_chat(found)
    return code


def _find_decisions(sessions: Sessions, found: SessionEntry, wishes: _Wishes) -> dict[str, str | None] | None:
    """Return the steps to run again, and those with a given outcome; None if nothing is decided."""
    given: dict[str, str | None] = {**dict.fromkeys(wishes.retry), **dict(wishes.skip)}
    decided: dict[str, str | None] = {}
    for step, value in given.items():
        # An address of a step is taken too.
        path = step.removeprefix(f"{found.id}:")
        last = sessions.journal.find_last_message(found.id)
        number = path.partition("/")[0]
        if last is not None and number.isdigit() and int(number) < int(last.path):
            raise NotReadyError(f"step {step} belongs to an earlier message; only steps of the last one can be decided")
        decided[path] = value
    return decided if decided or wishes.edited else None


def _send(found: SessionEntry, message: str, wishes: _Wishes) -> int:
    """Send a message to a chat and print the answer, as `antiphon ask` does."""
    from antiphon.cli.ask import ask

    if found.conversation is None:
        raise NotReadyError(f"session {found.id} has no saved answer yet: resume it without a message first")
    options = ["--json"] if wishes.as_json else []
    options += [] if wishes.max_cost is None else ["--max-cost", str(wishes.max_cost)]
    return _run_command(ask, ["--resume", found.id, *options, "--", message])


def _open_chat(found: SessionEntry) -> int:
    """Continue a finished chat at the terminal."""
    if found.conversation is None or not _has_terminal():
        state = "stopped" if found.state == "stopped" else "already done"
        hint = "" if found.conversation is None else f'; send a message with `antiphon resume {found.id} "…"`'
        print_message(f"session {found.id} is {state}{hint}")
        return 0
    from antiphon.cli.chat import chat

    return _run_command(chat, ["--resume", found.id])


def _run_command(command: click.Command, arguments: list[str]) -> int:
    from antiphon.cli.configuration import load_for_command

    context = click.get_current_context()
    context.obj = load_for_command()
    try:
        with command.make_context(command.name, arguments, parent=context) as own:
            command.invoke(own)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else 0
    return 0


def _has_terminal() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def _resume_team(found: SessionEntry, message: str | None, wishes: _Wishes) -> int:
    from antiphon.cli.team_found import find_team
    from antiphon.cli.team_run import resume_team_here

    if wishes.retry or wishes.skip or wishes.edited or wishes.wait or wishes.as_json:
        raise NotReadyError(f"session {found.id} is a team, which takes only `--max-cost`, `--max-requests`, `--force`")
    team = find_team(found.id)
    if wishes.max_cost is not None:
        team.raise_cost(wishes.max_cost)
    if wishes.max_requests is not None:
        team.raise_requests(wishes.max_requests)
    if message is not None:
        team.say_line(message)
    if wishes.force:
        team.journal.revoke_lease(team.id)
    return resume_team_here(team)


# Forks


def _resume_fork(sessions: Sessions, found: SessionEntry, wishes: _Wishes, step: str | None) -> int:
    if step is not None and wishes.at is not None:
        raise click.UsageError("the step is named twice; use SESSION:STEP or `--at`")
    at = wishes.at or step
    if found.kind == "team":
        return _fork_team(found, wishes, at)
    if found.conversation is not None and (at is None or at.isdigit()) and wishes.value is None:
        return _fork_chat(sessions, found, wishes, at)
    from antiphon.programs.fork import ForkChange, explain_fork_refusal, fork_run

    run = found.run
    if run is not None and (why := explain_fork_refusal(run)):
        raise NotReadyError(f"session {found.id} cannot be forked: {why}")
    if at is None:
        at = _find_last_step(sessions, found)
    run = sessions.journal.find(found.id)
    change = ForkChange(wishes.value if wishes.value is not None else wishes.reply, wishes.model)
    name = fork_run(sessions.journal, run, at, change)
    print_message(f"session {name} is a fork of {found.id} at {at}")
    if wishes.no_run:
        click.echo(name)
        return 0
    return resume_run_here(sessions.journal, sessions.journal.find(name), as_json=wishes.as_json, wait=wishes.wait)


def _find_last_step(sessions: Sessions, found: SessionEntry) -> str:
    last = deque(sessions.steps(found), maxlen=1)
    if not last:
        raise NotReadyError(f"session {found.id} has no steps yet, so there is nothing to fork")
    return last[0].path


def _fork_chat(sessions: Sessions, found: SessionEntry, wishes: _Wishes, at: str | None) -> int:
    """Copy a chat up to a message, and continue the copy."""
    from antiphon.conversation import UserTurn

    turns = sessions.store.load(found.id).turns
    places = [place for place, turn in enumerate(turns) if isinstance(turn, UserTurn) and turn.visible_parts]
    if at is not None and not 0 < int(at) <= len(places):
        raise NotReadyError(f"session {found.id} has {len(places)} messages, so it cannot be forked at message {at}")
    if wishes.model is not None or wishes.reply is not None:
        flag = "--model" if wishes.model is not None else "--answer"
        raise NotReadyError(
            f"a copy of a chat takes no `{flag}`; make it with `--no-run`, then `antiphon chat --resume ID -m NAME`"
        )
    name = sessions.store.fork(found.id, None if at is None else places[int(at) - 1])
    print_message(f"session {name} is a fork of {found.id}" + (f" at message {at}" if at else ""))
    if wishes.no_run:
        click.echo(name)
        return 0
    return _open_chat(sessions.find(name))


def _fork_team(found: SessionEntry, wishes: _Wishes, at: str | None) -> int:
    from antiphon.cli.team_found import find_team
    from antiphon.cli.team_run import resume_team_here

    if at is None or not at.isdigit():
        raise NotReadyError(f"a team is forked at one of its messages: `antiphon resume {found.id} --fork --at NUMBER`")
    if wishes.value is not None or wishes.reply is not None or wishes.model is not None:
        raise NotReadyError("a copy of a team takes no `--set`, `--answer` and `--model`")
    made = find_team(found.id).fork(int(at))
    print_message(f"session {made.id} is a fork of {found.id} at message {at}")
    if wishes.no_run:
        click.echo(made.id)
        return 0
    return resume_team_here(made)
