"""Variables that models are shown: read from the live frames, sent in full at first, then only where they changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType, FunctionType, MethodType
from typing import Any, cast

from antiphon.lang.codegen.code_object import MANGLED_PREFIX, ModuleCode, ScopeVariable
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.execution import PendingValue
from antiphon.lang.runtime.models import ModelValue
from antiphon.lang.runtime.tools_and_types import VibeTool
from antiphon.lang.runtime.tracebacks import CODE_GLOBAL, find_source_span
from antiphon.lang.runtime.values import VariableCell, to_json_text, unwrap_answer
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.type_printer import format_type

#: At most so many characters about variables are sent at once.
_MAX_CHARACTERS = 40_000
_OUTER_OMITTED_REMARK = "[more variables of outer functions are left out]"
_INNER_OMITTED_REMARK = "[more variables are left out: the list is cut]"


@dataclass(frozen=True, slots=True)
class VariableLine:
    """A variable as a model is shown it."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class VariableFrame:
    """The variables of an active function; `place`, counted from the outermost, and `title` identify it."""

    place: int
    title: str
    lines: Mapping[str, VariableLine]
    #: The number of variables to show, if there are too many.
    most: int | None = None

    @property
    def visible_lines(self) -> dict[str, VariableLine]:
        """Return the variables to show."""
        return dict(list(self.lines.items())[: self.most])

    @property
    def size(self) -> int:
        """Return the length of all its variables as text."""
        return len(self.title) + sum(map(_get_line_length, self.lines, self.lines.values()))


@dataclass(frozen=True, slots=True)
class KnownVariables:
    """The last value of each variable that a model was told in one history."""

    frames: Mapping[tuple[int, str], Mapping[str, VariableLine]] = field(
        default_factory=dict[tuple[int, str], dict[str, VariableLine]]
    )
    #: Remarks about omitted variables; each is made once.
    remarks: frozenset[str] = frozenset()

    def update(self, frames: Iterable[VariableFrame]) -> tuple[str, KnownVariables]:
        """Return the text about changed variables, empty if there are none, and the knowledge after it."""
        present = list(frames)
        bounded, remarks = _limit_frames(present)
        known = {key: dict(lines) for key, lines in self.frames.items()}
        paragraphs = [_OUTER_OMITTED_REMARK] if _OUTER_OMITTED_REMARK in remarks - self.remarks else []
        paragraphs += self._drop_ended_frames(present, known)
        for full, frame in zip(present, bounded, strict=True):
            changes = list(_iter_changes(known.setdefault((full.place, full.title), {}), full, frame))
            if changes:
                paragraphs.append("\n".join([full.title, *changes]))
        if _INNER_OMITTED_REMARK in remarks - self.remarks:
            paragraphs.append(_INNER_OMITTED_REMARK)
        return "\n\n".join(paragraphs), KnownVariables(known, self.remarks | remarks)

    def _drop_ended_frames(
        self, present: Iterable[VariableFrame], known: dict[tuple[int, str], dict[str, VariableLine]]
    ) -> Iterator[str]:
        """Yield a line for each function that has ended, and forget its variables."""
        keys = {(frame.place, frame.title) for frame in present}
        for key in [key for key in known if key not in keys]:
            if known.pop(key):
                yield f"{key[1].removesuffix(':')} are gone."


def _iter_changes(known: dict[str, VariableLine], full: VariableFrame, frame: VariableFrame) -> Iterator[str]:
    """Yield a line for each variable that is new, changed or gone, and update `known`."""
    told = frame.visible_lines
    for name in [name for name in known if name not in full.lines]:
        del known[name]
        yield f"{name} is gone"
    for name, line in full.lines.items():
        before = known.get(name)
        if before == line or (before is None and name not in told):
            continue
        if name not in told:
            del known[name]
            yield f"{name} has another value now, which is left out"
            continue
        known[name] = line
        if before is None:
            yield f"{name} ({line.type}): {line.value}"
        else:
            yield f"{name}{'' if before.type == line.type else f' ({line.type})'} is now {line.value}"


def _limit_frames(frames: list[VariableFrame]) -> tuple[list[VariableFrame], frozenset[str]]:
    """Return the frames limited to what may be shown, innermost first, and remarks about omissions."""
    out: list[VariableFrame] = []
    remarks: set[str] = set()
    size = 0
    for frame in reversed(frames):
        size += frame.size
        if size <= _MAX_CHARACTERS:
            out.append(frame)
        elif out:
            remarks.add(_OUTER_OMITTED_REMARK)
            out.append(replace(frame, most=0))
        else:
            remarks.add(_INNER_OMITTED_REMARK)
            out.append(replace(frame, most=_count_fitting(frame)))
    return out[::-1], frozenset(remarks)


def _count_fitting(frame: VariableFrame) -> int:
    """Return how many variables of a frame fit into the limit."""
    room = _MAX_CHARACTERS - len(frame.title)
    for number, (name, line) in enumerate(frame.lines.items()):
        room -= _get_line_length(name, line)
        if room < 0:
            return number
    return len(frame.lines)


def _get_line_length(name: str, line: VariableLine) -> int:
    return len(name) + len(line.type) + len(line.value) + 6


#: At most so many characters of one value are shown.
_VALUE_LIMIT = 2_000
_MISSING = object()
_NOT_DATA = (ModelValue, VibeTool, FunctionType, MethodType)


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
            if value is not _MISSING and not isinstance(value, _NOT_DATA):
                type_ = format_type(t.widen_type(t.strip_ai_result(each.type)))
                seen[each.name] = VariableLine(type_, format_variable_value(value))
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
    value = getattr(value, "value", _MISSING) if isinstance(value, VariableCell) else value
    if not isinstance(value, PendingValue):
        return value
    return value.value if value.is_known() else _MISSING


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
