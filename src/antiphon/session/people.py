"""The port to a person: questions of all runs in one queue, shown one at a time, answered by whoever is first."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from antiphon.conversation import OpenQuestion, ToolCall
from antiphon.effects import Said
from antiphon.errors import NotReadyError
from antiphon.session.portal import portal
from antiphon.tools import Before, CanonicalCall, Policy
from antiphon.tools.approval import Standing, standing
from antiphon.tools.threads import called

ALLOWED = Said()
FORBIDDEN = Said("a policy forbids it", allowed=False)


@dataclass(frozen=True, slots=True)
class Question:
    """Something a person is asked: whether a call may run, or what a tool or a program wants to know.

    `who` says whose question it is. `call` is there in full for who has to allow it, with what stands `before` where
    it is to write, and `always` is what a decision once for all would cover.
    """

    id: str
    kind: Literal["approval", "question"]
    text: str
    run: str = ""
    who: str = ""
    call: ToolCall | None = None
    always: Standing | None = None
    before: Before | None = None


#: How a person answers: text to a question, yes or no to an approval, or a `Said`; `None` where nobody is there.
Answers = Callable[[Question], Said | str | bool | Awaitable[Said | str | bool | None] | None]


@dataclass(frozen=True, slots=True)
class Once:
    """How a question is asked no more than needed: `known` is looked at when its turn comes, because what was said to
    those before it may have settled it too; `keep` is told of its answer, before the next has its turn.
    """

    known: Callable[[], Said | None]
    keep: Callable[[Said], object]


@dataclass(slots=True)
class _Open:
    question: Question
    loop: asyncio.AbstractEventLoop
    has_turn: bool = False
    said: Said | None = None
    #: Set when it has its turn or its answer.
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def poke(self) -> None:
        # A loop that is closed by now has nobody who waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.changed.set)


_over: ContextVar[threading.Event | None] = ContextVar("antiphon_question_over", default=None)


def is_asked_no_more() -> bool:
    """For whoever shows a question and waits for a key: whether it has its answer from elsewhere, or was given up."""
    over = _over.get()
    return over is not None and over.is_set()


class People:
    """One person, who is asked one thing at a time, in the order in which things come up.

    `answers` shows a question and gives the answer; it may wait as long as it takes. Meanwhile others may answer too:
    `settle` counts if it comes first.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._queue: list[_Open] = []
        self._lock = threading.Lock()

    @property
    def open(self) -> tuple[Question, ...]:
        """What waits for an answer, oldest first."""
        return tuple(each.question for each in self._queue)

    async def ask(self, question: Question, once: Once | None = None) -> Said | None:
        """The answer; nothing, where nobody is there. With `once`, what was said to others may be the answer."""
        mine = _Open(question, asyncio.get_running_loop())
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

    async def _asked(self, mine: _Open) -> Said | None:
        """The answer of whoever is asked, or of somebody else who was quicker."""
        mine.changed.clear()
        over = threading.Event()
        token = _over.set(over)
        asked = asyncio.ensure_future(called(self._answers, mine.question))
        _over.reset(token)
        other = asyncio.ensure_future(mine.changed.wait())
        try:
            await asyncio.wait({asked, other}, return_when=asyncio.FIRST_COMPLETED)
            return mine.said or as_said(mine.question, await asked)
        finally:
            over.set()
            asked.cancel()
            other.cancel()

    def ask_now(self, question: Question, once: Once | None = None) -> Said | None:
        """`ask`, for ordinary code, which waits."""
        return portal().run(self.ask(question, once))

    def settle(self, question: Question | str, said: Said) -> None:
        """Answer a question that is open, or the one with this id, in place of whoever is asked."""
        with self._lock:
            unsaid = [each for each in self._queue if each.said is None]
            found = [each for each in unsaid if question in (each.question, each.question.id)]
            if not found:
                raise NotReadyError(f"no question {getattr(question, 'id', question)!r} is open")
            if len(found) > 1:
                raise NotReadyError(f"{len(found)} questions have the id {question!r}; settle one of `open` itself")
            found[0].said = said
        found[0].poke()

    def _leave(self, mine: _Open) -> None:
        with self._lock:
            self._queue.remove(mine)
            following = self._queue[0] if self._queue and not self._queue[0].has_turn else None
            if following is not None:
                following.has_turn = True
        if following is not None:
            following.poke()


def decided(policy: Policy, call: CanonicalCall) -> Said | None:
    """Return what a policy says of a call; nothing, where a person is to be asked.

    A call whose arguments do not fit is not asked about: it fails when it is run.
    """
    action = policy.judge(call)
    if action == "ask" and not call.problem:
        return None
    return FORBIDDEN if action == "deny" else ALLOWED


def once(policy: Policy, call: CanonicalCall) -> Once:
    """Ask about a call unless the policy has it by now; an *always* is kept there."""

    def keep(said: Said) -> None:
        if said.always:
            policy.always(standing(call, said.allowed))

    return Once(lambda: decided(policy, call), keep)


def as_said(question: Question, answer: Said | str | bool | None) -> Said | None:
    """What somebody answered, in whatever form he may."""
    if answer is None or isinstance(answer, Said):
        return answer
    if question.kind == "question":
        from antiphon.tools.execution import as_text

        return Said(as_text(answer))
    if isinstance(answer, bool):
        return Said(allowed=answer)
    raise TypeError(f"an approval is answered by True, False or a Said, not by {answer!r:.60}")


def check_kind(question: Question | OpenQuestion, kind: str) -> None:
    """An approval is given or refused, a question is answered: the one is never taken for the other."""
    if question.kind != kind:
        how = "answer" if question.kind == "question" else "allow` or `deny"
        raise NotReadyError(f"this is what is asked, so use `{how}`: {question.text}")
