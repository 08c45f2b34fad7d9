"""Members, items, slices and iteration of values whose type is known only at run time.

A value may have more fields than its type (width subtyping); code sees only those of the type.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from operator import is_
from typing import Any, cast

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.operators import is_equal, is_number
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.runtime.values import from_python, get_kind_name, is_python_object, to_text, unwrap_answer
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import exposes_hidden_field, is_assignable
from antiphon.results.plain_json import NestableResult
from antiphon.session.result import AIResult, unwrap_value


def get_member(value: Any, name: str) -> Any:
    """Return `value.name` of a value of unknown type."""
    if isinstance(value, AIResult):
        if name in t.AI_MEMBER_NAMES:
            return get_answer_member(value, name)
        value = unwrap_value(cast(object, value))
    if isinstance(value, NestableResult):
        value = value.to_json()
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if name in fields:
            return fields[name]
        if name == "length":
            return len(fields)
        raise make_missing_field_error(name, fields)
    if name == "length" and isinstance(value, str | list):
        return len(cast(list[Any], value))
    if value is None:
        raise VibeError("V0907", f"null has no `{name}`", f"`?? …` gives a default: `x.{name} ?? …`")
    if is_python_object(value) or isinstance(value, type):
        found = get_python_attribute(value, name)
        if callable(found):
            raise VibeError("V0907", f"`{name}` is a method and must be called", f"write `.{name}(…)`")
        return from_python(found, f"`{name}`")
    if name in t.AI_MEMBER_NAMES:
        raise VibeError("V0907", f"{get_kind_name(value)} has no `{name}`: it is not the answer of a model")
    raise VibeError("V0907", f"{get_kind_name(value)} has no `{name}`", _hint_missing_member(value, name))


def _hint_missing_member(value: Any, name: str) -> str:
    """Return a hint what to write instead of a missing member."""
    if isinstance(value, list):
        return f"an array has items: `x[0].{name}`, or `x.map(y => y.{name})`"
    if isinstance(value, str):
        return f"it is text; an answer or JSON with fields is declared, `const x: {{ {name}: text }} = …`"
    return ""


def get_optional_member(value: Any, name: str) -> Any:
    """Return `value.name` before `??` or in a comparison with null: a missing field is null."""
    if name not in t.AI_MEMBER_NAMES:
        value = unwrap_value(value)
    if isinstance(value, NestableResult):
        value = value.to_json()
    if isinstance(value, dict):
        return cast(dict[str, Any], value).get(name)
    return None if value is None else get_member(value, name)


def get_python_attribute(value: Any, name: str) -> Any:
    """Return an attribute of a Python object; names that begin with `_` are private."""
    if not name.startswith("_") and hasattr(value, name):
        return getattr(value, name)
    near = suggest_name(name, (each for each in dir(value) if not each.startswith("_")))
    raise VibeError("V0907", f"{get_kind_name(value)} has no `{name}`", f"did you mean `{near}`?" if near else "")


def get_answer_member(value: Any, name: str) -> Any:
    """Return `value`, `toolCalls` or `run` of an AI result; a plain value has no tool calls."""
    if name == "value":
        return unwrap_value(value)
    value = cast("AIResult[Any]", value) if isinstance(value, AIResult) else AIResult[Any](value)
    if name == "toolCalls":
        return [
            {"tool": c.tool, "args": c.args, "result": c.result, "error": c.error, "duration": c.duration}
            for c in value.tool_calls
        ]
    run = value.run
    usage = {"inputTokens": run.usage.input_tokens, "outputTokens": run.usage.output_tokens}
    return {"usage": usage, "cost": run.cost, "model": run.model, "id": run.id}


def set_member(value: Any, name: str, new: Any) -> None:
    """Run `value.name = new`."""
    value = unwrap_answer(value)
    if not isinstance(value, dict):
        raise VibeError("V0907", f"{get_kind_name(value)} has no fields to set")
    value[name] = new


def get_required_field(value: Any, name: str) -> Any:
    """Return a field that a pattern takes; raise V0909 if it is missing."""
    value = unwrap_answer(value)
    if not isinstance(value, dict):
        raise VibeError("V0909", f"expected an object with the field `{name}`, found {get_kind_name(value)}")
    fields = cast(dict[str, Any], value)
    if name not in fields:
        raise VibeError("V0909", f"the field `{name}` is missing")
    return fields[name]


def make_missing_field_error(name: str, fields: Iterable[str]) -> VibeError:
    """Return the error that an object has no such field, with a hint."""
    near = suggest_name(name, islice(fields, 200))
    hint = f"did you mean `{near}`?" if near else f"its fields: {', '.join(islice(fields, 10))}" if fields else ""
    return VibeError("V0907", f"the object has no field `{name}`", hint or f"`?? …` gives a default: `x.{name} ?? …`")


def get_item(value: Any, key: Any) -> Any:
    """Return `value[key]`."""
    value, key = unwrap_answer(value), unwrap_answer(key)
    if isinstance(value, list | str):
        items = cast(list[Any], value)
        return items[resolve_index(key, items)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if not isinstance(key, str):
            raise VibeError("V0902", f"an object is indexed by text, not by {get_kind_name(key)}")
        if key not in fields:
            raise make_missing_field_error(key, fields)
        return fields[key]
    raise VibeError("V0902", f"{get_kind_name(value)} cannot be indexed")


def get_optional_item(value: Any, key: Any) -> Any:
    """Return `value[key]` before `??` or in a comparison with null: a missing field is null."""
    value, key = unwrap_answer(value), unwrap_answer(key)
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key)
    return None if value is None else get_item(value, key)


def set_item(value: Any, key: Any, new: Any) -> None:
    """Run `value[key] = new`."""
    value, key = unwrap_answer(value), unwrap_answer(key)
    if isinstance(value, list):
        items = cast(list[Any], value)
        items[resolve_index(key, items)] = new
    elif isinstance(value, dict) and isinstance(key, str):
        value[key] = new
    elif isinstance(value, dict):
        raise VibeError("V0902", f"an object is indexed by text, not by {get_kind_name(key)}")
    else:
        raise VibeError("V0902", f"an item of {get_kind_name(value)} cannot be set")


def resolve_index(key: Any, items: list[Any] | str) -> int:
    """Return a number as an index of these items; raise V0903 if it is out of bounds."""
    place = require_integer(key, "an index")
    if not -len(items) <= place < len(items):
        what = "text" if isinstance(items, str) else "array"
        hint = "positions go from 0 to `length - 1`, and the last is also -1"
        raise VibeError("V0903", f"index {place} is out of bounds: the {what} has {len(items)}", hint)
    return place


def require_index(value: Any) -> int:
    """Return a number as an index."""
    return require_integer(value, "an index")


def require_integer(value: Any, what: str) -> int:
    """Return a number as an integer; raise an error that names `what` if it is none."""
    value = unwrap_answer(value)
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_number(value):
        raise VibeError("V0904", f"{what} must be an integer, not {to_text(value)}")
    raise VibeError("V0902", f"{what} must be an integer, not {get_kind_name(value)}")


def slice_value(value: Any, first: Any, last: Any = None, step: Any = None) -> Any:
    """Return `value[first:last:step]`."""
    value = unwrap_answer(value)
    if not isinstance(value, str | list):
        raise VibeError("V0902", f"{get_kind_name(value)} cannot be sliced")
    bounds = [None if bound is None else require_integer(bound, "a slice's bound") for bound in (first, last, step)]
    if bounds[2] == 0:
        raise VibeError("V0904", "a slice's step cannot be 0")
    return cast(Any, value)[slice(*bounds)]


def iterate_value(value: Any) -> Any:
    """Return what `for` iterates over."""
    kind = value.__class__
    if kind is list:
        return value
    if kind is int:
        return range(value)
    if issubclass(kind, AIResult):
        raise VibeError("V0908", "Cannot iterate over AIResult directly. Use .toolCalls or .value")
    if isinstance(value, (list, range)):
        return cast(Any, value)
    if is_number(value):
        return range(require_integer(value, "the number of iterations"))
    hints = {
        str: "`.split()` gives its words, `.lines()` its lines",
        dict: "write `for key, value in x`; `.keys()` gives its names",
    }
    raise VibeError("V0908", f"`for` cannot iterate over {get_kind_name(value)}", hints.get(value.__class__, ""))


def iterate_entries(value: Any) -> Any:
    """Return what `for key, value in …` iterates over."""
    value = unwrap_answer(value)
    if isinstance(value, dict):
        return cast(dict[str, Any], value).items()
    raise VibeError("V0908", f"`for key, value in …` iterates over a map or an object, not {get_kind_name(value)}")


def make_range(first: Any, last: Any) -> range:
    """Return `first..last`, both included."""
    return range(require_integer(first, "a range's end"), require_integer(last, "a range's end") + 1)


def make_range_array(first: Any, last: Any) -> list[int]:
    """Return a range as an array."""
    numbers = make_range(first, last)
    if numbers and numbers[-1] - numbers[0] > 50_000_000:
        raise VibeError("V0904", "the array would be too long", "a `for` loop needs no array of its range")
    return list(numbers)


def pick_known_fields(value: Any, names: frozenset[str]) -> dict[str, Any]:
    """Return an object restricted to its type's fields, to be read only: itself, if it has no others."""
    fields = cast(dict[str, Any], value if value.__class__ is dict else unwrap_answer(value))
    return fields if fields.keys() <= names else {name: each for name, each in fields.items() if name in names}


