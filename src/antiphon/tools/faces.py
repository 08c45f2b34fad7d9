"""A tool's answer with both faces written by the tool itself: the model's words, and what people look at."""

from __future__ import annotations

from antiphon.conversation import ToolResult
from antiphon.results import Result


def shown(text: str, result: Result) -> ToolResult:
    """The text the model reads, beside the result that people see. Running the call fills in which one it answers."""
    return ToolResult("", text, semantic=result)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things, as summaries say it: `1 line`, `2,000 lines`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
