"""`antiphon setup models show`, `learn`, `refresh` and `check`: facts about models, with their sources."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.completers import MODEL_PARAM
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import print_ascii_json
from antiphon.cli.style import style_accent, style_faint
from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from antiphon.facts import ResolvedFact


@click.command()
@click.argument("name", type=MODEL_PARAM)
@click.option("--platform", default="", help="The platform that serves it: `bedrock`, `vertex`, `foundry` …")
@JSON_OPTION
def show(name: str, platform: str, as_json: bool) -> None:
    """Print every fact about a model, with its layer, source, date and certainty."""
    from antiphon.facts import explain, lookup_facts
    from antiphon.facts.table import load_fact_table
    from antiphon.providers.registry import resolve

    if platform and platform not in load_fact_table().platforms:
        raise ConfigurationError(
            f"there is no platform {platform!r}; there are {', '.join(load_fact_table().platforms)}"
        )
    provider, model = resolve(name)
    stated = explain(provider.name, model, platform=platform)
    known = lookup_facts(provider.name, model, platform=platform)
    if as_json:
        about = {"model": f"{provider.name}/{model}", "known_as": known.name, "taken_for": known.taken_for}
        print_ascii_json({**about, "facts": [_fact_json(each) for each in stated]})
        return
    click.echo(
        f"{style_accent(escape_unprintable_line(f'{provider.name}/{model}'))}:"
        f" {_describe_match(known.name, known.taken_for)}"
    )
    width = max((len(each.field) for each in stated), default=0)
    for each in stated:
        text = escape_unprintable_line(_format_value(each.value))
        click.echo(f"{each.field:<{width}}  {text}  {style_faint(escape_unprintable_line(_format_source(each)))}")


def _describe_match(name: str, taken_for: str) -> str:
    if name:
        return f"known as {name}"
    if taken_for:
        return f"unknown; treated as a new {taken_for}: the restrictions of the newest models, and only features of all"
    return "unknown; nothing is assumed"


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _format_source(fact: ResolvedFact) -> str:
    source = f", {fact.source.key}, {fact.source.on.isoformat()}, {fact.source.sure}" if fact.source else ""
    return f"({fact.layer}{source})"


def _fact_json(fact: ResolvedFact) -> dict[str, Any]:
    source = fact.source
    where = {"source": source.key, "on": source.on.isoformat(), "sure": source.sure} if source else {}
    return {"field": fact.field, "value": fact.value, "layer": fact.layer, **where}


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def learn(file: Path) -> None:
    """Add the facts of a TOML file to your own, and print the changes.

    The file has tables such as [models."ollama/qwen3:8b"] with `context = 40960`.
    """
    from antiphon.cli.configuration import current_configuration
    from antiphon.config.model_files import LEARNED_FILE_NAME, merge_facts_file, read_facts_file

    if not file.is_file():
        raise ConfigurationError(f"there is no file {file}")
    directory = current_configuration().user_file.parent
    changes = merge_facts_file(directory, read_facts_file(file))
    for name, field, old, new in changes:
        before = f"{_format_value(old)} → " if old is not None else ""
        click.echo(escape_unprintable_line(f"{name}: {field} = {before}{_format_value(new)}"))
    click.echo(escape_unprintable_line(f"written to {directory / LEARNED_FILE_NAME}") if changes else "nothing changed")


@click.command()
@click.argument("name", required=False, type=MODEL_PARAM)
def refresh(name: str | None) -> None:
    """Fetch model facts from Anthropic and xAI, and store them.

    Without NAME, fetch the facts of all models whose provider has a key. Vendors report sizes, thinking,
    efforts, inputs and dates; they do not report forced tool choice, bound thinking or caches.
    """
    from antiphon.cli.configuration import current_configuration
    from antiphon.config.model_files import REFRESHED_FILE_NAME, write_refreshed_facts
    from antiphon.providers.vendor_facts import fetch_vendor_facts

    known = current_configuration()
    found = fetch_vendor_facts(known.environment, name)
    differences = {each: _describe_differences(each, facts) for each, facts in found.items()}
    write_refreshed_facts(known.user_file.parent, found, date.today())
    for each, differing in differences.items():
        click.echo(escape_unprintable_line(f"{each}: {'; '.join(differing) or 'unchanged'}"))
    click.echo(escape_unprintable_line(f"written to {known.user_file.parent / REFRESHED_FILE_NAME}"))


def _describe_differences(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Return how the vendor's facts differ from the known ones, in words."""
    from antiphon.facts import explain

    provider, _, model = name.partition("/")
    known = {each.field: each.value for each in explain(provider, model)}
    return [
        f"{field} is {_format_value(value)}" + (f", was {_format_value(known[field])}" if field in known else "")
        for field, value in facts.items()
        if not _is_same(known.get(field), value)
    ]


def _is_same(known: Any, told: Any) -> bool:
    if isinstance(told, bool) and told:
        return known is not None and known is not False
    return str(known) == str(told)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path), default=Path())
@JSON_OPTION
def check(path: Path, as_json: bool) -> None:
    """List the models that a project uses, and when they retire.

    Searches antiphon.toml, pyproject.toml, programs and the strings of Python files. Exit code: 1 if a
    model is retired or retires within 60 days.
    """
    from antiphon.cli.model_mentions import find_model_mentions
    from antiphon.facts.retirement import describe_retirement

    if not path.exists():
        raise ConfigurationError(f"there is no file or directory {path}")
    found = find_model_mentions(path)
    ends = {each.model: describe_retirement(*each.model.split("/", 1)) for each in found}
    if as_json:
        listed = [{"model": e.model, "file": str(e.file), "line": e.line, "ends": ends[e.model] or None} for e in found]
        print_ascii_json(listed)
    else:
        for each in found:
            told = f": {ends[each.model]}" if ends[each.model] else ""
            click.echo(escape_unprintable_line(f"{each.file}:{each.line}: {each.model}{told}"))
        if not found:
            click.echo("no models found")
    sys.exit(1 if any(ends.values()) else 0)
