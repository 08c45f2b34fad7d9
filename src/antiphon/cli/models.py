"""`antiphon models`: local models and their files, the model that is used by default, and facts about models."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable_line
from antiphon.cli.colours import accent, echo_json, faint
from antiphon.cli.completing import MODEL
from antiphon.cli.model_facts import check, learn, refresh, show
from antiphon.errors import ConfigurationError, WeightsError

# Other commands start sooner because the weights are imported by those that need them.
if TYPE_CHECKING:
    from antiphon.config import Destination
    from antiphon.providers.local.weights import Status, Weights


@click.group(invoke_without_command=True)
@click.option("--why", is_flag=True, help="Explain which model is used by default, step by step.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def models(context: click.Context, why: bool, as_json: bool) -> None:
    """List models; fetch local ones; set the default; show and check facts."""
    if context.invoked_subcommand is not None:
        return
    if why:
        _explain(as_json)
    else:
        _list(as_json)


for _command in (show, learn, refresh, check):
    models.add_command(_command)


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_models(as_json: bool) -> None:
    """List local models, those of servers on this machine, and the default."""
    _list(as_json)


@models.command()
@click.argument("name", required=False, type=MODEL)
@click.option("--unset", is_flag=True, help="Take it out of your configuration again.")
def default(name: str | None, unset: bool) -> None:
    """Use this model where no other is named; without NAME, print which one that is."""
    from antiphon.cli.configured import configuration
    from antiphon.config import default_model
    from antiphon.config.files import write_user_model

    known = configuration()
    if name is not None and unset:
        raise click.UsageError("`--unset` goes without a NAME")
    if name is not None:
        _check_name(name)
        write_user_model(known.user_file, name)
    elif unset:
        write_user_model(known.user_file, "")
    choice = default_model(known)
    click.echo(f"{printable_line(choice.model)} ({_TITLES[choice.source]})")
    if name is not None and choice.model != name:
        click.echo(f"antiphon: {_TITLES[choice.source]} comes before {known.user_file}", err=True)


def _check_name(name: str) -> None:
    """Refuse what nobody serves; a model of which no key is there is told of."""
    from antiphon.cli.configured import configuration
    from antiphon.providers.catalog import unknown_name
    from antiphon.providers.registry import needs_key, resolve

    provider, model = resolve(name)
    if provider.name == "local":
        from antiphon.providers.local import weights

        weights.find(model)
    if needs_key(provider) and not configuration().environment.key_place(provider):
        click.echo(f"antiphon: there is no key for {provider.name} yet: `antiphon keys set {provider.name}`", err=True)
    if doubt := unknown_name(provider.name, model):
        click.echo(f"antiphon: {printable_line(doubt.removeprefix('; '))}", err=True)


@models.command()
@click.argument("name")
@click.option("--from", "file", type=click.Path(), help="Take the weights from this file; the hash is checked.")
def pull(name: str, file: str | None) -> None:
    """Fetch the weights of a model, once; a stopped pull is continued."""
    from antiphon.providers.local import weights

    try:
        path = weights.pull(name, file=file)
    except KeyboardInterrupt:
        click.echo("\nantiphon: stopped; what has come is kept, the same command goes on from there", err=True)
        sys.exit(130)
    click.echo(printable_line(str(path)))


@models.command()
@click.argument("name")
def remove(name: str) -> None:
    """Delete the weights of a model from the cache."""
    from antiphon.providers.local import weights
    from antiphon.providers.local.manifest import size

    freed = weights.remove(name)
    found = weights.find(name).name
    click.echo(f"{found}: {size(freed)} removed" if freed else f"{found}: there was nothing to remove")


@models.command()
@click.argument("name")
def path(name: str) -> None:
    """Print the path of a model's file, if it is there."""
    from antiphon.providers.local import weights

    there = weights.status(name)
    if there.path is None:
        raise WeightsError(_absent(there.weights))
    click.echo(printable_line(str(there.path)))


