"""What a running program sees of objects that have more fields than their types say."""

from __future__ import annotations

from operator import is_
from typing import Any, cast

from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.types import Array, Map, Object, Type, Union
from antiphon.lang.check.types import plain as plain_type
from antiphon.lang.check.views import hides
from antiphon.lang.run.fitting import misfit
from antiphon.lang.run.members import no_field
from antiphon.lang.run.values import unwrap


def pick(value: Any, names: frozenset[str]) -> dict[str, Any]:
    """An object with those of its fields that its type has, to be looked at: itself, if it has no others."""
    fields = cast(dict[str, Any], value if value.__class__ is dict else unwrap(value))
    return fields if fields.keys() <= names else {name: each for name, each in fields.items() if name in names}


def there(value: Any, names: frozenset[str], optional: tuple[str, ...]) -> dict[str, Any]:
    """The same without those that may be missing, and are null: they hide nothing that was there before."""
    return {name: each for name, each in pick(value, names).items() if each is not None or name not in optional}


def named(key: Any, names: tuple[str, ...]) -> Any:
    """The name of a field, which the type of the object must have."""
    key = unwrap(key)
    if isinstance(key, str) and key not in names:
        raise no_field(key, names)
    return key


def seen(value: Any, given: Type, wanted: Type) -> Any:
    """Return a value where another type may look for fields that its own does not know of.

    It is the value itself, unless it has such fields: then it is one without them.
    """
    value, given, wanted = unwrap(value), plain_type(given), plain_type(wanted)
    if not hides(given, wanted):
        return value
    if isinstance(given, Union):
        given = next((each for each in given.options if not misfit(value, each, "")), given)
    if isinstance(wanted, Union):
        wanted = next((each for each in wanted.options if assignable(given, each)), wanted)
    match given, wanted:
        case (Array(), Array()):
            items = [seen(each, given.item, wanted.item) for each in value]
            return value if all(map(is_, items, value)) else items
        case (Map(), Map()):
            return _unless_same(value, {key: seen(each, given.value, wanted.value) for key, each in value.items()})
        case (Object(), Object()):
            if not any(name not in given.fields and name in wanted.fields for name in value):
                inside = {name: _seen_field(name, each, given, wanted) for name, each in value.items()}
                return _unless_same(value, inside)
            own = ((name, value[name]) for name in given.fields if name in value)
            return {name: _seen_field(name, each, given, wanted) for name, each in own}
        case _:
            return value


def _seen_field(name: str, value: Any, given: Object, wanted: Object) -> Any:
    if name not in given.fields or name not in wanted.fields:
        return value
    return seen(value, given.fields[name].type, wanted.fields[name].type)


def _unless_same(value: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Return the value itself where all that is in it stayed."""
    return value if all(changed[name] is each for name, each in value.items()) else changed
