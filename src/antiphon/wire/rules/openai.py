"""Wordings that OpenAI's two APIs share."""

from __future__ import annotations

from antiphon.wire.rules.violation import Violation


def described(value: object) -> str:
    """Name the JSON type of `value` as OpenAI's errors do."""
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


def missing(code: str, path: str) -> Violation:
    """A required field is not there."""
    return Violation(code, f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def wrong_type(code: str, path: str, expected: str, value: object) -> Violation:
    """A field has another JSON type than it must."""
    text = f"Invalid type for '{path}': expected {expected}, but got {described(value)} instead."
    return Violation(code, text, path, "invalid_type")


def empty_array(code: str, path: str) -> Violation:
    """An array that must hold something is empty."""
    text = f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return Violation(code, text, path, "empty_array")


def empty_string(code: str, path: str) -> Violation:
    """A string that must hold something is empty."""
    text = f"Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty string instead."
    return Violation(code, text, path, "empty_string")


def too_long(code: str, path: str, most: int, length: int) -> Violation:
    """A string is longer than it may be."""
    text = (
        f"Invalid '{path}': string too long. Expected a string with maximum length {most}, "
        f"but got a string with length {length} instead."
    )
    return Violation(code, text, path, "string_above_max_length")


def not_a_body(code: str) -> Violation:
    """The body is no JSON object at all."""
    text = (
        "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, "
        "but what was sent was not a JSON object."
    )
    return Violation(code, text)
