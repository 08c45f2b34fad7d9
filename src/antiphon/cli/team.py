"""`antiphon team`: start a team of agents in a git repository, inspect it and talk to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon._base.optional_deps import format_price_hint
from antiphon.cli.completers import MODEL_PARAM
from antiphon.cli.listing import one_line, print_rows
from antiphon.cli.options import JSON_OPTION, check_finite_cost
from antiphon.cli.output import is_terminal, print_ascii_json, print_message
from antiphon.cli.team_found import (
    connect_roles,
    find_team,
    find_team_of_message,
    find_unpriced_models,
    load_team_settings,
    open_team_journal,
)
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
    help="The team. [default: the newest of this repository]",
)
_MAX_COST_OPTION = click.option(
    "--max-cost", "cost", type=click.FloatRange(0, min_open=True), callback=check_finite_cost, metavar="USD",
    help="The maximum total cost; then the team waits for you.",
)  # fmt: skip
_MAX_REQUESTS_OPTION = click.option(
    "--max-requests", "requests", type=click.IntRange(1), metavar="N", help="The maximum number of requests to models."
)


@click.group()
@click.option("--db", envvar="ANTIPHON_DB", metavar="FILE", show_envvar=True,
              help="The journal, if it is not your own.")  # fmt: skip
@click.pass_context
def team(context: click.Context, db: str | None) -> None:
    """Run a team in a git repository: a product manager, an architect, coders, and you.

    The team changes none of your files and branches; its result is a branch to merge. You can interrupt it at any
    time and resume it later. Commands use the newest team of this repository, unless you name one.

    \b
    Exit code of a running team:
      0    done: work was merged
      1    done, nothing was merged
      2    failed, or invalid options or settings
      3    waits for you, for a higher limit, or for a time
      130  interrupted
    """
    context.obj = db


# ActiveRun


@team.command()
@click.argument("request", nargs=-1, required=True)
@click.option("--repo", default=".", type=click.Path(file_okay=False), metavar="DIR", show_default=True,
              help="The repository to work in.")  # fmt: skip
@click.option("--coders", type=click.IntRange(1, 20), metavar="N", help="How many coders work concurrently.")
@_MAX_COST_OPTION
@_MAX_REQUESTS_OPTION
@click.option(
    "--solo", is_flag=True, default=None, help="Use one agent with the same tools and tests, for small tasks."
)
@click.option("-m", "--model", metavar="NAME", type=MODEL_PARAM, help="The model of all roles.")
@click.option("--no-sandbox", is_flag=True, help="Run tests without a sandbox, if you trust the code.")
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
    settings = load_team_settings(found.top, {**flags, "sandbox": False if no_sandbox else None})
    if settings.sandbox:
        _require_sandbox()
    models = connect_roles(settings)
    journal = open_team_journal(writing=True)
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

    found = find_team(which)
    if cost is not None:
        found.raise_cost(cost)
    if requests is not None:
        found.raise_requests(requests)
    sys.exit(resume_team_here(found))


@team.command()
@click.argument("id", type=int)
@click.argument("text", nargs=-1, required=True)
@_TEAM_OPTION
@click.option("--resume", "is_resumed", is_flag=True, help="Then resume the team here, if it is not running.")
def answer(id: int, text: tuple[str, ...], which: str | None, is_resumed: bool) -> None:
    """Answer a question of a team, by its number.

    `-` as the TEXT reads it from standard input.
    """
    from antiphon.cli.team_run import resume_team_here

    found = find_team_of_message(id, which)
    found.answer(id, sys.stdin.read().strip() if text == ("-",) else " ".join(text))
    if found.is_running():
        print_message(f"team {found.id} is running and received the answer")
    elif is_resumed:
        sys.exit(resume_team_here(found))
    else:
        for number, question in found.state.questions.items():
            print_message(f"still open: #{number} {one_line(question.text)}")
        print_message(f"resume it with `antiphon team resume {found.id}`")


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
def stop(which: str | None) -> None:
    """Suspend a running team."""
    found = find_team(which)
    if not found.is_running():
        print_message(f"team {found.id} is not running; resume it with `antiphon team resume {found.id}`")
        return
    found.stop()
    print_message(f"team {found.id} will stop; resume it with `antiphon team resume {found.id}`")


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
@click.option("--at", "at_", type=int, required=True, metavar="MESSAGE", help="The number of the last copied message.")
@click.option("--no-resume", is_flag=True, help="Create the fork; do not run it.")
def fork(which: str | None, at_: int, no_resume: bool) -> None:
    """Start another team from a message of this one.

    The fork has the history of this team up to that message, and continues from there.
    """
    from antiphon.cli.team_run import resume_team_here

    made = find_team_of_message(at_, which).fork(at_)
    print_message(f"team {made.id} is a fork at message {at_}")
    if not no_resume:
        sys.exit(resume_team_here(made))
    print_message(f"resume it with `antiphon team resume {made.id}`")


# Queries


@team.command()
@click.argument("which", metavar="[TEAM]", required=False, shell_complete=_complete_teams)
@JSON_OPTION
def status(which: str | None, as_json: bool) -> None:
    """Show tasks, open questions and usage."""
    from antiphon.cli.team_told import indent_lines, iter_status_lines, make_status_json
    from antiphon.cli.team_views import print_lines

    found = find_team(which)
    if as_json:
        print_ascii_json(make_status_json(found))
    else:
        print_lines("\n".join(indent_lines(line) for line in iter_status_lines(found)))


@team.command("list")
def list_teams() -> None:
    """List all teams, newest first."""
    from antiphon.cli.telling import format_local_minute
    from antiphon.team import Team

    entries = Team.all(open_team_journal())
    if not entries:
        raise NotReadyError('there is no team yet; start one with `antiphon team run "…"`')
    rows = [
        (
            (
                each.id,
                each.state,
                format_local_minute(each.created),
                one_line(str(each.begun_as.get("repository", ""))),
            ),
            each.title,
        )
        for each in entries
    ]
    print_rows([(columns, one_line(title)) for columns, title in rows], (False,) * 4)


@team.command()
@click.argument("task", required=False)
@_TEAM_OPTION
def diff(task: str | None, which: str | None) -> None:
    """Show the changes of a task; without one, all merged changes."""
    from antiphon.team.queries import format_task_diff

    text = format_task_diff(find_team(which), task)
    if not text:
        print_message("no changes yet: the work of a coder appears when it is submitted")
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
@click.option("--full", is_flag=True, help="Expand all results.")
def log(agent: str, which: str | None, full: bool) -> None:
    """Show the conversation of an agent.

    AGENT is pm, architect, coder-1, and so on.
    """
    from antiphon.cli.team_looking import show_log

    show_log(find_team(which), agent, full)


@team.command()
@click.argument("channel", required=False, type=click.Choice(["product", "development"]))
@_TEAM_OPTION
@click.option(
    "-n", "--limit", type=click.IntRange(0), default=20, show_default=True, help="The number of old messages."
)
@click.option("-f", "--follow", is_flag=True, help="Without a terminal: print new messages until the team stops.")
def chat(channel: str | None, which: str | None, limit: int, follow: bool) -> None:
    """Read the messages of a team, and post to it.

    `@coder-1 text` is for coder-1, and `#12 text` answers question 12. Without a CHANNEL both are shown:
    product, which the product manager reads, and development, which the architect and the coders read. If
    standard input is no terminal, each of its lines is posted.
    """
    from antiphon.cli.team_chat import chat_with_team

    chat_with_team(find_team(which), channel, limit, follow)


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
        raise ConfigurationError(f"{path} exists and was not changed") from None
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
    from antiphon.cli.team_told import describe_limits

    settings = begun.state.settings
    assert begun.state.begun is not None
    print_message(f"team {begun.id} works in {begun.state.begun.repository}, on the branch antiphon/{begun.id}/main")
    names = dict.fromkeys(each.name for each in models.values())
    told = [f"{name} ({', '.join(r for r, each in models.items() if each.name == name)})" for name in names]
    print_message(f"model: {next(iter(names))}" if len(names) == 1 else f"models: {', '.join(told)}")
    if not settings.command:
        print_message("tests: none found; set a command in `[tests]` of team.toml")
    else:
        print_message(f"tests: {settings.command}" + ("" if settings.sandbox else ", without a sandbox"))
    print_message(f"limits: {describe_limits(settings)}")
    if unknown := find_unpriced_models(models):
        print_message(
            f"the price of {', '.join(unknown)} is unknown{format_price_hint()}: only the limit of requests holds"
        )
