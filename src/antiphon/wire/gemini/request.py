"""A conversation as a request to Google's Gemini API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import obj, string
from antiphon.conversation import Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.gemini.contents import API, CALLED, is_ours, segments, wrap
from antiphon.wire.gemini.keys import camel, camel_keys, is_object
from antiphon.wire.gemini.schema import prepared, prepared_answer
from antiphon.wire.hosted_tools import check_hosted, fill_secrets, hosted_json
from antiphon.wire.images import shown
from antiphon.wire.naming import own_name, with_own_name
from antiphon.wire.options import Options, Target, fit_options, nearest_effort, sampling
from antiphon.wire.prompt import Prompt, prefix_fields
from antiphon.wire.request import Request
from antiphon.wire.schema import answer_form

__all__ = ["API", "declaration", "encode", "history", "path"]

#: What Google's own bridge for OpenAI clients makes of the words, for models that know no levels.
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
_NOTHING = body.Segment("user", dumps({"text": body.NOTHING}).encode())
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
#: Fields of the body in which `extra` is merged with what the options say.
_MERGED = ("generationConfig", "toolConfig")


def path(target: Target, stream: bool) -> str:
    """Where requests go, below the base URL."""
    model = target.model
    if model.startswith(("publishers/", "projects/")):
        place = f"/v1beta1/{model}"
    elif model.startswith(("models/", "tunedModels/")):
        place = f"/v1beta/{model}"
    else:
        place = f"/v1beta/models/{model}"
    return f"{place}:streamGenerateContent?alt=sse" if stream else f"{place}:generateContent"


def encode(conversation: Conversation, target: Target, options: Options) -> Request:
    """Return the request."""
    options = fit_options(target, options)
    extra = {camel(name): value for name, value in options.extra.items()}
    if is_object(extra.get("tools")):
        extra["tools"] = [extra["tools"]]
    check_hosted(conversation.tools, target)
    tools = _tools(conversation, target)
    fields: dict[str, Any] = {}
    declared = bool(tools or extra.get("tools"))
    if options.output_schema is not None and declared and target.facts.schema_with_tools is False:
        # G13.
        raise OptionError(f"{target.model} cannot have `output_schema` and tools at once; leave one of them out")
    if config := _generation_config(target, options):
        fields["generationConfig"] = config
    if declared and (choice := _tool_config(conversation, target, options)):
        fields["toolConfig"] = choice
    if _is_mixed(conversation, target):
        fields["toolConfig"] = {**obj(fields.get("toolConfig")), "includeServerSideToolInvocations": True}
    for name, value in extra.items():
        merge = name in _MERGED and is_object(value)
        fields[name] = obj(fields.get(name)) | camel_keys(value) if merge else value
    written = fill_secrets(",".join(tools), conversation.tools)
    raw: dict[str, str] = {"tools": f"[{written}]"} if tools else {}
    if conversation.system:
        raw["systemInstruction"] = dumps(_system(conversation))
    found = _contents(conversation, target, bool(fields.get("cachedContent")))
    head = {"tools": ",".join(tools), "systemInstruction": conversation.system}
    prompt = Prompt({**head, **prefix_fields(fields, target)}, found)
    return Request(body.assemble(fields, {"contents": found.pieces}, **raw), prompt=prompt)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    data: dict[str, Any] = {"systemInstruction": _system(conversation)} if conversation.system else {}
    if tools := _tools(conversation, target):
        data["tools"] = [loads(tool) for tool in tools]
    return data | {"contents": body.parsed(_contents(conversation, target, False).pieces)}


def _system(conversation: Conversation) -> dict[str, Any]:
    return {"parts": [{"text": conversation.system}]}


def _contents(conversation: Conversation, target: Target, cached: bool) -> body.Messages:
    """The contents, separated by commas."""
    found = body.messages(
        conversation, target.key, lambda turn: segments(shown(turn, target), target), wrap, nothing=_NOTHING
    )
    # What is in the cache comes before.
    opening = "" if cached else body.opening(found.pieces, API)
    if not opening:
        return found
    first = wrap(body.Segment("user", dumps({"text": opening}).encode()))
    return replace(found, pieces=[first, b",", *found.pieces])


def _generation_config(target: Target, options: Options) -> dict[str, Any]:
    chosen = sampling(target, options)
    config: dict[str, Any] = {
        "maxOutputTokens": options.max_tokens,
        "temperature": chosen.get("temperature"),
        "topP": chosen.get("top_p"),
        "stopSequences": list(options.stop) or None,
        "thinkingConfig": _thinking(target, options),
        "responseMimeType": "application/json" if options.output_schema is not None else None,
        "responseJsonSchema": _answer_schema(target, options),
    }
    return {name: value for name, value in config.items() if value is not None}


def _answer_schema(target: Target, options: Options) -> dict[str, Any] | None:
    return None if options.output_schema is None else prepared_answer(answer_form(options.output_schema, target))


def _thinking(target: Target, options: Options) -> dict[str, Any] | None:
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
            return {"thinkingLevel": nearest_effort(target, word)}


def _tool_config(conversation: Conversation, target: Target, options: Options) -> dict[str, Any] | None:
    if options.parallel_tool_calls is False:
        raise OptionError(
            f"{target.provider} has no way to forbid `parallel_tool_calls`; leave the option out and run the calls one"
            " after the other"
        )
    if options.tool_choice is None:
        return None
    mode = _MODES.get(options.tool_choice)
    asked = (tool for tool in conversation.tools if tool.name == options.tool_choice and is_ours(tool.native, target))
    theirs = next((string(tool.native.data.get("name")) for tool in asked if tool.native), "")
    one = {"mode": "ANY", "allowedFunctionNames": [own_name(options.tool_choice, theirs, CALLED)]}
    return {"functionCallingConfig": {"mode": mode} if mode else one}


def _is_mixed(conversation: Conversation, target: Target) -> bool:
    """Return whether functions stand beside hosted tools, whose calls Google's own API then has to show."""
    hosted = any(tool.hosted for tool in conversation.tools)
    return hosted and target.provider == "google" and any(not tool.is_provider_defined for tool in conversation.tools)


def _tools(conversation: Conversation, target: Target) -> list[str]:
    """The tools: all functions are one entry, each of the provider's own tools is another."""
    key, tools = target.key, conversation.declared_tools
    functions = body.tools_json(conversation, tools, f"{key} functions", lambda tool: _function(tool, target))
    others = body.tools_json(conversation, tools, f"{key} others", lambda tool: _native_tool(tool, target))
    entries = [f'{{"functionDeclarations":[{functions}]}}'] if functions else []
    if not others:
        return entries
    first = tools[0]
    return [others, *entries] if _native_tool(first, target) is not None else [*entries, others]


def _function(tool: ToolSpec, target: Target) -> str | None:
    if tool.native and is_ours(tool.native, target):
        return dumps(with_own_name(tool.native.data, tool.name, CALLED)) if "name" in tool.native.data else None
    if tool.is_provider_defined:
        # A tool that another provider runs itself. What has parameters is a function and stays one everywhere.
        return None
    return dumps(declaration(tool.name, tool.description, tool.parameters))


def declaration(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """How a function is declared. One without arguments has no schema: an empty object is refused by some (G12)."""
    data: dict[str, Any] = {"name": name, "description": description}
    return data | {"parametersJsonSchema": prepared(parameters)} if parameters else data


def _native_tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.hosted:
        return hosted_json(tool, target)
    ours = tool.native is not None and is_ours(tool.native, target)
    return dumps(tool.native.data) if ours and tool.native and "name" not in tool.native.data else None
