"""Encoder of requests to Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from antiphon._base.json import encode_json, load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Audio,
    Conversation,
    Document,
    File,
    Image,
    Media,
    MediaPart,
    Note,
    OpaquePart,
    ProviderPayload,
    Reasoning,
    RequestHead,
    RequestHeads,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Update,
    Video,
)
from antiphon.wire import body
from antiphon.wire.anthropic import SPEC
from antiphon.wire.anthropic.hosted_tools import build_mcp_servers
from antiphon.wire.anthropic.thinking import (
    ThinkingBinding,
    choose_thinking_binding,
    drop_rejected_thinking,
    set_thinking_fields,
)
from antiphon.wire.hosted_tools import check_hosted_tools, encode_hosted_tool, find_deferred_tools
from antiphon.wire.media import find_copy, get_file_kind, is_pdf, replace_unsupported_media
from antiphon.wire.names_and_ids import choose_call_id, choose_tool_name, use_legal_name
from antiphon.wire.options import Options, Target, adapt_options, build_sampling_fields, check_forced_tool
from antiphon.wire.prompt import Prompt, extract_prefix_fields, format_new_instructions
from antiphon.wire.request import EncodedRequest, ThinkingBinder
from antiphon.wire.schema import prepare_output_schema

API = SPEC.name
#: A6: the call ids that the API accepts.
ID = re.compile(r"[A-Za-z0-9_-]+")
#: A8: the tool names that the API accepts.
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: The API requires a limit in every request.
DEFAULT_MAX_TOKENS = 16_000

_UNSHOWABLE_SEGMENT = body.MessageSegment("user", encode_json({"type": "text", "text": body.UNSHOWABLE_TEXT}).encode())
_CACHE_CONTROL = {"type": "ephemeral"}
#: From this number of calls on, their blocks exceed the distance that a cache mark looks back.
_MANY_CALLS = 8
_WEB_TOOLS = ("web_search_", "web_fetch_")
#: From this version on, code filters the results of web tools, unless only the model may call them.
_CODE_FILTER_SINCE = "20260209"


def path(target: Target, stream: bool) -> str:
    """Return the path of the request URL, below the base URL."""
    return target.get_path(stream) or "/v1/messages"


def encode(conversation: Conversation, target: Target, options: Options) -> EncodedRequest:
    """Return the request: its body and the headers that it needs."""
    options, heads = adapt_options(target, options), conversation.request_heads or conversation.heads
    active = heads.tools
    secrets = check_hosted_tools(active, target)
    most = target.facts.max_output or DEFAULT_MAX_TOKENS
    max_tokens = options.max_tokens or min(DEFAULT_MAX_TOKENS, most)
    version = target.profile.body_version
    fields: dict[str, Any] = {"anthropic_version": version} if version else {"model": target.model}
    fields |= {"max_tokens": max_tokens, **build_sampling_fields(target, options)}
    if options.stop:
        fields["stop_sequences"] = list(options.stop)
    if options.stream and not target.profile.body_betas:
        fields["stream"] = True
    mark = {**_CACHE_CONTROL, "ttl": options.cache} if isinstance(options.cache, str) else _CACHE_CONTROL
    head_mark = {**_CACHE_CONTROL, "ttl": options.head_cache} if options.head_cache else mark
    if options.cache:
        fields["cache_control"] = mark
    if options.compare_with.startswith("msg_"):
        fields["diagnostics"] = {"previous_message_id": options.compare_with}
    head = _build_head(heads, target)
    set_thinking_fields(fields, target, options, head.effort)
    if options.output_schema is not None:
        form = {"type": "json_schema", "schema": prepare_output_schema(options.output_schema, target)}
        fields["output_config"] = {**as_object(fields.get("output_config")), "format": form}
    key = target.key
    tools = _encode_tools(conversation, head, target, key)
    is_chosen = options.tool_choice is not None or options.parallel_tool_calls is not None
    if is_chosen and (tools or options.extra.get("tools")):
        fields["tool_choice"] = _encode_tool_choice(active, target, options)
    if servers := build_mcp_servers(active, target):
        fields["mcp_servers"] = servers
    fields |= options.extra
    if "thinking" in fields:
        drop_rejected_thinking(fields, conversation, target, lambda part: _encode_block(part, target) is not None)
    raw: dict[str, str] = {}
    if head.system:
        block: dict[str, Any] = {"type": "text", "text": head.system}
        raw["system"] = encode_json([block | {"cache_control": head_mark} if options.cache else block])
    if tools:
        # Without system text, the tools are the end of the constant prefix.
        is_marked = options.cache and not head.system
        raw["tools"] = f"[{_mark_last_block(tools, head_mark) if is_marked else tools}]"
    state = conversation.state.get(target.origin, {})
    if state and (container := _find_container_id(state)) and _declares_code_tool(active, target, options):
        fields.setdefault("container", container)
    binding = choose_thinking_binding(fields, state, target)
    messages = _encode_messages(conversation, head, tools, target, key, binding)
    prompt = Prompt({"tools": tools, "system": head.system, **extract_prefix_fields(fields, target)}, messages)
    last = conversation.turns[-1] if conversation.turns else None
    is_long = (
        isinstance(last, AssistantTurn) and len(last.calls) >= _MANY_CALLS and isinstance(last.parts[-1], ToolCall)
    )
    pieces = _add_lookback_mark(messages.pieces, mark) if options.cache and is_long else messages.pieces
    headers = _build_headers(active, heads.updates, target, binding)
    if target.profile.body_betas and headers:
        fields["anthropic_beta"] = [*as_array(fields.get("anthropic_beta")), *headers["anthropic-beta"].split(",")]
        headers = {}
    bind: ThinkingBinder = tuple
    if binding != "free":
        bind = lambda parts: body.bind_thinking(parts, messages, lambda turn: _encode_turn(turn, target, binding))  # noqa: E731
    return EncodedRequest(body.assemble_body(fields, {"messages": pieces}, **raw), headers, prompt, bind, secrets)


def _mark_last_block(blocks: str, mark: dict[str, str]) -> str:
    """Return the JSON of tools with the last of them marked for the cache; those that are deferred take no mark."""
    if '"defer_loading":true' not in blocks:
        return f'{blocks[:-1]},"cache_control":{encode_json(mark)}}}'
    tools: list[dict[str, Any]] = load_json(f"[{blocks}]")
    last = next((tool for tool in reversed(tools) if tool.get("defer_loading") is not True), None)
    if last is not None:
        last["cache_control"] = mark
    return encode_json(tools)[1:-1]


def _add_lookback_mark(pieces: body.BodyChunks, mark: dict[str, str]) -> body.BodyChunks:
    """Return messages that end with many calls and their results, with a cache mark on the last of the calls.

    The cache looks back only a limited number of blocks.
    """
    tail = bytes(pieces[-1]) if pieces else b""
    # Inside texts, quotes are escaped: this is where the assistant's message ends and the results begin.
    place = tail.rfind(b'}]},{"role":"user","content":[')
    if place < 0:
        return pieces
    return [*pieces[:-1], tail[:place] + f',"cache_control":{encode_json(mark)}'.encode() + tail[place:]]


def _find_container_id(state: Mapping[str, Any]) -> str:
    """Return the id of the container that the provider's tools work in, or ""."""
    return as_string(as_object(state.get("container")).get("id"))


