"""Compare an AG-UI client's messages with the saved thread, and convert conversations to AG-UI messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DataSource,
    FunctionCall,
    ImagePart,
    Message,
    TextPart,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from ag_ui.core import ToolCall as AguiToolCall

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Image,
    MediaPart,
    Note,
    Text,
    ToolResult,
    Update,
    UserTurn,
)
from antiphon.conversation.parts import normalize_call_id
from antiphon.errors import AntiphonError, ContentError, OptionError, PairingError
from antiphon.web.agui_input import convert_calls, convert_content, convert_result


class HistoryMismatch(AntiphonError):
    """Raised when a client's history differs from the saved conversation."""


@dataclass(frozen=True, slots=True)
class NewMessages:
    """The new part of a client's messages: results of its own tools, and what the user said."""

    results: tuple[ToolResult, ...] = ()
    said: tuple[Text | Image, ...] = ()


@dataclass(slots=True)
class _Segment:
    """Consecutive messages of one side: user parts, or text and calls of the model."""

    said: list[Text | Image] = field(default_factory=list[Text | Image])
    words: str = ""
    calls: list[str] = field(default_factory=list[str])

    @property
    def is_users(self) -> bool:
        return bool(self.said)

    def is_same(self, other: _Segment) -> bool:
        # Clients split and join text differently, so whitespace is ignored.
        words = self.words.split() == other.words.split()
        return self.said == other.said and words and self.calls == other.calls


def find_new_messages(
    messages: Sequence[Message], ours: Conversation, is_unfinished: Callable[[str], bool]
) -> NewMessages:
    """Return what is new in a client's messages; raise `HistoryMismatch` if the rest differs.

    Messages that a run began and never finished are ignored.
    """
    mine = _segments_of_turns(ours)
    said = _new_user_parts(mine, messages)
    if said is None:
        said = _new_user_parts(mine, _drop_unfinished(messages, is_unfinished))
    if said is None:
        raise HistoryMismatch(
            "the messages differ from the saved thread, which was continued or changed elsewhere; the snapshot has the"
            " saved messages, start the next run from them"
        )
    waiting = {call.id for call in ours.open_calls}
    answers = [convert_result(each) for each in messages if isinstance(each, ToolMessage)]
    return NewMessages(tuple(each for each in answers if each.call_id in waiting), tuple(said))


def _new_user_parts(mine: list[_Segment], messages: Sequence[Message]) -> list[Text | Image] | None:
    """Return the user parts after the known messages; `None` if the messages begin differently."""
    theirs = _segments_of_messages(messages)
    if not _starts_with(theirs, mine):
        return None
    known = len(mine[-1].said) if mine and mine[-1].is_users else 0
    rest = theirs[len(mine) - bool(known) :]
    return [part for each in rest for part in each.said][known:] if all(each.is_users for each in rest) else None


def _drop_unfinished(messages: Sequence[Message], is_unfinished: Callable[[str], bool]) -> list[Message]:
    return [each for each in messages if each.role != "assistant" or not is_unfinished(each.id)]


def import_thread(
    messages: Sequence[Message], system: str, is_unfinished: Callable[[str], bool]
) -> tuple[Conversation, NewMessages]:
    """Build a conversation from the messages of an unknown thread; the last user messages count as new."""
    messages = _drop_unfinished(messages, is_unfinished)
    last = len(messages)
    while last and isinstance(messages[last - 1], UserMessage):
        last -= 1
    conversation = Conversation(system)
    try:
        for each in messages[:last]:
            if isinstance(each, UserMessage):
                conversation.add_user(convert_content(each.content))
            elif isinstance(each, AssistantMessage):
                words = [Text(each.content)] if each.content and each.content.strip() else []
                conversation.add_assistant([*words, *convert_calls(each)])
            elif isinstance(each, ToolMessage):
                conversation.add_tool_results([convert_result(each)])
        users = [each for each in messages[last:] if isinstance(each, UserMessage)]
        parts = [part for each in users for part in convert_content(each.content)]
        if parts:
            Conversation().add_user(parts)
    except (PairingError, ContentError) as error:
        raise OptionError(f"these messages are not a conversation: {error}") from None
    return conversation, NewMessages((), tuple(parts))


