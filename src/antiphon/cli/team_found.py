"""Which team is meant, how it is to work, and which models its roles have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon.errors import ConfigurationError, NotSavedError

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry
    from antiphon.providers import Model
    from antiphon.team import Team, TeamSettings

FILE = "team.toml"
_ROLES = ("pm", "architect", "coder")


def opened_journal(*, writing: bool = False) -> Journal:
    """The journal that the command was given, or the user's own; in that nothing is begun that is not to be saved."""
    from antiphon.durable import Journal
    from antiphon.storage.store_location import STORE_VARIABLE, is_saving_off

    place = click.get_current_context().find_object(str)
    if writing and place is None and is_saving_off():
        raise ConfigurationError(
            f"`{STORE_VARIABLE}=off` saves nothing, and a team needs its messages; `antiphon team --db FILE` saves them"
        )
    return Journal(place)


def found_team(which: str | None = None, **given: Any) -> Team:
    """The team of this name, or whose name begins so; without one, the newest of this repository."""
    from antiphon.team import Team

    journal = opened_journal()
    if which is None:
        which = _newest_here(Team.all(journal))
    return Team.open(which, journal, **given)


def team_of_message(number: int, which: str | None) -> Team:
    """The team in which this message was said, unless another is named."""
    journal = opened_journal()
    rows = [] if which else journal.file.query("SELECT channel FROM messages WHERE id = ?", (number,))
    return found_team(str(rows[0][0]).partition("/")[0] if rows else which)


def _newest_here(teams: list[RunEntry]) -> str:
    here = Path.cwd().resolve()
    top = next((each for each in (here, *here.parents) if (each / ".git").exists()), None)
    if top is None:
        hint = "`antiphon team list` lists all, `--team ID` names one" if teams else "there is none at all yet"
        raise NotSavedError(f"{here} is in no git repository, so no team is meant; {hint}")
    found = next((each.id for each in teams if each.begun_as.get("repository") == str(top)), None)
    if found is None:
        raise NotSavedError(f'there is no team in {top} yet; `antiphon team run "what you want done"` begins one')
    return found


def wanted_settings(top: str, flags: Mapping[str, Any]) -> TeamSettings:
    """What `team.toml` says, and then what was said on the command line."""
    from antiphon.team.settings import TeamSettings, read_team_file

    path = Path(top, FILE)
    settings = TeamSettings()
    if os.path.lexists(path):
        # A mistake is told before anybody is asked.
        read_team_file(path)
        settings = read_team_file(path, _trusted_text(path))
    if flags.get("model"):
        without = {name: replace(each, model="") for name, each in settings.roles.items()}
        settings = replace(settings, roles=without)
    settings = replace(settings, **{name: each for name, each in flags.items() if each is not None})
    # Alone there is one task, which is all of it.
    return replace(settings, task_cost=None) if settings.solo else settings


def _trusted_text(path: Path) -> str:
    """Return what a `team.toml` says; a ConfigurationError says that its repository is not trusted."""
    from antiphon.cli.trust import ask_if_undecided
    from antiphon.config.trust import find_project

    ask_if_undecided(find_project(path.parent))
    project = find_project(path.parent)
    if project.state != "trusted":
        raise ConfigurationError(
            f"{path} sets models, limits and commands, and {project.root} is not trusted;"
            " `antiphon trust` shows what it does, and allows it"
        )
    return project.text(project.root / FILE)


def cast(settings: TeamSettings) -> dict[str, Model]:
    """The model of each role, connected; one whose name is wrong is told of before anything is done."""
    from antiphon.cli.configuration import load_for_command
    from antiphon.config import default_model
    from antiphon.providers import connect
    from antiphon.providers.prewarming import Prewarming

    configuration, prewarming = load_for_command(), Prewarming()
    made: dict[str, Model] = {}

    def connected(role: str) -> Model:
        own = settings.roles.get(role)
        name = (own.model if own else "") or settings.model or default_model(configuration).model
        if name not in made:
            made[name] = connect(name, environment=configuration.environment)
            made[name].prewarming = prewarming
        return made[name]

    return {role: connected(role) for role in (("coder",) if settings.solo else _ROLES)}


def without_price(models: Mapping[str, Model]) -> list[str]:
    """The models of which nobody knows what they cost."""
    from antiphon.wire import Usage

    names = {each.name for each in models.values() if each.cost(Usage(1000, 1000)) is None}
    return sorted(names)
