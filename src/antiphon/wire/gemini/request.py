"""A conversation as a request to Google's Gemini API."""

from __future__ import annotations

from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import obj, string
from antiphon.conversation import Conversation, ToolSpec
from antiphon.errors import OptionError
from antiphon.wire import body
from antiphon.wire.gemini.contents import API, CALLED, is_modern, is_ours, segments, wrap
from antiphon.wire.gemini.keys import camel, camel_keys, is_object
from antiphon.wire.gemini.schema import prepared, prepared_answer
from antiphon.wire.images import shown
from antiphon.wire.naming import own_name, with_own_name
from antiphon.wire.options import Options, Target, sampling

__all__ = ["API", "declaration", "encode", "history", "path"]

#: What Google's own bridge for OpenAI clients makes of the words, for models that know no levels.
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
_LEVELS = {"none": "minimal", "xhigh": "high", "max": "high"}
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


def encode(conversation: Conversation, target: Target, options: Options) -> bytes:
    """The request body."""
    extra = {camel(name): value for name, value in options.extra.items()}
    if is_object(extra.get("tools")):
        extra["tools"] = [extra["tools"]]
    tools = _tools(conversation, target)
    fields: dict[str, Any] = {}
    declared = bool(tools or extra.get("tools"))
    if options.output_schema is not None and declared and not is_modern(target.model):
        # G13: models before Gemini 3.
        raise OptionError(f"{target.model} cannot have `output_schema` and tools at once; leave one of them out")
    if config := _generation_config(target, options):
        fields["generationConfig"] = config
    if declared and (choice := _tool_config(conversation, target, options)):
        fields["toolConfig"] = choice
    for name, value in extra.items():
        merge = name in _MERGED and is_object(value)
        fields[name] = obj(fields.get(name)) | camel_keys(value) if merge else value
    raw: dict[str, str] = {"tools": f"[{','.join(tools)}]"} if tools else {}
    if conversation.system:
        raw["systemInstruction"] = dumps(_system(conversation))
    contents = _contents(conversation, target, bool(fields.get("cachedContent")))
    return body.assemble(fields, {"contents": contents}, **raw)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    data: dict[str, Any] = {"systemInstruction": _system(conversation)} if conversation.system else {}
    if tools := _tools(conversation, target):
        data["tools"] = [loads(tool) for tool in tools]
    return data | {"contents": body.parsed(_contents(conversation, target, False))}


def _system(conversation: Conversation) -> dict[str, Any]:
    return {"parts": [{"text": conversation.system}]}


def _contents(conversation: Conversation, target: Target, cached: bool) -> body.Pieces:
    """The contents, separated by commas."""
    pieces = body.messages(conversation, target.key, lambda turn: segments(shown(turn, target), target), wrap)
    # What is in the cache comes before.
    opening = "" if cached else body.opening(pieces, API)
    if not opening:
        return pieces
    return [wrap(body.Segment("user", dumps({"text": opening}).encode())), b",", *pieces]


def _generation_config(target: Target, options: Options) -> dict[str, Any]:
    chosen = sampling(target, options)
    config: dict[str, Any] = {
        "maxOutputTokens": options.max_tokens,
        "temperature": chosen.get("temperature"),
        "topP": chosen.get("top_p"),
        "stopSequences": list(options.stop) or None,
        "thinkingConfig": _thinking(target, options),
        "responseMimeType": "application/json" if options.output_schema is not None else None,
        "responseJsonSchema": prepared_answer(dict(options.output_schema))
        if options.output_schema is not None
        else None,
    }
    return {name: value for name, value in config.items() if value is not None}


def _thinking(target: Target, options: Options) -> dict[str, Any] | None:
    match options.reasoning:
        case None:
            return None
        case int(budget):
            return {"thinkingBudget": budget}
        case word if is_modern(target.model):
            return {"thinkingLevel": _LEVELS.get(word, word)}
        case word:
            # Models before Gemini 3 refuse a level; all of them take a budget.
            return {"thinkingBudget": _BUDGETS[word]}


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


def _tools(conversation: Conversation, target: Target) -> list[str]:
    """The tools: all functions are one entry, each of the provider's own tools is another."""
    functions = body.tools_json(conversation, f"{target.key} functions", lambda tool: _function(tool, target))
    others = body.tools_json(conversation, f"{target.key} others", lambda tool: _native_tool(tool, target))
    entries = [f'{{"functionDeclarations":[{functions}]}}'] if functions else []
    if not others:
        return entries
    first = conversation.tools[0]
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
    ours = tool.native is not None and is_ours(tool.native, target)
    return dumps(tool.native.data) if ours and tool.native and "name" not in tool.native.data else None