def _declares_code_tool(tools: Sequence[ToolSpec], target: Target, options: Options) -> bool:
    """Return whether a tool that runs code is declared. The API rejects a container without one."""
    own = [_encode_tool(tool, target) for tool in tools if tool.native or tool.hosted]
    declared = [*(load_json(each) for each in own if each), *as_array(options.extra.get("tools"))]
    return any(_is_code_tool(as_object(tool)) for tool in declared)


def _is_code_tool(tool: dict[str, Any]) -> bool:
    """Return whether a tool is code execution, or a web tool whose results code filters."""
    kind = as_string(tool.get("type"))
    filters = kind.startswith(_WEB_TOOLS) and kind.rpartition("_")[2] >= _CODE_FILTER_SINCE
    return kind.startswith("code_execution_") or (filters and tool.get("allowed_callers") != ["direct"])


def _build_head(heads: RequestHeads, target: Target) -> RequestHead:
    """Return system text, tools and effort that precede the messages.

    They are those of the first request if the model accepts later changes in messages.
    """
    facts, first = target.facts, heads.first
    system = first.system if facts.mid_system == "yes" else heads.system
    tools = first.tools if facts.tool_change == "definitions" else heads.declared
    return RequestHead(system, tools, first.effort if facts.config_change == "effort_only" else None)


