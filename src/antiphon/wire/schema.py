"""JSON Schemas for structured output, reduced to keywords that a server checks. The client checks the
remainder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.options import Target

#: Text before a schema that is given to the local model in its prompt.
SCHEMA_INSTRUCTION = "Answer with JSON that fits this schema: "
_MAX_DEPTH = 50
_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
#: Keywords that only narrow another keyword. The client checks answers against them.
_CLIENT_CHECKED_KEYWORDS = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("pattern", "format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
        *("contains", "minContains", "maxContains", "propertyNames", "not", "if", "then", "else"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
        *("title", "examples", "default", "deprecated", "readOnly", "writeOnly", "discriminator", "$schema", "$id"),
        *("$comment", "contentEncoding", "contentMediaType"),
    )
)


class _UnsupportedSchema(Exception):
    """Raised if the server has no form for a schema."""


def reduce_schema(schema: Mapping[str, Any], target: Target) -> dict[str, Any] | None:
    """Return the schema in the form of the model's structured output, or None if it cannot express it."""
    try:
        form = _reduce_node(dict(schema), target, _MAX_DEPTH)
    except _UnsupportedSchema:
        return None
    limits = target.facts.schema_limits
    nodes = list(_iter_nodes(form))
    if limits.recursion is False and _is_recursive(form):
        return None
    if limits.depth is not None and _measure_depth(form, _collect_definitions(form), ()) > limits.depth:
        return None
    counted = (
        (limits.properties, sum(len(as_object(node.get("properties"))) for node in nodes)),
        (limits.optional, sum(map(_count_optional_properties, nodes))),
        (limits.unions, sum(1 for node in nodes if "anyOf" in node or isinstance(node.get("type"), list))),
    )
    return None if any(most is not None and count > most for most, count in counted) else form


