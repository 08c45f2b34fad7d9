"""Compare an AG-UI client's messages with the saved thread, and convert conversations to AG-UI messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Image,
    Note,
    Text,
    ToolResult,
    Update,
    UserPart,
    UserTurn,
)
from antiphon.conversation.parts import normalize_call_id
from antiphon.errors import AntiphonError, ContentError, OptionError, PairingError
from antiphon.web.agui_input import AguiAssistantMessage, AguiMessage, AguiToolMessage, AguiUserMessage


class HistoryMismatch(AntiphonError):
    """Raised when a client's history differs from the saved conversation."""


@dataclass(frozen=True, slots=True)
class NewMessages:
    """The new part of a client's messages: results of its own tools, and what the user said."""

    results: tuple[ToolResult, ...] = ()
    said: tuple[UserPart, ...] = ()


@dataclass(slots=True)
class _Segment:
    """Consecutive messages of one side: user parts, or text and calls of the model."""

    said: list[UserPart] = field(default_factory=list[UserPart])
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
    messages: Sequence[AguiMessage], ours: Conversation, is_unfinished: Callable[[str], bool]
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
            "this thread is not what is written down here: it went on elsewhere, or was changed; what is written down"
            " is in the snapshot, from which the next run can go on"
        )
    waiting = {call.id for call in ours.open_calls}
    answers = [each.result() for each in messages if isinstance(each, AguiToolMessage)]
    return NewMessages(tuple(each for each in answers if each.call_id in waiting), tuple(said))


def _new_user_parts(mine: list[_Segment], messages: Sequence[AguiMessage]) -> list[UserPart] | None:
    """Return the user parts after the known messages; `None` if the messages begin differently."""
    theirs = _segments_of_messages(messages)
    if not _starts_with(theirs, mine):
        return None
    known = len(mine[-1].said) if mine and mine[-1].is_users else 0
    rest = theirs[len(mine) - bool(known) :]
    return [part for each in rest for part in each.said][known:] if all(each.is_users for each in rest) else None


def _drop_unfinished(messages: Sequence[AguiMessage], is_unfinished: Callable[[str], bool]) -> list[AguiMessage]:
    return [each for each in messages if each.role != "assistant" or not is_unfinished(each.id)]


def import_thread(
    messages: Sequence[AguiMessage], system: str, is_unfinished: Callable[[str], bool]
) -> tuple[Conversation, NewMessages]:
    """Build a conversation from the messages of an unknown thread; the last user messages count as new."""
    messages = _drop_unfinished(messages, is_unfinished)
    last = len(messages)
    while last and isinstance(messages[last - 1], AguiUserMessage):
        last -= 1
    conversation = Conversation(system)
    try:
        for each in messages[:last]:
            if isinstance(each, AguiUserMessage):
                conversation.add_user(each.parts())
            elif isinstance(each, AguiAssistantMessage):
                words = [Text(each.content)] if each.content and each.content.strip() else []
                conversation.add_assistant([*words, *each.calls()])
            elif isinstance(each, AguiToolMessage):
                conversation.add_tool_results([each.result()])
        parts = [part for each in messages[last:] if isinstance(each, AguiUserMessage) for part in each.parts()]
        if parts:
            Conversation().add_user(parts)
    except (PairingError, ContentError) as error:
        raise OptionError(f"these messages are no conversation: {error}") from None
    return conversation, NewMessages((), tuple(parts))


def conversation_to_agui(conversation: Conversation, name: str) -> list[dict[str, Any]]:
    """Convert a conversation to AG-UI messages."""
    found: list[dict[str, Any]] = []
    for number, turn in enumerate(conversation.turns):
        id = f"{name}.turn{number}"
        if isinstance(turn, UserTurn):
            if turn.visible_parts:
                found.append({"id": id, "role": "user", "content": _user_content_json(turn)})
            continue
        calls = [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments_json}}
            for each in turn.calls
        ]
        words = {"content": turn.text} if turn.text else {}
        found.append({"id": id, "role": "assistant", **words, **({"toolCalls": calls} if calls else {})})
        found += [_result_json(f"{id}.{each.call_id}", each) for each in turn.results]
    return found


def _user_content_json(turn: UserTurn) -> str | list[dict[str, Any]]:
    """Return the content of a user turn, so that it comes back in the same parts."""
    parts = [each for part in turn.parts if (each := _to_plain_part(part)) is not None]
    only = parts[0] if len(parts) == 1 else None
    return only.text if isinstance(only, Text) else [_part_json(each) for each in parts]


def agui_content_json(parts: Sequence[Any]) -> str | list[dict[str, Any]]:
    """Convert parts to text, or to a list of parts if there are images."""
    if not any(isinstance(each, Image) for each in parts):
        return "\n".join(each.text for each in parts)
    return [_part_json(each) for each in parts]


def _part_json(part: Any) -> dict[str, Any]:
    if not isinstance(part, Image):
        return {"type": "text", "text": part.text}
    if part.url:
        return {"type": "image", "source": {"type": "url", "value": part.url}}
    return {"type": "image", "source": {"type": "data", "value": part.data, "mimeType": part.media_type}}


def _result_json(id: str, result: ToolResult) -> dict[str, Any]:
    failed = {"error": result.text or "it failed"} if result.is_error else {}
    return {
        "id": id, "role": "tool", "toolCallId": result.call_id, "content": agui_content_json(result.parts), **failed,
    }  # fmt: skip


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
                _append_segment(
                    found, _Segment(said=[each for part in turn.parts if (each := _to_plain_part(part)) is not None])
                )
        else:
            _append_segment(found, _Segment(words=turn.text, calls=[each.id for each in turn.calls]))
    return found


def _segments_of_messages(messages: Sequence[AguiMessage]) -> list[_Segment]:
    found: list[_Segment] = []
    for each in messages:
        if isinstance(each, AguiUserMessage):
            _append_segment(found, _Segment(said=each.parts()))
        elif isinstance(each, AguiAssistantMessage):
            _append_segment(
                found,
                _Segment(
                    words=each.content or "", calls=[normalize_call_id(call.id) for call in each.tool_calls or ()]
                ),
            )
    return found


def _append_segment(found: list[_Segment], each: _Segment) -> None:
    last = found[-1] if found else None
    if last is None or last.is_users != each.is_users:
        found.append(each)
        return
    last.said += each.said
    last.words += f" {each.words}"
    last.calls += each.calls


def _to_plain_part(part: UserPart) -> UserPart | None:
    """Return a user part as a client would send it back; `None` for notes of the program."""
    if isinstance(part, Note | Update):
        return None
    if isinstance(part, Image):
        return Image(part.data, part.media_type, part.url)
    text = part.attributed_text if isinstance(part, Chat) else part.text
    return Text(text) if text else None


def find_last_reply(conversation: Conversation) -> AssistantTurn | None:
    """Return the last assistant turn, which may have calls that the client has not received."""
    return next((turn for turn in reversed(conversation.turns[-2:]) if isinstance(turn, AssistantTurn)), None)
