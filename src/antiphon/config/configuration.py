"""The configuration of a directory, as a value for code that selects or connects to a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon._base.user_dirs import user_directory
from antiphon.config import keys
from antiphon.config.dotenv import parse_dotenv
from antiphon.config.environment import Environment, apply_dotenv, list_key_variables
from antiphon.config.files import (
    ConfigFile,
    make_mcp_servers,
    read_mcp_settings,
    read_project_settings,
    read_user_settings,
)
from antiphon.config.mcp_credentials import McpCredentials
from antiphon.config.trust import Project, find_project, format_trust_advice
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.tools.mcp.config import McpServer


@dataclass(frozen=True)
class Configuration:
    """The settings for a directory and a user: project files, user files, variables and keys.

    `environment` is what `connect` takes: the variables for keys and addresses. `notes` are messages for the
    user. Nothing is written into the process, so several configurations can be in use.
    """

    project: Project
    user_file: Path
    environment: Environment = field(compare=False)
    #: All variables of the project's `.env`, for texts that refer to them.
    dotenv: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model that the project sets, else the user's; empty if neither."""
        return next(
            (each.model for each in (self.read_project_settings(), self.read_user_settings()) if each and each.model),
            "",
        )

    def read_project_settings(self) -> ConfigFile | None:
        """Return the settings of a trusted project; `None` for any other."""
        return read_project_settings(self.project) if self.project.state == "trusted" else None

    def read_user_settings(self) -> ConfigFile | None:
        """Return the settings of the user's own `config.toml`."""
        return read_user_settings(self.user_file)

    def apply_model_facts(self) -> None:
        """Register the model facts of files: refreshed ones, the user's and the project's."""
        from antiphon.config.model_files import apply_fact_files
        from antiphon.facts.statements import state_user_facts

        apply_fact_files(self.user_file.parent)
        for settings in _drop_missing(self.read_user_settings(), self.read_project_settings()):
            for name, facts in settings.models.items():
                state_user_facts(name, facts, str(settings.path))

    def renderers(self) -> list[tuple[Path, Path]]:
        """Return the directories of page renderers, each with its file, the user's before the project's.

        If both render the same kind, the later one wins.
        """
        found = _drop_missing(self.read_user_settings(), self.read_project_settings())
        return [(each.path, each.renderers) for each in found if each.renderers is not None]

    def mcp_servers(self) -> list[McpServer]:
        """Return all MCP servers by precedence: the project's file, its `mcp.json`, the user's file.

        `${VAR}` in their texts is replaced from the environment, and in the project's also from its `.env`. A
        provider's key is never passed to a server that a project names.
        """
        own = self.environment.own
        listed = {
            name: (each, own, frozenset[str]())
            for each in _drop_missing(self.read_user_settings())
            for name in each.mcp
        }
        if self.project.state == "trusted":
            shared = {**self.dotenv, **own}
            for each in _drop_missing(read_mcp_settings(self.project), read_project_settings(self.project)):
                listed |= {name: (each, shared, list_key_variables()) for name in each.mcp}
        # A project's `.env` must not choose where credentials are.
        credentials = McpCredentials(own)
        found = [server for name, given in listed.items() for server in make_mcp_servers(name, *given)]
        return [replace(each, credentials=credentials) if each.url else each for each in found]


def load_configuration(cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> Configuration:
    """Load the configuration of a directory (the current one) for a user's `environment` (ours).

    Files of an untrusted project are ignored. A file with a mistake raises an error only when its settings
    are requested. An unreadable `.env` is ignored, with a note.
    """
    project = find_project(cwd, environment)
    keys_file = keys.get_keys_path(environment)
    exposed = keys.restrict_keys_file(keys_file)
    own = Environment(dict(os.environ if environment is None else environment), keys_file)
    path = project.nearest(".env") if project.state == "trusted" else None
    values, told = dict[str, str](), [] if path else [format_trust_advice(project)]
    if path:
        try:
            values, bad = parse_dotenv(project.text(path))
            told = [f"line {number} of {path} is not NAME=value; it is ignored" for number in bad]
        except ConfigurationError as error:
            told = [f"{error}; it is ignored"]
    variables, ignored = apply_dotenv(own, values, path) if path else (own, [])
    notes = tuple(filter(None, [exposed, *told, *ignored]))
    return Configuration(project, user_directory("config", environment) / "config.toml", variables, values, notes)


def _drop_missing(*settings: ConfigFile | None) -> list[ConfigFile]:
    return [each for each in settings if each is not None]
