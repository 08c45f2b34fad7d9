"""Turns: the user's, and the model's together with the results of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from antiphon._json import clean
from antiphon.conversation.attribution import HUMAN, read_attributed, unattributed
from antiphon.conversation.derived import DerivedValues
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Foreign,
    Image,
    Note,
    Text,
    ToolCall,
    ToolResult,
    Update,
    UserPart,
    reasoning_of,
    text_of,
)
from antiphon.errors import ContentError


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What people and other agents said before the model speaks next."""

    parts: tuple[UserPart, ...]
    #: A turn never changes, so nothing here gets stale.
    derived: DerivedValues = field(default_factory=DerivedValues, init=False, compare=False, repr=False)

    @property
    def said(self) -> tuple[Text | Image | Foreign | Note | Update, ...]:
        """The parts as models are to see them: nobody can be taken for somebody else."""
        return tuple([_said(part) for part in self.parts])

    @property
    def visible_parts(self) -> tuple[Text | Image | Chat | Foreign, ...]:
        """The parts that people and other agents said, without the program's own notes and updates."""
        return tuple([part for part in self.parts if not isinstance(part, Note | Update)])

    @property
    def text(self) -> str:
        """All text that people and other agents said, as models see it, chat with its attribution."""
        return "\n\n".join([part.text for part in self.said if isinstance(part, Text)])


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """What the model gave, in its order, with the results of its calls in the order of the calls."""

    parts: tuple[AssistantPart, ...]
    results: tuple[ToolResult, ...] = ()
    #: The tool calls, answered or not.
    calls: tuple[ToolCall, ...] = field(init=False, compare=False, repr=False)
    derived: DerivedValues = field(default_factory=DerivedValues, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Asked for at every step, and a turn never changes.
        object.__setattr__(self, "calls", tuple([part for part in self.parts if isinstance(part, ToolCall)]))

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        if not self.results:
            return self.calls
        if len(self.results) == len(self.calls):
            return ()
        answered = {result.call_id for result in self.results}
        return tuple([call for call in self.calls if call.id not in answered])

    @property
    def text(self) -> str:
        """The text of the answer, without reasoning and calls."""
        return text_of(self.parts)

    @property
    def reasoning(self) -> str:
        """The readable part of the model's thinking."""
        return reasoning_of(self.parts)

    def answered(self, results: Iterable[ToolResult]) -> AssistantTurn:
        """The turn with these results added; the caller has checked that they belong here."""
        by_id = {result.call_id: result for result in (*self.results, *results)}
        return AssistantTurn(self.parts, tuple([by_id[call.id] for call in self.calls if call.id in by_id]))


Turn = UserTurn | AssistantTurn


def _said(part: UserPart) -> Text | Image | Foreign | Note | Update:
    match part:
        case Image() | Note() | Update():
            return part
        case Chat():
            return Text(part.attributed)
        case Text() | Foreign():
            text = unattributed(part.text)
            if text == part.text:
                return part
            # The provider's own form of a text would show it unmarked.
            return Text(text) if isinstance(part, Text) else replace(part, text=text)


def heard(part: UserPart | AssistantPart) -> tuple[UserPart | AssistantPart, ...]:
    """What stands in a history as models saw it, with each piece given back to whoever said it."""
    if not isinstance(part, Text) or "[Chat from @" not in part.text:
        return (part,)
    pieces = [_piece(author, text) for author, text in read_attributed(part.text) if text.strip()]
    # Only what would be written so again was written so.
    return tuple(pieces) if UserTurn(tuple(pieces)).text == part.text else (part,)


def _piece(author: str, text: str) -> Text | Chat:
    return Text(text) if author.lower() == HUMAN else Chat(author, text)


def user_parts(content: str | UserPart | Sequence[str | UserPart], author: str | None) -> tuple[UserPart, ...]:
    """What a user turn is given, as parts; `author` speaks the plain texts in it."""
    human = author is None or clean(author).removeprefix("@") == HUMAN.removeprefix("@")
    parts: list[UserPart] = []
    for part in _listed(content):
        if isinstance(part, str):
            part = Text(part)
        if isinstance(part, Text) and not human:
            part = Chat(author or "", part.text)
        if not isinstance(part, UserPart):
            raise ContentError(f"a user turn holds text, images and chat, not {type(part).__name__}")
        if isinstance(part, Text | Chat) and not part.text.strip():
            raise ContentError("the text is empty: no provider takes empty text")
        parts.append(part)
    if not parts:
        raise ContentError("a user turn needs text or an image")
    return tuple(parts)


def assistant_parts(content: str | AssistantPart | Sequence[str | AssistantPart]) -> tuple[AssistantPart, ...]:
    """What an assistant turn is given, as parts."""
    parts: list[AssistantPart] = []
    for part in _listed(content):
        if isinstance(part, str):
            part = Text(part)
        if not isinstance(part, AssistantPart):
            raise ContentError(f"an assistant turn holds text, reasoning and calls, not {type(part).__name__}")
        parts.append(part)
    return tuple(parts)


def _listed(content: object) -> Sequence[object]:
    return (
        cast(Sequence[object], content)
        if not isinstance(content, str) and isinstance(content, Sequence)
        else (content,)
    )
