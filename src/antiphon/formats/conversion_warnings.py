"""Warnings about content that is lost when a conversation is converted to another format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    OpaquePart,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ToolCall,
)
from antiphon.wire import APIS, Target


def find_conversion_losses(conversation: Conversation, target: Target, rest: dict[str, Any]) -> Iterator[str]:
    """Yield a warning for everything that the target format omits or expresses differently."""
    fields = [name for name, value in rest.items() if value is not None and name != "model"]
    if fields:
        names = ", ".join(f"`{name}`" for name in fields)
        yield f"request: {names}: a history has no place for the other fields of a request; left out"
    for tool in conversation.tools:
        if tool.is_provider_defined and not _is_same_api(tool.native, target):
            yield f"tools: `{tool.name}` is run by its provider, which is another; left out"
    for number, turn in enumerate(conversation.turns, 1):
        results = turn.results if isinstance(turn, AssistantTurn) else ()
        for part in (*turn.parts, *(piece for result in results for piece in result.parts)):
            if reason := _describe_loss(part, target):
                yield f"turn {number}: {reason}"
        if any(result.semantic is not None for result in results):
            yield f"turn {number}: what its results show to people; left out, their text stays"


def _describe_loss(part: object, target: Target) -> str:
    match part:
        case Reasoning(native=None):
            return f"reasoning that nobody signed: {part.text[:40]!r}; left out"
        case Reasoning(native=ProviderPayload(origin=origin)) if (
            origin != target.origin or not APIS[target.api].history.holds_reasoning
        ):
            return f"reasoning that only {origin.model or origin.provider} can read; left out"
        case OpaquePart(native=native) if not _is_same_api(native, target):
            return (
                f"{part.text[:60]!r} stands for a block that only {native.origin.provider or 'its API'} knows"
                if (part.text)
                else f"a block that only {native.origin.provider or 'its API'} knows; left out"
            )
        case ServerCall(native=ProviderPayload() as native) if not _is_same_api(native, target):
            return f"a call of `{part.tool}`, which only {native.origin.provider or 'its provider'} runs; left out"
        case ToolCall(problem=str() as problem):
            return f"call {part.id!r} was never good: {problem}; its arguments stay as they are"
        case _:
            return ""


def _is_same_api(native: ProviderPayload | None, target: Target) -> bool:
    return native is not None and (native.origin.api, native.origin.provider) == (target.api, target.provider)
