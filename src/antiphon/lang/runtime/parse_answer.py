"""Parse people's answers as the wanted type."""

from __future__ import annotations

from typing import Any, cast

from antiphon._base.json import decode_json
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.typecheck.type_printer import format_type
from antiphon.lang.typecheck.types import (
    BOOLEAN,
    JSON,
    NUMBER,
    TEXT,
    Array,
    Literal,
    Type,
    Union,
    get_base_type,
    is_nullable,
    union_options,
)

_YES_WORDS = ("y", "yes", "true", "ok", "1")
_NO_WORDS = ("n", "no", "false", "0")


def parse_human_answer(answer: str, wanted: Type) -> tuple[Any, str]:
    """Parse an answer as a type; return the value, and why it does not fit, which is empty if it does."""
    said = answer.strip()
    if wanted == JSON:
        return _parse_json_or_default(said, said), ""
    if get_base_type(wanted) == TEXT and not isinstance(wanted, Literal | Union):
        return answer, ""
    if is_nullable(wanted) and not said:
        return None, ""
    if wanted == BOOLEAN:
        word = said.lower()
        return (word in _YES_WORDS, "") if word in _YES_WORDS + _NO_WORDS else (answer, "yes or no is wanted")
    if wanted == NUMBER:
        return _parse_number(said)
    for option in union_options(wanted):
        if isinstance(option, Literal) and said.lower() == str(option.value).lower():
            return option.value, ""
    return _parse_structured(answer, said, wanted)


def _parse_structured(answer: str, said: str, wanted: Type) -> tuple[Any, str]:
    value: Any = _parse_json_or_default(said, None)
    if isinstance(wanted, Array) and not isinstance(value, list):
        parts = [parse_human_answer(part, wanted.item) for part in said.split(",")] if said else []
        fault = next((fault for _, fault in parts if fault), "")
        return [part.strip() if isinstance(part, str) else part for part, _ in parts], fault
    if value is None or describe_mismatch(value, wanted, ""):
        return answer, f"{describe_wanted_type(wanted)} is wanted"
    return cast(Any, value), ""


def _parse_number(said: str) -> tuple[Any, str]:
    value = _parse_json_or_default(said, None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    return said, "a number is wanted"


def _parse_json_or_default(said: str, otherwise: Any) -> Any:
    try:
        return decode_json(said)
    except (ValueError, RecursionError):
        return otherwise


def describe_wanted_type(wanted: Type) -> str:
    """Return what kind of answer is wanted, in words."""
    if isinstance(wanted, Union):
        return " or ".join(format_type(each) for each in wanted.options)
    return {"number": "a number", "boolean": "yes or no"}.get(format_type(wanted), format_type(wanted))
