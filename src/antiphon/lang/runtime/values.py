"""Values of a running program. Texts, numbers, booleans, null, arrays and objects are Python's own.

str · int, float · bool · None · list · dict · AIResult · Tool, ModelValue · any Python object from a `py`
block.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any, cast

from antiphon._base.json import decode_unique_json
from antiphon.lang.runtime.errors import VibeError
from antiphon.results.plain_json import NestableResult
from antiphon.session.result import AIResult, unwrap_value

_SCALARS = (str, int, float, bool, type(None))
_MAX_DEPTH = 100


class ErrorValue(dict[str, Any]):
    """The value that `catch` gives: `message`, `code` and `value`; as text it is its message."""

    __slots__ = ()


class VariableCell:
    """The value of a loop variable in one iteration, shared by all closures made there."""

    __slots__ = ("name", "value")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return repr(self.value)


def copy_value(value: Any) -> Any:
    """Return a deep copy; the copy of an AI result keeps its tool calls and run."""
    kind = value.__class__
    if kind in _SCALARS:
        return value
    return (
        AIResult(deep_copy(value.value), value.tool_calls, value.run)
        if issubclass(kind, AIResult)
        else deep_copy(value)
    )


def deep_copy(value: Any) -> Any:
    """Return a mutable deep copy, without AI results."""
    return _copy(value, {})


def _copy(value: Any, known: dict[int, Any]) -> Any:
    value = unwrap_value(value)
    if not isinstance(value, list | dict):
        return value
    given = cast("list[Any] | dict[str, Any]", value)
    if (copy := known.get(id(given))) is not None:
        return copy
    if isinstance(given, list):
        items: list[Any] = []
        known[id(given)] = items
        items.extend(_copy(item, known) for item in given)
        return items
    fields: dict[str, Any] = ErrorValue() if type(given) is ErrorValue else {}
    known[id(given)] = fields
    fields.update((key, _copy(item, known)) for key, item in given.items())
    return fields


def unwrap_answer(value: Any) -> Any:
    """Return the value of an AI result; any other value as it is."""
    return unwrap_value(value)


def to_plain_value(value: Any) -> Any:
    """Return a value without AI results at any depth, for Python, JSON and tools."""
    value = unwrap_value(value)
    try:
        if isinstance(value, list):
            return [to_plain_value(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {key: to_plain_value(item) for key, item in cast(dict[str, Any], value).items()}
    except RecursionError:
        raise VibeError("V0906", "a value that contains itself or is nested too deeply cannot be passed on") from None
    return value


def describe_for_effect(value: Any) -> Any:
    """Return a plain value as an effect records it: objects without a JSON form become text."""
    if isinstance(value, list):
        return [describe_for_effect(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {str(key): describe_for_effect(item) for key, item in cast(dict[Any, Any], value).items()}
    # Memory addresses differ in each run.
    return value if isinstance(value, _SCALARS) else _ADDRESS.sub("", to_text(value))


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def from_python(value: Any, where: str = "this Python code") -> Any:
    """Convert a Python value to the language: tuples and sets to arrays, dataclasses and models to objects."""
    if type(value) in _SCALARS or isinstance(value, AIResult) or is_tool(value):
        return cast(Any, value)
    return _from_python(value, where, 0)


def _from_python(value: Any, where: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise VibeError("V0906", f"{where} gave a value that contains itself or is nested too deeply")
    if isinstance(value, _SCALARS):
        # An instance of a subclass, such as an enum member, becomes its plain value.
        return value if type(value) in _SCALARS else _to_plain_scalar(value)
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {_convert_key(key, where): _from_python(item, where, depth + 1) for key, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [_from_python(item, where, depth + 1) for item in cast(list[Any], value)]
    if isinstance(value, NestableResult):
        # Semantic results keep their display hints for the final reader.
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type | AIResult):
        return {f.name: _from_python(getattr(value, f.name), where, depth + 1) for f in dataclasses.fields(value)}
    if callable(dump := getattr(cast(Any, value), "model_dump", None)):
        return _from_python(dump(), where, depth + 1)
    return value


def _to_plain_scalar(value: Any) -> Any:
    return next(kind(value) for kind in (str, bool, int, float) if isinstance(value, kind))


def _convert_key(key: object, where: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int | float | bool) or key is None:
        return to_text(key)
    raise VibeError("V0906", f"{where} gave an object with a key that is not text: {key!r:.60}")


def get_kind_name(value: Any) -> str:
    """Return the name of a value's type in the language."""
    value = unwrap_answer(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, NestableResult):
        return "a result"
    if isinstance(value, FunctionType | MethodType):
        return "a function"
    return "a tool" if is_tool(value) else f"a Python {type(value).__name__}"


