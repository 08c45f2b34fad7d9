"""Documented properties of OpenAI's models and APIs; all read on 2026-11-18.

Source keys: O-sol, O-models, O-latest, O-cache, O-pres, O-async (OpenAI's pages), O-w3 (a dated translation of them),
O-sdk (openai SDK types), py (probes of pydantic-ai), ai (tables of the AI SDK).
"""

from __future__ import annotations

import re
from typing import Any

_UP = ("low", "medium", "high", "xhigh", "max")


def _make(
    efforts: tuple[str, ...], default: str, generation: float, chat_tools: str = "yes", max_output: int = 128_000
) -> dict[str, Any]:
    return {
        "efforts": efforts,
        "default": default,
        "generation": generation,
        "chat_tools": chat_tools,
        "max_output": max_output,
    }


MODELS: dict[str, dict[str, Any]] = {
    # py, O-w3: neither none nor minimal; Chat Completions only without tools.
    "gpt-6-astra": _make(_UP, "medium", 6.0, "never"),
    "gpt-6.1-sol": _make(_UP, "medium", 6.1, "never"),
    # O-latest, O-sol, py: none is accepted; Chat Completions takes tools only with it.
    "gpt-6.1-terra": _make(("none", *_UP), "medium", 6.1, "none_only"),
    "gpt-6-sol": _make(("none", *_UP), "medium", 6.0, "none_only"),
    "gpt-6-luna": _make(("none", *_UP), "medium", 6.0, "none_only"),
    "gpt-5.6": _make(("none", *_UP), "medium", 5.6, "none_only"),
    "gpt-5.6-sol": _make(("none", *_UP), "medium", 5.6, "none_only"),
    "gpt-5.6-terra": _make(("none", *_UP), "medium", 5.6, "none_only"),
    "gpt-5.6-luna": _make(("none", *_UP), "medium", 5.6, "none_only"),
    # py: max is refused below 5.6.
    "gpt-5.5": _make(("none", "low", "medium", "high", "xhigh"), "medium", 5.5),
    "gpt-5.5-pro": _make(("medium", "high", "xhigh"), "medium", 5.5, "never"),
    "gpt-5.4-pro": _make(("medium", "high", "xhigh"), "medium", 5.4, "never"),
    "gpt-5.2-pro": _make(("medium", "high", "xhigh"), "medium", 5.2, "never"),
    "gpt-5.4": _make(("none", "low", "medium", "high", "xhigh"), "none", 5.4),
    "gpt-5.4-mini": _make(("none", "low", "medium", "high", "xhigh"), "none", 5.4),
    "gpt-5.4-nano": _make(("none", "low", "medium", "high", "xhigh"), "none", 5.4),
    "gpt-5.3-codex": _make(("none", "low", "medium", "high", "xhigh"), "none", 5.3),
    "gpt-5.2": _make(("none", "low", "medium", "high", "xhigh"), "none", 5.2),
    "gpt-5.1": _make(("none", "low", "medium", "high"), "none", 5.1),
    "gpt-5": _make(("minimal", "low", "medium", "high"), "medium", 5.0),
    "gpt-5-mini": _make(("minimal", "low", "medium", "high"), "medium", 5.0),
    "gpt-5-nano": _make(("minimal", "low", "medium", "high"), "medium", 5.0),
    "gpt-5-pro": _make(("high",), "high", 5.0, "never"),
    "o3": _make(("low", "medium", "high"), "medium", 3.0, max_output=100_000),
    "gpt-4.1": _make((), "", 4.1, max_output=32_768),
    "gpt-4.1-mini": _make((), "", 4.1, max_output=32_768),
    "gpt-4o": _make((), "", 4.0, max_output=16_384),
    "gpt-4o-mini": _make((), "", 4.0, max_output=16_384),
}

# O-sdk: the fields of both bodies.
RESPONSES_FIELDS = {
    "access_programs", "background", "context_management", "conversation", "image", "include", "input", "instructions",
    "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls",
    "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
    "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice",
    "tools", "top_logprobs", "top_p", "truncation", "user",
}  # fmt: skip
CHAT_FIELDS = {
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls", "prediction",
    "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort",
    "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options",
    "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
}  # fmt: skip
SAMPLING = ("temperature", "top_p", "top_logprobs", "logprobs", "presence_penalty", "frequency_penalty", "logit_bias")

# py (profiles of OpenAI): words that strict schemas refuse, and formats that they take.
REFUSED_WORDS = {
    "minLength", "maxLength", "patternProperties", "unevaluatedProperties", "propertyNames", "minProperties",
    "maxProperties", "unevaluatedItems", "contains", "minContains", "maxContains", "uniqueItems", "oneOf", "allOf",
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
}  # fmt: skip
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def find_model(name: object) -> tuple[str, dict[str, Any]] | None:
    """Return the canonical name and the properties of a model; a date is dropped."""
    short = _DATE.sub("", str(name))
    return (short, MODELS[short]) if short in MODELS else None
