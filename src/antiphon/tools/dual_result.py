"""Tool results with two forms: the text for the model, and the semantic value for people."""

from __future__ import annotations

from antiphon.conversation import ToolResult
from antiphon.results import Result


def make_dual_result(text: str, result: Result) -> ToolResult:
    """Return a result of the text that the model reads and the value that people see.

    The execution of the call fills in the call's id.
    """
    return ToolResult("", text, semantic=result)


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 line`, `2,000 lines`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
