"""The asking of a model: room is made where it is needed, and each request goes through the door, told and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isawaitable
from typing import Any

from antiphon.conversation import Conversation, ToolCall, Turn
from antiphon.conversation.parts import sources_of
from antiphon.effects import Place
from antiphon.effects.budget import OverBudget
from antiphon.effects.values import Answered, AskModel
from antiphon.errors import (
    AntiphonError,
    CompactionError,
    ContextOverflow,
    ContinuationFailed,
    OptionError,
    OptionRefused,
    UnknownStop,
    Unsettled,
)
from antiphon.session.context import Counted, Room, room, room_for, size_of, summary_request
from antiphon.session.endings import End
from antiphon.session.events import Compacted, ModelUnknown, PrefixChanged, RequestEnded, RequestStarted
from antiphon.session.goal import Goal
from antiphon.session.run import Run
from antiphon.session.settings import AnnouncesChanges, Asks, Settings
from antiphon.wire import Reply, Target, TextDelta, Usage


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
        conversation, is_shortened, is_relearned = self._conversation, False, False
        while True:
            conversation.tools = self._goal.specs()
            options = self._goal.options()
            announce_changes(self._settings.model, conversation, options)
            seen = conversation.turns
            try:
                reply = await self._requested(conversation, options, self._stream)
                break
            except ContextOverflow as error:
                if is_shortened or not await self._shortened_after(error):
                    raise
                is_shortened = True
            except OptionRefused:
                # What the session itself had chosen: the fact is learned, and another way is found.
                if is_relearned or not self._goal.choose_again():
                    raise
                is_relearned = True
        turn = conversation.add_reply(reply.parts, seen)
        self.said = turn.text or self.said
        used = (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
        if tokens := reply.window or used:
            self._counted = conversation.turns, tokens
        if (target := getattr(self._settings.model, "target", None)) is not None:
            # A reply of a journal brings its state along.
            reply.state.keep_in(conversation.state, target.origin)
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
            kept = error.reply if isinstance(error, UnknownStop | ContinuationFailed) else None
            self.said = kept.text if isinstance(kept, Reply) else self.said
            run.tell(RequestEnded(number, "", Usage(), None, str(error) or type(error).__name__))
            if isinstance(error, OverBudget):
                raise End("limit", str(error)) from error
            if isinstance(error, Unsettled):
                raise End("waiting", str(error)) from error
            raise
        reply = answered.reply
        self._tell_notices(reply)
        told = reply.text, reply.usage, answered.cost
        run.tell(RequestEnded(number, *told, sources=sources_of(reply.parts), cache=reply.cache))
        run.count(reply.usage, answered.cost)
        return reply

    def _tell_notices(self, reply: Reply) -> None:
        """Report what was found out on the way: a broken prefix, a fact that was wrong, a model nobody knows."""
        model, tell = self._settings.model, self._run.tell
        if (change := reply.prefix_change) is not None:
            cost = cost_of_reading_again(model, change.tokens)
            tell(PrefixChanged(change.at, change.turn, change.tokens, cost, change.left_out))
        for notice in (*reply.healed, *reply.wrong_facts):
            tell(notice)
        target: Target | None = getattr(model, "target", None)
        if self.requests == 1 and target is not None and not target.facts.name and target.facts.taken_for:
            tell(ModelUnknown(model.name, target.facts.taken_for))

    async def _answered(self, number: int, asked: Conversation, options: Mapping[str, Any], stream: bool) -> Answered:
        model = self._settings.model
        chosen = options.get("background", getattr(getattr(model, "options", None), "background", False))
        if chosen and (pending := self._place.pending(f"r{number}")) is not None:
            options = {**options, "pending": pending}
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
        self._conversation.take_over(shorter)
        self._goal.restate()
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


def cost_of_reading_again(model: Asks, tokens: int) -> float | None:
    """Return what a lost part of the cache costs: reading it as new in place of reading it from the cache."""
    as_new = model.cost(Usage(tokens, 0))
    from_cache = model.cost(Usage(tokens, 0, cache_read_tokens=tokens))
    return None if as_new is None or from_cache is None else as_new - from_cache


def announce_changes(model: Asks, conversation: Conversation, options: Mapping[str, Any]) -> None:
    """Record what has changed since the last request, for a model that can be told of it in the conversation."""
    if isinstance(model, AnnouncesChanges):
        model.announce(conversation, **options)
    else:
        conversation.announce()


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
    return getattr(getattr(model, "facts", None), "context", None)
