"""The tool `ask_user`, which asks the user a question."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from antiphon import results
from antiphon.conversation import ToolResult
from antiphon.tools.dual_result import make_dual_result
from antiphon.tools.tool import NeedsHumanInput, Tool, as_tool

AnswerFunction = Callable[[str], str | Awaitable[str]]


def ask_user_tool(answer: AnswerFunction | None = None) -> Tool:
    """Return the tool `ask_user`. `answer` is called with the question and may block; without it the session
    asks.
    """

    async def ask_user(question: str) -> ToolResult:
        """Ask the user a question and wait for the answer. For what only they can know or decide.

        Args:
            question: The question, with what they need to know to answer it.
        """
        if answer is None:
            raise NeedsHumanInput(question)
        if inspect.iscoroutinefunction(answer):
            said = await answer(question)
        else:
            # It may wait for somebody to type.
            given = await asyncio.to_thread(answer, question)
            said = given if isinstance(given, str) else await given
        return make_dual_result(said, results.question(question, answer=said))

    return as_tool(ask_user, concurrent=False, read_only=True, is_cooperative=True)
