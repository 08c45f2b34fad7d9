"""JSON Schemas for structured output, reduced to what a server can check; the rest is checked by the client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from antiphon._shape import arr, obj, string
from antiphon.wire.options import Target

#: What stands before a schema that is told to the embedded model in words.
INSTRUCTION = "Answer with JSON that fits this schema: "
_DEPTH = 50
_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
#: Words that only narrow what another word has said: an answer is checked against them here.
_NARROWING = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("pattern", "format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
        *("contains", "minContains", "maxContains", "propertyNames", "not", "if", "then", "else"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
        *("title", "examples", "default", "deprecated", "readOnly", "writeOnly", "discriminator", "$schema", "$id"),
        *("$comment", "contentEncoding", "contentMediaType"),
    )
)


class _Unfit(Exception):
    """The server has no form for this schema."""


def native_form(schema: Mapping[str, Any], target: Target) -> dict[str, Any] | None:
    """Return the schema as the model's own structured output takes it, or nothing where it takes no such schema."""
    try:
        form = _reduce(dict(schema), target, _DEPTH)
    except _Unfit:
        return None
    limits = target.facts.schema_limits
    nodes = list(_nodes(form))
    if limits.recursion is False and _is_recursive(form):
        return None
    if limits.depth is not None and _depth(form, _definitions(form), ()) > limits.depth:
        return None
    counted = (
        (limits.properties, sum(len(obj(node.get("properties"))) for node in nodes)),
        (limits.optional, sum(map(_count_optional, nodes))),
        (limits.unions, sum(1 for node in nodes if "anyOf" in node or isinstance(node.get("type"), list))),
    )
    return None if any(most is not None and count > most for most, count in counted) else form


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with every object closed to properties it does not name."""
    return _closed(dict(schema), _DEPTH)


def answer_form(schema: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return the schema to send: in the form that the server checks, else with its objects closed."""
    return native_form(schema, target) or closed(schema)


def is_strict(form: Mapping[str, Any], target: Target) -> bool:
    """Return whether a form can be guaranteed: where that is a condition, each object requires all its properties."""
    facts = target.facts
    if native_form(form, target) != form:
        return False
    nodes = list(_nodes(dict(form)))
    if facts.schema_limits.all_required and any(map(_count_optional, nodes)):
        return False
    # A node that says nothing, or a list of anything, has no guaranteed form.
    known = ("type", "$ref", "anyOf", "enum", "const")
    return all(not node.keys().isdisjoint(known) for node in nodes) and all(
        isinstance(node.get("items"), dict) for node in nodes if node.get("type") == "array"
    )


def _reduce(schema: Any, target: Target, depth: int) -> dict[str, Any]:
    """Return a schema and those inside it without the words that the server refuses."""
    if not isinstance(schema, dict) or not depth:
        # `true` and `false` are schemas of JSON Schema, and of no provider.
        raise _Unfit
    data = cast(dict[str, Any], schema)
    if "oneOf" in data and not _takes("oneOf", target):
        data = {("anyOf" if key == "oneOf" else key): value for key, value in data.items()}
    if "const" in data and not _takes("const", target):
        data = {key: value for key, value in data.items() if key != "const"} | {"enum": [data["const"]]}
    if len(arr(data.get("allOf"))) == 1 and not _takes("allOf", target):
        data = obj(data["allOf"][0]) | {key: value for key, value in data.items() if key != "allOf"}
    out: dict[str, Any] = {}
    for key, value in data.items():
        if _is_dropped(key, value, target):
            continue
        if not _takes(key, target):
            raise _Unfit
        out[key] = _reduced_value(key, value, target, depth)
    if "$ref" in out and target.facts.schema_limits.all_required:
        # Beside a reference nothing else is taken.
        out = {key: value for key, value in out.items() if key in ("$ref", "$defs", "definitions")}
    return _with_closed_object(out, target)


def _reduced_value(key: str, value: Any, target: Target, depth: int) -> Any:
    if key in _MAPS:
        return {name: _reduce(inner, target, depth - 1) for name, inner in obj(value).items()}
    if key in _LISTS:
        return [_reduce(inner, target, depth - 1) for inner in arr(value)]
    return _reduce(value, target, depth - 1) if key == "items" else value


def _with_closed_object(node: dict[str, Any], target: Target) -> dict[str, Any]:
    if node.get("type") != "object" and "object" not in arr(node.get("type")):
        return node
    limits = target.facts.schema_limits
    is_open = node.get("additionalProperties") not in (None, False)
    if limits.closed is not None and (is_open or not node.get("properties")):
        # Open objects come back empty from some servers, and are refused by others.
        raise _Unfit
    return node | {"additionalProperties": False} if limits.closed else node


def _takes(word: str, target: Target) -> bool:
    facts = target.facts
    if word in (facts.schema_refuses or ()):
        return False
    return facts.schema_words is None or word in facts.schema_words


def _is_dropped(word: str, value: object, target: Target) -> bool:
    """Return whether a word is left out because it narrows what is checked here anyway."""
    if word == "format" and target.facts.schema_formats is not None:
        return value not in target.facts.schema_formats
    if word == "minItems" and target.facts.schema_words is not None:
        # Where the list of words is closed, only "some or none" is taken.
        return value not in (0, 1) or not _takes(word, target)
    return word in _NARROWING and not _takes(word, target)


def _count_optional(node: dict[str, Any]) -> int:
    return len(obj(node.get("properties")).keys() - set(map(str, arr(node.get("required")))))


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and those inside of it."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        inner: list[object] = [value for key in _MAPS for value in obj(node.get(key)).values()]
        inner += [value for key in _LISTS for value in arr(node.get(key))]
        inner += [node[key] for key in ("items", "additionalProperties") if key in node]
        waiting += [cast(dict[str, Any], value) for value in inner if isinstance(value, dict)]


def _definitions(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    tables = {key: obj(schema.get(key)) for key in ("$defs", "definitions")}
    named = {f"#/{key}/{name}": obj(inner) for key, table in tables.items() for name, inner in table.items()}
    return named | {"#": schema}


def _depth(node: dict[str, Any], named: dict[str, dict[str, Any]], within: tuple[str, ...]) -> int:
    """Return how many objects and lists stand inside each other; a type that holds itself is counted once."""
    if (pointer := string(node.get("$ref"))) in named:
        return 0 if pointer in within else _depth(named[pointer], named, (*within, pointer))
    inner = [*obj(node.get("properties")).values(), *arr(node.get("anyOf")), node.get("items")]
    below = max((_depth(obj(each), named, within) for each in inner if each), default=0)
    return below + (node.get("type") in ("object", "array"))


def _is_recursive(schema: dict[str, Any]) -> bool:
    named = _definitions(schema)
    leads = {name: {string(each.get("$ref")) for each in _nodes(inner)} for name, inner in named.items()}
    leads["#"] = {string(each.get("$ref")) for each in _nodes(schema | {"$defs": {}, "definitions": {}})}
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
