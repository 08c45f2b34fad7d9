"""Type annotations in a form that pydantic reads on every supported Python version."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Collection, Container, Iterable, Reversible
from typing import Any, cast, get_args, get_origin, get_type_hints, is_typeddict

#: A list is each of these. pydantic refuses some of them and checks the items of others only when they are used.
_LIST_LIKE_TYPES: tuple[Any, ...] = (Iterable, Collection, Container, Reversible)
_UNSUPPORTED_SCHEMAS = {
    "generator": "the items of an iterator are checked only when they are used; write `list[...]`",
    "is-subclass": "a class cannot be given as JSON",
}


def make_readable_annotation(annotation: Any) -> Any:
    """Return the annotation with `list` for `Iterable` and, before Python 3.12, readable
    `typing.TypedDict`s.
    """
    return _convert_annotation(annotation, {})


def check_core_schema(schema: object) -> None:
    """Raise a TypeError if values of this pydantic core schema are not checked when they are read from JSON."""
    if isinstance(schema, list):
        for each in cast(list[object], schema):
            check_core_schema(each)
    if not isinstance(schema, dict):
        return
    node = cast(dict[str, object], schema)
    if (kind := node.get("type")) in _UNSUPPORTED_SCHEMAS:
        raise TypeError(_UNSUPPORTED_SCHEMAS[str(kind)])
    for key, value in node.items():
        # Skip keys that are not validated from JSON, and data that may look like a schema.
        if key not in ("python_schema", "metadata", "serialization", "default", "expected"):
            check_core_schema(value)


def _convert_annotation(annotation: Any, made: dict[Any, Any]) -> Any:
    if sys.version_info < (3, 12) and is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return made[annotation] if annotation in made else _convert_typed_dict(annotation, made)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if (origin or annotation) in _LIST_LIKE_TYPES:
        return list[_convert_annotation(arguments[0], made) if arguments else Any]
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(_convert_annotation(arguments[0], made), *arguments[1:])]
    changed = tuple(_convert_annotation(argument, made) for argument in arguments)
    if changed == arguments:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[changed]  # noqa: UP007
    return origin[changed] if origin is not None else annotation


def _convert_typed_dict(typed_dict: Any, made: dict[Any, Any]) -> Any:
    import typing_extensions

    # Register the type before its fields, which may refer to it.
    modern: Any = typing_extensions.TypedDict(typed_dict.__name__, {})  # type: ignore[operator]
    made[typed_dict] = modern
    hints = get_type_hints(typed_dict, include_extras=True)
    modern.__annotations__ = {name: _convert_annotation(_strip_qualifiers(hint), made) for name, hint in hints.items()}
    # `typing` does not see qualifiers inside string annotations, so the resolved hints decide.
    optional = {n for n, hint in hints.items() if _is_optional(hint, n in typed_dict.__optional_keys__)}
    modern.__optional_keys__ = frozenset(optional)
    modern.__required_keys__ = frozenset(hints.keys() - optional)
    modern.__doc__ = typed_dict.__doc__
    return modern


def _strip_qualifiers(hint: Any) -> Any:
    from typing_extensions import ReadOnly

    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (typing.Required, typing.NotRequired, ReadOnly):
        return _strip_qualifiers(arguments[0])
    return typing.Annotated[(_strip_qualifiers(arguments[0]), *arguments[1:])] if origin is typing.Annotated else hint


def _is_optional(hint: Any, by_default: bool) -> bool:
    """Return whether a field may be left out; `by_default` applies if the hint does not say."""
    from typing_extensions import ReadOnly

    origin = get_origin(hint)
    if origin in (typing.Annotated, ReadOnly):
        return _is_optional(get_args(hint)[0], by_default)
    return origin is typing.NotRequired or (by_default and origin is not typing.Required)
