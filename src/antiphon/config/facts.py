"""What the files of a project would do: everything that somebody should see before they trust them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from antiphon.config import keys
from antiphon.config.dotenv import parse
from antiphon.config.environment import Environment, provider_keys, take
from antiphon.config.files import read_settings
from antiphon.config.templates import Template
from antiphon.errors import ConfigurationError
from antiphon.providers.registry import PROVIDERS, Provider, resolve
from antiphon.providers.secrets import is_secret_name

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_REFERENCE = re.compile(rf"{_VARIABLE.pattern}(?::-[^}}]{{0,1000}})?\}}")


def facts(path: Path, text: str, dotenv: Mapping[str, str] | None = None) -> list[str]:
    """What a file says, in lines: models, addresses, commands as they would be started, and keys by name alone.

    `dotenv` is what the project's `.env` says: it fills in what is started and where it sends.
    """
    if path.name == ".env":
        return list(_dotenv(text))
    if path.name == "team.toml":
        return list(_team(path, text))
    settings = read_settings(path, text)
    if settings is None:
        return []
    dotenv = dotenv or {}
    lines = list(_model(settings.model, dotenv)) if settings.model else []
    if settings.renderers is not None:
        lines.append(f"modules in {settings.renderers} run in the page, and may do there what you may")
    for name, stated in settings.models.items():
        lines.append(f"facts about the model {name}: {', '.join(stated)}")
    for name, each in settings.templates.items():
        lines += _template(name, each, dotenv)
    return lines + [line for name, entry in settings.mcp.items() for line in _server(name, entry, dotenv)]


def _team(path: Path, text: str) -> Iterator[str]:
    """Yield all that a `team.toml` sets: models, limits, the command of the tests, what roles are told."""
    import tomllib

    def lines(table: Mapping[str, Any], place: str) -> Iterator[str]:
        for name, value in table.items():
            if isinstance(value, dict):
                yield from lines(cast("dict[str, Any]", value), f"{place}{name}.")
            else:
                yield f"a team has {place}{name} = {json.dumps(value, ensure_ascii=False, default=str)}"

    try:
        yield from lines(tomllib.loads(text), "")
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _dotenv(text: str) -> Iterator[str]:
    values, _ = parse(text)
    addresses = dict.fromkeys(name for each in PROVIDERS.values() for name in each.url_env)
    keys = [name for name in values if name in provider_keys()]
    for name in addresses:
        if name in values:
            asked = ", ".join(each.name for each in PROVIDERS.values() if name in each.url_env)
            yield f"{name}: requests for {asked} go to {values[name] or '(nowhere)'}"
    if keys:
        yield f"keys, where you have none of your own: {', '.join(keys)}"
    if "ANTIPHON_MODEL" in values:
        yield from _model(values["ANTIPHON_MODEL"], values)
    rest = [name for name in values if name not in keys and name not in addresses and name != "ANTIPHON_MODEL"]
    if rest:
        yield f"variables for its MCP servers: {', '.join(rest)}"


def _model(name: str, dotenv: Mapping[str, str]) -> Iterator[str]:
    try:
        provider = resolve(name)[0]
    except ConfigurationError:
        yield f"model {name}, which nobody here serves"
        return
    yield f"model {name}: prompts go to {'this machine' if provider.name == 'local' else _address(provider, dotenv)}"


def _template(name: str, template: Template, dotenv: Mapping[str, str]) -> Iterator[str]:
    tools = f" with the tools `{template.tools}`" if template.tools not in ("", "none") else ""
    yield f"template {name}: a question{tools}, when you ask `-t {name}`"
    if template.model:
        yield from (f"  {line}" for line in _model(template.model, dotenv))


def _address(provider: Provider, dotenv: Mapping[str, str]) -> str:
    """Where requests would go if the project were trusted."""
    own = Environment(os.environ, keys.keys_file())
    try:
        return provider.address(take(own, dotenv, Path(".env"))[0])
    except ConfigurationError:
        return "an address that is yet to be set"


def _server(name: str, entry: object, dotenv: Mapping[str, str]) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"MCP server {name}: not an object"
        return
    fields = cast("dict[str, Any]", entry)
    if fields.get("disabled") is True:
        yield f"MCP server {name}: switched off"
        return
    if fields.get("command"):
        arguments: Any = fields.get("args") or []
        words = [fields["command"], *(cast("list[Any]", arguments) if isinstance(arguments, list) else [arguments])]
        yield f"MCP server {name} starts: {' '.join(_word(_filled(word, dotenv)) for word in words)}"
        if fields.get("cwd"):
            yield f"  in the directory {_filled(fields['cwd'], dotenv)}"
    if fields.get("url"):
        yield f"MCP server {name} sends to: {_filled(fields['url'], dotenv)}"
    # A variable may choose what is run as well as a command does; a header only goes where it was said to go.
    if env := [_variable(each, value, dotenv) for each, value in _table(fields, "env").items()]:
        yield f"  with env: {', '.join(env)}"
    if headers := [f"{each}={_word(value)}" for each, value in _table(fields, "headers").items()]:
        yield f"  with headers: {', '.join(headers)}"
    used = dict.fromkeys(_VARIABLE.findall(json.dumps(fields, default=str)))
    if used := [each for each in used if each not in dotenv or each in os.environ]:
        yield f"  gets your variables: {', '.join(used)}"


def _table(fields: dict[str, Any], key: str) -> dict[str, object]:
    table = fields.get(key)
    return cast("dict[str, object]", table) if isinstance(table, dict) else {}


def _variable(name: str, value: object, dotenv: Mapping[str, str]) -> str:
    # What a project wrote is shown as it is; what its `.env` puts into a key stays a name.
    is_key = is_secret_name(name) and not name.upper().endswith("ASKPASS")
    return f"{name}={_word(value if is_key else _filled(value, dotenv))}"


def _filled(text: object, dotenv: Mapping[str, str]) -> str:
    """A text with what the project itself puts into it. The user's own variables, which are stronger, stay names."""

    def value(found: re.Match[str]) -> str:
        is_own = found[1] not in os.environ and found[1] not in provider_keys()
        return (dotenv.get(found[1]) if is_own else "") or found[0]

    return _REFERENCE.sub(value, str(text))


def _word(word: object) -> str:
    """A word of a command so that one can see where it begins and ends."""
    text = str(word)
    return text if re.fullmatch(r"[\w@%+=:,./${}~-]+", text) else json.dumps(text, ensure_ascii=False)
