"""State that providers hold for a conversation, by origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from antiphon._base.json import normalize_json
from antiphon.conversation.provider_payload import Origin
from antiphon.errors import ContentError, FormatError


class ProviderState(dict[Origin, Mapping[str, Any]]):
    """Values by origin that are sent back to the provider that issued them, for the lifetime of the conversation.

    Known keys are `container` (`id`, `expires_at`), `drop_block`, `transformations` and `diagnostics`. A
    value goes only to its own origin.
    """

    __slots__ = ()

    def keep(self, origin: Origin, **values: Any) -> None:
        """Set values of an origin; `None` removes a value."""
        kept = {**self.get(origin, {}), **normalize_json(values, "a provider's state")}
        kept = {name: value for name, value in kept.items() if value is not None}
        if kept:
            self[origin] = kept
        else:
            self.pop(origin, None)

    def copy(self) -> ProviderState:
        """Return an independent copy."""
        return ProviderState(self)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the state as JSON data."""
        return [
            {"origin": [origin.provider, origin.api, origin.model], "values": values} for origin, values in self.items()
        ]

    @classmethod
    def from_json(cls, data: object) -> ProviderState:
        """Read data that `to_json` made. Raise a FormatError with the reason if that is not possible."""
        state = cls()
        if not isinstance(data, list):
            raise FormatError(f"`state` is a list, not {type(data).__name__}")
        for number, item in enumerate(cast(list[object], data), 1):
            match item:
                case {"origin": [str(provider), str(api), str(model)], "values": dict()}:
                    values = cast(dict[str, Any], item)["values"]
                    try:
                        state.keep(Origin(provider, api, model), **values)
                    except ContentError as error:
                        raise FormatError(f"`state` {number}: {error}") from None
                case _:
                    raise FormatError(
                        f"`state` {number} is an object with `origin`, which is three texts, and `values`, an object"
                    )
        return state

    def __repr__(self) -> str:
        return f"<ProviderState of {len(self)} origins>"
