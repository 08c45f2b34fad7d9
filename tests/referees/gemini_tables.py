"""Documented properties of Gemini models and of generateContent; all read on 2026-11-18.

Source keys: G-argon, G-hyd (model guides), G-long (long decode), G-think (thinking), G-sdk (google-genai types),
py (probes of pydantic-ai), ll (litellm's table).
"""

from __future__ import annotations

import re
from typing import Any


def _make(generation: float, levels: tuple[str, ...], budget: tuple[int, int] | None, **more: Any) -> dict[str, Any]:
    base = {"max_output": 65_536, "unstreamed": 65_536, "token": False, "explicit_cache": True}
    return {"generation": generation, "levels": levels, "budget": budget, **base, **more}


_LONG = {"max_output": 1_048_576, "token": True, "explicit_cache": False}
_ANY = (0, 65_536)

MODELS: dict[str, dict[str, Any]] = {
    "gemini-4-argon": _make(4, ("low", "medium", "high"), None, **_LONG),
    "gemini-4-carbon": _make(4, ("low", "medium", "high"), None, **_LONG),
    "gemini-4-hydrogen": _make(4, ("low", "medium", "high", "xhigh"), None, **_LONG),
    "gemini-3.8-flash": _make(3.8, ("low", "medium", "high"), _ANY),
    "gemini-3.7-flash": _make(3.7, ("low", "medium", "high"), _ANY),
    "gemini-3.6-flash": _make(3.6, ("minimal", "low", "medium", "high"), _ANY),
    "gemini-3.5-flash": _make(3.5, ("minimal", "low", "medium", "high"), _ANY),
    "gemini-3.5-flash-lite": _make(3.5, ("minimal", "low", "medium", "high"), _ANY),
    "gemini-3.1-pro-preview": _make(3.1, ("low", "medium", "high"), (1, 65_536)),
    "gemini-3.1-flash-lite": _make(3.1, ("minimal", "low", "medium", "high"), _ANY),
    "gemini-3-flash-preview": _make(3, ("minimal", "low", "medium", "high"), _ANY),
    "gemini-2.5-pro": _make(2.5, (), (128, 32_768)),
    "gemini-2.5-flash": _make(2.5, (), (0, 24_576)),
    "gemini-2.5-flash-lite": _make(2.5, (), (0, 24_576)),
}

FIELDS = {
    "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent",
    "continuationToken", "serviceTier", "labels", "modelArmorConfig", "model", "store",
}  # fmt: skip
BUILT_IN = {
    "googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "fileSearch", "computerUse", "googleMaps",
    "enterpriseWebSearch", "mcpServers", "parallelAiSearch", "exaAiSearch", "retrieval",
}  # fmt: skip
#: py: words that JSON schemas may not hold.
REFUSED_WORDS = {"const", "exclusiveMinimum", "exclusiveMaximum", "$schema", "discriminator", "examples"}
#: G-sdk: the older Schema object.
SCHEMA_WORDS = {
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering",
    "default", "items", "minimum", "maximum",
}  # fmt: skip
DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
MODES = ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")

_SUFFIX = re.compile(r"(-latest|-\d{3}|-preview-\d{2}-\d{2,4}(-\d{2})?)$")


def find_model(name: str) -> tuple[str, dict[str, Any]] | None:
    """Return the canonical name and the properties of a model."""
    short = _SUFFIX.sub("", name)
    return (short, MODELS[short]) if short in MODELS else None
