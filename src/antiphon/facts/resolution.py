"""Lookup of the facts of a model over all layers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from antiphon.facts import statements
from antiphon.facts.fields import build_facts
from antiphon.facts.model_facts import Facts, Source
from antiphon.facts.table import FactBlock, FactTable, ModelLine, PlatformFacts, load_fact_table

if TYPE_CHECKING:
    from datetime import date


class ResolvedFact(NamedTuple):
    """One fact of a model: its dotted name, value, layer and source."""

    field: str
    value: Any
    layer: str
    source: Source | None


class KnownModel(NamedTuple):
    """A model of the table, with its facts at its own provider."""

    name: str
    provider: str
    family: str
    aliases: tuple[str, ...]
    facts: Facts


#: Marks a value that a platform removes.
_REMOVED: Any = object()
_resolved: dict[tuple[str, str, str], tuple[int, Facts]] = {}


def lookup_facts(provider: str, model: str, *, platform: str = "") -> Facts:
    """Return the facts about a model. For each field, the first layer that states it wins.

    The layers are user, learned, refreshed, platform, model, family and provider.
    """
    key = (provider, model, platform)
    version = statements.get_current_version()
    found = _resolved.get(key)
    if found is None or found[0] != version:
        name = find(provider, model) or ""
        line = None if name else _find_line(provider, model)
        flat = {field: value for field, (value, _) in _resolve_facts(provider, model, platform).items()}
        facts = build_facts(flat, name=name, taken_for=line.name if line else "")
        _resolved[key] = found = (version, facts)
    return found[1]


def explain(provider: str, model: str, *, platform: str = "") -> list[ResolvedFact]:
    """Return every fact of a model with its layer and source, sorted by field."""
    statements.get_current_version()
    place = load_fact_table().find_platform(provider, platform)
    return [
        _explain_fact(field, value, block, place)
        for field, (value, block) in sorted(_resolve_facts(provider, model, platform).items(), key=lambda each: each[0])
    ]


def find(provider: str, model: str) -> str | None:
    """Return the name of the known model that a name means, or None. Only complete names match."""
    key = _find_key(provider, model)
    return load_fact_table().model(key).name if key else None


def find_home(provider: str, model: str) -> str:
    """Return the provider whose own a model is, also if only its line is known, or ""."""
    if key := _find_key(provider, model):
        return load_fact_table().model(key).home
    line = _find_line(provider, model)
    return line.home if line else ""


def default_model(provider: str, *, today: date | None = None) -> str | None:
    """Return a provider's default model as `provider/name`, or its replacement once it is retired."""
    table = load_fact_table()
    if provider not in table.defaults:
        return None
    entry = table.model(table.defaults[provider])
    life = lookup_facts(entry.home, entry.name).lifecycle
    if life.retires is None:
        return f"{entry.home}/{entry.name}"
    from datetime import date

    gone = life.retires <= (today or date.today())
    return f"{entry.home}/{(gone and life.replaced_by) or entry.name}"


def list_known_models() -> list[KnownModel]:
    """Return all models of the table, in its order."""
    table = load_fact_table()
    return [
        KnownModel(entry.name, entry.home, entry.inherits, entry.aliases, lookup_facts(entry.home, entry.name))
        for entry in map(table.model, table.keys)
    ]


def _find_key(provider: str, model: str) -> str | None:
    table = load_fact_table()
    homes = table.get_homes(provider)
    # Most names are spelled as in the table.
    for home in (provider, *homes):
        if key := table.names.get(home, {}).get(model):
            return key
    name = normalize_model_name(model)
    maker = table.get_maker_home(parse_maker(model))
    # A name that states its maker means no model of another one.
    if maker and maker in homes:
        homes = (provider, maker)
    for home in dict.fromkeys((provider, *homes)):
        if key := table.names.get(home, {}).get(name):
            return key
    return None


def _find_line(provider: str, model: str) -> ModelLine | None:
    table = load_fact_table()
    name, homes = normalize_model_name(model), table.get_homes(provider)
    return next((line for line in table.lines if line.home in homes and line.pattern.fullmatch(name)), None)


def _resolve_facts(provider: str, model: str, platform: str) -> dict[str, tuple[Any, FactBlock]]:
    """Return the value of each fact with the block that states it."""
    table = load_fact_table()
    key, place = _find_key(provider, model), table.find_platform(provider, platform)
    if place is not None and place.homes and find_home(provider, model) not in place.homes:
        # What the platform changes concerns the models of other makers.
        place = place._replace(block=FactBlock("", {}, None), without={})
    found: dict[str, tuple[Any, FactBlock]] = {}
    for block in _iter_layers(table, provider, model, key, place, platform):
        for name, value in block.facts.items():
            if name not in found:
                found[name] = (value, block)
    if place is None:
        return found
    reduced = {name: (_apply_platform(name, value, block, place), block) for name, (value, block) in found.items()}
    return {name: each for name, each in reduced.items() if each[0] is not _REMOVED}


