"""`antiphon keys`: store keys of providers; they are never shown."""

from __future__ import annotations

import json
import sys

import click

from antiphon._printable import printable
from antiphon.cli.colours import echo_json
from antiphon.cli.completing import PROVIDER
from antiphon.cli.prompts import ask_line
from antiphon.errors import ConfigurationError


@click.group()
def keys() -> None:
    """Store, list and remove keys of providers."""


@keys.command("set")
@click.argument("provider", type=PROVIDER)
@click.argument("rest", nargs=-1, metavar="")
def set_key(provider: str, rest: tuple[str, ...]) -> None:
    """Store the key of a provider; it is asked for, or read from standard input."""
    from antiphon.config import keys as stored

    if rest:
        # Not repeated: it may well be the key.
        raise ConfigurationError(
            "a key is not given on the command line, where others can see it; "
            "`antiphon keys set PROVIDER` asks for it, or reads it from standard input"
        )
    stored.variable_of(provider)
    place = stored.set_key(provider, _asked(provider))
    click.echo(f"stored in {printable(place)}")


def _asked(provider: str) -> str:
    if sys.stdin.isatty():
        return ask_line(f"Key for {provider}", hide_input=True, err=True)
    # Not the echo of a wrong pipe: a key is short.
    return sys.stdin.readline(10_000)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys(as_json: bool) -> None:
    """List the providers that have a key, and where it is."""
    from antiphon.cli.configured import configuration
    from antiphon.providers.registry import PROVIDERS

    environment = configuration().environment
    places = [(each, place) for each in PROVIDERS.values() if (place := environment.key_place(each))]
    if as_json:
        rows = [{"provider": each.name, "variable": each.key_env[0], "where": place} for each, place in places]
        echo_json(json.dumps(rows, indent=2))
        return
    for each, place in places:
        click.echo(f"{each.name:<12} {printable(place)}")
    if not places:
        click.echo("no keys; `antiphon keys set PROVIDER` stores one")


@keys.command()
@click.argument("provider", type=PROVIDER)
def remove(provider: str) -> None:
    """Forget the stored key of a provider."""
    from antiphon.config import keys as stored

    click.echo("removed" if stored.remove_key(provider) else "there was none stored")
