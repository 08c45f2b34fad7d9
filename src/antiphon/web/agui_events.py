"""What happens in a run, as events of AG-UI: what is begun is ended, and nothing is told that the client has."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from antiphon.conversation import AssistantTurn, ToolResult, UserTurn
from antiphon.session import Asked, CallFinished, CallStarted, RequestEnded, RequestStarted, RunEnded, RunWaits, Settled
from antiphon.web.agui_history import content_json, last_calls
from antiphon.wire import ReasoningDelta, TextDelta, Usage

if TYPE_CHECKING:
    from antiphon.conversation import Conversation
    from antiphon.session import Event

Sent = dict[str, Any]
#: Our counts of tokens by the names that AG-UI has for them.
_TOKENS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cache_read_tokens",
    "cacheWriteInputTokens": "cache_write_tokens",
}


class Telling:
    """Tells of one run. `replayed` are requests that were answered before, and of which the client knows."""

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
        self._thoughts = 0
        #: Whether a person's answer, which is part of the conversation, is still to be told.
        self._has_answer = False
        self._used: dict[str, list[Usage]] = {}
        self._model = ""

    def take(self, event: Event) -> Generator[Sent]:
        """What is to be sent of it."""
        body = event.body
        if event.run != self._run:
            # What a tool does inside is its own affair; what it uses is the run's.
            if isinstance(body, RequestStarted | RequestEnded):
                self._count(body, is_own=False)
            return
        match body:
            case RequestStarted():
                yield from self._announce()
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
            case CallStarted() | Asked() | RunWaits() | RunEnded():
                yield from self._announce()
            case CallFinished(call, result):
                yield from self._announce()
                yield from self._result(call.id, result)
            case Settled(question):
                self._has_answer |= question.kind == "question" and question.id not in self._answered
            case _:
                pass

    @property
    def usage(self) -> list[Sent]:
        """What was used, by model."""
        return [each for model, used in self._used.items() if len(each := _usage_json(model, used)) > 1]

    # A message of the model's

    def _say(self, text: str) -> Generator[Sent]:
        yield from self._end_thought()
        if not self._text:
            self._text = self._message
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._text, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text, "delta": text}

    def _think(self, text: str) -> Generator[Sent]:
        if not self._thought:
            self._thoughts += 1
            self._thought = f"{self._message}.thought{self._thoughts}"
            yield {"type": "REASONING_START", "messageId": self._thought}
            yield {"type": "REASONING_MESSAGE_START", "messageId": self._thought, "role": "reasoning"}
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": self._thought, "delta": text}

    def _end_thought(self) -> Generator[Sent]:
        if self._thought:
            yield {"type": "REASONING_MESSAGE_END", "messageId": self._thought}
            yield {"type": "REASONING_END", "messageId": self._thought}
            self._thought = ""

    def _close(self) -> Generator[Sent]:
        yield from self._end_thought()
        if self._text:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._text}
            self._text = ""

    # Calls

    def _announce(self) -> Generator[Sent]:
        """The calls of the last reply: only in the conversation do they have the names under which they go on."""
        turn = last_calls(self._conversation)
        for call in () if turn is None else turn.calls:
            if call.id in self._announced:
                continue
            self._announced.add(call.id)
            id = {"toolCallId": call.id}
            yield {"type": "TOOL_CALL_START", **id, "toolCallName": call.name, "parentMessageId": self._message}
            yield {"type": "TOOL_CALL_ARGS", **id, "delta": call.arguments_json}
            yield {"type": "TOOL_CALL_END", **id}

    def _result(self, call: str, result: ToolResult) -> Generator[Sent]:
        if call in self._answered or call not in self._announced:
            return
        self._answered.add(call)
        content = content_json(result.parts)
        yield {
            "type": "TOOL_CALL_RESULT", "messageId": f"{self._run}.{call}", "toolCallId": call, "content": content,
            "role": "tool",
        }  # fmt: skip

    def _words(self) -> Generator[Sent]:
        """What a person answered, where the conversation has it as what the user said."""
        # The model may have answered it already: it is the last that the user said, and not always the last of all.
        users = (each for each in reversed(self._conversation.turns) if isinstance(each, UserTurn))
        turn = next((each for each in users if each.visible_parts), None)
        if not self._has_answer or turn is None:
            return
        self._has_answer = False
        id = {"messageId": f"{self._message or self._run}.answer"}
        yield {"type": "TEXT_MESSAGE_START", **id, "role": "user"}
        yield {"type": "TEXT_MESSAGE_CONTENT", **id, "delta": turn.text}
        yield {"type": "TEXT_MESSAGE_END", **id}

    # What was used

    def _count(self, body: RequestStarted | RequestEnded, is_own: bool = True) -> None:
        if isinstance(body, RequestStarted):
            self._model = body.model
        elif not (is_own and body.number <= self._replayed) and not body.failed:
            self._used.setdefault(self._model, []).append(body.usage)


def _usage_json(model: str, used: list[Usage]) -> Sent:
    told: Sent = {"model": model}
    for name, ours in _TOKENS.items():
        known = [count for each in used if (count := getattr(each, ours)) is not None]
        if known:
            told[name] = sum(known)
    return told
