"""Annotations as pydantic can read them on every Python we support."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def readable(annotation: Any) -> Any:
    """The annotation with every `typing.TypedDict` in it made one that pydantic reads before Python 3.12."""
    if sys.version_info >= (3, 12):
        return annotation
    if is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return _modern(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(readable(arguments[0]), *arguments[1:])]
    changed = tuple(readable(argument) for argument in arguments)
    if changed == arguments:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[changed]  # noqa: UP007
    return origin[changed] if origin is not None else annotation


def _modern(typed_dict: Any) -> Any:
    import typing_extensions

    hints = get_type_hints(typed_dict, include_extras=True)
    required: frozenset[str] = typed_dict.__required_keys__
    wrapped: dict[str, Any] = {
        name: readable(_bare(hint)) if name in required else typing_extensions.NotRequired[readable(_bare(hint))]
        for name, hint in hints.items()
    }
    made: Any = typing_extensions.TypedDict(typed_dict.__name__, wrapped)  # type: ignore[operator]
    made.__doc__ = typed_dict.__doc__
    return made


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (typing.Required, typing.NotRequired) else hint
