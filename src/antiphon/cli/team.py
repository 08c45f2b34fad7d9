"""`antiphon team`: let a team of agents change a git repository, and talk to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon._base.optional_deps import format_price_hint
from antiphon.cli.completers import MODEL_PARAM
from antiphon.cli.options import check_finite_cost
from antiphon.cli.output import is_terminal, print_message
from antiphon.cli.team_found import (
    connect_roles,
    find_team,
    find_unpriced_models,
    load_team_settings,
    open_team_journal,
)
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.providers import Model
    from antiphon.team import Team, TeamSettings

#: The hidden command that starts a team.
_START = "start"


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


class _TeamGroup(click.Group):
    """A group whose default command starts a team for a request."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the hidden command, unless another one or help is asked for."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_START, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, '[OPTIONS] "REQUEST" | COMMAND [ARGS]...')

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of a new team, and the commands."""
        options = self.commands[_START].get_params(ctx)
        rows = [
            record for option in options if isinstance(option, click.Option) and (record := option.get_help_record(ctx))
        ]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


@click.group(cls=_TeamGroup)
def team() -> None:
    """Let a team of agents change a git repository: a product manager, an architect, coders, and you.

    The team changes none of your files and branches; its result is a branch to merge. `antiphon list`, `show`,
    `answer`, `stop` and `resume` work with it as with any session. `-` reads the request from standard input. Settings
    are in `team.toml`; options here override them.

    \b
    Exit code:
      0    done: work was merged
      1    done, nothing was merged; or failed
      2    invalid options or settings
      3    waits for you, or for a time
      4    waits for a higher limit
      130  interrupted
    """


@team.command(_START, hidden=True)
@click.argument("request", nargs=-1, required=True)
@click.option("--repo", default=".", type=click.Path(file_okay=False), metavar="DIR", show_default=True,
              help="The repository to work in.")  # fmt: skip
@click.option("--coders", type=click.IntRange(1, 20), metavar="N", help="How many coders work concurrently.")
@click.option(
    "--max-cost", "cost", type=click.FloatRange(0, min_open=True), callback=check_finite_cost, metavar="USD",
    help="The maximum total cost; then the team waits for you.",
)  # fmt: skip
@click.option(
    "--max-requests", "requests", type=click.IntRange(1), metavar="N", help="The maximum number of requests to models."
)
@click.option(
    "--solo", is_flag=True, default=None, help="Use one agent with the same tools and tests, for small tasks."
)
@click.option("-m", "--model", metavar="NAME", type=MODEL_PARAM, help="The model of all roles.")
@click.option("--no-sandbox", is_flag=True, help="Run tests without a sandbox, if you trust the code.")
def start(request: tuple[str, ...], repo: str, no_sandbox: bool, **flags: Any) -> None:
    """Start a team for a request, and run it."""
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
