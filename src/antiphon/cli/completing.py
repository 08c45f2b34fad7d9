"""What a shell is offered where a name is wanted: of a model, a provider, a talk, a run, an option, a template."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from antiphon.errors import AntiphonError

_MOST = 50


class _Name(click.ParamType[str]):
    """A text for which a shell is offered what there is."""

    name = "text"

    def __init__(self, names: Callable[[str], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(name) for name in self.names(incomplete)]

    def names(self, incomplete: str) -> list[str]:
        """What there is that begins so."""
        found: list[str] = []
        # Whoever presses the tabulator is not told of what is wrong with a file.
        with suppress(AntiphonError):
            found = [name for name in self._names(incomplete) if name.startswith(incomplete)]
        return sorted(dict.fromkeys(found))[:_MOST]


def _models(incomplete: str) -> Iterable[str]:
    from antiphon.config.choice import provider_defaults
    from antiphon.providers.catalog import known_models
    from antiphon.providers.local import weights
    from antiphon.providers.registry import PROVIDERS

    provider, slash, _ = incomplete.partition("/")
    if not slash:
        yield from provider_defaults().values()
        yield from (f"{name}/" for name in PROVIDERS if name != "local")
    yield from (f"local/{name}" for name in weights.known())
    yield from (f"{provider}/{name}" for name in known_models(provider) if slash)


def _providers(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.providers.registry import PROVIDERS

    return (each.name for each in PROVIDERS.values() if each.key_env)


def _conversations(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.store import Store

    with Store() as store:
        return [entry.id for entry in store.list(limit=_MOST)]


def _runs(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.journal import Journal

    journal = Journal()
    try:
        return [entry.id for entry in journal.runs(limit=_MOST)]
    finally:
        journal.close()


def _servers(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.config import load_configuration

    return [server.name for server in load_configuration().mcp_servers()]


class _File(click.ParamType[str]):
    """A text for which a shell is offered its files."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(incomplete, type="file")]


def _options(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.talks.options import NAMES

    return NAMES


def _templates(incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from antiphon.config import load_configuration
    from antiphon.config.templates import template_names

    return template_names(load_configuration())


FILE = _File()
SERVER = _Name(_servers)
MODEL = _Name(_models)
OPTION = _Name(_options)
TEMPLATE = _Name(_templates)
PROVIDER = _Name(_providers)
CONVERSATION = _Name(_conversations)
RUN = _Name(_runs)