def drop_null_optional_fields(value: Any, names: frozenset[str], optional: tuple[str, ...]) -> dict[str, Any]:
    """Return an object restricted to its type's fields, without optional ones that are null.

    A null optional field must not overwrite a value in a spread.
    """
    return {
        name: each for name, each in pick_known_fields(value, names).items() if each is not None or name not in optional
    }


def require_known_field(key: Any, names: tuple[str, ...]) -> Any:
    """Return a field name; raise an error if the object's type has no such field."""
    key = unwrap_answer(key)
    if isinstance(key, str) and key not in names:
        raise make_missing_field_error(key, names)
    return key


def narrow_to_known_fields(value: Any, given: t.Type, wanted: t.Type) -> Any:
    """Return a value without fields that its own type does not know and the wanted type would reveal.

    It is the value itself if it has no such fields.
    """
    value, given, wanted = unwrap_answer(value), t.strip_ai_result(given), t.strip_ai_result(wanted)
    if not exposes_hidden_field(given, wanted):
        return value
    if isinstance(given, t.Union):
        given = next((each for each in given.options if not describe_mismatch(value, each, "")), given)
    if isinstance(wanted, t.Union):
        wanted = next((each for each in wanted.options if is_assignable(given, each)), wanted)
    match given, wanted:
        case (t.Array(), t.Array()):
            items = [narrow_to_known_fields(each, given.item, wanted.item) for each in value]
            return value if all(map(is_, items, value)) else items
        case (t.Map(), t.Map()):
            return _keep_if_unchanged(
                value, {key: narrow_to_known_fields(each, given.value, wanted.value) for key, each in value.items()}
            )
        case (t.Object(), t.Object()):
            if not any(name not in given.fields and name in wanted.fields for name in value):
                inside = {name: _narrow_field(name, each, given, wanted) for name, each in value.items()}
                return _keep_if_unchanged(value, inside)
            own = ((name, value[name]) for name in given.fields if name in value)
            return {name: _narrow_field(name, each, given, wanted) for name, each in own}
        case _:
            return value


