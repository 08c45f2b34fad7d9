"""Turns: those of the user, and those of the model together with the results of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from antiphon._base.json import sanitize_unicode
from antiphon.conversation.attribution import HUMAN_AUTHOR, escape_human_text, parse_attributions
from antiphon.conversation.derived import DerivedValues
from antiphon.conversation.media import File, Media, MediaPart
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Note,
    OpaquePart,
    Text,
    ToolCall,
    ToolResult,
    Update,
    UserPart,
    extract_answer_text,
    extract_reasoning,
)
from antiphon.errors import ContentError

#: A part of a user turn as models see it.
AttributedPart = Text | MediaPart | OpaquePart | Note | Update


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The messages of people and other agents between two turns of the model."""

    parts: tuple[UserPart, ...]
    #: The parts as models see them, with attributions that no author can imitate.
    said: tuple[AttributedPart, ...] = field(init=False, compare=False, repr=False)
    #: A turn never changes, so nothing here gets stale.
    derived: DerivedValues = field(default_factory=DerivedValues, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", tuple([_attribute_part(part) for part in self.parts]))

    @property
    def visible_parts(self) -> tuple[Text | MediaPart | Chat | OpaquePart, ...]:
        """The parts from people and other agents, without the program's notes and updates."""
        return tuple([part for part in self.parts if not isinstance(part, Note | Update)])

    @property
    def text(self) -> str:
        """All text from people and other agents as models see it, including attributions."""
        return "\n\n".join([part.text for part in self.said if isinstance(part, Text)])


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """The parts of the model's answer in order, with the results of its calls in call order."""

    parts: tuple[AssistantPart, ...]
    results: tuple[ToolResult, ...] = ()
    #: The tool calls, answered or not.
    calls: tuple[ToolCall, ...] = field(init=False, compare=False, repr=False)
    #: The calls without a result.
    open_calls: tuple[ToolCall, ...] = field(init=False, compare=False, repr=False)
    derived: DerivedValues = field(default_factory=DerivedValues, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Computed once, because every step needs it and a turn is immutable.
        calls = opened = tuple([part for part in self.parts if isinstance(part, ToolCall)])
        if self.results:
            answered = {result.call_id for result in self.results}
            opened = tuple([call for call in calls if call.id not in answered])
        object.__setattr__(self, "calls", calls)
        object.__setattr__(self, "open_calls", opened)

    @property
    def text(self) -> str:
        """The text of the answer, without reasoning and calls."""
        return extract_answer_text(self.parts)

    @property
    def reasoning(self) -> str:
        """The readable text of the model's reasoning."""
        return extract_reasoning(self.parts)

    def answered(self, results: Iterable[ToolResult]) -> AssistantTurn:
        """Return the turn with these results added. The caller has checked that they belong here."""
        by_id = {result.call_id: result for result in (*self.results, *results)}
        return AssistantTurn(self.parts, tuple([by_id[call.id] for call in self.calls if call.id in by_id]))


Turn = UserTurn | AssistantTurn


def _attribute_part(part: UserPart) -> AttributedPart:
    match part:
        case Media() | File() | Note() | Update():
            return part
        case Chat():
            return Text(part.attributed_text)
        case Text() | OpaquePart():
            text = escape_human_text(part.text)
            if text == part.text:
                return part
            # Drop `native`: the provider's own form of the text has no attribution.
            return Text(text) if isinstance(part, Text) else replace(part, text=text)


def split_attributed_part(part: UserPart | AssistantPart) -> tuple[UserPart | AssistantPart, ...]:
    """Split a part of an imported history by its attributions, and return one part per author."""
    if not isinstance(part, Text) or "[Chat from @" not in part.text:
        return (part,)
    pieces = [_make_authored_part(author, text) for author, text in parse_attributions(part.text) if text.strip()]
    # Accept the split only if it produces exactly the same text again.
    return tuple(pieces) if UserTurn(tuple(pieces)).text == part.text else (part,)


def _make_authored_part(author: str, text: str) -> Text | Chat:
    return Text(text) if author.lower() == HUMAN_AUTHOR else Chat(author, text)


_MESSAGES_HINT = (
    "a list of messages is a history: write `Session(…, conversation=…)`, and make it with "
    "`Conversation().add_user(…)` and `add_assistant(…)`, or read a file with `antiphon.formats.load`"
)


def normalize_user_parts(
    content: str | UserPart | Sequence[str | UserPart], author: str | None
) -> tuple[UserPart, ...]:
    """Return the content of a user turn as parts. Plain texts are attributed to `author`."""
    human = author is None or sanitize_unicode(author).removeprefix("@") == HUMAN_AUTHOR.removeprefix("@")
    parts: list[UserPart] = []
    given: Sequence[object] = [content] if isinstance(content, str) or not isinstance(content, Sequence) else content
    for part in given:
        if isinstance(part, str):
            part = Text(part)
        if isinstance(part, Text) and not human:
            part = Chat(author or "", part.text)
        if not isinstance(part, UserPart):
            hint = f"; {_MESSAGES_HINT}" if isinstance(part, dict) else ""
            raise ContentError(f"a user turn holds text, images, files and chat, not {type(part).__name__}{hint}")
        if isinstance(part, Text | Chat) and not part.text.strip():
            raise ContentError("the text is empty: no provider takes empty text")
        parts.append(part)
    if not parts:
        raise ContentError("a user turn needs text, an image or a file")
    return tuple(parts)


def normalize_assistant_parts(
    content: str | AssistantPart | Sequence[str | AssistantPart],
) -> tuple[AssistantPart, ...]:
    """Return the content of an assistant turn as parts."""
    parts: list[AssistantPart] = []
    given: Sequence[object] = [content] if isinstance(content, str) or not isinstance(content, Sequence) else content
    for part in given:
        if isinstance(part, str):
            part = Text(part)
        if not isinstance(part, AssistantPart):
            raise ContentError(f"an assistant turn holds text, reasoning and calls, not {type(part).__name__}")
        parts.append(part)
    return tuple(parts)
