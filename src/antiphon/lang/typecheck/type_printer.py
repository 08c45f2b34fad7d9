"""Formatting of types for messages."""

from __future__ import annotations

from itertools import islice

from antiphon.lang.typecheck import types as t

#: The maximum number of fields or options that are shown.
_MAX_SHOWN = 12


def format_type(type_: t.Type, *, literals: bool = True, briefly: bool = False) -> str:
    """Return a type in the language's notation, with an ellipsis where it is long.

    Without `literals`, `"low"` is printed as text.

    Options with the same name are distinguished by their fields. `briefly` turns that off, as the name may recur
    in them.
    """
    match type_:
        case t.SimpleType():
            return type_.name
        case t.Array():
            inner = _format_inner(type_, literals, briefly)
            if isinstance(type_.inner, t.CallableType) or (isinstance(type_.inner, t.Union) and " | " in inner):
                return f"({inner})[]"
            return f"{inner}[]" if type_.inner != t.NEVER else "[]"
        case t.Map():
            return f"{{ [text]: {_format_inner(type_, literals, briefly)} }}"
        case t.Literal():
            from antiphon._base.json import dump_json

            return dump_json(type_.value) if literals else format_type(t.get_base_type(type_))
        case t.Union():
            return " | ".join(_limit_shown(_format_options(type_.options[: _MAX_SHOWN + 1], briefly)))
        case t.Object():
            return type_.name or _format_fields(type_, literals, briefly)
        case t.AIResultType():
            return format_type(type_.inner, literals=literals, briefly=briefly)
        case t.CallableType():
            if type_.is_unchecked:
                return "a function"
            parameters = [format_type(each, briefly=briefly) for each in type_.parameters]
            if type_.variadic:
                parameters[-1] += ", …"
            return f"({', '.join(parameters)}) => {format_type(type_.returns, briefly=briefly)}"


def _format_fields(type_: t.Object, literals: bool, briefly: bool) -> str:
    fields = islice(type_.fields.items(), _MAX_SHOWN + 1)
    parts = [f"{n}{'?' * f.optional}: {format_type(f.type, literals=literals, briefly=briefly)}" for n, f in fields]
    return f"{{{', '.join(_limit_shown(parts))}}}"


def _format_inner(type_: t.Array | t.Map, literals: bool, briefly: bool) -> str:
    inner = type_.inner
    if isinstance(inner, t.TypeReference):
        return inner.name or "…"
    return format_type(inner, literals=literals, briefly=briefly)


def _format_option(type_: t.Type, briefly: bool) -> str:
    text = format_type(type_, briefly=briefly)
    return f"({text})" if isinstance(type_, t.CallableType) else text


def _format_options(options: tuple[t.Type, ...], briefly: bool) -> list[str]:
    """Format options; objects that share a name are formatted by their fields."""
    texts = [_format_option(each, briefly) for each in options]
    if briefly:
        return list(dict.fromkeys(texts))
    return [
        _format_fields(each, literals=True, briefly=True)
        if isinstance(each, t.Object) and texts.count(text) > 1
        else text
        for each, text in zip(options, texts, strict=True)
    ]


def _limit_shown(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _MAX_SHOWN else [*parts[:_MAX_SHOWN], "…"]


def format_type_short(type_: t.Type) -> str:
    """Return a type for a message, truncated where it is long."""
    return _truncate(format_type(type_))


def format_type_general(type_: t.Type) -> str:
    """Return a type for a message, with base types in place of literals."""
    return _truncate(format_type(type_, literals=False))


def _truncate(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


def hint_fields(type_: t.Object) -> str:
    """Return a hint that lists the fields of an object type."""
    names = [f"`{name}`" for name in islice(type_.fields, 8)]
    return f"its fields are {', '.join(names)}" if names else "it has no fields"
