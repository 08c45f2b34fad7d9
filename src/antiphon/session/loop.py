"""The loop: ask, run tools, answer, until there is what was asked for or a reason to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn

from antiphon.conversation import Conversation, DerivedKey, Note, Text, Turn, UserPart, UserTurn
from antiphon.conversation.turns import user_parts
from antiphon.effects import Node, Place, at, place
from antiphon.errors import AntiphonError, Halted, NotReadyError
from antiphon.results import plain
from antiphon.session.asking import Asking, announce_changes, preview
from antiphon.session.calls import Calls
from antiphon.session.clock import Clock
from antiphon.session.endings import ENDINGS, End, Refused, ReturnError, Waiting
from antiphon.session.goal import GO_ON, Goal, Mode
from antiphon.session.result import AIResult, Ending, RunRecord
from antiphon.session.run import Run
from antiphon.session.settings import KeptRun, Settings

#: What is asked: text, or text and images.
Prompt = str | UserPart | Sequence[str | UserPart]
log = logging.getLogger("antiphon.session")
_CANCELLED = "the run was cancelled"
#: The turns of a conversation as they were when a run ended without an answer.
_UNANSWERED = DerivedKey[tuple[Turn, ...]]("unanswered")


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
        kept: KeptRun | None = None,
    ) -> None:
        self._settings = settings
        #: The run as it is written down; and where what it does belongs.
        self._kept = kept
        self._is_left = False
        self._place = place()
        self._mode = mode
        self._conversation = conversation
        self._kind = "go_on" if prompt is None else mode
        #: What is still to be said.
        self._prompt = None if prompt is None else user_parts(prompt, None)
        self._question = UserTurn(self._prompt).text if self._prompt else _last_said(conversation)
        # Files and images that go along are no part of what a run is called.
        self._title = settings.name or UserTurn(tuple(self._prompt[:1]) if self._prompt else ()).text or self._question
        self._stream = stream
        self._goal = Goal(settings, conversation, mode, returns)
        self._clock = Clock(settings.limits.seconds)
        self._is_going = False
        self._is_settled = False

    def begin(self) -> Run[Any]:
        """The run; from now on nobody else can drive the conversation."""
        self._claim()
        settings, conversation, goal, here = self._settings, self._conversation, self._goal, self._kept_place()
        if here.performers:
            here = Place(Node(f"{here.node.next()}/"), here.performers)
        self.run: Run[Any] = Run(
            self._kind,
            self._title,
            model=settings.model.name,
            people=settings.people,
            id="" if self._kept is None else self._kept.id,
        )
        self._asking = Asking(settings, conversation, goal, self.run, here, self._stream)
        self._calls = Calls(settings, conversation, goal, self.run, here, self._clock)
        return self.run

    def _kept_place(self) -> Place:
        """Where it belongs: in a run of the session's journal, unless it is part of one that is written down."""
        journal = self._settings.journal
        if self._kept is None and journal is not None and not self._place.waits:
            try:
                self._kept = journal.begin_ask(self._conversation, self._mode, self._prompt, self._title)
            except BaseException:
                self._leave()
                raise
        if self._kept is not None:
            self._place = Place(Node(), (*self._place.performers, self._kept.performer))
        return self._place

    def _claim(self) -> None:
        self._conversation.claim(self)

    def _leave(self) -> None:
        self._conversation.release()

    def request(self) -> bytes:
        """The body of the first request, as it would be sent; the conversation, which has no open calls, is changed."""
        self._say()
        self._conversation.tools = self._goal.specs()
        options = self._goal.options()
        announce_changes(self._settings.model, self._conversation, options)
        return preview(self._settings.model, self._conversation, self._stream, options)

    # Going

    def set_going(self, start: Callable[[Coroutine[Any, Any, Any]], Callable[[], object]]) -> None:
        """Have the run go on by itself, and again when what it waits for is there: as part of what began it."""
        context = copy_context()

        def go() -> None:
            try:
                self.run.can_be_cancelled(context.run(start, self._left_alone(go)))
            except BaseException:
                self._abandon()
                raise

        go()

    async def _left_alone(self, resume: Callable[[], object]) -> None:
        # Whoever waits for the run is told how it ended.
        with suppress(Exception):
            await self.drive(resume)

    def _abandon(self) -> None:
        """It could not be set going, or nobody has it: it ends."""
        self.run.cancel()
        if not self._is_going and self.run.state == "running":
            self._leave()
            self.run.fail(self._error("cancelled", _CANCELLED))

    async def drive(self, resume: Callable[[], object] | None = None) -> AIResult[Any]:
        """All of it, to the end or until it waits. However it ends, the conversation is fit to go on.

        `resume` is called when what it waits for is there.
        """
        run, self._is_going = self.run, True
        try:
            self._claim()
        except NotReadyError as error:
            # It waited, and somebody else goes on with the conversation.
            run.fail(error)
            raise
        if self._is_left and self._kept is not None and self._settings.journal is not None:
            # It waited, and now goes on.
            self._kept, self._is_left = self._settings.journal.go_on(self._kept.id), False
            self._place = Place(Node(), (*self._place.performers[:-1], self._kept.performer))
        with at(self._place), run.active():
            while True:
                end = await self._driven()
                if not isinstance(end, Waiting) or run.suspend(end, resume, partial(self._let_go, end)):
                    break
        if isinstance(end, AIResult):
            return end
        raise end

    def _let_go(self, end: AIResult[Any] | BaseException) -> None:
        """Before anybody is told of an end: who is told may go on with the conversation, or look at the run."""
        self._leave()
        if self._kept is not None:
            self._write_end(self._kept, end)

    def _write_end(self, kept: KeptRun, end: AIResult[Any] | BaseException) -> None:
        """What is written down of the run says how it ended; where that fails, it is gone on with once more."""
        match end:
            case AIResult():
                state, told = "done", {"outcome": "done", "value": plain(end.value)}
            case Waiting():
                state, told = "waiting", {"outcome": "waiting", "error": str(end)}
            case asyncio.CancelledError() | Halted():
                state, told = "interrupted", {"outcome": "interrupted", "error": str(end)}
            case _:
                state, told = "failed", {"outcome": "failed", "error": str(end)}
        try:
            kept.leave(state, told)
        except AntiphonError as error:
            log.warning("how run %s ended could not be written down: %s", kept.id, error)
        self._is_left = True

    async def _driven(self) -> AIResult[Any] | BaseException:
        """The result, or what ended the run instead; the run is told, unless it waits."""
        try:
            async with self._clock:
                await self._work()
        except End as end:
            outcome, detail = end.outcome, end.detail
            self._settle(is_waiting=outcome == "waiting")
            if outcome == "done":
                result = AIResult(end.value, tuple(self._calls.records), self._record(outcome, detail))
                self._let_go(result)
                self.run.finish(result)
                return result
            error: BaseException = self._error(outcome, detail)
            error.__cause__ = end.__cause__
            if isinstance(error, Refused):
                error.details = end.refusal
            if outcome == "waiting":
                return error
        except TimeoutError as timeout:
            self._settle()
            over = f"the limit of {self._settings.limits.seconds:g} seconds is reached"
            error = self._error("limit", over) if self._clock.is_over else timeout
        except BaseException as raised:
            self._settle()
            error = raised
            if isinstance(raised, AntiphonError) and raised.run is None:
                raised.run = self._record("failed", str(raised))
        told = self._error("cancelled", _CANCELLED) if isinstance(error, asyncio.CancelledError) else error
        if self._asking.requests:
            self._conversation.derived.set(_UNANSWERED, self._conversation.turns)
        self._let_go(error)
        self.run.fail(told)
        return error

    async def _work(self) -> NoReturn:
        """Requests, each with the calls it brings, until something ends the run."""
        self._say()
        if self._conversation.open_calls:
            await self._calls.answer(self._conversation.open_calls)
        while True:
            self._check_limits()
            reply, calls = await self._asking.ask()
            if not calls:
                self._goal.take_answer(reply)
                continue
            is_late = self._goal.is_last_round
            await self._calls.answer(calls)
            self._goal.look_at(calls, is_late)

    def _check_limits(self) -> None:
        run = self.run
        if run.is_to_end:
            raise End("cancelled", _CANCELLED)
        used = (run.usage.input_tokens or 0) + (run.usage.output_tokens or 0)
        reason = self._settings.limits.reached(self._asking.requests, used, run.cost, self._clock.spent)
        if reason:
            raise End("limit", reason)

    # The beginning and the end

    def _say(self) -> None:
        """Say the prompt, once; where there is none, go on from what the conversation is."""
        conversation, prompt = self._conversation, self._prompt
        self._prompt = None
        is_resumed, self._is_settled = self._is_settled, False
        if not is_resumed and prompt is not None and conversation.open_calls:
            self._calls.close(conversation.open_calls)
        self._goal.begin()
        parts = self._words_to_go_on() if prompt is None else list(prompt)
        if prompt is not None:
            last = conversation.turns[-1] if conversation.turns else None
            if isinstance(last, UserTurn) and last.visible_parts[-len(prompt) :] == prompt:
                # It was said before, and the run that should have answered failed.
                parts = []
        if parts := [*parts, *self._unsaid(self._goal.instruction())]:
            conversation.add_user(parts)

    def _unsaid(self, notes: Sequence[Note]) -> list[Note]:
        """Return the notes that the last turn does not end with: a run that failed or waited may have said them."""
        last = self._conversation.turns[-1] if self._conversation.turns else None
        said = last.parts if isinstance(last, UserTurn) else ()
        return [note for note in notes if note not in said]

    def _words_to_go_on(self) -> list[UserPart]:
        """What must be said for the model to go on: nothing, unless its was the last word, and that was no answer."""
        ready = self._conversation.ready()
        if ready or ready.open_calls:
            return []
        if self._conversation.derived.get(_UNANSWERED) is not self._conversation.turns:
            raise NotReadyError(f"there is nothing to go on with: {ready.reason}")
        return [Text(GO_ON)]

    def _settle(self, *, is_waiting: bool = False) -> None:
        """Leave the conversation fit to go on, with no call open.

        Unless it waits: what a person is asked about stays open.
        """
        if self._is_settled:
            return
        self._is_settled = True
        if not is_waiting:
            self._calls.close(self._conversation.open_calls)

    def _record(self, outcome: Ending, detail: str) -> RunRecord:
        run, asking = self.run, self._asking
        return RunRecord(
            run.usage,
            run.cost if asking.requests else None,
            self._settings.model.name,
            outcome,
            detail,
            self._conversation,
            run.id,
            asking.said,
            tuple(self._calls.records),
            run.waiting,
        )

    def _error(self, outcome: Ending, detail: str) -> AntiphonError:
        """What is raised in place of an answer."""
        record, expected = self._record(outcome, detail), self._goal.expected
        if expected is None or outcome not in ("wrong", "truncated", "empty"):
            return ENDINGS[outcome](detail or outcome, record)
        reason = "; ".join(dict.fromkeys(text for text in (detail, expected.lack()) if text))
        return ReturnError(self._question, reason, expected.received, expected.refused, record)


def _last_said(conversation: Conversation) -> str:
    """What a run without a prompt goes on with: the last that was said to the model."""
    return next((turn.text for turn in reversed(conversation.turns) if isinstance(turn, UserTurn)), "")
