"""Whom a request asks: the model, what is known about it, and the headers that go with the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from antiphon.facts import Facts, lookup

#: The names under which the owner of each API has its facts.
_OWNERS = {"anthropic": "anthropic", "openai-chat": "openai-chat", "openai-responses": "openai", "gemini": "google"}
#: Names that stand for the owner, whichever of its APIs is asked.
_ALIASES = ("openai", "openai-chat", "openai-responses", "gemini")
#: Places that serve the models of several owners.
_PLATFORMS = ("foundry", "vertex")


@dataclass(frozen=True, slots=True)
class Subject:
    """The model that is asked. `model` is empty where neither the body nor the caller names one."""

    model: str
    facts: Facts
    #: The names in lower case; `None` where the headers are not known, and then nothing is said of them.
    headers: Mapping[str, str] | None = None

    @property
    def betas(self) -> frozenset[str]:
        """Return the values of the header `anthropic-beta`."""
        given = (self.headers or {}).get("anthropic-beta", "")
        return frozenset(value.strip() for value in given.split(",") if value.strip())

    @property
    def api_version(self) -> str:
        """Return the date of `anthropic-version`, or "" where no header or another kind of version is given."""
        given = (self.headers or {}).get("anthropic-version", "")
        return given if given[:4].isdigit() else ""


def identify_subject(
    api: str, model: str, *, provider: str | None, platform: str, headers: Mapping[str, str] | None
) -> Subject:
    """Return the model by its name, with the facts of whoever serves it.

    Careful guesses about a model that is not in the table are no ground to refuse anything.
    """
    name = _OWNERS[api] if provider is None or provider in (*_ALIASES, *_PLATFORMS) else provider
    if provider in _PLATFORMS:
        platform = platform or provider
    facts = lookup(name, model, platform=platform) if model else Facts()
    lower = None if headers is None else {key.lower(): value for key, value in headers.items()}
    return Subject(model, Facts() if facts.taken_for else facts, lower)