@models.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(name: str, as_json: bool) -> None:
    """Describe a model: size, licence, hash, and where its file came from."""
    from antiphon.providers.local import weights
    from antiphon.providers.local.manifest import size

    facts = _facts(weights.status(name))
    if as_json:
        echo_json(json.dumps(facts, indent=2))
        return
    shown = {**facts, "bytes": f"{facts['bytes']} ({size(facts['bytes'])})", "partial": size(facts["partial"])}
    for key, value in shown.items():
        click.echo(f"{faint(f'{key:<10}')} {printable_line(str(value)) if value else '-'}")


def _absent(model: Weights) -> str:
    from antiphon.providers.local.manifest import size

    return (
        f"`{model.name}` is not on this machine; `antiphon models pull {model.name}` fetches it ({size(model.bytes)})"
    )


def _facts(there: Status) -> dict[str, Any]:
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


def _list(as_json: bool) -> None:
    from antiphon.cli.configured import configuration
    from antiphon.config import default_model
    from antiphon.config.choice import LOCAL_WITH_TOOLS
    from antiphon.providers.local import weights
    from antiphon.providers.local.manifest import size
    from antiphon.providers.servers import find_servers

    choice = default_model(configuration())
    found = [weights.status(name) for name in weights.known()]
    servers = find_servers()
    if as_json:
        listed = [_facts(each) | {"default": choice.model == f"local/{each.weights.name}"} for each in found]
        told = {"default": choice.model, "decided_by": choice.source, "models": listed}
        echo_json(json.dumps({**told, "servers": [asdict(each) for each in servers]}, indent=2))
        return
    for each in found:
        model = each.weights
        mark = "*" if choice.model == f"local/{model.name}" else " "
        state = "installed" if each.path else f"{size(each.partial)} so far" if each.partial else "not installed"
        state = f"{state:<14}" if each.path else faint(f"{state:<14}")
        about = faint(f"{model.licence:<11} {model.title}")
        click.echo(f"{mark} {accent(f'{model.name:<6}')} {size(model.bytes):>7}  {state} {about}")
    for server in servers:
        for name in server.models:
            mark = "*" if choice.model == name else " "
            click.echo(f"{mark} {accent(printable_line(name))}  {faint(f'at {server.url}')}")
        if not server.models:
            click.echo(f"  {server.name} at {server.url} has no model yet")
    with_tools = f", with tools {accent(LOCAL_WITH_TOOLS)}" if choice.source == "local" else ""
    click.echo(f"default: {accent(printable_line(choice.model))}{with_tools} (`antiphon models --why` explains)")


_TITLES = {
    "flag": "command line",
    "program": "program",
    "project": "project configuration",
    "user": "user configuration",
    "environment": "ANTIPHON_MODEL",
    "key": "a provider with a key",
    "local": "local",
}


def _explain(as_json: bool) -> None:
    from antiphon.cli.configured import configuration
    from antiphon.config import default_model

    choice = default_model(configuration())
    place = _destination(choice.model)
    if as_json:
        echo_json(json.dumps(asdict(choice) | (asdict(place) if place else {}), indent=2))
        return
    for number, step in enumerate(choice.steps, 1):
        result = f"{step.model} ({step.found})" if step.model else step.found
        click.echo(f"{number}. {_TITLES[step.name]}: {printable_line(result)}")
    for number, name in enumerate(list(_TITLES)[len(choice.steps) :], len(choice.steps) + 1):
        click.echo(f"{number}. {_TITLES[name]}: not asked")
    click.echo(f"So the model is {accent(printable_line(choice.model))}.")
    if place is not None:
        click.echo(printable_line(f"Requests go to {place.address} ({place.address_from}), {_key(place.key_from)}."))


def _key(place: str) -> str:
    return f"with the key {place}" if place else "without a key"


def _destination(model: str) -> Destination | None:
    """Where it is asked; nothing if nobody serves such a model, which is told when it is."""
    from antiphon.cli.configured import configuration
    from antiphon.config import destination

    try:
        return destination(configuration(), model)
    except ConfigurationError:
        return None
