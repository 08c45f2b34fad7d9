"""Validation against the JSON schemas of servers, with bounded work: a schema may be made to take endless time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.patterns import compile_pattern
from antiphon.errors import ContentError

_MAX_SCHEMA_CHARACTERS = 200_000
_MAX_STEPS = 300_000
_MAX_SHOWN = 300


class _TooManySteps(Exception):
    """Raised when a value takes too many steps to check."""


class _StepCounter(threading.local):
    """The steps of the check that this thread makes."""

    left = 0

    def count(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _TooManySteps


_steps = _StepCounter()


class LimitedSchema:
    """A JSON schema of a server. It refers to nothing outside itself."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = dict(schema)
        self._validator: Any = None

    def find_problem(self, value: object) -> str:
        """Return what is wrong with a value, or with the schema itself; empty if the value fits."""
        from jsonschema import SchemaError
        from referencing.exceptions import Unresolvable

        _steps.left = _MAX_STEPS
        try:
            self._validator = self._validator or self._make_validator()
            error = next(iter(self._validator.iter_errors(value)), None)
        except SchemaError as wrong:
            return f"its schema is invalid: {_shorten(str(wrong.message))}"
        except Unresolvable as wrong:
            return f"its schema refers to something outside itself: {_shorten(str(wrong))}"
        except _TooManySteps:
            return f"its schema takes more than {_MAX_STEPS:,} steps to check"
        except (ValueError, TypeError, ContentError, RecursionError) as wrong:
            return f"its schema cannot be used: {_shorten(str(wrong))}"
        if error is None:
            return ""
        place = ".".join(str(each) for each in error.absolute_path)
        return f"{f'`{_shorten(place)}`: ' if place else ''}{_shorten(error.message)}"

    def _make_validator(self) -> Any:
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry

        empty: Any = Registry()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

        if len(dump_json(self.schema)) > _MAX_SCHEMA_CHARACTERS:
            raise ValueError(f"it has more than {_MAX_SCHEMA_CHARACTERS:,} characters")
        limited = _limit_validator(validator_for(self.schema, default=Draft202012Validator))
        limited.check_schema(self.schema)
        # An empty registry retrieves nothing.
        return limited(self.schema, registry=empty)


@cache
def _limit_validator(draft: Any) -> Any:
    """Return a validator class whose keywords count their steps and search patterns in linear time."""
    from jsonschema import validators

    own = {**draft.VALIDATORS, "pattern": _check_pattern}
    if "patternProperties" in own:
        own["patternProperties"] = _check_pattern_properties
    if "additionalProperties" in own:
        own["additionalProperties"] = _check_additional_properties
    for unbounded in ("unevaluatedProperties", "unevaluatedItems"):
        if unbounded in own:
            own[unbounded] = _refuse_keyword
    extend: Any = validators.extend  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return extend(draft, {name: _count_steps(name, check) for name, check in own.items()})


def _count_steps(name: str, check: Any) -> Any:
    def counted(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        size = len(cast("list[Any]", value)) if isinstance(value, list) else 0
        # Unequal items are compared pairwise.
        _steps.count(1 + (size * size // 100 if name == "uniqueItems" else 0))
        yield from check(validator, wanted, value, schema) or ()

    return counted


def _check_pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not compile_pattern(pattern)(value):
        yield ValidationError(f"{value[:60]!r} does not match {pattern!r}")


def _check_pattern_properties(validator: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, inner in patterns.items():
        matches = compile_pattern(pattern)
        for name, each in value.items():
            _steps.count(1)
            if matches(name):
                yield from validator.descend(each, inner, path=name, schema_path=pattern)


def _check_additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not validator.is_type(value, "object"):
        return
    known, patterns = (
        schema.get("properties", {}),
        [compile_pattern(each) for each in schema.get("patternProperties", {})],
    )
    for name, each in value.items():
        _steps.count(1 + len(patterns))
        if name in known or any(matches(name) for matches in patterns):
            continue
        if wanted is False:
            yield ValidationError(f"there is no field {name[:60]!r}")
        elif isinstance(wanted, dict):
            yield from validator.descend(each, wanted, path=name)


def _refuse_keyword(_validator: Any, _wanted: Any, _value: Any, _schema: Any) -> Iterator[Any]:
    raise ValueError("it uses `unevaluatedProperties` or `unevaluatedItems`, which are not supported here")


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"
