"""Shell completion for names: models, providers, sessions, options and templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from antiphon.errors import AntiphonError

_MAX_COMPLETIONS = 50


class _CompletedName(click.ParamType[str]):
    """A text parameter with completions."""

    name = "text"

    def __init__(self, names: Callable[[str], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(name) for name in self.names(incomplete)]

    def names(self, incomplete: str) -> list[str]:
        """Return the known names that start with a text."""
        found: list[str] = []
        # Completion must not print errors.
        with suppress(AntiphonError):
            found = [name for name in self._names(incomplete) if name.startswith(incomplete)]
        return sorted(dict.fromkeys(found))[:_MAX_COMPLETIONS]


class _ModelName(_CompletedName):
    """The name of a model; that of a family, such as `sonnet`, means its current model."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        if not value.isalpha():
            return value
        from antiphon.config.default_model import find_current_model

        found = find_current_model(value)
        if found is None:
            _check_family(value)
            return value
        from antiphon.cli.output import print_message

        print_message(f"{value} is {found}, its current model")
        return found


def _check_family(value: str) -> None:
    """Raise a usage error for the misspelt name of a family, if it is no other model either."""
    from antiphon._base.did_you_mean import suggest_name
    from antiphon.config.default_model import FAMILY_NAMES
    from antiphon.providers.registry import PROVIDERS, resolve

    near = suggest_name(value, FAMILY_NAMES)
    if near is None or value in PROVIDERS:
        return
    try:
        resolve(value)
    except AntiphonError:
        raise click.UsageError(f"no provider is known for model {value!r}; did you mean `{near}`?") from None


def _complete_models(incomplete: str) -> Iterable[str]:
    from antiphon.config.default_model import list_provider_defaults
    from antiphon.local import weights
    from antiphon.providers.catalog import list_priced_models
    from antiphon.providers.registry import PROVIDERS

    provider, slash, _ = incomplete.partition("/")
    if not slash:
        yield from list_provider_defaults().values()
        yield from (f"{name}/" for name in PROVIDERS if name != "local")
    yield from (f"local/{name}" for name in weights.known())
    yield from (f"{provider}/{name}" for name in list_priced_models(provider) if slash)


def _complete_providers(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.providers.registry import PROVIDERS

    return (each.name for each in PROVIDERS.values() if each.key_env)


def _complete_sessions(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.cli.sessions import open_sessions

    with open_sessions() as sessions:
        return ["last", *(each.id for each in sessions.list(limit=_MAX_COMPLETIONS))]


def _complete_servers(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.config import load_configuration

    return [server.name for server in load_configuration().mcp_servers()]


class _CompletedFile(click.ParamType[str]):
    """A text parameter that is completed with file names."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(incomplete, type="file")]


def _complete_options(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.chat.request_options import OPTION_PREFIXES

    return OPTION_PREFIXES


def _complete_templates(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.config import load_configuration
    from antiphon.config.templates import list_template_names

    return list_template_names(load_configuration())


FILE_PARAM = _CompletedFile()
SERVER_PARAM = _CompletedName(_complete_servers)
MODEL_PARAM = _ModelName(_complete_models)
OPTION_PARAM = _CompletedName(_complete_options)
TEMPLATE_PARAM = _CompletedName(_complete_templates)
PROVIDER_PARAM = _CompletedName(_complete_providers)
SESSION_PARAM = _CompletedName(_complete_sessions)