def close_objects(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with every object closed to properties it does not name."""
    return _close_node(dict(schema), _MAX_DEPTH)


def prepare_output_schema(schema: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return the schema to send: reduced to what the server checks, else with its objects closed."""
    return reduce_schema(schema, target) or close_objects(schema)


def is_strict_schema(form: Mapping[str, Any], target: Target) -> bool:
    """Return whether the server can guarantee a schema. Some require every property of each object."""
    facts = target.facts
    if reduce_schema(form, target) != form:
        return False
    nodes = list(_iter_nodes(dict(form)))
    if facts.schema_limits.all_required and any(map(_count_optional_properties, nodes)):
        return False
    # An empty schema, or a list without an item schema, cannot be guaranteed.
    known = ("type", "$ref", "anyOf", "enum", "const")
    return all(not node.keys().isdisjoint(known) for node in nodes) and all(
        isinstance(node.get("items"), dict) for node in nodes if node.get("type") == "array"
    )


def _reduce_node(schema: Any, target: Target, depth: int) -> dict[str, Any]:
    """Return a schema and its inner schemas without the keywords that the server rejects."""
    if not isinstance(schema, dict) or not depth:
        # No provider accepts `true` and `false` as schemas.
        raise _UnsupportedSchema
    data = cast(dict[str, Any], schema)
    if "oneOf" in data and not _accepts_keyword("oneOf", target):
        data = {("anyOf" if key == "oneOf" else key): value for key, value in data.items()}
    if "const" in data and not _accepts_keyword("const", target):
        data = {key: value for key, value in data.items() if key != "const"} | {"enum": [data["const"]]}
    if len(as_array(data.get("allOf"))) == 1 and not _accepts_keyword("allOf", target):
        data = as_object(data["allOf"][0]) | {key: value for key, value in data.items() if key != "allOf"}
    out: dict[str, Any] = {}
    for key, value in data.items():
        if _is_droppable(key, value, target):
            continue
        if not _accepts_keyword(key, target):
            raise _UnsupportedSchema
        out[key] = _reduce_value(key, value, target, depth)
    if "$ref" in out and target.facts.schema_limits.all_required:
        # A reference may have no sibling keywords.
        out = {key: value for key, value in out.items() if key in ("$ref", "$defs", "definitions")}
    return _close_object(out, target)


def _reduce_value(key: str, value: Any, target: Target, depth: int) -> Any:
    if key in _SCHEMA_MAPS:
        return {name: _reduce_node(inner, target, depth - 1) for name, inner in as_object(value).items()}
    if key in _SCHEMA_LISTS:
        return [_reduce_node(inner, target, depth - 1) for inner in as_array(value)]
    return _reduce_node(value, target, depth - 1) if key == "items" else value


def _close_object(node: dict[str, Any], target: Target) -> dict[str, Any]:
    if node.get("type") != "object" and "object" not in as_array(node.get("type")):
        return node
    limits = target.facts.schema_limits
    is_open = node.get("additionalProperties") not in (None, False)
    if limits.closed is not None and (is_open or not node.get("properties")):
        # Some servers return open objects empty, others reject them.
        raise _UnsupportedSchema
    return node | {"additionalProperties": False} if limits.closed else node


def _accepts_keyword(word: str, target: Target) -> bool:
    facts = target.facts
    if word in (facts.schema_refuses or ()):
        return False
    return facts.schema_words is None or word in facts.schema_words


def _is_droppable(word: str, value: object, target: Target) -> bool:
    """Return whether a keyword can be dropped because the client checks it anyway."""
    if word == "format" and target.facts.schema_formats is not None:
        return value not in target.facts.schema_formats
    if word == "minItems" and target.facts.schema_words is not None:
        # If the set of keywords is closed, only 0 and 1 are accepted.
        return value not in (0, 1) or not _accepts_keyword(word, target)
    return word in _CLIENT_CHECKED_KEYWORDS and not _accepts_keyword(word, target)


def _count_optional_properties(node: dict[str, Any]) -> int:
    return len(as_object(node.get("properties")).keys() - set(map(str, as_array(node.get("required")))))


def _iter_nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and its inner schemas."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        inner: list[object] = [value for key in _SCHEMA_MAPS for value in as_object(node.get(key)).values()]
        inner += [value for key in _SCHEMA_LISTS for value in as_array(node.get(key))]
        inner += [node[key] for key in ("items", "additionalProperties") if key in node]
        waiting += [cast(dict[str, Any], value) for value in inner if isinstance(value, dict)]


def _collect_definitions(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    tables = {key: as_object(schema.get(key)) for key in ("$defs", "definitions")}
    named = {f"#/{key}/{name}": as_object(inner) for key, table in tables.items() for name, inner in table.items()}
    return named | {"#": schema}


def _measure_depth(node: dict[str, Any], named: dict[str, dict[str, Any]], within: tuple[str, ...]) -> int:
    """Return the nesting depth of objects and lists. A recursive type is counted once."""
    if (pointer := as_string(node.get("$ref"))) in named:
        return 0 if pointer in within else _measure_depth(named[pointer], named, (*within, pointer))
    inner = [*as_object(node.get("properties")).values(), *as_array(node.get("anyOf")), node.get("items")]
    below = max((_measure_depth(as_object(each), named, within) for each in inner if each), default=0)
    return below + (node.get("type") in ("object", "array"))


def _is_recursive(schema: dict[str, Any]) -> bool:
    named = _collect_definitions(schema)
    leads = {name: {as_string(each.get("$ref")) for each in _iter_nodes(inner)} for name, inner in named.items()}
    leads["#"] = {as_string(each.get("$ref")) for each in _iter_nodes(schema | {"$defs": {}, "definitions": {}})}
    return any(name in _find_reachable(name, leads) for name in leads)


def _find_reachable(start: str, leads: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(leads[start])
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting += leads.get(name, ())
    return seen


def _close_node(schema: Any, depth: int) -> Any:
    if items := as_array(schema):
        return [_close_node(item, depth - 1) for item in items] if depth else items
    data = as_object(schema)
    if not depth or not data:
        return schema
    out = {
        key: value if key in ("enum", "default", "const") else _close_node(value, depth - 1)
        for key, value in data.items()
    }
    return out | {"additionalProperties": False} if "properties" in out and out.get("type") == "object" else out
