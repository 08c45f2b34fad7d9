"""What a program is given from outside, read the same at every door: flags, tables, forms, tools and Python.

Text is itself where text is wanted, and a literal where it is one; everything else is JSON. Nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

from antiphon._json import decode
from antiphon._suggestions import nearest
from antiphon.lang.check.notation import show
from antiphon.lang.check.types import JSON, NULL, PROMPT, TEXT, Array, Literal, Map, Object, Type, options_of
from antiphon.lang.compile.code import Code, Given
from antiphon.lang.run.errors import Frame, VibeError
from antiphon.lang.run.fitting import misfit
from antiphon.lang.run.values import from_python, unwrap

#: So much of a wrong value is told, in characters.
_TOLD = 60
#: What is told of a value that nobody may see.
_HIDDEN = "what was given, which is private"


class Fault(NamedTuple):
    """What is wrong with one name; a `kind` of missing, unknown or wrong."""

    name: str
    kind: str
    said: str


class InputError(VibeError):
    """Values that a program cannot start with; `faults` says all that is wrong with them."""

    def __init__(self, faults: list[Fault], hint: str = "") -> None:
        super().__init__("V0925", "\n".join(each.said for each in faults), hint)
        self.faults = faults


class Misread(Exception):
    """A text or value that is not of the type which is wanted."""


def inputs_of(code: Code) -> dict[str, Given]:
    """What a program can be given: its inputs, or where it declares none, the variables of its top level."""
    declared = {name: each for name, each in code.inputs.items() if each.is_input}
    return declared or dict(code.inputs)


def checked(code: Code, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of Python or JSON, each of the type of its input; `InputError` says all that is wrong."""
    return taken(code, given, fitting)


def read(code: Code, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same, of which texts are read as their types."""
    return taken(code, given, read_one)


def taken(code: Code, given: Mapping[str, Any], take: Callable[[str, Type, Any], Any]) -> dict[str, Any]:
    """What is given, each taken in one way; `InputError` says all that is wrong: missing, unknown, of another type."""
    known = inputs_of(code)
    out: dict[str, Any] = {}
    faults = [_missing(each) for name, each in known.items() if each.is_required and name not in given]
    for name, value in given.items():
        if name not in known:
            faults.append(_unknown(code, known, name))
            continue
        try:
            out[name] = take(name, known[name].type, value)
        except Misread as wrong:
            is_private = known[name].is_private
            said = f"`{name}`: {show(known[name].type)} is wanted, not {_HIDDEN}" if is_private else str(wrong)
            faults.append(Fault(name, "wrong", said))
    if faults:
        raise _error(code, known, faults)
    return out


def read_one(name: str, wanted: Type, value: Any) -> Any:
    """A text read as a type; what is no text is looked at as it is."""
    return read_text(name, wanted, value) if isinstance(value, str) else fitting(name, wanted, value)


def read_text(name: str, wanted: Type, text: str) -> Any:
    """The value of a type that a text says."""
    options = options_of(wanted)
    if TEXT in options or PROMPT in options or Literal(text) in options:
        return text
    if NULL in options and not text.strip():
        return None
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        how = " as JSON" if wanted == JSON or any(isinstance(each, Array | Map | Object) for each in options) else ""
        raise Misread(f"`{name}`: {show(wanted)} is wanted{how}, not {_told(text)}") from None
    if isinstance(value, str | int | float | bool | None) and misfit(value, wanted, name):
        raise Misread(f"`{name}`: {show(wanted)} is wanted, not {_told(text)}")
    return fitting(name, wanted, value)


def fitting(name: str, wanted: Type, value: Any) -> Any:
    """A value of Python or JSON, as it is, if it is of the type."""
    value = unwrap(from_python(value, "the input"))
    if fault := misfit(value, wanted, name):
        raise Misread(fault)
    return value


def schema_of(inputs: Mapping[str, Given]) -> dict[str, Any]:
    """The JSON Schema of an object of these inputs."""
    from inspect import Parameter, Signature

    from antiphon.lang.run.tooling import described, parameter, python_type
    from antiphon.tools.signature import Arguments

    class Nobody: ...

    def taking(**_: Any) -> None: ...

    annotations = {name: described(python_type(each.type), each.description) for name, each in inputs.items()}
    taking.__annotations__ = annotations
    # Of a function, `self` would be taken for the object of a method.
    whole: Any = partial(taking)
    whole.__doc__, whole.__signature__ = (
        "",
        Signature(
            [
                parameter(name, annotations[name], Parameter.empty if each.is_required else each.default)
                for name, each in inputs.items()
            ]
        ),
    )
    return Arguments.of(whole, Nobody).schema


def schema_of_type(type_: Type) -> dict[str, Any]:
    """The JSON Schema of one type."""
    from pydantic import TypeAdapter

    from antiphon.lang.run.tooling import python_type
    from antiphon.tools.signature import without_titles

    return cast(dict[str, Any], without_titles(TypeAdapter(python_type(type_)).json_schema()))


# What is wrong


def _missing(each: Given) -> Fault:
    told = f": {each.description}" if each.description else ""
    return Fault(each.name, "missing", f"`{each.name}` is not given ({show(each.type)}{told})")


def _unknown(code: Code, known: Mapping[str, Given], name: str) -> Fault:
    meant = nearest(name, known)
    likely = f"; did you mean `{meant}`?" if meant else ""
    if name in code.names and not likely:
        return Fault(name, "unknown", f"`{name}` takes no value from outside")
    what = "input" if any(each.is_input for each in known.values()) else "variable of the top level"
    return Fault(name, "unknown", f"there is no {what} `{name}`{likely}")


def _error(code: Code, known: Mapping[str, Given], faults: list[Fault]) -> InputError:
    hint = f"these can be given: {', '.join(known) or 'none'}"
    error = InputError(faults, hint if any(each.kind == "unknown" for each in faults) else "")
    if where := next((known[each.name] for each in faults if each.name in known), None):
        error.frames = (Frame(code.source, "main", where.start, where.end),)
    return error


def _told(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= _TOLD else f"{shown[:_TOLD]}…"
