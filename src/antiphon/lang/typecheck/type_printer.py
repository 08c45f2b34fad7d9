"""Formatting of types for messages."""

from __future__ import annotations

from itertools import islice

from antiphon.lang.typecheck.types import (
    NEVER,
    AIResultType,
    Array,
    CallableType,
    Literal,
    Map,
    Object,
    SimpleType,
    Type,
    TypeReference,
    Union,
    get_base_type,
)

#: The maximum number of fields or options that are shown.
_MAX_SHOWN = 12


def format_type(type_: Type, *, literals: bool = True, briefly: bool = False) -> str:
    """Return a type in the language's notation, with an ellipsis where it is long.

    Without `literals`, `"low"` is printed as text.

    Options with the same name are distinguished by their fields. `briefly` turns that off, as the name may recur
    in them.
    """
    match type_:
        case SimpleType():
            return type_.name
        case Array():
            return _format_array(type_, literals, briefly)
        case Map():
            return f"{{ [text]: {_format_inner(type_, literals, briefly)} }}"
        case Literal():
            from antiphon._base.json import dump_json

            return dump_json(type_.value) if literals else format_type(get_base_type(type_))
        case Union():
            return " | ".join(_limit_shown(_format_options(type_.options[: _MAX_SHOWN + 1], briefly)))
        case Object():
            return type_.name or _format_fields(type_, literals, briefly)
        case AIResultType():
            return format_type(type_.inner, literals=literals, briefly=briefly)
        case CallableType():
            return _format_function(type_, briefly)


def _format_fields(type_: Object, literals: bool, briefly: bool) -> str:
    fields = islice(type_.fields.items(), _MAX_SHOWN + 1)
    parts = [f"{n}{'?' * f.optional}: {format_type(f.type, literals=literals, briefly=briefly)}" for n, f in fields]
    return f"{{{', '.join(_limit_shown(parts))}}}"


def _format_inner(type_: Array | Map, literals: bool, briefly: bool) -> str:
    inner = type_.inner
    return (
        inner.name or "…"
        if isinstance(inner, TypeReference)
        else format_type(inner, literals=literals, briefly=briefly)
    )


def _format_array(type_: Array, literals: bool, briefly: bool) -> str:
    inner = _format_inner(type_, literals, briefly)
    if isinstance(type_.inner, CallableType) or (isinstance(type_.inner, Union) and " | " in inner):
        return f"({inner})[]"
    return f"{inner}[]" if type_.inner != NEVER else "[]"


def _format_option(type_: Type, briefly: bool) -> str:
    text = format_type(type_, briefly=briefly)
    return f"({text})" if isinstance(type_, CallableType) else text


def _format_function(type_: CallableType, briefly: bool) -> str:
    if type_.is_unchecked:
        return "a function"
    parameters = [format_type(each, briefly=briefly) for each in type_.parameters]
    if type_.variadic:
        parameters[-1] += ", …"
    return f"({', '.join(parameters)}) => {format_type(type_.returns, briefly=briefly)}"


def _format_options(options: tuple[Type, ...], briefly: bool) -> list[str]:
    """Format options; objects that share a name are formatted by their fields."""
    texts = [_format_option(each, briefly) for each in options]
    if briefly:
        return list(dict.fromkeys(texts))
    return [
        _format_fields(each, literals=True, briefly=True)
        if isinstance(each, Object) and texts.count(text) > 1
        else text
        for each, text in zip(options, texts, strict=True)
    ]


def _limit_shown(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _MAX_SHOWN else [*parts[:_MAX_SHOWN], "…"]


def format_type_short(type_: Type) -> str:
    """Return a type for a message, truncated where it is long."""
    return _truncate(format_type(type_))


def format_type_general(type_: Type) -> str:
    """Return a type for a message, with base types in place of literals."""
    return _truncate(format_type(type_, literals=False))


def _truncate(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


def hint_fields(type_: Object) -> str:
    """Return a hint that lists the fields of an object type."""
    names = [f"`{name}`" for name in islice(type_.fields, 8)]
    return f"its fields are {', '.join(names)}" if names else "it has no fields"
