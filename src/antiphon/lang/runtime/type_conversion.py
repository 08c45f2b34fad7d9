"""Type conversion at run time: check that `json` values fit a type, copy them, and describe mismatches."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.values import get_kind_name, to_json_text, unwrap_answer
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.type_printer import format_type


def convert_to_type(value: Any, wanted: t.Type) -> Any:
    """Return a copy of a value, taken out of its AI result, if it fits the type; else raise V0902.

    It is a copy so that an untyped alias cannot change a typed value.
    """
    quick = _copy_if_exact(value, wanted)
    if quick is not _NOT_EXACT:
        return quick
    value = require_fit(unwrap_answer(value), wanted)
    return _copy_typed(value, wanted) if isinstance(value, list | dict) else value


#: Returned for values that need the full check.
_NOT_EXACT: Any = object()
#: The Python classes all of whose values have a simple type.
_EXACT_CLASSES: dict[str, frozenset[type]] = {
    "text": frozenset((str,)),
    "prompt": frozenset((str,)),
    "boolean": frozenset((bool,)),
    "null": frozenset((type(None),)),
    "number": frozenset((int, float)),
}


def _copy_if_exact(value: Any, wanted: t.Type) -> Any:
    """Return a copy of a value that obviously fits, else `_NOT_EXACT`: a fast path for most values."""
    kind, given = wanted.__class__, value.__class__
    if kind is t.SimpleType:
        return value if given in _EXACT_CLASSES.get(cast(t.SimpleType, wanted).name, ()) else _NOT_EXACT
    if kind is t.Array and given is list:
        return _copy_exact_items(value, cast(t.Array, wanted).item)
    if kind is t.Object and given is dict:
        return _copy_exact_fields(value, cast(t.Object, wanted))
    return _NOT_EXACT


def _copy_exact_items(items: list[Any], wanted: t.Type) -> Any:
    if wanted.__class__ is t.SimpleType:
        classes = _EXACT_CLASSES.get(cast(t.SimpleType, wanted).name)
        return list(items) if classes is not None and classes.issuperset(map(type, items)) else _NOT_EXACT
    out = [_copy_if_exact(each, wanted) for each in items]
    return _NOT_EXACT if _NOT_EXACT in out else out


def _copy_exact_fields(value: dict[str, Any], wanted: t.Object) -> Any:
    out = dict(value)
    for name, field in wanted.fields.items():
        if name in value:
            given = value[name]
            if given is None and field.optional:
                continue
            out[name] = taken = _copy_if_exact(given, field.type)
            if taken is _NOT_EXACT:
                return _NOT_EXACT
        elif not field.optional:
            return _NOT_EXACT
    return out


def require_fit(value: Any, wanted: t.Type) -> Any:
    """Return the value itself if it fits the type; else raise V0902."""
    fault = describe_mismatch(value, wanted, "")
    if fault:
        is_numeral = wanted is t.NUMBER and isinstance(value, str) and value.strip().isdigit()
        raise VibeError("V0902", fault, "`x.toNumber()` makes a number of a text" if is_numeral else "")
    return value


def _copy_typed(value: Any, wanted: t.Type) -> Any:
    """Copy a fitting value's arrays and objects, as deep as its type describes them."""
    value = unwrap_answer(value)
    if value is None:
        # An optional field may also be null.
        return None
    match wanted:
        case t.Array(item=inner):
            return [_copy_typed(each, inner) for each in value]
        case t.Object():
            fields = wanted.fields
            return {key: _copy_typed(each, fields[key].type) if key in fields else each for key, each in value.items()}
        case t.Map(value=inner):
            return {key: _copy_typed(each, inner) for key, each in value.items()}
        case t.Union(options):
            fitting = next((each for each in options if not describe_mismatch(value, each, "")), None)
            return value if fitting is None else _copy_typed(value, fitting)
        case t.AIResultType(inner):
            return _copy_typed(value, inner)
        case _:
            return value


_SIMPLE_CLASSES: dict[str, Any] = {
    "text": str,
    "prompt": str,
    "boolean": bool,
    "null": type(None),
    "number": int | float,
}


def describe_mismatch(value: Any, wanted: t.Type, path: str) -> str:
    """Return why a value does not fit a type; empty if it does."""
    value = unwrap_answer(value)
    match wanted:
        case t.SimpleType(name):
            if name not in _SIMPLE_CLASSES or (
                isinstance(value, _SIMPLE_CLASSES[name]) and not (name == "number" and isinstance(value, bool))
            ):
                return ""
        case t.Array(item=inner):
            if isinstance(value, list):
                items = enumerate(cast(list[Any], value))
                return next(
                    (fault for at, each in items if (fault := describe_mismatch(each, inner, f"{path}[{at}]"))), ""
                )
        case t.Literal():
            # 1.0 is 1, as it is for `==`, and true is not.
            if value == wanted.value and isinstance(value, bool) == isinstance(wanted.value, bool):
                return ""
        case t.Union(options):
            if any(not describe_mismatch(value, option, path) for option in options):
                return ""
        case t.Object():
            if isinstance(value, dict):
                return _describe_field_mismatch(cast(dict[str, Any], value), wanted, path)
        case t.Map(value=inner):
            if isinstance(value, dict):
                pairs = cast(dict[Any, Any], value).items()
                return next(
                    (fault for key, each in pairs if (fault := _describe_entry_mismatch(key, each, inner, path))), ""
                )
        case t.AIResultType(inner):
            return describe_mismatch(value, inner, path)
        case _:
            return ""
    return f"{_format_path(path)}expected {format_type(wanted)}, found {_describe_value(value)}"


def is_of_type(value: Any, tested: t.Type) -> bool:
    """Return the value of `value is tested`."""
    return not describe_mismatch(value, tested, "")


def _format_path(path: str) -> str:
    inside = path.lstrip(".")
    return f"`{inside}`: " if inside else ""


def _describe_entry_mismatch(key: Any, value: Any, inner: t.Type, path: str) -> str:
    if not isinstance(key, str):
        return f"{_format_path(path)}the keys of a map are text, not {get_kind_name(key)}"
    return describe_mismatch(value, inner, f"{path}[{to_json_text(key)}]")


def _describe_field_mismatch(value: dict[str, Any], wanted: t.Object, path: str) -> str:
    for name, each in wanted.fields.items():
        if name not in value or (value[name] is None and each.optional):
            if not each.optional:
                return f"{_format_path(path)}the field `{name}` is missing"
            continue
        if fault := describe_mismatch(value[name], each.type, f"{path}.{name}"):
            return fault
    return ""


def _describe_value(value: Any) -> str:
    kind = get_kind_name(value)
    if kind in ("null",) or not isinstance(value, str | int | float | bool):
        return kind
    shown = to_json_text(value)
    return f"{kind} {shown if len(shown) <= 60 else shown[:60] + '…'}"
