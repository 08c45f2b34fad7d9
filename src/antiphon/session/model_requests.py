"""The model requests of a run: each passes the effect pipeline, is counted and reported.

A conversation that is too long is compacted first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isawaitable
from typing import Any

from antiphon.conversation import Conversation, ToolCall, ToolSpec, Turn
from antiphon.conversation.compaction import CountedTurns, estimate_conversation_tokens
from antiphon.conversation.parts import collect_sources, extract_answer_text
from antiphon.effects import EffectContext, instrumentation
from antiphon.effects.budget import BudgetExceeded, Spending
from antiphon.effects.types import AskModel, ModelReplied
from antiphon.errors import (
    AntiphonError,
    CompactionError,
    ContextOverflow,
    ContinuationFailed,
    OptionError,
    OptionRefused,
    Suspended,
    UnknownStop,
)
from antiphon.session.context_window import (
    CompactionTarget,
    build_summary_request,
    compute_compaction_target,
    compute_overflow_target,
)
from antiphon.session.events import Compacted, ModelUnknown, PrefixChanged, RequestEnded, RequestStarted
from antiphon.session.exceptions import StopRun
from antiphon.session.output_spec import OutputGoal
from antiphon.session.run import Run
from antiphon.session.settings import ChangeAnnouncer, ModelProtocol, SessionSettings
from antiphon.session.timer import RunTimer
from antiphon.wire import Reply, Target, TextDelta, Usage


class ModelRequests:
    """The model requests of one run. `text` is that of the last reply, and `said` the last that is not empty."""

    def __init__(
        self,
        settings: SessionSettings,
        conversation: Conversation,
        goal: OutputGoal,
        run: Run[Any],
        place: EffectContext,
        clock: RunTimer,
        stream: bool,
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._goal = goal
        self._run = run
        self.place = place
        self._clock = clock
        self._stream = stream
        self._counted: CountedTurns | None = None
        #: The model, and the size of its context window.
        self._window: tuple[ModelProtocol | None, int | None] = (None, None)
        self.requests = 0
        self.text = self.said = ""

    async def ask(self) -> tuple[Reply, tuple[ToolCall, ...]]:
        """Send one request and add its reply to the conversation. If the conversation is too long, compact it once."""
        conversation, context = self._conversation, self._settings.context
        is_measured = is_shortened = is_relearned = False
        if (hook := self._settings.before_request) is not None:
            conversation.tools, known = self._goal.specs(), len(conversation.turns)
            done = hook(conversation)
            if isawaitable(done):
                await done
            if len(conversation.turns) < known:
                # It may have removed the turn that states the form of the answer.
                self._goal.restate_instruction()
                self._counted = None
        while True:
            model, options, window = self._settings.model, self._goal.options(), self._get_context_size()
            announce_changes(model, conversation, self._goal.specs(), options)
            if context is not None and window is not None and not is_measured:
                is_measured, size = True, estimate_conversation_tokens(conversation, self._counted)
                if size > window * context.fill and await self._compact_conversation(
                    compute_compaction_target(conversation, window * context.leave, size)
                ):
                    continue
            asked, seen = conversation.fork_for_request(), conversation.turns
            try:
                reply, text = await self._perform_request(asked, options, self._stream)
                break
            except ContextOverflow as error:
                if is_shortened or not await self._compact_after_overflow(error):
                    raise
                is_shortened = True
            except OptionRefused:
                # The session itself had chosen this option. The fact is learned now, so choose another strategy.
                if is_relearned or not self._goal.choose_fallback_strategy():
                    raise
                is_relearned = True
        turn = conversation.add_reply(reply.parts, seen)
        self.text, self.said = text, text or self.said
        used = (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
        if tokens := reply.window or used:
            self._counted = conversation.turns, tokens
        target: Target | None = getattr(self._settings.model, "target", None)
        if target is not None and self.place.performers:
            # A reply replayed from a journal brings the provider state along.
            reply.state.save_to(conversation.state, target.origin)
        return reply, turn.calls

    # One request

    async def _perform_request(self, asked: Conversation, options: dict[str, Any], stream: bool) -> tuple[Reply, str]:
        """Send one request, report it and count its usage. Return the reply and its text.

        `asked` is a fork for this request, made after `announce_changes`.
        """
        number, model, run = self.requests + 1, self._settings.model, self._run
        try:
            run.budget.start_request(self.requests, self._clock.elapsed)
        except BudgetExceeded as error:
            raise StopRun("limit", str(error)) from error
        self.requests = number
        run.tell(RequestStarted(number, model.name))
        try:
            if not self.place.performers and instrumentation.installed is None:
                answered = await self._answered(number, asked, options, stream)
            else:
                answered: ModelReplied = await self.place.perform(
                    f"r{number}",
                    lambda: AskModel(model.name, asked.system, asked.turns, asked.tools, options),
                    lambda: self._answered(number, asked, options, stream),
                    preview=lambda: preview_model_request(model, asked, stream, options),
                )
        except BaseException as error:
            kept = error.reply if isinstance(error, UnknownStop | ContinuationFailed) else None
            self.said = kept.text if isinstance(kept, Reply) else self.said
            run.tell(RequestEnded(number, "", Usage(), None, str(error) or type(error).__name__))
            if isinstance(error, BudgetExceeded):
                raise StopRun("limit", str(error)) from error
            if isinstance(error, Suspended):
                raise StopRun("waiting", str(error)) from error
            raise
        reply = answered.reply
        text, sources = extract_answer_text(reply.parts), collect_sources(reply.parts)
        self._emit_notices(reply)
        run.tell(RequestEnded(number, text, reply.usage, answered.cost, sources=sources, cache=reply.cache))
        run.count(Spending(usage=reply.usage, cost=answered.cost))
        return reply, text

    def _emit_notices(self, reply: Reply) -> None:
        """Emit the notices of a reply: a changed prefix, corrected model facts, an unknown model."""
        model, tell = self._settings.model, self._run.tell
        if (change := reply.prefix_change) is not None:
            cost = compute_cache_loss_cost(model, change.tokens)
            tell(PrefixChanged(change.at, change.turn, change.tokens, cost, change.left_out))
        for notice in (*reply.healed, *reply.contradicted_facts):
            tell(notice)
        target: Target | None = getattr(model, "target", None)
        if self.requests == 1 and target is not None and not target.facts.name and target.facts.taken_for:
            tell(ModelUnknown(model.name, target.facts.taken_for))

    async def _answered(
        self, number: int, asked: Conversation, options: Mapping[str, Any], stream: bool
    ) -> ModelReplied:
        model = self._settings.model
        if self.place.performers and (deferral := self.place.deferral(f"r{number}")) is not None:
            if not isinstance(getattr(model, "target", None), Target):
                raise OptionError(f"{model.name} cannot answer in batches, because it was not made by `connect`")
            reply = await model.achat(asked, **options, deferral=deferral)
            return ModelReplied(reply, deferral.settle(reply.usage, model.cost))
        chosen = options.get("background", getattr(getattr(model, "options", None), "background", False))
        if chosen and (pending := self.place.pending(f"r{number}")) is not None:
            options = {**options, "pending": pending}
        reply = await (self._stream_model(number, asked, options) if stream else model.achat(asked, **options))
        return ModelReplied(reply, model.cost(reply.usage))

    async def _stream_model(self, number: int, asked: Conversation, options: Mapping[str, Any]) -> Reply:
        internal: set[int] = set()
        tell, is_piece = self._run.tell, self._goal.is_answer_delta
        with self.place.stream_listeners(f"r{number}") as listeners:
            async with self._settings.model.astream(asked, **options) as pieces:
                async for delta in pieces:
                    if not is_piece(delta, internal):
                        tell(delta)
                    if isinstance(delta, TextDelta):
                        for hear in listeners:
                            hear(delta.text)
        return pieces.reply

    # Compaction

    async def _compact_after_overflow(self, error: ContextOverflow) -> bool:
        context = self._settings.context
        if context is None:
            return False
        self._window = (None, None)
        known = self._get_context_size()
        return await self._compact_conversation(
            compute_overflow_target(self._conversation, error, known, context.leave)
        )

    def _get_context_size(self) -> int | None:
        """Return the size of the model's context window in tokens, or None if unknown."""
        model = self._settings.model
        if self._window[0] is not model or self._window[1] is None:
            self._window = model, getattr(getattr(model, "facts", None), "context", None)
        return self._window[1]

    async def _compact_conversation(self, room: CompactionTarget) -> bool:
        """Compact the conversation. Return False if that is not possible."""
        before = self._conversation.fork()
        try:
            dropped = room.dropped(before)
            shorter = _compact_to_target(before, room, await self._request_summary(dropped) if dropped else None)
        except CompactionError:
            return False
        if shorter == before:
            return False
        self._conversation.replace_with(shorter)
        self._goal.restate_instruction()
        self._counted = None
        self._run.tell(Compacted(len(dropped), before))
        return True

    async def _request_summary(self, dropped: Sequence[Turn]) -> str | None:
        """Ask the model to summarize the dropped turns. Return None if it fails or is disabled."""
        if self._settings.context is None or not self._settings.context.summarize:
            return None
        try:
            asked = build_summary_request(dropped)
            announce_changes(self._settings.model, asked, (), {})
            _, text = await self._perform_request(asked.fork_for_request(), {}, stream=False)
        except AntiphonError:
            return None
        return text.strip() or None


