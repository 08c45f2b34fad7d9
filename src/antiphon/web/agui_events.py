"""Convert session events to AG-UI events, without what the client already has."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from antiphon.conversation import AssistantTurn, ToolResult, UserTurn
from antiphon.session import (
    CallFinished,
    CallStarted,
    QuestionAnswered,
    QuestionAsked,
    RequestEnded,
    RequestStarted,
    RunEnded,
    RunWaits,
)
from antiphon.web.agui_history import find_last_reply, result_to_agui
from antiphon.wire import ReasoningDelta, TextDelta, Usage

if TYPE_CHECKING:
    from antiphon.chat.chat import Chat
    from antiphon.conversation import Conversation
    from antiphon.session import Event


class AguiEventEncoder:
    """Encodes the events of one message of a chat, whose `key` begins the ids of the model's messages.

    The client knows the conversation `known`, and the first `replayed` requests.
    """

    def __init__(self, key: str, chat: Chat, known: Conversation, replayed: int) -> None:
        self._run = key
        self._chat = chat
        turns = [turn for turn in known.turns if isinstance(turn, AssistantTurn)]
        self._announced = {call.id for turn in turns for call in turn.calls}
        self._answered = {result.call_id for turn in turns for result in turn.results}
        self._replayed = replayed
        self._message = ""
        self._text = ""
        self._thought = ""
        self._reasoning_count = 0
        #: True while a person's answer, which is part of the conversation, is still to be sent.
        self._has_answer = False
        self._used: dict[str, list[Usage]] = {}
        self._model = ""

    def take(self, event: Event) -> Generator[BaseEvent]:
        """Yield the AG-UI events for a session event."""
        body = event.body
        if self._chat.run is None or event.run != self._chat.run.id:
            # Events of nested runs are not sent, but their usage counts.
            if isinstance(body, RequestStarted | RequestEnded):
                self._count(body, is_own=False)
            return
        match body:
            case RequestStarted():
                yield from self._encode_calls()
                yield from self._words()
                self._message = f"{self._run}.{body.number}"
                self._count(body)
            case TextDelta(text) if text:
                yield from self._say(text)
            case ReasoningDelta(text) if text:
                yield from self._think(text)
            case RequestEnded():
                yield from self._close()
                if body.sources:
                    found = [{"url": each.url, "title": each.title} for each in body.sources]
                    value = {"messageId": self._message, "sources": found}
                    yield CustomEvent(name="antiphon.sources", value=value)
                self._count(body)
            case CallStarted() | QuestionAsked() | RunWaits() | RunEnded():
                yield from self._encode_calls()
            case CallFinished(call, result):
                yield from self._encode_calls()
                yield from self._result(call.id, result)
            case QuestionAnswered(question):
                self._has_answer |= question.kind != "approval" and question.id not in self._answered
            case _:
                pass

    @property
    def usage(self) -> list[TokenUsage] | None:
        """The usage so far, by model; `None` if no model reported any."""
        usages = [_sum_usage(model, used) for model, used in self._used.items()]
        return [each for each in usages if len(each.model_dump()) > 1] or None

    # Messages of the model

    def _say(self, text: str) -> Generator[BaseEvent]:
        yield from self._end_reasoning()
        if not self._text:
            self._text = self._message
            yield TextMessageStartEvent(message_id=self._text, role="assistant")
        yield TextMessageContentEvent(message_id=self._text, delta=text)

    def _think(self, text: str) -> Generator[BaseEvent]:
        if not self._thought:
            self._reasoning_count += 1
            self._thought = f"{self._message}.thought{self._reasoning_count}"
            yield ReasoningStartEvent(message_id=self._thought)
            yield ReasoningMessageStartEvent(message_id=self._thought)
        yield ReasoningMessageContentEvent(message_id=self._thought, delta=text)

    def _end_reasoning(self) -> Generator[BaseEvent]:
        if self._thought:
            yield ReasoningMessageEndEvent(message_id=self._thought)
            yield ReasoningEndEvent(message_id=self._thought)
            self._thought = ""

    def _close(self) -> Generator[BaseEvent]:
        yield from self._end_reasoning()
        if self._text:
            yield TextMessageEndEvent(message_id=self._text)
            self._text = ""

    # Calls

    def _encode_calls(self) -> Generator[BaseEvent]:
        """Yield the tool calls of the last reply, read from the conversation, which has their final ids."""
        turn = find_last_reply(self._chat.conversation)
        for call in () if turn is None else turn.calls:
            if call.id in self._announced:
                continue
            self._announced.add(call.id)
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name, parent_message_id=self._message)
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.arguments_json)
            yield ToolCallEndEvent(tool_call_id=call.id)

    def _result(self, call: str, result: ToolResult) -> Generator[BaseEvent]:
        if call in self._answered or call not in self._announced:
            return
        self._answered.add(call)
        yield ToolCallResultEvent(
            message_id=f"{self._run}.{call}", tool_call_id=call, content=result_to_agui(result), role="tool"
        )

    def _words(self) -> Generator[BaseEvent]:
        """Yield a person's answer, if the conversation has it as user text."""
        # The model may have replied already: this is the last user turn, not always the last turn.
        users = (each for each in reversed(self._chat.conversation.turns) if isinstance(each, UserTurn))
        turn = next((each for each in users if each.visible_parts), None)
        if not self._has_answer or turn is None:
            return
        self._has_answer = False
        id = f"{self._message or self._run}.answer"
        yield TextMessageStartEvent(message_id=id, role="user")
        yield TextMessageContentEvent(message_id=id, delta=turn.text)
        yield TextMessageEndEvent(message_id=id)

    # Usage

    def _count(self, body: RequestStarted | RequestEnded, is_own: bool = True) -> None:
        if isinstance(body, RequestStarted):
            self._model = body.model
        elif not (is_own and body.number <= self._replayed) and not body.failed:
            self._used.setdefault(self._model, []).append(body.usage)


def _sum_usage(model: str, used: list[Usage]) -> TokenUsage:
    def add(counts: Iterable[int | None]) -> int | None:
        known = [each for each in counts if each is not None]
        return sum(known) if known else None

    return TokenUsage(
        model=model,
        input_tokens=add(each.input_tokens for each in used),
        output_tokens=add(each.output_tokens for each in used),
        reasoning_tokens=add(each.reasoning_tokens for each in used),
        cached_input_tokens=add(each.cache_read_tokens for each in used),
        cache_write_input_tokens=add(each.cache_write_tokens for each in used),
    )
