"""Calling tools as a session does: the model's JSON goes in, the text it reads comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from antiphon.conversation import Conversation, ToolCall
from antiphon.tools import Tool, execute


class Failed(Exception):
    """The call ended in an error result; the message is its text."""


async def acall(tools: Iterable[Tool], name: str, /, **arguments: Any) -> str:
    """The text of a call's result; `Failed` if it is an error."""
    tool = next(tool for tool in tools if tool.name == name)
    result = (await execute(tool, ToolCall("call1", name, arguments), Conversation())).result
    if result.is_error:
        raise Failed(result.text)
    return result.text


def call(tools: Iterable[Tool], name: str, /, **arguments: Any) -> str:
    """The same, outside of a loop."""
    return asyncio.run(acall(tools, name, **arguments))
