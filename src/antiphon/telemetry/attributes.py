"""The attributes of spans: effects and replies in the words of OpenTelemetry's GenAI conventions.

The names are those of the repository `open-telemetry/semantic-conventions-genai` in November 2026.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from antiphon.conversation import (
    AssistantTurn,
    File,
    Media,
    Note,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    UserTurn,
)
from antiphon.providers.redaction import SecretRedactor

if TYPE_CHECKING:
    from antiphon.conversation import ToolSpec
    from antiphon.effects.types import AskModel
    from antiphon.wire import Reply, Usage

Attributes = dict[str, str | int | float | bool | Sequence[str]]

#: The conventions' names of providers that have another name here.
_PROVIDER_NAMES = {
    "azure": "azure.ai.openai",
    "azure-responses": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock-invoke": "aws.bedrock",
    "google": "gcp.gemini",
    "google-interactions": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai-chat": "openai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
_OPTION_NAMES = {"max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}


def split_model_name(name: str) -> tuple[str, str]:
    """Return the provider's name in the conventions, and the model's own name."""
    provider, slash, model = name.partition("/")
    return (_PROVIDER_NAMES.get(provider, provider), model) if slash else ("custom", name)


def describe_request(asked: AskModel) -> Attributes:
    """Return the attributes of a model request, without its content."""
    provider, model = split_model_name(asked.model)
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }
    for option, name in _OPTION_NAMES.items():
        if (value := asked.options.get(option)) is not None:
            attributes[f"gen_ai.request.{name}"] = value
    if stop := asked.options.get("stop"):
        attributes["gen_ai.request.stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    if (reasoning := asked.options.get("reasoning")) is not None:
        attributes["gen_ai.request.reasoning.level"] = str(reasoning)
    attributes["gen_ai.output.type"] = "text" if asked.options.get("output_schema") is None else "json"
    return attributes


def describe_reply(reply: Reply, cost: float | None) -> Attributes:
    """Return the attributes of a reply, without its content."""
    attributes: Attributes = {"gen_ai.response.finish_reasons": [reply.stop_reason or reply.stop]}
    if reply.model:
        attributes["gen_ai.response.model"] = reply.model
    if reply.id:
        attributes["gen_ai.response.id"] = reply.id
    if cost is not None:
        attributes["antiphon.cost.usd"] = cost
    return attributes | describe_usage(reply.usage)


def describe_usage(usage: Usage) -> Attributes:
    """Return the attributes of the known token counts."""
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read.input_tokens": usage.cache_read_tokens,
        # The conventions and Anthropic's SDK use different names.
        "cache_creation.input_tokens": usage.cache_write_tokens,
        "cache_write.input_tokens": usage.cache_write_tokens,
        "reasoning.output_tokens": usage.reasoning_tokens,
    }
    return {f"gen_ai.usage.{name}": count for name, count in counts.items() if count is not None}


class ContentEncoder:
    """Encodes messages as JSON texts, without secrets."""

    def __init__(self, redactor: SecretRedactor) -> None:
        self._redactor = redactor

    def encode(self, value: Any) -> str:
        """Return a text as it is, and another value as JSON."""
        return self._redactor.hide(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        )

    def encode_request(self, asked: AskModel) -> Attributes:
        """Return the attributes with the content of a model request."""
        attributes: Attributes = {"gen_ai.input.messages": self.encode(list(_iter_messages(asked.turns)))}
        if asked.system:
            attributes["gen_ai.system_instructions"] = self.encode([{"type": "text", "content": asked.system}])
        if asked.tools:
            attributes["gen_ai.tool.definitions"] = self.encode([_tool_to_json(each) for each in asked.tools])
        return attributes

    def encode_reply(self, reply: Reply) -> Attributes:
        """Return the attributes with the content of a reply."""
        message = {"role": "assistant", "parts": _parts_to_json(reply.parts), "finish_reason": reply.stop_reason}
        return {"gen_ai.output.messages": self.encode([message])}


def _tool_to_json(tool: ToolSpec) -> Mapping[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def _iter_messages(turns: Iterable[Turn]) -> Iterable[Mapping[str, Any]]:
    for turn in turns:
        match turn:
            case UserTurn():
                yield {"role": "user", "parts": _parts_to_json(turn.said)}
            case AssistantTurn():
                yield {"role": "assistant", "parts": _parts_to_json(turn.parts)}
                if turn.results:
                    yield {"role": "tool", "parts": [_result_to_json(each) for each in turn.results]}


def _result_to_json(result: ToolResult) -> Mapping[str, Any]:
    return {"type": "tool_call_response", "id": result.call_id, "response": result.text}


def _parts_to_json(parts: Iterable[object]) -> list[Mapping[str, Any]]:
    return [_part_to_json(part) for part in parts]


def _part_to_json(part: object) -> Mapping[str, Any]:
    match part:
        case Text() | Note():
            return {"type": "text", "content": part.text}
        case Reasoning():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
        case Media(url=url) if url:
            return {"type": "uri", "modality": part.kind, "uri": url}
        case Media():
            # The bytes would make spans that no backend takes.
            return {"type": "blob", "modality": part.kind, "mime_type": part.media_type}
        case File():
            return {"type": "file", "file_id": part.id, "mime_type": part.media_type}
        case _:
            return {"type": type(part).__name__}
