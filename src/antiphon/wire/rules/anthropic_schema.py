"""A31, A32 and A43: what Anthropic demands of the schemas that it guarantees, of answers and of strict tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.reading import MAX_NAME, MAX_SCHEMA_DEPTH, is_array, is_object, kind
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_NAMED = ("properties", "$defs", "definitions")
_LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")
_TOO_COMPLEX = (
    "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas. "
    "{what}: {count} (limit: {most})."
)


class _Place(NamedTuple):
    """A guaranteed schema and where it stands."""

    path: str
    schema: object


@dataclass(slots=True)
class _Count:
    """What the limits of a request are counted over."""

    tools: int = 0
    optional: int = 0
    unions: int = 0


def schema_violations(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield what is wrong with the guaranteed schemas of a request, one by one and together."""
    form = obj(obj(request.get("output_config")).get("format"))
    if form and subject.facts.schema == "no":
        yield Violation("A31", f"'{subject.model}' does not support output format.", "output_config.format")
    if form and _cites(request):
        yield Violation(
            "A43", "output_config.format: structured output is not supported with citations", "output_config"
        )
    places = list(_places(request, form))
    count = _Count(tools=sum(place.path.startswith("tools.") for place in places))
    for place in places:
        for node in _nodes(place.schema):
            yield from (Violation("A31", f"{place.path}: {text}", place.path) for text in _faults(node, subject))
            _add(node, count)
        if subject.facts.schema_limits.recursion is False and _is_recursive(place.schema):
            yield Violation("A31", f"{place.path}: Circular reference detected in schema definitions", place.path)
    yield from _limits(count, subject)


def _places(request: dict[str, object], form: dict[str, object]) -> Iterator[_Place]:
    if kind(form) == "json_schema":
        yield _Place("output_config.format.schema", form.get("schema"))
    for index, tool in enumerate(arr(request.get("tools"))):
        if obj(tool).get("strict") is True:
            yield _Place(f"tools.{index}.custom", obj(tool).get("input_schema"))


def _cites(request: dict[str, object]) -> bool:
    """Return whether a document of the request is to be cited."""
    return any(
        obj(obj(block).get("citations")).get("enabled") is True
        for message in arr(request.get("messages"))
        for block in arr(obj(message).get("content"))
    )


def _nodes(schema: object) -> Iterator[dict[str, object]]:
    """Yield a schema and those inside it, without following references."""
    waiting = [(0, schema)]
    while waiting:
        depth, node = waiting.pop()
        if not is_object(node):
            continue
        yield node
        if depth < MAX_SCHEMA_DEPTH:
            waiting.extend((depth + 1, inner) for inner in _inner(node))


def _inner(node: dict[str, object]) -> Iterator[object]:
    for key in _NAMED:
        yield from obj(node.get(key)).values()
    for key in _LISTED:
        yield from arr(node.get(key))
    yield from (node[key] for key in ("items", "additionalProperties", "not") if is_object(node.get(key)))


def _faults(node: dict[str, object], subject: Subject) -> Iterator[str]:
    type_ = string(node.get("type"))
    facts = subject.facts
    refused = sorted(word for word in node if word in (facts.schema_refuses or ()))
    if node.get("minItems", 0) not in (0, 1) and facts.schema_refuses is not None:
        refused.append("minItems")
    if refused:
        noun, verb = ("property", "is") if len(refused) == 1 else ("properties", "are")
        words = ", ".join(f"'{word}'" for word in refused)
        yield f"For '{type_ or 'any'}' type, {noun} {words} {verb} not supported"
    if facts.schema_formats is not None and "format" in node and node["format"] not in facts.schema_formats:
        yield f"For 'string' type, format '{string(node['format'])[:MAX_NAME]}' is not supported"
    is_an_object = type_ == "object" or "object" in arr(node.get("type"))
    if is_an_object and facts.schema_limits.closed and node.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"


def _add(node: dict[str, object], count: _Count) -> None:
    properties = obj(node.get("properties"))
    required = arr(node.get("required"))
    count.optional += sum(name not in required for name in properties)
    count.unions += sum(
        is_array(obj(inner).get("anyOf")) or is_array(obj(inner).get("type")) for inner in properties.values()
    )


def _limits(count: _Count, subject: Subject) -> Iterator[Violation]:
    """A32."""
    limits = subject.facts.schema_limits
    if limits.optional is not None and count.optional > limits.optional:
        text = (
            f"Schemas contains too many optional parameters ({count.optional}), which would make grammar compilation "
            "inefficient. Reduce the number of optional parameters in your tool schemas (limit: "
            f"{limits.optional})."
        )
        yield Violation("A32", text)
    for what, number, most in (
        ("Strict tools", count.tools, limits.tools),
        ("Parameters with union types", count.unions, limits.unions),
    ):
        if most is not None and number > most:
            yield Violation("A32", _TOO_COMPLEX.format(what=what, count=number, most=most))


def _is_recursive(schema: object) -> bool:
    """Return whether a definition leads back to itself, or a reference to the root."""
    root = obj(schema)
    reached = {
        f"#/{key}/{name}": {string(node["$ref"]) for node in _nodes(inner) if "$ref" in node}
        for key in ("$defs", "definitions")
        for name, inner in obj(root.get(key)).items()
    }
    if any(node.get("$ref") == "#" for node in _nodes(root)):
        return True
    return any(_leads_to(name, name, reached) for name in reached)


def _leads_to(start: str, goal: str, reached: dict[str, set[str]]) -> bool:
    waiting, seen = list(reached[start]), set[str]()
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        if name in reached and name not in seen:
            seen.add(name)
            waiting.extend(reached[name])
    return False
