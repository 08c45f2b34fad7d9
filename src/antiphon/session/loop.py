"""The loop: ask, run tools, answer, until there is what was asked for or a reason to stop."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal

from antiphon.conversation import Conversation, ToolCall, ToolResult, ToolSpec, UserPart, UserTurn
from antiphon.conversation.repair import interrupted
from antiphon.conversation.turns import user_parts
from antiphon.errors import NotReadyError, OptionError
from antiphon.session.breaker import Breaker
from antiphon.session.calls import CallWork
from antiphon.session.events import CallFinished, Done, Event, UsageChanged
from antiphon.session.result import AIResult, Outcome, ReturnError, RunRecord
from antiphon.session.returns import PREFIX, Expected, parsed
from antiphon.session.settings import Settings
from antiphon.session.trimming import Machinery
from antiphon.tools import ToolCallRecord
from antiphon.tools.execution import failure, record
from antiphon.wire import CallDelta, Reply, Target, Usage
from antiphon.wire.schema import strict_fits
from antiphon.wire.shape import total

Mode = Literal["do", "vibe", "chat"]
#: What is asked: text, or text and images.
Prompt = str | UserPart | Sequence[str | UserPart]
_NUDGE = "You gave neither an answer nor a tool call. Please answer."
_GO_ON = "Please go on."
#: Why there is no value, by how a run ended.
_ENDINGS: dict[Outcome, str] = {"refused": "the model refused", "blocked": "a human is needed"}


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
        self, settings: Settings, conversation: Conversation, mode: Mode, prompt: Prompt, returns: Any, stream: bool
    ) -> None:
        self.settings = settings
        self.conversation = conversation
        self.mode: Mode = mode
        self.prompt = prompt
        self.stream = stream
        self.id = os.urandom(8).hex()
        self.provided = [spec for spec in conversation.tools if spec.is_provider_defined]
        # What was cut can be read on, by a tool.
        has_tools = bool(settings.tools or self.provided or conversation.kept or settings.options.get("extra"))
        self.expected = None if returns is None else expected(settings, returns, has_tools)
        self.machinery = Machinery(conversation, PREFIX)
        self.policy = settings.policy
        self.results: dict[str, ToolResult] = {}
        self.kept: dict[str, ToolCallRecord] = {}
        #: Calls that came when no more were allowed: refused, and none of the run's.
        self.late: set[str] = set()
        self.records: list[ToolCallRecord] = []
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.requests = 0
        self.rounds = 0
        self.breaker = Breaker()
        self.nudged = False
        self.is_returned = False
        self.settled = False
        self.refused = 0
        self.most_values = 0
        self.began = time.monotonic()

    def request(self) -> bytes:
        """The body of the first request, as it would be sent; the conversation is not changed."""
        model: Any = self.settings.model
        if not hasattr(model, "request"):
            raise OptionError(f"{model.name} cannot show its requests")
        self.conversation = self.conversation.fork()
        self.conversation.add_user(self._prompt())
        self.conversation.tools = self._specs()
        return model.request(self.conversation, stream=self.stream, **self._options())

    async def events(self) -> AsyncGenerator[Event, None]:
        """Everything that happens, up to `Done`. However it ends, no call is left open."""
        if self.settings.busy:
            raise NotReadyError("this session is already in a run; wait for its end or close its events")
        self.settings.busy = True
        try:
            self._answer(self.conversation.open_calls)
            self.machinery = Machinery(self.conversation, PREFIX)
            self.conversation.add_user(self._prompt())
            async with aclosing(self._rounds()) as steps:
                while True:
                    yield await self._in_time(steps)
        except _End as end:
            self._settle()
            if self.expected and end.outcome != "done":
                raise self._return_error(end.outcome, end.detail) from None
            yield Done(AIResult(end.value, tuple(self.records), self._record(end.outcome, end.detail)))
        finally:
            self._settle()
            self.settings.busy = False

    def _settle(self) -> None:
        """Leave the conversation fit to go on: no open call, and of typed returns the question and the answer."""
        if self.settled:
            return
        self.settled = True
        self._answer(self.conversation.open_calls)
        self.conversation.tools = self._own_specs()
        if self.expected:
            answer = self.expected.answer if self.is_returned else ""
            self.machinery.take_out(answer, failed=not self.expected.is_enough)

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

    def _prompt(self) -> list[UserPart]:
        told = self.expected.instruction() if self.expected else ""
        return [*user_parts(self.prompt, None), *([self.machinery.text(told)] if told else [])]

    async def _rounds(self) -> AsyncGenerator[Event, None]:
        """Requests, each with the calls it brings, until something ends the run."""
        while True:
            self._check_limits()
            self.conversation.tools = self._specs()
            if self.stream:
                internal: set[int] = set()
                async with self.settings.model.astream(self.conversation, **self._options()) as pieces:
                    async for delta in pieces:
                        if not (self.expected and _is_internal(delta, internal)):
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
            self.conversation.add_user(self.machinery.text(self.expected.reminder()))

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
        return [*self._own_specs(), *(self.expected.tools() if self.expected else [])]

    def _own_specs(self) -> list[ToolSpec]:
        """The session's tools, and those of the conversation that the provider runs itself."""
        return [*(tool.spec for tool in self.settings.tools.values()), *self.provided]

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
            if self.expected and reply.text:
                self.expected.received.append(reply.text)
            raise _End("refused", reply.text or "the model refused to answer", reply.text)
        if self.expected:
            self.expected.faults = []
            if reply.stop == "length":
                self.expected.take_nothing("an answer that was cut off by the token limit")
            else:
                self.expected.take_text(reply.text)
            if self.expected.is_enough and not self.expected.faults:
                raise _End("done", "", self.expected.value)
            self.machinery.refuse_answer()
            self._try_again()
            self.conversation.add_user(self.machinery.text(self.expected.reminder()))
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
        if self.expected and self.expected.is_complete and not self.expected.faults:
            self._finish()

    def _finish(self) -> None:
        assert self.expected is not None
        self.is_returned = True
        raise _End("done", "", self.expected.value)

    def _try_again(self) -> None:
        """Count an answer that brought nothing new; the end, where there were too many."""
        if self.expected and len(self.expected.values) > self.most_values:
            self.most_values = len(self.expected.values)
            return
        if self.expected and self.expected.is_enough:
            # Reminded of the fields that may be left out, it has left them out.
            self._finish()
        self.refused += 1
        if self.refused <= self.settings.attempts:
            return
        if self.expected is None:
            raise _End("stuck", "the model goes on calling tools, though one set of calls was allowed")
        raise _End("stuck", self.expected.lack())

    # Calls

    async def _answer_calls(self, calls: tuple[ToolCall, ...]) -> AsyncGenerator[Event, None]:
        """Answer every call of a reply, in call order, whatever becomes of each."""
        if self.expected:
            self.results |= self.expected.take_calls([call for call in calls if self._is_internal(call)])
        to_run: list[ToolCall] = []
        for call in calls:
            refusal = self._refusal(call, len(to_run))
            if refusal is not None:
                self.results[call.id] = refusal
            elif call.id not in self.results:
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
        outside = [(call, result) for call, result in outside if call.id not in self.late]
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
            self.late.add(call.id)
            return failure(call, "not run: no more tool calls are allowed now; answer with what you have")
        limit = self.settings.limits.calls
        if limit is not None and len(self.records) + before >= limit:
            return failure(call, f"not run: the limit of {limit:g} calls is reached")
        return None

    # The end

    def _record(self, outcome: Outcome, detail: str) -> RunRecord:
        cost = self.cost if self.requests else None
        return RunRecord(self.usage, cost, self.settings.model.name, outcome, detail, self.conversation, self.id)

    def _return_error(self, outcome: Outcome, detail: str) -> ReturnError:
        assert self.expected is not None
        lack = self.expected.lack()
        reason = "; ".join(dict.fromkeys(text for text in (_ENDINGS.get(outcome, ""), detail, lack) if text))
        run = self._record(outcome, detail)
        asked = UserTurn(user_parts(self.prompt, None)).text
        return ReturnError(asked, reason, self.expected.received, self.expected.refused, run)


