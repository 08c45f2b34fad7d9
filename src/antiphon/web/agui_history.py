"""A thread and what its client has of it: what we have is the truth, and what the client has besides is new."""

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
from antiphon.conversation.parts import legal_id
from antiphon.errors import AntiphonError, ContentError, OptionError, PairingError
from antiphon.web.agui_input import Answered, Assistant, Message, User


class Differs(AntiphonError):
    """A client has another history than we."""


@dataclass(frozen=True, slots=True)
class New:
    """What a client says that we did not know: results of its own tools, and what the user said then."""

    results: tuple[ToolResult, ...] = ()
    said: tuple[UserPart, ...] = ()


@dataclass(slots=True)
class _Stretch:
    """What one side said before the other did: parts of the user, or words and calls of the model."""

    said: list[UserPart] = field(default_factory=list[UserPart])
    words: str = ""
    calls: list[str] = field(default_factory=list[str])

    @property
    def is_users(self) -> bool:
        return bool(self.said)

    def is_same(self, other: _Stretch) -> bool:
        # Where a text is split or where it ends is not the same for all who put it together.
        words = self.words.split() == other.words.split()
        return self.said == other.said and words and self.calls == other.calls


def new_in(messages: Sequence[Message], ours: Conversation, is_unfinished: Callable[[str], bool]) -> New:
    """What is new to us; messages that a run of ours began to say and did not finish are nobody's history."""
    mine = _of_turns(ours)
    said = _said_after(mine, messages)
    if said is None:
        said = _said_after(mine, _finished(messages, is_unfinished))
    if said is None:
        raise Differs(
            "this thread is not what is written down here: it went on elsewhere, or was changed; what is written down"
            " is in the snapshot, from which the next run can go on"
        )
    waiting = {call.id for call in ours.open_calls}
    answers = [each.result() for each in messages if isinstance(each, Answered)]
    return New(tuple(each for each in answers if each.call_id in waiting), tuple(said))


def _said_after(mine: list[_Stretch], messages: Sequence[Message]) -> list[UserPart] | None:
    """What the user says after all that is known; nothing, where that is not how the messages begin."""
    theirs = _of_messages(messages)
    if not _begins_with(theirs, mine):
        return None
    known = len(mine[-1].said) if mine and mine[-1].is_users else 0
    rest = theirs[len(mine) - bool(known) :]
    return [part for each in rest for part in each.said][known:] if all(each.is_users for each in rest) else None


def _finished(messages: Sequence[Message], is_unfinished: Callable[[str], bool]) -> list[Message]:
    return [each for each in messages if each.role != "assistant" or not is_unfinished(each.id)]


def taken(messages: Sequence[Message], system: str, is_unfinished: Callable[[str], bool]) -> tuple[Conversation, New]:
    """The history of a thread that is not known here, by the rules of conversations; what was said last is new."""
    messages = _finished(messages, is_unfinished)
    last = len(messages)
    while last and isinstance(messages[last - 1], User):
        last -= 1
    conversation = Conversation(system)
    try:
        for each in messages[:last]:
            if isinstance(each, User):
                conversation.add_user(each.parts())
            elif isinstance(each, Assistant):
                words = [Text(each.content)] if each.content and each.content.strip() else []
                conversation.add_assistant([*words, *each.calls()])
            elif isinstance(each, Answered):
                conversation.add_tool_results([each.result()])
        parts = [part for each in messages[last:] if isinstance(each, User) for part in each.parts()]
        if parts:
            Conversation().add_user(parts)
    except (PairingError, ContentError) as error:
        raise OptionError(f"these messages are no conversation: {error}") from None
    return conversation, New((), tuple(parts))


def messages_json(conversation: Conversation, name: str) -> list[dict[str, Any]]:
    """A conversation as AG-UI writes it."""
    found: list[dict[str, Any]] = []
    for number, turn in enumerate(conversation.turns):
        id = f"{name}.turn{number}"
        if isinstance(turn, UserTurn):
            if turn.visible_parts:
                found.append({"id": id, "role": "user", "content": _said_json(turn)})
            continue
        calls = [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments_json}}
            for each in turn.calls
        ]
        words = {"content": turn.text} if turn.text else {}
        found.append({"id": id, "role": "assistant", **words, **({"toolCalls": calls} if calls else {})})
        found += [_result_json(f"{id}.{each.call_id}", each) for each in turn.results]
    return found


def _said_json(turn: UserTurn) -> str | list[dict[str, Any]]:
    """What somebody said, so that it comes back in the same parts."""
    parts = [each for part in turn.parts if (each := _plain(part)) is not None]
    only = parts[0] if len(parts) == 1 else None
    return only.text if isinstance(only, Text) else [_part_json(each) for each in parts]


def content_json(parts: Sequence[Any]) -> str | list[dict[str, Any]]:
    """Text, or parts where there are images in it."""
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
        "id": id, "role": "tool", "toolCallId": result.call_id, "content": content_json(result.parts), **failed,
    }  # fmt: skip


def _begins_with(theirs: list[_Stretch], mine: list[_Stretch]) -> bool:
    if len(theirs) < len(mine):
        return False
    if not mine:
        return True
    *before, last = mine
    there = theirs[len(before)]
    same = all(each.is_same(other) for each, other in zip(theirs, before, strict=False))
    # What the user says next is added to what he said last.
    goes_on = last.is_users and there.is_users and there.said[: len(last.said)] == last.said
    return same and (goes_on or there.is_same(last))


def _of_turns(conversation: Conversation) -> list[_Stretch]:
    found: list[_Stretch] = []
    for turn in conversation.turns:
        if isinstance(turn, UserTurn):
            if turn.visible_parts:
                _add(found, _Stretch(said=[each for part in turn.parts if (each := _plain(part)) is not None]))
        else:
            _add(found, _Stretch(words=turn.text, calls=[each.id for each in turn.calls]))
    return found


def _of_messages(messages: Sequence[Message]) -> list[_Stretch]:
    found: list[_Stretch] = []
    for each in messages:
        if isinstance(each, User):
            _add(found, _Stretch(said=each.parts()))
        elif isinstance(each, Assistant):
            _add(found, _Stretch(words=each.content or "", calls=[legal_id(call.id) for call in each.tool_calls or ()]))
    return found


def _add(found: list[_Stretch], each: _Stretch) -> None:
    last = found[-1] if found else None
    if last is None or last.is_users != each.is_users:
        found.append(each)
        return
    last.said += each.said
    last.words += f" {each.words}"
    last.calls += each.calls


def _plain(part: UserPart) -> UserPart | None:
    """A part as it would come back; nothing for what the program said itself."""
    if isinstance(part, Note | Update):
        return None
    if isinstance(part, Image):
        return Image(part.data, part.media_type, part.url)
    text = part.attributed if isinstance(part, Chat) else part.text
    return Text(text) if text else None


def last_calls(conversation: Conversation) -> AssistantTurn | None:
    """The last turn of the model, which may have calls that nobody was told of."""
    return next((turn for turn in reversed(conversation.turns[-2:]) if isinstance(turn, AssistantTurn)), None)
