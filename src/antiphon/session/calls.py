"""The calls of one reply: asked about, run side by side, each with a result in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.session.events import CallFinished, CallStarted, Event, Waiting
from antiphon.session.settings import Settings
from antiphon.tools import ApprovalRequest, Decision, Policy, Tool, ToolCallRecord, execute
from antiphon.tools.execution import as_text, failure, record
from antiphon.tools.threads import called
from antiphon.tools.tool import HumanNeeded


class CallWork:
    """Calls to known tools, and what becomes of them. `blocked` is what nobody was there to decide."""

    def __init__(
        self, settings: Settings, policy: Policy, conversation: Conversation, calls: Sequence[ToolCall]
    ) -> None:
        self.settings = settings
        self.policy = policy
        self.conversation = conversation
        self.calls = [(call, settings.tools[call.name]) for call in calls]
        self.results: dict[str, ToolResult] = {}
        self.records: dict[str, ToolCallRecord] = {}
        self.blocked: Waiting | None = None
        self._human = asyncio.Lock()

    async def events(self) -> AsyncGenerator[Event, None]:
        """First all decisions, one at a time; then the calls that may run."""
        allowed: list[tuple[ToolCall, Tool]] = []
        for call, tool in self.calls:
            waiting: Waiting | None = None
            action = self.policy.decide(call, tool)
            if action == "ask" and not self.blocked:
                waiting = Waiting("approval", call, f"May `{call.name}` run with {call.arguments_json}?")
                yield waiting
            refusal = "a policy forbids it" if action == "deny" else await self._refusal(call, tool, waiting)
            if refusal is None:
                allowed.append((call, tool))
            else:
                self.results[call.id] = failure(call, f"not run: {refusal}")
        async with aclosing(self._run(allowed)) as events:
            async for event in events:
                yield event

    async def _refusal(self, call: ToolCall, tool: Tool, waiting: Waiting | None) -> str | None:
        """Why a call that no policy forbids may not run."""
        if self.blocked:
            return "an earlier call waits for a human"
        if waiting is None:
            return None
        decision = waiting.decision or await self._decision(call, tool)
        if decision is None:
            self.blocked = waiting
            return "nobody was there to allow it"
        if decision.remember:
            self.policy = self.policy.remembering(call, decision.allowed)
        if decision.allowed:
            return None
        return f"the call was denied: {decision.reason}" if decision.reason else "the call was denied"

    async def _decision(self, call: ToolCall, tool: Tool) -> Decision | None:
        if self.settings.approve is None:
            return None
        said = await called(self.settings.approve, ApprovalRequest(call, tool))
        return said if isinstance(said, Decision) else Decision(bool(said))

    async def _run(self, calls: list[tuple[ToolCall, Tool]]) -> AsyncGenerator[Event, None]:
        """Calls that say they may run side by side, the others one after the other among them."""
        if not calls:
            return
        happened: asyncio.Queue[Event | None] = asyncio.Queue()
        work = self._run_single(*calls[0], happened) if len(calls) == 1 else self._run_all(calls, happened)
        task = asyncio.create_task(work)
        try:
            while (event := await happened.get()) is not None:
                yield event
                if isinstance(event, Waiting):
                    # Whoever iterates has had the chance to answer.
                    event.seen.set()
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run_single(self, call: ToolCall, tool: Tool, happened: asyncio.Queue[Event | None]) -> None:
        """The usual case, which needs neither a group nor turns."""
        try:
            await self._run_one(call, tool, happened)
        finally:
            happened.put_nowait(None)

    async def _run_all(self, calls: list[tuple[ToolCall, Tool]], happened: asyncio.Queue[Event | None]) -> None:
        alone = asyncio.Lock()

        async def run(call: ToolCall, tool: Tool) -> None:
            if tool.concurrent:
                await self._run_one(call, tool, happened)
                return
            async with alone:
                await self._run_one(call, tool, happened)

        try:
            async with asyncio.TaskGroup() as group:
                for call, tool in calls:
                    group.create_task(run(call, tool))
        except BaseExceptionGroup as errors:
            # Tools raise their bugs, if so wanted; the rest is of those who were asked.
            raise errors.exceptions[0] from None
        finally:
            happened.put_nowait(None)

    async def _run_one(self, call: ToolCall, tool: Tool, happened: asyncio.Queue[Event | None]) -> None:
        happened.put_nowait(CallStarted(call))
        try:
            result, kept = await execute(
                tool, call, self.conversation, self.settings.deps, raise_bugs=self.settings.raise_tool_bugs
            )
        except HumanNeeded as needed:
            async with self._human:
                result = await self._asked(call, str(needed), happened)
            kept = record(call, result)
        self.results[call.id], self.records[call.id] = result, kept
        happened.put_nowait(CallFinished(call, result, kept))

    async def _asked(self, call: ToolCall, question: str, happened: asyncio.Queue[Event | None]) -> ToolResult:
        """The human's answer as the call's result."""
        waiting = Waiting("question", call, question)
        happened.put_nowait(waiting)
        await waiting.seen.wait()
        if waiting.reply is None and self.settings.ask:
            said = await called(self.settings.ask, question)
            waiting.reply = None if said is None else as_text(said)
        if waiting.reply is None:
            self.blocked = waiting
            return failure(call, "nobody was there to answer")
        return ToolResult(call.id, waiting.reply)