def _narrow_field(name: str, value: Any, given: t.Object, wanted: t.Object) -> Any:
    if name not in given.fields or name not in wanted.fields:
        return value
    return narrow_to_known_fields(value, given.fields[name].type, wanted.fields[name].type)


def _keep_if_unchanged(value: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Return the value itself if none of its fields changed."""
    return value if all(changed[name] is each for name, each in value.items()) else changed


def contains_item(item: Any, place: Any) -> bool:
    """Return the value of `item in place`."""
    item, place = unwrap_answer(item), unwrap_answer(place)
    if isinstance(place, list):
        return any(is_equal(item, each) for each in cast(list[Any], place))
    if isinstance(place, str | dict):
        if not isinstance(item, str):
            what = "the parts of a text" if isinstance(place, str) else "the keys of an object"
            raise VibeError("V0902", f"{what} are text, not {get_kind_name(item)}")
        return item in place
    raise VibeError("V0902", f"`in` searches arrays, text and objects, not {get_kind_name(place)}")


def unpack_items(value: Any, count: int) -> list[Any]:
    """Return the items of an array; raise an error unless there are exactly `count`."""
    value = unwrap_answer(value)
    if not isinstance(value, list):
        raise VibeError("V0909", f"expected an array of {count} items, found {get_kind_name(value)}")
    items = cast(list[Any], value)
    if len(items) != count:
        raise VibeError("V0909", f"expected an array of {count} items, found one of {len(items)}")
    return items


def spread_array(value: Any) -> list[Any]:
    """Return the items of `...value` in an array."""
    value = unwrap_answer(value)
    if not isinstance(value, list):
        raise VibeError("V0902", f"only an array can be spread into an array, not {get_kind_name(value)}")
    return cast(list[Any], value)


def spread_object(value: Any) -> dict[str, Any]:
    """Return the fields of `...value` in an object."""
    value = unwrap_answer(value)
    if not isinstance(value, dict):
        raise VibeError("V0902", f"only an object can be spread into an object, not {get_kind_name(value)}")
    return cast(dict[str, Any], value)
