"""The shipped table of facts, read once from `facts.json`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from antiphon.facts.model_facts import Source

FILE = os.path.join(os.path.dirname(__file__), "facts.json")


class Block(NamedTuple):
    """The facts that one table of a file states: by dotted names, with one source and those of single facts.

    Sources are kept as the file states them: most lookups do not ask for them.
    """

    layer: str
    facts: Mapping[str, Any]
    stated_source: Source | Mapping[str, Any] | None
    because: Mapping[str, Any] = MappingProxyType({})

    @property
    def source(self) -> Source | None:
        """Return the source of all facts that have none of their own."""
        return _source(self.stated_source)

    def source_of(self, name: str) -> Source | None:
        """Return the source of one fact."""
        return _source(self.because.get(name, self.stated_source))


class ModelEntry(NamedTuple):
    """A model of the table: who serves it under which names, and what it inherits from."""

    key: str
    home: str
    name: str
    inherits: str
    aliases: tuple[str, ...]
    block: Block


class Line(NamedTuple):
    """All models of one maker's line, known or not, by their names; `newest` are the models of its last generation."""

    name: str
    home: str
    pattern: re.Pattern[str]
    newest: tuple[str, ...]


class Platform(NamedTuple):
    """The facts that a platform adds to a model (`block`) or takes away (`without`), for all or single models."""

    name: str
    providers: tuple[str, ...]
    block: Block
    without: Mapping[str, tuple[str, ...]]
    models: Mapping[str, Block]


class Table:
    """The whole table, with its models by home and name."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._models: dict[str, ModelEntry] = {}

    @property
    def keys(self) -> list[str]:
        """Return the keys of all models."""
        return list(self._data["models"])

    def model(self, key: str) -> ModelEntry:
        """Return a model by its key; it is made when it is first asked for, as most never are."""
        if key not in self._models:
            data = self._data["models"][key]
            self._models[key] = _entry(key, data, self._home(data))
        return self._models[key]

    @cached_property
    def families(self) -> dict[str, tuple[str, Block]]:
        """Return the families by name: what each inherits from, and its facts."""
        families: dict[str, Any] = self._data["families"]
        return {name: (each.get("inherits", ""), _block(f"family {name}", each)) for name, each in families.items()}

    @cached_property
    def providers(self) -> dict[str, Block]:
        """Return the facts that hold for all models of a provider."""
        return {name: _block(f"provider {name}", each) for name, each in self._data["providers"].items()}

    @cached_property
    def lines(self) -> list[Line]:
        """Return the lines of models."""
        return [
            Line(name, each["home"], re.compile(each["names"]), tuple(each["newest"]))
            for name, each in self._data["lines"].items()
        ]

    @cached_property
    def platforms(self) -> dict[str, Platform]:
        """Return the platforms by name."""
        return {name: _platform(name, each) for name, each in self._data["platforms"].items()}

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """Return the keys of models by home and name, both as it is written and normalised."""
        return self._data["names"]

    @property
    def defaults(self) -> dict[str, str]:
        """Return the key of the default model of each provider."""
        return self._data["defaults"]

    @cached_property
    def stops(self) -> dict[str, dict[str, dict[str, str]]]:
        """Return the stop reasons of each API, as they are written."""
        return self._data["stops"]

    @cached_property
    def cures(self) -> list[dict[str, Any]]:
        """Return the cures of refusals, as they are written."""
        return self._data["cures"]

    @cached_property
    def sources(self) -> dict[str, dict[str, str]]:
        """Return the sources by key."""
        return self._data["sources"]

    def homes_of(self, provider: str) -> tuple[str, ...]:
        """Return the homes whose models a provider serves; those of all makers for one that is not known."""
        known = self._data["providers"].get(provider)
        if known is None:
            return tuple(self._data["makers"].values())
        return tuple(known.get("serves", (provider,)))

    def home_of_maker(self, maker: str) -> str:
        """Return the home of a maker's models (`anthropic`, `x-ai`), or nothing."""
        return self._data["makers"].get(maker, "")

    def blocks_of(self, key: str) -> Iterator[Block]:
        """Yield the facts of a model and of all that it inherits from, nearest first."""
        entry = self.model(key)
        yield entry.block
        name = entry.inherits
        while name:
            if name in self.families:
                name, block = self.families[name]
                yield block
            else:
                yield from self.blocks_of(name)
                return

    def platform_of(self, provider: str, platform: str) -> Platform | None:
        """Return the platform that is named, or the one that a provider is."""
        if platform:
            return self.platforms.get(platform)
        return next((each for each in self.platforms.values() if provider in each.providers), None)

    def _home(self, data: Mapping[str, Any]) -> str:
        """Return the home that a model's families state."""
        while True:
            if "home" in data:
                return data["home"]
            name = data.get("inherits", "")
            data = self._data["families"].get(name) or self._data["models"].get(name) or {}
            if not data:
                return ""


@cache
def load_table() -> Table:
    """Return the shipped table; the file is read at the first call."""
    return Table(_read_file())


def _entry(key: str, data: Mapping[str, Any], home: str) -> ModelEntry:
    name = data.get("name", key)
    return ModelEntry(
        key, home, name, data.get("inherits", ""), tuple(data.get("aliases", ())), _block(f"model {name}", data)
    )


def _block(layer: str, data: Mapping[str, Any]) -> Block:
    return Block(layer, data.get("facts", {}), data.get("source"), data.get("because", {}))


def _platform(name: str, data: Mapping[str, Any]) -> Platform:
    without = {field: tuple(items) for field, items in data.get("without", {}).items()}
    models = {key: _block(f"platform {name}", each) for key, each in data.get("models", {}).items()}
    return Platform(name, tuple(data.get("providers", ())), _block(f"platform {name}", data), without, models)


def _read_file() -> Mapping[str, Any]:
    with open(FILE, encoding="utf-8") as file:
        return json.load(file)


def _source(data: Source | Mapping[str, Any] | None) -> Source | None:
    if data is None or isinstance(data, Source):
        return data
    from datetime import date

    return Source(data["key"], date.fromisoformat(data["on"]), data["sure"])
