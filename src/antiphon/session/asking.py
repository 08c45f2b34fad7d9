"""The asking of a model: room is made where it is needed, and each request goes through the door, told and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isawaitable
from typing import Any

from antiphon.conversation import Conversation, ToolCall, Turn
from antiphon.effects import Place
from antiphon.effects.budget import OverBudget
from antiphon.effects.values import Answered, AskModel
from antiphon.errors import AntiphonError, CompactionError, ContextOverflow, OptionError, Unsettled
from antiphon.session.context import Counted, Room, room, room_for, size_of, summary_request
from antiphon.session.endings import End
from antiphon.session.events import Compacted, RequestEnded, RequestStarted
from antiphon.session.goal import Goal
from antiphon.session.run import Run
from antiphon.session.settings import Asks, Settings
from antiphon.wire import Reply, TextDelta, Usage


class Asking:
    """The requests of one run. `said` is the last that the model said in words."""

    def __init__(
        self, settings: Settings, conversation: Conversation, goal: Goal, run: Run[Any], place: Place, stream: bool
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._goal = goal
        self._run = run
        self._place = place
        self._stream = stream
        self._counted: Counted | None = None
        self.requests = 0
        self.said = ""

    async def ask(self) -> tuple[Reply, tuple[ToolCall, ...]]:
        """One request, and its reply in the conversation; one that is too long is made shorter once."""
        await self._prepare()
        conversation, is_shortened = self._conversation, False
        while True:
            conversation.tools = self._goal.specs()
            seen = conversation.turns
            try:
                reply = await self._requested(conversation, self._goal.options(), self._stream)
                break
            except ContextOverflow as error:
                if is_shortened or not await self._shortened_after(error):
                    raise
                is_shortened = True
        turn = conversation.add_reply(reply.parts, seen)
        self.said = turn.text or self.said
        if tokens := (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0):
            self._counted = conversation.turns, tokens
        return reply, turn.calls

    # One request

    async def _requested(self, conversation: Conversation, options: dict[str, Any], stream: bool) -> Reply:
        """One exchange with the model, told and counted. The conversation is only read."""
        self.requests += 1
        number, model, run = self.requests, self._settings.model, self._run
        run.requested()
        run.tell(RequestStarted(number, model.name))
        asked = conversation.to_be_asked()
        try:
            answered: Answered = await self._place.perform(
                f"r{number}",
                lambda: AskModel(model.name, asked.system, asked.turns, asked.tools, options),
                lambda: self._answered(number, asked, options, stream),
                preview=lambda: preview(model, conversation, stream, options),
            )
        except BaseException as error:
            run.tell(RequestEnded(number, "", Usage(), None, str(error) or type(error).__name__))
            if isinstance(error, OverBudget):
                raise End("limit", str(error)) from error
            if isinstance(error, Unsettled):
                raise End("waiting", str(error)) from error
            raise
        reply = answered.reply
        run.tell(RequestEnded(number, reply.text, reply.usage, answered.cost))
        run.count(reply.usage, answered.cost)
        return reply

    async def _answered(self, number: int, asked: Conversation, options: Mapping[str, Any], stream: bool) -> Answered:
        model = self._settings.model
        reply = await (self._streamed(number, asked, options) if stream else model.achat(asked, **options))
        return Answered(reply, model.cost(reply.usage))

    async def _streamed(self, number: int, asked: Conversation, options: Mapping[str, Any]) -> Reply:
        internal: set[int] = set()
        tell, is_piece = self._run.tell, self._goal.is_piece
        with self._place.hearing(f"r{number}") as listeners:
            async with self._settings.model.astream(asked, **options) as pieces:
                async for delta in pieces:
                    if not is_piece(delta, internal):
                        tell(delta)
                    if isinstance(delta, TextDelta):
                        for hear in listeners:
                            hear(delta.text)
        return pieces.reply

    # Making room

    async def _prepare(self) -> None:
        context, before = self._settings.context, self._settings.before_request
        if before is not None:
            self._conversation.tools = self._goal.specs()
            done = before(self._conversation)
            if isawaitable(done):
                await done
        if context is not None and (most := _readable(self._settings.model)):
            size = size_of(self._conversation, self._counted)
            if size > most * context.fill:
                await self._make_room(room(self._conversation, most * context.leave, size))

    async def _shortened_after(self, error: ContextOverflow) -> bool:
        context = self._settings.context
        if context is None:
            return False
        known = _readable(self._settings.model)
        return await self._make_room(room_for(self._conversation, error, known, context.leave))

    async def _make_room(self, room: Room) -> bool:
        """Make the conversation shorter; whether that could be done."""
        before = self._conversation.fork()
        try:
            dropped = room.dropped(before)
            shorter = _shortened(before, room, await self._summary(dropped) if dropped else None)
        except CompactionError:
            return False
        if shorter == before:
            return False
        self._goal.machinery.moved(len(before.turns) - len(shorter.turns))
        self._conversation.take_over(shorter)
        self._counted = None
        self._run.tell(Compacted(len(dropped), before))
        return True

    async def _summary(self, dropped: Sequence[Turn]) -> str | None:
        """What the model says of the turns that are left out; nothing, where it does not get to it."""
        if self._settings.context is None or not self._settings.context.summarize:
            return None
        try:
            reply = await self._requested(summary_request(dropped), {}, stream=False)
        except AntiphonError:
            return None
        return reply.text.strip() or None


def preview(model: Asks, conversation: Conversation, stream: bool, options: Mapping[str, Any]) -> bytes:
    """The body of a request, as it would be sent."""
    asked: Any = model
    if not hasattr(asked, "request"):
        raise OptionError(f"{model.name} cannot show its requests")
    return asked.request(conversation, stream=stream, **options)


def _shortened(before: Conversation, room: Room, summary: str | None) -> Conversation:
    """Within its room; a summary that leaves none is left out."""
    try:
        return room.made(before, summary)
    except CompactionError:
        if summary is None:
            raise
        return room.made(before, None)


def _readable(model: Asks) -> int | None:
    """How many tokens a model can read, where that is known."""
    known = getattr(model, "capabilities", None)
    return getattr(known, "context_tokens", None)
