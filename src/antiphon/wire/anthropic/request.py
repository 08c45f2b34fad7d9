"""A conversation as a request to Anthropic's Messages API."""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Conversation,
    Foreign,
    Image,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from antiphon.wire import body
from antiphon.wire.images import shown
from antiphon.wire.naming import own_id, own_name, with_own_name
from antiphon.wire.options import Options, Target, sampling
from antiphon.wire.rules.anthropic import model_version
from antiphon.wire.schema import closed

API = "anthropic"
#: A6: what the API takes as the id of a call.
ID = re.compile(r"[A-Za-z0-9_-]+")
#: A8: what it takes as the name of a tool.
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: The API wants a limit in every request.
DEFAULT_MAX_TOKENS = 16_000

_NOTHING = '{"type":"text","text":"(Content that only another provider can show.)"}'
_CACHE = {"type": "ephemeral"}


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Where requests go, below the base URL."""
    return "/v1/messages"


def encode(conversation: Conversation, target: Target, options: Options) -> bytes:
    """The request body."""
    fields: dict[str, Any] = {"model": target.model, "max_tokens": options.max_tokens or DEFAULT_MAX_TOKENS}
    fields |= sampling(target, options)
    if options.stop:
        fields["stop_sequences"] = list(options.stop)
    if options.stream:
        fields["stream"] = True
    if options.cache:
        fields["cache_control"] = _CACHE
    _ask_for_reasoning(fields, options)
    if options.output_schema is not None:
        form = {"type": "json_schema", "schema": closed(options.output_schema)}
        fields["output_config"] = {**obj(fields.get("output_config")), "format": form}
    tools = body.tools_json(conversation, target.key, lambda tool: _tool(tool, target))
    if (tools or options.extra.get("tools")) and (
        choice := _tool_choice(options, _declared_name(conversation, options, target))
    ):
        fields["tool_choice"] = choice
    fields |= options.extra
    _drop_impossible_thinking(fields, conversation, target)
    raw: dict[str, str] = {}
    if conversation.system:
        block: dict[str, Any] = {"type": "text", "text": conversation.system}
        raw["system"] = dumps([block | {"cache_control": _CACHE} if options.cache else block])
    if tools:
        raw["tools"] = f"[{tools}]"
    return body.assemble(fields, {"messages": _messages(conversation, target)}, **raw)


def _messages(conversation: Conversation, target: Target) -> body.Pieces:
    return body.messages(conversation, target.key, lambda turn: _segments(shown(turn, target), target), _message)


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    data: dict[str, Any] = {"system": conversation.system} if conversation.system else {}
    tools = body.tools_json(conversation, target.key, lambda tool: _tool(tool, target))
    if tools:
        data["tools"] = loads(f"[{tools}]")
    return data | {"messages": body.parsed(_messages(conversation, target))}


def _ask_for_reasoning(fields: dict[str, Any], options: Options) -> None:
    if isinstance(options.reasoning, int):
        fields["thinking"] = {"type": "enabled", "budget_tokens": options.reasoning}
        fields["max_tokens"] = max(fields["max_tokens"], options.reasoning + 1024)
    elif options.reasoning in ("none", "minimal"):
        fields["thinking"] = {"type": "disabled"}
    elif options.reasoning:
        fields["thinking"] = {"type": "adaptive"}
        fields["output_config"] = {"effort": options.reasoning}


def _tool_choice(options: Options, named: str) -> dict[str, Any] | None:
    kinds = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
    if options.tool_choice is None and options.parallel_tool_calls is None:
        return None
    asked = options.tool_choice or "auto"
    choice: dict[str, Any] = dict(kinds.get(asked, {"type": "tool", "name": named}))
    if options.parallel_tool_calls is not None and asked != "none":
        choice["disable_parallel_tool_use"] = not options.parallel_tool_calls
    return choice


def _declared_name(conversation: Conversation, options: Options, target: Target) -> str:
    """The name under which the tool that is to be called is declared."""
    tool = next((tool for tool in conversation.tools if tool.name == options.tool_choice), None)
    if tool is None or tool.native is None or not _is_ours(tool.native, target):
        return options.tool_choice or ""
    return own_name(tool.name, string(tool.native.data.get("name")), NAME)


def _drop_impossible_thinking(fields: dict[str, Any], conversation: Conversation, target: Target) -> None:
    """A thinking budget is refused (A20) with a forced tool, and (A15) when calls under way were made without it.

    Adaptive thinking is not: there the model itself decides. Nor do models since 4.6 mind the calls.
    """
    if obj(fields.get("thinking")).get("type") != "enabled":
        return
    forced = obj(fields.get("tool_choice")).get("type") in ("any", "tool")
    if forced or _calls_without_thinking(conversation, target):
        del fields["thinking"]


def _calls_without_thinking(conversation: Conversation, target: Target) -> bool:
    version = model_version(target.model)
    if version is not None and version >= (4, 6):
        return False
    # The model thinks at the start of a row of calls and not again before each of them.
    starts: list[AssistantPart] = []
    for turn in reversed(conversation.turns):
        if isinstance(turn, AssistantTurn):
            sent = [part for part in turn.parts if _block(part, target) is not None]
            if sent and not turn.calls:
                break
            starts += sent[:1]
    ordinary = starts and (isinstance(starts[0], Text | ToolCall) or not _native_block(starts[0], target))
    return bool(ordinary) and not any(isinstance(part, Reasoning) for part in starts)


def _native_block(part: AssistantPart, target: Target) -> bool:
    return part.native is not None and _is_ours(part.native, target)


def _tool(tool: ToolSpec, target: Target) -> str | None:
    if tool.native and _is_ours(tool.native, target):
        return dumps(with_own_name(tool.native.data, tool.name, NAME))
    if tool.is_provider_defined:
        return None
    schema: dict[str, Any] = {"type": "object", "properties": dict[str, Any](), **tool.parameters}
    # A23: no alternatives at the top. The properties of all of them are offered instead, none required.
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            for variant in arr(schema.pop(word)):
                schema["properties"] = obj(obj(variant).get("properties")) | obj(schema["properties"])
    described = {"description": tool.description} if tool.description else {}
    return dumps({"name": tool.name, **described, "input_schema": schema})


def _is_ours(native: Native, target: Target) -> bool:
    return native.origin.api == API and native.origin.provider == target.provider


def _is_taken(native: Native, target: Target) -> bool:
    """Whether it is ours and goes as it is. A13: only newer models take a system message in the conversation."""
    version = model_version(target.model)
    return _is_ours(native, target) and (native.data.get("role") != "system" or version is None or version >= (4, 8))


def _id(call: ToolCall, target: Target) -> str:
    theirs = call.native.data.get("id") if call.native and _is_ours(call.native, target) else ""
    return own_id(call, string(theirs), ID)


def _message(segment: body.Segment) -> bytes:
    if not segment.role:
        return segment.blocks
    return f'{{"role":"{segment.role}","content":['.encode() + segment.blocks + b"]}"


def _segments(turn: Turn, target: Target) -> list[body.Segment]:
    if isinstance(turn, AssistantTurn):
        blocks = [block for part in turn.parts if (block := _block(part, target)) is not None]
        ids = {call.id: _id(call, target) for call in turn.calls}
        results = [_result(result, ids[result.call_id], target) for result in turn.results]
        segments = [body.Segment("assistant", ",".join(blocks).encode())] if blocks else []
        return [*segments, body.Segment("user", ",".join(results).encode())] if results else segments
    segments: list[body.Segment] = []
    for part in turn.said:
        block = _block(part, target)
        if block is not None:
            whole = isinstance(part, Foreign) and "role" in part.native.data and _is_taken(part.native, target)
            segments.append(body.Segment("" if whole else "user", block.encode()))
    return segments or [body.Segment("user", _NOTHING.encode())]


def _block(part: Image | AssistantPart, target: Target) -> str | None:
    """The part as a content block, or nothing where this target cannot have it."""
    match part:
        case Reasoning():
            mine = part.native is not None and part.native.origin == target.origin and _is_signed(part.native.data)
            return dumps(part.native.data) if mine and part.native else None
        case ToolCall():
            more = part.native.data if part.native and _is_ours(part.native, target) else {}
            rest = {k: v for k, v in more.items() if k not in ("type", "id", "name", "input")}
            id, name = _id(part, target), own_name(part.name, string(more.get("name")), NAME)
            tail = "," + dumps(rest)[1:-1] if rest else ""
            return f'{{"type":"tool_use","id":"{id}","name":{dumps(name)},"input":{part.arguments_json}{tail}}}'
        case Text() if not part.text.strip():
            return None
        case Text() | Foreign() | Image() if part.native and _is_taken(part.native, target):
            return dumps(part.native.data)
        case Text() | Foreign():
            return dumps({"type": "text", "text": part.text}) if part.text.strip() else None
        case Image():
            return dumps({"type": "image", "source": _source(part)})


def _is_signed(thinking: dict[str, Any]) -> bool:
    """A17: thinking without its signature, which proxies and broken streams lose, is refused for good."""
    return bool(string(thinking.get("data" if thinking.get("type") == "redacted_thinking" else "signature")))


def _source(image: Image) -> dict[str, str]:
    if image.url:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": image.media_type, "data": image.data}


def _result(result: ToolResult, id: str, target: Target) -> str:
    if result.native and _is_ours(result.native, target):
        return dumps(result.native.data | {"tool_use_id": id})
    content: Any = result.content
    if not isinstance(content, str):
        content = [loads(block) for part in result.content if (block := _block(part, target)) is not None]  # type: ignore[union-attr]
    if not content or (isinstance(content, str) and not content.strip()):
        content = "(no output)"
    data = {"type": "tool_result", "tool_use_id": id, "content": content}
    return dumps(data | {"is_error": True} if result.is_error else data)
