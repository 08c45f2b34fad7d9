"""A conversation as a request to OpenAI's Responses API.

A request is stateless unless `extra` says otherwise: it sets `store` to false and asks for encrypted reasoning. Any
`store` or `include` in `extra` takes the place of ours, `None` leaves the field out (so `read` tells of a request that
had none), and `previous_response_id` or `conversation` leave `store` to the provider.
"""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import Conversation, Native, ToolSpec, Turn
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.images import shown
from antiphon.wire.naming import own_name, with_own_name
from antiphon.wire.openai_responses import items
from antiphon.wire.openai_responses.terms import API, Terms, continues, terms_for
from antiphon.wire.options import Options, Target, sampling
from antiphon.wire.schema import closed, strict_fits

# These answer "Encrypted content is not supported with this model." to the question for it.
_NO_REASONING = re.compile(r"(?:^|[/:])(?:chatgpt-|gpt-3|gpt-4|gpt-5-chat)")


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Where requests go, below the base URL."""
    return "/responses"


def encode(conversation: Conversation, target: Target, options: Options) -> bytes:
    """The request body."""
    fields: dict[str, Any] = {"model": target.model}
    _answering(fields, target, options)
    if options.output_schema is not None:
        schema = closed(options.output_schema)
        form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict_fits(schema, API)}
        fields["text"] = {"format": form}
    tools = body.tools_json(conversation, target.key, lambda tool: _tool(tool, target))
    declared = tools or options.extra.get("tools")
    if declared and options.tool_choice:
        fields["tool_choice"] = _tool_choice(options.tool_choice, conversation, target)
    if declared and options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls
    if not continues(options.extra):
        fields["store"] = False
    if not _NO_REASONING.search(target.model):
        fields["include"] = ["reasoning.encrypted_content"]
    fields |= options.extra
    fields = {k: v for k, v in fields.items() if v is not None or k not in ("store", "include")}
    raw: dict[str, str] = {}
    lists: dict[str, body.Pieces] = {}
    if conversation.system:
        raw["instructions"] = dumps(conversation.system)
    if tools:
        raw["tools"] = f"[{tools}]"
    # A stored prompt or response may be all there is to ask about.
    if conversation.turns:
        lists["input"] = _input(conversation, terms_for(conversation, target, fields))
    return body.assemble(fields, lists, **raw)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    data: dict[str, Any] = {"instructions": conversation.system} if conversation.system else {}
    tools = body.tools_json(conversation, target.key, lambda tool: _tool(tool, target))
    if tools:
        data["tools"] = loads(f"[{tools}]")
    return data | {"input": body.parsed(_input(conversation, terms_for(conversation, target, {"store": False})))}


def _input(conversation: Conversation, terms: Terms) -> body.Pieces:
    def encode(turn: Turn) -> list[body.Segment]:
        return items.segments(shown(turn, terms.target), terms)

    return body.messages(conversation, terms.key, encode, items.message)


def _answering(fields: dict[str, Any], target: Target, options: Options) -> None:
    """How to answer, as far as it is not about tools."""
    if options.stop:
        raise OptionError("the Responses API has no stop sequences; leave `stop` out, or use the Chat API")
    if isinstance(options.reasoning, int):
        raise OptionError("the Responses API takes no number of reasoning tokens; give `reasoning` a word like 'low'")
    fields |= sampling(target, options)
    if options.max_tokens is not None:
        fields["max_output_tokens"] = options.max_tokens
    if options.reasoning:
        fields["reasoning"] = {"effort": options.reasoning}
    if options.stream:
        fields["stream"] = True


def _tool_choice(asked: str, conversation: Conversation, target: Target) -> str | dict[str, str]:
    if asked in ("auto", "none", "required"):
        return asked
    ours = (tool.native for tool in conversation.tools if tool.name == asked and tool.native)
    data = next((native.data for native in ours if _is_ours(native, target)), dict[str, Any]())
    kind = "custom" if data.get("type") == "custom" else "function"
    return {"type": kind, "name": own_name(asked, string(data.get("name")), items.NAME)}


def _is_ours(native: Native, target: Target) -> bool:
    return native.origin.api == API and native.origin.provider == target.provider


def _tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.native and _is_ours(tool.native, target):
        return dumps(with_own_name(tool.native.data, tool.name, items.NAME))
    # Another provider's own tool has nothing to call it with; another provider's function has.
    return None if tool.is_provider_defined else dumps(tool_data(tool))


def tool_data(tool: ToolSpec) -> dict[str, Any]:
    """The declaration of a plain function."""
    schema: dict[str, Any] = {"type": "object", "properties": dict[str, Any]()} | tool.parameters
    # The API takes no alternatives at the top. The properties of all of them are offered instead, none required.
    for word in ("anyOf", "oneOf", "allOf"):
        for variant in arr(schema.pop(word, None)):
            schema["properties"] = obj(obj(variant).get("properties")) | obj(schema["properties"])
    described = {"description": tool.description} if tool.description else {}
    # Without the word the API would rewrite the schema to its strict form.
    return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": False}
