"""What the methods of text, numbers, arrays and objects do. Their signatures are in `methods`."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any, cast

from antiphon._suggestions import nearest
from antiphon.lang.check.methods import (
    ARRAY_METHODS,
    BOOLEAN_METHODS,
    NUMBER_METHODS,
    OBJECT_METHODS,
    TEXT_METHODS,
    Method,
    signature_type,
)
from antiphon.lang.run import array_functions
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.fitting import as_type
from antiphon.lang.run.items import part, whole
from antiphon.lang.run.members import python_attribute
from antiphon.lang.run.operators import equal, less
from antiphon.lang.run.rounding import fixed, rounded
from antiphon.lang.run.values import deep_copy, from_python, is_python, json_text, kind_of, plain, text, unwrap


def _split(value: str, separator: str | None = None) -> list[str]:
    if separator is None:
        return value.split()
    return list(value) if separator == "" else value.split(separator)


def lines(value: str) -> list[str]:
    """The lines of a text or file. Python's `splitlines` would end them at form feeds and other signs too."""
    found = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return found if found[-1] else found[:-1]


def _to_number(value: str) -> int | float:
    if "." not in value:
        # A point no whole number has; to find that out by an error would take longer than all the rest.
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
        raise VibeError("V0911", f"{value[:60]!r} is no number", hint)
    return number


def _repeat(value: str, times: Any) -> str:
    if times.__class__ is int and len(value) * times <= _LONGEST_TEXT:
        return value * times
    count = whole(times, "how often")
    _check_size(count * len(value))
    return value * count


#: In characters.
_LONGEST_TEXT = 100_000_000


def _check_size(characters: int) -> None:
    if characters > _LONGEST_TEXT:
        raise VibeError("V0904", "the text would be too long")


def _pad_start(value: str, width: Any, fill: str = " ") -> str:
    if width.__class__ is int and len(fill) == 1 and width <= _LONGEST_TEXT:
        return value.rjust(width, fill)
    return _filling(value, width, fill) + value


def _pad_end(value: str, width: Any, fill: str = " ") -> str:
    if width.__class__ is int and len(fill) == 1 and width <= _LONGEST_TEXT:
        return value.ljust(width, fill)
    return value + _filling(value, width, fill)


def _filling(value: str, width: Any, fill: str) -> str:
    lacking = whole(width, "the width") - len(value)
    _check_size(lacking)
    return (fill * (lacking // len(fill) + 1))[:lacking] if lacking > 0 and fill else ""


def _floor(value: float) -> Any:
    try:
        return math.floor(value)
    except (OverflowError, ValueError):
        # What is not finite has no whole number below it.
        return value


def _ceil(value: float) -> Any:
    try:
        return math.ceil(value)
    except (OverflowError, ValueError):
        return value


def _pop(items: list[Any]) -> Any:
    if not items:
        raise VibeError("V0903", "the array is empty: there is nothing to pop")
    return items.pop()


def _push(items: list[Any], item: Any) -> None:
    # Through the object, not the class: a constant's array refuses.
    items.append(item)


def _insert(items: list[Any], index: Any, item: Any) -> None:
    items.insert(max(-len(items), min(whole(index, "an index"), len(items))), item)


def _values(fields: dict[str, Any]) -> list[Any]:
    return list(fields.values())


def _entries(fields: dict[str, Any]) -> list[Any]:
    return [{"key": key, "value": value} for key, value in fields.items()]


def _remove(items: list[Any], index: Any) -> Any:
    place = whole(index, "an index")
    if not -len(items) <= place < len(items):
        raise VibeError("V0903", f"index {place} is out of bounds: the array has {len(items)}")
    return items.pop(place)


def sort_plain(items: list[Any]) -> list[Any]:
    """`items.sort()` where all are texts, or numbers."""
    items.sort()
    return items


def sort_by_field(items: list[Any], name: str) -> list[Any]:
    """`items.sort(name)` where all are objects that have the field: a text, or a number."""
    items.sort(key=itemgetter(name))
    return items


def _sort(items: list[Any], by: str | None = None) -> list[Any]:
    if by is None and array_functions.has_order(items):
        return sort_plain(items)
    from functools import cmp_to_key

    def key(item: Any) -> Any:
        value = unwrap(item)
        if by is None:
            return value
        if not isinstance(value, dict) or by not in value:
            raise VibeError("V0907", f"an item has no field `{by}` to sort by")
        return unwrap(cast(dict[str, Any], value)[by])

    def compare(one: Any, two: Any) -> int:
        return -1 if less(one, two) else 1 if less(two, one) else 0

    if by is not None and array_functions.has_order(list(map(key, items))):
        items.sort(key=key)
        return items
    order = cmp_to_key(compare)
    items.sort(key=lambda item: order(key(item)))
    return items


def _reverse(items: list[Any]) -> list[Any]:
    items.reverse()
    return items


def _join(items: list[Any], separator: str = ",") -> str:
    return separator.join(map(text if set(map(type, items)) != {int} else str, items))


def _includes(items: list[Any], wanted: Any) -> bool:
    return any(equal(item, wanted) for item in items)


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if equal(item, wanted)), -1)


