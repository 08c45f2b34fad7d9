"""Looking up the facts of a model over all layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from antiphon.facts import statements
from antiphon.facts.fields import assemble
from antiphon.facts.model_facts import Facts, Source
from antiphon.facts.names import maker_of, normalise_name
from antiphon.facts.table import Block, Line, Platform, Table, load_table

if TYPE_CHECKING:
    from datetime import date


class StatedFact(NamedTuple):
    """One fact of a model: its dotted name, its value, the layer that states it, and the source."""

    field: str
    value: Any
    layer: str
    source: Source | None


class KnownModel(NamedTuple):
    """A model of the table, with its facts at the provider whose model it is."""

    name: str
    provider: str
    family: str
    aliases: tuple[str, ...]
    facts: Facts


#: Takes the place of a value that a platform takes away.
_GONE: Any = object()
_resolved: dict[tuple[str, str, str], tuple[int, Facts]] = {}


def lookup(provider: str, model: str, *, platform: str = "") -> Facts:
    """Return what is known about a model: of each field what the first layer says that speaks of it.

    The layers are the user's statement, learned, refreshed, platform, model, family and provider.
    """
    key = (provider, model, platform)
    version = statements.current_version()
    found = _resolved.get(key)
    if found is None or found[0] != version:
        name = find(provider, model) or ""
        line = None if name else _line(provider, model)
        flat = {field: value for field, (value, _) in _resolve(provider, model, platform).items()}
        facts = assemble(flat, name=name, taken_for=line.name if line else "")
        _resolved[key] = found = (version, facts)
    return found[1]


def explain(provider: str, model: str, *, platform: str = "") -> list[StatedFact]:
    """Return every fact of a model with the layer and the source that it comes from, sorted by field."""
    statements.current_version()
    place = load_table().platform_of(provider, platform)
    return [
        _explain(field, value, block, place)
        for field, (value, block) in sorted(_resolve(provider, model, platform).items(), key=lambda each: each[0])
    ]


def find(provider: str, model: str) -> str | None:
    """Return the name of the known model that a name means, or nothing; only whole names match."""
    key = _find(provider, model)
    return load_table().model(key).name if key else None


def default_model(provider: str, *, today: date | None = None) -> str | None:
    """Return the model to use of a provider as `provider/name`, or what replaces it once it is retired."""
    table = load_table()
    if provider not in table.defaults:
        return None
    entry = table.model(table.defaults[provider])
    life = lookup(entry.home, entry.name).lifecycle
    if life.retires is None:
        return f"{entry.home}/{entry.name}"
    from datetime import date

    gone = life.retires <= (today or date.today())
    return f"{entry.home}/{(gone and life.replaced_by) or entry.name}"


def all_models() -> list[KnownModel]:
    """Return all models of the table, in its order."""
    table = load_table()
    return [
        KnownModel(entry.name, entry.home, entry.inherits, entry.aliases, lookup(entry.home, entry.name))
        for entry in map(table.model, table.keys)
    ]


def _find(provider: str, model: str) -> str | None:
    table = load_table()
    homes = table.homes_of(provider)
    # Most names are written as the table writes them.
    for home in (provider, *homes):
        if key := table.names.get(home, {}).get(model):
            return key
    name = normalise_name(model)
    maker = table.home_of_maker(maker_of(model))
    # A name that says its maker means no model of another one.
    if maker and maker in homes:
        homes = (provider, maker)
    for home in dict.fromkeys((provider, *homes)):
        if key := table.names.get(home, {}).get(name):
            return key
    return None


def _line(provider: str, model: str) -> Line | None:
    table = load_table()
    name, homes = normalise_name(model), table.homes_of(provider)
    return next((line for line in table.lines if line.home in homes and line.pattern.fullmatch(name)), None)


def _resolve(provider: str, model: str, platform: str) -> dict[str, tuple[Any, Block]]:
    """Return the value of each fact with the block that states it."""
    table = load_table()
    key, place = _find(provider, model), table.platform_of(provider, platform)
    found: dict[str, tuple[Any, Block]] = {}
    for block in _layers(table, provider, model, key, place, platform):
        for name, value in block.facts.items():
            if name not in found:
                found[name] = (value, block)
    if place is None:
        return found
    reduced = {name: (_reduce(name, value, block, place), block) for name, (value, block) in found.items()}
    return {name: each for name, each in reduced.items() if each[0] is not _GONE}


def _layers(
    table: Table, provider: str, model: str, key: str | None, place: Platform | None, platform: str
) -> Iterator[Block]:
    """Yield the layers, the one that is believed first at the beginning."""
    known = table.model(key).name if key else ""
    for name in dict.fromkeys((model, known)) if known else (model,):
        yield from (Block(told.layer, told.facts, told.source) for told in statements.user_statements(provider, name))
    if told := statements.learned_statement(provider, model, platform):
        yield Block(told.layer, told.facts, told.source)
    shipped = list(_shipped(table, provider, model, key, place))
    if told := statements.refreshed_statement(provider, known or model):
        newer = {name: value for name, value in told.facts.items() if _is_newer(told.source, name, shipped)}
        yield Block(told.layer, newer, told.source)
    yield from shipped


def _shipped(table: Table, provider: str, model: str, key: str | None, place: Platform | None) -> Iterator[Block]:
    if place is not None:
        if key and (own := place.models.get(key)):
            yield own
        yield place.block
    if key:
        yield from table.blocks_of(key)
    elif line := _line(provider, model):
        newest = [_flat(table, each) for each in line.newest]
        # Few programs ask a model that is not in the table.
        from antiphon.facts.caution import combine

        yield Block(f"line {line.name} (unknown model)", combine(newest), _oldest(table, line))
    if provider in table.providers:
        yield table.providers[provider]


def _is_newer(source: Source | None, name: str, shipped: list[Block]) -> bool:
    said = next((block.source_of(name) for block in shipped if name in block.facts), None)
    return said is None or source is None or source.on >= said.on


def _flat(table: Table, key: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for block in table.blocks_of(key):
        flat = {**block.facts, **flat}
    return flat


def _oldest(table: Table, line: Line) -> Source | None:
    sources = [source for key in line.newest if (source := table.model(key).block.source)]
    oldest = min(sources, key=lambda each: each.on, default=None)
    return Source(oldest.key, oldest.on, "I") if oldest else None


def _reduce(name: str, value: Any, block: Block, place: Platform) -> Any:
    """Return a fact without what the platform takes away; what a user states or a server taught stays."""
    if block.layer.startswith(("user", "learned")):
        return value
    head, _, tail = name.partition(".")
    if tail and tail in place.without.get(head, ()):
        return _GONE
    gone = place.without.get(name, ())
    if not gone or not isinstance(value, list):
        return value
    return [each for each in cast("list[Any]", value) if each not in gone]


def _explain(name: str, value: Any, block: Block, place: Platform | None) -> StatedFact:
    """Return a fact with its layer and source; for one that the platform reduces these are the platform's."""
    if place is None or value == block.facts[name]:
        return StatedFact(name, value, block.layer, block.source_of(name))
    source = place.block.source or block.source_of(name)
    return StatedFact(name, value, f"{block.layer}, less on {place.name}", source)


def late_names() -> dict[str, object]:
    """Return the names of annotations that are only imported for whoever looks them up."""
    from datetime import date

    return {"date": date}
