"""The model that a checked request is for: its facts, and the headers sent with the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from antiphon.facts import Facts, lookup_facts
from antiphon.wire.apis import APIS

#: Provider names that mean the owner of several APIs, for any of them.
_OWNER_NAMES = ("openai", *APIS)
#: Platforms that serve the models of several owners.
_PLATFORMS = ("foundry", "vertex")


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """The model that a request is for. `model` is empty if neither the body nor the caller names one."""

    model: str
    facts: Facts
    #: Headers by lower-case name, or None if they are unknown and not checked.
    headers: Mapping[str, str] | None = None

    @property
    def betas(self) -> frozenset[str]:
        """The values of the header `anthropic-beta`."""
        given = (self.headers or {}).get("anthropic-beta", "")
        return frozenset(value.strip() for value in given.split(",") if value.strip())

    @property
    def api_version(self) -> str:
        """The date of `anthropic-version`, or "" if there is none or it is no date."""
        given = (self.headers or {}).get("anthropic-version", "")
        return given if given[:4].isdigit() else ""


def identify_subject(
    api: str, model: str, *, provider: str | None, platform: str, headers: Mapping[str, str] | None
) -> CheckSubject:
    """Return the model by its name, with the facts of the provider that serves it.

    Guessed facts of an unknown model are ignored, because they are no reason to reject a request.
    """
    name = APIS[api].provider if provider is None or provider in (*_OWNER_NAMES, *_PLATFORMS) else provider
    if provider in _PLATFORMS:
        platform = platform or provider
    facts = lookup_facts(name, model, platform=platform) if model else Facts()
    lower = None if headers is None else {key.lower(): value for key, value in headers.items()}
    return CheckSubject(model, Facts() if facts.taken_for else facts, lower)
