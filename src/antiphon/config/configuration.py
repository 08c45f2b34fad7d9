"""The configuration of a directory: a value, which is handed to whoever connects to a model or chooses one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon._places import user_directory
from antiphon.config import keys
from antiphon.config.dotenv import parse
from antiphon.config.environment import Environment, provider_keys, take
from antiphon.config.files import ConfigFile, mcp_servers, project_settings, server_settings, user_settings
from antiphon.config.trust import Project, advice, find_project
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.tools.mcp.config import McpServer


@dataclass(frozen=True)
class Configuration:
    """What holds in a directory for a user: the files of a trusted project, the user's own, variables and keys.

    `environment` is what `connect` takes: the variables that keys and addresses come from. `notes` is what the user
    should be told. Nothing of it is written into the process, so that any number of them can be in use.
    """

    project: Project
    user_file: Path
    environment: Environment = field(compare=False)
    #: Everything that the project's `.env` says, for texts that name variables.
    dotenv: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model of the project, else of the user, or nothing."""
        return next((each.model for each in (self.project_settings(), self.user_settings()) if each and each.model), "")

    def project_settings(self) -> ConfigFile | None:
        """What a trusted project says of its own."""
        return project_settings(self.project) if self.project.state == "trusted" else None

    def user_settings(self) -> ConfigFile | None:
        """The user's own `config.toml`."""
        return user_settings(self.user_file)

    def state_facts(self) -> None:
        """State the facts about models that files hold: refreshed ones, and those of the user and of the project."""
        from antiphon.config.model_files import state_files
        from antiphon.facts.statements import state_facts

        state_files(self.user_file.parent)
        for settings in _there(self.user_settings(), self.project_settings()):
            for name, facts in settings.models.items():
                state_facts(name, facts, str(settings.path))

    def renderers(self) -> list[tuple[Path, Path]]:
        """Directories of modules that draw results on the page, the user's before the project's; each after its file.

        The later one counts where both draw the same kind.
        """
        found = _there(self.user_settings(), self.project_settings())
        return [(each.path, each.renderers) for each in found if each.renderers is not None]

    def mcp_servers(self) -> list[McpServer]:
        """All servers by name; the project's own file comes before its `mcp.json`, and that before the user's.

        `${VAR}` in their texts is replaced from the environment, and in the project's also from its `.env`; but the
        key of a provider goes to no server that a project names.
        """
        own = self.environment.own
        listed = {name: (each, own, frozenset[str]()) for each in _there(self.user_settings()) for name in each.mcp}
        if self.project.state == "trusted":
            shared = {**self.dotenv, **own}
            for each in _there(server_settings(self.project), project_settings(self.project)):
                listed |= {name: (each, shared, provider_keys()) for name in each.mcp}
        return [server for name, given in listed.items() for server in mcp_servers(name, *given)]


def load_configuration(cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> Configuration:
    """What holds in a directory, by default the current one, for the user whose `environment` this is, by default ours.

    The files of a project that is not trusted are left out. One with a mistake in it is an error, but only when it is
    asked for what it says; a `.env` that cannot be read is left out, and told.
    """
    project = find_project(cwd, environment)
    keys_file = keys.keys_file(environment)
    exposed = keys.protect(keys_file)
    own = Environment(dict(os.environ if environment is None else environment), keys_file)
    path = project.nearest(".env") if project.state == "trusted" else None
    values, told = _dotenv(project, path) if path else ({}, [advice(project)])
    variables, ignored = take(own, values, path) if path else (own, [])
    notes = tuple(filter(None, [exposed, *told, *ignored]))
    return Configuration(project, user_directory("config", environment) / "config.toml", variables, values, notes)


def _dotenv(project: Project, path: Path) -> tuple[dict[str, str], list[str]]:
    try:
        values, bad = parse(project.text(path))
    except ConfigurationError as error:
        return {}, [f"{error}; it is ignored"]
    return values, [f"line {number} of {path} is not NAME=value; it is ignored" for number in bad]


def _there(*settings: ConfigFile | None) -> list[ConfigFile]:
    return [each for each in settings if each is not None]
