"""Asking the person for whom the work is done."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from antiphon import results
from antiphon.conversation import ToolResult
from antiphon.tools.faces import shown
from antiphon.tools.tool import Pause, Tool, as_tool

Answer = Callable[[str], str | Awaitable[str]]


def ask_user_tool(answer: Answer | None = None) -> Tool:
    """The tool `ask_user`. `answer` is called with the question, and may wait; without one the session asks."""

    async def ask_user(question: str) -> ToolResult:
        """Ask the user a question and wait for the answer. For what only they can know or decide.

        Args:
            question: The question, with what they need to know to answer it.
        """
        if answer is None:
            raise Pause(question)
        said = await _answer(answer, question)
        return shown(said, results.question(question, answer=said))

    return as_tool(ask_user, concurrent=False, read_only=True)


async def _answer(answer: Answer, question: str) -> str:
    if inspect.iscoroutinefunction(answer):
        return await answer(question)
    # It may wait for somebody to type.
    said = await asyncio.to_thread(answer, question)
    return said if isinstance(said, str) else await said
