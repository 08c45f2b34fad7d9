"""Errors of a running program, told in the program's own terms.

VibeError                what went wrong, with a code, a hint and where
├── Thrown               `throw value`
└── ImportFailed         a module that cannot be loaded
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.lang.syntax.diagnostics import Paint


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of the call stack: the function and the span that was being evaluated."""

    source: Source
    function: str
    start: int
    end: int


class VibeError(AntiphonError):
    """An error while a program ran. `frames` is its call stack, outermost first; the last is where it happened."""

    code = message = hint = ""
    frames: tuple[Frame, ...] = ()

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self.args = (message,)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def value(self) -> Any:
        """What `catch` gives as `e.value`."""
        return None

    def render(self, paint: Paint | None = None) -> str:
        """As people read it: message, source line, hint, call stack."""
        from antiphon._printable import printable
        from antiphon.lang.syntax.diagnostics import Diagnostic, shown

        look = paint or _unpainted
        if not self.frames:
            hint = f"\n  {look('hint', 'hint')}: {printable(self.hint)}" if self.hint else ""
            return f"{look('error', f'error[{self.code}]')}: {shown(self.message)}{hint}"
        here = self.frames[-1]
        said = Diagnostic(self.code, self.message, here.start, here.end, self.hint).render(here.source, look)
        return "\n".join([said, *_stack(self.frames[:-1])])

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        from antiphon.lang.syntax.diagnostics import Diagnostic

        out: dict[str, Any] = {"code": self.code, "severity": "error", "message": self.message}
        if self.frames:
            here = self.frames[-1]
            out = Diagnostic(self.code, self.message, here.start, here.end, self.hint).to_json(here.source)
            out["stack"] = [
                {"function": each.function, "file": each.source.name, "line": each.source.line_of(each.start)}
                for each in reversed(self.frames)
            ]
        elif self.hint:
            out["hint"] = self.hint
        return out


class Thrown(VibeError):
    """`throw value`; the value is kept."""

    code = "V0901"

    def __init__(self, value: Any, message: str) -> None:
        # Without a detour, as programs may throw often.
        self.args = (message,)
        self.message = message
        self._value = value

    @property
    def value(self) -> Any:
        """What was thrown."""
        return self._value


class ImportFailed(VibeError):
    """A module that cannot be loaded when the program runs."""


class Stopped(BaseException):
    """The run ends here whatever the program catches: a limit of the whole run, or a denial that ends it."""

    def __init__(self, error: VibeError) -> None:
        super().__init__(error.message)
        self.error = error


class RoundStopped(Stopped):
    """Part of the program that was stopped because another part failed."""

    def __init__(self) -> None:
        super().__init__(VibeError("V0927", "stopped because another round failed"))


def _unpainted(_: str, text: str) -> str:
    return text


def _stack(frames: tuple[Frame, ...]) -> list[str]:
    """Who called whom, the innermost first; calls from the same place are told once."""
    lines = [(line, len(list(same))) for line, same in groupby(map(_line, reversed(frames)))]
    return [f"{line} (and {times - 1} more times)" if times > 1 else line for line, times in lines[:20]]


def _line(frame: Frame) -> str:
    from antiphon._printable import printable_line

    line, column = frame.source.place(frame.start)
    return f"  called from {frame.function} at {printable_line(frame.source.name)}:{line}:{column}"
