"""Types as they are written, for messages and for people."""

from __future__ import annotations

from itertools import islice

from antiphon.lang.check.types import AI, NEVER, Alias, Array, Callable, Literal, Map, Object, Simple, Type, Union, base

#: So many fields or options of a type are shown.
_MOST_SHOWN = 12


def show(type_: Type, *, literals: bool = True) -> str:
    """The type as it is written, with an ellipsis where it is long. Without `literals`, `"low"` is just text."""
    match type_:
        case Simple():
            return type_.name
        case Array():
            return _shown_array(type_, literals)
        case Map():
            return f"{{ [text]: {_shown_inside(type_, literals)} }}"
        case Literal():
            from antiphon._json import dumps

            return dumps(type_.value) if literals else show(base(type_))
        case Union():
            return " | ".join(_some(_shown_options(type_.options[: _MOST_SHOWN + 1])))
        case Object():
            if type_.name:
                return type_.name
            fields = islice(type_.fields.items(), _MOST_SHOWN + 1)
            parts = [f"{n}{'?' * f.optional}: {show(f.type, literals=literals)}" for n, f in fields]
            return f"{{{', '.join(_some(parts))}}}"
        case AI():
            return show(type_.inner, literals=literals)
        case Callable():
            return _function(type_)


def _shown_inside(type_: Array | Map, literals: bool) -> str:
    inner = type_.inner
    return inner.name or "…" if isinstance(inner, Alias) else show(inner, literals=literals)


def _shown_array(type_: Array, literals: bool) -> str:
    inner = _shown_inside(type_, literals)
    if isinstance(type_.inner, Union | Callable):
        return f"({inner})[]"
    return f"{inner}[]" if type_.inner != NEVER else "[]"


def _option(type_: Type) -> str:
    return f"({show(type_)})" if isinstance(type_, Callable) else show(type_)


def _function(type_: Callable) -> str:
    if type_.unchecked:
        return "a function"
    parameters = [show(each) for each in type_.parameters]
    if type_.variadic:
        parameters[-1] += ", …"
    return f"({', '.join(parameters)}) => {show(type_.returns)}"


def _shown_options(options: tuple[Type, ...]) -> list[str]:
    """Options as they are written; of objects that share a name, their fields."""
    texts = [_option(each) for each in options]
    return [
        show(Object(each.fields)) if isinstance(each, Object) and texts.count(text) > 1 else text
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
