"""JSON Schema as a type: what fits is what any validator says fits, and what does not is told by its field."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import Session
from antiphon.errors import OptionError
from antiphon.fakes import Fake
from antiphon.session.json_schema import parse_json_schema

_SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "ab", "b1"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
_KINDS = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    listed = st.lists(inner, min_size=1, max_size=2)
    small = st.integers(0, 2)
    words: dict[str, st.SearchStrategy[Any]] = {
        "type": _KINDS | st.lists(_KINDS, min_size=1, max_size=2, unique=True),
        "enum": st.lists(_SCALARS, min_size=1, max_size=3),
        "const": _VALUES,
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
        "additionalProperties": st.booleans() | inner,
        "propertyNames": st.just({"enum": ["a", "b"]}),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "minProperties": small,
        "maxProperties": small,
        "items": inner,
        "prefixItems": listed,
        "contains": inner,
        "minItems": small,
        "maxItems": small,
        "uniqueItems": st.booleans(),
        "minLength": small,
        "maxLength": small,
        "pattern": st.sampled_from(["^a", "b$", r"\d"]),
        "minimum": st.integers(-2, 2),
        "exclusiveMaximum": st.integers(-2, 2),
        "multipleOf": st.sampled_from([2, 0.5]),
        "anyOf": listed,
        "oneOf": listed,
        "allOf": listed,
        "not": inner,
    }
    keys = st.lists(st.sampled_from(sorted(words)), min_size=1, max_size=3, unique=True)
    return keys.flatmap(lambda names: st.fixed_dictionaries({name: words[name] for name in names})) | st.booleans()


def _read(schema: object, value: object) -> tuple[list[Any], list[Any]]:
    """A value by a schema that wants one value, whatever the schema is."""
    wanted = parse_json_schema({"anyOf": [schema]}, "it").wanted()
    return wanted.read({"value": value})


@settings(max_examples=60)
@given(st.recursive(_schemas(st.booleans()), _schemas, max_leaves=4), _VALUES)
def test_what_fits_is_what_a_validator_says_fits(schema: Any, value: Any) -> None:
    found, faults = _read(schema, value)
    assert bool(found) == jsonschema.Draft202012Validator(schema).is_valid(value), faults
    assert found == ([] if faults else [value])


PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Person",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "knows": {"type": "array", "items": {"$ref": "#/$defs/person"}},
        "mood": {"type": ["string", "null"]},
    },
    "required": ["name", "age"],
    "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({"name": "Ada", "age": 36, "more": 1}, []),
        ({"name": "Ada", "age": 36.0, "mood": None}, []),
        ({"name": "Ada"}, [("age", "'age' is missing")]),
        ({"name": "Ada", "age": "36"}, [("age", "'age' expected number, got text: \"36\"")]),
        ({"name": "Ada", "age": True}, [("age", "'age' expected number, got boolean: true")]),
        ({"name": "Ada", "age": -1}, [("age", "'age' expected at least 0, got number: -1")]),
        ({"name": "", "age": 1}, [("name", "'name' expected at least 1 characters, got text: \"\"")]),
        ({"name": "Ada", "age": 1, "knows": [{}]}, [("knows", "'knows.0.name' is missing")]),
        ({"name": "Ada", "age": 1, "mood": 3}, [("mood", "'mood' expected text or null, got number: 3")]),
    ],
)
def test_what_is_wrong_is_told_by_its_field(given: dict[str, Any], faults: list[Any]) -> None:
    wanted = parse_json_schema(PERSON, "person.json").wanted()
    assert wanted.read(given) == ([] if faults else [given], faults)


def test_definitions_and_references_to_the_whole_are_followed() -> None:
    tree = {
        "properties": {"label": {"$ref": "#/definitions/word"}, "inner": {"type": "array", "items": {"$ref": "#"}}},
        "definitions": {"word": {"type": "string"}},
    }
    wanted = parse_json_schema(tree, "tree.json").wanted()
    assert wanted.read({"label": "a", "inner": [{"label": "b"}]})[1] == []
    assert wanted.read({"inner": [{"inner": [{"label": 3}]}]})[1] == [
        ("inner", "'inner.0.inner.0.label' expected text, got number: 3")
    ]
    behind = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"n": {"type": "null"}}}}}
    assert [*parse_json_schema(behind, "a.json").wanted().schema["properties"]] == ["n"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "is no JSON Schema"),
        ({"name": "text"}, "it has no `type`"),
        ({"type": "text"}, "the type 'text'; there are object"),
        ({"type": "object", "if": {}}, "`if`, which is not understood"),
        ({"properties": {"a": {"nullable": True}}}, "#/properties/a has `nullable`"),
        ({"properties": {"a": 3}}, "#/properties/a is no schema"),
        ({"items": {"$ref": "other.json"}}, "refers to 'other.json'"),
        ({"items": {"$ref": "#/$defs/gone"}}, "which is not among its `$defs`"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "nothing but itself"),
        ({"type": "string", "pattern": "("}, "a pattern that cannot be read"),
        ({"type": "string", "minLength": "3"}, "'3' for `minLength`"),
        ({"enum": "a"}, "'a' for `enum`"),
        ({"required": "a"}, "'a' for `required`"),
    ],
)
def test_a_schema_that_cannot_be_kept_is_refused(schema: object, said: str) -> None:
    with pytest.raises(OptionError, match=r"^it.json") as refused:
        parse_json_schema(schema, "it.json")
    assert said in str(refused.value)


_DOUBLING = {f"x{at}": {"anyOf": [{"$ref": f"#/$defs/x{at - 1}"}] * 2} for at in range(1, 40)}
_HALVING = {name: {"oneOf": [each["anyOf"][0], {"not": each["anyOf"][0]}]} for name, each in _DOUBLING.items()}
_LOOP = {
    "$ref": "#/$defs/a",
    "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}] * 2}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
}


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 50_000 + "!", "expected text like ^(a+)+$"),
        ({"type": "string", "pattern": "(a|aa)+$"}, "a" * 50_000 + "!", "expected text like"),
        ({"patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False}, {"a" * 60 + "!": 1}, "there is no"),
        ({"$ref": "#/$defs/x39", "$defs": {"x0": {"type": "string"}, **_DOUBLING}}, 1, "more than 50,000 steps"),
        ({"$ref": "#/$defs/x39", "$defs": {"x0": {"type": "string"}, **_HALVING}}, 1, "more than 50,000 steps"),
        (_LOOP, 1, "more than 50,000 steps"),
        ({"type": "array", "uniqueItems": True}, [[at] for at in range(20_000)] + [[1.0]], "has something in it twice"),
        ({"type": "integer", "multipleOf": 3}, int("9" * 4_000) + 1, "a multiple of 3"),
        ({"type": "number", "multipleOf": 0.5}, 10**400, "a multiple of 0.5"),
    ],
)  # fmt: skip
def test_no_schema_takes_endless_time(schema: Any, value: Any, fault: str) -> None:
    values, faults = parse_json_schema(schema, "it").wanted().read({"value": value})
    assert values == []
    assert fault in faults[0][1]


@pytest.mark.parametrize(
    "pattern", [r"^(?=a)(a+)+$", r"(?!b)(?:a|aa)+$", r"(?=a)((a*)b?)*c", r"(a+)\1+b", r"(?=a)(a{1,9}){2,}b"]
)
def test_a_pattern_that_may_take_endless_time_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match="it may take endless time"):
        parse_json_schema({"type": "string", "pattern": pattern}, "it.json")


def test_lookaround_is_kept() -> None:
    schema = {"type": "string", "pattern": r"^(?!draft)(?=.*\d)[a-z\d]+$"}
    assert _read(schema, "a1") == (["a1"], [])
    assert _read(schema, "draft1")[0] == []


def test_a_schema_in_place_of_field_types_is_a_usage_error() -> None:
    with Fake() as fake:
        session = Session(fake.connect("openai/gpt-5"))
        for schema in ({"type": "object", "properties": {"a": {"type": "string", "pattern": "^a"}}}, {"a": "^a"}):
            with pytest.raises(OptionError, match="`returns` cannot be"):
                session.vibe("Go.", returns=schema)
