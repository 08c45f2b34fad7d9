"""Encoder of requests to Google's Gemini API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from antiphon._base.json import dump_json, encode_json, load_json
from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.gemini.contents import FUNCTION_NAME, encode_content, encode_turn_contents, is_gemini_payload
from antiphon.wire.gemini.field_names import camelize_keys, is_json_object, to_camel_case
from antiphon.wire.gemini.schema import prepare_answer_schema, prepare_parameters_schema
from antiphon.wire.hosted_tools import check_hosted_tools, encode_hosted_tool, insert_mcp_tokens
from antiphon.wire.media import replace_unsupported_media
from antiphon.wire.names_and_ids import choose_tool_name, use_legal_name
from antiphon.wire.options import Options, Target, adapt_options, build_sampling_fields, choose_effort
from antiphon.wire.prompt import Prompt, extract_prefix_fields
from antiphon.wire.request import EncodedRequest
from antiphon.wire.schema import prepare_output_schema

#: Budgets that Google's OpenAI compatibility layer uses for each effort, for models without levels.
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
_UNSHOWABLE_SEGMENT = body.MessageSegment("user", dump_json({"text": body.UNSHOWABLE_TEXT}).encode())
_CALLING_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
#: The API wants the user first; Anthropic and OpenAI accept a history in which the assistant is.
_OPENING = "(The conversation begins with the assistant.)"
#: Body fields in which `extra` is merged with the fields from the options.
_MERGED_FIELDS = ("generationConfig", "toolConfig")


def path(target: Target, stream: bool) -> str:
    """Return the path of the request URL, below the base URL."""
    if own := target.get_path(stream):
        return own
    model = target.model
    if model.startswith(("publishers/", "projects/")):
        place = f"/v1beta1/{model}"
    elif model.startswith(("models/", "tunedModels/")):
        place = f"/v1beta/{model}"
    else:
        place = f"/v1beta/models/{model}"
    return f"{place}:streamGenerateContent?alt=sse" if stream else f"{place}:generateContent"


def encode(conversation: Conversation, target: Target, options: Options) -> EncodedRequest:
    """Return the request: its body and the prompt that it holds."""
    options = adapt_options(target, options)
    extra = {to_camel_case(name): value for name, value in options.extra.items()}
    if is_json_object(extra.get("tools")):
        extra["tools"] = [extra["tools"]]
    heads = conversation.request_heads or conversation.heads
    secrets = check_hosted_tools(heads.tools, target)
    tools = _encode_tools(conversation, heads.declared, target)
    fields: dict[str, Any] = {}
    declared = bool(tools or extra.get("tools"))
    if options.output_schema is not None and declared and target.facts.schema_with_tools is False:
        # G13.
        raise OptionError(f"{target.model} cannot have `output_schema` and tools at once; leave one of them out")
    if config := _build_generation_config(target, options):
        fields["generationConfig"] = config
    if declared and (choice := _build_tool_config(heads.tools, target, options)):
        fields["toolConfig"] = choice
    if _mixes_functions_and_hosted_tools(heads.tools, target):
        fields["toolConfig"] = {**as_object(fields.get("toolConfig")), "includeServerSideToolInvocations": True}
    for name, value in extra.items():
        merge = name in _MERGED_FIELDS and is_json_object(value)
        fields[name] = as_object(fields.get(name)) | camelize_keys(value) if merge else value
    written = insert_mcp_tokens(",".join(tools), heads.tools)
    raw: dict[str, str] = {"tools": f"[{written}]"} if tools else {}
    if heads.system:
        raw["systemInstruction"] = encode_json({"parts": [{"text": heads.system}]})
    found = _encode_contents(conversation, target, bool(fields.get("cachedContent")))
    head = {"tools": ",".join(tools), "systemInstruction": heads.system}
    prompt = Prompt({**head, **extract_prefix_fields(fields, target)}, found)
    body_bytes = body.assemble_body(fields, {"contents": found.pieces}, **raw)
    return EncodedRequest(body_bytes, prompt=prompt, secrets=secrets)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """Return the conversation in this API's shape, as JSON data."""
    heads = conversation.heads
    data: dict[str, Any] = {"systemInstruction": {"parts": [{"text": heads.system}]}} if heads.system else {}
    if tools := _encode_tools(conversation, heads.declared, target):
        data["tools"] = [load_json(tool) for tool in tools]
    return data | {"contents": body.parse_chunks(_encode_contents(conversation, target, False).pieces)}


