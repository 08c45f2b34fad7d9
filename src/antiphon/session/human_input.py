"""Human input: the questions of all runs in one queue, shown one at a time; the first answer counts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from antiphon.conversation import OpenQuestion, ToolCall
from antiphon.effects import HumanAnswer
from antiphon.errors import NotReadyError
from antiphon.session.sync_bridge import get_event_loop_thread
from antiphon.tools import Before, CanonicalCall, Policy
from antiphon.tools.approval import StandingDecision, make_standing_decision
from antiphon.tools.worker_threads import call_function

ALLOWED = HumanAnswer()
FORBIDDEN = HumanAnswer("a policy forbids it", allowed=False)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person: whether a call may run, or the question of a tool or program.

    A question of the kind `result` asks for the result of a call that runs elsewhere. `who` names the asker. `call`
    is the call to approve, with the content it would overwrite in `before`.
    `always` is what a standing decision would cover.
    """

    id: str
    kind: Literal["approval", "question", "result"]
    text: str
    run: str = ""
    who: str = ""
    call: ToolCall | None = None
    always: StandingDecision | None = None
    before: Before | None = None

    @property
    def notes(self) -> str:
        """The remarks in the text of an approval, such as where a link of the arguments leads."""
        opening = f"May `{self.call.name}` run with {self.call.arguments_json}?" if self.call else self.text
        return self.text.removeprefix(opening).strip() if self.text.startswith(opening) else ""


#: Returns text for a question, True or False for an approval, or a `HumanAnswer`; None if nobody is available.
Answers = Callable[[Question], HumanAnswer | str | bool | Awaitable[HumanAnswer | str | bool | None] | None]


@dataclass(frozen=True, slots=True)
class ApprovalCache:
    """Callbacks that avoid repeated approval questions.

    `lookup` is called when the question's turn comes, because the answer to an earlier question may cover it
    too. `store` is called with the answer before the next question's turn.
    """

    known: Callable[[], HumanAnswer | None]
    keep: Callable[[HumanAnswer], object]


@dataclass(slots=True)
class _QueuedQuestion:
    question: Question
    loop: asyncio.AbstractEventLoop
    has_turn: bool = False
    said: HumanAnswer | None = None
    #: Set when the question's turn comes or it is answered.
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self) -> None:
        # In a closed event loop nothing waits for it.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.changed.set)


_question_closed: ContextVar[threading.Event | None] = ContextVar("antiphon_question_over", default=None)


def is_question_closed() -> bool:
    """Return whether the current question was answered elsewhere or dropped. For code that waits for a key."""
    over = _question_closed.get()
    return over is not None and over.is_set()


class HumanInput:
    """One person, who is asked one question at a time, in order of arrival.

    `answers` shows a question and returns the answer; it may block for any time. Meanwhile `submit_answer`
    may answer the question too; the first answer counts.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._queue: list[_QueuedQuestion] = []
        self._lock = threading.Lock()

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions without an answer, oldest first."""
        return tuple(each.question for each in self._queue)

    async def ask(self, question: Question, once: ApprovalCache | None = None) -> HumanAnswer | None:
        """Return the answer, or None if no person is available. With `once`, a stored decision may be the answer."""
        mine = _QueuedQuestion(question, asyncio.get_running_loop())
        with self._lock:
            self._queue.append(mine)
            mine.has_turn = self._queue[0] is mine
        try:
            if not mine.has_turn:
                await mine.changed.wait()
            if once is not None and mine.said is None and (known := once.known()) is not None:
                return known
            said = mine.said or await self._asked(mine)
            if once is not None and said is not None:
                once.keep(said)
            return said
        finally:
            self._leave(mine)

    async def _asked(self, mine: _QueuedQuestion) -> HumanAnswer | None:
        """Return the answer of the handler, or an answer that was submitted earlier."""
        mine.changed.clear()
        over = threading.Event()
        token = _question_closed.set(over)
        asked = asyncio.ensure_future(call_function(self._answers, mine.question))
        _question_closed.reset(token)
        other = asyncio.ensure_future(mine.changed.wait())
        try:
            await asyncio.wait({asked, other}, return_when=asyncio.FIRST_COMPLETED)
            return mine.said or to_human_answer(mine.question, await asked)
        finally:
            over.set()
            asked.cancel()
            other.cancel()

    def ask_now(self, question: Question, once: ApprovalCache | None = None) -> HumanAnswer | None:
        """Like `ask`, but for synchronous code; it blocks."""
        return get_event_loop_thread().run(self.ask(question, once))

    def settle(self, question: Question | str, said: HumanAnswer) -> None:
        """Answer an open question, given itself or by its id, instead of the handler."""
        with self._lock:
            unsaid = [each for each in self._queue if each.said is None]
            found = [each for each in unsaid if question in (each.question, each.question.id)]
            if not found:
                raise NotReadyError(f"no question {getattr(question, 'id', question)!r} is open")
            if len(found) > 1:
                raise NotReadyError(f"{len(found)} questions have the id {question!r}; settle one of `open` itself")
            found[0].said = said
        found[0].notify()

    def _leave(self, mine: _QueuedQuestion) -> None:
        with self._lock:
            self._queue.remove(mine)
            following = self._queue[0] if self._queue and not self._queue[0].has_turn else None
            if following is not None:
                following.has_turn = True
        if following is not None:
            following.notify()


def apply_policy(policy: Policy, call: CanonicalCall) -> HumanAnswer | None:
    """Return the policy's decision about a call, or None if a person must be asked.

    For a call with invalid arguments nobody is asked: it fails when it runs.
    """
    action = policy.judge(call)
    if action == "ask" and not call.problem:
        return None
    return FORBIDDEN if action == "deny" else ALLOWED


def make_approval_cache(policy: Policy, call: CanonicalCall) -> ApprovalCache:
    """Return a cache that looks up decisions in the policy, and stores answers with `always` there."""

    def keep(said: HumanAnswer) -> None:
        if said.always:
            policy.always(make_standing_decision(call, said.allowed))

    return ApprovalCache(lambda: apply_policy(policy, call), keep)


def to_human_answer(question: Question, answer: HumanAnswer | str | bool | None) -> HumanAnswer | None:
    """Convert a handler's return value to a `HumanAnswer`."""
    if answer is None or isinstance(answer, HumanAnswer):
        return answer
    if question.kind != "approval":
        from antiphon.tools.execution import value_to_text

        return HumanAnswer(value_to_text(answer))
    if isinstance(answer, bool):
        return HumanAnswer(allowed=answer)
    raise TypeError(f"an approval is answered by True, False or a Said, not by {answer!r:.60}")


def check_question_kind(question: Question | OpenQuestion, kind: str) -> None:
    """Raise a NotReadyError if a question is answered like one of another kind."""
    if question.kind != kind:
        how = {"question": "answer", "approval": "allow` or `deny", "result": "deliver"}[question.kind]
        raise NotReadyError(f"this is what is asked, so use `{how}`: {question.text}")