def _encode_tools(conversation: Conversation, head: RequestHead, target: Target, key: str) -> str:
    def encode_tool(tool: ToolSpec) -> str | None:
        return _encode_tool(tool, target, find_deferred_tools(head.tools, target))

    return body.encode_tools(conversation, head.tools, key, encode_tool)


def _build_headers(
    tools: Sequence[ToolSpec], updates: Sequence[Update], target: Target, binding: ThinkingBinding
) -> dict[str, str]:
    """Return the beta header that the body and the updates in its messages need."""
    facts = target.facts
    features = {
        "mcp": any(tool.hosted and tool.hosted.kind == "mcp" for tool in tools),
        "binding_controls": binding == "dropped_there",
        "inline_tools": facts.tool_change == "definitions" and any(each.added for each in updates),
        "tool_change": facts.tool_change == "definitions" and any(each.added or each.removed for each in updates),
        "effort_change": facts.config_change == "effort_only" and any(each.effort for each in updates),
    }
    betas = facts.betas or {}
    values = [betas[name] for name, is_used in features.items() if is_used and betas.get(name)]
    return {"anthropic-beta": ",".join(values)} if values else {}


def _encode_messages(
    conversation: Conversation, head: RequestHead, tools: str, target: Target, key: str, binding: ThinkingBinding
) -> body.EncodedMessages:
    # Thinking is bound to these too, not only to the messages.
    seed = (tools, head.system)
    return body.encode_messages(
        conversation,
        f"{key} {binding}",
        lambda turn: _encode_turn(replace_unsupported_media(turn, target), target, binding),
        _encode_message,
        seed,
        nothing=_UNSHOWABLE_SEGMENT,
    )


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """Return the conversation in this API's shape, as JSON data."""
    head = _build_head(conversation.heads, target)
    data: dict[str, Any] = {"system": head.system} if head.system else {}
    key = target.key
    tools = _encode_tools(conversation, head, target, key)
    if tools:
        data["tools"] = load_json(f"[{tools}]")
    binding = choose_thinking_binding({}, conversation.state.get(target.origin, {}), target)
    messages = _encode_messages(conversation, head, tools, target, key, binding)
    return data | {"messages": body.parse_chunks(messages.pieces)}


def _encode_tool_choice(tools: Sequence[ToolSpec], target: Target, options: Options) -> dict[str, Any]:
    kinds = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
    asked = options.tool_choice or "auto"
    if asked not in ("auto", "none"):
        check_forced_tool(target, options)
    choice: dict[str, Any] = dict(
        kinds.get(asked) or {"type": "tool", "name": _find_declared_name(tools, options, target)}
    )
    if options.parallel_tool_calls is not None and asked != "none":
        choice["disable_parallel_tool_use"] = not options.parallel_tool_calls
    return choice


def _find_declared_name(tools: Sequence[ToolSpec], options: Options, target: Target) -> str:
    """Return the name under which the forced tool is declared."""
    tool = next((tool for tool in tools if tool.name == options.tool_choice), None)
    if tool is None or tool.native is None or not _is_same_provider(tool.native, target):
        return options.tool_choice or ""
    return choose_tool_name(tool.name, tool.native.data.get("name"), NAME)


