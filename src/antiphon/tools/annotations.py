"""Annotations as pydantic can read them on every Python we support."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Collection, Container, Iterable, Reversible
from typing import Any, cast, get_args, get_origin, get_type_hints, is_typeddict

#: A list is each of these. pydantic refuses some of them and checks the items of others only when they are used.
_LISTS: tuple[Any, ...] = (Iterable, Collection, Container, Reversible)
_UNREADABLE = {
    "generator": "the items of an iterator are checked only when they are used; write `list[...]`",
    "is-subclass": "a class cannot be given as JSON",
}


def readable(annotation: Any) -> Any:
    """Return the annotation with lists for `Iterable` and, before Python 3.12, readable `typing.TypedDict`s."""
    return _readable(annotation, {})


def check_core_schema(schema: object) -> None:
    """Raise a TypeError if values of this pydantic core schema are not checked when they are read from JSON."""
    if isinstance(schema, list):
        for each in cast(list[object], schema):
            check_core_schema(each)
    if not isinstance(schema, dict):
        return
    node = cast(dict[str, object], schema)
    if (kind := node.get("type")) in _UNREADABLE:
        raise TypeError(_UNREADABLE[str(kind)])
    for key, value in node.items():
        # What is not read from JSON, and data that may look like a schema.
        if key not in ("python_schema", "metadata", "serialization", "default", "expected"):
            check_core_schema(value)


def _readable(annotation: Any, made: dict[Any, Any]) -> Any:
    if sys.version_info < (3, 12) and is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return made[annotation] if annotation in made else _modern(annotation, made)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if (origin or annotation) in _LISTS:
        return list[_readable(arguments[0], made) if arguments else Any]
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(_readable(arguments[0], made), *arguments[1:])]
    changed = tuple(_readable(argument, made) for argument in arguments)
    if changed == arguments:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[changed]  # noqa: UP007
    return origin[changed] if origin is not None else annotation


def _modern(typed_dict: Any, made: dict[Any, Any]) -> Any:
    import typing_extensions

    # Known before its fields are: they may hold it.
    modern: Any = typing_extensions.TypedDict(typed_dict.__name__, {})  # type: ignore[operator]
    made[typed_dict] = modern
    hints = get_type_hints(typed_dict, include_extras=True)
    modern.__annotations__ = {name: _readable(_bare(hint), made) for name, hint in hints.items()}
    # `typing` does not see the qualifiers of annotations that are texts, so the hints have the last word.
    optional = {n for n, hint in hints.items() if _is_optional(hint, n in typed_dict.__optional_keys__)}
    modern.__optional_keys__ = frozenset(optional)
    modern.__required_keys__ = frozenset(hints.keys() - optional)
    modern.__doc__ = typed_dict.__doc__
    return modern


def _bare(hint: Any) -> Any:
    """Return a hint without the qualifiers of a TypedDict's field."""
    from typing_extensions import ReadOnly

    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (typing.Required, typing.NotRequired, ReadOnly):
        return _bare(arguments[0])
    return typing.Annotated[(_bare(arguments[0]), *arguments[1:])] if origin is typing.Annotated else hint


def _is_optional(hint: Any, by_default: bool) -> bool:
    """Return whether a field may be left out, `by_default` where it does not say."""
    from typing_extensions import ReadOnly

    origin = get_origin(hint)
    if origin in (typing.Annotated, ReadOnly):
        return _is_optional(get_args(hint)[0], by_default)
    return origin is typing.NotRequired or (by_default and origin is not typing.Required)
