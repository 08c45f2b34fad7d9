"""Rules A31, A32 and A43: Anthropic's requirements on schemas that it guarantees, of answers and of
strict tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import MAX_PATH_NAME, MAX_SCHEMA_DEPTH, get_type_tag, is_json_array, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_TOO_COMPLEX = (
    "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas. "
    "{what}: {count} (limit: {most})."
)


class _GuaranteedSchema(NamedTuple):
    """A guaranteed schema and its path."""

    path: str
    schema: object


@dataclass(slots=True)
class _SchemaTotals:
    """Totals over all schemas of a request, which have limits."""

    tools: int = 0
    optional: int = 0
    unions: int = 0


def find_anthropic_schema_violations(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of the rules about guaranteed schemas, each one and all together."""
    form = as_object(as_object(request.get("output_config")).get("format"))
    if form and subject.facts.schema == "no":
        yield Violation("A31", f"'{subject.model}' does not support output format.", "output_config.format")
    if form and _has_citations(request):
        yield Violation(
            "A43", "output_config.format: structured output is not supported with citations", "output_config"
        )
    places = list(_iter_guaranteed_schemas(request, form))
    count = _SchemaTotals(tools=sum(place.path.startswith("tools.") for place in places))
    for place in places:
        for node in _iter_nodes(place.schema):
            yield from (
                Violation("A31", f"{place.path}: {text}", place.path) for text in _find_schema_faults(node, subject)
            )
            _count_node(node, count)
        if subject.facts.schema_limits.recursion is False and _is_recursive(place.schema):
            yield Violation("A31", f"{place.path}: Circular reference detected in schema definitions", place.path)
    yield from _check_limits(count, subject)


def _iter_guaranteed_schemas(request: dict[str, object], form: dict[str, object]) -> Iterator[_GuaranteedSchema]:
    if get_type_tag(form) == "json_schema":
        yield _GuaranteedSchema("output_config.format.schema", form.get("schema"))
    for index, tool in enumerate(as_array(request.get("tools"))):
        if as_object(tool).get("strict") is True:
            yield _GuaranteedSchema(f"tools.{index}.custom", as_object(tool).get("input_schema"))


def _has_citations(request: dict[str, object]) -> bool:
    """Return whether citations are enabled for a document of the request."""
    return any(
        as_object(as_object(block).get("citations")).get("enabled") is True
        for message in as_array(request.get("messages"))
        for block in as_array(as_object(message).get("content"))
    )


def _iter_nodes(schema: object) -> Iterator[dict[str, object]]:
    """Yield a schema and its inner schemas, without following references."""
    waiting = [(0, schema)]
    while waiting:
        depth, node = waiting.pop()
        if not is_json_dict(node):
            continue
        yield node
        if depth < MAX_SCHEMA_DEPTH:
            waiting.extend((depth + 1, inner) for inner in _iter_inner_schemas(node))


def _iter_inner_schemas(node: dict[str, object]) -> Iterator[object]:
    for key in _SCHEMA_MAPS:
        yield from as_object(node.get(key)).values()
    for key in _SCHEMA_LISTS:
        yield from as_array(node.get(key))
    yield from (node[key] for key in ("items", "additionalProperties", "not") if is_json_dict(node.get(key)))


def _find_schema_faults(node: dict[str, object], subject: CheckSubject) -> Iterator[str]:
    type_ = as_string(node.get("type"))
    facts = subject.facts
    refused = sorted(word for word in node if word in (facts.schema_refuses or ()))
    if node.get("minItems", 0) not in (0, 1) and facts.schema_refuses is not None:
        refused.append("minItems")
    if refused:
        noun, verb = ("property", "is") if len(refused) == 1 else ("properties", "are")
        words = ", ".join(f"'{word}'" for word in refused)
        yield f"For '{type_ or 'any'}' type, {noun} {words} {verb} not supported"
    if facts.schema_formats is not None and "format" in node and node["format"] not in facts.schema_formats:
        yield f"For 'string' type, format '{as_string(node['format'])[:MAX_PATH_NAME]}' is not supported"
    is_an_object = type_ == "object" or "object" in as_array(node.get("type"))
    if is_an_object and facts.schema_limits.closed and node.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"


def _count_node(node: dict[str, object], count: _SchemaTotals) -> None:
    properties = as_object(node.get("properties"))
    required = as_array(node.get("required"))
    count.optional += sum(name not in required for name in properties)
    count.unions += sum(
        is_json_array(as_object(inner).get("anyOf")) or is_json_array(as_object(inner).get("type"))
        for inner in properties.values()
    )


def _check_limits(count: _SchemaTotals, subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of A32: too many optional parameters, strict tools or unions."""
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
    """Return whether a definition refers back to itself, or any reference to the root."""
    root = as_object(schema)
    reached = {
        f"#/{key}/{name}": {as_string(node["$ref"]) for node in _iter_nodes(inner) if "$ref" in node}
        for key in ("$defs", "definitions")
        for name, inner in as_object(root.get(key)).items()
    }
    if any(node.get("$ref") == "#" for node in _iter_nodes(root)):
        return True
    return any(_reaches(name, name, reached) for name in reached)


def _reaches(start: str, goal: str, reached: dict[str, set[str]]) -> bool:
    waiting, seen = list(reached[start]), set[str]()
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        if name in reached and name not in seen:
            seen.add(name)
            waiting.extend(reached[name])
    return False
