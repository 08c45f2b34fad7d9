"""Provider data beside an answer: state to send back, and details that no part of the answer holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Origin, ProviderState


@dataclass(frozen=True, slots=True)
class RefusalDetails:
    """The reason why a model or a filter declined to answer, as far as the provider states it."""

    category: str = ""
    explanation: str = ""
    recommended_model: str = ""


@dataclass(frozen=True, slots=True)
class ReplyState:
    """Data that came with a reply besides its parts.

    `container` is where the provider's tools keep files, and `continuation_token` continues an
    unfinished answer. `transformations` are changes that the provider made to the request,
    `diagnostics` its statements about the cache. `sources` are the grounding and citation records, one
    per step of the answer. `other` holds unknown fields.
    """

    container: Mapping[str, Any] | None = None
    continuation_token: str = ""
    refusal: RefusalDetails | None = None
    transformations: tuple[Any, ...] = ()
    diagnostics: Mapping[str, Any] | None = None
    sources: tuple[Mapping[str, Any], ...] = ()
    service_tier: str = ""
    other: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def joined(self, later: ReplyState) -> ReplyState:
        """Return this state merged with that of the next step of the same answer, which takes precedence."""
        return ReplyState(
            container=later.container or self.container,
            continuation_token=later.continuation_token,
            refusal=later.refusal or self.refusal,
            transformations=self.transformations + later.transformations,
            diagnostics=later.diagnostics or self.diagnostics,
            sources=self.sources + later.sources,
            service_tier=later.service_tier or self.service_tier,
            other={**self.other, **later.other},
        )

    def save_to(self, state: ProviderState, origin: Origin) -> None:
        """Store what later requests need in the conversation's provider state."""
        known = state.get(origin, {})
        if self.container is not None:
            state.keep(origin, container=dict(self.container))
        if self.transformations or "transformations" in known:
            state.keep(origin, transformations=list(self.transformations) or None)
        if self.diagnostics is not None or "diagnostics" in known:
            state.keep(origin, diagnostics=None if self.diagnostics is None else dict(self.diagnostics))

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are set as JSON data."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.refusal is not None:
            data["refusal"] = {each.name: getattr(self.refusal, each.name) for each in fields(self.refusal)}
        data["transformations"], data["sources"] = list(self.transformations), list(self.sources)
        return {name: value for name, value in data.items() if value not in (None, "", [], {})}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReplyState:
        """Restore a state from the data of `to_json`."""
        refusal = as_object(data.get("refusal"))
        return cls(
            container=as_object(data.get("container")) or None,
            continuation_token=as_string(data.get("continuation_token")),
            refusal=RefusalDetails(**{name: as_string(value) for name, value in refusal.items()}) if refusal else None,
            transformations=tuple(as_array(data.get("transformations"))),
            diagnostics=as_object(data.get("diagnostics")) or None,
            sources=tuple(as_object(each) for each in as_array(data.get("sources"))),
            service_tier=as_string(data.get("service_tier")),
            other=as_object(data.get("other")),
        )
