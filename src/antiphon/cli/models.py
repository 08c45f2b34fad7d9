"""`antiphon setup models`: local models and their files, the default model, and facts about models."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.completers import MODEL_PARAM
from antiphon.cli.model_facts import check, learn, refresh, show
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import print_ascii_json, print_message
from antiphon.cli.style import style_accent, style_faint
from antiphon.errors import ConfigurationError, WeightsError

# Weights are imported where needed, so that other commands start faster.
if TYPE_CHECKING:
    from antiphon.config import ModelDestination
    from antiphon.local.weights import Weights, WeightsStatus


@click.group(invoke_without_command=True)
@click.option("--why", is_flag=True, help="Explain which model is used by default, step by step.")
@JSON_OPTION
@click.pass_context
def models(context: click.Context, why: bool, as_json: bool) -> None:
    """List and download models, set the default, show and check facts."""
    if context.invoked_subcommand is not None:
        return
    if why:
        _print_choice(as_json)
    else:
        _print_models(as_json)


for _command in (show, learn, refresh, check):
    models.add_command(_command)


@models.command("list")
@JSON_OPTION
def list_models(as_json: bool) -> None:
    """List local models, models of servers on this machine, and the default."""
    _print_models(as_json)


@models.command()
@click.argument("name", required=False, type=MODEL_PARAM)
@click.option("--unset", is_flag=True, help="Remove it from your configuration.")
def default(name: str | None, unset: bool) -> None:
    """Set the default model; without NAME, print it."""
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import default_model
    from antiphon.config.files import write_user_model

    known = current_configuration()
    if name is not None and unset:
        raise click.UsageError("`--unset` takes no NAME")
    if name is not None:
        _check_model_name(name)
        write_user_model(known.user_file, name)
    elif unset:
        write_user_model(known.user_file, "")
    choice = default_model(known)
    click.echo(f"{escape_unprintable_line(choice.model)} ({_SOURCE_TITLES[choice.source]})")
    if name is not None and choice.model != name:
        print_message(f"{_SOURCE_TITLES[choice.source]} takes precedence over {known.user_file}")


def _check_model_name(name: str) -> None:
    """Raise an error for an unknown model; print a note about a missing key or a doubtful name."""
    from antiphon.cli.configuration import current_configuration
    from antiphon.providers.catalog import suggest_model_name
    from antiphon.providers.registry import needs_key, resolve

    provider, model = resolve(name)
    if provider.name == "local":
        from antiphon.local import weights

        weights.find_weights(model)
    if needs_key(provider) and not current_configuration().environment.describe_key_source(provider):
        print_message(f"{provider.name} has no key; store one with `antiphon setup keys set {provider.name}`")
    if doubt := suggest_model_name(provider.name, model):
        print_message(f"{escape_unprintable_line(doubt.removeprefix('; '))}")


@models.command()
@click.argument("name")
@click.option("--from", "file", type=click.Path(), help="Copy the weights from this file; the hash is checked.")
def pull(name: str, file: str | None) -> None:
    """Download the weights of a model; an interrupted download is continued."""
    from antiphon.local import weights

    try:
        path = weights.pull(name, file=file)
    except KeyboardInterrupt:
        click.echo("\nantiphon: interrupted; run the same command again to continue the download", err=True)
        sys.exit(130)
    click.echo(escape_unprintable_line(str(path)))


@models.command()
@click.argument("name")
def remove(name: str) -> None:
    """Delete the weights of a model from the cache."""
    from antiphon.local import weights
    from antiphon.local.manifest import format_size

    freed = weights.remove(name)
    found = weights.find_weights(name).name
    click.echo(f"{found}: {format_size(freed)} removed" if freed else f"{found}: nothing to remove")


@models.command()
@click.argument("name")
def path(name: str) -> None:
    """Print the path of a model's weights, if installed."""
    from antiphon.local import weights

    there = weights.status(name)
    if there.path is None:
        raise WeightsError(_describe_missing_weights(there.weights))
    click.echo(escape_unprintable_line(str(there.path)))


