"""Rules G11 and G12: the subset of JSON Schema that Gemini's own schema type has.

Only `parameters`, `response` and `responseSchema` have that type. The fields named `...JsonSchema`
take any schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import MAX_PATH_NAME, MAX_SCHEMA_DEPTH, is_json_array, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_UNKNOWN_KEYWORDS = frozenset(
    (
        *("$schema", "$id", "$ref", "$defs", "definitions", "const", "not", "if", "then", "else", "oneOf", "allOf"),
        *("additionalProperties", "patternProperties", "propertyNames", "uniqueItems"),
        *("exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    )
)


class _SchemaNode(NamedTuple):
    """A schema with its location in the two ways that Gemini writes it: by position and by name."""

    data: dict[str, object]
    path: str
    named: str
    depth: int


def find_gemini_schema_violations(schema: object, path: str, subject: CheckSubject) -> Iterator[Violation]:
    """Yield the violations that Gemini would report for a schema at `path`."""
    waiting = [_SchemaNode(as_object(schema), path, path, 0)]
    while waiting:
        node = waiting.pop()
        yield from _check_keywords(node)
        yield from _check_empty_object(node, subject)
        if node.depth < MAX_SCHEMA_DEPTH:
            waiting.extend(reversed(list(_iter_inner_schemas(node))))


def _iter_inner_schemas(node: _SchemaNode) -> Iterator[_SchemaNode]:
    data, path, named, depth = node
    for index, (name, inner) in enumerate(as_object(data.get("properties")).items()):
        step = f"{named}.properties[{name[:MAX_PATH_NAME]}]"
        yield _SchemaNode(as_object(inner), f"{path}.properties[{index}].value", step, depth + 1)
    for key in ("anyOf", "any_of"):
        for index, inner in enumerate(as_array(data.get(key))):
            yield _SchemaNode(as_object(inner), f"{path}.any_of[{index}]", f"{named}.any_of[{index}]", depth + 1)
    if is_json_dict(data.get("items")):
        yield _SchemaNode(as_object(data["items"]), f"{path}.items", f"{named}.items", depth + 1)


def _check_keywords(node: _SchemaNode) -> Iterator[Violation]:
    """Yield violations of G11: unknown keywords and lists of types."""
    for key in node.data:
        if key in _UNKNOWN_KEYWORDS:
            yield _make_unknown_field(key, node.path, "Cannot find field.")
    if is_json_array(node.data.get("type")):
        yield _make_unknown_field("type", node.path, "Proto field is not repeating, cannot start list.")


def _make_unknown_field(key: str, path: str, reason: str) -> Violation:
    text = f"Invalid JSON payload received. Unknown name \"{key}\" at '{path}': {reason}"
    return Violation("G11", text, path)


def _check_empty_object(node: _SchemaNode, subject: CheckSubject) -> Iterator[Violation]:
    # G12. Recordings show that a function whose parameters are an empty object is accepted, so the rule is about
    # inner schemas. It applies to models before Gemini 3: those whose calls need no signatures.
    if subject.facts.signed_calls is not False or not node.depth:
        return
    if as_string(node.data.get("type")).upper() == "OBJECT" and not node.data.get("properties"):
        path = f"GenerateContentRequest.{node.named}.properties"
        yield Violation("G12", f"* {path}: should be non-empty for OBJECT type", path)
