"""What a provider says beside an answer: state to send back, and details that no part of the answer holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from antiphon._shape import arr, obj, string
from antiphon.conversation import Origin, ProviderState


@dataclass(frozen=True, slots=True)
class RefusalDetails:
    """Why a model or a filter declined to answer, as far as the provider says."""

    category: str = ""
    explanation: str = ""
    recommended_model: str = ""


@dataclass(frozen=True, slots=True)
class ReplyState:
    """What came with a reply besides its parts.

    `container` is where the provider's tools keep files, `continuation_token` how an unfinished answer goes on.
    `transformations` are changes that the provider made to the request, `diagnostics` what it says about its cache.
    `sources` are the grounding and citation records, one for each step of an answer that came in several. `other` holds
    the fields that this release does not know.
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
        """Return this state with that of the next step of the same answer, which wins where both speak."""
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

    def keep_in(self, state: ProviderState, origin: Origin) -> None:
        """Keep what later requests of the conversation need with the conversation."""
        if self.container is not None:
            state.keep(origin, container=dict(self.container))
        if self.transformations or "transformations" in state.of(origin):
            state.keep(origin, transformations=list(self.transformations) or None)
        if self.diagnostics is not None or "diagnostics" in state.of(origin):
            state.keep(origin, diagnostics=None if self.diagnostics is None else dict(self.diagnostics))

    def to_json(self) -> dict[str, Any]:
        """Return what is set as JSON data."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.refusal is not None:
            data["refusal"] = {each.name: getattr(self.refusal, each.name) for each in fields(self.refusal)}
        data["transformations"], data["sources"] = list(self.transformations), list(self.sources)
        return {name: value for name, value in data.items() if value not in (None, "", [], {})}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReplyState:
        """Read what `to_json` made."""
        refusal = obj(data.get("refusal"))
        return cls(
            container=obj(data.get("container")) or None,
            continuation_token=string(data.get("continuation_token")),
            refusal=RefusalDetails(**{name: string(value) for name, value in refusal.items()}) if refusal else None,
            transformations=tuple(arr(data.get("transformations"))),
            diagnostics=obj(data.get("diagnostics")) or None,
            sources=tuple(obj(each) for each in arr(data.get("sources"))),
            service_tier=string(data.get("service_tier")),
            other=obj(data.get("other")),
        )
