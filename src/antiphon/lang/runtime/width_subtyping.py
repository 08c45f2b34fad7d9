"""Width subtyping at run time: a value may have more fields than its type; code sees only the known ones."""

from __future__ import annotations

from operator import is_
from typing import Any, cast

from antiphon.lang.runtime.members import make_missing_field_error
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.runtime.values import unwrap_answer
from antiphon.lang.typecheck.assignability import is_assignable
from antiphon.lang.typecheck.types import Array, Map, Object, Type, Union
from antiphon.lang.typecheck.types import strip_ai_result as plain_type
from antiphon.lang.typecheck.width_subtyping import exposes_hidden_field


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


def narrow_to_known_fields(value: Any, given: Type, wanted: Type) -> Any:
    """Return a value without fields that its own type does not know and the wanted type would reveal.

    It is the value itself if it has no such fields.
    """
    value, given, wanted = unwrap_answer(value), plain_type(given), plain_type(wanted)
    if not exposes_hidden_field(given, wanted):
        return value
    if isinstance(given, Union):
        given = next((each for each in given.options if not describe_mismatch(value, each, "")), given)
    if isinstance(wanted, Union):
        wanted = next((each for each in wanted.options if is_assignable(given, each)), wanted)
    match given, wanted:
        case (Array(), Array()):
            items = [narrow_to_known_fields(each, given.item, wanted.item) for each in value]
            return value if all(map(is_, items, value)) else items
        case (Map(), Map()):
            return _keep_if_unchanged(
                value, {key: narrow_to_known_fields(each, given.value, wanted.value) for key, each in value.items()}
            )
        case (Object(), Object()):
            if not any(name not in given.fields and name in wanted.fields for name in value):
                inside = {name: _narrow_field(name, each, given, wanted) for name, each in value.items()}
                return _keep_if_unchanged(value, inside)
            own = ((name, value[name]) for name in given.fields if name in value)
            return {name: _narrow_field(name, each, given, wanted) for name, each in own}
        case _:
            return value


def _narrow_field(name: str, value: Any, given: Object, wanted: Object) -> Any:
    if name not in given.fields or name not in wanted.fields:
        return value
    return narrow_to_known_fields(value, given.fields[name].type, wanted.fields[name].type)


def _keep_if_unchanged(value: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Return the value itself if none of its fields changed."""
    return value if all(changed[name] is each for name, each in value.items()) else changed
