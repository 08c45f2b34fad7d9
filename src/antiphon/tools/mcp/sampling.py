"""Requests of a server for our model (sampling): only if the user allowed the server, and approved the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon.conversation import Conversation, Image, Text, ToolCall, ToolSpec
from antiphon.errors import ContentError
from antiphon.tools.canonical_call import canonicalize
from antiphon.tools.function_schema import FunctionSchema
from antiphon.tools.mcp.active_call import ActiveCall
from antiphon.tools.mcp.names import make_legal_name
from antiphon.tools.tool import Tool

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData, SamplingMessage

_MAX_PROMPT = 200_000


async def answer_sampling(params: CreateMessageRequestParams, call: ActiveCall) -> CreateMessageResult | ErrorData:
    """Ask our model for a server, and return its answer, or why not."""
    from mcp_types import CreateMessageResult, TextContent

    server = call.server
    if not server.sampling:
        return make_refusal("this server may not ask a model")
    if call.is_exhausted:
        return make_refusal("there were too many requests in this call")
    try:
        conversation = _read_conversation(params)
    except (ContentError, ValueError) as error:
        return make_refusal(str(error))
    settings: dict[str, Any] = {"max_tokens": params.max_tokens}
    settings |= {} if params.temperature is None else {"temperature": params.temperature}
    settings |= {"stop": params.stop_sequences} if params.stop_sequences else {}
    wanted = _describe_request(params, call)
    with call.paused():
        name = call.name_question(wanted.arguments_json)
        if not await call.host.approve(name, canonicalize(_make_tool(wanted.name), wanted), can_wait=call.can_wait):
            return make_refusal("the user did not allow it")
        reply = await call.host.ask_model(f"{name}-model", conversation, settings)
    if reply is None:
        return make_refusal("there is no model here")
    return CreateMessageResult(
        role="assistant",
        content=TextContent(text=reply.text),
        model=reply.model,
        stop_reason="maxTokens" if reply.is_truncated else "endTurn",
    )


def make_refusal(reason: str) -> ErrorData:
    """Return the answer to a request that is refused."""
    from mcp_types import INVALID_REQUEST, ErrorData

    return ErrorData(code=INVALID_REQUEST, message=reason)


def _read_conversation(params: CreateMessageRequestParams) -> Conversation:
    if params.tools:
        raise ValueError("tools of a server are not offered to the model")
    conversation = Conversation(params.system_prompt or "")
    size = len(params.system_prompt or "")
    for message in params.messages:
        parts = [_read_block(block) for block in _list_blocks(message)]
        size += sum(len(part.text) for part in parts if isinstance(part, Text))
        if message.role == "user":
            conversation.add_user(parts)
        else:
            conversation.add_assistant("\n".join(part.text for part in parts if isinstance(part, Text)))
    if size > _MAX_PROMPT:
        raise ValueError(f"the prompt has more than {_MAX_PROMPT:,} characters")
    if not params.messages or params.messages[-1].role != "user":
        raise ValueError("the last message must be of the user")
    return conversation


def _list_blocks(message: SamplingMessage) -> list[Any]:
    content: object = message.content
    return cast("list[Any]", content) if isinstance(content, list) else [content]


def _read_block(block: Any) -> Text | Image:
    if block.type == "text":
        return Text(block.text)
    if block.type == "image":
        return Image(data=block.data, media_type=block.mime_type)
    raise ValueError(f"content of the type {block.type!r} is not sent to the model")


def _describe_request(params: CreateMessageRequestParams, call: ActiveCall) -> ToolCall:
    """Return the request as a call, which shows a person all of the prompt."""
    messages = [
        {"role": message.role, **({"text": block.text} if block.type == "text" else {"type": block.type})}
        for message in params.messages
        for block in _list_blocks(message)
    ]
    shown: dict[str, Any] = {"server": call.server.name, "for_tool": call.tool}
    shown |= {"system": params.system_prompt} if params.system_prompt else {}
    return ToolCall(
        "sampling",
        make_legal_name(f"{call.server.name}_sampling", ()),
        {**shown, "messages": messages, "max_tokens": params.max_tokens},
    )


def _make_tool(name: str) -> Tool:
    spec = ToolSpec(name, "Asks your model for an MCP server.", {"type": "object"})
    return Tool(spec, lambda: None, FunctionSchema.passthrough(spec.parameters), needs_approval=True)
