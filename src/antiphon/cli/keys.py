"""`antiphon setup keys`: store, list and remove provider keys; they are never shown."""

from __future__ import annotations

import sys

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import PROVIDER_PARAM
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import is_terminal, print_ascii_json, print_message
from antiphon.cli.prompts import ask_line, confirm
from antiphon.errors import AuthenticationFailed, ConfigurationError, ProviderError


@click.group()
def keys() -> None:
    """Store, list and remove provider keys."""


@keys.command("set")
@click.argument("provider", type=PROVIDER_PARAM)
@click.argument("rest", nargs=-1, metavar="")
@click.option("--no-try", is_flag=True, help="Store the key without trying it.")
def set_key(provider: str, rest: tuple[str, ...], no_try: bool) -> None:
    """Store the key of a provider, read from a prompt or standard input.

    The key is tried first, with a request for the provider's list of models, which costs nothing.
    """
    from antiphon.config import keys as stored

    if rest:
        # The argument is not echoed: it may be the key.
        raise ConfigurationError(
            "a key on the command line can be seen by others; use `antiphon setup keys set PROVIDER`,"
            " which asks for it or reads it from standard input"
        )
    stored.find_key_variable(provider)
    key = stored.check_key(provider, _read_key(provider))
    outcome = "not tried" if no_try else _try_key(provider, key)
    click.echo(f"{outcome}; stored in {escape_unprintable(stored.store_key(provider, key))}")


def _try_key(name: str, key: str) -> str:
    """Try a key and return the outcome. Without one, only the user decides that the key is stored."""
    from antiphon.cli.configuration import current_configuration
    from antiphon.providers.key_check import check_key_works
    from antiphon.providers.registry import PROVIDERS

    provider = PROVIDERS[{"gemini": "google"}.get(name, name)]
    try:
        # A project's address is ignored once a key is stored, so the key is not sent there.
        check_key_works(provider, key, current_configuration().environment.own)
    except AuthenticationFailed as error:
        raise ConfigurationError(f"{error}; nothing was stored") from None
    except (ProviderError, ConfigurationError) as error:
        if not is_terminal(sys.stdin):
            raise ConfigurationError(
                f"the key could not be tried, so nothing was stored: {error}; `--no-try` stores it untried"
            ) from None
        print_message(f"the key could not be tried: {error}")
        if not confirm("Store it untried?"):
            click.echo("nothing was stored")
            sys.exit(1)
        return "not tried"
    return f"{provider.name} accepts the key"


def _read_key(provider: str) -> str:
    if sys.stdin.isatty():
        return ask_line(f"Key for {provider}", hide_input=True, err=True)
    # Limit the input in case a wrong pipe is connected: a key is short.
    return sys.stdin.readline(10_000)


@keys.command("list")
@JSON_OPTION
def list_keys(as_json: bool) -> None:
    """List the providers that have a key, and where it is stored."""
    from antiphon.cli.configuration import current_configuration
    from antiphon.providers.registry import PROVIDERS

    environment = current_configuration().environment
    places = [
        (each, place)
        for each in PROVIDERS.values()
        if (place := environment.describe_key_source(each) or environment.describe_sign_in(each))
    ]
    if as_json:
        rows = [
            {"provider": each.name, "variable": (*each.key_env, place.partition(" ")[0])[0], "where": place}
            for each, place in places
        ]
        print_ascii_json(rows)
        return
    for each, place in places:
        click.echo(f"{each.name:<12} {escape_unprintable(place)}")
    if not places:
        click.echo("there are no keys; store one with `antiphon setup keys set PROVIDER`")


@keys.command()
@click.argument("provider", type=PROVIDER_PARAM)
def remove(provider: str) -> None:
    """Delete the stored key of a provider."""
    from antiphon.config import keys as stored

    click.echo("removed" if stored.remove_key(provider) else f"no key of {provider} was stored; nothing was changed")
