"""Parse AG-UI requests, and convert their parts to parts of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DataSource,
    DeveloperMessage,
    ImagePart,
    ResumeEntry,
    RunAgentInput,
    SystemMessage,
    TextPart,
    Tool,
    ToolMessage,
    UrlSource,
)
from pydantic import ValidationError

from antiphon._base.json_access import as_object
from antiphon.conversation import Image, Text, ToolCall, ToolResult, ToolSpec
from antiphon.conversation.parts import normalize_call_id
from antiphon.errors import ContentError, OptionError
from antiphon.tools.execution import value_to_text

#: The lengths that the names of threads and runs may have in the journal.
_MAX_THREAD_ID, _MAX_RUN_ID = 200, 150
#: JSON schemas of the answers to interrupts: an approval, and a text.
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
ANSWER_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


def parse_run_input(data: dict[str, Any]) -> RunAgentInput:
    """Parse the input of a run; raise `OptionError` if it is invalid."""
    try:
        given = RunAgentInput.model_validate(data, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(each) for each in first["loc"]) or "the input"
        raise OptionError(
            f"`{where}` is not valid in AG-UI 1.0: {first['msg'][:1].lower()}{first['msg'][1:]}"
        ) from None
    for name, id, largest in (("threadId", given.thread_id, _MAX_THREAD_ID), ("runId", given.run_id, _MAX_RUN_ID)):
        if not 0 < len(id) <= largest:
            raise OptionError(f"`{name}` has {len(id)} characters; use 1 to {largest}")
    major = (given.protocol_version or "1").partition(".")[0]
    if major.isdecimal() and int(major) > 1:
        raise OptionError(f"AG-UI {given.protocol_version} is not supported; send a request of AG-UI 1.0")
    return given


@dataclass(frozen=True, slots=True)
class ThreadWishes:
    """The wishes of a client besides its messages, from `forwardedProps.antiphon`.

    The `action` is `retry`, `undo` or `compact`, with a `focus`; `model` is another model for this thread.
    """

    action: str = ""
    focus: str = ""
    model: str = ""


def parse_wishes(given: RunAgentInput) -> ThreadWishes:
    """Parse what a client wants besides its messages."""
    wanted = as_object(as_object(given.forwarded_props).get("antiphon"))
    names = [each.name for each in fields(ThreadWishes)]
    if wrong := [name for name, value in wanted.items() if name not in names or not isinstance(value, str)]:
        raise OptionError(f"`forwardedProps.antiphon.{wrong[0]:.60}` must be a string; known: {', '.join(names)}")
    wishes = ThreadWishes(**wanted)
    if wishes.action not in ("", "retry", "undo", "compact"):
        raise OptionError(f"`action` must be retry, undo or compact, not {wishes.action[:60]!r}")
    return wishes


def build_system_prompt(given: RunAgentInput) -> str:
    """Join the system messages and the context of a request."""
    texts = [each.content for each in given.messages if isinstance(each, SystemMessage | DeveloperMessage)]
    return "\n\n".join([*texts, *(f"{each.description}: {each.value}" for each in given.context or ())])


def convert_content(content: str | Sequence[ContentPart]) -> list[Text | Image]:
    """Convert the content of a message; unsupported parts are dropped, as the protocol requires."""
    if isinstance(content, str):
        return [Text(content)]
    return [each for part in content if (each := _convert_part(part)) is not None]


def convert_calls(message: AssistantMessage) -> list[ToolCall]:
    """Convert the tool calls of a message."""
    return [ToolCall.read(each.id, each.function.name, each.function.arguments) for each in message.tool_calls or ()]


def convert_result(message: ToolMessage) -> ToolResult:
    """Convert a tool message to a tool result; a failure has text only."""
    id, parts = normalize_call_id(message.tool_call_id), convert_content(message.content)
    texts = [each.text for each in parts if isinstance(each, Text)]
    if message.error is not None:
        return ToolResult(id, "\n".join([message.error, *texts]), is_error=True)
    return ToolResult(id, "\n".join(texts) if len(texts) == len(parts) else tuple(parts))


def convert_tool(given: Tool) -> ToolSpec:
    """Convert a client's tool to a specification for the model."""
    parameters = as_object(given.parameters)
    if given.parameters is not None and parameters is not given.parameters:
        raise OptionError(f"`parameters` of `{given.name}` is not a JSON schema; send an object")
    return ToolSpec(given.name, given.description, parameters or {"type": "object", "properties": {}})


def resume_answer_json(about: str, entry: ResumeEntry) -> dict[str, Any]:
    """Convert the answer to an interrupt to the page's format; a cancelled one denies or answers nothing."""
    payload = as_object(entry.payload)
    if entry.status == "cancelled":
        return {"allowed": False, "text": "nobody decided it"} if about == "approval" else {"text": ""}
    if about == "approval":
        approved, reason = payload.get("approved"), payload.get("reason", "")
        if not isinstance(approved, bool) or not isinstance(reason, str):
            raise _wrong_answer("an approval", APPROVAL_SCHEMA, entry)
        return {"allowed": approved, "text": "" if approved else reason}
    if not isinstance(payload.get("answer"), str):
        raise _wrong_answer("a question", ANSWER_SCHEMA, entry)
    return {"text": payload["answer"]}


def _wrong_answer(asked: str, schema: dict[str, Any], entry: ResumeEntry) -> OptionError:
    expected, given = (value_to_text(each)[:200] for each in (schema, entry.payload))
    return OptionError(f"the answer to {asked} must match {expected}; you sent {given}")


def _convert_part(part: ContentPart) -> Text | Image | None:
    if isinstance(part, TextPart):
        return Text(part.text)
    try:
        match part:
            case ImagePart(source=UrlSource(value=url)):
                return Image(url=url)
            case ImagePart(source=DataSource(value=data, mime_type=media_type)):
                return Image(data=data, media_type=media_type)
            case _:
                return None
    except ContentError as error:
        raise OptionError(str(error)) from None
