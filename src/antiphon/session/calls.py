"""The calls of one reply: decided about, run side by side, each with a result, or open where a person is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from antiphon.conversation import AssistantTurn, Conversation, OpenQuestion, ToolCall, ToolResult
from antiphon.effects import HalfDone, Returned, Unsettled, at, below
from antiphon.effects.values import AskPerson, CallTool, Effect, Said
from antiphon.session.events import CallFinished, CallStarted
from antiphon.session.people import Question
from antiphon.session.run import Spent
from antiphon.tools import Finish, Pause, Tool, ToolCallRecord, execute
from antiphon.tools.approval import Standing, standing
from antiphon.tools.execution import failure, record

if TYPE_CHECKING:
    from antiphon.session.loop import Loop


#: How the path of what a person is asked ends: a call may be asked about, and then ask itself.
_MARKS = {"approval": "!", "question": "?"}


#: What a model reads as the result of a call that asked a person.
_ASKED = "asked; the answer follows"


class Nobody(Unsettled):
    """There is nobody to ask."""


class Calls:
    """Calls to known tools, and what has become of them. Those that have no result wait for a person."""

    def __init__(self, loop: Loop, calls: Sequence[ToolCall]) -> None:
        self.loop = loop
        self.calls = [(call, loop.settings.tools[call.name]) for call in calls]
        self.results: dict[str, ToolResult] = {}
        self.records: dict[str, ToolCallRecord] = {}
        self.kept: dict[str, str] = {}
        self._said: dict[str, tuple[str, str]] = {}
        self._finish: dict[str, tuple[Any]] = {}

    @property
    def said(self) -> list[tuple[str, str]]:
        """What people said to tools that asked, the question and the answer: in call order, whoever was first."""
        return [self._said[call.id] for call, _ in self.calls if call.id in self._said]

    @property
    def finish(self) -> tuple[Any] | None:
        """The value with which a tool has ended the run; of several, the first in call order counts."""
        return next((self._finish[call.id] for call, _ in self.calls if call.id in self._finish), None)

    async def run(self) -> None:
        """First all decisions, one at a time; then the calls that may run."""
        allowed = [(call, tool) for call, tool in self.calls if await self._may_run(call, tool)]
        if len(allowed) == 1:
            # The usual case, which needs neither a group nor turns.
            await self._run(*allowed[0])
        elif allowed:
            await self._run_all(allowed)

    async def _may_run(self, call: ToolCall, tool: Tool) -> bool:
        asked = self.loop.conversation.questions.get(call.id)
        if asked is not None and asked.kind == "question":
            await self._ask(call, asked.text)
            return False
        action = "allow" if asked is not None and asked.allowed else self.loop.settings.policy.decide(call, tool)
        if action == "allow":
            return True
        said = Said("a policy forbids it", allowed=False) if action == "deny" else await self._approval(call, tool)
        if said is None or said.allowed:
            return said is not None
        reason = said.text if action == "deny" else denial(said)
        self.results[call.id] = failure(call, f"not run: {reason}")
        return False

    async def _approval(self, call: ToolCall, tool: Tool) -> Said | None:
        text = f"May `{call.name}` run with {call.arguments_json}?"
        said = await self._consulted(call, "approval", text, standing(call, tool))
        if said is not None and said.always:
            self.loop.settings.policy.always(standing(call, tool, said.allowed))
        return said

    async def _consulted(self, call: ToolCall, kind: Any, text: str, always: Standing | None = None) -> Said | None:
        """What a person says; nothing, where nobody is there: then the conversation keeps the question."""
        loop, run = self.loop, self.loop.run
        question = Question(call.id, kind, text, run.id, run.title, call, always)
        run.ask(question)

        async def ask() -> Said:
            if (known := run.said(call.id)) is not None:
                return known
            if run.people is None:
                raise Nobody
            with loop.clock.paused():
                said = await run.people.ask(question)
            if said is None:
                raise Nobody
            return said

        try:
            said: Said = await loop.perform(f"{call.id}{_MARKS[kind]}", lambda: AskPerson(kind, text, call), ask)
        except Nobody:
            loop.conversation.ask(call.id, OpenQuestion(kind, text))
            return None
        run.settled(question, said)
        return said

    async def _run_all(self, calls: list[tuple[ToolCall, Tool]]) -> None:
        """Calls that say they may run side by side, the others one after the other among them."""
        alone = asyncio.Lock()

        async def run(call: ToolCall, tool: Tool) -> None:
            if tool.concurrent:
                await self._run(call, tool)
                return
            async with alone:
                await self._run(call, tool)

        try:
            async with asyncio.TaskGroup() as group:
                for call, tool in calls:
                    group.create_task(run(call, tool))
        except BaseExceptionGroup as errors:
            # Tools raise their bugs, if so wanted; the rest is of those who were asked.
            raise errors.exceptions[0] from None

    async def _run(self, call: ToolCall, tool: Tool) -> None:
        self.loop.run.tell(CallStarted(call))
        again = "harmless" if tool.read_only or tool.idempotent else "inside" if tool.is_transparent else "unsure"

        def effect() -> Effect:
            return CallTool(tool.name, call.arguments, again)

        spent = Spent()
        try:
            returned: Returned = await self.loop.perform(call.id, effect, self._executed(call, tool, spent))
        except HalfDone as error:
            result = failure(call, str(error))
            self._take(call, result, record(call, result))
            return
        if returned.requests and not spent.requests:
            # It was done before, and counts as if it were done now.
            self.loop.run.requested(returned.requests)
            if returned.usage is not None:
                self.loop.run.count(returned.usage, returned.cost)
        self.kept.update(returned.kept)
        if returned.asks:
            await self._ask(call, returned.asks)
            return
        if returned.finish is not None:
            self._finish[call.id] = returned.finish
        assert returned.result is not None
        assert returned.record is not None
        self._take(call, returned.result, returned.record)

    def _executed(self, call: ToolCall, tool: Tool, spent: Spent) -> Callable[[], Awaitable[Returned]]:
        loop = self.loop
        settings = loop.settings

        async def executed() -> Returned:
            work = execute(tool, call, loop.conversation, settings.deps, raise_bugs=settings.raise_tool_bugs)
            try:
                if not loop.performers:
                    # Nobody looks where its own effects belong, or what they cost.
                    done = await work
                else:
                    with at(below(f"{loop.path}/{call.id}/")), spent.counting():
                        done = await work
            except Pause as needed:
                return Returned(asks=str(needed), usage=spent.usage, cost=spent.cost, requests=spent.requests)
            except Finish as end:
                result = ToolResult(call.id, end.text)
                used = spent.usage, spent.cost, spent.requests
                return Returned(result, record(call, result), {}, "", (end.value,), *used)
            return Returned(done.result, done.record, done.kept, "", None, spent.usage, spent.cost, spent.requests)

        return executed

    async def _ask(self, call: ToolCall, text: str) -> None:
        """Put a tool's question to a person: the call's result is short, and the answer is what the person says."""
        said = await self._consulted(call, "question", text)
        if said is not None:
            self._said[call.id] = (text, said.text)
            result = asked_result(call, text, said.text)
            self._take(call, result, record(call, result))

    def _take(self, call: ToolCall, result: ToolResult, kept: ToolCallRecord) -> None:
        self.results[call.id], self.records[call.id] = result, kept
        self.loop.run.tell(CallFinished(call, result, kept))


def asked_result(call: ToolCall, question: str, answer: str) -> ToolResult:
    """The result of a call that asked a person; people are shown both, the model reads the answer as theirs."""
    from antiphon.results import question as shown

    return ToolResult(call.id, _ASKED, semantic=shown(question, answer=answer))


def is_asked_more_than_once(conversation: Conversation) -> bool:
    """Whether several of the calls that wait, or have waited with them, ask a person something."""
    turn = next(turn for turn in reversed(conversation.turns) if isinstance(turn, AssistantTurn))
    asked = [each for each in conversation.questions.values() if each.kind == "question"]
    answered = [each for each in turn.results if each.semantic is not None and each.text == _ASKED]
    return len(asked) + len(answered) > 1


def spoken(said: Sequence[tuple[str, str]], is_one_of_several: bool) -> list[str]:
    """What people said, in their own words; of several answers, each names its question."""
    answers = [(question, text if text.strip() else "(no answer)") for question, text in said]
    if not is_one_of_several:
        return [text for _, text in answers]
    return [f"To the question {question!r}: {text}" for question, text in answers]


def denial(said: Said) -> str:
    """Why a call was not run, as the model is told."""
    return f"the call was denied: {said.text}" if said.text else "the call was denied"
