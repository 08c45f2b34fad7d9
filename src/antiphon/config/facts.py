"""What the files of a project would do: everything that somebody should see before they trust them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from antiphon.config.environment import parse, provider_keys
from antiphon.config.files import read_settings
from antiphon.errors import ConfigurationError
from antiphon.providers.registry import PROVIDERS, resolve

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")


def facts(path: Path, text: str) -> list[str]:
    """What a file says, in lines: models, addresses, commands as they are written, and keys by name alone."""
    if path.name == ".env":
        return list(_dotenv(text))
    settings = read_settings(path, text)
    if settings is None:
        return []
    lines = list(_model(settings.model)) if settings.model else []
    return lines + [line for name, entry in settings.mcp.items() for line in _server(name, entry)]


def _dotenv(text: str) -> Iterator[str]:
    values, _ = parse(text)
    addresses = {name: each for each in PROVIDERS.values() for name in each.url_env}
    keys = [name for name in values if name in provider_keys()]
    for name, provider in addresses.items():
        if name in values:
            yield f"{name}: requests for {provider.name} go to {values[name] or '(nowhere)'}"
    if keys:
        yield f"keys, where you have none of your own: {', '.join(keys)}"
    if "ANTIPHON_MODEL" in values:
        yield from _model(values["ANTIPHON_MODEL"])
    rest = [name for name in values if name not in keys and name not in addresses and name != "ANTIPHON_MODEL"]
    if rest:
        yield f"variables for its MCP servers: {', '.join(rest)}"


def _model(name: str) -> Iterator[str]:
    try:
        place = resolve(name)[0]
    except ConfigurationError:
        yield f"model {name}, which nobody here serves"
        return
    yield f"model {name}: prompts go to {'this machine' if place.name == 'local' else place.address()}"


def _server(name: str, entry: object) -> Iterator[str]:
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
        yield f"MCP server {name} starts: {' '.join(map(_word, words))}"
        if fields.get("cwd"):
            yield f"  in the directory {fields['cwd']}"
    if fields.get("url"):
        yield f"MCP server {name} sends to: {fields['url']}"
    for key in ("env", "headers"):
        table = fields.get(key)
        if isinstance(table, dict) and table:
            yield f"  with {key}: {', '.join(map(str, cast('dict[str, Any]', table)))}"
    used = dict.fromkeys(_VARIABLE.findall(json.dumps(fields, default=str)))
    if used:
        yield f"  gets your variables: {', '.join(used)}"


def _word(word: object) -> str:
    """A word of a command so that one can see where it begins and ends."""
    text = str(word)
    return text if re.fullmatch(r"[\w@%+=:,./${}~-]+", text) else json.dumps(text, ensure_ascii=False)