def is_tool(value: Any) -> bool:
    """Return True if a value is a Python tool."""
    from antiphon.tools import Tool

    return isinstance(value, Tool)


def to_text(value: Any) -> str:
    """Return a value as text, as `print` and interpolations show it."""
    kind = value.__class__
    if kind is str:
        return value
    if kind is int:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if kind is float:
        return format_float(value)
    if issubclass(kind, AIResult):
        return to_text(value.value)
    if kind is ErrorValue:
        return value["message"]
    if isinstance(value, list | dict):
        return to_json_text(value)
    if isinstance(value, NestableResult):
        return value.placeholder_text
    if is_python_object(value):
        return format_python_object(value)
    return f"<{get_kind_name(value)}>" if not is_tool(value) else f"<tool {value.name}>"


def is_python_object(value: Any) -> bool:
    """Return True for a Python object that is no value of the language, and not callable."""
    kind: type[Any] = value.__class__
    ours = (
        issubclass(kind, (*_SCALARS, list, dict, AIResult, NestableResult))
        or kind.__module__.partition(".")[0] == "antiphon"
    )
    return not ours and not callable(value)


def format_python_object(value: Any) -> str:
    """Return a Python object as Python prints it, or its type name if its class fails to format it."""
    try:
        return str(value)
    except Exception:
        return f"<{get_kind_name(value)}>"


def format_float(value: float) -> str:
    """Format a float; one with an integer value has no decimal point."""
    if -1e21 < value < 1e21:
        return str(int(value)) if value.is_integer() else repr(value)
    return (
        repr(value) if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    )


def to_json_text(value: Any, indent: int | None = None) -> str:
    """Serialize a value as JSON; values without a JSON form become text."""
    import json

    try:
        return json.dumps(
            to_json_value(value), ensure_ascii=False, indent=indent, separators=None if indent else (",", ":")
        )
    except RecursionError:
        raise VibeError(
            "V0906", "a value that contains itself or is nested too deeply cannot be converted to text"
        ) from None


def to_json_value(value: Any, depth: int = 0) -> Any:
    """Return a value ready for JSON: floats with integer values as integers, values without a form as text."""
    if depth > 10 * _MAX_DEPTH:
        raise RecursionError
    kind = value.__class__
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        whole = math.isfinite(value) and value == int(value) and abs(value) < 1e21
        return int(value) if whole else value if math.isfinite(value) else to_text(value)
    if issubclass(kind, AIResult):
        return to_json_value(value.value, depth)
    if isinstance(value, list):
        return [to_json_value(item, depth + 1) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {str(key): to_json_value(item, depth + 1) for key, item in cast(dict[Any, Any], value).items()}
    return value.to_json() if isinstance(value, NestableResult) else to_text(value)


def parse_json(source: str) -> Any:
    """Implement `parseJson(text)`; duplicate fields are an error."""
    try:
        return decode_unique_json(unwrap_answer(source).removeprefix("\ufeff"))
    except RecursionError:
        raise VibeError("V0910", "this JSON is nested too deeply") from None
    except ValueError as error:
        hint = 'JSON has names and texts in double quotes, `{"a": "b"}`, and no comma behind the last'
        raise VibeError("V0910", f"this is not JSON: {error}", hint) from None
