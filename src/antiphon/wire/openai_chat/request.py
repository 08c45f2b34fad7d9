"""A conversation as a request to the Chat Completions API."""

from __future__ import annotations

from typing import Any, cast

from antiphon._json import dumps, loads
from antiphon.conversation import AssistantTurn, Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.openai_chat.messages import API, is_ours, messages
from antiphon.wire.options import Options, Target
from antiphon.wire.schema import closed, strict_fits

__all__ = ["API", "encode", "history", "path", "plain_tool", "without_null_required"]

_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Where requests go, below the base URL, which ends in the version."""
    return "/chat/completions"


def encode(conversation: Conversation, target: Target, options: Options) -> bytes:
    """The request body."""
    fields: dict[str, Any] = {"model": target.model}
    if options.max_tokens is not None:
        fields[target.profile.max_tokens_field] = options.max_tokens
    _set_sampling(fields, target, options)
    _ask_for_reasoning(fields, target, options)
    if options.output_schema is not None:
        schema = closed(options.output_schema)
        form = {"name": "answer", "schema": schema, "strict": strict_fits(schema, API)}
        fields["response_format"] = {"type": "json_schema", "json_schema": form}
    if options.stream:
        fields["stream"] = True
        if target.profile.stream_usage:
            fields["stream_options"] = {"include_usage": True}
    tools = _tools(conversation, target)
    if tools:
        _set_tool_choice(fields, options)
    elif target.profile.declare_called_tools and (tools := _stubs(conversation)):
        fields["tool_choice"] = "none"
    fields |= options.extra
    raw: dict[str, str] = {"tools": f"[{tools}]"} if tools else {}
    return body.assemble(fields, {"messages": messages(conversation, target)}, **raw)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    tools = _tools(conversation, target)
    data: dict[str, Any] = {"tools": loads(f"[{tools}]")} if tools else {}
    return data | {"messages": body.parsed(messages(conversation, target))}


def _set_sampling(fields: dict[str, Any], target: Target, options: Options) -> None:
    if options.temperature is not None or options.top_p is not None:
        if not target.profile.sampling:
            raise OptionError(
                f"{target.provider} takes no `temperature` or `top_p` for {target.model!r}; leave them out, or put them"
                " into `extra` for a model that does"
            )
        fields |= {k: v for k in ("temperature", "top_p") if (v := getattr(options, k)) is not None}
    if options.stop:
        fields["stop"] = list(options.stop)


def _ask_for_reasoning(fields: dict[str, Any], target: Target, options: Options) -> None:
    if isinstance(options.reasoning, int):
        raise OptionError(
            f"{target.provider} takes no number of tokens as `reasoning`; give a word such as 'low' or 'high', or put"
            " the server's own field into `extra`"
        )
    if options.reasoning is not None:
        fields["reasoning_effort"] = options.reasoning


def _set_tool_choice(fields: dict[str, Any], options: Options) -> None:
    # O8: neither field may stand in a request without tools.
    choice = options.tool_choice
    if choice in ("auto", "none", "required"):
        fields["tool_choice"] = choice
    elif choice is not None:
        fields["tool_choice"] = {"type": "function", "function": {"name": choice}}
    if options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls


def _tools(conversation: Conversation, target: Target) -> str:
    return body.tools_json(conversation, target.key, lambda tool: _tool(tool, target))


def _tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.native and is_ours(tool.native, target):
        return dumps(tool.native.data)
    if tool.is_provider_defined:
        return None
    return dumps(plain_tool(tool.name, tool.description, tool.parameters))


def plain_tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The declaration of an ordinary function."""
    described = {"description": description} if description else {}
    function = {"name": name, **described, "parameters": _NO_ARGUMENTS | parameters}
    return without_null_required({"type": "function", "function": function})


def without_null_required(tool: dict[str, Any]) -> dict[str, Any]:
    """O12: some generators write `required: null` where nothing is required, which the API refuses."""
    return _stripped(tool) if '"required":null' in dumps(tool) else tool


def _stripped(value: Any) -> Any:
    if isinstance(value, list):
        return [_stripped(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    return {k: _stripped(v) for k, v in cast(dict[str, Any], value).items() if k != "required" or v is not None}


def _stubs(conversation: Conversation) -> str:
    """Declarations of the tools that the history calls, for servers that refuse calls of tools they do not know."""
    turns = (turn for turn in conversation.turns if isinstance(turn, AssistantTurn))
    names = dict.fromkeys(call.name for turn in turns for call in turn.calls)
    return ",".join(dumps(plain_tool(name, "No longer available.", {})) for name in names)
