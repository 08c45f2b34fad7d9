"""Values at the border between what is known of types and what is not: whether they fit, and what does not."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.check.notation import show
from antiphon.lang.check.types import AI, NUMBER, Array, Literal, Map, Object, Simple, Type, Union
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.values import json_text, kind_of, unwrap


def as_type(value: Any, wanted: Type) -> Any:
    """The value, taken out of an AI result, if it fits the type; an error that says what does not.

    It is a copy: whoever has the value under a name without types cannot change what has one.
    """
    quick = _taken(value, wanted)
    if quick is not _UNSURE:
        return quick
    value = fits(unwrap(value), wanted)
    return _copied(value, wanted) if isinstance(value, list | dict) else value


#: Stands for what has to be looked at more closely.
_UNSURE: Any = object()
#: The classes of Python whose values are of a simple type, whatever they are.
_CLASSES: dict[str, frozenset[type]] = {
    "text": frozenset((str,)),
    "prompt": frozenset((str,)),
    "boolean": frozenset((bool,)),
    "null": frozenset((type(None),)),
    "number": frozenset((int, float)),
}


def _taken(value: Any, wanted: Type) -> Any:
    """A copy of what plainly fits a type: most does, and then nothing has to be said of it."""
    kind, given = wanted.__class__, value.__class__
    if kind is Simple:
        return value if given in _CLASSES.get(cast(Simple, wanted).name, ()) else _UNSURE
    if kind is Array and given is list:
        return _taken_items(value, cast(Array, wanted).item)
    if kind is Object and given is dict:
        return _taken_fields(value, cast(Object, wanted))
    return _UNSURE


def _taken_items(items: list[Any], wanted: Type) -> Any:
    if wanted.__class__ is Simple:
        classes = _CLASSES.get(cast(Simple, wanted).name)
        return list(items) if classes is not None and classes.issuperset(map(type, items)) else _UNSURE
    out = [_taken(each, wanted) for each in items]
    return _UNSURE if _UNSURE in out else out


def _taken_fields(value: dict[str, Any], wanted: Object) -> Any:
    out = dict(value)
    for name, field in wanted.fields.items():
        if name in value:
            given = value[name]
            if given is None and field.optional:
                continue
            out[name] = taken = _taken(given, field.type)
            if taken is _UNSURE:
                return _UNSURE
        elif not field.optional:
            return _UNSURE
    return out


def fits(value: Any, wanted: Type) -> Any:
    """The value itself, if it fits the type; an error that says what does not."""
    fault = misfit(value, wanted, "")
    if fault:
        is_numeral = wanted is NUMBER and isinstance(value, str) and value.strip().isdigit()
        raise VibeError("V0902", fault, "`x.toNumber()` makes a number of a text" if is_numeral else "")
    return value


def _copied(value: Any, wanted: Type) -> Any:
    """A value that fits, with arrays and objects of its own, as far as the type knows of them."""
    value = unwrap(value)
    if value is None:
        # A field that may be missing may be null, too.
        return None
    match wanted:
        case Array(item=inner):
            return [_copied(each, inner) for each in value]
        case Object():
            fields = wanted.fields
            return {key: _copied(each, fields[key].type) if key in fields else each for key, each in value.items()}
        case Map(value=inner):
            return {key: _copied(each, inner) for key, each in value.items()}
        case Union(options):
            fitting = next((each for each in options if not misfit(value, each, "")), None)
            return value if fitting is None else _copied(value, fitting)
        case AI(inner):
            return _copied(value, inner)
        case _:
            return value


_SIMPLE: dict[str, Any] = {"text": str, "prompt": str, "boolean": bool, "null": type(None), "number": int | float}


def misfit(value: Any, wanted: Type, path: str) -> str:
    """Why a value does not fit a type; nothing if it does."""
    value = unwrap(value)
    match wanted:
        case Simple(name):
            if name not in _SIMPLE or (
                isinstance(value, _SIMPLE[name]) and not (name == "number" and isinstance(value, bool))
            ):
                return ""
        case Array(item=inner):
            if isinstance(value, list):
                items = enumerate(cast(list[Any], value))
                return next((fault for at, each in items if (fault := misfit(each, inner, f"{path}[{at}]"))), "")
        case Literal():
            # 1.0 is 1, as it is for `==`, and true is not.
            if value == wanted.value and isinstance(value, bool) == isinstance(wanted.value, bool):
                return ""
        case Union(options):
            if any(not misfit(value, option, path) for option in options):
                return ""
        case Object():
            if isinstance(value, dict):
                return _misfit_fields(cast(dict[str, Any], value), wanted, path)
        case Map(value=inner):
            if isinstance(value, dict):
                pairs = cast(dict[Any, Any], value).items()
                return next((fault for key, each in pairs if (fault := _misfit_entry(key, each, inner, path))), "")
        case AI(inner):
            return misfit(value, inner, path)
        case _:
            return ""
    return f"{_at(path)}{show(wanted)} is wanted, not {_shown(value)}"


def _at(path: str) -> str:
    inside = path.lstrip(".")
    return f"`{inside}`: " if inside else ""


def _misfit_entry(key: Any, value: Any, inner: Type, path: str) -> str:
    if not isinstance(key, str):
        return f"{_at(path)}the keys of a map are text, not {kind_of(key)}"
    return misfit(value, inner, f"{path}[{json_text(key)}]")


def _misfit_fields(value: dict[str, Any], wanted: Object, path: str) -> str:
    for name, each in wanted.fields.items():
        if name not in value or (value[name] is None and each.optional):
            if not each.optional:
                return f"{_at(path)}the field `{name}` is missing"
            continue
        if fault := misfit(value[name], each.type, f"{path}.{name}"):
            return fault
    return ""


def _shown(value: Any) -> str:
    kind = kind_of(value)
    if kind in ("null",) or not isinstance(value, str | int | float | bool):
        return kind
    shown = json_text(value)
    return f"{kind} {shown if len(shown) <= 60 else shown[:60] + '…'}"
