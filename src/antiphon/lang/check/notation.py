"""Types as they are written, for messages and for people."""

from __future__ import annotations

from itertools import islice

from antiphon.lang.check.types import AI, NEVER, Alias, Array, Callable, Literal, Map, Object, Simple, Type, Union, base

#: So many fields or options of a type are shown.
_MOST_SHOWN = 12


def show(type_: Type, *, literals: bool = True, briefly: bool = False) -> str:
    """The type as it is written, with an ellipsis where it is long. Without `literals`, `"low"` is just text.

    Options of one name are told apart by their fields, but for `briefly`: in these fields the name may stand again.
    """
    match type_:
        case Simple():
            return type_.name
        case Array():
            return _shown_array(type_, literals, briefly)
        case Map():
            return f"{{ [text]: {_shown_inside(type_, literals, briefly)} }}"
        case Literal():
            from antiphon._json import dumps

            return dumps(type_.value) if literals else show(base(type_))
        case Union():
            return " | ".join(_some(_shown_options(type_.options[: _MOST_SHOWN + 1], briefly)))
        case Object():
            return type_.name or _shown_fields(type_, literals, briefly)
        case AI():
            return show(type_.inner, literals=literals, briefly=briefly)
        case Callable():
            return _function(type_, briefly)


def _shown_fields(type_: Object, literals: bool, briefly: bool) -> str:
    fields = islice(type_.fields.items(), _MOST_SHOWN + 1)
    parts = [f"{n}{'?' * f.optional}: {show(f.type, literals=literals, briefly=briefly)}" for n, f in fields]
    return f"{{{', '.join(_some(parts))}}}"


def _shown_inside(type_: Array | Map, literals: bool, briefly: bool) -> str:
    inner = type_.inner
    return inner.name or "…" if isinstance(inner, Alias) else show(inner, literals=literals, briefly=briefly)


def _shown_array(type_: Array, literals: bool, briefly: bool) -> str:
    inner = _shown_inside(type_, literals, briefly)
    if isinstance(type_.inner, Callable) or (isinstance(type_.inner, Union) and " | " in inner):
        return f"({inner})[]"
    return f"{inner}[]" if type_.inner != NEVER else "[]"


def _option(type_: Type, briefly: bool) -> str:
    text = show(type_, briefly=briefly)
    return f"({text})" if isinstance(type_, Callable) else text


def _function(type_: Callable, briefly: bool) -> str:
    if type_.unchecked:
        return "a function"
    parameters = [show(each, briefly=briefly) for each in type_.parameters]
    if type_.variadic:
        parameters[-1] += ", …"
    return f"({', '.join(parameters)}) => {show(type_.returns, briefly=briefly)}"


def _shown_options(options: tuple[Type, ...], briefly: bool) -> list[str]:
    """Options as they are written; of objects that share a name, their fields."""
    texts = [_option(each, briefly) for each in options]
    if briefly:
        return list(dict.fromkeys(texts))
    return [
        _shown_fields(each, literals=True, briefly=True) if isinstance(each, Object) and texts.count(text) > 1 else text
        for each, text in zip(options, texts, strict=True)
    ]


def _some(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _MOST_SHOWN else [*parts[:_MOST_SHOWN], "…"]


def shown(type_: Type) -> str:
    """A type for a message, cut where it is long."""
    return _cut(show(type_))


def general(type_: Type) -> str:
    """A type for a message in which it does not matter which text or number it is."""
    return _cut(show(type_, literals=False))


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


def fields_of(type_: Object) -> str:
    """A hint with the fields there are."""
    names = [f"`{name}`" for name in islice(type_.fields, 8)]
    return f"its fields are {', '.join(names)}" if names else "it has no fields"
