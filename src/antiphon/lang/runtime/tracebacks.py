"""Errors as values: translate Python's errors with the program's call stack, and implement `throw` and `catch`."""

from __future__ import annotations

import re
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, NoReturn, cast

from antiphon.errors import AntiphonError, ProviderError
from antiphon.lang.codegen.code_object import MANGLED_PREFIX, ModuleCode
from antiphon.lang.runtime.errors import ProgramAborted, StackFrame, UserError, VibeError
from antiphon.lang.runtime.values import ErrorValue, VariableCell, to_json_text, to_text, unwrap_answer

#: The name of lambdas in call stacks.
_LAMBDA_NAME = "a function without a name"
#: The global of every running module that holds its `ModuleCode`.
CODE_GLOBAL = "_vcode"


def translate_error(error: BaseException) -> VibeError:
    """Return an error as a `VibeError` with the program's call stack; one with frames is returned as it is."""
    trace = error.__traceback__
    if isinstance(error, ProgramAborted):
        error = error.error
    known = error if isinstance(error, VibeError) else convert_python_error(error, trace)
    if not known.frames:
        known.frames = extract_frames(trace)
        if known is not error:
            known.__cause__ = error
    return known


def convert_python_error(error: BaseException, trace: TracebackType | None) -> VibeError:
    """Convert a Python error to a `VibeError` in the language's terms."""
    match error:
        case KeyError(args=(str(key),)) if _is_raised_by_program(trace):
            hint = "`m[key] ?? …` and `m.get(key, …)` give a default; `m.has(key)` says whether it is there"
            return VibeError("V0907", f"the map has no key {to_json_text(key)}", hint)
        case RecursionError():
            return VibeError("V0913", "functions call one another too deeply", "is there a call that never ends?")
        case ZeroDivisionError():
            return VibeError("V0904", "division by zero", "test what it is divided by before: `if n != 0 { … }`")
        case OverflowError():
            return VibeError("V0904", "the result is too large for a number")
        case IndexError():
            is_empty = "pop" in str(error)
            said = "the array is empty: there is nothing to pop" if is_empty else _describe_index_error(trace)
            hint = "positions go from 0 to `length - 1`, and the last is also -1; `length` says how many there are"
            return VibeError("V0903", said, "" if is_empty else hint)
        case UnboundLocalError() | NameError():
            name = str(getattr(error, "name", "") or "").removeprefix(MANGLED_PREFIX)
            return VibeError("V0914", f"`{name}` has no value yet", "it is used before its declaration has run")
        case AttributeError(obj=VariableCell(name=name)):
            return VibeError("V0914", f"`{name}` has no value yet", "it is used before its declaration has run")
        case ProviderError():
            return VibeError("V0920", str(error))
        case AntiphonError() if type(error).__name__ == "ReturnError":
            return VibeError("V0916", str(error))
        case AntiphonError():
            return VibeError("V0921", str(error))
        case ValueError() if "integer string conversion" in _get_message(error):
            return VibeError("V0904", "a number of more than 4300 digits cannot be written out")
        case MemoryError():
            return VibeError("V0904", "there is not enough memory for this")
        case TypeError() if "indices must be integers" in _get_message(error):
            return VibeError("V0902", "an index must be an integer")
        case TypeError() if "object is not callable" in _get_message(error) and _is_raised_by_program(trace):
            return VibeError("V0902", "this is not a function and cannot be called")
        case KeyError() if not _may_involve_python(trace):
            return VibeError("V0907", f"the object has no field `{_get_message(error)[1:-1]}`")
        case _ if not _may_involve_python(trace):
            return VibeError("V0902", "this value has the wrong type for this operation")
        case _:
            words = _get_message(error)
            said = f"{type(error).__name__}: {words}" if words else type(error).__name__
            return VibeError("V0915", f"Python code failed: {said}")


def _describe_index_error(trace: TracebackType | None) -> str:
    """Return the message for an index out of bounds, with index and length if both can be read from the frame."""
    said = "the index is out of bounds"
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = _make_stack_frame(trace.tb_frame, trace.tb_lasti) if trace is not None else None
    found = _INDEX_EXPRESSION.match(place.source.text[place.start : place.end]) if place is not None else None
    if trace is None or found is None:
        return said
    values, index = (_evaluate_name(each, trace.tb_frame) for each in found.groups())
    count = len(cast(list[Any], values)) if isinstance(values, list | str) else 0
    if not isinstance(values, list | str) or type(index) is not int or -count <= index < count:
        # The name belongs to another variable in this frame.
        return said
    return f"index {index} is out of bounds: the {'text' if isinstance(values, str) else 'array'} has {count}"


