"""Parse and validate the input of an AG-UI client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from antiphon._base.json_access import as_object
from antiphon.conversation import Image, Text, ToolCall, ToolResult, ToolSpec, UserPart
from antiphon.conversation.parts import normalize_call_id
from antiphon.errors import ContentError, OptionError
from antiphon.tools.execution import value_to_text

#: JSON schemas of the answers to interrupts: an approval, and a text.
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
ANSWER_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


class _AguiModel(BaseModel):
    # Newer clients may send more fields.
    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)


class AguiSource(_AguiModel):
    """The location of a part's bytes."""

    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None


class AguiPart(_AguiModel):
    """A part of a user message or of a tool result."""

    type: Literal["text", "image", "audio", "video", "document"]
    text: str = ""
    source: AguiSource | None = None


class AguiFunction(_AguiModel):
    """The called function and its arguments as JSON text."""

    name: str
    arguments: str


class AguiToolCall(_AguiModel):
    """A tool call of the model."""

    id: str
    function: AguiFunction


class AguiSystemMessage(_AguiModel):
    """A message of the system or of the application's developer."""

    id: str
    role: Literal["system", "developer"]
    content: str


class AguiUserMessage(_AguiModel):
    """A message of the user."""

    id: str
    role: Literal["user"]
    content: str | list[AguiPart]

    def parts(self) -> list[UserPart]:
        """Convert the content to user parts; unsupported parts are dropped, as the protocol requires."""
        return _convert_parts(self.content)


class AguiAssistantMessage(_AguiModel):
    """A message of the model."""

    id: str
    role: Literal["assistant"]
    content: str | None = None
    tool_calls: list[AguiToolCall] | None = None

    def calls(self) -> list[ToolCall]:
        """Convert the tool calls of the message."""
        return [ToolCall.read(each.id, each.function.name, each.function.arguments) for each in self.tool_calls or ()]


class AguiToolMessage(_AguiModel):
    """The result of a tool."""

    id: str
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[AguiPart]
    error: str | None = None

    def result(self) -> ToolResult:
        """Convert it to a tool result; a failure has text only."""
        parts = _convert_parts(self.content)
        texts = [each.text for each in parts if isinstance(each, Text)]
        if self.error is not None:
            return ToolResult(normalize_call_id(self.tool_call_id), "\n".join([self.error, *texts]), is_error=True)
        known = [each for each in parts if isinstance(each, Text | Image)]
        only_text = all(isinstance(each, Text) for each in known)
        return ToolResult(normalize_call_id(self.tool_call_id), "\n".join(texts) if only_text else tuple(known))


class AguiDisplayMessage(_AguiModel):
    """A message shown to people only: reasoning or an activity. It is no part of the conversation."""

    id: str
    role: Literal["reasoning", "activity"]


AguiMessage = Annotated[
    AguiSystemMessage | AguiUserMessage | AguiAssistantMessage | AguiToolMessage | AguiDisplayMessage,
    Field(discriminator="role"),
]


class AguiTool(_AguiModel):
    """A tool that the client runs."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None

    def spec(self) -> ToolSpec:
        """Convert it to a tool specification for the model."""
        return ToolSpec(self.name, self.description, self.parameters or {"type": "object", "properties": {}})


class AguiContextItem(_AguiModel):
    """Context information for the model."""

    description: str
    value: str


class AguiResumeEntry(_AguiModel):
    """The answer to one interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class AguiRunInput(_AguiModel):
    """The input of an AG-UI run request."""

    thread_id: str = Field(min_length=1, max_length=200)
    run_id: str = Field(min_length=1, max_length=150)
    protocol_version: str | None = None
    messages: list[AguiMessage]
    tools: list[AguiTool] | None = None
    context: list[AguiContextItem] | None = None
    resume: list[AguiResumeEntry] | None = None

    @property
    def system(self) -> str:
        """The system prompt: system messages and context."""
        told = [each.content for each in self.messages if isinstance(each, AguiSystemMessage)]
        return "\n\n".join([*told, *(f"{each.description}: {each.value}" for each in self.context or ())])


def parse_run_input(data: dict[str, Any]) -> AguiRunInput:
    """Parse the input of a run; raise `OptionError` if it is invalid."""
    try:
        given = AguiRunInput.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(each) for each in first["loc"]) or "the input"
        raise OptionError(f"`{where}` is not as AG-UI wants it: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    major = (given.protocol_version or "1").partition(".")[0]
    if major.isdecimal() and int(major) > 1:
        raise OptionError(f"version {given.protocol_version} of AG-UI is not known here; this is 1.0")
    return given


def resume_answer_json(about: str, entry: AguiResumeEntry) -> dict[str, Any]:
    """Convert the answer to an interrupt to the page's format; a cancelled one denies or answers nothing."""
    payload, cancelled = as_object(entry.payload), entry.status == "cancelled"
    if cancelled:
        return {"allowed": False, "text": "nobody decided it"} if about == "approval" else {"text": ""}
    if about == "approval":
        approved, reason = payload.get("approved"), payload.get("reason", "")
        if not isinstance(approved, bool) or not isinstance(reason, str):
            raise OptionError(
                f"an approval is answered by {_truncated_json(APPROVAL_SCHEMA)}, not by"
                f" {_truncated_json(entry.payload)}"
            )
        return {"allowed": approved, "text": "" if approved else reason}
    if not isinstance(payload.get("answer"), str):
        raise OptionError(
            f"a question is answered by {_truncated_json(ANSWER_SCHEMA)}, not by {_truncated_json(entry.payload)}"
        )
    return {"text": payload["answer"]}


def _truncated_json(value: object) -> str:
    return value_to_text(value)[:200]


def _convert_parts(content: str | Sequence[AguiPart]) -> list[UserPart]:
    if isinstance(content, str):
        return [Text(content)]
    return [each for part in content if (each := _convert_part(part)) is not None]


def _convert_part(part: AguiPart) -> UserPart | None:
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
