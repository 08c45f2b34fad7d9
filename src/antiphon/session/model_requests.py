"""The model requests of a run: each passes the effect pipeline, is counted and reported.

A conversation that is too long is compacted first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from antiphon.conversation import Conversation, DerivedKey, File, Media, ToolCall, ToolSpec, Turn
from antiphon.conversation.compaction import CountedTurns, estimate_conversation_tokens
from antiphon.conversation.parts import collect_sources, extract_answer_text
from antiphon.effects import EffectContext, instrumentation
from antiphon.effects.budget import BudgetExceeded, Limits, Spending
from antiphon.effects.types import AskModel, ModelReplied, ReadClock, UploadFile
from antiphon.errors import (
    AntiphonError,
    CompactionError,
    ContextOverflow,
    ContinuationFailed,
    OptionError,
    OptionRefused,
    StreamCut,
    Suspended,
    UnknownStop,
)
from antiphon.session.context_window import (
    CompactionTarget,
    build_summary_request,
    compute_compaction_target,
    compute_overflow_target,
)
from antiphon.session.events import (
    AnswerDelta,
    Compacted,
    FellBack,
    FilesOmitted,
    ModelUnknown,
    PrefixChanged,
    RequestDelayed,
    RequestEnded,
    RequestStarted,
)
from antiphon.session.exceptions import ModelRefused, StopRun
from antiphon.session.handoff import list_handoffs, restate_handoffs
from antiphon.session.output_spec import OutputGoal, format_refusal
from antiphon.session.prepared_tools import prepare_tools
from antiphon.session.run import Run
from antiphon.session.settings import ChangeAnnouncer, FileUploader, ModelProtocol, SessionSettings
from antiphon.session.timer import RunTimer
from antiphon.wire import Reply, Target, TextDelta, Usage
from antiphon.wire.media import (
    describe_omitted,
    find_files,
    find_known_copy,
    find_uploads,
    has_expiring_files,
    note_upload,
)

#: The model and the files that it is not shown, as they were last told.
_TOLD = DerivedKey[tuple[Target, tuple[str, ...]]]("omitted files")


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
        #: Why models of a fallback have not answered.
        self._failures: list[str] = []
        #: The streamed text of the current request.
        self._pieces: list[str] = []
        self.requests = self._uploads = 0
        #: The time until the current limits were set.
        self._elapsed_before = 0.0
        self.text = self.said = ""

    async def prepare_tools(self, number: int) -> None:
        """Let the prepared toolsets choose the tools of a request."""
        self._goal.prepared = await prepare_tools(self._settings, self._conversation, self.place, number)

    def use_settings(self, settings: SessionSettings) -> None:
        """Send the next requests with other settings, such as those of another agent."""
        self._settings, self._counted = settings, None

    def set_limits(self, limits: Limits) -> None:
        """Set other limits for the next requests and calls."""
        self._run.set_limits(limits)
        self._elapsed_before = self._clock.elapsed

    async def ask(self) -> tuple[Reply, tuple[ToolCall, ...]]:
        """Ask the model, or the next one if it fails, and add the reply to the conversation."""
        conversation = self._conversation
        if self._settings.prepared:
            await self.prepare_tools(self.requests + 1)
        if self._settings.before_request:
            await self._guard_request()
        while True:
            try:
                reply, text, seen = await self._ask_model()
            except AntiphonError as error:
                if self._switch_model(type(error), str(error), self._find_partial_text(error)):
                    continue
                self._tell_failures(error)
                raise
            is_refused = reply.stop == "refusal" and not reply.tool_calls
            if not (is_refused and self._switch_model(ModelRefused, format_refusal(reply), text)):
                break
        if self._settings.after_reply:
            reply = await self._guard_reply(reply)
            text = extract_answer_text(reply.parts)
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

    async def _ask_model(self) -> tuple[Reply, str, tuple[Turn, ...]]:
        """Return the reply of the current model, its text, and what it was shown.

        If the conversation is too long, compact it once.
        """
        conversation, context = self._conversation, self._settings.context
        is_measured = is_shortened = is_relearned = False
        await self._prepare_files()
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
                return (*await self._perform_request(asked, options, self._stream), seen)
            except ContextOverflow as error:
                if is_shortened or not await self._compact_after_overflow(error):
                    raise
                is_shortened = True
            except OptionRefused:
                # The session itself had chosen this option. The fact is learned now, so choose another strategy.
                if is_relearned or not self._goal.choose_fallback_strategy():
                    raise
                is_relearned = True

    # Fallback

    def _switch_model(self, kind: type[BaseException], reason: str, text: str) -> bool:
        """Let the next model of a fallback answer. Return False if there is none for this kind of failure."""
        settings = self._settings
        failed, found = settings.model, settings.chain.find_next(settings.model, kind)
        if found is None:
            return False
        self._failures.append(f"{failed.name} failed: {reason}")
        settings.model = found
        settings.resolve()
        self._goal.begin_with_next_model()
        self._run.tell(FellBack(self.requests, failed.name, reason, found.name, text))
        return True

    def _find_partial_text(self, error: AntiphonError) -> str:
        """Return what the model had said before its request failed."""
        partial = error.partial if isinstance(error, StreamCut | ContinuationFailed) else ""
        return "".join(self._pieces) or partial

    def _tell_failures(self, error: AntiphonError) -> None:
        """Add to an error why the models before have not answered either."""
        if self._failures:
            error.args = (f"{error}; before, {'; '.join(self._failures)}", *error.args[1:])
            self._failures.clear()

    # Guards

    async def _guard_request(self) -> None:
        """Let the guards judge and change the conversation before it is sent. They raise to end the run."""
        conversation = self._conversation
        conversation.tools, known = self._goal.specs(), len(conversation.turns)
        handoffs = list_handoffs(conversation)
        for guard in self._settings.before_request:
            returned = await guard.call(conversation, deps=self._settings.deps)
            if isinstance(returned, Conversation):
                if returned is not conversation:
                    conversation.replace_with(returned)
                    self._counted = None
            elif returned is not None:
                raise guard.make_return_error("before_request", "nothing or a conversation", returned)
        if len(conversation.turns) < known:
            # A guard may have removed the turn that states the form of the answer.
            self._goal.restate_instruction()
            restate_handoffs(handoffs, conversation)
            self._counted = None

    async def _guard_reply(self, reply: Reply) -> Reply:
        """Return the reply after all guards, which may replace it, or raise to end the run."""
        for guard in self._settings.after_reply:
            returned = await guard.call(reply, deps=self._settings.deps)
            if isinstance(returned, Reply):
                reply = returned
            elif returned is not None:
                raise guard.make_return_error("after_reply", "nothing or a `Reply`", returned)
        return reply

    # Files

    async def _prepare_files(self) -> None:
        """Store files that do not fit into a request with the provider, and tell which ones the model is not shown."""
        model, conversation = self._settings.model, self._conversation
        target: Target | None = getattr(model, "target", None)
        if target is None or not find_files(conversation):
            return
        if (omitted := describe_omitted(conversation, target)) and conversation.derived.get(_TOLD) != (target, omitted):
            conversation.derived[_TOLD] = (target, omitted)
            self._run.tell(FilesOmitted(model.name, omitted))
        if not isinstance(model, FileUploader):
            return
        now = await self._read_clock() if has_expiring_files(conversation) else None
        for part in find_uploads(conversation, target, now):
            known = find_known_copy(conversation, part, target, now)
            note_upload(conversation, part, known or await self._upload(model, part))

    async def _read_clock(self) -> float:
        """Return the time. It is an effect, because a resumed run must find the same files expired."""

        async def read() -> float:
            return time()

        self._uploads += 1
        return await self.place.perform(f"u{self._uploads}", ReadClock, read)

    async def _upload(self, model: FileUploader, part: Media) -> File:
        def describe() -> UploadFile:
            return UploadFile(self._settings.model.name, part.sha256, part.media_type, part.name, part.size)

        self._uploads += 1
        return await self.place.perform(f"u{self._uploads}", describe, lambda: model.aupload(part))

    # One request

    async def _perform_request(self, asked: Conversation, options: dict[str, Any], stream: bool) -> tuple[Reply, str]:
        """Send one request, report it and count its usage. Return the reply and its text.

        `asked` is a fork for this request, made after `announce_changes`.
        """
        number, model, run = self.requests + 1, self._settings.model, self._run

        def report_delay(seconds: float, reason: str) -> None:
            run.tell(RequestDelayed(number, seconds, reason))

        try:
            run.limited.start_request(run.counts.requests, self._clock.elapsed - self._elapsed_before)
        except BudgetExceeded as error:
            raise StopRun("limit", str(error)) from error
        self.requests = number
        self._pieces = []
        run.counts.requests += 1
        run.tell(RequestStarted(number, model.name))
        try:
            if not self.place.performers and instrumentation.installed is None:
                answered = await self._answered(number, asked, options, stream)
            else:
                answered: ModelReplied = await self.place.perform(
                    f"r{number}",
                    lambda: AskModel(model.name, asked.system, asked.turns, asked.tools, options),
                    lambda: self._answered(number, asked, options, stream),
                    report_delay=report_delay,
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
                    elif delta.arguments and delta.index == min(internal):
                        tell(AnswerDelta(delta.arguments))
                    if isinstance(delta, TextDelta):
                        self._pieces.append(delta.text)
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
        restate_handoffs(list_handoffs(before), self._conversation)
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