def _iter_layers(
    table: FactTable, provider: str, model: str, key: str | None, place: PlatformFacts | None, platform: str
) -> Iterator[FactBlock]:
    """Yield the layers, highest precedence first."""
    known = table.model(key).name if key else ""
    for name in dict.fromkeys((model, known)) if known else (model,):
        yield from (
            FactBlock(told.layer, told.facts, told.source) for told in statements.get_user_statements(provider, name)
        )
    if told := statements.get_learned_statement(provider, model, platform):
        yield FactBlock(told.layer, told.facts, told.source)
    shipped = list(_iter_shipped_layers(table, provider, model, key, place))
    if told := statements.get_refreshed_statement(provider, known or model):
        newer = {
            name: value for name, value in told.facts.items() if _is_newer_than_shipped(told.source, name, shipped)
        }
        yield FactBlock(told.layer, newer, told.source)
    yield from shipped


def _iter_shipped_layers(
    table: FactTable, provider: str, model: str, key: str | None, place: PlatformFacts | None
) -> Iterator[FactBlock]:
    if place is not None:
        if key and (own := place.models.get(key)):
            yield own
        yield place.block
    if key:
        yield from table.iter_blocks(key)
    elif line := _find_line(provider, model):
        newest = [_flatten_model(table, each) for each in line.newest]
        # Imported here because few programs use a model that is not in the table.
        from antiphon.facts.unknown_models import combine_cautiously

        yield FactBlock(
            f"line {line.name} (unknown model)", combine_cautiously(newest), _find_oldest_source(table, line)
        )
    if provider in table.providers:
        yield table.providers[provider]


def _is_newer_than_shipped(source: Source | None, name: str, shipped: list[FactBlock]) -> bool:
    said = next((block.get_source(name) for block in shipped if name in block.facts), None)
    return said is None or source is None or source.on >= said.on


def _flatten_model(table: FactTable, key: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for block in table.iter_blocks(key):
        flat = {**block.facts, **flat}
    return flat


def _find_oldest_source(table: FactTable, line: ModelLine) -> Source | None:
    sources = [source for key in line.newest if (source := table.model(key).block.source)]
    oldest = min(sources, key=lambda each: each.on, default=None)
    return Source(oldest.key, oldest.on, "I") if oldest else None


def _apply_platform(name: str, value: Any, block: FactBlock, place: PlatformFacts) -> Any:
    """Return a fact without what the platform removes. User facts and learned facts stay."""
    if block.layer.startswith(("user", "learned")):
        return value
    head, _, tail = name.partition(".")
    if tail and tail in place.without.get(head, ()):
        return _REMOVED
    gone = place.without.get(name, ())
    if not gone or not isinstance(value, list):
        return value
    return [each for each in cast("list[Any]", value) if each not in gone]


def _explain_fact(name: str, value: Any, block: FactBlock, place: PlatformFacts | None) -> ResolvedFact:
    """Return a fact with its layer and source, which are the platform's if it reduces the fact."""
    if place is None or value == block.facts[name]:
        return ResolvedFact(name, value, block.layer, block.get_source(name))
    source = place.block.source or block.get_source(name)
    return ResolvedFact(name, value, f"{block.layer}, less on {place.name}", source)


def late_names() -> dict[str, object]:
    """Return names used in annotations that are imported only when annotations are resolved."""
    from datetime import date

    return {"date": date}


@cache
def _compile_rewrites() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the patterns removed from a name, in this order. Compiled only for names unlike the table's."""
    patterns = (
        # Path-like spellings: `models/x`, `publishers/google/models/x`, an ARN; then the maker.
        (r"^(?:.*/)?(?:models|inference-profile|foundation-model)/", ""),
        (r"^.*/", ""),
        (r"^ft:([^:]+):.*$", r"\1"),
        # `us.anthropic.claude-…` and `anthropic.claude-…`, as Bedrock writes them.
        (r"^(?:(?:us|eu|apac|jp|au|ca|global|us-gov)\.)?[a-z][a-z0-9]*\.(?=[a-z])", ""),
        # Routes of OpenRouter, versions of Bedrock, dates, and the word for the newest one.
        (r":(?:free|nitro|floor|online|thinking|beta|extended|exacto)$", ""),
        (r"-v\d+(?::\d+)?$", ""),
        (r"(?:@(?:\d{8}|default|latest)|-\d{8}|-\d{4}-\d{2}-\d{2})$", ""),
        (r"-latest$", ""),
    )
    return tuple((re.compile(pattern), new) for pattern, new in patterns)


@lru_cache(maxsize=1024)
def normalize_model_name(name: str) -> str:
    """Return a model's name without provider, region, date and `-latest`, in lower case."""
    text = name.strip().lower()
    for pattern, new in _compile_rewrites():
        text = pattern.sub(new, text)
    return re.sub(r"(?<=\d)\.(?=\d)", "-", text) if text.startswith("claude") else text


def parse_maker(name: str) -> str:
    """Return the maker that a name states: `anthropic` in `anthropic/claude-…` or `us.anthropic.…`, or ""."""
    text = name.strip().lower()
    if "/" in text and not text.startswith(("models/", "publishers/", "projects/", "arn:")):
        return text.partition("/")[0]
    found = re.match(r"^(?:[a-z-]+\.)?([a-z]+)\.[a-z]", text)
    return found[1] if found else ""