def _encode_tool(tool: ToolSpec, target: Target, deferred: Collection[str] = ()) -> str | None:
    if tool.hosted:
        return encode_hosted_tool(tool, target)
    if tool.native and _is_same_provider(tool.native, target):
        return encode_json(use_legal_name(tool.native.data, tool.name, NAME))
    if tool.is_provider_defined:
        return None
    schema: dict[str, Any] = {"type": "object", "properties": dict[str, Any](), **tool.parameters}
    # A23: no alternatives at the top. The properties of all of them are offered instead, none required.
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            for variant in as_array(schema.pop(word)):
                schema["properties"] = as_object(as_object(variant).get("properties")) | as_object(schema["properties"])
    described = {"description": tool.description} if tool.description else {}
    later = {"defer_loading": True} if tool.name in deferred else {}
    return encode_json({"name": tool.name, **described, "input_schema": schema, **later})


def _is_same_provider(native: ProviderPayload, target: Target) -> bool:
    return native.origin.api == API and native.origin.provider == target.provider


def _is_sendable(native: ProviderPayload, target: Target) -> bool:
    """Return whether the payload may be sent unchanged.

    A13: only newer models accept a system message among the others.
    """
    is_system = native.data.get("role") == "system"
    return _is_same_provider(native, target) and not (is_system and target.facts.mid_system == "no")


def _encode_message(segment: body.MessageSegment) -> bytes:
    if not segment.role:
        return segment.blocks
    return f'{{"role":"{segment.role}","content":['.encode() + segment.blocks + b"]}"


def _encode_turn(turn: Turn, target: Target, binding: ThinkingBinding) -> list[body.MessageSegment]:
    segments: list[body.MessageSegment] = []
    if isinstance(turn, AssistantTurn):
        for part in turn.parts:
            is_thinking = isinstance(part, Reasoning)
            block = None if is_thinking and binding == "left_out" else _encode_block(part, target)
            if block is not None:
                # A block whose position is unknown matches no prefix.
                bound = (part.bound or "-") if is_thinking and binding == "checked" else None
                segments.append(body.MessageSegment("assistant", block.encode(), bound=bound))
        calls = {call.id: call for call in turn.calls}
        results = [_encode_result(result, calls[result.call_id], target) for result in turn.results]
        return [*segments, body.MessageSegment("user", ",".join(results).encode())] if results else segments
    for part in turn.said:
        if isinstance(part, Update):
            segments += _encode_update(part, target)
        elif isinstance(part, Note):
            segments.append(_encode_note(part, target))
        elif (block := _encode_block(part, target)) is not None:
            whole = isinstance(part, OpaquePart) and "role" in part.native.data and _is_sendable(part.native, target)
            segments.append(body.MessageSegment("" if whole else "user", block.encode()))
    return segments


def _encode_note(note: Note, target: Target) -> body.MessageSegment:
    facts = target.facts
    # Directly after results, some models take a system message for tool output.
    if note.kind == "instruction" and facts.mid_system == "yes" and facts.system_after_result != "say_end_first":
        return body.MessageSegment("", encode_json({"role": "system", "content": note.text}).encode())
    return body.MessageSegment("user", encode_json({"type": "text", "text": note.text}).encode())


def _encode_update(update: Update, target: Target) -> list[body.MessageSegment]:
    """Return the system messages that announce a change of system text, tools or effort.

    Changes that the request's head already states need none.
    """
    facts, messages = target.facts, list[dict[str, Any]]()
    if facts.mid_system == "yes" and update.system is not None:
        messages.append({"role": "system", "content": format_new_instructions(update.system)})
    if facts.tool_change == "definitions" and (update.added or update.removed):
        blocks: list[dict[str, Any]] = [
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}} for name in update.removed
        ]
        declared = [load_json(text) for tool in update.added if (text := _encode_tool(tool, target)) is not None]
        blocks += [
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": each}} for each in declared
        ]
        messages.append({"role": "system", "content": blocks})
    if facts.config_change == "effort_only" and update.effort is not None:
        messages.append({"role": "system", "content": [], "output_config": {"effort": update.effort}})
    return [body.MessageSegment("", encode_json(message).encode()) for message in messages]


