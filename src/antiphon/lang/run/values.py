"""Values of a running program. Text, numbers, booleans, null, arrays and objects are Python's own.

str · int, float · bool · None · list · dict · AIResult · Tool, ModelValue · any object of
Python that a `py` block gave.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any, cast

from antiphon._json import decode_unique
from antiphon.lang.run.errors import VibeError
from antiphon.results.plain import Whole
from antiphon.session.result import AIResult

_SCALARS = (str, int, float, bool, type(None))
_DEEPEST = 100


class ErrorValue(dict[str, Any]):
    """What `catch` gives: `message`, `code` and `value`; as text it is its message."""

    __slots__ = ()


class Box:
    """What a variable of a loop is in this round: for all functions that the round makes."""

    __slots__ = ("name", "value")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return repr(self.value)


def own(value: Any) -> Any:
    """A copy that nobody else can change; that of an answer keeps its history."""
    kind = value.__class__
    if kind in _SCALARS:
        return value
    return AIResult(deep_copy(value.value), value.tool_calls, value.run) if kind is AIResult else deep_copy(value)


def deep_copy(value: Any) -> Any:
    """Return a copy that may be changed, to any depth; what is shared inside of it is shared inside of the copy."""
    return _copy(value, {})


def _copy(value: Any, known: dict[int, Any]) -> Any:
    value = value.value if type(value) is AIResult else value
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


def unwrap(value: Any) -> Any:
    """The value of an AI result; anything else is itself."""
    return value.value if type(value) is AIResult else value


def plain(value: Any) -> Any:
    """The value with no AI result in it, at any depth: for Python, JSON and tools."""
    value = value.value if type(value) is AIResult else value
    try:
        if isinstance(value, list):
            return [plain(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in cast(dict[str, Any], value).items()}
    except RecursionError:
        raise VibeError("V0906", "a value that contains itself or is nested too deeply cannot leave here") from None
    return value


def described(value: Any) -> Any:
    """A plain value as an effect is told of it: of what has no JSON form, what it is."""
    if isinstance(value, list):
        return [described(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {str(key): described(item) for key, item in cast(dict[Any, Any], value).items()}
    # Where an object is in memory is another place each time.
    return value if isinstance(value, _SCALARS) else _ADDRESS.sub("", text(value))


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def from_python(value: Any, where: str = "this Python code") -> Any:
    """What Python gave, as a value of the language: tuples and sets are arrays, dataclasses and models are objects."""
    if type(value) in _SCALARS or isinstance(value, AIResult) or is_tool(value):
        return cast(Any, value)
    return _from_python(value, where, 0)


def _from_python(value: Any, where: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise VibeError("V0906", f"{where} gave a value that contains itself or is nested too deeply")
    if isinstance(value, _SCALARS):
        # A subclass of a plain type, an enum's member for instance, is its plain value.
        return value if type(value) in _SCALARS else _plain_scalar(value)
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {_key(key, where): _from_python(item, where, depth + 1) for key, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [_from_python(item, where, depth + 1) for item in cast(list[Any], value)]
    if isinstance(value, Whole):
        # A semantic result is for whoever reads it in the end, with its hints.
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type | AIResult):
        return {f.name: _from_python(getattr(value, f.name), where, depth + 1) for f in dataclasses.fields(value)}
    if callable(dump := getattr(cast(Any, value), "model_dump", None)):
        return _from_python(dump(), where, depth + 1)
    return value


def _plain_scalar(value: Any) -> Any:
    return next(kind(value) for kind in (str, bool, int, float) if isinstance(value, kind))


def _key(key: object, where: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int | float | bool) or key is None:
        return text(key)
    raise VibeError("V0906", f"{where} gave an object with a key that is no text: {key!r:.60}")


def kind_of(value: Any) -> str:
    """The name of a value's type, as the language calls it."""
    value = unwrap(value)
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
    if isinstance(value, Whole):
        return "a result"
    if isinstance(value, FunctionType | MethodType):
        return "a function"
    return "a tool" if is_tool(value) else f"a Python {type(value).__name__}"


def is_tool(value: Any) -> bool:
    """Whether it is a tool of Python's; of no value of the language this needs to be asked."""
    from antiphon.tools import Tool

    return isinstance(value, Tool)


def text(value: Any) -> str:
    """A value as `print` and holes in strings show it."""
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
        return number_text(value)
    if kind is AIResult:
        return text(value.value)
    if kind is ErrorValue:
        return value["message"]
    if isinstance(value, list | dict):
        return json_text(value)
    if isinstance(value, Whole):
        return value.brief
    if is_python(value):
        return python_text(value)
    return f"<{kind_of(value)}>" if not is_tool(value) else f"<tool {value.name}>"


def is_python(value: Any) -> bool:
    """Whether it is an object of Python that is no value of the language, and nothing that is called."""
    kind: type[Any] = value.__class__
    ours = issubclass(kind, (*_SCALARS, list, dict, AIResult, Whole)) or kind.__module__.partition(".")[0] == "antiphon"
    return not ours and not callable(value)


def python_text(value: Any) -> str:
    """An object of Python as Python prints it; its class may be anybody's, and fail at that."""
    try:
        return str(value)
    except Exception:
        return f"<{kind_of(value)}>"


def number_text(value: float) -> str:
    """A float as text: whole ones without a point, as an integer would be."""
    if -1e21 < value < 1e21:
        return str(int(value)) if value.is_integer() else repr(value)
    return (
        repr(value) if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    )


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON; what JSON has no form for is shown as text."""
    import json

    try:
        return json.dumps(for_json(value), ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    except RecursionError:
        raise VibeError("V0906", "a value that contains itself or is nested too deeply has no text") from None


def for_json(value: Any, depth: int = 0) -> Any:
    """What is written as JSON: whole numbers as such, and of what has no form its text."""
    if depth > 10 * _DEEPEST:
        raise RecursionError
    kind = value.__class__
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        whole = math.isfinite(value) and value == int(value) and abs(value) < 1e21
        return int(value) if whole else value if math.isfinite(value) else text(value)
    if kind is AIResult:
        return for_json(value.value, depth)
    if isinstance(value, list):
        return [for_json(item, depth + 1) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {str(key): for_json(item, depth + 1) for key, item in cast(dict[Any, Any], value).items()}
    return value.to_json() if isinstance(value, Whole) else text(value)


def parse_json(source: str) -> Any:
    """`parseJson(text)`. A field that is there twice is an error."""
    try:
        return decode_unique(unwrap(source).removeprefix("\ufeff"))
    except RecursionError:
        raise VibeError("V0910", "this JSON is nested too deeply") from None
    except ValueError as error:
        hint = 'JSON has names and texts in double quotes, `{"a": "b"}`, and no comma behind the last'
        raise VibeError("V0910", f"this is no JSON: {error}", hint) from None
