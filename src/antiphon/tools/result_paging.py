"""The tool `read_result`, with which a model reads the remainder of a truncated result."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import Field

from antiphon.errors import ContentError
from antiphon.tools.tool import Tool, ToolContext, ToolFailure, as_tool


@cache
def make_read_result_tool() -> Tool:
    """Return `read_result`, for conversations that store full results under handles."""
    return as_tool(read_result, read_only=True)


def read_result(
    context: ToolContext,
    handle: Annotated[str, Field(description="The handle named in the note, such as result:call_1")],
    start: Annotated[int, Field(ge=0, description="The first character to show")] = 0,
    length: Annotated[int, Field(ge=1, le=40_000, description="How many characters to show")] = 20_000,
) -> str:
    """Read more of a tool result that was cut."""
    try:
        text = context.conversation.whole(handle)
    except ContentError as error:
        raise ToolFailure(str(error)) from None
    end = min(start + length, len(text))
    return f"[characters {start:,} to {end:,} of {len(text):,}]\n{text[start:end]}"
