"""Encoder of requests to the Interactions API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.gemini.schema import prepare_answer_schema, prepare_parameters_schema
from antiphon.wire.google_interactions import TOOL_TYPES
from antiphon.wire.google_interactions.steps import (
    FUNCTION_NAME,
    encode_step,
    encode_turn_steps,
    is_interactions_payload,
)
from antiphon.wire.hosted_tools import check_hosted_tools, encode_hosted_tool
from antiphon.wire.media import replace_unsupported_media
from antiphon.wire.names_and_ids import choose_tool_name
from antiphon.wire.options import (
    Options,
    Target,
    adapt_options,
    build_sampling_fields,
    check_forced_tool,
    choose_effort,
)
from antiphon.wire.prompt import Prompt, extract_prefix_fields
from antiphon.wire.request import EncodedRequest
from antiphon.wire.schema import prepare_output_schema

_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_UNSHOWABLE_SEGMENT = body.MessageSegment(
    "user_input", dump_json({"type": "text", "text": body.UNSHOWABLE_TEXT}).encode()
)
#: Google's models want the user first.
_OPENING = dump_json({"type": "text", "text": "(The conversation begins with the assistant.)"}).encode()
_USER_START = b'{"type":"user_input"'


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Return the path of the request URL, below the base URL."""
    return "/v1beta/interactions"


def encode(conversation: Conversation, target: Target, options: Options) -> EncodedRequest:
    """Return the request: its body and the prompt that it holds."""
    options = adapt_options(target, options)
    heads = conversation.request_heads or conversation.heads
    secrets = check_hosted_tools(heads.tools, target)
    tools = _encode_tools(conversation, heads.declared, target)
    # The conversation is the memory, so the server need not keep a second one.
    fields: dict[str, Any] = {"model": target.model, "store": False}
    if options.stream:
        fields["stream"] = True
    if options.output_schema is not None:
        fields["response_format"] = _build_response_format(target, options.output_schema)
    declared = bool(tools or options.extra.get("tools"))
    if options.output_schema is not None and declared and target.facts.schema_with_tools is False:
        raise OptionError(f"{target.model} cannot have `output_schema` and tools at once; leave one of them out")
    if config := _build_generation_config(heads.tools, target, options, declared):
        fields["generation_config"] = config
    for name, value in options.extra.items():
        config = as_object(value) if name == "generation_config" else {}
        fields[name] = as_object(fields.get(name)) | config if config else value
    raw = {"tools": f"[{tools}]"} if tools else {}
    if heads.system:
        raw["system_instruction"] = dump_json(heads.system)
    found = _encode_input(conversation, target)
    head = {"tools": tools, "system_instruction": heads.system}
    prompt = Prompt({**head, **extract_prefix_fields(fields, target)}, found)
    return EncodedRequest(body.assemble_body(fields, {"input": found.pieces}, **raw), prompt=prompt, secrets=secrets)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """Return the conversation in this API's shape, as JSON data."""
    heads = conversation.heads
    data: dict[str, Any] = {"system_instruction": heads.system} if heads.system else {}
    if tools := _encode_tools(conversation, heads.declared, target):
        data["tools"] = load_json(f"[{tools}]")
    return data | {"input": body.parse_chunks(_encode_input(conversation, target).pieces)}


def _encode_input(conversation: Conversation, target: Target) -> body.EncodedMessages:
    """Encode the steps, separated by commas, with an opening text if the model speaks first."""
    found = body.encode_messages(
        conversation,
        target.key,
        lambda turn: encode_turn_steps(replace_unsupported_media(turn, target), target),
        encode_step,
        nothing=_UNSHOWABLE_SEGMENT,
    )
    start = next(filter(None, found.pieces), b"")
    if not start or start.startswith(_USER_START):
        return found
    first = encode_step(body.MessageSegment("user_input", _OPENING))
    return replace(found, pieces=[first, b",", *found.pieces])


def _build_generation_config(
    active: tuple[ToolSpec, ...], target: Target, options: Options, declared: bool
) -> dict[str, Any]:
    chosen = build_sampling_fields(target, options)
    config: dict[str, Any] = {
        "max_output_tokens": options.max_tokens,
        "temperature": chosen.get("temperature"),
        "top_p": chosen.get("top_p"),
        "stop_sequences": list(options.stop) or None,
        "thinking_level": _choose_thinking_level(target, options),
        "tool_choice": _build_tool_choice(active, target, options) if declared else None,
    }
    return {name: value for name, value in config.items() if value is not None}


def _choose_thinking_level(target: Target, options: Options) -> str | None:
    match options.reasoning:
        case None:
            return None
        case int():
            raise OptionError(f"{target.provider} takes no number of tokens as `reasoning`; give a word such as 'low'")
        case word:
            return choose_effort(target, "minimal" if word == "none" else word)


def _build_tool_choice(active: tuple[ToolSpec, ...], target: Target, options: Options) -> str | dict[str, Any] | None:
    if options.parallel_tool_calls is False:
        raise OptionError(
            f"{target.provider} has no way to forbid `parallel_tool_calls`; leave the option out and run the calls one"
            " after the other"
        )
    choice = options.tool_choice
    if choice is None:
        return None
    if choice not in ("auto", "none"):
        check_forced_tool(target, options)
    if mode := _CHOICES.get(choice):
        return mode
    names = [_get_declared_name(tool, target) for tool in active if tool.name == choice]
    return {"allowed_tools": {"mode": "any", "tools": names}}


def _build_response_format(target: Target, schema: Any) -> dict[str, Any]:
    prepared = prepare_answer_schema(prepare_output_schema(schema, target))
    return {"type": "text", "mime_type": "application/json", "schema": prepared}


def _encode_tools(conversation: Conversation, declared: tuple[ToolSpec, ...], target: Target) -> str:
    return body.encode_tools(conversation, declared, target.key, lambda tool: _encode_tool(tool, target))


def _encode_tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.hosted:
        return encode_hosted_tool(tool, target)
    if tool.native and is_interactions_payload(tool.native, target):
        kind = as_string(tool.native.data.get("type"))
        named = {"name": _get_declared_name(tool, target)} if kind == "function" else {}
        return dump_json(tool.native.data | named) if kind in TOOL_TYPES else None
    if tool.is_provider_defined:
        return None
    return dump_json(declare_interactions_function(tool.name, tool.description, tool.parameters))


def _get_declared_name(tool: ToolSpec, target: Target) -> str:
    own = tool.native.data if tool.native and is_interactions_payload(tool.native, target) else {}
    return choose_tool_name(tool.name, own.get("name"), FUNCTION_NAME)


def declare_interactions_function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration of a function. Without arguments it has no schema."""
    data: dict[str, Any] = {"type": "function", "name": name, "description": description}
    return data | {"parameters": prepare_parameters_schema(parameters)} if parameters else data
