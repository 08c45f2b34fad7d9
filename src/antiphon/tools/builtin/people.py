"""Asking the person for whom the work is done."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from antiphon.tools.tool import Tool, ToolFailure, as_tool

Answer = Callable[[str], str | Awaitable[str]]


class HumanNeeded(ToolFailure):
    """Nobody is here to answer; `question` is what the model wants to know."""

    def __init__(self, question: str) -> None:
        super().__init__(
            f"nobody is here to answer; go on without it, or end and say what you need to know: {question}"
        )
        self.question = question


def ask_user_tool(answer: Answer | None = None) -> Tool:
    """The tool `ask_user`. `answer` is called with the question, and may wait; without one `HumanNeeded` is raised."""

    async def ask_user(question: str) -> str:
        """Ask the user a question and wait for the answer. For what only they can know or decide.

        Args:
            question: The question, with what they need to know to answer it.
        """
        if answer is None:
            raise HumanNeeded(question)
        if inspect.iscoroutinefunction(answer):
            return await answer(question)
        # It may wait for somebody to type.
        said = await asyncio.to_thread(answer, question)
        return said if isinstance(said, str) else await said

    return as_tool(ask_user, concurrent=False, read_only=True)
