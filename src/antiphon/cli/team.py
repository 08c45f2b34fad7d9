"""`antiphon team`: start a team of agents in a git repository, inspect it and talk to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon._base.optional_deps import format_price_hint
from antiphon.cli.chat_front.output import is_terminal, print_message
from antiphon.cli.completers import MODEL_PARAM
from antiphon.cli.listing import one_line, print_rows
from antiphon.cli.run import check_finite_cost
from antiphon.cli.style import echo_json
from antiphon.cli.team_found import cast, found_team, opened_journal, team_of_message, wanted_settings, without_price
from antiphon.errors import ConfigurationError, NotReadyError

if TYPE_CHECKING:
    from antiphon.providers import Model
    from antiphon.team import Team, TeamSettings


def _complete_teams(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from antiphon.durable import Journal
    from antiphon.team import Team

    return [each.id for each in Team.all(Journal()) if each.id.startswith(incomplete)]


_TEAM_OPTION = click.option(
    "--team",
    "which",
    metavar="ID",
    shell_complete=_complete_teams,
    help="Another team than the newest of this repository.",
)
_MAX_COST_OPTION = click.option(
    "--max-cost", "cost", type=click.FloatRange(0, min_open=True), callback=check_finite_cost, metavar="USD",
    help="At most so much for all of it; then it waits for you.",
)  # fmt: skip
_MAX_REQUESTS_OPTION = click.option(
    "--max-requests", "requests", type=click.IntRange(1), metavar="N", help="At most so many requests to models."
)


@click.group()
@click.option("--db", envvar="ANTIPHON_DB", metavar="FILE", show_envvar=True,
              help="The journal, where it is not your own.")  # fmt: skip
@click.pass_context
def team(context: click.Context, db: str | None) -> None:
    """Let a small team work in a git repository: a product manager, an architect, coders, and you.

    Your files and branches stay as they are; it ends with a branch to merge. It can be left at any moment, and is
    found again where it was. Without naming one, the newest team of this repository is meant.

    \b
    Exit code, where a team works:
      0    done: something was merged
      1    done, and nothing was merged
      2    it cannot work: a mistake in what was given or set, or a failure
      3    it waits for you, for a limit to be raised, or for a time
      130  interrupted
    """
    context.obj = db


# Running


@team.command()
@click.argument("request", nargs=-1, required=True)
@click.option("--repo", default=".", type=click.Path(file_okay=False), metavar="DIR", show_default=True,
              help="The repository to work in.")  # fmt: skip
@click.option("--coders", type=click.IntRange(1, 20), metavar="N", help="How many work side by side.")
@_MAX_COST_OPTION
@_MAX_REQUESTS_OPTION
@click.option("--solo", is_flag=True, default=None, help="One agent with the same tools and tests: for small work.")
@click.option("-m", "--model", metavar="NAME", type=MODEL_PARAM, help="The model of all roles.")
@click.option("--no-sandbox", is_flag=True, help="Tests may do all that you may: for what you trust.")
def run(request: tuple[str, ...], repo: str, no_sandbox: bool, **flags: Any) -> None:
    """Start a team for a request, and run it.

    `-` reads the request from standard input. Settings are in `team.toml`, which `antiphon team init`
    writes; options here override them.
    """
    from antiphon.cli.team_run import run_team
    from antiphon.team import Team
    from antiphon.team.repository import Repository

    text = sys.stdin.read() if request == ("-",) else " ".join(request)
    found = Repository.find(repo)
    settings = wanted_settings(found.top, {**flags, "sandbox": False if no_sandbox else None})
    if settings.sandbox:
        _require_sandbox()
    models = cast(settings)
    journal = opened_journal(writing=True)
    begun = Team.begin(text, found.top, _with_model(settings, models), journal=journal, models=models)
    _print_introduction(begun, models)
    for note in found.notes:
        print_message(note)
    sys.exit(run_team(begun))


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
@_MAX_COST_OPTION
@_MAX_REQUESTS_OPTION
def resume(which: str | None, cost: float | None, requests: int | None) -> None:
    """Resume a suspended team.

    Completed work is not repeated.
    """
    from antiphon.cli.team_run import resume_team_here

    found = found_team(which)
    if cost is not None:
        found.raise_cost(cost)
    if requests is not None:
        found.raise_requests(requests)
    sys.exit(resume_team_here(found))


@team.command()
@click.argument("id", type=int)
@click.argument("text", nargs=-1, required=True)
@_TEAM_OPTION
@click.option("--resume", "goes_on", is_flag=True, help="Then go on with the team here, if nobody does.")
def answer(id: int, text: tuple[str, ...], which: str | None, goes_on: bool) -> None:
    """Answer a question of a team, by its number.

    `-` as the TEXT reads it from standard input.
    """
    from antiphon.cli.team_run import resume_team_here

    found = team_of_message(id, which)
    found.answer(id, sys.stdin.read().strip() if text == ("-",) else " ".join(text))
    if found.is_running():
        print_message(f"team {found.id} is at work, and is told")
    elif goes_on:
        sys.exit(resume_team_here(found))
    else:
        for number, question in found.state.questions.items():
            print_message(f"still open: #{number} {one_line(question.text)}")
        print_message(f"`antiphon team resume {found.id}` goes on")


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
def stop(which: str | None) -> None:
    """Suspend a running team."""
    found = found_team(which)
    if not found.is_running():
        print_message(f"nobody runs team {found.id}; `antiphon team resume {found.id}` goes on")
        return
    found.stop()
    print_message(f"team {found.id} is told to stop; `antiphon team resume {found.id}` goes on")


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
@click.option("--at", "at_", type=int, required=True, metavar="MESSAGE", help="The number of the last message kept.")
@click.option("--no-resume", is_flag=True, help="Only make it.")
def fork(which: str | None, at_: int, no_resume: bool) -> None:
    """Start another team from a message of this one.

    The fork has the history of this team up to that message, and continues from there.
    """
    from antiphon.cli.team_run import resume_team_here

    made = team_of_message(at_, which).fork(at_)
    print_message(f"team {made.id} is a fork at message {at_}")
    if not no_resume:
        sys.exit(resume_team_here(made))
    print_message(f"`antiphon team resume {made.id}` goes on with it")


# Queries


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(which: str | None, as_json: bool) -> None:
    """Show tasks, open questions and usage."""
    from antiphon.cli.team_told import set_in, status_json, status_lines
    from antiphon.cli.team_views import write

    found = found_team(which)
    if as_json:
        echo_json(json.dumps(status_json(found), indent=2).replace("\x7f", "\\u007f"))
    else:
        write("\n".join(set_in(line) for line in status_lines(found)))


@team.command("list")
def list_teams() -> None:
    """List all teams, newest first."""
    from antiphon.cli.telling import local
    from antiphon.team import Team

    entries = Team.all(opened_journal())
    if not entries:
        raise NotReadyError('there is no team yet; `antiphon team run "what you want done"` begins one')
    rows = [
        ((each.id, each.state, local(each.created), one_line(str(each.begun_as.get("repository", "")))), each.title)
        for each in entries
    ]
    print_rows([(columns, one_line(title)) for columns, title in rows], (False,) * 4)


@team.command()
@click.argument("task", required=False)
@_TEAM_OPTION
def diff(task: str | None, which: str | None) -> None:
    """Show the changes of a task; without one, all merged changes."""
    from antiphon.team.queries import format_task_diff

    text = format_task_diff(found_team(which), task)
    if not text:
        print_message("nothing is changed yet: what a coder has done is here once it is handed in")
        sys.exit(1)
    if is_terminal(sys.stdout):
        from antiphon.cli.team_looking import show_diff

        show_diff(text)
    else:
        # In a pipe the diff is data, for example for `git apply`.
        click.echo(text, nl=False)


@team.command()
@click.argument("agent")
@_TEAM_OPTION
@click.option("--full", is_flag=True, help="Open all results.")
def log(agent: str, which: str | None, full: bool) -> None:
    """Show the conversation of an agent.

    AGENT is pm, architect, coder-1, and so on.
    """
    from antiphon.cli.team_looking import show_log

    show_log(found_team(which), agent, full)


@team.command()
@click.argument("channel", required=False, type=click.Choice(["product", "development"]))
@_TEAM_OPTION
@click.option("-n", "--limit", type=click.IntRange(0), default=20, show_default=True, help="So many old messages.")
@click.option("-f", "--follow", is_flag=True, help="Without a terminal: print what is new until the team is left.")
def chat(channel: str | None, which: str | None, limit: int, follow: bool) -> None:
    """Read the messages of a team, and post to it.

    `@coder-1 text` is for coder-1, and `#12 text` answers question 12. Without a CHANNEL both are shown:
    product, which the product manager reads, and development, which the architect and the coders read. If
    standard input is no terminal, each of its lines is posted.
    """
    from antiphon.cli.team_chat import chat_with_team

    chat_with_team(found_team(which), channel, limit, follow)


@team.command()
@click.option("--repo", default=".", type=click.Path(file_okay=False), metavar="DIR", help="The repository.")
def init(repo: str) -> None:
    """Write a commented `team.toml`."""
    from antiphon.team.repository import Repository
    from antiphon.team.settings import TEAM_FILE, TEAM_FILE_TEMPLATE

    path = Path(Repository.find(repo).top, TEAM_FILE)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEAM_FILE_TEMPLATE)
    except FileExistsError:
        raise ConfigurationError(f"{path} is there already, and is left as it is") from None
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None
    click.echo(escape_unprintable(f"wrote {path}"))


# Helpers


def _with_model(settings: TeamSettings, models: Mapping[str, Model]) -> TeamSettings:
    """Return the settings with the resolved model, so that the team keeps it when resumed elsewhere."""
    from dataclasses import replace

    own = settings.roles
    common = next((name for name in models if not (own.get(name) and own[name].model)), None)
    return replace(settings, model=settings.model or (models[common].name if common else ""))


def _require_sandbox() -> None:
    from antiphon.team.sandboxed_tests import sandbox_problem

    if problem := sandbox_problem():
        raise ConfigurationError(problem)


def _print_introduction(begun: Team, models: Mapping[str, Model]) -> None:
    from antiphon.cli.team_told import allowed

    settings = begun.state.settings
    assert begun.state.begun is not None
    print_message(f"team {begun.id} works in {begun.state.begun.repository}, on the branch antiphon/{begun.id}/main")
    names = dict.fromkeys(each.name for each in models.values())
    told = [f"{name} ({', '.join(r for r, each in models.items() if each.name == name)})" for name in names]
    print_message(f"model: {next(iter(names))}" if len(names) == 1 else f"models: {', '.join(told)}")
    if not settings.command:
        print_message("tests: none, as no command for them was found; `[tests]` in team.toml names one")
    else:
        print_message(f"tests: {settings.command}" + ("" if settings.sandbox else ", with all that you may do"))
    print_message(f"limits: {allowed(settings)}")
    if unknown := without_price(models):
        print_message(
            f"the price of {', '.join(unknown)} is not known{format_price_hint()}: no limit in dollars holds for it,"
            " but that in requests"
        )
