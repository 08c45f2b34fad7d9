"""The loop: ask, run tools, answer, until there is what was asked for or a reason to stop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import fields, replace
from typing import Any, Literal

from antiphon.conversation import Conversation, ToolCall, ToolResult, ToolSpec
from antiphon.conversation.repair import interrupted
from antiphon.session.calls import CallWork
from antiphon.session.events import CallFinished, Done, Event, UsageChanged
from antiphon.session.result import AIResult, Outcome
from antiphon.session.returns import PREFIX, Expected, ReturnError, Strategy, parsed
from antiphon.session.settings import Settings
from antiphon.tools import ToolCallRecord
from antiphon.tools.execution import failure, record
from antiphon.tools.reading import read_result_tool
from antiphon.wire import Reply, Usage

Mode = Literal["do", "vibe", "chat"]
#: The same failing call this often: the model is told; this often: the run ends.
WARN_AFTER, STOP_AFTER = 3, 5
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
        self.expected = Expected(returns) if returns is not None else None
        self.strategy: Strategy = "object"
        if self.expected:
            known = getattr(settings.model, "capabilities", None)
            parallel, native = getattr(known, "parallel_calls", None), getattr(known, "structured_output", None)
            self.strategy = settings.strategy or self.expected.strategy(parallel, native)
        self.records: list[ToolCallRecord] = []
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.requests = 0
        self.rounds = 0
        self.failing: Counter[tuple[str, str]] = Counter()
        self.nudged = False
        self.refused = 0
        self.began = time.monotonic()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Everything that happens, up to `Done`. However it ends, no call is left open."""
        text = self.prompt
        if self.expected:
            text = f"{text}\n\n{self.expected.instruction(self.strategy)}"
        self.conversation.add_user(text)
        try:
            while True:
                async for event in self._round():
                    yield event
        except _End as end:
            yield Done(self._result(end))
        finally:
            self._answer_open_calls()

    async def _round(self) -> AsyncGenerator[Event, None]:
        """One request, and the calls it brings."""
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
            return
        async for event in self._answer_calls(reply.tool_calls):
            yield event
        self.rounds += 1
        self._finish_if_complete()
        if any(self._is_internal(call) for call in reply.tool_calls):
            self._try_again()

    # Before asking

    def _check_limits(self) -> None:
        limits = self.settings.limits
        used = (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)
        for name, limit, value in (
            ("turns", limits.turns, self.requests),
            ("calls", limits.calls, len(self.records)),
            ("tokens", limits.tokens, used),
            ("cost", limits.cost, self.cost),
            ("seconds", limits.seconds, time.monotonic() - self.began),
        ):
            if limit is not None and value is not None and value >= limit:
                raise _End("limit", f"the limit of {limit:g} {name} is reached")

    def _specs(self) -> list[ToolSpec]:
        if self.conversation.kept:
            # Something was cut: from now on the model can read on.
            self.settings.tools.setdefault("read_result", read_result_tool())
        internal = self.expected.tools(self.strategy) if self.expected else []
        return [*(tool.spec for tool in self.settings.tools.values()), *internal]

    def _options(self) -> dict[str, Any]:
        options = dict(self.settings.options)
        only_returns = self.expected is not None and (not self.settings.tools or self._is_last_round())
        if self.expected and self.strategy == "native":
            options["output_schema"] = self.expected.schema
        elif only_returns:
            options.setdefault("tool_choice", "required")
        elif self._is_last_round() and self.settings.tools:
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
            self.expected.take_text(reply.text)
            self._finish_if_complete()
            self._try_again()
            self.conversation.add_user(self.expected.reminder(self.strategy))
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
        if self.expected and not self.expected.missing:
            raise _End("done", "", self.expected.value())

    def _try_again(self) -> None:
        assert self.expected is not None
        self.refused += 1
        if self.refused > self.settings.attempts:
            lacking = ", ".join(self.expected.missing)
            faults = "; ".join(self.expected.faults)
            reason = f"missing: {lacking}" + (f" ({faults})" if faults else "")
            raise ReturnError(self.prompt, self.expected.received, reason)

    # Calls

    async def _answer_calls(self, calls: tuple[ToolCall, ...]) -> AsyncGenerator[Event, None]:
        """Answer every call of a reply, in call order, whatever becomes of each."""
        results: dict[str, ToolResult] = {}
        for call in calls:
            refusal = self._refusal(call)
            if refusal is not None:
                results[call.id] = refusal
            elif self._is_internal(call) and self.expected:
                results[call.id] = self.expected.take_call(call)
        work = CallWork(self.settings, self.conversation, [call for call in calls if call.id not in results])
        async for event in work.events():
            yield event
        results |= work.results
        self.conversation.add_tool_results([self._watched(call, results[call.id]) for call in calls])
        for call in calls:
            if not self._is_internal(call):
                kept = work.records.get(call.id) or record(call, results[call.id])
                self.records.append(kept)
                if call.id not in work.records:
                    yield CallFinished(call, results[call.id], kept)
        if work.blocked:
            raise _End("blocked", f"`{work.blocked.call.name}` waits for a human: {work.blocked.question}")
        self._end_if_stuck()

    def _is_internal(self, call: ToolCall) -> bool:
        return self.expected is not None and call.name.startswith(PREFIX)

    def _refusal(self, call: ToolCall) -> ToolResult | None:
        """Why a call is not even considered."""
        if self._is_internal(call):
            return None
        if call.problem:
            return failure(call, f"not run: {call.problem}")
        if call.name not in self.settings.tools:
            known = ", ".join(self.settings.tools) or "none"
            return failure(call, f"there is no tool `{call.name}`; there are: {known}")
        if self._is_last_round():
            return failure(call, "not run: no more tool calls are allowed now; answer with what you have")
        return None

    # Going in circles

    def _watched(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Count failures of the same call, and tell the model when it repeats itself."""
        key = call.name, call.arguments_json
        if not result.is_error:
            self.failing.pop(key, None)
            return result
        self.failing[key] += 1
        if self.failing[key] < WARN_AFTER:
            return result
        note = f"This same call has now failed {self.failing[key]} times. Do something else."
        return replace(result, content=f"{result.text}\n{note}")

    def _end_if_stuck(self) -> None:
        for (name, arguments), count in self.failing.items():
            if count >= STOP_AFTER:
                raise _End("stuck", f"the same call failed {count} times: {name}({arguments[:200]})")

    # The end

    def _answer_open_calls(self) -> None:
        calls = self.conversation.open_calls
        if calls:
            self.conversation.add_tool_results(interrupted(call) for call in calls)

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
    totals: dict[str, int | None] = {}
    for each in fields(Usage):
        known = [v for v in (getattr(first, each.name), getattr(second, each.name)) if v is not None]
        totals[each.name] = sum(known) if known else None
    return Usage(**totals)
