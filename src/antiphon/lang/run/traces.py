"""Errors of Python, told in the language's terms, with the program's own call stack."""

from __future__ import annotations

import re
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, cast

from antiphon.errors import AntiphonError, ProviderError
from antiphon.lang.compile.code import MANGLED, Code
from antiphon.lang.run.errors import Frame, Stopped, VibeError
from antiphon.lang.run.values import Box, json_text

#: What the frames of functions without a name are called.
_NAMELESS = "a function without a name"
#: Under this name the globals of every running module hold its `Code`.
CODE = "_vcode"


def translated(error: BaseException) -> VibeError:
    """The error as the program knows it; one that knows its frames already is itself."""
    trace = error.__traceback__
    if isinstance(error, Stopped):
        error = error.error
    known = error if isinstance(error, VibeError) else in_our_words(error, trace)
    if not known.frames:
        known.frames = frames_of(trace)
        if known is not error:
            known.__cause__ = error
    return known


def in_our_words(error: BaseException, trace: TracebackType | None) -> VibeError:
    """An error of Python as the language says it."""
    match error:
        case KeyError(args=(str(key),)) if _is_our_own(trace):
            hint = "`m[key] ?? …` and `m.get(key, …)` give a default; `m.has(key)` says whether it is there"
            return VibeError("V0907", f"the map has no key {json_text(key)}", hint)
        case RecursionError():
            return VibeError("V0913", "functions call one another too deeply", "is there a call that never ends?")
        case ZeroDivisionError():
            return VibeError("V0904", "division by zero", "test what it is divided by before: `if n != 0 { … }`")
        case OverflowError():
            return VibeError("V0904", "the result is too large for a number")
        case IndexError():
            is_empty = "pop" in str(error)
            said = "the array is empty: there is nothing to pop" if is_empty else _outside(trace)
            hint = "positions go from 0 to `length - 1`, and the last is also -1; `length` says how many there are"
            return VibeError("V0903", said, "" if is_empty else hint)
        case UnboundLocalError() | NameError():
            name = str(getattr(error, "name", "") or "").removeprefix(MANGLED)
            return VibeError("V0914", f"`{name}` has no value yet", "it is used before its declaration has run")
        case AttributeError(obj=Box(name=name)):
            return VibeError("V0914", f"`{name}` has no value yet", "it is used before its declaration has run")
        case ProviderError():
            return VibeError("V0920", str(error))
        case AntiphonError() if type(error).__name__ == "ReturnError":
            return VibeError("V0916", str(error))
        case AntiphonError():
            return VibeError("V0921", str(error))
        case ValueError() if "integer string conversion" in _words(error):
            return VibeError("V0904", "a number of more than 4300 digits cannot be written out")
        case MemoryError():
            return VibeError("V0904", "there is not enough memory for this")
        case TypeError() if "indices must be integers" in _words(error):
            return VibeError("V0902", "an index is a whole number")
        case TypeError() if "object is not callable" in _words(error) and _is_our_own(trace):
            return VibeError("V0902", "this is no function, and cannot be called")
        case KeyError() if not _has_python(trace):
            return VibeError("V0907", f"the object has no field `{_words(error)[1:-1]}`")
        case _ if not _has_python(trace):
            return VibeError("V0902", "a value of another kind is wanted here")
        case _:
            words = _words(error)
            said = f"{type(error).__name__}: {words}" if words else type(error).__name__
            return VibeError("V0915", f"Python code failed: {said}")


def _outside(trace: TracebackType | None) -> str:
    """That an index is out of bounds; which, and of how many, where both are variables or the index is written out."""
    said = "the index is out of bounds"
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = _frame(trace.tb_frame, trace.tb_lasti) if trace is not None else None
    found = _INDEXED.match(place.source.text[place.start : place.end]) if place is not None else None
    if trace is None or found is None:
        return said
    values, index = (_value_of(each, trace.tb_frame) for each in found.groups())
    count = len(cast(list[Any], values)) if isinstance(values, list | str) else 0
    if not isinstance(values, list | str) or type(index) is not int or -count <= index < count:
        # Another variable has that name here.
        return said
    return f"index {index} is out of bounds: the {'text' if isinstance(values, str) else 'array'} has {count}"


#: All of an expression, or what is assigned to.
_INDEXED = re.compile(r"([^\W\d]\w*(?:\.\w+)*)\[(-?\d+|[^\W\d]\w*)\](?=\s*(?:$|[-+*/%]?=(?!=)))")


def _value_of(written: str, frame: FrameType) -> Any:
    if written.lstrip("-").isdigit():
        return int(written)
    known = {**frame.f_globals, **frame.f_locals}
    first, *members = written.split(".")
    value = known.get(first, known.get(MANGLED + first))
    for each in members:
        value = cast(dict[str, Any], value).get(each) if isinstance(value, dict) else None
    return value


def _has_python(trace: TracebackType | None) -> bool:
    """Whether Python that somebody wrote may have to do with an error: a module of the program has some."""
    found = False
    while trace is not None:
        code: Code | None = trace.tb_frame.f_globals.get(CODE)
        if code is not None and code.has_python:
            return True
        found, trace = found or code is not None, trace.tb_next
    return not found


def _words(error: BaseException) -> str:
    """What an error of Python says; its class may be anybody's, and fail at that."""
    try:
        return str(error)
    except Exception:
        return ""


def _is_our_own(trace: TracebackType | None) -> bool:
    """Whether an error is of an operation of the program itself, and of nothing that it called."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and _frame(trace.tb_frame, trace.tb_lasti) is not None and not _is_python(trace)


def _is_python(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_name.startswith("_vpy")


def frames_of(trace: TracebackType | None) -> tuple[Frame, ...]:
    """The program's part of a traceback, outermost first. Of endless recursion, the two ends."""
    found: list[Frame] = []
    while trace is not None:
        frame = _frame(trace.tb_frame, trace.tb_lasti)
        if frame is not None:
            found.append(frame)
        trace = trace.tb_next
    return tuple(found if len(found) <= 60 else [*found[:30], *found[-30:]])


def _frame(frame: Any, instruction: int) -> Frame | None:
    code: Code | None = frame.f_globals.get(CODE)
    python: CodeType = frame.f_code
    if code is None or python.co_filename != code.source.name:
        return None
    start, end = span_at(code, python, instruction)
    name = python.co_name.removeprefix(MANGLED)
    if python.co_name == "main":
        name = "the top level"
    elif python.co_name in ("<listcomp>", "<genexpr>"):
        name = _NAMELESS
    elif python.co_name.startswith("_v"):
        name = {"_vp": "a py block", "_va": "async for", "_vt": "a test", "_vf": _NAMELESS}.get(
            python.co_name[:3], name
        )
    return Frame(code.source, name, start, end)


def span_at(code: Code, python: CodeType, instruction: int) -> tuple[int, int]:
    """The span of the source that an instruction was compiled from."""
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
