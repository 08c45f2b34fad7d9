"""The shipped table of facts, loaded once from `facts.json`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon.facts.model_facts import Source

if TYPE_CHECKING:
    from antiphon.facts.batch_facts import BatchFacts

FILE = os.path.join(os.path.dirname(__file__), "facts.json")


class FactBlock(NamedTuple):
    """The facts of one table of a file: by dotted names, with one source and those of single facts.

    Sources are kept unparsed, because most lookups do not need them.
    """

    layer: str
    facts: Mapping[str, Any]
    stated_source: Source | Mapping[str, Any] | None
    because: Mapping[str, Any] = MappingProxyType({})

    @property
    def source(self) -> Source | None:
        """The source of all facts that have none of their own."""
        return _parse_source(self.stated_source)

    def get_source(self, name: str) -> Source | None:
        """Return the source of one fact."""
        return _parse_source(self.because.get(name, self.stated_source))


class ModelEntry(NamedTuple):
    """A model of the table: its home provider, its names, and what it inherits from."""

    key: str
    home: str
    name: str
    inherits: str
    aliases: tuple[str, ...]
    block: FactBlock


class ModelLine(NamedTuple):
    """All models of one maker's line, matched by name. `newest` are the models of its last generation."""

    name: str
    home: str
    pattern: re.Pattern[str]
    newest: tuple[str, ...]


class PlatformRoute(NamedTuple):
    """The API, address and paths of a platform for the models whose whole name matches.

    `{region}`, `{project}`, `{location}`, `{host}` and `{endpoint}` stand for the user's, `{model}` for the name.
    """

    models: re.Pattern[str]
    api: str
    address: str
    path: str
    stream_path: str
    headers: Mapping[str, str]
    #: The API's version, if it stands in the body.
    body_version: str
    #: Whether betas stand in the body, and only the URL tells that an answer is streamed.
    body_betas: bool
    source: Source | None


class PlatformFacts(NamedTuple):
    """The facts that a platform adds to a model (`block`) or removes (`without`), for all or single
    models, and how it is reached.
    """

    name: str
    providers: tuple[str, ...]
    block: FactBlock
    without: Mapping[str, tuple[str, ...]]
    models: Mapping[str, FactBlock]
    routes: tuple[PlatformRoute, ...] = ()
    #: What tokens and signatures are made for, such as `scope`, and the `hosts` by location.
    access: Mapping[str, Any] = MappingProxyType({})
    #: The provider of the price data, if the platform's prices are listed.
    prices: str = ""
    #: The homes of the models that `block` and `without` concern; all if there are none.
    homes: tuple[str, ...] = ()
    #: What to do about errors, with the pattern of each.
    advice: tuple[tuple[str, str], ...] = ()


