"""The calls of a run: decided about, run side by side, each with a result, or open where a person is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Literal

from antiphon._shape import string
from antiphon.conversation import Conversation, OpenQuestion, ToolCall, ToolResult
from antiphon.conversation.repair import interrupted
from antiphon.effects import HalfDone, Place, at, below
from antiphon.effects.values import AskPerson, CallTool, Effect, Returned, Said
from antiphon.errors import Unsettled
from antiphon.session.answers import asked_result, denial, is_asked_more_than_once, spoken
from antiphon.session.breaker import Breaker
from antiphon.session.clock import Clock
from antiphon.session.endings import End
from antiphon.session.events import CallFinished, CallStarted
from antiphon.session.goal import Goal
from antiphon.session.people import ALLOWED, FORBIDDEN, Once, Question, decided, once
from antiphon.session.run import Run
from antiphon.session.settings import Settings
from antiphon.session.spent import Spent
from antiphon.tools import (
    Before,
    CanonicalCall,
    Finish,
    Pause,
    Tool,
    ToolCallRecord,
    canonicalize,
)
from antiphon.tools.approval import Standing, standing
from antiphon.tools.execution import execute_call, failure, record

#: How the path of what a person is asked ends: a call may be asked about, and then ask itself.
MARKS = {"approval": "!", "question": "?"}


class Nobody(Unsettled):
    """There is nobody to ask."""


class Calls:
    """What becomes of the calls of one run. `records` tells of those that have their results, in order."""

    def __init__(
        self, settings: Settings, conversation: Conversation, goal: Goal, run: Run[Any], place: Place, clock: Clock
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._goal = goal
        self._run = run
        self._place = place
        self._clock = clock
        self._breaker = Breaker()
        self.records: list[ToolCallRecord] = []
        # By call id: what came of calls that the conversation still has open.
        self._results: dict[str, ToolResult] = {}
        self._told: dict[str, ToolCallRecord] = {}
        self._said: dict[str, tuple[str, str]] = {}
        self._finish: dict[str, tuple[Any]] = {}
        #: What calls wait for that somebody inside of them asked.
        self._inside: list[str] = []
        #: Calls that came when no more were allowed: refused, and none of the run's.
        self._late: set[str] = set()

    async def answer(self, calls: Sequence[ToolCall]) -> None:
        """Answer every call of a reply, in call order, whatever becomes of each; those that wait stay open."""
        if self._goal.expected is not None:
            self._results |= self._goal.expected.take_calls([call for call in calls if self._goal.is_internal(call)])
        await self._run_all(self._to_run(calls))
        answered = [call for call in calls if call.id in self._results]
        for untold in self.close(answered):
            self._run.tell(untold)
        if self._said:
            # In call order, whoever was first.
            said = [self._said.pop(call.id) for call in calls if call.id in self._said]
            self._conversation.add_user(spoken(said, is_asked_more_than_once(self._conversation)))
        self._look_at(calls, is_waiting=len(answered) < len(calls))

    def close(self, calls: Sequence[ToolCall]) -> list[CallFinished]:
        """Give each call its result, or that of an interruption; gives what is yet to be told of it."""
        untold: list[CallFinished] = []
        if not calls:
            return untold
        results = [(call, self._results.pop(call.id, None) or interrupted(call)) for call in calls]
        outside = [each for each in results if each[0].id not in self._late and not self._goal.is_internal(each[0])]
        self._breaker.count(outside)
        self._conversation.add_tool_results([self._breaker.noted(call, result) for call, result in results])
        for call, result in outside:
            kept = self._told.pop(call.id, None)
            if kept is None:
                kept = record(call, result)
                untold.append(CallFinished(call, result, kept))
            self.records.append(kept)
        return untold

    def _look_at(self, calls: Sequence[ToolCall], is_waiting: bool) -> None:
        """What the calls mean for the run: a tool has ended it, a person is needed, it goes in circles."""
        for call in calls if self._finish else ():
            if call.id in self._finish:
                # Of several, the first in call order counts.
                raise self._goal.ended_by_tool(self._finish[call.id][0])
        if is_waiting:
            names = [f"`{each.call.name}`: {each.text}" for each in self._run.waiting if each.call]
            raise End("waiting", "; ".join([f"a person is needed: {'; '.join(names)}"] * bool(names) + self._inside))
        if reason := self._breaker.reason:
            raise End("stuck", reason)
        limit = self._settings.limits.calls
        if limit is not None and len(self.records) > limit:
            raise End("limit", f"the limit of {limit} calls is reached")

    # Which run

    def _to_run(self, calls: Sequence[ToolCall]) -> list[CanonicalCall]:
        """Those that may be considered, in the form in which all look at them; the others have their results."""
        to_run: list[CanonicalCall] = []
        for call in calls:
            if call.id in self._results:
                continue
            refusal, found = self._refusal(call, len(to_run)), self._found(call)
            if refusal is not None:
                self._results[call.id] = refusal
            elif found is not None:
                to_run.append(canonicalize(found[1], found[0]))
        return to_run

    def _found(self, call: ToolCall) -> tuple[ToolCall, Tool] | None:
        """Return the call and its tool. A member of a toolset is an action of the tool that the set is."""
        if call.name in self._goal.tools:
            return call, self._goal.tools[call.name]
        toolset = string(call.native.data.get("toolset_name")) if call.native else ""
        if toolset not in self._goal.tools:
            return None
        action = ToolCall(call.id, call.name, {"action": call.name, **call.arguments}, native=call.native)
        return action, self._goal.tools[toolset]

    def _refusal(self, call: ToolCall, before: int) -> ToolResult | None:
        """Why a call is not even considered, after so many others of its reply that are."""
        if call.problem:
            return failure(call, f"not run: {call.problem}")
        if self._found(call) is None:
            known = ", ".join(self._goal.tools) or "none"
            return failure(call, f"there is no tool `{call.name}`; there are: {known}")
        if self._goal.is_last_round:
            self._late.add(call.id)
            return failure(call, "not run: no more tool calls are allowed now; answer with what you have")
        limit = self._settings.limits.calls
        if limit is not None and len(self.records) + before >= limit:
            return failure(call, f"not run: the limit of {limit:g} calls is reached")
        return None

    async def _may_run(self, call: CanonicalCall) -> bool:
        given = call.given
        asked = self._conversation.questions.get(given.id)
        if asked is not None and asked.kind == "question":
            await self._ask(given, asked.text)
            return False
        # What was allowed is what was shown: a path that leads elsewhere by now is asked about again.
        is_allowed = asked is not None and asked.allowed and asked.text == call.question
        said = (ALLOWED if is_allowed else decided(self._settings.policy, call)) or await self._approval(call)
        if said is None or said.allowed:
            return said is not None
        self._results[given.id] = failure(given, f"not run: {said.text if said == FORBIDDEN else denial(said)}")
        return False

    # People

    async def _approval(self, call: CanonicalCall) -> Said | None:
        ask_once = once(self._settings.policy, call)
        before = call.tool.before and call.tool.before(call.arguments)
        said = await self._consulted(call.call, "approval", call.question, standing(call), ask_once, before)
        if said is not None:
            # Also where it was said before, and is only heard now.
            ask_once.keep(said)
        return said

    async def _ask(self, call: ToolCall, text: str) -> None:
        """Put a tool's question to a person: the call's result is short, and the answer is what the person says."""
        said = await self._consulted(call, "question", text)
        if said is not None:
            self._said[call.id] = (text, said.text)
            result = asked_result(call, text, said.text)
            self._take(call, result, record(call, result))

    async def _consulted(
        self,
        call: ToolCall,
        kind: Literal["approval", "question"],
        text: str,
        always: Standing | None = None,
        ask_once: Once | None = None,
        before: Before | None = None,
    ) -> Said | None:
        """What a person says; nothing, where nobody is there: then the conversation keeps the question."""
        run = self._run
        question = Question(call.id, kind, text, run.id, run.title, call, always, before)
        run.ask(question)

        async def ask() -> Said:
            if (known := run.said(call.id)) is not None:
                return known
            if run.people is None:
                raise Nobody
            with self._clock.paused():
                said = await run.people.ask(question, ask_once)
            if said is None:
                raise Nobody
            return said

        try:
            name = f"{call.id}{MARKS[kind]}"
            said: Said = await self._place.perform(name, lambda: AskPerson(kind, text, call), ask)
        except Nobody:
            self._conversation.ask(call.id, OpenQuestion(kind, text))
            return None
        run.settled(question, said)
        return said

    # Running them

    async def _run_all(self, calls: list[CanonicalCall]) -> None:
        """First all decisions, one at a time; then the calls that may run."""
        allowed = [call for call in calls if await self._may_run(call)]
        if len(allowed) == 1:
            # The usual case, which needs neither a group nor turns.
            await self._run_one(allowed[0])
        elif allowed:
            await self._run_together(allowed)

    async def _run_together(self, calls: list[CanonicalCall]) -> None:
        """Calls that say they may run side by side, the others one after the other among them.

        One that ends the run lets the others finish: what is stopped in the middle may have taken effect.
        """
        alone, errors = asyncio.Lock(), list[BaseException]()

        async def run(call: CanonicalCall) -> None:
            try:
                async with nullcontext() if call.tool.concurrent else alone:
                    await self._run_one(call)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                errors.append(error)

        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(run(call))
        if errors:
            raise errors[0]

    async def _run_one(self, canonical: CanonicalCall) -> None:
        call = canonical.given
        self._run.tell(CallStarted(call))
        spent = Spent()
        try:
            returned: Returned = await self._place.perform(
                call.id, lambda: _effect(canonical), lambda: self._executed(canonical, spent)
            )
        except HalfDone as error:
            result = failure(call, str(error))
            self._take(call, result, record(call, result))
            return
        except Unsettled as error:
            self._inside.append(f"`{call.name}` waits: {error}")
            return
        if returned.requests and not spent.requests:
            # It was done before, and counts as if it were done now.
            self._run.requested(returned.requests)
            if returned.usage is not None:
                self._run.count(returned.usage, returned.cost)
        for handle, text in returned.kept.items():
            self._conversation.keep(handle, text)
        if returned.asks:
            await self._ask(call, returned.asks)
            return
        if returned.finish is not None:
            self._finish[call.id] = returned.finish
        assert returned.result is not None
        assert returned.record is not None
        self._take(call, returned.result, returned.record)

    async def _executed(self, canonical: CanonicalCall, spent: Spent) -> Returned:
        settings, call = self._settings, canonical.given
        key = f"{self._place.run or self._run.id}/{self._place.node.prefix}{call.id}"
        work = execute_call(canonical, self._conversation, settings.deps, key=key, raise_bugs=settings.raise_tool_bugs)
        try:
            if not self._place.performers:
                # Nobody looks where its own effects belong, or what they cost.
                done = await work
            else:
                with at(below(f"{self._place.node.prefix}{call.id}/")), spent.counting():
                    done = await work
        except Pause as needed:
            return Returned(asks=str(needed), usage=spent.usage, cost=spent.cost, requests=spent.requests)
        except Unsettled as needed:
            if self._place.waits:
                raise
            result = failure(call, f"{type(needed).__name__}: {needed}")
            return Returned(
                result, record(canonical.call, result), {}, "", None, spent.usage, spent.cost, spent.requests
            )
        except Finish as end:
            result = ToolResult(call.id, end.text)
            used = spent.usage, spent.cost, spent.requests
            return Returned(result, record(canonical.call, result), {}, "", (end.value,), *used)
        return Returned(done.result, done.record, done.kept, "", None, spent.usage, spent.cost, spent.requests)

    def _take(self, call: ToolCall, result: ToolResult, kept: ToolCallRecord) -> None:
        self._results[call.id], self._told[call.id] = result, kept
        self._run.tell(CallFinished(call, result, kept))


def _effect(call: CanonicalCall) -> Effect:
    tool = call.tool
    again = "harmless" if tool.read_only or tool.idempotent else "inside" if tool.is_transparent else "unsure"
    # As the model made it: where its paths lead may be something else when the run is resumed.
    return CallTool(tool.name, call.given.arguments, again)
