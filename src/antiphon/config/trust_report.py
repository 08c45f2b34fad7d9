"""A report of what a project's files would do, for the user to read before trusting them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from antiphon.config import keys
from antiphon.config.dotenv import parse_dotenv
from antiphon.config.environment import Environment, apply_dotenv, list_key_variables
from antiphon.config.files import parse_settings
from antiphon.errors import ConfigurationError
from antiphon.providers.redaction import is_secret_name
from antiphon.providers.registry import PROVIDERS, resolve

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_REFERENCE = re.compile(rf"{_VARIABLE.pattern}(?::-[^}}]{{0,1000}})?\}}")


def describe_config_file(path: Path, text: str, dotenv: Mapping[str, str] | None = None) -> list[str]:
    """Return lines that describe a file: models, addresses, commands to be started, and names of keys.

    `dotenv` is the project's `.env`: its variables are substituted in commands and addresses.
    """
    if path.name == ".env":
        return list(_describe_dotenv(text))
    if path.name == "team.toml":
        return list(_describe_team_file(path, text))
    settings = parse_settings(path, text)
    if settings is None:
        return []
    dotenv = dotenv or {}
    lines = list(_describe_model(settings.model, dotenv)) if settings.model else []
    if settings.renderers is not None:
        lines.append(f"modules in {settings.renderers} run in the page with your permissions")
    for name, stated in settings.models.items():
        lines.append(f"facts about the model {name}: {', '.join(stated)}")
    for name, each in settings.templates.items():
        tools = f" with the tools `{each.tools}`" if each.tools not in ("", "none") else ""
        lines.append(f"template {name}: a prompt{tools}, for `-t {name}`")
        lines += [f"  {line}" for line in _describe_model(each.model, dotenv)] if each.model else []
    return lines + [line for name, entry in settings.mcp.items() for line in _describe_server(name, entry, dotenv)]


def _describe_team_file(path: Path, text: str) -> Iterator[str]:
    """Yield all settings of a `team.toml`: models, limits, the test command, instructions of roles."""
    import tomllib

    def iter_lines(table: Mapping[str, Any], place: str) -> Iterator[str]:
        for name, value in table.items():
            if isinstance(value, dict):
                yield from iter_lines(cast("dict[str, Any]", value), f"{place}{name}.")
            else:
                yield f"a team has {place}{name} = {json.dumps(value, ensure_ascii=False, default=str)}"

    try:
        yield from iter_lines(tomllib.loads(text), "")
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _describe_dotenv(text: str) -> Iterator[str]:
    values, _ = parse_dotenv(text)
    addresses = dict.fromkeys(name for each in PROVIDERS.values() for name in each.url_env)
    keys = [name for name in values if name in list_key_variables()]
    for name in addresses:
        if name in values:
            asked = ", ".join(each.name for each in PROVIDERS.values() if name in each.url_env)
            yield f"{name}: requests for {asked} go to {values[name] or '(nowhere)'}"
    if keys:
        yield f"keys, unless you have your own: {', '.join(keys)}"
    if "ANTIPHON_MODEL" in values:
        yield from _describe_model(values["ANTIPHON_MODEL"], values)
    rest = [name for name in values if name not in keys and name not in addresses and name != "ANTIPHON_MODEL"]
    if rest:
        yield f"variables for its MCP servers: {', '.join(rest)}"


def _describe_model(name: str, dotenv: Mapping[str, str]) -> Iterator[str]:
    try:
        provider = resolve(name)[0]
    except ConfigurationError:
        yield f"model {name} of an unknown provider"
        return
    own = Environment(os.environ, keys.get_keys_path())
    try:
        # Where requests would go if the project were trusted.
        address = provider.address(apply_dotenv(own, dotenv, Path(".env"))[0])
    except ConfigurationError:
        address = "an address that is not set"
    yield f"model {name}: prompts go to {'this machine' if provider.name == 'local' else address}"


def _describe_server(name: str, entry: object, dotenv: Mapping[str, str]) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"MCP server {name}: not an object"
        return
    fields = cast("dict[str, Any]", entry)
    if fields.get("disabled") is True:
        yield f"MCP server {name}: disabled"
        return
    if fields.get("command"):
        arguments: Any = fields.get("args") or []
        words = [fields["command"], *(cast("list[Any]", arguments) if isinstance(arguments, list) else [arguments])]
        yield f"MCP server {name} starts: {' '.join(_quote_word(_substitute_dotenv(word, dotenv)) for word in words)}"
        if fields.get("cwd"):
            yield f"  in the directory {_substitute_dotenv(fields['cwd'], dotenv)}"
    if fields.get("url"):
        yield f"MCP server {name} sends to: {_substitute_dotenv(fields['url'], dotenv)}"
    for root in cast("list[Any]", fields["roots"]) if isinstance(fields.get("roots"), list) else []:
        yield f"  is told to work in: {_substitute_dotenv(root, dotenv)}"
    if fields.get("sampling") is True:
        yield "  may request answers of your model, after approval of each prompt"
    # A variable can choose what is run, as a command does; a header only goes to the stated address.
    variables: list[str] = []
    for variable, value in _get_table(fields, "env").items():
        # Show the project's own text, but do not substitute values from `.env` into keys.
        is_key = is_secret_name(variable) and not variable.upper().endswith("ASKPASS")
        variables.append(f"{variable}={_quote_word(value if is_key else _substitute_dotenv(value, dotenv))}")
    if variables:
        yield f"  with env: {', '.join(variables)}"
    if headers := [f"{each}={_quote_word(value)}" for each, value in _get_table(fields, "headers").items()]:
        yield f"  with headers: {', '.join(headers)}"
    used = dict.fromkeys(_VARIABLE.findall(json.dumps(fields, default=str)))
    if used := [each for each in used if each not in dotenv or each in os.environ]:
        yield f"  receives your variables: {', '.join(used)}"


def _get_table(fields: dict[str, Any], key: str) -> dict[str, object]:
    table = fields.get(key)
    return cast("dict[str, object]", table) if isinstance(table, dict) else {}


def _substitute_dotenv(text: object, dotenv: Mapping[str, str]) -> str:
    """Return a text with the project's variables substituted; names of the user's own variables stay."""

    def replace_reference(found: re.Match[str]) -> str:
        is_own = found[1] not in os.environ and found[1] not in list_key_variables()
        return (dotenv.get(found[1]) if is_own else "") or found[0]

    return _REFERENCE.sub(replace_reference, str(text))


def _quote_word(word: object) -> str:
    """Return a word of a command, quoted if its start and end would be unclear."""
    text = str(word)
    return text if re.fullmatch(r"[\w@%+=:,./${}~-]+", text) else json.dumps(text, ensure_ascii=False)
