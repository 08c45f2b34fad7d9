"""Validation of a program's inputs, the same for flags, tables, forms, tools and Python.

A text stays itself where text is wanted, and matches a literal type; any other text is parsed as JSON.
Nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.json import decode_json
from antiphon.lang.codegen.code_object import ModuleCode, ProgramInput
from antiphon.lang.runtime.errors import StackFrame, VibeError
from antiphon.lang.runtime.tools_and_types import annotate_description, make_parameter, to_python_type
from antiphon.lang.runtime.type_conversion import describe_mismatch
from antiphon.lang.runtime.values import from_python, unwrap_answer
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.type_printer import format_type

#: At most so many characters of an invalid value are quoted.
_MAX_QUOTED_LENGTH = 60
#: Stands for a private value in messages.
_PRIVATE_VALUE_TEXT = "a private value"


class InputFault(NamedTuple):
    """A problem with one input; `kind` is missing, unknown or wrong."""

    name: str
    kind: str
    said: str


class InputError(VibeError):
    """Inputs that a program cannot start with; `faults` lists all problems."""

    def __init__(self, faults: list[InputFault], hint: str = "") -> None:
        super().__init__("V0925", "\n".join(each.said for each in faults), hint)
        self.faults = faults


class InputMismatch(Exception):
    """A text or value does not have the wanted type."""


def list_inputs(code: ModuleCode) -> dict[str, ProgramInput]:
    """Return what a program accepts: its declared inputs, or if there are none, its top-level variables."""
    declared = {name: each for name, each in code.inputs.items() if each.is_input}
    return declared or dict(code.inputs)


def check_inputs(code: ModuleCode, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check Python or JSON values against the types of the inputs; raise an `InputError` with all problems."""
    return convert_inputs(code, given, check_input_value)


def parse_inputs(code: ModuleCode, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parse texts and check other values as inputs; raise an `InputError` with all problems."""
    return convert_inputs(code, given, parse_input)


def convert_inputs(
    code: ModuleCode, given: Mapping[str, Any], take: Callable[[str, t.Type, Any], Any]
) -> dict[str, Any]:
    """Convert all inputs with `take`; raise an `InputError` with all that are missing, unknown or wrong."""
    known = list_inputs(code)
    out: dict[str, Any] = {}
    faults = [_make_missing_fault(each) for name, each in known.items() if each.is_required and name not in given]
    for name, value in given.items():
        if name not in known:
            faults.append(_make_unknown_fault(code, known, name))
            continue
        try:
            out[name] = take(name, known[name].type, value)
        except InputMismatch as wrong:
            is_private = known[name].is_private
            said = (
                f"`{name}`: expected {format_type(known[name].type)}, found {_PRIVATE_VALUE_TEXT}"
                if is_private
                else str(wrong)
            )
            faults.append(InputFault(name, "wrong", said))
    if faults:
        raise _make_input_error(code, known, faults)
    return out


def parse_input(name: str, wanted: t.Type, value: Any) -> Any:
    """Parse a text as a type; check any other value as it is."""
    return parse_text_input(name, wanted, value) if isinstance(value, str) else check_input_value(name, wanted, value)


def parse_text_input(name: str, wanted: t.Type, text: str) -> Any:
    """Parse a text as a value of a type."""
    options = t.union_options(wanted)
    if t.TEXT in options or t.PROMPT in options or t.Literal(text) in options:
        return text
    if t.NULL in options and not text.strip():
        return None
    try:
        value = decode_json(text)
    except (ValueError, RecursionError):
        how = (
            " as JSON"
            if wanted == t.JSON or any(isinstance(each, t.Array | t.Map | t.Object) for each in options)
            else ""
        )
        raise InputMismatch(f"`{name}`: expected {format_type(wanted)}{how}, found {_quote_text(text)}") from None
    if isinstance(value, str | int | float | bool | None) and describe_mismatch(value, wanted, name):
        raise InputMismatch(f"`{name}`: expected {format_type(wanted)}, found {_quote_text(text)}")
    return check_input_value(name, wanted, value)


def check_input_value(name: str, wanted: t.Type, value: Any) -> Any:
    """Return a Python or JSON value if it has the type; else raise `InputMismatch`."""
    value = unwrap_answer(from_python(value, "the input"))
    if fault := describe_mismatch(value, wanted, name):
        raise InputMismatch(fault)
    return value


def make_inputs_schema(inputs: Mapping[str, ProgramInput]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these inputs."""
    from inspect import Parameter, Signature

    from antiphon.tools.function_schema import FunctionSchema

    class Nobody: ...

    def taking(**_: Any) -> None: ...

    annotations = {
        name: annotate_description(to_python_type(each.type), each.description) for name, each in inputs.items()
    }
    taking.__annotations__ = annotations
    # In a plain function, a parameter `self` would be taken for that of a method.
    whole: Any = partial(taking)
    whole.__doc__, whole.__signature__ = (
        "",
        Signature(
            [
                make_parameter(name, annotations[name], Parameter.empty if each.is_required else each.default)
                for name, each in inputs.items()
            ]
        ),
    )
    return FunctionSchema.of(whole, Nobody).schema


def make_type_schema(type_: t.Type) -> dict[str, Any]:
    """Return the JSON Schema of one type."""
    from pydantic import TypeAdapter

    from antiphon.tools.function_schema import strip_schema_titles

    return cast(dict[str, Any], strip_schema_titles(TypeAdapter(to_python_type(type_)).json_schema()))


# Faults


def _make_missing_fault(each: ProgramInput) -> InputFault:
    told = f": {each.description}" if each.description else ""
    return InputFault(each.name, "missing", f"`{each.name}` is not given ({format_type(each.type)}{told})")


def _make_unknown_fault(code: ModuleCode, known: Mapping[str, ProgramInput], name: str) -> InputFault:
    meant = suggest_name(name, known)
    likely = f"; did you mean `{meant}`?" if meant else ""
    if name in code.names and not likely:
        return InputFault(name, "unknown", f"`{name}` takes no value from outside")
    what = "input" if any(each.is_input for each in known.values()) else "variable of the top level"
    return InputFault(name, "unknown", f"there is no {what} `{name}`{likely}")


def _make_input_error(code: ModuleCode, known: Mapping[str, ProgramInput], faults: list[InputFault]) -> InputError:
    hint = f"these can be given: {', '.join(known) or 'none'}"
    error = InputError(faults, hint if any(each.kind == "unknown" for each in faults) else "")
    if where := next((known[each.name] for each in faults if each.name in known), None):
        error.frames = (StackFrame(code.source, "main", where.start, where.end),)
    return error


def _quote_text(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= _MAX_QUOTED_LENGTH else f"{shown[:_MAX_QUOTED_LENGTH]}…"
