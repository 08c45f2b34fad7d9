"""JSON Schemas for structured output, in the closed form that providers guarantee answers for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from antiphon._shape import arr, obj, string

#: What stands before a schema that is told to a model in words.
INSTRUCTION = "Answer with JSON that fits this schema: "
_DEPTH = 50
_MAPS = ("properties", "$defs")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_COMMON = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs"),
        *("title", "description", "format", "default"),
    )
)
#: The words of JSON Schema that the documentation of structured answers has.
_WORDS = {
    "anthropic": _COMMON | {"const", "allOf"},
    "gemini": _COMMON | {"const", "oneOf", "prefixItems", "minItems", "maxItems", "minimum", "maximum"},
}


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every object closed to properties it does not name."""
    return _closed(dict(schema), _DEPTH)


def strict_fits(schema: Mapping[str, Any], api: str) -> bool:
    """Whether an API guarantees answers of this schema, in its closed form: nothing in it is refused, or ignored."""
    form = closed(schema)
    if api in ("openai-chat", "openai-responses"):
        # With it come all the rules, which few programs need.
        from antiphon.wire.rules.strict_schema import schema_faults

        return not any(schema_faults(form, strict=True))
    words = _WORDS[api]
    nodes = list(_nodes(form))
    known = all(words.issuperset(node) for node in nodes)
    if not known or _is_recursive(form):
        # Gemini takes recursion only in fields that may be left out, and not to any depth.
        return False
    if api == "gemini":
        return True
    is_closed = all(node.get("additionalProperties") is False for node in nodes if node.get("type") == "object")
    return is_closed and all(isinstance(node, dict) and node for node in nodes)


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and those inside of it."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        inner: list[object] = [value for key in _MAPS for value in obj(node.get(key)).values()]
        inner += [value for key in _LISTS for value in arr(node.get(key))]
        inner += [node[key] for key in ("items", "additionalProperties") if key in node]
        waiting += [cast(dict[str, Any], value) for value in inner if isinstance(value, dict)]


def _is_recursive(schema: dict[str, Any]) -> bool:
    named = {f"#/$defs/{name}": obj(inner) for name, inner in obj(schema.get("$defs")).items()} | {"#": schema}
    leads = {name: {string(each.get("$ref")) for each in _nodes(inner)} for name, inner in named.items()}
    leads["#"] = {string(each.get("$ref")) for each in _nodes(schema | {"$defs": {}})}
    return any(name in _reached(name, leads) for name in leads)


def _reached(start: str, leads: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(leads[start])
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting += leads.get(name, ())
    return seen


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
