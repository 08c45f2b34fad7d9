"""A model inside the process that says what it was told to say."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar, cast

from antiphon.conversation import AssistantPart, Conversation, Text, ToolCall
from antiphon.errors import AntiphonError
from antiphon.session import AIResult, RunRecord
from antiphon.wire import Reply, TextDelta, Usage

T = TypeVar("T")
STRATEGIES = ("native", "prompted", "tool")


def calls(*wanted: Any, **arguments: Any) -> list[tuple[str, dict[str, Any]]]:
    """Calls of one reply: `calls("weather", city="Oslo")`, or several `(name, arguments)`."""
    if wanted and isinstance(wanted[0], str):
        return [(wanted[0], arguments)]
    return list(wanted)


def answering(strategy: str = "prompted", **fields: Any) -> Any:
    """A typed answer as a model gives it that is asked so: JSON text, or a call of the return tool."""
    return calls("answer", **fields) if strategy == "tool" else json.dumps(fields)


class Scripted:
    """Texts and lists of calls, one for each request; a pair of a text and a word is an answer that stopped so."""

    name = "scripted"

    def __init__(self, *script: Any, price: float | None = 0.0) -> None:
        self.script = list(script)
        self.price = price
        self.options: list[dict[str, Any]] = []
        self.seen: list[str] = []
        self._number = 0

    async def achat(self, conversation: Conversation, **options: Any) -> Reply:
        assert conversation.ready()
        self.options.append(options)
        self.seen.append(str(conversation.turns[-1]))
        await asyncio.sleep(0)
        return self._reply(conversation)

    def astream(self, conversation: Conversation, **options: Any) -> ScriptedStream:
        self.options.append(options)
        return ScriptedStream(self, conversation)

    def cost(self, usage: Usage) -> float | None:
        del usage
        return self.price

    def _reply(self, conversation: Conversation) -> Reply:
        step = self.script.pop(0)
        stop: Any = "end"
        if isinstance(step, tuple):
            step, stop = step
        parts: list[AssistantPart] = []
        if isinstance(step, str):
            parts = [Text(step)] if step else []
        else:
            for name, arguments in step:
                self._number += 1
                parts.append(ToolCall.read(f"c{id(self) % 9999}n{self._number}", name, arguments))
        reply = Reply(tuple(parts), stop, usage=Usage(10, 5))
        conversation.add_reply(parts)
        return reply


class ScriptedStream:
    def __init__(self, model: Scripted, conversation: Conversation) -> None:
        self._model, self._conversation = model, conversation
        self.reply: Any = None
        self.left = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        yield TextDelta("…")
        await asyncio.sleep(0)
        self.reply = self._model._reply(self._conversation)

    async def __aenter__(self) -> ScriptedStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left = True


def ended(work: Callable[[], AIResult]) -> RunRecord:
    """The record of a run, however it ended."""
    try:
        return work().run
    except AntiphonError as error:
        return cast(RunRecord, error.run)


def within(seconds: float, function: Callable[[], T]) -> T:
    """The function's result; a TimeoutError where it hangs, rather than a hanging test."""
    outcome: Future[T] = Future()
    context = copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(function))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return outcome.result(seconds)
