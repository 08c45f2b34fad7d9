"""Build of `facts.json` from the TOML files."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any, cast

from antiphon.errors import ConfigurationError
from antiphon.facts.batch_facts import check_batch_entry
from antiphon.facts.fields import flatten_table
from antiphon.facts.resolution import normalize_model_name
from antiphon.facts.server_answers import STOP_OUTCOMES
from antiphon.facts.table import FILE, FactTable
from antiphon.facts.validation import check_facts

DATA = Path(FILE).with_name("data")
_MODEL_FILES = ("anthropic", "openai", "google", "others")
#: Fields of a block that are not facts.
_BLOCK_FIELDS = (
    *("source", "because", "inherits", "home", "aliases", "name", "serves", "without", "providers", "models"),
    *("routes", "access", "prices", "homes", "advice"),
)
#: The fields of a route of a platform: those that it must have, and all.
_ROUTE_FIELDS = ("models", "address", "source")
_ALL_ROUTE_FIELDS = (*_ROUTE_FIELDS, "api", "path", "stream_path", "headers", "body_version", "body_betas")


def build_fact_table(directory: Path = DATA) -> dict[str, Any]:
    """Return the content of `facts.json`. Raise ConfigurationError with the file and field that is wrong."""
    table: dict[str, Any] = {"families": {}, "models": {}, "lines": {}, "providers": {}, "makers": {}}
    for name in _MODEL_FILES:
        path = directory / f"{name}.toml"
        read = _read_toml(path)
        table["families"] |= _read_blocks(path, read.get("family", {}))
        table["models"] |= _read_blocks(path, read.get("model", {}))
        table["providers"] |= _read_blocks(path, read.get("provider", {}))
        table["lines"] |= read.get("line", {})
        table["makers"] |= read.get("makers", {})
    path = directory / "platforms.toml"
    table["platforms"] = _read_blocks(path, _read_toml(path)["platform"])
    for name, block in table["platforms"].items():
        _check_routes(f"{path.name}: {name}", block.get("routes", []))
        for each in block.get("advice", []):
            re.compile(each["pattern"])
    table["stops"] = _read_stop_reasons(directory / "stops.toml")
    table["cures"] = _read_rejection_fixes(directory / "cures.toml")
    table["batches"] = _read_batches(directory / "batches.toml")
    table["sources"] = _read_toml(directory / "sources.toml")
    _check_sources(table)
    table["names"], table["defaults"] = _index_names(table)
    return table


def _index_names(table: dict[str, Any]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the keys of models by home and name, and of the defaults by provider."""
    names: dict[str, dict[str, str]] = {}
    defaults: dict[str, str] = {}
    for entry in (FactTable(table).model(key) for key in table["models"]):
        known = names.setdefault(entry.home, {})
        for name in (entry.name, *entry.aliases):
            for spelling in {name: None, normalize_model_name(name): None}:
                if known.setdefault(spelling, entry.key) != entry.key:
                    raise ConfigurationError(f"{entry.key} and {known[spelling]} are both called {spelling!r}")
        if "default_for" in entry.block.facts:
            defaults[entry.block.facts["default_for"]] = entry.key
    return names, defaults


def write_fact_table(directory: Path = DATA, file: Path = Path(FILE)) -> None:
    """Write `facts.json`."""
    file.write_text(format_fact_table(build_fact_table(directory)), encoding="utf-8")


