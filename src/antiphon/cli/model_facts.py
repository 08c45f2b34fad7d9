"""`antiphon models show`, `learn`, `refresh` and `check`: facts about models, with their sources."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable_line
from antiphon.cli.colours import accent, echo_json, faint
from antiphon.cli.completing import MODEL
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.facts import StatedFact


@click.command()
@click.argument("name", type=MODEL)
@click.option("--platform", default="", help="Where it is reached: `bedrock`, `vertex`, `foundry` …")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, platform: str, as_json: bool) -> None:
    """Print every fact about a model, with its layer, source, date and sureness."""
    from antiphon.facts import explain, lookup
    from antiphon.facts.table import load_table
    from antiphon.providers.registry import resolve

    if platform and platform not in load_table().platforms:
        raise ConfigurationError(f"there is no platform {platform!r}; there are {', '.join(load_table().platforms)}")
    provider, model = resolve(name)
    stated = explain(provider.name, model, platform=platform)
    known = lookup(provider.name, model, platform=platform)
    if as_json:
        about = {"model": f"{provider.name}/{model}", "known_as": known.name, "taken_for": known.taken_for}
        echo_json(json.dumps({**about, "facts": [_as_data(each) for each in stated]}, indent=2, default=str))
        return
    click.echo(f"{accent(printable_line(f'{provider.name}/{model}'))}: {_introduce(known.name, known.taken_for)}")
    width = max((len(each.field) for each in stated), default=0)
    for each in stated:
        text = printable_line(_as_text(each.value))
        click.echo(f"{each.field:<{width}}  {text}  {faint(printable_line(_origin(each)))}")


def _introduce(name: str, taken_for: str) -> str:
    if name:
        return f"known as {name}"
    if taken_for:
        return f"not known; taken for a new {taken_for}: all refusals of the newest ones, and only what they all can do"
    return "not known; nothing is assumed"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _origin(fact: StatedFact) -> str:
    source = f", {fact.source.key}, {fact.source.on.isoformat()}, {fact.source.sure}" if fact.source else ""
    return f"({fact.layer}{source})"


def _as_data(fact: StatedFact) -> dict[str, Any]:
    source = fact.source
    where = {"source": source.key, "on": source.on.isoformat(), "sure": source.sure} if source else {}
    return {"field": fact.field, "value": fact.value, "layer": fact.layer, **where}


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def learn(file: Path) -> None:
    """Add the facts of a TOML file to your own, and print what changes.

    The file holds tables such as [models."ollama/qwen3:8b"] with `context = 40960`.
    """
    from antiphon.cli.configured import configuration
    from antiphon.config.model_files import LEARNED, merge_facts_file, read_facts_file

    if not file.is_file():
        raise ConfigurationError(f"there is no file {file}")
    directory = configuration().user_file.parent
    changes = merge_facts_file(directory, read_facts_file(file))
    for name, field, old, new in changes:
        before = f"{_as_text(old)} → " if old is not None else ""
        click.echo(printable_line(f"{name}: {field} = {before}{_as_text(new)}"))
    click.echo(printable_line(f"written to {directory / LEARNED}") if changes else "nothing changes")


@click.command()
@click.argument("name", required=False, type=MODEL)
def refresh(name: str | None) -> None:
    """Ask Anthropic and xAI what they say of their models, and keep it.

    Without NAME all models are asked about whose provider has a key. Vendors tell sizes, thinking, efforts, inputs and
    dates; they do not tell of forced tool choice, bound thinking or caches.
    """
    from antiphon.cli.configured import configuration
    from antiphon.config.model_files import REFRESHED, write_refreshed
    from antiphon.providers.refreshing import ask_vendors

    known = configuration()
    found = ask_vendors(known.environment, name)
    differences = {each: _differences(each, facts) for each, facts in found.items()}
    write_refreshed(known.user_file.parent, found, date.today())
    for each, differing in differences.items():
        click.echo(printable_line(f"{each}: {'; '.join(differing) or 'as known'}"))
    click.echo(printable_line(f"kept in {known.user_file.parent / REFRESHED}"))


def _differences(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Return in words what the vendor says otherwise than what is known."""
    from antiphon.facts import explain

    provider, _, model = name.partition("/")
    known = {each.field: each.value for each in explain(provider, model)}
    return [
        f"{field} is {_as_text(value)}" + (f", was {_as_text(known[field])}" if field in known else "")
        for field, value in facts.items()
        if not _is_same(known.get(field), value)
    ]


def _is_same(known: Any, told: Any) -> bool:
    if isinstance(told, bool) and told:
        return known is not None and known is not False
    return str(known) == str(told)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path), default=Path())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(path: Path, as_json: bool) -> None:
    """List the models that a project names, and when they end.

    Looks into antiphon.toml, pyproject.toml, programs and the texts of Python files. Exit code: 1 if a model is retired
    or will be within 60 days.
    """
    from antiphon.cli.named_models import find_models
    from antiphon.facts.lifetimes import describe_end

    if not path.exists():
        raise ConfigurationError(f"there is no {path}")
    found = find_models(path)
    ends = {each.model: describe_end(*each.model.split("/", 1)) for each in found}
    if as_json:
        listed = [{"model": e.model, "file": str(e.file), "line": e.line, "ends": ends[e.model] or None} for e in found]
        echo_json(json.dumps(listed, indent=2))
    else:
        for each in found:
            told = f": {ends[each.model]}" if ends[each.model] else ""
            click.echo(printable_line(f"{each.file}:{each.line}: {each.model}{told}"))
        if not found:
            click.echo("no model is named here")
    sys.exit(1 if any(ends.values()) else 0)