@models.command()
@click.argument("name")
@JSON_OPTION
def info(name: str, as_json: bool) -> None:
    """Describe a model: size, licence, hash and origin of its file."""
    from antiphon.local import weights
    from antiphon.local.manifest import format_size

    facts = _weights_json(weights.status(name))
    if as_json:
        print_ascii_json(facts)
        return
    shown = {
        **facts,
        "bytes": f"{facts['bytes']} ({format_size(facts['bytes'])})",
        "partial": format_size(facts["partial"]),
    }
    for key, value in shown.items():
        click.echo(f"{style_faint(f'{key:<10}')} {escape_unprintable_line(str(value)) if value else '-'}")


def _describe_missing_weights(model: Weights) -> str:
    from antiphon.local.manifest import format_size

    return (
        f"`{model.name}` is not on this machine; download it with `antiphon setup models pull {model.name}`"
        f" ({format_size(model.bytes)})"
    )


def _weights_json(there: WeightsStatus) -> dict[str, Any]:
    model = there.weights
    return {
        "name": model.name,
        "title": model.title,
        "model": f"local/{model.name}",
        "bytes": model.bytes,
        "sha256": model.sha256,
        "licence": model.licence,
        "origin": model.origin,
        "installed": str(there.path) if there.path else None,
        "source": there.source or None,
        "partial": there.partial,
        "variable": model.variable,
    }


def _print_models(as_json: bool) -> None:
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import default_model
    from antiphon.config.default_model import LOCAL_TOOL_MODEL
    from antiphon.local import weights
    from antiphon.local.manifest import format_size
    from antiphon.providers.local_servers import find_local_servers

    choice = default_model(current_configuration())
    found = [weights.status(name) for name in weights.known()]
    servers = find_local_servers()
    if as_json:
        listed = [_weights_json(each) | {"default": choice.model == f"local/{each.weights.name}"} for each in found]
        told = {"default": choice.model, "decided_by": choice.source, "models": listed}
        print_ascii_json({**told, "servers": [asdict(each) for each in servers]})
        return
    for each in found:
        model = each.weights
        mark = "*" if choice.model == f"local/{model.name}" else " "
        state = (
            "installed" if each.path else f"{format_size(each.partial)} downloaded" if each.partial else "not installed"
        )
        state = f"{state:<14}" if each.path else style_faint(f"{state:<14}")
        about = style_faint(f"{model.licence:<11} {model.title}")
        click.echo(f"{mark} {style_accent(f'{model.name:<6}')} {format_size(model.bytes):>7}  {state} {about}")
    for server in servers:
        for name in server.models:
            mark = "*" if choice.model == name else " "
            click.echo(f"{mark} {style_accent(escape_unprintable_line(name))}  {style_faint(f'at {server.url}')}")
        if not server.models:
            click.echo(f"  {server.name} at {server.url} has no models")
    with_tools = f", with tools {style_accent(LOCAL_TOOL_MODEL)}" if choice.source == "local" else ""
    click.echo(
        f"default: {style_accent(escape_unprintable_line(choice.model))}{with_tools}"
        " (`antiphon setup models --why` explains)"
    )


_SOURCE_TITLES = {
    "flag": "command line",
    "program": "program",
    "project": "project configuration",
    "user": "user configuration",
    "environment": "ANTIPHON_MODEL",
    "key": "a provider with a key",
    "local": "local",
}


def _print_choice(as_json: bool) -> None:
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import default_model

    choice = default_model(current_configuration())
    place = _find_destination(choice.model)
    if as_json:
        print_ascii_json(asdict(choice) | (asdict(place) if place else {}))
        return
    for number, step in enumerate(choice.steps, 1):
        result = f"{step.model} ({step.found})" if step.model else step.found
        click.echo(f"{number}. {_SOURCE_TITLES[step.name]}: {escape_unprintable_line(result)}")
    for number, name in enumerate(list(_SOURCE_TITLES)[len(choice.steps) :], len(choice.steps) + 1):
        click.echo(f"{number}. {_SOURCE_TITLES[name]}: not checked")
    click.echo(f"The model is {style_accent(escape_unprintable_line(choice.model))}.")
    if place is not None:
        click.echo(
            escape_unprintable_line(
                f"Requests go to {place.address} ({place.address_from}), {_describe_key(place.key_from)}."
            )
        )


def _describe_key(place: str) -> str:
    return f"with the key {place}" if place else "without a key"


def _find_destination(model: str) -> ModelDestination | None:
    """Return where requests for a model go; `None` if nobody serves it."""
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import find_model_destination

    try:
        return find_model_destination(current_configuration(), model)
    except ConfigurationError:
        return None