#: An index expression on its own, or as the target of an assignment.
_INDEX_EXPRESSION = re.compile(r"([^\W\d]\w*(?:\.\w+)*)\[(-?\d+|[^\W\d]\w*)\](?=\s*(?:$|[-+*/%]?=(?!=)))")


def _evaluate_name(written: str, frame: FrameType) -> Any:
    if written.lstrip("-").isdigit():
        return int(written)
    known = {**frame.f_globals, **frame.f_locals}
    first, *members = written.split(".")
    value = known.get(first, known.get(MANGLED_PREFIX + first))
    for each in members:
        value = cast(dict[str, Any], value).get(each) if isinstance(value, dict) else None
    return value


def _may_involve_python(trace: TracebackType | None) -> bool:
    """Return True if Python code of the program may have caused an error: one of its modules contains some."""
    found = False
    while trace is not None:
        code: ModuleCode | None = trace.tb_frame.f_globals.get(CODE_GLOBAL)
        if code is not None and code.has_python:
            return True
        found, trace = found or code is not None, trace.tb_next
    return not found


def _get_message(error: BaseException) -> str:
    """Return the message of a Python error, empty if its class fails to format it."""
    try:
        return str(error)
    except Exception:
        return ""


def _is_raised_by_program(trace: TracebackType | None) -> bool:
    """Return True if an operation of the program itself raised the error, not something it called."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        trace is not None
        and _make_stack_frame(trace.tb_frame, trace.tb_lasti) is not None
        and not trace.tb_frame.f_code.co_name.startswith("_vpy")
    )


def extract_frames(trace: TracebackType | None) -> tuple[StackFrame, ...]:
    """Return the program's frames of a traceback, outermost first; of a very long one, only both ends."""
    found: list[StackFrame] = []
    while trace is not None:
        frame = _make_stack_frame(trace.tb_frame, trace.tb_lasti)
        if frame is not None:
            found.append(frame)
        trace = trace.tb_next
    return tuple(found if len(found) <= 60 else [*found[:30], *found[-30:]])


def _make_stack_frame(frame: Any, instruction: int) -> StackFrame | None:
    code: ModuleCode | None = frame.f_globals.get(CODE_GLOBAL)
    python: CodeType = frame.f_code
    if code is None or python.co_filename != code.source.name:
        return None
    start, end = find_source_span(code, python, instruction)
    name = python.co_name.removeprefix(MANGLED_PREFIX)
    if python.co_name == "main":
        name = "the top level"
    elif python.co_name in ("<listcomp>", "<genexpr>"):
        name = _LAMBDA_NAME
    elif python.co_name.startswith("_v"):
        name = {"_vp": "a py block", "_va": "async for", "_vt": "a test", "_vf": _LAMBDA_NAME}.get(
            python.co_name[:3], name
        )
    return StackFrame(code.source, name, start, end)


def find_source_span(code: ModuleCode, python: CodeType, instruction: int) -> tuple[int, int]:
    """Return the span of source that an instruction was compiled from."""
    position = next(islice(python.co_positions(), instruction // 2, None), (None, None, None, None))
    line, end_line, column, end_column = position
    if line is None:
        return 0, 0
    source = code.source
    if python.co_name.startswith("_vpy") or column is None or end_column is None:
        text = source.line(min(line, source.line_count))
        start = source.offset(line, 0) + len(text) - len(text.lstrip())
        return start, start + len(text.strip())
    return source.offset(line, column), source.offset(end_line or line, end_column)


def make_thrown_error(value: Any) -> VibeError:
    """Return the error that `throw` raises.

    Its message is the text, or the `message` of an object; a caught error keeps its code.
    """
    if value.__class__ is str:
        return UserError(value, value)
    value = unwrap_answer(value)
    message = value.get("message") if isinstance(value, dict) else None  # type: ignore[reportUnknownVariableType]
    error = UserError(value, to_text(cast(Any, message if isinstance(message, str) else value)))
    if isinstance(value, ErrorValue):
        error.code = value["code"]
    return error


def make_error_value(error: BaseException) -> ErrorValue:
    """Return the value that `catch` gives for an error.

    The error's cause and context are dropped, because Python walks that chain whenever an error is thrown
    again.
    """
    known = error if isinstance(error, VibeError) else convert_python_error(error, error.__traceback__)
    error.__context__ = error.__cause__ = None
    value = known.value
    if value.__class__ is ErrorValue:
        return value
    out = ErrorValue()
    # Set one by one: a dict display would allocate a second dict.
    out["message"] = known.message
    out["code"] = known.code
    out["value"] = value
    return out


def throw_value(value: Any) -> NoReturn:
    """Run `throw` where a value is expected."""
    raise make_thrown_error(value)
