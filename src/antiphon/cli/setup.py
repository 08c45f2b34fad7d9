"""`antiphon setup`: choose a model, try it, and store the choice."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli.prompts import ask_line
from antiphon.errors import AntiphonError, ConfigurationError

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider

#: Providers offered by number; any other is chosen by name.
_OFFERED_PROVIDERS = ("anthropic", "openai", "google", "mistral", "openrouter")
_TEST_PROMPT = "Say hello, and in one sentence what you are good at."


@dataclass(frozen=True, slots=True)
class _ModelChoice:
    """A chosen model, and its provider's key if the user entered one."""

    model: str
    provider: str = ""
    key: str | None = field(default=None, repr=False)


@click.command()
def setup() -> None:
    """Choose a model, try it, and store it with its key."""
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "`setup` needs a terminal; without one, use `antiphon keys set` and `antiphon models default`"
        )
    run_setup()


def run_setup() -> None:
    """Ask for a model, try it, and store it if it works."""
    choice = _ask_choice()
    try:
        _try_model(choice)
    except AntiphonError as error:
        click.echo(
            f"The test failed: {escape_unprintable(str(error))}\nNothing was stored; run `antiphon setup` again."
        )
        sys.exit(1)
    _store_choice(choice)
    click.echo('\nNext: `antiphon chat`, or `antiphon ask "…"`.')


def _store_choice(choice: _ModelChoice) -> None:
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import keys
    from antiphon.config.files import write_user_model

    click.echo()
    if choice.key is not None:
        click.echo(f"The key is stored in {escape_unprintable(keys.store_key(choice.provider, choice.key))}.")
    write_user_model(current_configuration().user_file, choice.model)
    click.echo(
        f"The default model is now {escape_unprintable_line(choice.model)}; change it with `antiphon models default`."
    )


def _ask_choice() -> _ModelChoice:
    """Ask for a model, and for its key if there is none."""
    from antiphon.providers.local_servers import find_local_servers
    from antiphon.providers.registry import PROVIDERS

    servers = {each.name: each for each in find_local_servers() if each.models}
    names = [*servers, *_OFFERED_PROVIDERS, "local"]
    click.echo("Which provider do you want to use?")
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}. {_describe_option(name, name in servers)}")
    name = _ask_provider(names, [each.name for each in PROVIDERS.values()])
    if name == "local":
        from antiphon.config.default_model import LOCAL_MODEL

        return _ModelChoice(LOCAL_MODEL)
    if name in servers:
        models = servers[name].models
        return _ModelChoice(models[0] if len(models) == 1 else _ask_model_name(models[0], models))
    return _ask_provider_model(PROVIDERS[name])


def _describe_option(name: str, is_here: bool) -> str:
    from antiphon.cli.configuration import current_configuration
    from antiphon.providers.registry import PROVIDERS

    if name == "local":
        from antiphon.config.default_model import LOCAL_MODEL
        from antiphon.local import weights
        from antiphon.local.manifest import format_size

        there = weights.status(LOCAL_MODEL.removeprefix("local/"))
        how = "installed" if there.path is not None else f"{format_size(there.weights.bytes)}, downloaded once"
        return f"a small local model, without a key ({how})"
    if is_here:
        return f"{name}, running on this machine"
    place = current_configuration().environment.describe_key_source(PROVIDERS[name])
    return f"{name} (key: {escape_unprintable_line(place)})" if place else name


def _ask_provider(names: list[str], all_names: list[str]) -> str:
    from antiphon._base.did_you_mean import suggest_name

    while True:
        said = ask_line("Number, or name of another provider", default="1").strip().lower()
        if said.isascii() and said.isdigit() and 0 < int(said) <= len(names):
            return names[int(said) - 1]
        if said in all_names:
            return said
        near = suggest_name(said, all_names)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(all_names)}"
        click.echo(f"There is no {escape_unprintable(said)[:50]!r}; {hint}")


def _ask_provider_model(provider: Provider) -> _ModelChoice:
    from antiphon.cli.configuration import current_configuration
    from antiphon.config import keys
    from antiphon.config.default_model import list_provider_defaults
    from antiphon.providers.catalog import list_priced_models
    from antiphon.providers.registry import needs_key

    key = None
    if needs_key(provider) and not current_configuration().environment.describe_key_source(provider):
        key = keys.check_key(provider.name, ask_line(f"Key for {provider.name} (not shown)", hide_input=True))
    known = [f"{provider.name}/{name}" for name in list_priced_models(provider.name)]
    return _ModelChoice(_ask_model_name(list_provider_defaults().get(provider.name, ""), known), provider.name, key)


def _ask_model_name(first: str, known: tuple[str, ...] | list[str]) -> str:
    from antiphon.providers.registry import resolve

    provider = (first or known[0] if known else first).partition("/")[0]
    while True:
        said = ask_line("Default model", default=first or None).strip()
        name = said if said in known or said.startswith(f"{provider}/") or not provider else f"{provider}/{said}"
        try:
            resolve(name)
        except ConfigurationError as error:
            click.echo(escape_unprintable(str(error)))
            continue
        return name


def _try_model(choice: _ModelChoice) -> None:
    from antiphon.cli.chat_front.local_models import prepare_model, show_spinner
    from antiphon.cli.output import print_text
    from antiphon.config import load_configuration
    from antiphon.providers import connect
    from antiphon.session import Session

    click.echo(f"\n> {_TEST_PROMPT}")
    known = load_configuration()
    given = choice.key is not None
    model = connect(choice.model, key=choice.key, environment=known.environment) if given else choice.model
    session = Session(model, configuration=known)
    prepare_model(session.model)
    # A local model may take long for its first word.
    with show_spinner(f"asking {session.model.name}"):
        answer = session.vibe(_TEST_PROMPT)
    print_text(str(answer.value).strip())