def expected(settings: Settings, returns: Any, has_tools: bool) -> Expected:
    """What is wanted of a session's model, in the way that suits it."""
    known = getattr(settings.model, "capabilities", None)
    target: Target | None = getattr(settings.model, "target", None)

    def is_sure(schema: dict[str, Any]) -> bool:
        if target is None or not getattr(known, "structured_output", None):
            return False
        # A local model is held to any schema. Elsewhere tools and a schema do not go together on every model.
        return target.provider == "local" or (not has_tools and strict_fits(schema, target.api))

    return Expected(returns, settings.strategy, parallel_calls=getattr(known, "parallel_calls", None), is_sure=is_sure)


def _is_internal(delta: Any, indexes: set[int]) -> bool:
    """Whether this is a piece of a call by which a value is returned; `indexes` keeps which calls are such."""
    if not isinstance(delta, CallDelta):
        return False
    if delta.name.startswith(PREFIX):
        indexes.add(delta.index)
    return delta.index in indexes


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        total(first.input_tokens, second.input_tokens),
        total(first.output_tokens, second.output_tokens),
        total(first.cache_read_tokens, second.cache_read_tokens),
        total(first.cache_write_tokens, second.cache_write_tokens),
        total(first.reasoning_tokens, second.reasoning_tokens),
    )
