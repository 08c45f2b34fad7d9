"""`antiphon setup`: three questions, and a first answer."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from antiphon._printable import printable, printable_line
from antiphon.cli.prompts import ask_line
from antiphon.errors import AntiphonError, ConfigurationError

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider

#: Those that are offered by number; any other is given by its name.
_FIRST = ("anthropic", "openai", "google", "mistral", "openrouter")
_HELLO = "Say hello, and in one sentence what you are good at."


@dataclass(frozen=True, slots=True)
class _Choice:
    """A model, and its provider's key where that was asked for."""

    model: str
    provider: str = ""
    key: str | None = field(default=None, repr=False)


@click.command()
def setup() -> None:
    """Choose a model, try it, and store the choice and its key."""
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "`setup` asks questions and needs a terminal; `antiphon keys set` and `antiphon models default` do not"
        )
    set_up()


def set_up() -> None:
    """Ask, try what was said, and store it if it works."""
    choice = _chosen()
    try:
        _try(choice)
    except AntiphonError as error:
        click.echo(f"That did not work: {printable(str(error))}\nNothing was stored; `antiphon setup` asks again.")
        sys.exit(1)
    _store(choice)
    click.echo('\nNext: `antiphon chat`, or `antiphon ask "…"`.')


def _store(choice: _Choice) -> None:
    from antiphon.cli.configured import configuration
    from antiphon.config import keys
    from antiphon.config.files import write_user_model

    click.echo()
    if choice.key is not None:
        click.echo(f"The key is stored in {printable(keys.set_key(choice.provider, choice.key))}.")
    write_user_model(configuration().user_file, choice.model)
    click.echo(f"The default is now {printable_line(choice.model)}; `antiphon models default` changes it.")


def _chosen() -> _Choice:
    """Ask for a model, and for its key where that is not known."""
    from antiphon.providers.registry import PROVIDERS
    from antiphon.providers.servers import find_servers

    servers = {each.name: each for each in find_servers() if each.models}
    names = [*servers, *_FIRST, "local"]
    click.echo("Whose models do you want to use?")
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}. {_title(name, name in servers)}")
    name = _picked(names, [each.name for each in PROVIDERS.values()])
    if name == "local":
        from antiphon.config.choice import LOCAL

        return _Choice(LOCAL)
    if name in servers:
        models = servers[name].models
        return _Choice(models[0] if len(models) == 1 else _model(models[0], models))
    return _of_provider(PROVIDERS[name])


def _title(name: str, is_here: bool) -> str:
    from antiphon.cli.configured import configuration
    from antiphon.providers.registry import PROVIDERS

    if name == "local":
        from antiphon.config.choice import LOCAL
        from antiphon.providers.local import weights
        from antiphon.providers.local.manifest import size

        there = weights.status(LOCAL.removeprefix("local/"))
        how = "it is here" if there.path is not None else f"{size(there.weights.bytes)}, fetched once"
        return f"a small one on this machine, without a key ({how})"
    if is_here:
        return f"{name}, which runs on this machine"
    place = configuration().environment.key_place(PROVIDERS[name])
    return f"{name} (its key is there: {printable_line(place)})" if place else name


def _picked(names: list[str], all_names: list[str]) -> str:
    from antiphon._suggestions import nearest

    while True:
        said = ask_line("A number, or the name of another provider", default="1").strip().lower()
        if said.isascii() and said.isdigit() and 0 < int(said) <= len(names):
            return names[int(said) - 1]
        if said in all_names:
            return said
        near = nearest(said, all_names)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(all_names)}"
        click.echo(f"There is no {printable(said)[:50]!r}; {hint}")


def _of_provider(provider: Provider) -> _Choice:
    from antiphon.cli.configured import configuration
    from antiphon.config import keys
    from antiphon.config.choice import provider_defaults
    from antiphon.providers.catalog import known_models
    from antiphon.providers.registry import needs_key

    key = None
    if needs_key(provider) and not configuration().environment.key_place(provider):
        key = keys.check_key(provider.name, ask_line(f"The key of {provider.name} (not shown)", hide_input=True))
    known = [f"{provider.name}/{name}" for name in known_models(provider.name)]
    return _Choice(_model(provider_defaults().get(provider.name, ""), known), provider.name, key)


def _model(first: str, known: tuple[str, ...] | list[str]) -> str:
    from antiphon.providers.registry import resolve

    provider = (first or known[0] if known else first).partition("/")[0]
    while True:
        said = ask_line("Which model by default", default=first or None).strip()
        name = said if said in known or said.startswith(f"{provider}/") or not provider else f"{provider}/{said}"
        try:
            resolve(name)
        except ConfigurationError as error:
            click.echo(printable(str(error)))
            continue
        return name


def _try(choice: _Choice) -> None:
    from antiphon.cli.talk.loading import get_ready, moving
    from antiphon.cli.talk.printing import print_text
    from antiphon.config import load_configuration
    from antiphon.providers import connect
    from antiphon.session import Session

    click.echo(f"\n> {_HELLO}")
    known = load_configuration()
    given = choice.key is not None
    model = connect(choice.model, key=choice.key, environment=known.environment) if given else choice.model
    session = Session(model, configuration=known)
    get_ready(session.model)
    # A model on this machine takes its time, also for a first word.
    with moving(f"asking {session.model.name}"):
        answer = session.vibe(_HELLO)
    print_text(str(answer.value).strip())