class FactTable:
    """The complete table, with its models by home and name."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._models: dict[str, ModelEntry] = {}

    @property
    def keys(self) -> list[str]:
        """The keys of all models."""
        return list(self._data["models"])

    def model(self, key: str) -> ModelEntry:
        """Return a model by its key. Entries are parsed on first use, because most are never used."""
        if key not in self._models:
            data = self._data["models"][key]
            self._models[key] = _make_entry(key, data, self._home(data))
        return self._models[key]

    @cached_property
    def families(self) -> dict[str, tuple[str, FactBlock]]:
        """The families by name: what each inherits from, and its facts."""
        families: dict[str, Any] = self._data["families"]
        return {
            name: (each.get("inherits", ""), _make_block(f"family {name}", each)) for name, each in families.items()
        }

    @cached_property
    def providers(self) -> dict[str, FactBlock]:
        """The facts that apply to all models of a provider."""
        return {name: _make_block(f"provider {name}", each) for name, each in self._data["providers"].items()}

    @cached_property
    def lines(self) -> list[ModelLine]:
        """The lines of models."""
        return [
            ModelLine(name, each["home"], re.compile(each["names"]), tuple(each["newest"]))
            for name, each in self._data["lines"].items()
        ]

    @cached_property
    def platforms(self) -> dict[str, PlatformFacts]:
        """The platforms by name."""
        return {name: _make_platform(name, each) for name, each in self._data["platforms"].items()}

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """The keys of models by home and name, both as written and normalised."""
        return self._data["names"]

    @property
    def defaults(self) -> dict[str, str]:
        """The key of the default model of each provider."""
        return self._data["defaults"]

    @cached_property
    def stop_reasons(self) -> dict[str, dict[str, dict[str, str]]]:
        """The stop reasons of each API, unparsed."""
        return self._data["stops"]

    @cached_property
    def rejection_fixes(self) -> list[dict[str, Any]]:
        """The rejection fixes, unparsed."""
        return self._data["cures"]

    @cached_property
    def batches(self) -> dict[str, BatchFacts]:
        """The batch APIs by provider."""
        from antiphon.facts.batch_facts import BatchFacts

        found: dict[str, Any] = self._data["batches"]
        return {name: BatchFacts(**each["facts"], source=_parse_source(each["source"])) for name, each in found.items()}

    @cached_property
    def sources(self) -> dict[str, dict[str, str]]:
        """The sources by key."""
        return self._data["sources"]

    def get_homes(self, provider: str) -> tuple[str, ...]:
        """Return the homes whose models a provider serves, or those of all makers for an unknown provider."""
        known = self._data["providers"].get(provider)
        if known is None:
            return tuple(self._data["makers"].values())
        return tuple(known.get("serves", (provider,)))

    def get_maker_home(self, maker: str) -> str:
        """Return the home of a maker's models (`anthropic`, `x-ai`), or ""."""
        return self._data["makers"].get(maker, "")

    def iter_blocks(self, key: str) -> Iterator[FactBlock]:
        """Yield the facts of a model and of all that it inherits from, nearest first."""
        entry = self.model(key)
        yield entry.block
        name = entry.inherits
        while name:
            if name in self.families:
                name, block = self.families[name]
                yield block
            else:
                yield from self.iter_blocks(name)
                return

    def find_platform(self, provider: str, platform: str) -> PlatformFacts | None:
        """Return the named platform, or the one that the provider is, or None."""
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
def load_fact_table() -> FactTable:
    """Return the shipped table. The file is read at the first call."""
    return FactTable(_read_file())


def _make_entry(key: str, data: Mapping[str, Any], home: str) -> ModelEntry:
    name = data.get("name", key)
    return ModelEntry(
        key, home, name, data.get("inherits", ""), tuple(data.get("aliases", ())), _make_block(f"model {name}", data)
    )


def _make_block(layer: str, data: Mapping[str, Any]) -> FactBlock:
    return FactBlock(layer, data.get("facts", {}), data.get("source"), data.get("because", {}))


def _make_platform(name: str, data: Mapping[str, Any]) -> PlatformFacts:
    without = {field: tuple(items) for field, items in data.get("without", {}).items()}
    models = {key: _make_block(f"platform {name}", each) for key, each in data.get("models", {}).items()}
    routes = tuple(_make_route(each) for each in data.get("routes", ()))
    block = _make_block(f"platform {name}", data)
    return PlatformFacts(
        *(name, tuple(data.get("providers", ())), block, without, models),
        *(routes, data.get("access", {}), data.get("prices", ""), tuple(data.get("homes", ()))),
        tuple((each["pattern"], each["do"]) for each in data.get("advice", ())),
    )


def _make_route(data: Mapping[str, Any]) -> PlatformRoute:
    return PlatformRoute(
        re.compile(data["models"]),
        data.get("api", ""),
        data["address"],
        data.get("path", ""),
        data.get("stream_path", ""),
        data.get("headers", {}),
        data.get("body_version", ""),
        data.get("body_betas", False),
        _parse_source(data["source"]),
    )


def _read_file() -> Mapping[str, Any]:
    with open(FILE, encoding="utf-8") as file:
        return json.load(file)


def _parse_source(data: Source | Mapping[str, Any] | None) -> Source | None:
    if data is None or isinstance(data, Source):
        return data
    from datetime import date

    return Source(data["key"], date.fromisoformat(data["on"]), data["sure"])
