"""The loop: ask, run tools, answer, until there is what was asked for or a reason to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Literal, NoReturn

from antiphon.conversation import Conversation, OpenQuestion, Text, ToolCall, ToolResult, ToolSpec, UserPart, UserTurn
from antiphon.conversation.repair import interrupted
from antiphon.conversation.turns import user_parts
from antiphon.effects import Step, aperform, place
from antiphon.effects.values import Answered, AskModel, Effect, Said
from antiphon.errors import AntiphonError, CompactionError, ContextOverflow, NotReadyError, OptionError
from antiphon.session.breaker import Breaker
from antiphon.session.calls import Calls, asked_result, denial, is_asked_more_than_once, spoken
from antiphon.session.clock import Clock
from antiphon.session.context import Room, Size, readable, room, room_for, summary_request
from antiphon.session.endings import ENDINGS, ReturnError, Waiting
from antiphon.session.events import CallFinished, Compacted, RequestEnded, RequestStarted
from antiphon.session.people import Question
from antiphon.session.result import AIResult, Outcome, RunRecord
from antiphon.session.returns import PREFIX, Expected, parsed
from antiphon.session.run import Run, check_kind
from antiphon.session.settings import Settings
from antiphon.session.trimming import Machinery
from antiphon.tools import ToolCallRecord
from antiphon.tools.approval import Standing, standing
from antiphon.tools.execution import as_text, failure, record
from antiphon.wire import CallDelta, Reply, Target, Usage
from antiphon.wire.schema import strict_fits

Mode = Literal["do", "vibe", "chat"]
#: What is asked: text, or text and images.
Prompt = str | UserPart | Sequence[str | UserPart]
_NUDGE = "You gave neither an answer nor a tool call. Please answer."
_GO_ON = "Please go on."
_CANCELLED = "the run was cancelled"
#: Where a conversation keeps the run that drives it: there can be one at a time.
_DRIVER = "antiphon.session.run"
#: And its turns as they were when a run ended without an answer.
_UNANSWERED = "antiphon.session.unanswered"


class _End(Exception):
    """The run ends here, with this outcome."""

    def __init__(self, outcome: Outcome, detail: str, value: Any = None) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome
        self.detail = detail
        self.value = value


class Loop:
    """What makes a run of a session go on: from its prompt, or from whatever the conversation is."""

    def __init__(
        self,
        settings: Settings,
        conversation: Conversation,
        mode: Mode,
        prompt: Prompt | None,
        returns: Any,
        stream: bool,
    ) -> None:
        self.settings = settings
        self.conversation = conversation
        self.mode: Mode = mode
        self.prompt = prompt
        self.question = "" if prompt is None else UserTurn(user_parts(prompt, None)).text
        self.returns = returns
        self.stream = stream
        self.provided = [spec for spec in conversation.tools if spec.is_provider_defined]
        # What was cut can be read on, by a tool.
        self._has_tools = bool(settings.tools or self.provided or conversation.kept or settings.options.get("extra"))
        self.expected = None if returns is None else expected(settings, returns, self._has_tools)
        self.machinery = Machinery(conversation, PREFIX)
        self.results: dict[str, ToolResult] = {}
        self.kept: dict[str, ToolCallRecord] = {}
        #: Calls that came when no more were allowed: refused, and none of the run's.
        self.late: set[str] = set()
        self.records: list[ToolCallRecord] = []
        self.requests = 0
        self.rounds = 0
        self.said = ""
        self.breaker = Breaker()
        self.clock = Clock(settings.limits.seconds)
        self.size = Size()
        self.nudged = False
        self.is_going = False
        self.is_returned = False
        self.settled = False
        self.refused = 0
        self.most_values = 0

    def begin(self, kind: str) -> Run[Any]:
        """The run; from now on nobody else can drive the conversation."""
        self._claim()
        settings, where = self.settings, place()
        self.performers = where.performers
        self.path = where.node.next() if where.performers else ""
        self.run: Run[Any] = Run(
            kind, settings.name or self.question, model=settings.model.name, people=settings.people
        )
        return self.run

    def _claim(self) -> None:
        if self.conversation.memo.setdefault(_DRIVER, self) is not self:
            raise NotReadyError(
                "this conversation is already in a run; wait for its end, or cancel it, or go on in a `fork`"
            )

    def abandon(self) -> None:
        """It could not be set going, or nobody has it: it ends."""
        self.run.cancel()
        if not self.is_going and self.run.state == "running":
            self._leave()
            self.run.fail(self._error("cancelled", _CANCELLED))

    def _leave(self) -> None:
        self.conversation.memo.pop(_DRIVER, None)

    def request(self) -> bytes:
        """The body of the first request, as it would be sent; the conversation is not changed."""
        self.conversation = self.conversation.fork()
        self._say()
        return self._preview(self._options())

    async def drive(self, resume: Callable[[], object] | None = None) -> AIResult[Any]:
        """All of it, to the end or until it waits. However it ends, the conversation is fit to go on.

        `resume` is called when what it waits for is there.
        """
        run, self.is_going = self.run, True
        try:
            self._claim()
        except NotReadyError as error:
            # It waited, and somebody else goes on with the conversation.
            run.fail(error)
            raise
        with run.active():
            while True:
                end = await self._driven()
                if not isinstance(end, Waiting) or run.suspend(end, resume, self._leave):
                    break
        if isinstance(end, AIResult):
            return end
        raise end

    async def _driven(self) -> AIResult[Any] | BaseException:
        """The result, or what ended the run instead; the run is told, unless it waits."""
        try:
            async with self.clock.running():
                await self._work()
        except _End as end:
            outcome, detail = end.outcome, end.detail
            self._settle(is_waiting=outcome == "waiting")
            record = self._record(outcome, detail)
            if outcome == "done":
                result = AIResult(end.value, tuple(self.records), record)
                # Who is told of the end may go on at once.
                self._leave()
                self.run.finish(result)
                return result
            error: BaseException = self._error(outcome, detail)
            error.__cause__ = end.__cause__
            if outcome == "waiting":
                return error
        except TimeoutError as timeout:
            self._settle()
            over = f"the limit of {self.settings.limits.seconds:g} seconds is reached"
            error = self._error("limit", over) if self.clock.is_over else timeout
        except BaseException as raised:
            self._settle()
            error = raised
            if isinstance(raised, AntiphonError) and raised.run is None:
                raised.run = self._record("failed", str(raised))
        told = self._error("cancelled", _CANCELLED) if isinstance(error, asyncio.CancelledError) else error
        if self.requests:
            self.conversation.memo[_UNANSWERED] = self.conversation.turns
        self._leave()
        self.run.fail(told)
        return error

    async def _work(self) -> NoReturn:
        """Requests, each with the calls it brings, until something ends the run."""
        self._say()
        if self.conversation.open_calls:
            await self._answer_calls(self.conversation.open_calls)
        while True:
            self._check_limits()
            reply, calls = await self._ask()
            if not calls:
                self._take_answer(reply)
                continue
            is_late = self._is_last_round()
            await self._answer_calls(calls)
            self._finish_if_complete()
            self._look_at_returns(calls, is_late)

    def _say(self) -> None:
        """Say the prompt, once; where there is none, go on from what the conversation is."""
        if self.settled:
            # It waited, and now goes on: what is wanted is asked for anew.
            self.settled, self.machinery = False, Machinery(self.conversation, PREFIX)
            self.expected = None if self.returns is None else expected(self.settings, self.returns, self._has_tools)
        elif self.prompt is not None:
            self._answer(self.conversation.open_calls)
        if self.prompt is None:
            parts: list[UserPart] = self._words_to_go_on()
        else:
            parts = list(user_parts(self.prompt, None))
            last = self.conversation.turns[-1] if self.conversation.turns else None
            self.machinery = Machinery(self.conversation, PREFIX)
            if isinstance(last, UserTurn) and list(last.parts[-len(parts) :]) == parts:
                # It was said before, and the run that should have answered failed.
                parts = []
        self.prompt = None
        told = self.expected.instruction() if self.expected else ""
        parts += [self.machinery.text(told)] if told else []
        if parts:
            self.conversation.add_user(parts)
        self.conversation.tools = self._specs()

    def _words_to_go_on(self) -> list[UserPart]:
        """What must be said for the model to go on: nothing, unless its was the last word, and that was no answer."""
        ready = self.conversation.ready()
        if ready or ready.open_calls:
            return []
        if self.conversation.memo.get(_UNANSWERED) is not self.conversation.turns:
            raise NotReadyError(f"there is nothing to go on with: {ready.reason}")
        return [Text(_GO_ON)]

    def _settle(self, *, is_waiting: bool = False) -> None:
        """Leave the conversation fit to go on: of typed returns the question and the answer, and no call open.

        Unless it waits: what a person is asked about stays open.
        """
        if self.settled:
            return
        self.settled = True
        if not is_waiting:
            self._answer(self.conversation.open_calls)
        self.conversation.tools = self._own_specs()
        if self.expected:
            answer = self.expected.answer if self.is_returned else ""
            self.machinery.take_out(answer, failed=not self.expected.is_enough)

    async def perform(
        self, path: str, effect: Callable[[], Effect], do: Callable[[], Awaitable[Any]], **more: Any
    ) -> Any:
        """What comes of an effect below this run; where nobody stands in the door, it is just done."""
        if not self.performers:
            return await do()
        return await aperform(Step(f"{self.path}/{path}", effect(), **more), do)

    # Asking

    async def _ask(self) -> tuple[Reply, tuple[ToolCall, ...]]:
        """One request, and its reply in the conversation; one that is too long is made shorter once."""
        await self._prepare()
        try:
            return await self._asked()
        except ContextOverflow as error:
            context = self.settings.context
            if context is None:
                raise
            shorter = room_for(self.conversation, error, readable(self.settings.model), context.leave)
            if not await self._make_room(shorter):
                raise
        return await self._asked()

    async def _prepare(self) -> None:
        context, model = self.settings.context, self.settings.model
        if self.settings.before_request is not None:
            done = self.settings.before_request(self.conversation)
            if isawaitable(done):
                await done
        if context is not None and (most := readable(model)):
            size = self.size.of(self.conversation)
            if size > most * context.fill:
                await self._make_room(room(self.conversation, most * context.leave, size))

    async def _make_room(self, room: Room) -> bool:
        """Make the conversation shorter; whether that could be done."""
        before = self.conversation.fork()
        try:
            dropped = room.dropped(before)
            shorter = _shortened(before, room, await self._summary(dropped) if dropped else None)
        except CompactionError:
            return False
        if shorter == before:
            return False
        self.machinery.moved(len(before.turns) - len(shorter.turns))
        self.conversation.take_over(shorter)
        self.size = Size()
        self.run.tell(Compacted(len(dropped), before))
        return True

    async def _summary(self, dropped: Sequence[Any]) -> str | None:
        """What the model says of the turns that are left out; nothing, where it does not get to it."""
        if self.settings.context is None or not self.settings.context.summarize:
            return None
        try:
            answered = await self._requested(summary_request(dropped), {}, stream=False)
        except AntiphonError:
            return None
        return answered.reply.text.strip() or None

    async def _asked(self) -> tuple[Reply, tuple[ToolCall, ...]]:
        self.conversation.tools = self._specs()
        seen = self.conversation.turns
        answered = await self._requested(self.conversation, self._options(), self.stream)
        reply = answered.reply
        turn = self.conversation.add_reply(reply.parts, seen)
        self.said = reply.text or self.said
        usage = reply.usage
        self.size.count(self.conversation.turns, (usage.input_tokens or 0) + (usage.output_tokens or 0))
        return reply, turn.calls

    async def _requested(self, conversation: Conversation, options: dict[str, Any], stream: bool) -> Answered:
        """One exchange with the model, told and counted. The conversation is only read."""
        self.requests += 1
        number, model, run = self.requests, self.settings.model, self.run
        run.requested()
        run.tell(RequestStarted(number, model.name))
        asked = conversation.to_be_asked()

        def effect() -> Effect:
            return AskModel(model.name, asked.system, conversation.turns, asked.tools, options)

        async def ask() -> Answered:
            reply = await (self._streamed(asked, options) if stream else model.achat(asked, **options))
            return Answered(reply, model.cost(reply.usage))

        try:
            answered: Answered = await self.perform(f"r{number}", effect, ask, preview=lambda: self._preview(options))
        except BaseException as error:
            run.tell(RequestEnded(number, "", Usage(), None, str(error) or type(error).__name__))
            if isinstance(error, AntiphonError) and _is_over_budget(error):
                raise _End("limit", str(error)) from error
            raise
        reply = answered.reply
        run.tell(RequestEnded(number, reply.text, reply.usage, answered.cost))
        run.count(reply.usage, answered.cost)
        return answered

    async def _streamed(self, conversation: Conversation, options: Mapping[str, Any]) -> Reply:
        internal: set[int] = set()
        tell = self.run.tell
        async with self.settings.model.astream(conversation, **options) as pieces:
            async for delta in pieces:
                if not (self.expected and _is_internal(delta, internal)):
                    tell(delta)
        return pieces.reply

    def _preview(self, options: Mapping[str, Any]) -> bytes:
        model: Any = self.settings.model
        if not hasattr(model, "request"):
            raise OptionError(f"{model.name} cannot show its requests")
        return model.request(self.conversation, stream=self.stream, **options)

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
        if self.run.is_to_end:
            raise _End("cancelled", _CANCELLED)
        usage, cost = self.run.usage, self.run.cost
        used = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        reason = self.settings.limits.reached(self.requests, used, cost, self.clock.spent)
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
        raise _End("wrong", self.expected.lack())

    # Calls

    async def _answer_calls(self, calls: Sequence[ToolCall]) -> None:
        """Answer every call of a reply, in call order, whatever becomes of each; those that wait stay open."""
        if self.expected:
            self.results |= self.expected.take_calls([call for call in calls if self._is_internal(call)])
        to_run: list[ToolCall] = []
        for call in calls:
            refusal = self._refusal(call, len(to_run))
            if refusal is not None:
                self.results[call.id] = refusal
            elif call.id not in self.results:
                to_run.append(call)
        work = Calls(self, to_run)
        try:
            await work.run()
        finally:
            self.results |= work.results
            self.kept |= work.records
            for handle, text in work.kept.items():
                self.conversation.keep(handle, text)
        told = set(work.records)
        answered = [call for call in calls if call.id in self.results]
        for call, result, kept in self._answer(answered):
            if call.id not in told:
                self.run.tell(CallFinished(call, result, kept))
        if work.said:
            self.conversation.add_user(spoken(work.said, is_asked_more_than_once(self.conversation)))
        self._look_at_calls(work)

    def _look_at_calls(self, work: Calls) -> None:
        """What the calls mean for the run: a tool has ended it, a person is needed, it goes in circles."""
        if work.finish is not None:
            raise self._finished(work.finish[0])
        if self.conversation.open_calls:
            names = "; ".join(f"`{each.call.name}`: {each.text}" for each in self.run.waiting if each.call)
            raise _End("waiting", f"a person is needed: {names}")
        if reason := self.breaker.reason:
            raise _End("stuck", reason)
        if self.settings.limits.calls is not None and len(self.records) > self.settings.limits.calls:
            raise _End("limit", f"the limit of {self.settings.limits.calls} calls is reached")

    def _finished(self, value: Any) -> _End:
        """The end that a tool has made, with a value that must be what was asked for."""
        if self.expected is None:
            return _End("done", "", value)
        self.expected.take_text(as_text(value))
        if not self.expected.is_enough:
            return _End("wrong", f"a tool ended the run with {as_text(value)[:200]}")
        self.is_returned = True
        return _End("done", "", self.expected.value)

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
        run = self.run
        cost = run.cost if self.requests else None
        return RunRecord(
            run.usage,
            cost,
            self.settings.model.name,
            outcome,
            detail,
            self.conversation,
            run.id,
            self.said,
            tuple(self.records),
            run.waiting,
        )

    def _error(self, outcome: Outcome, detail: str) -> AntiphonError:
        """What is raised in place of an answer."""
        record = self._record(outcome, detail)
        is_wrong = self.expected is not None and outcome in ("wrong", "truncated", "empty")
        if self.expected is None or not is_wrong:
            return ENDINGS[outcome](detail or outcome, record)
        reason = "; ".join(dict.fromkeys(text for text in (detail, self.expected.lack()) if text))
        return ReturnError(self.question, reason, self.expected.received, self.expected.refused, record)


def take_said(conversation: Conversation, settings: Settings, call_id: str, said: Said, kind: str) -> None:
    """What a person said about an open call, written into the conversation: the call is answered, or may run."""
    question = conversation.questions.get(call_id)
    if question is None:
        waiting = ", ".join(repr(each) for each in conversation.questions) or "none"
        raise NotReadyError(f"no question {call_id!r} is open; open: {waiting}")
    check_kind(question, kind)
    call = next(call for call in conversation.open_calls if call.id == call_id)
    if question.kind == "question":
        is_one_of_several = is_asked_more_than_once(conversation)
        conversation.add_tool_results([asked_result(call, question.text, said.text)])
        conversation.add_user(spoken([(question.text, said.text)], is_one_of_several))
        return
    if said.always:
        settings.policy.always(standing(call, settings.tools.get(call.name), said.allowed))
    if said.allowed:
        conversation.ask(call_id, OpenQuestion("approval", question.text, allowed=True))
    else:
        conversation.add_tool_results([failure(call, f"not run: {denial(said)}")])


def open_questions(conversation: Conversation, settings: Settings) -> tuple[Question, ...]:
    """What people are asked about the open calls of a conversation."""
    calls = {call.id: call for call in conversation.open_calls}
    asked = [(calls[id], each) for id, each in conversation.questions.items() if not each.allowed]
    return tuple(
        Question(call.id, each.kind, each.text, call=call, always=_always(call, each, settings)) for call, each in asked
    )


def _always(call: ToolCall, asked: OpenQuestion, settings: Settings) -> Standing | None:
    return standing(call, settings.tools.get(call.name)) if asked.kind == "approval" else None


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


def _shortened(before: Conversation, room: Room, summary: str | None) -> Conversation:
    """Within its room; a summary that leaves none is left out."""
    try:
        return room.made(before, summary)
    except CompactionError:
        if summary is None:
            raise
        return room.made(before, None)


def _is_over_budget(error: AntiphonError) -> bool:
    from antiphon.effects import OverBudget

    return isinstance(error, OverBudget)


def _is_internal(delta: Any, indexes: set[int]) -> bool:
    """Whether this is a piece of a call by which a value is returned; `indexes` keeps which calls are such."""
    if not isinstance(delta, CallDelta):
        return False
    if delta.name.startswith(PREFIX):
        indexes.add(delta.index)
    return delta.index in indexes
