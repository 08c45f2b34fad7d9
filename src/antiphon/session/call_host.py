"""The hosts of tool calls: questions, model requests and progress of a tool become those of the run around it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from antiphon.conversation import Conversation, ToolCall
from antiphon.effects import EffectContext, use_context
from antiphon.effects.types import AskPerson, HumanAnswer
from antiphon.errors import Suspended
from antiphon.session.events import CallProgressed
from antiphon.session.human_input import ApprovalCache, HumanInput, Question, apply_policy, make_approval_cache
from antiphon.tools.approval import StandingDecision, make_standing_decision
from antiphon.tools.call_host import CallHost, HostReply

if TYPE_CHECKING:
    from antiphon.effects.budget import Budget
    from antiphon.session.run import Run
    from antiphon.session.settings import SessionSettings
    from antiphon.session.timer import RunTimer
    from antiphon.tools import CanonicalCall

#: The answer of nobody to a tool that cannot wait.
_NOBODY = HumanAnswer("nobody is available", allowed=False)


class PersonCallHost(CallHost):
    """Asks the people of a program for a call. `place` is the context of the effects inside the call."""

    def __init__(self, place: EffectContext, people: HumanInput | None, who: str) -> None:
        self._place = place
        self._people = people
        self._who = who

    @property
    def owner(self) -> object:
        """The queue of the people."""
        return self._people

    async def ask(self, name: str, text: str, *, can_wait: bool = False) -> str | None:
        """Return a person's answer to a question, or None if nobody answers."""
        said = await self._consult(name, "question", text, can_wait)
        return said.text if said.allowed else None

    async def confirm(self, name: str, text: str, *, can_wait: bool = False) -> bool:
        """Return whether a person says yes to a question."""
        return (await self._consult(name, "approval", text, can_wait)).allowed

    async def _consult(
        self,
        name: str,
        kind: Literal["question", "approval"],
        text: str,
        can_wait: bool,
        call: CanonicalCall | None = None,
        once: ApprovalCache | None = None,
    ) -> HumanAnswer:
        shown = None if call is None else call.call
        always = None if call is None else make_standing_decision(call)
        question = self._make_question(name, kind, text, shown, always)
        self._open(question)

        async def ask() -> HumanAnswer:
            if (known := self._find_answer(question)) is not None:
                return known
            said = None
            if self._people is not None:
                with self._paused():
                    said = await self._people.ask(question, once)
            if said is None and can_wait and self._place.is_durable:
                raise Suspended(f"a person is needed: {text}")
            return said or _NOBODY

        with use_context(self._place):
            said: HumanAnswer = await self._place.perform(name, lambda: AskPerson(kind, text, shown), ask)
        self._close(question, said)
        return said

    def _make_question(
        self,
        name: str,
        kind: Literal["question", "approval"],
        text: str,
        call: ToolCall | None,
        always: StandingDecision | None,
    ) -> Question:
        return Question(f"{self._place.node.prefix}{name}", kind, text, who=self._who, call=call, always=always)

    def _open(self, question: Question) -> None:
        """Tell those who watch about a question."""

    def _find_answer(self, question: Question) -> HumanAnswer | None:
        """Return an answer that was given before the question was asked."""

    def _close(self, question: Question, said: HumanAnswer) -> None:
        """Tell those who watch about an answer."""

    def _paused(self) -> AbstractContextManager[None]:
        return nullcontext()


class SessionCallHost(PersonCallHost):
    """The host of a call of a session."""

    def __init__(
        self,
        run: Run[Any],
        place: EffectContext,
        call: ToolCall,
        settings: SessionSettings,
        clock: RunTimer,
        budget: Budget | None,
    ) -> None:
        super().__init__(place, run.people, run.title)
        self._run = run
        self._call = call
        self._settings = settings
        self._clock = clock
        self._budget = budget

    @property
    def owner(self) -> object:
        """The people of the run, or the run itself if it has none."""
        return self._people or self._run

    async def approve(self, name: str, call: CanonicalCall, *, can_wait: bool = False) -> bool:
        """Return whether the policy of the session or a person allows what a call describes."""
        policy = self._settings.policy
        if (decided := apply_policy(policy, call)) is not None:
            return decided.allowed
        once = make_approval_cache(policy, call)
        said = await self._consult(name, "approval", call.question, can_wait, call, once)
        # Also if the answer is replayed or was given earlier.
        once.keep(said)
        return said.allowed

    async def ask_model(self, name: str, conversation: Conversation, settings: Mapping[str, Any]) -> HostReply | None:
        """Return the answer of the session's model to a conversation; it counts for the run."""
        from antiphon.session.exceptions import Truncated
        from antiphon.session.session import Session

        place = EffectContext(type(self._place.node)(f"{self._place.node.prefix}{name}/"), self._place.performers)
        with use_context(place), self._run.active(self._budget):
            session = Session(self._settings.model, conversation=conversation, name=self._run.title, **settings)
            try:
                answer = await session.aresume()
            except Truncated as error:
                return HostReply(error.run.said, self._settings.model.name, is_truncated=True)
        return HostReply(answer.value, self._settings.model.name)

    def report(self, done: float, total: float | None, message: str) -> None:
        """Emit an event about the progress of the call."""
        self._run.tell(CallProgressed(self._call, done, total, message))

    def _make_question(
        self,
        name: str,
        kind: Literal["question", "approval"],
        text: str,
        call: ToolCall | None,
        always: StandingDecision | None,
    ) -> Question:
        if kind == "question":
            call = self._call
        return Question(f"{self._call.id}/{name}", kind, text, self._run.id, self._run.title, call, always)

    def _open(self, question: Question) -> None:
        self._run.ask(question)

    def _find_answer(self, question: Question) -> HumanAnswer | None:
        return self._run.said(question.id)

    def _close(self, question: Question, said: HumanAnswer) -> None:
        self._run.close_question(question, said)

    def _paused(self) -> AbstractContextManager[None]:
        return self._clock.paused()