def _encode_contents(conversation: Conversation, target: Target, cached: bool) -> body.EncodedMessages:
    """Encode the contents, separated by commas, with an opening text if the model speaks first."""
    found = body.encode_messages(
        conversation,
        target.key,
        lambda turn: encode_turn_contents(replace_unsupported_media(turn, target), target),
        encode_content,
        nothing=_UNSHOWABLE_SEGMENT,
    )
    start = next(filter(None, found.pieces), b"")
    # Cached content comes first, so the contents need no opening.
    if cached or not start.startswith(b'{"role":"model"'):
        return found
    first = encode_content(body.MessageSegment("user", dump_json({"text": _OPENING}).encode()))
    return replace(found, pieces=[first, b",", *found.pieces])


def _build_generation_config(target: Target, options: Options) -> dict[str, Any]:
    chosen = build_sampling_fields(target, options)
    config: dict[str, Any] = {
        "maxOutputTokens": options.max_tokens,
        "temperature": chosen.get("temperature"),
        "topP": chosen.get("top_p"),
        "stopSequences": list(options.stop) or None,
        "thinkingConfig": _build_thinking_config(target, options),
        "responseMimeType": "application/json" if options.output_schema is not None else None,
        "responseJsonSchema": _build_answer_schema(target, options),
    }
    return {name: value for name, value in config.items() if value is not None}


def _build_answer_schema(target: Target, options: Options) -> dict[str, Any] | None:
    return (
        None
        if options.output_schema is None
        else prepare_answer_schema(prepare_output_schema(options.output_schema, target))
    )


def _build_thinking_config(target: Target, options: Options) -> dict[str, Any] | None:
    kinds = target.facts.thinking.kinds
    match options.reasoning:
        case None:
            return None
        case int(budget):
            if kinds and "budget" not in kinds:
                raise OptionError(
                    f"{target.model} takes no number of tokens as `reasoning`; give a word such as 'low' or 'high'"
                )
            return {"thinkingBudget": budget}
        case word if "budget" in kinds and "level" not in kinds:
            least, most = target.facts.thinking.budget or (0, _BUDGETS["max"])
            return {"thinkingBudget": min(max(_BUDGETS[word], least), most)}
        case word:
            return {"thinkingLevel": choose_effort(target, word)}


def _build_tool_config(active: tuple[ToolSpec, ...], target: Target, options: Options) -> dict[str, Any] | None:
    if options.parallel_tool_calls is False:
        raise OptionError(
            f"{target.provider} has no way to forbid `parallel_tool_calls`; leave the option out and run the calls one"
            " after the other"
        )
    if options.tool_choice is None:
        return None
    mode = _CALLING_MODES.get(options.tool_choice)
    asked = (tool for tool in active if tool.name == options.tool_choice and is_gemini_payload(tool.native, target))
    theirs = next((as_string(tool.native.data.get("name")) for tool in asked if tool.native), "")
    one = {"mode": "ANY", "allowedFunctionNames": [choose_tool_name(options.tool_choice, theirs, FUNCTION_NAME)]}
    return {"functionCallingConfig": {"mode": mode} if mode else one}


def _mixes_functions_and_hosted_tools(active: tuple[ToolSpec, ...], target: Target) -> bool:
    """Return whether functions and hosted tools are declared together. Google's API must then return
    hosted calls.
    """
    hosted = any(tool.hosted for tool in active)
    return hosted and target.provider == "google" and any(not tool.is_provider_defined for tool in active)


def _encode_tools(conversation: Conversation, tools: tuple[ToolSpec, ...], target: Target) -> list[str]:
    """Return the tool entries: one for all functions, and one for the provider's own tools."""
    key = target.key
    functions = body.encode_tools(conversation, tools, f"{key} functions", lambda tool: _encode_function(tool, target))
    others = body.encode_tools(conversation, tools, f"{key} others", lambda tool: _encode_native_tool(tool, target))
    entries = [f'{{"functionDeclarations":[{functions}]}}'] if functions else []
    if not others:
        return entries
    first = tools[0]
    return [others, *entries] if _encode_native_tool(first, target) is not None else [*entries, others]


def _encode_function(tool: ToolSpec, target: Target) -> str | None:
    if tool.native and is_gemini_payload(tool.native, target):
        return (
            dump_json(use_legal_name(tool.native.data, tool.name, FUNCTION_NAME))
            if "name" in tool.native.data
            else None
        )
    if tool.is_provider_defined:
        # Another provider's server tool. A tool with parameters is a function for every provider.
        return None
    return dump_json(declare_gemini_function(tool.name, tool.description, tool.parameters))


def declare_gemini_function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration of a function. Without arguments it has no schema: some models reject an
    empty object (G12).
    """
    data: dict[str, Any] = {"name": name, "description": description}
    return data | {"parametersJsonSchema": prepare_parameters_schema(parameters)} if parameters else data


def _encode_native_tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.hosted:
        return encode_hosted_tool(tool, target)
    ours = tool.native is not None and is_gemini_payload(tool.native, target)
    return dump_json(tool.native.data) if ours and tool.native and "name" not in tool.native.data else None
