"""Find a team, and load its journal, settings and models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.errors import ConfigurationError, NotSavedError

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry
    from antiphon.providers import Model
    from antiphon.team import Team, TeamSettings

_TEAM_FILE = "team.toml"


def open_team_journal(*, writing: bool = False) -> Journal:
    """Open the journal of the command. With `writing`, raise an error if saving is disabled."""
    from antiphon.durable import Journal
    from antiphon.storage.store_location import is_saving_off

    if writing and is_saving_off():
        raise ConfigurationError("`--db off` disables saving, which a team needs; use `antiphon --db FILE team`")
    return Journal()


def find_team(which: str | None = None, **given: Any) -> Team:
    """Return the team with this id or prefix, or the newest of this repository."""
    from antiphon.team import Team

    journal = open_team_journal()
    if which is None:
        which = _find_newest_here(Team.all(journal))
    return Team.open(which, journal, **given)


def _find_newest_here(teams: list[RunEntry]) -> str:
    here = Path.cwd().resolve()
    top = next((each for each in (here, *here.parents) if (each / ".git").exists()), None)
    if top is None:
        hint = (
            "list all with `antiphon list --kind team` and name one with `--team ID`"
            if teams
            else "there are no teams yet"
        )
        raise NotSavedError(f"{here} is not in a git repository; {hint}")
    found = next((each.id for each in teams if each.begun_as.get("repository") == str(top)), None)
    if found is None:
        raise NotSavedError(f'there is no team in {top} yet; start one with `antiphon team "…"`')
    return found


def load_team_settings(top: str, flags: Mapping[str, Any]) -> TeamSettings:
    """Return the settings of `team.toml`, overridden by options of the command line."""
    from antiphon.team.settings import TeamSettings, read_team_file

    path = Path(top, _TEAM_FILE)
    settings = TeamSettings()
    if os.path.lexists(path):
        # Report mistakes before asking for trust.
        read_team_file(path)
        settings = read_team_file(path, _trusted_text(path))
    if flags.get("model"):
        without = {name: replace(each, model="") for name, each in settings.roles.items()}
        settings = replace(settings, roles=without)
    settings = replace(settings, **{name: each for name, each in flags.items() if each is not None})
    # A single agent has only one task.
    return replace(settings, task_cost=None) if settings.solo else settings


def _trusted_text(path: Path) -> str:
    """Return the text of a `team.toml`; raise ConfigurationError if its repository is not trusted."""
    from antiphon.cli.trust import ask_if_undecided
    from antiphon.config.trust import find_project

    ask_if_undecided(find_project(path.parent))
    project = find_project(path.parent)
    if project.state != "trusted":
        raise ConfigurationError(
            f"{path} sets models, limits and commands, but {project.root} is not trusted;"
            " review and trust it with `antiphon setup trust`"
        )
    return project.text(project.root / _TEAM_FILE)


def connect_roles(settings: TeamSettings) -> dict[str, Model]:
    """Return the connected model of each role; raise an error for an unknown model before work starts."""
    from antiphon.cli.configuration import load_for_command
    from antiphon.config import default_model
    from antiphon.providers import connect
    from antiphon.providers.prewarming import Prewarming
    from antiphon.team import ROLES

    configuration, prewarming = load_for_command(), Prewarming()
    models: dict[str, Model] = {}

    def connect_role(role: str) -> Model:
        own = settings.roles.get(role)
        name = (own.model if own else "") or settings.model or default_model(configuration).model
        if name not in models:
            models[name] = connect(name, environment=configuration.environment)
            models[name].prewarming = prewarming
        return models[name]

    return {role: connect_role(role) for role in (("coder",) if settings.solo else ROLES)}


def find_unpriced_models(models: Mapping[str, Model]) -> list[str]:
    """Return the models whose price is unknown."""
    from antiphon.wire import Usage

    names = {each.name for each in models.values() if each.cost(Usage(1000, 1000)) is None}
    return sorted(names)
