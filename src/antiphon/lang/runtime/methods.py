"""Implementations of methods of texts, numbers, arrays, objects and maps; signatures: `typecheck.methods`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.runtime import array_methods
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.members import get_python_attribute, require_integer, resolve_index, slice_value
from antiphon.lang.runtime.operators import is_equal, is_less
from antiphon.lang.runtime.rounding import format_fixed, round_number
from antiphon.lang.runtime.type_conversion import convert_to_type
from antiphon.lang.runtime.values import (
    deep_copy,
    from_python,
    get_kind_name,
    is_python_object,
    to_json_text,
    to_plain_value,
    to_text,
    unwrap_answer,
)
from antiphon.lang.typecheck.calls import format_argument_count
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    BOOLEAN_METHODS,
    NUMBER_METHODS,
    OBJECT_METHODS,
    TEXT_METHODS,
    MethodSignature,
    resolve_signature_type,
)


def _split(value: str, separator: str | None = None) -> list[str]:
    if separator is None:
        return value.split()
    return list(value) if separator == "" else value.split(separator)


def split_lines(value: str) -> list[str]:
    """Split a text into lines, only at line feeds and carriage returns; `str.splitlines` knows more separators."""
    found = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return found if found[-1] else found[:-1]


def _to_number(value: str) -> int | float:
    if "." not in value:
        # A text with a point is no integer; finding that out by an exception would dominate the cost.
        try:
            return int(value)
        except ValueError:
            pass
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        hint = "a number is digits, perhaps with a `-` and a point; for other texts, `try { … } catch error { … }`"
        raise VibeError("V0911", f"{value[:60]!r} is not a number", hint)
    return number


def _repeat(value: str, times: Any) -> str:
    if times.__class__ is int and len(value) * times <= _MAX_TEXT_LENGTH:
        return value * times
    count = require_integer(times, "how often")
    _check_size(count * len(value))
    return value * count


#: In characters.
_MAX_TEXT_LENGTH = 100_000_000


def _check_size(characters: int) -> None:
    if characters > _MAX_TEXT_LENGTH:
        raise VibeError("V0904", "the text would be too long")


def _pad_start(value: str, width: Any, fill: str = " ") -> str:
    if width.__class__ is int and len(fill) == 1 and width <= _MAX_TEXT_LENGTH:
        return value.rjust(width, fill)
    return _make_padding(value, width, fill) + value


def _pad_end(value: str, width: Any, fill: str = " ") -> str:
    if width.__class__ is int and len(fill) == 1 and width <= _MAX_TEXT_LENGTH:
        return value.ljust(width, fill)
    return value + _make_padding(value, width, fill)


def _make_padding(value: str, width: Any, fill: str) -> str:
    lacking = require_integer(width, "the width") - len(value)
    _check_size(lacking)
    return (fill * (lacking // len(fill) + 1))[:lacking] if lacking > 0 and fill else ""


def _floor(value: float) -> Any:
    try:
        return math.floor(value)
    except (OverflowError, ValueError):
        # Infinity and NaN have no integer below them.
        return value


def _ceil(value: float) -> Any:
    try:
        return math.ceil(value)
    except (OverflowError, ValueError):
        return value


def _insert(items: list[Any], index: Any, item: Any) -> None:
    items.insert(max(-len(items), min(require_integer(index, "an index"), len(items))), item)


def _values(fields: dict[str, Any]) -> list[Any]:
    return list(fields.values())


def _entries(fields: dict[str, Any]) -> list[Any]:
    return [{"key": key, "value": value} for key, value in fields.items()]


def _remove(items: list[Any], index: Any) -> Any:
    return items.pop(resolve_index(index, items))


def _sort(items: list[Any], by: str | None = None) -> list[Any]:
    if by is None and array_methods.is_sortable(items):
        return array_methods.sort_scalars(items)
    from functools import cmp_to_key

    def key(item: Any) -> Any:
        value = unwrap_answer(item)
        if by is None:
            return value
        if not isinstance(value, dict) or by not in value:
            raise VibeError("V0907", f"an item has no field `{by}` to sort by")
        return unwrap_answer(cast(dict[str, Any], value)[by])

    def compare(one: Any, two: Any) -> int:
        return -1 if is_less(one, two) else 1 if is_less(two, one) else 0

    if by is not None and array_methods.is_sortable(list(map(key, items))):
        items.sort(key=key)
        return items
    order = cmp_to_key(compare)
    items.sort(key=lambda item: order(key(item)))
    return items


def _reverse(items: list[Any]) -> list[Any]:
    items.reverse()
    return items


def _join(items: list[Any], separator: str = ",") -> str:
    kinds = set(map(type, items))
    return separator.join(items if kinds == {str} else map(str if kinds == {int} else to_text, items))


def _includes(items: list[Any], wanted: Any) -> bool:
    return any(is_equal(item, wanted) for item in items)


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if is_equal(item, wanted)), -1)


def _remove_field(fields: dict[str, Any], name: str) -> Any:
    if name not in fields:
        raise VibeError("V0907", f"the object has no field `{name}`")
    return fields.pop(name)


def _remove_key(values: dict[str, Any], key: str) -> Any:
    if key not in values:
        raise VibeError("V0907", f"the map has no key {to_json_text(key)}", "`has(key)` says whether it is there")
    return values.pop(key)


_SHARED_FUNCTIONS: dict[str, Callable[..., Any]] = {"toString": to_text, "len": len, "copy": deep_copy}
TEXT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_SHARED_FUNCTIONS,
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "split": _split,
    "lines": split_lines,
    "replace": str.replace,
    "includes": str.__contains__,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "indexOf": str.find,
    "slice": slice_value,
    "repeat": _repeat,
    "padStart": _pad_start,
    "padEnd": _pad_end,
    "toNumber": _to_number,
}
NUMBER_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "toString": to_text,
    "round": round_number,
    "floor": _floor,
    "ceil": _ceil,
    "abs": abs,
    "toFixed": format_fixed,
}
ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_SHARED_FUNCTIONS,
    "push": list[Any].append,
    "pop": list[Any].pop,
    "insert": _insert,
    "remove": _remove,
    "sort": _sort,
    "reverse": _reverse,
    "join": _join,
    "slice": slice_value,
    "includes": _includes,
    "indexOf": _index_of,
    **array_methods.TRANSFORM_FUNCTIONS,
}
OBJECT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_SHARED_FUNCTIONS,
    "keys": list,
    "values": _values,
    "entries": _entries,
    "has": dict[str, Any].__contains__,
    "get": dict[str, Any].get,
    "remove": _remove_field,
}
MAP_FUNCTIONS: dict[str, Callable[..., Any]] = {**OBJECT_FUNCTIONS, "remove": _remove_key}
BOOLEAN_FUNCTIONS: dict[str, Callable[..., Any]] = {"toString": to_text}
FUNCTIONS_BY_KIND = {
    "text": TEXT_FUNCTIONS,
    "number": NUMBER_FUNCTIONS,
    "array": ARRAY_FUNCTIONS,
    "object": OBJECT_FUNCTIONS,
    "map": MAP_FUNCTIONS,
    "boolean": BOOLEAN_FUNCTIONS,
    "scalars": array_methods.SCALAR_FUNCTIONS,
}


#: The keys of the table of hints for methods of other languages, by Python class.
_HINT_KINDS = ((str, "text"), (list, "array"), (dict, "object"), (bool, ""), ((int, float), "number"))


def _hint_missing_method(value: Any, name: str, known: dict[str, MethodSignature]) -> str:
    """Return a hint what to write instead of a method that a value does not have."""
    from antiphon.lang.syntax.foreign_syntax.table import METHOD_HINTS

    kind = next((word for type_, word in _HINT_KINDS if isinstance(value, type_)), "")
    habit = METHOD_HINTS.get(kind, {}).get(name) or METHOD_HINTS[""].get(name)
    near = suggest_name(name, known)
    return habit or (f"did you mean `{near}`?" if near else f"there are {', '.join(f'`{each}`' for each in known)}")


def call_method(value: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """Call `value.name(arguments)` on a value of unknown type; only Python methods take named arguments."""
    value = unwrap_answer(value)
    signatures, functions = _get_method_tables(value)
    signature = signatures.get(name)
    if signature is None:
        if value is None:
            raise VibeError("V0907", f"null has no method `{name}`", "`?? …` gives a default, `x?.name` is null then")
        if is_python_object(value) or isinstance(value, type):
            method = get_python_attribute(value, name) if name != "toString" else lambda: to_text(value)
            if not callable(method):
                raise VibeError("V0902", f"`{name}` of {get_kind_name(value)} is not a method", f"write `.{name}`")
            return from_python(method(*map(to_plain_value, arguments), **named), f"`{name}`")
        raise VibeError(
            "V0907", f"{get_kind_name(value)} has no method `{name}`", _hint_missing_method(value, name, signatures)
        )
    if named:
        raise VibeError("V0912", f"`{name}` of {get_kind_name(value)} has no parameter `{next(iter(named))}`")
    if not signature.required <= len(arguments) <= len(signature.parameters):
        expected = format_argument_count(signature.required, len(signature.parameters))
        raise VibeError("V0912", f"`{name}` expects {expected}, got {len(arguments)}")
    given = [
        _require_function(each, name)
        if "=>" in kind
        else each
        if kind in ("T", "U", "json")
        else convert_to_type(each, resolve_signature_type(kind))
        for each, kind in zip(arguments, signature.parameters, strict=False)
    ]
    return functions[name](value, *given)


def _require_function(value: Any, name: str) -> Any:
    if not callable(value):
        raise VibeError("V0902", f"`{name}` needs a function, not {get_kind_name(value)}")
    return value


def _get_method_tables(value: Any) -> tuple[dict[str, MethodSignature], dict[str, Callable[..., Any]]]:
    if isinstance(value, str):
        return TEXT_METHODS, TEXT_FUNCTIONS
    if isinstance(value, list):
        return ARRAY_METHODS, ARRAY_FUNCTIONS
    if isinstance(value, dict):
        return OBJECT_METHODS, OBJECT_FUNCTIONS
    if isinstance(value, bool):
        return BOOLEAN_METHODS, BOOLEAN_FUNCTIONS
    if isinstance(value, int | float):
        return NUMBER_METHODS, NUMBER_FUNCTIONS
    return {}, {}


def get_length(value: Any) -> int:
    """Return `len(value)`."""
    value = unwrap_answer(value)
    if isinstance(value, str | list | dict):
        return len(cast(list[Any], value))
    raise VibeError("V0902", f"{get_kind_name(value)} has no length")
