"""JSON Schemas for structured output, in the closed form that providers guarantee answers for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon.wire.shape import arr, obj

#: What stands before a schema that is told to a model in words.
INSTRUCTION = "Answer with JSON that fits this schema: "
_DEPTH = 50


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every object closed to properties it does not name."""
    return _closed(dict(schema), _DEPTH)


def is_strict(schema: object) -> bool:
    """Whether a closed schema also requires every property it names, as OpenAI's strict mode wants."""
    if items := arr(schema):
        return all(is_strict(item) for item in items)
    data = obj(schema)
    if "properties" in data and sorted(obj(data["properties"])) != sorted(map(str, arr(data.get("required")))):
        return False
    return all(is_strict(value) for key, value in data.items() if key not in ("required", "enum", "default"))


def _closed(schema: Any, depth: int) -> Any:
    if items := arr(schema):
        return [_closed(item, depth - 1) for item in items] if depth else items
    data = obj(schema)
    if not depth or not data:
        return schema
    out = {
        key: value if key in ("enum", "default", "const") else _closed(value, depth - 1) for key, value in data.items()
    }
    return out | {"additionalProperties": False} if "properties" in out and out.get("type") == "object" else out
