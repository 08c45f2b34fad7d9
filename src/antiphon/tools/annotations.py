"""Annotations as pydantic can read them on every Python we support."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def readable(annotation: Any) -> Any:
    """The annotation with every `typing.TypedDict` in it made one that pydantic reads before Python 3.12."""
    return annotation if sys.version_info >= (3, 12) else _readable(annotation, {})


def _readable(annotation: Any, made: dict[Any, Any]) -> Any:
    if is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return made[annotation] if annotation in made else _modern(annotation, made)
    origin, arguments = get_origin(annotation), get_args(annotation)
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
    modern.__required_keys__ = typed_dict.__required_keys__
    modern.__optional_keys__ = typed_dict.__optional_keys__
    modern.__doc__ = typed_dict.__doc__
    return modern


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (typing.Required, typing.NotRequired) else hint
