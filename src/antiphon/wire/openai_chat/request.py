"""Encoder of requests to the Chat Completions API."""

from __future__ import annotations

from typing import Any, cast

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import AssistantTurn, Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.hosted_tools import HostedToolForm, check_hosted_tools, encode_hosted_tool
from antiphon.wire.names_and_ids import choose_tool_name, use_legal_name
from antiphon.wire.openai_chat.messages import (
    CHAT_TOOL_NAME,
    choose_called_name,
    encode_chat_messages,
    is_chat_payload,
    is_openai,
    prepend_system,
)
from antiphon.wire.options import (
    Options,
    Target,
    adapt_options,
    build_cache_fields,
    build_sampling_fields,
    check_forced_tool,
    choose_effort,
)
from antiphon.wire.prompt import Prompt, extract_prefix_fields
from antiphon.wire.request import EncodedRequest
from antiphon.wire.schema import is_strict_schema, prepare_output_schema

#: The API has no hosted tools.
HOSTED_TOOLS: dict[str, HostedToolForm] = {}
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Return the path of the request URL, below the base URL, which ends in the version."""
    return "/chat/completions"


def encode(conversation: Conversation, target: Target, options: Options) -> EncodedRequest:
    """Return the request: its body and the prompt that it holds."""
    options = adapt_options(target, options)
    fields: dict[str, Any] = {"model": target.model}
    if options.max_tokens is not None:
        fields[target.profile.max_tokens_field] = options.max_tokens
    fields |= build_sampling_fields(target, options)
    if options.stop:
        fields["stop"] = list(options.stop)
    _set_reasoning_effort(fields, target, options)
    if options.output_schema is not None:
        schema = prepare_output_schema(options.output_schema, target)
        form = {"name": "answer", "schema": schema, "strict": is_strict_schema(schema, target)}
        fields["response_format"] = {"type": "json_schema", "json_schema": form}
    if options.stream:
        fields["stream"] = True
        if target.profile.stream_usage:
            fields["stream_options"] = {"include_usage": True}
    heads = conversation.request_heads or conversation.heads
    secrets = check_hosted_tools(heads.tools, target)
    tools = _encode_tools(conversation, heads.declared, target)
    if tools:
        _check_tools_allowed(fields, target, options)
        _set_tool_choice(fields, options, heads.tools, target)
    elif target.profile.declare_called_tools and (tools := _encode_stub_tools(conversation, target)):
        fields["tool_choice"] = "none"
    system, found = encode_chat_messages(conversation, heads, target)
    fields |= build_cache_fields(options)
    fields |= options.extra
    raw: dict[str, str] = {"tools": f"[{tools}]"} if tools else {}
    prompt = Prompt({"tools": tools, "system": system, **extract_prefix_fields(fields, target)}, found)
    body_bytes = body.assemble_body(fields, {"messages": prepend_system(system, found)}, **raw)
    return EncodedRequest(body_bytes, prompt=prompt, secrets=secrets)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """Return the conversation in this API's shape, as JSON data."""
    heads = conversation.heads
    tools = _encode_tools(conversation, heads.declared, target)
    data: dict[str, Any] = {"tools": load_json(f"[{tools}]")} if tools else {}
    return data | {"messages": body.parse_chunks(prepend_system(*encode_chat_messages(conversation, heads, target)))}


def _set_reasoning_effort(fields: dict[str, Any], target: Target, options: Options) -> None:
    if isinstance(options.reasoning, int):
        raise OptionError(
            f"{target.provider} takes no number of tokens as `reasoning`; give a word such as 'low' or 'high', or put"
            " the server's own field into `extra`"
        )
    if options.reasoning is not None:
        effort = choose_effort(target, options.reasoning)
        # This API knows every effort except "max".
        fields["reasoning_effort"] = "xhigh" if effort == "max" and is_openai(target.provider) else effort


def _check_tools_allowed(fields: dict[str, Any], target: Target, options: Options) -> None:
    """Raise OptionError if the model takes no tools in this API. Turn reasoning off if that allows them."""
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


def _set_tool_choice(fields: dict[str, Any], options: Options, active: tuple[ToolSpec, ...], target: Target) -> None:
    # O8: neither field is allowed in a request without tools.
    choice = options.tool_choice
    if choice not in (None, "auto", "none"):
        check_forced_tool(target, options)
    if choice in ("auto", "none", "required"):
        fields["tool_choice"] = choice
    elif choice is not None:
        declared = _find_native_declaration(choice, active, target)
        kind = as_string(declared.get("type")) or "function"
        name = choose_tool_name(choice, as_object(declared.get(kind)).get("name"), CHAT_TOOL_NAME)
        fields["tool_choice"] = {"type": kind, kind: {"name": name}}
    if options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls


def _find_native_declaration(name: str, active: tuple[ToolSpec, ...], target: Target) -> dict[str, Any]:
    """Return the server's own declaration of a tool, or {} if ours is sent."""
    ours = (tool.native for tool in active if tool.name == name and tool.native)
    return next((native.data for native in ours if is_chat_payload(native, target)), dict[str, Any]())


def _encode_tools(conversation: Conversation, declared: tuple[ToolSpec, ...], target: Target) -> str:
    return body.encode_tools(conversation, declared, target.key, lambda tool: _encode_tool(tool, target))


def _encode_tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.hosted:
        return encode_hosted_tool(tool, target)
    if tool.native and is_chat_payload(tool.native, target):
        data = tool.native.data
        inner = {
            kind: use_legal_name(each, tool.name, CHAT_TOOL_NAME)
            for kind in ("function", "custom")
            if (each := as_object(data.get(kind)))
        }
        return dump_json(data | inner)
    if tool.is_provider_defined:
        return None
    return dump_json(declare_chat_function(tool.name, tool.description, tool.parameters))


def declare_chat_function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration of an ordinary function."""
    described = {"description": description} if description else {}
    function = {"name": name, **described, "parameters": _NO_ARGUMENTS | parameters}
    return drop_null_required({"type": "function", "function": function})


def drop_null_required(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration without `required: null`.

    O12: some generators write that if nothing is required, and the API rejects it.
    """
    return _strip_null_required(tool) if '"required":null' in dump_json(tool) else tool


def _strip_null_required(value: Any) -> Any:
    if isinstance(value, list):
        return [_strip_null_required(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    return {
        k: _strip_null_required(v) for k, v in cast(dict[str, Any], value).items() if k != "required" or v is not None
    }


def _encode_stub_tools(conversation: Conversation, target: Target) -> str:
    """Return declarations of the tools that the history calls.

    Some servers reject calls of undeclared tools.
    """
    turns = (turn for turn in conversation.turns if isinstance(turn, AssistantTurn))
    names = dict.fromkeys(choose_called_name(call, target) for turn in turns for call in turn.calls)
    return ",".join(dump_json(declare_chat_function(name, "No longer available.", {})) for name in names)