def place_of(items: list[Any], wanted: Any) -> int:
    """The same where all that is compared are texts, or numbers."""
    try:
        return items.index(wanted)
    except ValueError:
        return -1


def _take(fields: dict[str, Any], name: str) -> Any:
    if name not in fields:
        raise VibeError("V0907", f"the object has no field `{name}`")
    return fields.pop(name)


def _take_key(values: dict[str, Any], key: str) -> Any:
    if key not in values:
        raise VibeError("V0907", f"the map has no key {json_text(key)}", "`has(key)` says whether it is there")
    return values.pop(key)


_SHARED: dict[str, Callable[..., Any]] = {"toString": text, "len": len, "copy": deep_copy}
TEXT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_SHARED,
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "split": _split,
    "lines": lines,
    "replace": str.replace,
    "includes": str.__contains__,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "indexOf": str.find,
    "slice": part,
    "repeat": _repeat,
    "padStart": _pad_start,
    "padEnd": _pad_end,
    "toNumber": _to_number,
}
NUMBER_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "toString": text,
    "round": rounded,
    "floor": _floor,
    "ceil": _ceil,
    "abs": abs,
    "toFixed": fixed,
}
ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_SHARED,
    "push": _push,
    "pop": _pop,
    "insert": _insert,
    "remove": _remove,
    "sort": _sort,
    "reverse": _reverse,
    "join": _join,
    "slice": part,
    "includes": _includes,
    "indexOf": _index_of,
    **array_functions.FUNCTIONS,
}
OBJECT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_SHARED,
    "keys": list,
    "values": _values,
    "entries": _entries,
    "has": dict[str, Any].__contains__,
    "get": dict[str, Any].get,
    "remove": _take,
}
MAP_FUNCTIONS: dict[str, Callable[..., Any]] = {**OBJECT_FUNCTIONS, "remove": _take_key}
BOOLEAN_FUNCTIONS: dict[str, Callable[..., Any]] = {"toString": text}


#: Under which words the table of habits has what is written for methods of other languages.
_KINDS = ((str, "text"), (list, "array"), (dict, "object"), (bool, ""), ((int, float), "number"))


def _instead(value: Any, name: str, known: dict[str, Method]) -> str:
    """What to write for a method that a value has not."""
    from antiphon.lang.syntax.habits import METHODS

    kind = next((word for type_, word in _KINDS if isinstance(value, type_)), "")
    habit = METHODS.get(kind, {}).get(name) or METHODS[""].get(name)
    near = nearest(name, known)
    return habit or (f"did you mean `{near}`?" if near else f"there are {', '.join(f'`{each}`' for each in known)}")


def call_method(value: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """`value.name(arguments)` where nothing is known of the value; only methods of Python take some by name."""
    value = unwrap(value)
    signatures, functions = _of(value)
    signature = signatures.get(name)
    if signature is None:
        if value is None:
            raise VibeError("V0907", f"null has no method `{name}`", "`?? …` gives a default, `x?.name` is null then")
        if is_python(value) or isinstance(value, type):
            return _python_method(value, name, arguments, named)
        raise VibeError("V0907", f"{kind_of(value)} has no method `{name}`", _instead(value, name, signatures))
    if named:
        raise VibeError("V0912", f"`{name}` of {kind_of(value)} has no parameter `{next(iter(named))}`")
    if not signature.required <= len(arguments) <= len(signature.parameters):
        raise VibeError("V0912", f"`{name}` expects {_wanted(signature)}, got {len(arguments)}")
    given = [
        _function(each, name)
        if "=>" in kind
        else each
        if kind in ("T", "U", "json")
        else as_type(each, signature_type(kind))
        for each, kind in zip(arguments, signature.parameters, strict=False)
    ]
    return functions[name](value, *given)


def _python_method(value: Any, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A method of an object of Python: values go in and come out as they do with its functions."""
    method = python_attribute(value, name) if name != "toString" else lambda: text(value)
    if not callable(method):
        raise VibeError("V0902", f"`{name}` of {kind_of(value)} is no method", f"write `.{name}`")
    return from_python(method(*map(plain, arguments), **named), f"`{name}`")


def _function(value: Any, name: str) -> Any:
    if not callable(value):
        raise VibeError("V0902", f"`{name}` wants a function, not {kind_of(value)}")
    return value


def _of(value: Any) -> tuple[dict[str, Method], dict[str, Callable[..., Any]]]:
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


def _wanted(signature: Method) -> str:
    most = len(signature.parameters)
    if signature.required == most:
        return f"{most} argument{'s' * (most != 1)}"
    return f"{signature.required} to {most} arguments"


def length(value: Any) -> int:
    """`len(value)`."""
    value = unwrap(value)
    if isinstance(value, str | list | dict):
        return len(cast(list[Any], value))
    raise VibeError("V0902", f"{kind_of(value)} has no length")
