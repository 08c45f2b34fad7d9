"""Violation messages that OpenAI's two APIs share."""

from __future__ import annotations

from antiphon.wire.rules.violation import Violation


def name_json_type(value: object) -> str:
    """Return the name of a value's JSON type as in OpenAI's errors."""
    if value is None:
        return "null"
    for types, words in (
        (bool, "a boolean"),
        (str, "a string"),
        (int, "an integer"),
        (float, "a decimal"),
        (list, "an array"),
    ):
        if isinstance(value, types):
            return words
    return "an object"


def missing_parameter(code: str, path: str) -> Violation:
    """Return the violation for a missing required field."""
    return Violation(code, f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def invalid_type(code: str, path: str, expected: str, value: object) -> Violation:
    """Return the violation for a field of the wrong JSON type."""
    text = f"Invalid type for '{path}': expected {expected}, but got {name_json_type(value)} instead."
    return Violation(code, text, path, "invalid_type")


def empty_array(code: str, path: str) -> Violation:
    """Return the violation for an empty array that must not be empty."""
    text = f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return Violation(code, text, path, "empty_array")


def empty_string(code: str, path: str) -> Violation:
    """Return the violation for an empty string that must not be empty."""
    text = f"Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty string instead."
    return Violation(code, text, path, "empty_string")


def string_too_long(code: str, path: str, most: int, length: int) -> Violation:
    """Return the violation for a string that is too long."""
    text = (
        f"Invalid '{path}': string too long. Expected a string with maximum length {most}, "
        f"but got a string with length {length} instead."
    )
    return Violation(code, text, path, "string_above_max_length")


def invalid_body(code: str) -> Violation:
    """Return the violation for a body that is no JSON object."""
    text = (
        "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, "
        "but what was sent was not a JSON object."
    )
    return Violation(code, text)
