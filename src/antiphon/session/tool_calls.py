"""The tool calls of a run: approve them, run them concurrently and collect their results.

A call that needs a person stays open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

from antiphon._base.json_access import as_string
from antiphon.conversation import Conversation, OpenQuestion, ToolCall, ToolResult
from antiphon.conversation.repair import make_interrupted_result
from antiphon.effects import EffectContext, IndeterminateEffect, child_context, instrumentation, use_context
from antiphon.effects.budget import Budget, BudgetExceeded, Spending, format_limit
from antiphon.effects.types import AskPerson, CallTool, Effect, HumanAnswer, ToolReturned
from antiphon.errors import Suspended
from antiphon.session.call_host import SessionCallHost
from antiphon.session.events import CallFinished, CallStarted
from antiphon.session.exceptions import StopRun
from antiphon.session.handoff import Handoff, is_handoff
from antiphon.session.human_input import ALLOWED, FORBIDDEN, ApprovalCache, Question, apply_policy, make_approval_cache
from antiphon.session.loop_detection import LoopDetector
from antiphon.session.output_spec import OutputGoal
from antiphon.session.pending_answers import (
    format_answers,
    format_denial,
    has_several_questions,
    make_question_result,
    read_delivered_result,
)
from antiphon.session.run import Run
from antiphon.session.settings import SessionSettings
from antiphon.session.sync_bridge import are_coroutines_apart
from antiphon.session.timer import RunTimer
from antiphon.session.tool_limits import ToolLimits
from antiphon.tools import (
    Before,
    CanonicalCall,
    FinishRun,
    NeedsHumanInput,
    Tool,
    ToolCallRecord,
    canonicalize,
)
from antiphon.tools.approval import StandingDecision, make_standing_decision
from antiphon.tools.call_host import NO_HOST
from antiphon.tools.coroutine_threads import CoroutineThreads
from antiphon.tools.deferred import DeferredCall, find_called_tool
from antiphon.tools.execution import execute_call, make_call_record, make_error_result
from antiphon.wire import Usage

#: The suffix of the path of a question. A call may need approval and then ask a question itself.
QUESTION_SUFFIXES = {"approval": "!", "question": "?", "result": "="}


class NobodyAvailable(Suspended):
    """No person is available to ask."""


class ToolCallRunner:
    """Runs the tool calls of one run. `records` lists the calls that have results, in order."""

    def __init__(
        self,
        settings: SessionSettings,
        conversation: Conversation,
        goal: OutputGoal,
        run: Run[Any],
        place: EffectContext,
        clock: RunTimer,
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._goal = goal
        self._run = run
        self._place = place
        self._clock = clock
        self._loop_detector = LoopDetector()
        #: Made for the first call of a tool that has limits.
        self._limits: ToolLimits | None = None
        self._threads = CoroutineThreads()
        self.records: list[ToolCallRecord] = []
        #: Whether the last calls handed the conversation over to another agent.
        self.is_handed_over = False
        # By call id: the results of calls that are still open in the conversation.
        self._results: dict[str, ToolResult] = {}
        self._told: dict[str, ToolCallRecord] = {}
        self._said: dict[str, tuple[str, str]] = {}
        self._questions: Mapping[str, OpenQuestion] = {}
        self._finish: dict[str, tuple[Any]] = {}
        #: The reasons why calls are suspended by an effect inside them.
        self._inside: list[str] = []
        #: Calls that came when no more were allowed. They are rejected and do not count.
        self._late_call_ids: set[str] = set()

    def use_settings(self, settings: SessionSettings) -> None:
        """Run the next calls with other settings, such as those of another agent."""
        self._settings = settings

    async def answer(self, calls: Sequence[ToolCall], questions: Mapping[str, OpenQuestion] | None = None) -> None:
        """Answer every call of a reply, in call order. Calls that need a person stay open.

        `questions` are those that are open about these calls, by call id. There are none about a new reply.
        """
        self._questions = questions or {}
        if self._goal.expected is not None:
            self._results |= self._goal.expected.accept_calls([call for call in calls if self._goal.is_internal(call)])
        await self._run_calls(await self._select_allowed(calls))
        answered = [call for call in calls if call.id in self._results]
        for untold in self.close(answered):
            self._run.tell(untold)
        if self._said:
            # In call order, not in the order of the answers.
            said = [self._said.pop(call.id) for call in calls if call.id in self._said]
            self._conversation.add_user(format_answers(said, has_several_questions(self._conversation)))
        self._check_run_state(calls, is_waiting=len(answered) < len(calls))

    def close(self, calls: Sequence[ToolCall]) -> list[CallFinished]:
        """Give each call its result, or an interrupted one, and return the events that are still to be emitted."""
        untold: list[CallFinished] = []
        if not calls:
            return untold
        results = [(call, self._results.pop(call.id, None) or make_interrupted_result(call)) for call in calls]
        outside = [
            each for each in results if each[0].id not in self._late_call_ids and not self._goal.is_internal(each[0])
        ]
        self._loop_detector.count([(call, result, self._find_repeatable_tool(call)) for call, result in outside])
        self._conversation.add_tool_results([self._loop_detector.add_warning(*each) for each in results])
        for call, result in outside:
            kept = self._told.pop(call.id, None)
            if self._limits is not None and (limited := self._limits.open_calls.pop(call.id, None)) is not None:
                self._limits.count_result(limited, result, self._run.budget.scope)
            if kept is None:
                kept = make_call_record(call, result)
                untold.append(CallFinished(call, result, kept))
            self.records.append(kept)
            self._run.counts.tool_calls += 1
            if self._goal.expected is not None and self._goal.expected.calls is not None:
                self._goal.expected.calls.records[call.id] = kept
        return untold

    def _check_run_state(self, calls: Sequence[ToolCall], is_waiting: bool) -> None:
        """Raise `StopRun` if a tool ended the run, a person is needed, a loop is detected or a limit is reached."""
        for call in calls if self._finish else ():
            if call.id in self._finish:
                # Of several, the first in call order counts.
                raise self._goal.make_tool_end(self._finish[call.id][0])
        if is_waiting:
            asked = [each for each in self._run.waiting if each.call]
            needed = "a person is needed" if any(each.kind != "result" for each in asked) else "results are awaited"
            names = [f"`{each.call.name}`: {each.text}" for each in asked if each.call]
            raise StopRun("waiting", "; ".join([f"{needed}: {'; '.join(names)}"] * bool(names) + self._inside))
        if self._limits is not None and self._limits.exceeded is not None:
            raise self._limits.exceeded
        if reason := self._loop_detector.reason:
            raise StopRun("stuck", reason)
        limit, used = self._run.limits.tool_calls, self._run.counts.tool_calls
        if limit is not None and used > limit:
            exceeded = BudgetExceeded(self._run.budget.scope, "tool_calls", limit, used)
            raise StopRun("limit", str(exceeded)) from exceeded

    # Selection

    async def _select_allowed(self, calls: Sequence[ToolCall]) -> list[CanonicalCall]:
        """Return the calls that may run, in canonical form, deciding about one at a time.

        The others get their results here, or wait for a person.
        """
        allowed: list[CanonicalCall] = []
        tools, policy, limit, count = self._goal.tools, self._settings.policy, self._run.limits.tool_calls, 0
        for call in calls:
            if call.id in self._results:
                continue
            found = _find_tool(call, tools)
            if call.problem:
                refusal = f"not run: {call.problem}"
            elif found is None:
                refusal = f"there is no tool `{call.name}`; there are: {', '.join(tools) or 'none'}"
            elif isinstance(found[1].function, Handoff) and found[0] is not call:
                refusal = "not run: a hand-off cannot be deferred"
            elif isinstance(found[1].function, Handoff) and any(is_handoff(each.tool) for each in allowed):
                refusal = "not run: the conversation is handed over already"
            elif self._goal.is_answer_due:
                self._late_call_ids.add(call.id)
                refusal = "not run: no more tool calls are allowed now; answer with what you have"
            elif limit is not None and self._run.counts.tool_calls + count >= limit:
                refusal = f"not run: the limit of {format_limit('tool_calls', limit)} is reached"
            elif (
                (most := (tool := found[1]).max_calls) is None
                or self._limits is None
                or not (refusal := self._limits.find_refusal(tool, most))
            ):
                count += 1
                canonical = canonicalize(found[1], found[0])
                asked = self._questions.get(call.id)
                is_allowed = policy.judge(canonical) == "allow" if asked is None else asked.kind == "result"
                if is_allowed or await self._approve_call(canonical):
                    if most is not None or tool.max_failures is not None:
                        self._limits = self._limits or ToolLimits()
                        self._limits.allow(tool, call.id)
                    if canonical.tool.external and not canonical.problem:
                        await self._await_result(canonical)
                    else:
                        allowed.append(canonical)
                continue
            self._results[call.id] = make_error_result(call, refusal)
        self.is_handed_over = any(isinstance(each.tool.function, Handoff) for each in allowed)
        return allowed

    def _find_repeatable_tool(self, call: ToolCall) -> Tool | None:
        """Return the tool of a call, or None if it is unknown or a person has just answered."""
        found = None if call.id in self._said else _find_tool(call, self._settings.tools)
        return None if found is None else found[1]

    async def _approve_call(self, call: CanonicalCall) -> bool:
        """Return whether a call that no rule allows may run: ask a person unless the answer is known."""
        given = call.given
        asked = self._questions.get(given.id)
        if asked is not None and asked.kind == "question":
            await self._ask(given, asked.text)
            return False
        # An approval covers only what was shown: ask again about a path that has a new target by now.
        is_allowed = asked is not None and asked.allowed and asked.text == call.question
        said = (ALLOWED if is_allowed else apply_policy(self._settings.policy, call)) or await self._request_approval(
            call
        )
        if said is None or said.allowed:
            return said is not None
        self._results[given.id] = make_error_result(
            given, f"not run: {said.text if said == FORBIDDEN else format_denial(said)}"
        )
        return False

    # Questions

    async def _request_approval(self, call: CanonicalCall) -> HumanAnswer | None:
        ask_once = make_approval_cache(self._settings.policy, call)
        before = call.tool.before and call.tool.before(call.arguments)
        said = await self._consult_human(
            call.call, "approval", call.question, make_standing_decision(call), ask_once, before
        )
        if said is not None:
            # Also if the answer is replayed or was given earlier.
            ask_once.keep(said)
        return said

    async def _ask(self, call: ToolCall, text: str) -> None:
        """Put a tool's question to a person. The result of the call is short; the answer becomes a user message."""
        said = await self._consult_human(call, "question", text)
        if said is not None:
            self._said[call.id] = (text, said.text)
            result = make_question_result(call, text, said.text)
            self._take(call, result, make_call_record(call, result))

    async def _await_result(self, call: CanonicalCall) -> None:
        """Take the result of a call that runs elsewhere, if it is there."""
        text = f"What is the result of `{call.name}` with {call.call.arguments_json}?"
        said = await self._consult_human(call.call, "result", text)
        if said is not None:
            kept: dict[str, str] = {}
            result = read_delivered_result(call.given, said, call.tool.output_limit, kept)
            for handle, full in kept.items():
                self._conversation.keep(handle, full)
            self._take(call.given, result, make_call_record(call.call, result))

    async def _consult_human(
        self,
        call: ToolCall,
        kind: Literal["approval", "question", "result"],
        text: str,
        always: StandingDecision | None = None,
        ask_once: ApprovalCache | None = None,
        before: Before | None = None,
    ) -> HumanAnswer | None:
        """Return a person's answer, or None if no person is available.

        In that case the question is stored in the conversation.
        """
        run = self._run
        question = Question(call.id, kind, text, run.id, run.title, call, always, before)
        run.ask(question)

        async def ask() -> HumanAnswer:
            if (known := run.said(call.id)) is not None:
                return known
            if run.people is None or kind == "result":
                raise NobodyAvailable
            with self._clock.paused():
                said = await run.people.ask(question, ask_once)
            if said is None:
                raise NobodyAvailable
            return said

        try:
            name = f"{call.id}{QUESTION_SUFFIXES[kind]}"
            said: HumanAnswer = await self._place.perform(name, lambda: AskPerson(kind, text, call), ask)
        except NobodyAvailable:
            self._conversation.ask(call.id, OpenQuestion(kind, text))
            return None
        run.close_question(question, said)
        return said

    # Execution

    async def _run_calls(self, calls: list[CanonicalCall]) -> None:
        if len(calls) == 1:
            # The usual case, which needs neither a task group nor a lock.
            await self._run_call(calls[0])
        elif calls:
            await self._run_concurrently(calls)

    async def _run_concurrently(self, calls: list[CanonicalCall]) -> None:
        """Run concurrent tools at the same time, and the others one after another among them.

        If one of them ends the run, the others still finish, because an interrupted call may have had effects.
        """
        alone, errors = asyncio.Lock(), list[BaseException]()

        async def run(call: CanonicalCall) -> None:
            try:
                async with nullcontext() if call.tool.concurrent else alone:
                    await self._run_call(call)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                errors.append(error)

        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(run(call))
        if errors:
            raise errors[0]

    async def _run_call(self, canonical: CanonicalCall) -> None:
        call = canonical.given
        self._run.tell(CallStarted(call))
        budget: Budget | None = None
        try:
            if not self._place.performers and instrumentation.installed is None:
                # Without middleware, nobody needs the paths or the cost of its own effects.
                returned = await self._executed(canonical, None)
            else:
                budget = Budget(parent=self._run.limited)
                returned: ToolReturned = await self._place.perform(
                    call.id, lambda: _make_effect(canonical), lambda: self._executed(canonical, budget)
                )
        except BudgetExceeded as error:
            raise StopRun("limit", str(error)) from error
        except IndeterminateEffect as error:
            result = make_error_result(call, str(error))
            self._take(call, result, make_call_record(call, result))
            return
        except Suspended as error:
            self._inside.append(f"`{call.name}` waits: {error}")
            return
        if returned.requests and not (budget and budget.spent.requests):
            # A replayed call counts like one that runs now.
            self._run.count(Spending(returned.requests, 0, returned.usage or Usage(), returned.cost))
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

    async def _executed(self, canonical: CanonicalCall, budget: Budget | None) -> ToolReturned:
        settings, call = self._settings, canonical.given
        saved = self._place.run if self._place.performers else ""
        key = f"{saved or self._run.id}/{self._place.node.prefix}{call.id}"
        host = NO_HOST
        # Most tools need no host, and without middleware nobody needs the paths inside a call.
        inside = self._place
        if budget is not None or canonical.tool.arguments.context:
            inside = child_context(f"{self._place.node.prefix}{call.id}/")
            host = SessionCallHost(self._run, inside, call, settings, self._clock, budget)
        work = execute_call(
            canonical,
            self._conversation,
            settings.deps,
            key=key,
            raise_bugs=settings.raise_tool_bugs,
            threads=self._threads if are_coroutines_apart() else None,
            guards=settings.guards,
            host=host,
        )
        try:
            if budget is None:
                done = await work
            else:
                with use_context(inside), self._run.active(budget):
                    done = await work
            returned = ToolReturned(done.result, done.record, done.kept)
        except NeedsHumanInput as needed:
            returned = ToolReturned(asks=str(needed))
        except Suspended as needed:
            if self._place.is_durable:
                raise
            result = make_error_result(call, f"{type(needed).__name__}: {needed}")
            returned = ToolReturned(result, make_call_record(canonical.call, result))
        except FinishRun as end:
            result = ToolResult(call.id, end.text)
            returned = ToolReturned(result, make_call_record(canonical.call, result), finish=(end.value,))
        if budget is None or not (spent := budget.spent).requests:
            return returned
        return replace(returned, usage=spent.usage, cost=spent.cost, requests=spent.requests)

    def _take(self, call: ToolCall, result: ToolResult, kept: ToolCallRecord) -> None:
        self._results[call.id], self._told[call.id] = result, kept
        self._run.tell(CallFinished(call, result, kept))


def _find_tool(call: ToolCall, tools: Mapping[str, Tool]) -> tuple[ToolCall, Tool] | None:
    """Return a call and its tool, or None. A member of a toolset becomes an action of the tool for that set."""
    if (tool := tools.get(call.name)) is not None and not isinstance(tool.function, DeferredCall):
        return call, tool
    if (found := find_called_tool(call, tools)) is not None:
        return found
    toolset = as_string(call.native.data.get("toolset_name")) if call.native else ""
    if toolset not in tools:
        return None
    return ToolCall(call.id, call.name, {"action": call.name, **call.arguments}, native=call.native), tools[toolset]


def _make_effect(call: CanonicalCall) -> Effect:
    tool = call.tool
    again = "harmless" if tool.read_only or tool.idempotent else "inside" if tool.is_transparent else "unsure"
    # The arguments as the model wrote them: resolved paths may differ when the run is resumed.
    return CallTool(tool.name, call.given.arguments, again)
