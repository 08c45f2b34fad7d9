"""Resources and prompts of servers as values. Their contents are those of a stranger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.conversation import Conversation, MediaPart, Text
from antiphon.errors import ContentError
from antiphon.tools.mcp.results import convert_block, convert_resource
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    import mcp_types

_MAX_CONTENT = 20_000_000


@dataclass(frozen=True, slots=True)
class McpResource:
    """A resource of a server. A `uri` with braces is a template: its variables are to be replaced."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    size: int | None = None
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class McpPrompt:
    """A prompt of a server, with the names of its arguments; `required` are those that must be given."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


def read_listed_resource(given: mcp_types.Resource | mcp_types.ResourceTemplate) -> McpResource:
    """Return a resource or a template as a value."""
    about = (given.title or given.name, given.description or "", given.mime_type or "")
    # Distinguished by their attributes: importing their classes would import the library.
    template: str | None = getattr(given, "uri_template", None)
    if template is not None:
        return McpResource(template, *about, is_template=True)
    return McpResource(getattr(given, "uri", ""), *about, size=getattr(given, "size", None))


def read_listed_prompt(given: mcp_types.Prompt) -> McpPrompt:
    """Return a prompt as a value."""
    arguments = given.arguments or []
    names, required = (each.name for each in arguments), (each.name for each in arguments if each.required)
    return McpPrompt(given.name, given.description or "", tuple(names), tuple(required))


def read_contents(server: str, uri: str, result: mcp_types.ReadResourceResult) -> tuple[Text | MediaPart, ...]:
    """Return the contents of a resource as parts of a message."""
    size = sum(len(getattr(each, "text", "") or getattr(each, "blob", "")) for each in result.contents)
    if size > _MAX_CONTENT:
        raise ToolFailure(
            f"the resource {uri!r:.200} of MCP server `{server}` has more than {_MAX_CONTENT // 1_000_000} MB, which "
            "is not read"
        )
    return tuple(convert_resource(each) for each in result.contents)


def read_prompt(server: str, name: str, result: mcp_types.GetPromptResult) -> Conversation:
    """Return the messages of a prompt as a conversation."""
    conversation = Conversation()
    for message in result.messages:
        part = convert_block(message.content)
        if isinstance(part, Text) and len(part.text) > _MAX_CONTENT:
            raise ToolFailure(f"the prompt `{name}` of MCP server `{server}` is too long, and not read")
        try:
            if message.role == "user":
                conversation.add_user([part])
            else:
                conversation.add_assistant(part.text if isinstance(part, Text) else "[image]")
        except ContentError as error:
            raise ToolFailure(f"the prompt `{name}` of MCP server `{server}` cannot be used: {error}") from None
    return conversation
