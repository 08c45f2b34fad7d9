"""Errors of a running program, described in the program's own terms.

VibeError                an error with a code, a hint and a call stack
├── UserError            `throw value`
└── ImportFailed         a module that cannot be loaded
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.lang.syntax.diagnostics import StyleText


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One level of the call stack: the function and the span that was being evaluated."""

    source: Source
    function: str
    start: int
    end: int


class VibeError(AntiphonError):
    """An error of a running program. `frames` is its call stack, outermost first."""

    code = message = hint = ""
    frames: tuple[StackFrame, ...] = ()

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self.args = (message,)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def value(self) -> Any:
        """Return the value that `catch` gives as `e.value`."""
        return None

    def render(self, paint: StyleText | None = None) -> str:
        """Format the error for people: message, source line, hint and call stack."""
        from antiphon._base.escape import escape_unprintable
        from antiphon.lang.syntax.diagnostics import Diagnostic, truncate_message

        look = paint or _leave_unstyled
        if not self.frames:
            hint = f"\n  {look('hint', 'hint')}: {escape_unprintable(self.hint)}" if self.hint else ""
            return f"{look('error', f'error[{self.code}]')}: {truncate_message(self.message)}{hint}"
        here = self.frames[-1]
        said = Diagnostic(self.code, self.message, here.start, here.end, self.hint).render(here.source, look)
        return "\n".join([said, *_format_stack(self.frames[:-1])])

    def to_json(self) -> dict[str, Any]:
        """Return the error as JSON data."""
        from antiphon.lang.syntax.diagnostics import Diagnostic

        out: dict[str, Any] = {"code": self.code, "severity": "error", "message": self.message}
        if self.frames:
            here = self.frames[-1]
            out = Diagnostic(self.code, self.message, here.start, here.end, self.hint).to_json(here.source)
            out["stack"] = [
                {"function": each.function, "file": each.source.name, "line": each.source.line_number(each.start)}
                for each in reversed(self.frames)
            ]
        elif self.hint:
            out["hint"] = self.hint
        return out


class UserError(VibeError):
    """An error thrown by the program with `throw value`."""

    code = "V0901"

    def __init__(self, value: Any, message: str) -> None:
        # No `super().__init__()`, for speed: programs may throw often.
        self.args = (message,)
        self.message = message
        self._value = value

    @property
    def value(self) -> Any:
        """Return the thrown value."""
        return self._value


class ImportFailed(VibeError):
    """A module cannot be loaded at run time."""


class ProgramAborted(BaseException):
    """The program ends here and cannot catch it: a limit of the run was reached, or a denial ends it."""

    def __init__(self, error: VibeError) -> None:
        super().__init__(error.message)
        self.error = error


class IterationAborted(ProgramAborted):
    """Part of the program was cancelled because another part failed."""

    def __init__(self) -> None:
        super().__init__(VibeError("V0927", "stopped because another iteration failed"))


def _leave_unstyled(_: str, text: str) -> str:
    return text


def _format_stack(frames: tuple[StackFrame, ...]) -> list[str]:
    """Return the lines of the call stack, innermost first; repeated calls from one place are one line."""
    lines = [(line, len(list(same))) for line, same in groupby(map(_format_frame, reversed(frames)))]
    return [f"{line} (and {times - 1} more times)" if times > 1 else line for line, times in lines[:20]]


def _format_frame(frame: StackFrame) -> str:
    from antiphon._base.escape import escape_unprintable_line

    line, column = frame.source.place(frame.start)
    return f"  called from {frame.function} at {escape_unprintable_line(frame.source.name)}:{line}:{column}"
