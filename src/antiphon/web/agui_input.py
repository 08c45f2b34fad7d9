"""What an AG-UI client sends, read and checked: what is wrong with it is told in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from antiphon._shape import obj
from antiphon.conversation import Image, Text, ToolCall, ToolResult, ToolSpec, UserPart
from antiphon.conversation.parts import legal_id
from antiphon.errors import ContentError, OptionError
from antiphon.tools.execution import as_text

#: Whether somebody allows a call, and what he answers: the shapes of what comes back for an interrupt.
APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
ANSWER: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


class _Shape(BaseModel):
    # What a newer client sends besides is no mistake of it.
    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)


class Source(_Shape):
    """Where the bytes of a part are."""

    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None


class Part(_Shape):
    """A part of what somebody said, or of what a tool returned."""

    type: Literal["text", "image", "audio", "video", "document"]
    text: str = ""
    source: Source | None = None


class Function(_Shape):
    """What is called, and with what, as JSON text."""

    name: str
    arguments: str


class Call(_Shape):
    """A call of the model's."""

    id: str
    function: Function


class Told(_Shape):
    """What the system, or who made the application, says."""

    id: str
    role: Literal["system", "developer"]
    content: str


class User(_Shape):
    """What somebody said."""

    id: str
    role: Literal["user"]
    content: str | list[Part]

    def parts(self) -> list[UserPart]:
        """As the parts of a turn; a part that no model here can use is left out, as the protocol wants it."""
        return _parts(self.content)


class Assistant(_Shape):
    """What the model said."""

    id: str
    role: Literal["assistant"]
    content: str | None = None
    tool_calls: list[Call] | None = None

    def calls(self) -> list[ToolCall]:
        """Its calls."""
        return [ToolCall.read(each.id, each.function.name, each.function.arguments) for each in self.tool_calls or ()]


class Answered(_Shape):
    """What a tool answered."""

    id: str
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[Part]
    error: str | None = None

    def result(self) -> ToolResult:
        """As a result; a failure is told in words alone."""
        parts = _parts(self.content)
        texts = [each.text for each in parts if isinstance(each, Text)]
        if self.error is not None:
            return ToolResult(legal_id(self.tool_call_id), "\n".join([self.error, *texts]), is_error=True)
        known = [each for each in parts if isinstance(each, Text | Image)]
        only_text = all(isinstance(each, Text) for each in known)
        return ToolResult(legal_id(self.tool_call_id), "\n".join(texts) if only_text else tuple(known))


class Aside(_Shape):
    """What is shown to people and is no part of the conversation: thinking, and activities."""

    id: str
    role: Literal["reasoning", "activity"]


Message = Annotated[Told | User | Assistant | Answered | Aside, Field(discriminator="role")]


class Offered(_Shape):
    """A tool that the client runs."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None

    def spec(self) -> ToolSpec:
        """As a model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters or {"type": "object", "properties": {}})


class Fact(_Shape):
    """Something that the model should know."""

    description: str
    value: str


class Resume(_Shape):
    """What is said to an interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunInput(_Shape):
    """All that a client sends to have a model answer."""

    thread_id: str = Field(min_length=1, max_length=200)
    run_id: str = Field(min_length=1, max_length=150)
    protocol_version: str | None = None
    messages: list[Message]
    tools: list[Offered] | None = None
    context: list[Fact] | None = None
    resume: list[Resume] | None = None

    @property
    def system(self) -> str:
        """What the model is told before all else."""
        told = [each.content for each in self.messages if isinstance(each, Told)]
        return "\n\n".join([*told, *(f"{each.description}: {each.value}" for each in self.context or ())])


def read(data: dict[str, Any]) -> RunInput:
    """What was sent, as values."""
    try:
        given = RunInput.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(each) for each in first["loc"]) or "the input"
        raise OptionError(f"`{where}` is not as AG-UI wants it: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    major = (given.protocol_version or "1").partition(".")[0]
    if major.isdecimal() and int(major) > 1:
        raise OptionError(f"version {given.protocol_version} of AG-UI is not known here; this is 1.0")
    return given


def answer_json(about: str, entry: Resume) -> dict[str, Any]:
    """What somebody said to an interrupt, as the page takes it; one who gives it up allows nothing and says nothing."""
    payload, cancelled = obj(entry.payload), entry.status == "cancelled"
    if cancelled:
        return {"allowed": False, "text": "nobody decided it"} if about == "approval" else {"text": ""}
    if about == "approval":
        approved, reason = payload.get("approved"), payload.get("reason", "")
        if not isinstance(approved, bool) or not isinstance(reason, str):
            raise OptionError(f"an approval is answered by {_shown(APPROVAL)}, not by {_shown(entry.payload)}")
        return {"allowed": approved, "text": "" if approved else reason}
    if not isinstance(payload.get("answer"), str):
        raise OptionError(f"a question is answered by {_shown(ANSWER)}, not by {_shown(entry.payload)}")
    return {"text": payload["answer"]}


def _shown(value: object) -> str:
    return as_text(value)[:200]


def _parts(content: str | Sequence[Part]) -> list[UserPart]:
    if isinstance(content, str):
        return [Text(content)]
    return [each for part in content if (each := _part(part)) is not None]


def _part(part: Part) -> UserPart | None:
    if part.type == "text":
        return Text(part.text)
    source = part.source
    if part.type != "image" or source is None or source.type == "file":
        return None
    try:
        if source.type == "url":
            return Image(url=source.value)
        return Image(data=source.value, media_type=source.mime_type or "image/png")
    except ContentError as error:
        raise OptionError(str(error)) from None
