"""`antiphon setup`: choose models, store API keys, trust a project."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

import click

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import print_ascii_json
from antiphon.cli.prompts import ask_line
from antiphon.cli.style import enable_colours
from antiphon.errors import AntiphonError, ConfigurationError

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider

#: The commands of the setup.
_PARTS = {
    "models": "List and download models, set the default, show and check facts.",
    "keys": "Store, list and remove provider keys.",
    "logins": "Log in at MCP servers, list and remove the logins.",
    "trust": "Show what a project would do, and trust it.",
    "templates": "List, show or remove the questions saved with `ask --save`.",
    "paths": "Print where sessions, settings, keys and models are stored.",
}
#: Providers offered by number; any other is chosen by name.
_OFFERED_PROVIDERS = ("anthropic", "openai", "google", "mistral", "openrouter")
_TEST_PROMPT = "Say hello, and in one sentence what you are good at."


@dataclass(frozen=True, slots=True)
class _ModelChoice:
    """A chosen model, and its provider's key if the user entered one."""

    model: str
    provider: str = ""
    key: str | None = field(default=None, repr=False)


class _SetupGroup(click.Group):
    """The parts of the setup; the module of each is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands or cmd_name not in _PARTS:
            return super().get_command(ctx, cmd_name)
        return enable_colours(getattr(import_module(f"antiphon.cli.{cmd_name}"), cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named part; an unknown name fails with the nearest one."""
        if args[0] not in _PARTS and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = suggest_name(args[0], _PARTS)
            hint = f"did you mean `antiphon setup {near}`?" if near else f"there are {', '.join(_PARTS)}"
            ctx.fail(f"`setup` has no part {args[0]!r:.60}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Parts"):
            formatter.write_dl([*_PARTS.items()])


@click.group(cls=_SetupGroup, invoke_without_command=True)
@click.pass_context
def setup(context: click.Context) -> None:
    """Choose models, store API keys, trust a project.

    Without a command, three questions: a provider, its key, and a model, which is tried before anything is stored.
    """
    if context.invoked_subcommand is not None:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "`setup` needs a terminal; without one, use `antiphon setup keys set PROVIDER` and"
            " `antiphon setup models default NAME`"
        )
    run_setup()


@setup.command()
@JSON_OPTION
def paths(as_json: bool) -> None:
    """Print where sessions, settings, keys and models are stored."""
    from antiphon._base.user_dirs import user_directory
    from antiphon.cli.configuration import current_configuration
    from antiphon.config.keys import get_keys_path
    from antiphon.storage.store_location import get_database_url, get_store_path, is_saving_off

    database = "off" if is_saving_off() else str(get_store_path())
    if get_database_url() is not None:
        from antiphon.durable import Journal

        database = Journal().name
    places = {
        "sessions": database,
        "settings": str(current_configuration().user_file),
        "keys": str(get_keys_path()),
        "cache": str(user_directory("cache")),
        "state": str(user_directory("state")),
    }
    if as_json:
        print_ascii_json(places)
        return
    for name, place in places.items():
        click.echo(f"{name:<9} {escape_unprintable(place)}")


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
        f"The default model is now {escape_unprintable_line(choice.model)};"
        " change it with `antiphon setup models default`."
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
    environment = current_configuration().environment
    place = environment.describe_key_source(PROVIDERS[name]) or environment.describe_sign_in(PROVIDERS[name])
    return f"{name} (key: {escape_unprintable_line(place)})" if place else name


def _ask_provider(names: list[str], all_names: list[str]) -> str:
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