def conversation_to_agui(conversation: Conversation, name: str) -> list[Message]:
    """Convert a conversation to AG-UI messages."""
    found: list[Message] = []
    for number, turn in enumerate(conversation.turns):
        id = f"{name}.turn{number}"
        if isinstance(turn, UserTurn):
            if turn.visible_parts:
                found.append(UserMessage(id=id, content=_content_of_user(turn)))
            continue
        calls = [
            AguiToolCall(id=each.id, function=FunctionCall(name=each.name, arguments=each.arguments_json))
            for each in turn.calls
        ]
        found.append(AssistantMessage(id=id, content=turn.text or None, tool_calls=calls or None))
        found += [_tool_message(f"{id}.{each.call_id}", each) for each in turn.results]
    return found


def _content_of_user(turn: UserTurn) -> str | list[ContentPart]:
    """Return the content of a user turn, in parts as the client would send them back."""
    parts = _plain_parts(turn)
    only = parts[0] if len(parts) == 1 else None
    return only.text if isinstance(only, Text) else [_to_agui_part(each) for each in parts]


def result_to_agui(result: ToolResult) -> str | list[ContentPart]:
    """Convert the content of a result to text, or to a list of parts if it has images."""
    parts = [each for each in result.parts if isinstance(each, Text | Image)]
    if not any(isinstance(each, Image) for each in parts):
        return result.text
    return [_to_agui_part(each) for each in parts]


def _to_agui_part(part: Text | Image) -> ContentPart:
    if isinstance(part, Text):
        return TextPart(text=part.text)
    if part.url:
        return ImagePart(source=UrlSource(value=part.url))
    return ImagePart(source=DataSource(value=part.data, mime_type=part.media_type))


def _tool_message(id: str, result: ToolResult) -> ToolMessage:
    error = (result.text or "it failed") if result.is_error else None
    return ToolMessage(id=id, tool_call_id=result.call_id, content=result_to_agui(result), error=error)


def _starts_with(theirs: list[_Segment], mine: list[_Segment]) -> bool:
    if len(theirs) < len(mine):
        return False
    if not mine:
        return True
    *before, last = mine
    there = theirs[len(before)]
    same = all(each.is_same(other) for each, other in zip(theirs, before, strict=False))
    # New user messages extend the last user segment.
    goes_on = last.is_users and there.is_users and there.said[: len(last.said)] == last.said
    return same and (goes_on or there.is_same(last))


def _segments_of_turns(conversation: Conversation) -> list[_Segment]:
    found: list[_Segment] = []
    for turn in conversation.turns:
        if isinstance(turn, UserTurn):
            if turn.visible_parts:
                _append_segment(found, _Segment(said=_plain_parts(turn)))
        else:
            _append_segment(found, _Segment(words=turn.text, calls=[each.id for each in turn.calls]))
    return found


def _segments_of_messages(messages: Sequence[Message]) -> list[_Segment]:
    found: list[_Segment] = []
    for each in messages:
        if isinstance(each, UserMessage):
            _append_segment(found, _Segment(said=convert_content(each.content)))
        elif isinstance(each, AssistantMessage):
            calls = [normalize_call_id(call.id) for call in each.tool_calls or ()]
            _append_segment(found, _Segment(words=each.content or "", calls=calls))
    return found


def _append_segment(found: list[_Segment], each: _Segment) -> None:
    last = found[-1] if found else None
    if last is None or last.is_users != each.is_users:
        found.append(each)
        return
    last.said += each.said
    last.words += f" {each.words}"
    last.calls += each.calls


def _plain_parts(turn: UserTurn) -> list[Text | Image]:
    """Return the parts of a user turn as a client would send them back, without notes of the program."""
    found: list[Text | Image] = []
    for part in turn.parts:
        if isinstance(part, Image):
            found.append(Image(part.data, part.media_type, part.url))
        elif isinstance(part, MediaPart):
            found.append(Text(f"[{part.description}]"))
        elif not isinstance(part, Note | Update):
            text = part.attributed_text if isinstance(part, Chat) else part.text
            found += [Text(text)] if text else []
    return found


def find_last_reply(conversation: Conversation) -> AssistantTurn | None:
    """Return the last assistant turn, which may have calls that the client has not received."""
    return next((turn for turn in reversed(conversation.turns[-2:]) if isinstance(turn, AssistantTurn)), None)