def _encode_block(part: MediaPart | AssistantPart, target: Target) -> str | None:
    """Return the JSON of a part as a content block, or None if this target cannot have it."""
    match part:
        case Reasoning():
            mine = part.native is not None and _can_read_thinking(part.native, target) and _is_signed(part.native.data)
            return encode_json(part.native.data) if mine and part.native else None
        case ToolCall():
            more = part.native.data if part.native and _is_same_provider(part.native, target) else {}
            rest = {k: v for k, v in more.items() if k not in ("type", "id", "name", "input")}
            id, name = part.id, part.name
            if more:
                id = choose_call_id(part, more.get("id"), ID)
                name = choose_tool_name(name, more.get("name"), NAME)
            tail = "," + encode_json(rest)[1:-1] if rest else ""
            # Neither ids nor names have characters that JSON escapes.
            return f'{{"type":"tool_use","id":"{id}","name":"{name}","input":{part.arguments_json}{tail}}}'
        case Text() if not part.text.strip():
            return None
        case Text() | OpaquePart() | Media() | ServerCall() | ServerResult() if part.native and _is_sendable(
            part.native, target
        ):
            return encode_json(part.native.data)
        case ServerCall() | ServerResult():
            # Another provider's part: the note about the change of model mentions it.
            return None
        case Text() | OpaquePart():
            return encode_json({"type": "text", "text": part.text}) if part.text.strip() else None
        case File():
            kind = "image" if get_file_kind(part) == "image" else "document"
            return encode_json({"type": kind, "source": {"type": "file", "file_id": part.id}})
        case Image():
            return encode_json({"type": "image", "source": _encode_source(part, target)})
        case Document():
            return encode_json(_encode_document(part, target))
        case Audio() | Video():
            # A line of text has taken its place.
            return None


def _can_read_thinking(native: ProviderPayload, target: Target) -> bool:
    """Return whether the model can read thinking of this origin: its own, or that of a compatible model."""
    origin = native.origin
    return origin.api == API and (
        origin.model == target.model or origin.model in (target.facts.reads_thinking_of or ())
    )


def _is_signed(thinking: dict[str, Any]) -> bool:
    """Return whether thinking has its signature. A17: without it the API rejects the request.

    Proxies and broken streams lose signatures.
    """
    signature: object = thinking.get("data" if thinking.get("type") == "redacted_thinking" else "signature")
    return isinstance(signature, str) and signature != ""


def _encode_source(part: Image | Document, target: Target) -> dict[str, str]:
    if (copy := find_copy(part, target)) is not None:
        return {"type": "file", "file_id": copy.id}
    if part.url:
        return {"type": "url", "url": part.url}
    if isinstance(part, Document) and not is_pdf(part):
        # The only type of text that the API knows.
        return {"type": "text", "media_type": "text/plain", "data": part.text}
    return {"type": "base64", "media_type": part.media_type, "data": part.data}


def _encode_document(document: Document, target: Target) -> dict[str, Any]:
    title = document.title or document.name
    return {
        "type": "document",
        **({"title": title} if title else {}),
        "source": _encode_source(document, target),
        **({"citations": {"enabled": True}} if document.citations else {}),
    }


def _encode_result(result: ToolResult, call: ToolCall, target: Target) -> str:
    called = call.native.data if call.native and _is_same_provider(call.native, target) else {}
    id = choose_call_id(call, called.get("id"), ID) if called else call.id
    if result.native and _is_same_provider(result.native, target):
        return encode_json(result.native.data | {"tool_use_id": id})
    content: Any = result.content
    if not isinstance(content, str):
        content = [load_json(block) for part in result.content if (block := _encode_block(part, target)) is not None]  # type: ignore[union-attr]
    if not content or (isinstance(content, str) and not content.strip()):
        content = "(no output)"
    data = {"type": "tool_result", "tool_use_id": id, "content": content}
    if called and (toolset := as_string(called.get("toolset_name"))):
        data["toolset_name"] = toolset
    return encode_json(data | {"is_error": True} if result.is_error else data)
