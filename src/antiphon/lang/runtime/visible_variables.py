"""Read the variables in scope from the live frames, to show them to a model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import FrameType, FunctionType, MethodType
from typing import Any, cast

from antiphon.lang.codegen.code_object import MANGLED_PREFIX, ModuleCode, ScopeVariable
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.tracebacks import CODE_GLOBAL, find_source_span
from antiphon.lang.runtime.values import VariableCell, to_json_text, unwrap_answer
from antiphon.lang.runtime.variable_updates import VariableFrame, VariableLine
from antiphon.lang.typecheck.type_printer import format_type
from antiphon.lang.typecheck.types import AIResultType, widen_type

#: At most so many characters of one value are shown.
_VALUE_LIMIT = 2_000
_MISSING = object()


def collect_frames(depth: int, only_innermost: bool, around: Sequence[VariableFrame] = ()) -> list[VariableFrame]:
    """Return the variables of this thread's frames, outermost first, after those of the frames `around` it.

    `depth` frames of the runtime are skipped. With `only_innermost`, return the current function's alone,
    with its position among all.
    """
    frame: FrameType | None = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    found: list[VariableFrame | None] = []
    is_inside = True
    while frame is not None:
        code: ModuleCode | None = frame.f_globals.get(CODE_GLOBAL)
        if code is not None and frame.f_code.co_filename == code.source.name:
            found.append(_make_frame(frame, code) if is_inside or not only_innermost else None)
            is_inside = is_inside and frame.f_code.co_name.startswith("_vasync")
        frame = frame.f_back
    first = max((frame.place for frame in around), default=-1) + 1
    placed = [replace(each, place=first + place) for place, each in enumerate(found[::-1]) if each and each.lines]
    return placed if only_innermost else [*around, *placed]


def _make_frame(frame: FrameType, code: ModuleCode) -> VariableFrame:
    python = frame.f_code
    known = code.scopes.get((python.co_name, python.co_firstlineno)) or ()
    seen: dict[str, VariableLine] = {}
    if known:
        position, _ = find_source_span(code, python, frame.f_lasti)
        local: dict[str, Any] = frame.f_locals
        for each in _select_visible(known, position):
            value = local.get(each.python, _MISSING)
            if value is _MISSING:
                value = frame.f_globals.get(each.python, _MISSING)
            value = _resolve_value(value)
            if value is not _MISSING and not _is_not_data(value):
                seen[each.name] = VariableLine(_format_variable_type(each), format_variable_value(value))
    return VariableFrame(0, _make_frame_title(python.co_name), seen)


def _make_frame_title(function: str) -> str:
    if function == "main":
        return "Variables:"
    if function.startswith("_vfn"):
        return "Variables of a function without a name:"
    of = function.removeprefix(MANGLED_PREFIX)
    return f"Variables of {of}:" if of != function or not of.startswith("_v") else "Variables of this round:"


def _select_visible(known: Iterable[ScopeVariable], position: int) -> list[ScopeVariable]:
    """Return the variables in scope at a position; of two with one name, the inner one comes last."""
    inside = [each for each in known if each.since <= position <= each.until and not each.is_private]
    hidden = {each.name for each in known if each.since <= position <= each.until and each.is_private}
    inside = [each for each in inside if each.name not in hidden]
    return sorted(inside, key=lambda each: (each.since, -each.until))


def _resolve_value(value: Any) -> Any:
    """Return a variable's value, or `_MISSING` if it has none to show.

    The value of an `async let` counts from its first use on; before that, it would depend on timing.
    """
    from antiphon.lang.runtime.thread_state import PendingValue

    value = getattr(value, "value", _MISSING) if isinstance(value, VariableCell) else value
    if not isinstance(value, PendingValue):
        return value
    return value.value if value.is_known() else _MISSING


def _is_not_data(value: Any) -> bool:
    from antiphon.lang.runtime.models import ModelValue
    from antiphon.lang.runtime.tools_and_types import VibeTool

    # Functions, tools and models are not data.
    return isinstance(value, ModelValue | VibeTool | FunctionType | MethodType)


def _format_variable_type(variable: ScopeVariable) -> str:
    return format_type(widen_type(variable.type.inner if isinstance(variable.type, AIResultType) else variable.type))


def format_variable_value(value: Any) -> str:
    """Return a value as text for a model; a long one is truncated with a note."""
    value = unwrap_answer(value)
    items = cast(list[Any], value) if isinstance(value, list) else []
    is_long = len(items) > _VALUE_LIMIT
    try:
        # Each item takes at least one character, so no more items than the limit are serialized.
        whole = to_json_text(items[:_VALUE_LIMIT] if is_long else value)
    except (VibeError, ValueError):
        return "(a value that has no text: it contains itself, or is too deep or too large)"
    if len(whole) <= _VALUE_LIMIT:
        return whole
    size = f"{len(items):,} items" if is_long else f"{len(whole):,} characters"
    return f"{whole[:_VALUE_LIMIT]}… [{size} in all]"
