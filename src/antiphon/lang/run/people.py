"""Answers of people, read as the type that is wanted."""

from __future__ import annotations

from typing import Any, cast

from antiphon._json import decode
from antiphon.lang.check.notation import show
from antiphon.lang.check.types import (
    BOOLEAN,
    JSON,
    NUMBER,
    TEXT,
    Array,
    Literal,
    Type,
    Union,
    base,
    may_be_null,
    options_of,
)
from antiphon.lang.run.fitting import misfit

_YES = ("y", "yes", "true", "ok", "1")
_NO = ("n", "no", "false", "0")


def read_answer(answer: str, wanted: Type) -> tuple[Any, str]:
    """The value an answer says, and why it does not fit; nothing if it does."""
    said = answer.strip()
    if wanted == JSON:
        return _json(said, said), ""
    if base(wanted) == TEXT and not isinstance(wanted, Literal | Union):
        return answer, ""
    if may_be_null(wanted) and not said:
        return None, ""
    if wanted == BOOLEAN:
        word = said.lower()
        return (word in _YES, "") if word in _YES + _NO else (answer, "yes or no is wanted")
    if wanted == NUMBER:
        return _number(said)
    for option in options_of(wanted):
        if isinstance(option, Literal) and said.lower() == str(option.value).lower():
            return option.value, ""
    return _structured(answer, said, wanted)


def _structured(answer: str, said: str, wanted: Type) -> tuple[Any, str]:
    value: Any = _json(said, None)
    if isinstance(wanted, Array) and not isinstance(value, list):
        parts = [read_answer(part, wanted.item) for part in said.split(",")] if said else []
        fault = next((fault for _, fault in parts if fault), "")
        return [part.strip() if isinstance(part, str) else part for part, _ in parts], fault
    if value is None or misfit(value, wanted, ""):
        return answer, f"{wanted_words(wanted)} is wanted"
    return cast(Any, value), ""


def _number(said: str) -> tuple[Any, str]:
    value = _json(said, None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    return said, "a number is wanted"


def _json(said: str, otherwise: Any) -> Any:
    try:
        return decode(said)
    except (ValueError, RecursionError):
        return otherwise


def wanted_words(wanted: Type) -> str:
    """What is wanted, in words."""
    if isinstance(wanted, Union):
        return " or ".join(show(each) for each in wanted.options)
    return {"number": "a number", "boolean": "yes or no"}.get(show(wanted), show(wanted))
