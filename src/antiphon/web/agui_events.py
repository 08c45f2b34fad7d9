"""Convert session events to AG-UI events; skips what the client already has."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

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
from antiphon.web.agui_history import agui_content_json, find_last_reply
from antiphon.wire import ReasoningDelta, TextDelta, Usage

if TYPE_CHECKING:
    from antiphon.conversation import Conversation
    from antiphon.session import Event

AguiEvent = dict[str, Any]
#: AG-UI names of token counts, with our field names.
_USAGE_FIELDS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cache_read_tokens",
    "cacheWriteInputTokens": "cache_write_tokens",
}


class AguiEventEncoder:
    """Encodes the events of one run. `replayed` is the number of requests the client already knows from
    before.
    """

    def __init__(self, run: str, conversation: Conversation, known: Conversation, replayed: int) -> None:
        self._run = run
        self._conversation = conversation
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

    def take(self, event: Event) -> Generator[AguiEvent]:
        """Yield the AG-UI events for a session event."""
        body = event.body
        if event.run != self._run:
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
                    yield {"type": "CUSTOM", "name": "antiphon.sources", "value": value}
                self._count(body)
            case CallStarted() | QuestionAsked() | RunWaits() | RunEnded():
                yield from self._encode_calls()
            case CallFinished(call, result):
                yield from self._encode_calls()
                yield from self._result(call.id, result)
            case QuestionAnswered(question):
                self._has_answer |= question.kind == "question" and question.id not in self._answered
            case _:
                pass

    @property
    def usage(self) -> list[AguiEvent]:
        """The usage so far, by model."""
        return [each for model, used in self._used.items() if len(each := _agui_usage_json(model, used)) > 1]

    # Messages of the model

    def _say(self, text: str) -> Generator[AguiEvent]:
        yield from self._end_reasoning()
        if not self._text:
            self._text = self._message
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._text, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text, "delta": text}

    def _think(self, text: str) -> Generator[AguiEvent]:
        if not self._thought:
            self._reasoning_count += 1
            self._thought = f"{self._message}.thought{self._reasoning_count}"
            yield {"type": "REASONING_START", "messageId": self._thought}
            yield {"type": "REASONING_MESSAGE_START", "messageId": self._thought, "role": "reasoning"}
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": self._thought, "delta": text}

    def _end_reasoning(self) -> Generator[AguiEvent]:
        if self._thought:
            yield {"type": "REASONING_MESSAGE_END", "messageId": self._thought}
            yield {"type": "REASONING_END", "messageId": self._thought}
            self._thought = ""

    def _close(self) -> Generator[AguiEvent]:
        yield from self._end_reasoning()
        if self._text:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._text}
            self._text = ""

    # Calls

    def _encode_calls(self) -> Generator[AguiEvent]:
        """Yield the tool calls of the last reply, read from the conversation, which has their final ids."""
        turn = find_last_reply(self._conversation)
        for call in () if turn is None else turn.calls:
            if call.id in self._announced:
                continue
            self._announced.add(call.id)
            id = {"toolCallId": call.id}
            yield {"type": "TOOL_CALL_START", **id, "toolCallName": call.name, "parentMessageId": self._message}
            yield {"type": "TOOL_CALL_ARGS", **id, "delta": call.arguments_json}
            yield {"type": "TOOL_CALL_END", **id}

    def _result(self, call: str, result: ToolResult) -> Generator[AguiEvent]:
        if call in self._answered or call not in self._announced:
            return
        self._answered.add(call)
        content = agui_content_json(result.parts)
        yield {
            "type": "TOOL_CALL_RESULT", "messageId": f"{self._run}.{call}", "toolCallId": call, "content": content,
            "role": "tool",
        }  # fmt: skip

    def _words(self) -> Generator[AguiEvent]:
        """Yield a person's answer, if the conversation has it as user text."""
        # The model may have replied already: this is the last user turn, not always the last turn.
        users = (each for each in reversed(self._conversation.turns) if isinstance(each, UserTurn))
        turn = next((each for each in users if each.visible_parts), None)
        if not self._has_answer or turn is None:
            return
        self._has_answer = False
        id = {"messageId": f"{self._message or self._run}.answer"}
        yield {"type": "TEXT_MESSAGE_START", **id, "role": "user"}
        yield {"type": "TEXT_MESSAGE_CONTENT", **id, "delta": turn.text}
        yield {"type": "TEXT_MESSAGE_END", **id}

    # Usage

    def _count(self, body: RequestStarted | RequestEnded, is_own: bool = True) -> None:
        if isinstance(body, RequestStarted):
            self._model = body.model
        elif not (is_own and body.number <= self._replayed) and not body.failed:
            self._used.setdefault(self._model, []).append(body.usage)


def _agui_usage_json(model: str, used: list[Usage]) -> AguiEvent:
    told: AguiEvent = {"model": model}
    for name, ours in _USAGE_FIELDS.items():
        known = [count for each in used if (count := getattr(each, ours)) is not None]
        if known:
            told[name] = sum(known)
    return told
