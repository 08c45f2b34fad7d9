"""G11 and G12: the part of JSON Schema that Gemini's own schema type has.

Only `parameters`, `response` and `responseSchema` are of that type; the fields named `...JsonSchema` take any schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.reading import MAX_NAME, MAX_SCHEMA_DEPTH, is_array, is_object
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_UNKNOWN = frozenset(
    (
        *("$schema", "$id", "$ref", "$defs", "definitions", "const", "not", "if", "then", "else", "oneOf", "allOf"),
        *("additionalProperties", "patternProperties", "propertyNames", "uniqueItems"),
        *("exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    )
)


class _Node(NamedTuple):
    """A schema and the two ways Gemini writes where it is: by position and by name."""

    data: dict[str, object]
    path: str
    named: str
    depth: int


def schema_violations(schema: object, path: str, subject: Subject) -> Iterator[Violation]:
    """Yield what Gemini would reject in a schema found at `path`."""
    waiting = [_Node(obj(schema), path, path, 0)]
    while waiting:
        node = waiting.pop()
        yield from _fields(node)
        yield from _empty_object(node, subject)
        if node.depth < MAX_SCHEMA_DEPTH:
            waiting.extend(reversed(list(_inner(node))))


def _inner(node: _Node) -> Iterator[_Node]:
    data, path, named, depth = node
    for index, (name, inner) in enumerate(obj(data.get("properties")).items()):
        step = f"{named}.properties[{name[:MAX_NAME]}]"
        yield _Node(obj(inner), f"{path}.properties[{index}].value", step, depth + 1)
    for key in ("anyOf", "any_of"):
        for index, inner in enumerate(arr(data.get(key))):
            yield _Node(obj(inner), f"{path}.any_of[{index}]", f"{named}.any_of[{index}]", depth + 1)
    if is_object(data.get("items")):
        yield _Node(obj(data["items"]), f"{path}.items", f"{named}.items", depth + 1)


def _fields(node: _Node) -> Iterator[Violation]:
    """G11."""
    for key in node.data:
        if key in _UNKNOWN:
            yield _unknown(key, node.path, "Cannot find field.")
    if is_array(node.data.get("type")):
        yield _unknown("type", node.path, "Proto field is not repeating, cannot start list.")


def _unknown(key: str, path: str, reason: str) -> Violation:
    text = f"Invalid JSON payload received. Unknown name \"{key}\" at '{path}': {reason}"
    return Violation("G11", text, path)


def _empty_object(node: _Node, subject: Subject) -> Iterator[Violation]:
    # G12. Recordings show that a function whose parameters are an empty object is taken, so the rule is about what is
    # inside. It holds for models before Gemini 3: those whose calls need no signatures.
    if subject.facts.signed_calls is not False or not node.depth:
        return
    if string(node.data.get("type")).upper() == "OBJECT" and not node.data.get("properties"):
        path = f"GenerateContentRequest.{node.named}.properties"
        yield Violation("G12", f"* {path}: should be non-empty for OBJECT type", path)