def compute_cache_loss_cost(model: ModelProtocol, tokens: int) -> float | None:
    """Return the extra cost of sending tokens as new input instead of reading them from the cache."""
    as_new = model.cost(Usage(tokens, 0))
    from_cache = model.cost(Usage(tokens, 0, cache_read_tokens=tokens))
    return None if as_new is None or from_cache is None else as_new - from_cache


def announce_changes(
    model: ModelProtocol, conversation: Conversation, tools: tuple[ToolSpec, ...], options: Mapping[str, Any]
) -> None:
    """Declare these tools and record what changed since the last request, so that a model can be told of it."""
    conversation.tools = tools
    if isinstance(model, ChangeAnnouncer):
        model.announce(conversation, **options)
    else:
        conversation.announce()


def preview_model_request(
    model: ModelProtocol, conversation: Conversation, stream: bool, options: Mapping[str, Any]
) -> bytes:
    """Return the body of a request exactly as it would be sent."""
    asked: Any = model
    if not hasattr(asked, "request"):
        raise OptionError(f"{model.name} cannot show its requests")
    return asked.request(conversation, stream=stream, **options)


def _compact_to_target(before: Conversation, room: CompactionTarget, summary: str | None) -> Conversation:
    """Compact the conversation to the target. Omit the summary if it does not fit."""
    try:
        return room.made(before, summary)
    except CompactionError:
        if summary is None:
            raise
        return room.made(before, None)
