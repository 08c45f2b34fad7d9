"""The loop: ask, run tools, answer, until there is what was asked for or a reason to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal

from antiphon.conversation import Conversation, ToolCall, ToolResult, ToolSpec
from antiphon.conversation.repair import interrupted
from antiphon.errors import NotReadyError
from antiphon.session.breaker import Breaker
from antiphon.session.calls import CallWork
from antiphon.session.events import CallFinished, Done, Event, UsageChanged
from antiphon.session.result import AIResult, Outcome
from antiphon.session.returns import PREFIX, Expected, ReturnError, parsed
from antiphon.session.settings import Settings
from antiphon.tools import ToolCallRecord
from antiphon.tools.execution import failure, record
from antiphon.wire import Reply, Usage
from antiphon.wire.shape import total

Mode = Literal["do", "vibe", "chat"]
_NUDGE = "You gave neither an answer nor a tool call. Please answer."
_GO_ON = "Please go on."


class _End(Exception):
    """The run ends here, with this outcome."""

    def __init__(self, outcome: Outcome, detail: str, value: Any = None) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome
        self.detail = detail
        self.value = value


class Run:
    """One run of the loop over a conversation."""

    def __init__(
        self, settings: Settings, conversation: Conversation, mode: Mode, prompt: str, returns: Any, stream: bool
    ) -> None:
        self.settings = settings
        self.conversation = conversation
        self.mode: Mode = mode
        self.prompt = prompt
        self.stream = stream
        known = getattr(settings.model, "capabilities", None)
        self.expected = None
        if returns is not None:
            parallel, native = getattr(known, "parallel_calls", None), getattr(known, "structured_output", None)
            self.expected = Expected(returns, settings.strategy, parallel, native)
        self.policy = settings.policy
        self.results: dict[str, ToolResult] = {}
        self.kept: dict[str, ToolCallRecord] = {}
        self.records: list[ToolCallRecord] = []
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.requests = 0
        self.rounds = 0
        self.breaker = Breaker()
        self.nudged = False
        self.refused = 0
        self.most_values = 0
        self.began = time.monotonic()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Everything that happens, up to `Done`. However it ends, no call is left open."""
        if self.settings.busy:
            raise NotReadyError("this session is already in a run; wait for its end or close its events")
        self.settings.busy = True
        try:
            self._answer(self.conversation.open_calls)
            self.conversation.add_user(self._prompt())
            async with aclosing(self._rounds()) as steps:
                while True:
                    yield await self._in_time(steps)
        except _End as end:
            self._answer(self.conversation.open_calls)
            yield Done(self._result(end))
        finally:
            self._answer(self.conversation.open_calls)
            self.conversation.tools = [tool.spec for tool in self.settings.tools.values()]
            self.settings.busy = False

    async def _in_time(self, steps: AsyncGenerator[Event, None]) -> Event:
        """The next event; the end, where time is up before."""
        seconds = self.settings.limits.seconds
        if seconds is None:
            return await anext(steps)
        limit = asyncio.timeout(self.began + seconds - time.monotonic())
        try:
            async with limit:
                return await anext(steps)
        except TimeoutError:
            if limit.expired():
                raise _End("limit", f"the limit of {seconds:g} seconds is reached") from None
            raise

    def _prompt(self) -> str:
        return f"{self.prompt}\n\n{self.expected.instruction()}" if self.expected else self.prompt

    async def _rounds(self) -> AsyncGenerator[Event, None]:
        """Requests, each with the calls it brings, until something ends the run."""
        while True:
            self._check_limits()
            self.conversation.tools = self._specs()
            if self.stream:
                async with self.settings.model.astream(self.conversation, **self._options()) as pieces:
                    async for delta in pieces:
                        yield delta
                reply = pieces.reply
            else:
                reply = await self.settings.model.achat(self.conversation, **self._options())
            self._count(reply)
            yield UsageChanged(self.usage, self.cost)
            if not reply.tool_calls:
                self._take_answer(reply)
                continue
            is_late = self._is_last_round()
            async with aclosing(self._answer_calls(reply.tool_calls)) as events:
                async for event in events:
                    yield event
            self._finish_if_complete()
            self._look_at_returns(reply.tool_calls, is_late)

    def _look_at_returns(self, calls: tuple[ToolCall, ...], is_late: bool) -> None:
        """After calls that did not complete what is wanted: a round is used up, or a try."""
        returned = [call for call in calls if self._is_internal(call)]
        if len(returned) < len(calls):
            self.rounds += 1
        if returned or is_late:
            self._try_again()
        if self.expected and len(returned) == len(calls) and not self.expected.faults:
            # What was wrong is told in the results; what just did not come is told here.
            self.conversation.add_user(self.expected.reminder())

    # Before asking

    def _check_limits(self) -> None:
        used = (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)
        reason = self.settings.limits.reached(self.requests, used, self.cost, time.monotonic() - self.began)
        if reason:
            raise _End("limit", reason)

    def _specs(self) -> list[ToolSpec]:
        if self.conversation.kept:
            # Something was cut: from now on the model can read on. Few runs need it, and it loads pydantic.
            from antiphon.tools.reading import read_result_tool

            self.settings.tools.setdefault("read_result", read_result_tool())
        internal = self.expected.tools() if self.expected else []
        return [*(tool.spec for tool in self.settings.tools.values()), *internal]

    def _options(self) -> dict[str, Any]:
        options = dict(self.settings.options)
        has_tools, is_last = bool(self.settings.tools), self._is_last_round()
        if self.expected and self.expected.strategy == "native":
            options["output_schema"] = self.expected.schema
        elif self.expected:
            if is_last or not has_tools:
                ways = self.expected.tools()
                # Among other tools, a small model goes on calling those.
                only = ways[0].name if has_tools and len(ways) == 1 else "required"
                options.setdefault("tool_choice", only)
            return options
        if is_last and has_tools:
            options["tool_choice"] = "none"
        return options

    def _is_last_round(self) -> bool:
        """`do` allows one set of tool calls; what follows must be the answer."""
        return self.mode == "do" and self.rounds >= 1

    # After an answer

    def _count(self, reply: Reply) -> None:
        self.requests += 1
        self.usage = _sum(self.usage, reply.usage)
        cost = self.settings.model.cost(reply.usage)
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def _take_answer(self, reply: Reply) -> None:
        """An answer without calls: the end, or a reason to ask again."""
        if reply.stop == "pause":
            self.conversation.add_user(_GO_ON)
            return
        if reply.stop == "refusal":
            raise _End("refused", reply.text or "the model refused to answer", reply.text)
        if self.expected:
            self.expected.faults = []
            if reply.stop == "length":
                self.expected.take_nothing("an answer that was cut off by the token limit")
            else:
                self.expected.take_text(reply.text)
            self._finish_if_complete()
            self._try_again()
            self.conversation.add_user(self.expected.reminder())
            return
        if reply.text.strip():
            value = reply.text if self.mode == "chat" else parsed(reply.text)
            cut = reply.stop == "length"
            raise _End("truncated" if cut else "done", "cut off by the token limit" if cut else "", value)
        if self.nudged:
            raise _End("empty", "the model gave neither an answer nor a tool call, also when reminded", "")
        self.nudged = True
        self.conversation.add_user(_NUDGE)

    def _finish_if_complete(self) -> None:
        if self.expected and self.expected.complete:
            raise _End("done", "", self.expected.value)

    def _try_again(self) -> None:
        """Count an answer that brought nothing new; the end, where there were too many."""
        if self.expected and len(self.expected.values) > self.most_values:
            self.most_values = len(self.expected.values)
            return
        self.refused += 1
        if self.refused <= self.settings.attempts:
            return
        if self.expected is None:
            raise _End("stuck", "the model goes on calling tools, though one set of calls was allowed")
        lacking = ", ".join(self.expected.missing)
        reasons = [f"missing: {lacking}"] if lacking else []
        raise ReturnError(self.prompt, self.expected.received, "; ".join(reasons + self.expected.faults))

    # Calls

    async def _answer_calls(self, calls: tuple[ToolCall, ...]) -> AsyncGenerator[Event, None]:
        """Answer every call of a reply, in call order, whatever becomes of each."""
        if self.expected:
            self.expected.faults = []
        to_run: list[ToolCall] = []
        for call in calls:
            refusal = self._refusal(call, len(to_run))
            if refusal is not None:
                self.results[call.id] = refusal
            elif self._is_internal(call) and self.expected:
                self.results[call.id] = self.expected.take_call(call)
            else:
                to_run.append(call)
        work = CallWork(self.settings, self.policy, self.conversation, to_run)
        try:
            async with aclosing(work.events()) as events:
                async for event in events:
                    yield event
        finally:
            self.policy = work.policy
            self.results |= work.results
            self.kept |= work.records
        told = set(work.records)
        for call, result, kept in self._answer(calls):
            if call.id not in told:
                yield CallFinished(call, result, kept)
        if work.blocked:
            raise _End("blocked", f"`{work.blocked.call.name}` waits for a human: {work.blocked.question}")
        if reason := self.breaker.reason:
            raise _End("stuck", reason)
        if self.settings.limits.calls is not None and len(self.records) > self.settings.limits.calls:
            raise _End("limit", f"the limit of {self.settings.limits.calls} calls is reached")

    def _answer(self, calls: Sequence[ToolCall]) -> list[tuple[ToolCall, ToolResult, ToolCallRecord]]:
        """Give each call its result, or that of an interruption; says so of those that are not internal."""
        if not calls:
            return []
        results = [(call, self.results.pop(call.id, None) or interrupted(call)) for call in calls]
        outside = [(call, result) for call, result in results if not self._is_internal(call)]
        self.breaker.count(outside)
        self.conversation.add_tool_results([self.breaker.noted(call, result) for call, result in results])
        told = [(call, result, self.kept.pop(call.id, None) or record(call, result)) for call, result in outside]
        self.records += [kept for _, _, kept in told]
        return told

    def _is_internal(self, call: ToolCall) -> bool:
        return self.expected is not None and call.name.startswith(PREFIX)

    def _refusal(self, call: ToolCall, before: int) -> ToolResult | None:
        """Why a call is not even considered, after so many others of its reply that are."""
        if self._is_internal(call):
            return None
        if call.problem:
            return failure(call, f"not run: {call.problem}")
        if call.name not in self.settings.tools:
            known = ", ".join(self.settings.tools) or "none"
            return failure(call, f"there is no tool `{call.name}`; there are: {known}")
        if self._is_last_round():
            return failure(call, "not run: no more tool calls are allowed now; answer with what you have")
        limit = self.settings.limits.calls
        if limit is not None and len(self.records) + before >= limit:
            return failure(call, f"not run: the limit of {limit:g} calls is reached")
        return None

    # The end

    def _result(self, end: _End) -> AIResult:
        return AIResult(
            end.value,
            tuple(self.records),
            self.usage,
            self.cost if self.requests else None,
            self.settings.model.name,
            self.conversation,
            end.outcome,
            end.detail,
        )


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        total(first.input_tokens, second.input_tokens),
        total(first.output_tokens, second.output_tokens),
        total(first.cache_read_tokens, second.cache_read_tokens),
        total(first.cache_write_tokens, second.cache_write_tokens),
        total(first.reasoning_tokens, second.reasoning_tokens),
    )
