"""A provider's own JSON, with its origin: what only the same provider gets back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from antiphon._base.json import normalize_json, sanitize_unicode


def clean_fields(value: object, *names: str) -> None:
    """Sanitize these text fields of a value. Raise a ContentError if one is not text."""
    for name in names:
        text = getattr(value, name)
        # Nearly all texts are plain ASCII, which stays as it is.
        if type(text) is not str or not text.isascii() or "\0" in text:
            object.__setattr__(value, name, sanitize_unicode(text))


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of an opaque value: only the same provider, API and model gets it back."""

    provider: str
    api: str
    model: str

    def __post_init__(self) -> None:
        clean_fields(self, "provider", "api", "model")


@dataclass(frozen=True, slots=True)
class ProviderPayload:
    """A provider's own JSON for a part, stored unchanged so that it can be sent back to its origin."""

    origin: Origin
    data: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", normalize_json(self.data, "a provider's own data"))
