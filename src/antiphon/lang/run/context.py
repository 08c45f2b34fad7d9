"""The variables in scope, read from the live frames when a model is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import FrameType, FunctionType, MethodType
from typing import Any, cast

from antiphon.lang.check.notation import show
from antiphon.lang.check.types import AI, widen
from antiphon.lang.compile.code import MANGLED, Code, Variable
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.traces import CODE, span_at
from antiphon.lang.run.values import Box, json_text, unwrap
from antiphon.lang.run.variables import Frame, Line

#: How much of one value is shown.
_VALUE_LIMIT = 2_000
_MISSING = object()


def variables(depth: int, only_innermost: bool, around: Sequence[Frame] = ()) -> list[Frame]:
    """Return the frames of this thread, outermost first, behind those `around` it. `depth` of our own are left out.

    With `only_innermost`, return those of the current function alone, with the places that they have among all.
    """
    frame: FrameType | None = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    found: list[Frame | None] = []
    is_inside = True
    while frame is not None:
        code: Code | None = frame.f_globals.get(CODE)
        if code is not None and frame.f_code.co_filename == code.source.name:
            found.append(_frame(frame, code) if is_inside or not only_innermost else None)
            is_inside = is_inside and frame.f_code.co_name.startswith("_vasync")
        frame = frame.f_back
    first = max((frame.place for frame in around), default=-1) + 1
    placed = [replace(each, place=first + place) for place, each in enumerate(found[::-1]) if each and each.lines]
    return placed if only_innermost else [*around, *placed]


def _frame(frame: FrameType, code: Code) -> Frame:
    python = frame.f_code
    known = code.scopes.get((python.co_name, python.co_firstlineno)) or ()
    seen: dict[str, Line] = {}
    if known:
        position, _ = span_at(code, python, frame.f_lasti)
        local: dict[str, Any] = frame.f_locals
        for each in _visible(known, position):
            value = local.get(each.python, _MISSING)
            if value is _MISSING:
                value = frame.f_globals.get(each.python, _MISSING)
            value = _known(value)
            if value is not _MISSING and not _is_hidden(value):
                seen[each.name] = Line(_type(each), shown(value))
    return Frame(0, _title(python.co_name), seen)


def _title(function: str) -> str:
    if function == "main":
        return "Variables:"
    if function.startswith("_vfn"):
        return "Variables of a function without a name:"
    of = function.removeprefix(MANGLED)
    return f"Variables of {of}:" if of != function or not of.startswith("_v") else "Variables of this round:"


def _visible(known: Iterable[Variable], position: int) -> list[Variable]:
    """What is in scope at a position; of two with one name, the inner one comes last and wins."""
    inside = [each for each in known if each.since <= position <= each.until and not each.is_private]
    hidden = {each.name for each in known if each.since <= position <= each.until and each.is_private}
    inside = [each for each in inside if each.name not in hidden]
    return sorted(inside, key=lambda each: (each.since, -each.until))


def _known(value: Any) -> Any:
    """The value of an `async let` once it was used; before that, whether it is there depends on timing alone."""
    from antiphon.lang.run.threads import Pending

    value = getattr(value, "value", _MISSING) if isinstance(value, Box) else value
    if not isinstance(value, Pending):
        return value
    return value.value if value.is_known() else _MISSING


def _is_hidden(value: Any) -> bool:
    from antiphon.lang.run.models import ModelValue
    from antiphon.lang.run.tooling import VibeTool

    # Functions are no data: there is nothing of them to show.
    return isinstance(value, ModelValue | VibeTool | FunctionType | MethodType)


def _type(variable: Variable) -> str:
    return show(widen(variable.type.inner if isinstance(variable.type, AI) else variable.type))


def shown(value: Any) -> str:
    """A value as a model sees it; a long one is cut with a note."""
    value = unwrap(value)
    items = cast(list[Any], value) if isinstance(value, list) else []
    is_long = len(items) > _VALUE_LIMIT
    try:
        # An item takes a character at least: of a long array, no more is written out than may be shown.
        whole = json_text(items[:_VALUE_LIMIT] if is_long else value)
    except (VibeError, ValueError):
        return "(a value that has no text: it contains itself, or is too deep or too large)"
    if len(whole) <= _VALUE_LIMIT:
        return whole
    size = f"{len(items):,} items" if is_long else f"{len(whole):,} characters"
    return f"{whole[:_VALUE_LIMIT]}… [{size} in all]"
