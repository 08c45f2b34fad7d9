"""A key or token with its expiry, and the type of functions that return one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from antiphon.errors import OptionError


@dataclass(frozen=True, slots=True)
class Credential:
    """A key or token, and when it expires.

    `expires_at` is a `datetime` with a time zone, or seconds since 1970. Without it, the value is used until
    the provider rejects it.
    """

    value: str = field(repr=False)
    expires_at: datetime | float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.value, str):
            raise OptionError(f"the value of a Credential is a text, not {type(self.value).__name__}")
        when = self.expires_at
        if isinstance(when, datetime):
            if when.tzinfo is None:
                raise OptionError("`expires_at` has no time zone; write `datetime.now(UTC) + …`")
        elif when is not None and (not isinstance(when, int | float) or isinstance(when, bool)):
            raise OptionError(f"`expires_at` is a datetime or seconds since 1970, not {type(when).__name__}")

    @property
    def expiry(self) -> float | None:
        """When it expires, in seconds since 1970."""
        return self.expires_at.timestamp() if isinstance(self.expires_at, datetime) else self.expires_at


#: A function that returns a key, also asynchronously.
KeyFunction = Callable[[], str | Credential | Awaitable[str | Credential]]
