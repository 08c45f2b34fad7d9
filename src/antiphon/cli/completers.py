"""Shell completion for names: models, providers, conversations, runs, options and templates."""

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


def _complete_conversations(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.storage import Store

    with Store() as store:
        return [entry.id for entry in store.list(limit=_MAX_COMPLETIONS)]


def _complete_runs(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.durable import Journal

    journal = Journal()
    try:
        return [entry.id for entry in journal.list_runs(limit=_MAX_COMPLETIONS)]
    finally:
        journal.close()


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
MODEL_PARAM = _CompletedName(_complete_models)
OPTION_PARAM = _CompletedName(_complete_options)
TEMPLATE_PARAM = _CompletedName(_complete_templates)
PROVIDER_PARAM = _CompletedName(_complete_providers)
CONVERSATION_PARAM = _CompletedName(_complete_conversations)
RUN_PARAM = _CompletedName(_complete_runs)
