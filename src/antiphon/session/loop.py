"""The agent loop: ask the model, run its tools and repeat until there is an answer or a reason to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from antiphon.conversation import Conversation, DerivedKey, Note, Text, Turn, UserPart, UserTurn
from antiphon.conversation.turns import normalize_user_parts
from antiphon.effects import EffectContext, PathCounter, current_context, use_context
from antiphon.effects.budget import BudgetExceeded
from antiphon.effects.instrumentation import observe_session
from antiphon.effects.types import RunPython
from antiphon.errors import AntiphonError, NotReadyError, SessionAborted
from antiphon.results import to_plain_json
from antiphon.session.exceptions import (
    EXCEPTIONS_BY_ENDING,
    ModelRefused,
    NeedsHuman,
    NeedsResults,
    ReturnError,
    StopRun,
)
from antiphon.session.handoff import find_handoff, follow_handoffs, get_handoff, list_handoffs, make_handoff_note
from antiphon.session.model_requests import ModelRequests, announce_changes, preview_model_request
from antiphon.session.output_spec import CONTINUE_PROMPT, OutputGoal, RunMode
from antiphon.session.result import AIResult, RunEnding, RunRecord
from antiphon.session.run import Run
from antiphon.session.settings import RunHandle, SessionSettings
from antiphon.session.sync_bridge import run_blocking
from antiphon.session.timer import RunTimer
from antiphon.session.tool_calls import ToolCallRunner
from antiphon.tools.guards import DepsFunction

#: A prompt: text, or text and images.
Prompt = str | UserPart | Sequence[str | UserPart]
log = logging.getLogger("antiphon.session")
_CANCELLED = "the run was cancelled"
#: The turns of a conversation as they were when a run ended without an answer.
_UNANSWERED = DerivedKey[tuple[Turn, ...]]("unanswered")


class AgentLoop:
    """Drives a run of a session, starting from its prompt or from the current state of the conversation."""

    def __init__(
        self,
        settings: SessionSettings,
        conversation: Conversation,
        mode: RunMode,
        prompt: Prompt | None,
        returns: Any,
        stream: bool,
        kept: RunHandle | None = None,
    ) -> None:
        self._settings = follow_handoffs(settings, conversation)
        #: Whether the conversation is with another agent than the session was made with.
        self._is_handed_over, settings = self._settings is not settings, self._settings
        if len(settings.chain.models) > 1:
            # A run that falls back changes its model, and not that of the session.
            self._settings = settings = replace(settings)
        #: The run in the journal, and the effect context of its effects.
        self._kept = kept
        self._is_handle_finished = False
        self._goal = OutputGoal(settings, conversation, mode, settings.get_output_type(mode, returns))
        self._mode = mode
        self._conversation = conversation
        self._kind = "go_on" if prompt is None else mode
        #: The prompt, until it is added to the conversation.
        self._prompt = None if prompt is None else normalize_user_parts(prompt, None)
        parts = self._prompt or ()
        self._prompt_text = UserTurn(parts).text if parts else _find_last_user_text(conversation)
        # Attached files and images are not part of the title.
        opening = UserTurn(parts[:1]).text if len(parts) > 1 else ""
        self._title = settings.name or opening or self._prompt_text
        self._stream = stream
        self._place = current_context()
        self._clock = RunTimer(settings.limits.seconds)
        self._is_started = False
        self._is_closed = False

    def begin(self) -> Run[Any]:
        """Create the run and claim the conversation, so that no other run can drive it."""
        settings, conversation, goal = self._settings, self._conversation, self._goal
        conversation.claim(self)
        here = self._open_journal_context()
        if here.performers:
            here = EffectContext(PathCounter(f"{here.node.next()}/"), here.performers)
        self.run: Run[Any] = Run(
            self._kind,
            self._title,
            model=settings.model.name,
            people=settings.people,
            id="" if self._kept is None else self._kept.id,
            limits=settings.limits,
            shares_limits=settings.shares_limits,
        )
        self._asking = ModelRequests(settings, conversation, goal, self.run, here, self._clock, self._stream)
        self._calls = ToolCallRunner(settings, conversation, goal, self.run, here, self._clock)
        return self.run

    def _open_journal_context(self) -> EffectContext:
        """Return the effect context: a run of the session's journal, unless the current context is durable."""
        journal = self._settings.journal
        if self._kept is None and journal is not None and not self._place.is_durable:
            try:
                self._kept = journal.begin_request(self._conversation, self._mode, self._prompt, self._title)
            except BaseException:
                self._conversation.release()
                raise
        if self._kept is not None:
            self._place = EffectContext(self._kept.counter, (*self._place.performers, self._kept.middleware))
        return self._place

    def request(self) -> bytes:
        """Return the body of the first request. This changes the conversation, which must have no open calls."""
        if self._settings.system_text is None or self._is_handed_over:
            self._conversation.system = run_blocking("request", self._settings.make_system_text())
        self._say()
        options = self._goal.options()
        announce_changes(self._settings.model, self._conversation, self._goal.specs(), options)
        return preview_model_request(self._settings.model, self._conversation, self._stream, options)

    # Driving

    def run_in_background(self, start: Callable[[Coroutine[Any, Any, Any]], Callable[[], object]]) -> None:
        """Drive the run in the background, and again each time it is resumed.

        The caller's context variables apply.
        """
        context = copy_context()

        def go() -> None:
            try:
                self.run.set_cancel_callback(context.run(start, self._drive_in_background(go)))
            except BaseException:
                self._abandon()
                raise

        go()

    async def _drive_in_background(self, resume: Callable[[], object]) -> None:
        # Whoever awaits the run gets the exception.
        with suppress(Exception):
            await self.drive(resume)

    def _abandon(self) -> None:
        """End a run that could not be started, or that nobody refers to any more."""
        self.run.cancel()
        if not self._is_started and self.run.state == "running":
            self._conversation.release()
            self.run.fail(self._error("cancelled", _CANCELLED))

    async def drive(self, resume: Callable[[], object] | None = None) -> AIResult[Any]:
        """Drive the run until it ends or is suspended. In any case the conversation can be resumed.

        `resume` is called when the run can be resumed.
        """
        run = self.run
        if self._is_started:
            try:
                self._conversation.claim(self)
            except NotReadyError as error:
                # The run was suspended, and another run has claimed the conversation since.
                run.fail(error)
                raise
        self._is_started = True
        if self._is_handle_finished and self._kept is not None and self._settings.journal is not None:
            # The run was suspended and is now resumed.
            self._kept, self._is_handle_finished = self._settings.journal.resume(self._kept.id), False
            self._place = EffectContext(self._kept.counter, (*self._place.performers[:-1], self._kept.middleware))
        observed = observe_session("invoke_agent", self._settings.name, self._place)
        with use_context(self._place), run.active(), observed:
            while True:
                end = await self._drive_once()
                if not isinstance(end, NeedsHuman) or run.suspend(end, resume, partial(self._release_run, end)):
                    break
            if isinstance(end, AIResult):
                return end
            raise end

    def _release_run(self, end: AIResult[Any] | BaseException) -> None:
        """Release the conversation and record the ending, before listeners are notified and may use them."""
        self._conversation.release()
        if self._kept is not None:
            self._record_ending(self._kept, end)

    def _record_ending(self, kept: RunHandle, end: AIResult[Any] | BaseException) -> None:
        """Record in the journal how the run ended. If that fails, the run is resumed once more later."""
        match end:
            case AIResult():
                state, told = "done", {"outcome": "done", "value": to_plain_json(end.value)}
            case NeedsHuman():
                state, told = "waiting", {"outcome": "waiting", "error": str(end)}
            case asyncio.CancelledError() | SessionAborted():
                state, told = "interrupted", {"outcome": "interrupted", "error": str(end)}
            case _:
                state, told = "failed", {"outcome": "failed", "error": str(end)}
        try:
            kept.finish(state, told, spent=self.run.budget.spent)
        except AntiphonError as error:
            log.warning("how run %s ended could not be written down: %s", kept.id, error)
        self._is_handle_finished = True

    async def _drive_once(self) -> AIResult[Any] | BaseException:
        """Return the result, or the exception that ended the run. Notify the run unless it is suspended."""
        try:
            async with self._clock:
                await self._work()
        except StopRun as end:
            outcome, detail = end.outcome, end.detail
            self._settle(is_waiting=outcome == "waiting")
            if outcome == "done":
                result = AIResult(end.value, tuple(self._calls.records), self._make_record(outcome, detail))
                self._release_run(result)
                self.run.finish(result)
                return result
            error: BaseException = self._error(outcome, detail)
            error.__cause__ = end.__cause__
            if isinstance(error, ModelRefused):
                error.details = end.refusal
            if outcome == "waiting":
                return error
        except TimeoutError as timeout:
            self._settle()
            error = self._make_timeout_error() if self._clock.is_over else timeout
        except BaseException as raised:
            self._settle()
            error = raised
            if isinstance(raised, AntiphonError) and raised.run is None:
                raised.run = self._make_record("failed", str(raised))
        told = self._error("cancelled", _CANCELLED) if isinstance(error, asyncio.CancelledError) else error
        if self._asking.requests:
            self._conversation.derived[_UNANSWERED] = self._conversation.turns
        self._release_run(error)
        self.run.fail(told)
        return error

    async def _work(self) -> NoReturn:
        """Send requests and run their calls until something ends the run."""
        if self._settings.system_text is None or self._is_handed_over:
            self._conversation.system = await self._settings.make_system_text(self._call_definition)
        self._say()
        if calls := self._conversation.open_calls:
            if self._settings.prepared:
                await self._asking.prepare_tools(0)
            await self._calls.answer(calls, self._conversation.questions)
        await self._follow_handoff()
        while True:
            if self.run.is_cancel_requested:
                raise StopRun("cancelled", _CANCELLED)
            reply, calls = await self._asking.ask()
            is_late = self._goal.is_answer_due
            if calls:
                await self._calls.answer(calls)
                if self._calls.is_handed_over:
                    await self._follow_handoff()
            try:
                if calls:
                    self._goal.look_at(calls, is_late)
                else:
                    self._goal.process_answer(reply, self._asking.text)
            except StopRun as end:
                if end.outcome != "done" or not await self._reject_answer(end.value):
                    raise

    async def _follow_handoff(self) -> None:
        """Go on with another agent if the last call handed the conversation over."""
        conversation = self._conversation
        name = find_handoff(conversation, self._goal.tools)
        if not name:
            return
        handoff = get_handoff(self._settings, name)
        self._settings = settings = handoff.change_settings(self._settings)
        names = [*list_handoffs(conversation), name]
        conversation.add_user(make_handoff_note(names))
        for each in (self._asking, self._calls, self._goal):
            each.use_settings(settings)
        if handoff.limits is not None:
            self._asking.set_limits(handoff.limits)

        async def call(part: str, function: DepsFunction) -> str:
            return await self._call_definition(f"{part}.{len(names)}", function)

        conversation.system = await settings.make_system_text(call)

    async def _reject_answer(self, value: Any) -> bool:
        """Let the checks judge an answer. Return True if one rejects it, and the model is to answer again."""
        for number, check in enumerate(self._settings.checks, 1):
            name = f"check{self._asking.requests}.{number}"
            if fault := await self._call_definition(name, check, value):
                self._goal.reject_value(value, fault)
                return True
        return False

    async def _call_definition(self, name: str, function: DepsFunction, *arguments: Any) -> str:
        """Call a function of the definition as an effect. Return its text, or why a check rejects its argument."""

        async def call() -> str:
            if not arguments:
                return await self._settings.call_system_function(function)
            try:
                await function.call(*arguments, deps=self._settings.deps)
            except (ValueError, AssertionError) as error:
                return str(error) or type(error).__name__
            return ""

        def describe() -> RunPython:
            return RunPython(function.name, to_plain_json(list(arguments)), is_harmless=True)

        return await self._asking.place.perform(name, describe, call)

    # Start and end

    def _say(self) -> None:
        """Add the prompt, once. Without a prompt, continue from the current state of the conversation."""
        conversation, prompt = self._conversation, self._prompt
        self._prompt = None
        is_resumed, self._is_closed = self._is_closed, False
        self._goal.begin()
        parts = self._make_continue_parts() if prompt is None else list(prompt)
        if prompt is not None:
            last = conversation.turns[-1] if conversation.turns else None
            if isinstance(last, UserTurn) and last.visible_parts[-len(prompt) :] == prompt:
                # The prompt is already there: an earlier run added it and failed.
                parts = []
        parts += self._filter_new_notes(self._goal.instruction())
        if not is_resumed and prompt is not None and (calls := conversation.open_calls):
            self._calls.close(calls)
        if parts:
            conversation.add_user(parts)

    def _filter_new_notes(self, notes: Sequence[Note]) -> list[Note]:
        """Return the notes that the last turn does not contain yet, because an earlier run may have added them."""
        last = self._conversation.turns[-1] if self._conversation.turns else None
        said = last.parts if isinstance(last, UserTurn) else ()
        return [note for note in notes if note not in said]

    def _make_continue_parts(self) -> list[UserPart]:
        """Return the parts that make the model continue: none, unless it spoke last without giving an answer."""
        ready = self._conversation.ready()
        if ready or ready.open_calls:
            return []
        if self._conversation.derived.get(_UNANSWERED) is not self._conversation.turns:
            raise NotReadyError(f"there is nothing to go on with: {ready.reason}")
        return [Text(CONTINUE_PROMPT)]

    def _settle(self, *, is_waiting: bool = False) -> None:
        """Close the open calls, so that the conversation can be resumed.

        If the run is suspended, calls that need a person stay open.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if not is_waiting:
            self._calls.close(self._conversation.open_calls)

    def _make_record(self, outcome: RunEnding, detail: str) -> RunRecord:
        run, asking, spent = self.run, self._asking, self.run.budget.spent
        return RunRecord(
            spent.usage,
            spent.cost if asking.requests else None,
            self._settings.model.name,
            outcome,
            detail,
            self._conversation,
            run.id,
            asking.said,
            tuple(self._calls.records),
            run.waiting,
        )

    def _make_timeout_error(self) -> AntiphonError:
        budget = self.run.budget
        exceeded = BudgetExceeded(budget.scope, "seconds", budget.limits.seconds or 0.0, self._clock.elapsed)
        error = self._error("limit", str(exceeded))
        error.__cause__ = exceeded
        return error

    def _error(self, outcome: RunEnding, detail: str) -> AntiphonError:
        """Return the exception to raise instead of returning an answer."""
        record, expected = self._make_record(outcome, detail), self._goal.expected
        if expected is None and (rejected := self._goal.rejected) and outcome == "wrong":
            return ReturnError(self._prompt_text, detail, [each.what for each in rejected], rejected, record)
        if outcome == "waiting" and record.waiting and all(each.kind == "result" for each in record.waiting):
            return NeedsResults(detail, record)
        if expected is None or outcome not in ("wrong", "truncated", "empty"):
            return EXCEPTIONS_BY_ENDING[outcome](detail or outcome, record)
        reason = "; ".join(dict.fromkeys(text for text in (detail, expected.describe_faults()) if text))
        return ReturnError(self._prompt_text, reason, expected.received, expected.refused, record)


def _find_last_user_text(conversation: Conversation) -> str:
    """Return the last user text, which a run without a prompt continues from."""
    return next((turn.text for turn in reversed(conversation.turns) if isinstance(turn, UserTurn)), "")
