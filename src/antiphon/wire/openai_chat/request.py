"""A conversation as a request to the Chat Completions API."""

from __future__ import annotations

from typing import Any, cast

from antiphon._json import dumps, loads
from antiphon._shape import obj, string
from antiphon.conversation import AssistantTurn, Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.hosted_tools import check_hosted, hosted_json
from antiphon.wire.naming import own_name, with_own_name
from antiphon.wire.openai_chat.messages import API, NAME, called_name, is_openai, is_ours, messages, with_system
from antiphon.wire.options import (
    Options,
    Target,
    cache_fields,
    check_forced_choice,
    fit_options,
    nearest_effort,
    sampling,
)
from antiphon.wire.prompt import Prompt, prefix_fields
from antiphon.wire.request import Request
from antiphon.wire.schema import answer_form, is_strict

__all__ = ["API", "encode", "history", "path", "plain_tool", "without_null_required"]

_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Where requests go, below the base URL, which ends in the version."""
    return "/chat/completions"


def encode(conversation: Conversation, target: Target, options: Options) -> Request:
    """Return the request."""
    options = fit_options(target, options)
    fields: dict[str, Any] = {"model": target.model}
    if options.max_tokens is not None:
        fields[target.profile.max_tokens_field] = options.max_tokens
    fields |= sampling(target, options)
    if options.stop:
        fields["stop"] = list(options.stop)
    _ask_for_reasoning(fields, target, options)
    if options.output_schema is not None:
        schema = answer_form(options.output_schema, target)
        form = {"name": "answer", "schema": schema, "strict": is_strict(schema, target)}
        fields["response_format"] = {"type": "json_schema", "json_schema": form}
    if options.stream:
        fields["stream"] = True
        if target.profile.stream_usage:
            fields["stream_options"] = {"include_usage": True}
    check_hosted(conversation.tools, target)
    tools = _tools(conversation, target)
    if tools:
        _check_tools(fields, target, options)
        _set_tool_choice(fields, options, conversation, target)
    elif target.profile.declare_called_tools and (tools := _stubs(conversation, target)):
        fields["tool_choice"] = "none"
    system, found = messages(conversation, target)
    fields |= cache_fields(options)
    fields |= options.extra
    raw: dict[str, str] = {"tools": f"[{tools}]"} if tools else {}
    prompt = Prompt({"tools": tools, "system": system, **prefix_fields(fields, target)}, found)
    return Request(body.assemble(fields, {"messages": with_system(system, found)}, **raw), prompt=prompt)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    tools = _tools(conversation, target)
    data: dict[str, Any] = {"tools": loads(f"[{tools}]")} if tools else {}
    return data | {"messages": body.parsed(with_system(*messages(conversation, target)))}


def _ask_for_reasoning(fields: dict[str, Any], target: Target, options: Options) -> None:
    if isinstance(options.reasoning, int):
        raise OptionError(
            f"{target.provider} takes no number of tokens as `reasoning`; give a word such as 'low' or 'high', or put"
            " the server's own field into `extra`"
        )
    if options.reasoning is not None:
        effort = nearest_effort(target, options.reasoning)
        # This API knows all words but the last.
        fields["reasoning_effort"] = "xhigh" if effort == "max" and is_openai(target.provider) else effort


def _check_tools(fields: dict[str, Any], target: Target, options: Options) -> None:
    """Raise an OptionError where the model takes no tools in this API; turn reasoning off where only that helps."""
    known = target.facts.tools_api
    if known == "effort_none_only" and options.reasoning in (None, "none"):
        if target.facts.effort_default != "none":
            fields["reasoning_effort"] = "none"
    elif known in ("effort_none_only", "responses_only") and is_openai(target.provider):
        reason = "with reasoning" if known == "effort_none_only" else "at all"
        raise OptionError(
            f"{target.model} takes no tools {reason} in Chat Completions; use the Responses API,"
            f" `openai/{target.model}`"
        )


def _set_tool_choice(fields: dict[str, Any], options: Options, conversation: Conversation, target: Target) -> None:
    # O8: neither field may stand in a request without tools.
    choice = options.tool_choice
    if choice not in (None, "auto", "none"):
        check_forced_choice(target, options)
    if choice in ("auto", "none", "required"):
        fields["tool_choice"] = choice
    elif choice is not None:
        declared = _declared(choice, conversation, target)
        kind = string(declared.get("type")) or "function"
        name = own_name(choice, string(obj(declared.get(kind)).get("name")), NAME)
        fields["tool_choice"] = {"type": kind, kind: {"name": name}}
    if options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls


def _declared(name: str, conversation: Conversation, target: Target) -> dict[str, Any]:
    """The server's own declaration of a tool, where it is that which is sent."""
    ours = (tool.native for tool in conversation.tools if tool.name == name and tool.native)
    return next((native.data for native in ours if is_ours(native, target)), dict[str, Any]())


def _tools(conversation: Conversation, target: Target) -> str:
    declared = conversation.declared_tools
    return body.tools_json(conversation, declared, target.key, lambda tool: _tool(tool, target))


def _tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.hosted:
        return hosted_json(tool, target)
    if tool.native and is_ours(tool.native, target):
        data = tool.native.data
        inner = {
            kind: with_own_name(each, tool.name, NAME)
            for kind in ("function", "custom")
            if (each := obj(data.get(kind)))
        }
        return dumps(data | inner)
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


def _stubs(conversation: Conversation, target: Target) -> str:
    """Declarations of the tools that the history calls, for servers that refuse calls of tools they do not know."""
    turns = (turn for turn in conversation.turns if isinstance(turn, AssistantTurn))
    names = dict.fromkeys(called_name(call, target) for turn in turns for call in turn.calls)
    return ",".join(dumps(plain_tool(name, "No longer available.", {})) for name in names)