def format_fact_table(table: dict[str, Any]) -> str:
    """Return the text of `facts.json`, with one line per block so that changes are readable."""
    parts: list[str] = []
    for name, section in table.items():
        if isinstance(section, list):
            lines = [f"  {_to_json(each)}" for each in cast("list[Any]", section)]
            parts.append(f"{_to_json(name)}: [\n" + ",\n".join(lines) + "\n]")
        else:
            lines = [f"  {_to_json(key)}: {_to_json(each)}" for key, each in section.items()]
            parts.append(f"{_to_json(name)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return _dates_to_text(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None


def _dates_to_text(value: Any) -> Any:
    """Return a value with dates as ISO text."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _dates_to_text(each) for key, each in cast("dict[str, Any]", value).items()}
    return [_dates_to_text(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def _read_blocks(path: Path, tables: dict[str, Any]) -> dict[str, Any]:
    return {name: _read_block(path, name, table) for name, table in tables.items()}


def _read_block(path: Path, name: str, table: dict[str, Any]) -> dict[str, Any]:
    block = {key: value for key, value in table.items() if key in _BLOCK_FIELDS}
    facts = flatten_table({key: value for key, value in table.items() if key not in _BLOCK_FIELDS})
    check_facts(facts, f"{path.name}: {name}")
    if "models" in block:
        block["models"] = _read_blocks(path, block["models"])
    if "because" in block:
        block["because"] = _read_fact_sources(block["because"], facts, f"{path.name}: {name}")
    return block | ({"facts": facts} if facts else {})


def _check_routes(where: str, routes: list[dict[str, Any]]) -> None:
    """Raise ConfigurationError for a route without a needed field, or with an unknown one."""
    for route in routes:
        missing = [name for name in _ROUTE_FIELDS if name not in route]
        unknown = [name for name in route if name not in _ALL_ROUTE_FIELDS]
        if missing or unknown:
            said = f"has no `{missing[0]}`" if missing else f"has an unknown field `{unknown[0]}`"
            raise ConfigurationError(f"{where}: a route {said}; a route has {', '.join(_ALL_ROUTE_FIELDS)}")
        re.compile(route["models"])


def _read_fact_sources(given: dict[str, Any], facts: dict[str, Any], where: str) -> dict[str, Any]:
    """Return sources by dotted names. A source for a whole table applies to each fact of it."""
    because: dict[str, Any] = {}
    for name, source in given.items():
        inner = {name: source} if "key" in source else {f"{name}.{key}": each for key, each in source.items()}
        for dotted, each in inner.items():
            covered = [fact for fact in facts if fact == dotted or fact.startswith(f"{dotted}.")]
            if not covered:
                raise ConfigurationError(f"{where}: `because` speaks of `{dotted}`, which is not stated there")
            because |= dict.fromkeys(covered, each)
    return because


def _read_stop_reasons(path: Path) -> dict[str, Any]:
    stops: dict[str, Any] = {}
    for api, outcomes in _read_toml(path).items():
        for outcome, words in outcomes.items():
            if outcome not in STOP_OUTCOMES:
                raise ConfigurationError(f"{path.name}: {api}: there is no outcome `{outcome}`")
            for word, note in words.items():
                stops.setdefault(api, {})[word] = {"outcome": outcome, "note": note}
    return stops


def _read_rejection_fixes(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in _read_toml(path)["cure"]:
        re.compile(each["pattern"])
        found.append({"status": 400, "value": None, **each})
    return found


def _read_batches(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = _read_toml(path)["batch"]
    for name, each in found.items():
        check_batch_entry(name, each)
    return {
        name: {"facts": {key: value for key, value in each.items() if key != "source"}, "source": each["source"]}
        for name, each in found.items()
    }


def _check_sources(table: dict[str, Any]) -> None:
    """Raise ConfigurationError for a block without a source, and for an unlisted source."""
    for section in ("families", "models", "providers", "platforms", "batches"):
        for name, block in table[section].items():
            for each in (block, *block.get("models", {}).values()):
                if each.get("facts") and "source" not in each:
                    raise ConfigurationError(f"{section}: {name}: the facts have no source")
                own = [each["source"]] if "source" in each else []
                for source in (*own, *each.get("because", {}).values(), *(r["source"] for r in each.get("routes", ()))):
                    if source["key"] not in table["sources"] or source["sure"] not in "DPLBI":
                        raise ConfigurationError(f"{section}: {name}: there is no source {source}")
