"""A conversation as a request to Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from antiphon._json import dumps, loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Conversation,
    Foreign,
    Head,
    Image,
    Native,
    Note,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Update,
)
from antiphon.wire import body
from antiphon.wire.anthropic.thinking import Binding, ask_for_thinking, choose_binding, drop_impossible_thinking
from antiphon.wire.hosted_tools import check_hosted, deferred_names, hosted_json, mcp_servers
from antiphon.wire.images import shown
from antiphon.wire.naming import own_id, own_name, with_own_name
from antiphon.wire.options import Options, Target, check_forced_choice, fit_options, sampling
from antiphon.wire.prompt import Prompt, new_instructions, prefix_fields
from antiphon.wire.request import Bind, Request
from antiphon.wire.schema import answer_form

API = "anthropic"
#: A6: what the API takes as the id of a call.
ID = re.compile(r"[A-Za-z0-9_-]+")
#: A8: what it takes as the name of a tool.
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: The API wants a limit in every request.
DEFAULT_MAX_TOKENS = 16_000

_NOTHING = body.Segment("user", dumps({"type": "text", "text": body.NOTHING}).encode())
_CACHE = {"type": "ephemeral"}
#: So many calls with their results are more than a mark of the cache looks back.
_MANY_CALLS = 8
_WEB_TOOLS = ("web_search_", "web_fetch_")
#: Since this version code filters what web tools find, unless only the model may call them.
_FILTERING_SINCE = "20260209"


def path(target: Target, stream: bool) -> str:  # noqa: ARG001
    """Where requests go, below the base URL."""
    return "/v1/messages"


def encode(conversation: Conversation, target: Target, options: Options) -> Request:
    """Return the request: its body, and the headers that it needs."""
    options = fit_options(target, options)
    check_hosted(conversation.tools, target)
    most = target.facts.max_output or DEFAULT_MAX_TOKENS
    max_tokens = options.max_tokens or min(DEFAULT_MAX_TOKENS, most)
    fields: dict[str, Any] = {"model": target.model, "max_tokens": max_tokens, **sampling(target, options)}
    if options.stop:
        fields["stop_sequences"] = list(options.stop)
    if options.stream:
        fields["stream"] = True
    mark = {**_CACHE, "ttl": options.cache} if isinstance(options.cache, str) else _CACHE
    head_mark = {**_CACHE, "ttl": options.head_cache} if options.head_cache else mark
    if options.cache:
        fields["cache_control"] = mark
    if options.compare_with.startswith("msg_"):
        fields["diagnostics"] = {"previous_message_id": options.compare_with}
    head = _head(conversation, target)
    ask_for_thinking(fields, target, options, head.effort)
    if options.output_schema is not None:
        form = {"type": "json_schema", "schema": answer_form(options.output_schema, target)}
        fields["output_config"] = {**obj(fields.get("output_config")), "format": form}
    tools = _tools(conversation, head, target)
    if (tools or options.extra.get("tools")) and (choice := _tool_choice(conversation, target, options)):
        fields["tool_choice"] = choice
    if servers := mcp_servers(conversation.tools, target):
        fields["mcp_servers"] = servers
    fields |= options.extra
    drop_impossible_thinking(fields, conversation, target, lambda part: _block(part, target) is not None)
    raw: dict[str, str] = {}
    if head.system:
        block: dict[str, Any] = {"type": "text", "text": head.system}
        raw["system"] = dumps([block | {"cache_control": head_mark} if options.cache else block])
    if tools:
        # Where there is no system text, the end of the tools is the end of what never changes.
        is_marked = options.cache and not head.system
        raw["tools"] = f"[{_marked(tools, head_mark) if is_marked else tools}]"
    if (container := _container(conversation, target)) and _declares_code(conversation, target, options):
        fields.setdefault("container", container)
    binding = choose_binding(fields, conversation, target)
    messages = _messages(conversation, head, tools, target, binding)
    prompt = Prompt({"tools": tools, "system": head.system, **prefix_fields(fields, target)}, messages)
    pieces = _with_lookback_mark(conversation, messages.pieces, mark) if options.cache else messages.pieces
    body_bytes = body.assemble(fields, {"messages": pieces}, **raw)
    return Request(body_bytes, _headers(conversation, target, binding), prompt, _binder(messages, target, binding))


def _marked(blocks: str, mark: dict[str, str]) -> str:
    """Return the JSON of tools with the last of them marked for the cache; those that are deferred take no mark."""
    if '"defer_loading":true' not in blocks:
        return f'{blocks[:-1]},"cache_control":{dumps(mark)}}}'
    tools: list[dict[str, Any]] = loads(f"[{blocks}]")
    last = next((tool for tool in reversed(tools) if tool.get("defer_loading") is not True), None)
    if last is not None:
        last["cache_control"] = mark
    return dumps(tools)[1:-1]


def _with_lookback_mark(conversation: Conversation, pieces: body.Pieces, mark: dict[str, str]) -> body.Pieces:
    """Return the messages with the last of many new calls marked: the cache looks back only so many blocks."""
    last = conversation.turns[-1] if conversation.turns else None
    many = isinstance(last, AssistantTurn) and len(last.calls) >= _MANY_CALLS and isinstance(last.parts[-1], ToolCall)
    tail = bytes(pieces[-1]) if pieces else b""
    # Inside texts, quotes are escaped: this is where the assistant's message ends and the results begin.
    place = tail.rfind(b'}]},{"role":"user","content":[') if many else -1
    if place < 0:
        return pieces
    return [*pieces[:-1], tail[:place] + f',"cache_control":{dumps(mark)}'.encode() + tail[place:]]


def _container(conversation: Conversation, target: Target) -> str:
    """Return the id of the container that the provider's tools work in; it goes back as a plain text."""
    return string(obj(conversation.state.of(target.origin).get("container")).get("id"))


def _declares_code(conversation: Conversation, target: Target, options: Options) -> bool:
    """Return whether a tool that runs code is declared, without which a container is refused."""
    own = [_tool(tool, target) for tool in conversation.tools if tool.native or tool.hosted]
    declared = [*(loads(each) for each in own if each), *arr(options.extra.get("tools"))]
    return any(_runs_code(obj(tool)) for tool in declared)


def _runs_code(tool: dict[str, Any]) -> bool:
    """Return whether a tool is code execution, or a web tool whose results code filters."""
    kind = string(tool.get("type"))
    filters = kind.startswith(_WEB_TOOLS) and kind.rpartition("_")[2] >= _FILTERING_SINCE
    return kind.startswith("code_execution_") or (filters and tool.get("allowed_callers") != ["direct"])


def _head(conversation: Conversation, target: Target) -> Head:
    """Return what stands before the messages: what did so at first, where the model can be told of later changes."""
    facts, first = target.facts, conversation.head
    system = first.system if facts.mid_system == "yes" else conversation.system
    tools = first.tools if facts.tool_change == "definitions" else conversation.declared_tools
    return Head(system, tools, first.effort if facts.config_change == "effort_only" else None)


def _tools(conversation: Conversation, head: Head, target: Target) -> str:
    deferred = deferred_names(head.tools, target)
    return body.tools_json(conversation, head.tools, target.key, lambda tool: _tool(tool, target, deferred))


def _headers(conversation: Conversation, target: Target, binding: Binding) -> dict[str, str]:
    """Return the betas that the body and the updates in its messages need."""
    facts = target.facts
    features = {
        "mcp": any(tool.hosted and tool.hosted.kind == "mcp" for tool in conversation.tools),
        "binding_controls": binding == "dropped_there",
        "inline_tools": facts.tool_change == "definitions" and any(each.added for each in conversation.updates),
        "tool_change": facts.tool_change == "definitions"
        and any(each.added or each.removed for each in conversation.updates),
        "effort_change": facts.config_change == "effort_only" and any(each.effort for each in conversation.updates),
    }
    betas = facts.betas or {}
    values = [betas[name] for name, is_used in features.items() if is_used and betas.get(name)]
    return {"anthropic-beta": ",".join(values)} if values else {}


def _binder(messages: body.Messages, target: Target, binding: Binding) -> Bind:
    if binding == "free":
        return tuple
    return lambda parts: body.bind(parts, messages, lambda turn: _segments(turn, target, binding))


def _messages(conversation: Conversation, head: Head, tools: str, target: Target, binding: Binding) -> body.Messages:
    # What thinking is bound to besides the messages.
    seed = (tools, head.system)
    return body.messages(
        conversation,
        f"{target.key} {binding}",
        lambda turn: _segments(shown(turn, target), target, binding),
        _message,
        seed,
        nothing=_NOTHING,
    )


def history(conversation: Conversation, target: Target) -> dict[str, Any]:
    """The conversation in this API's shape, as data."""
    head = _head(conversation, target)
    data: dict[str, Any] = {"system": head.system} if head.system else {}
    tools = _tools(conversation, head, target)
    if tools:
        data["tools"] = loads(f"[{tools}]")
    binding = choose_binding({}, conversation, target)
    return data | {"messages": body.parsed(_messages(conversation, head, tools, target, binding).pieces)}


def _tool_choice(conversation: Conversation, target: Target, options: Options) -> dict[str, Any] | None:
    kinds = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
    if options.tool_choice is None and options.parallel_tool_calls is None:
        return None
    asked = options.tool_choice or "auto"
    if asked not in ("auto", "none"):
        check_forced_choice(target, options)
    choice: dict[str, Any] = dict(
        kinds.get(asked) or {"type": "tool", "name": _declared_name(conversation, options, target)}
    )
    if options.parallel_tool_calls is not None and asked != "none":
        choice["disable_parallel_tool_use"] = not options.parallel_tool_calls
    return choice


def _declared_name(conversation: Conversation, options: Options, target: Target) -> str:
    """The name under which the tool that is to be called is declared."""
    tool = next((tool for tool in conversation.tools if tool.name == options.tool_choice), None)
    if tool is None or tool.native is None or not _is_ours(tool.native, target):
        return options.tool_choice or ""
    return own_name(tool.name, string(tool.native.data.get("name")), NAME)


def _tool(tool: ToolSpec, target: Target, deferred: Collection[str] = ()) -> str | None:
    if tool.hosted:
        return hosted_json(tool, target)
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
    later = {"defer_loading": True} if tool.name in deferred else {}
    return dumps({"name": tool.name, **described, "input_schema": schema, **later})


def _is_ours(native: Native, target: Target) -> bool:
    return native.origin.api == API and native.origin.provider == target.provider


def _is_taken(native: Native, target: Target) -> bool:
    """Return whether it is ours and goes as it is. A13: only newer models take a system message among the others."""
    is_system = native.data.get("role") == "system"
    return _is_ours(native, target) and not (is_system and target.facts.mid_system == "no")


def _id(call: ToolCall, target: Target) -> str:
    theirs = call.native.data.get("id") if call.native and _is_ours(call.native, target) else ""
    return own_id(call, string(theirs), ID)


def _message(segment: body.Segment) -> bytes:
    if not segment.role:
        return segment.blocks
    return f'{{"role":"{segment.role}","content":['.encode() + segment.blocks + b"]}"


def _segments(turn: Turn, target: Target, binding: Binding) -> list[body.Segment]:
    if isinstance(turn, AssistantTurn):
        segments = [segment for part in turn.parts if (segment := _answered(part, target, binding)) is not None]
        calls = {call.id: call for call in turn.calls}
        results = [_result(result, calls[result.call_id], target) for result in turn.results]
        return [*segments, body.Segment("user", ",".join(results).encode())] if results else segments
    segments: list[body.Segment] = []
    for part in turn.said:
        if isinstance(part, Update):
            segments += _update_segments(part, target)
        elif isinstance(part, Note):
            segments.append(_note_segment(part, target))
        elif (block := _block(part, target)) is not None:
            whole = isinstance(part, Foreign) and "role" in part.native.data and _is_taken(part.native, target)
            segments.append(body.Segment("" if whole else "user", block.encode()))
    return segments


def _answered(part: AssistantPart, target: Target, binding: Binding) -> body.Segment | None:
    block = _block(part, target)
    if block is None or (binding == "left_out" and isinstance(part, Reasoning)):
        return None
    # A block that nobody knows the place of fits nowhere.
    bound = (part.bound or "-") if isinstance(part, Reasoning) and binding == "checked" else None
    return body.Segment("assistant", block.encode(), bound=bound)


def _note_segment(note: Note, target: Target) -> body.Segment:
    facts = target.facts
    # Right behind results, a system message may be taken for tool output by models that want the end of them said.
    if note.kind == "instruction" and facts.mid_system == "yes" and facts.system_after_result != "say_end_first":
        return body.Segment("", dumps({"role": "system", "content": note.text}).encode())
    return body.Segment("user", dumps({"type": "text", "text": note.text}).encode())


def _update_segments(update: Update, target: Target) -> list[body.Segment]:
    """Return the system messages that tell of a change; none for what the head of the request says."""
    facts, messages = target.facts, list[dict[str, Any]]()
    if facts.mid_system == "yes" and update.system is not None:
        messages.append({"role": "system", "content": new_instructions(update.system)})
    if facts.tool_change == "definitions" and (update.added or update.removed):
        blocks: list[dict[str, Any]] = [
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}} for name in update.removed
        ]
        declared = [loads(text) for tool in update.added if (text := _tool(tool, target)) is not None]
        blocks += [
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": each}} for each in declared
        ]
        messages.append({"role": "system", "content": blocks})
    if facts.config_change == "effort_only" and update.effort is not None:
        messages.append({"role": "system", "content": [], "output_config": {"effort": update.effort}})
    return [body.Segment("", dumps(message).encode()) for message in messages]


def _block(part: Image | AssistantPart, target: Target) -> str | None:
    """The part as a content block, or nothing where this target cannot have it."""
    match part:
        case Reasoning():
            mine = part.native is not None and _reads(part.native, target) and _is_signed(part.native.data)
            return dumps(part.native.data) if mine and part.native else None
        case ToolCall():
            more = part.native.data if part.native and _is_ours(part.native, target) else {}
            rest = {k: v for k, v in more.items() if k not in ("type", "id", "name", "input")}
            id, name = _id(part, target), own_name(part.name, string(more.get("name")), NAME)
            tail = "," + dumps(rest)[1:-1] if rest else ""
            return f'{{"type":"tool_use","id":"{id}","name":{dumps(name)},"input":{part.arguments_json}{tail}}}'
        case Text() if not part.text.strip():
            return None
        case Text() | Foreign() | Image() | ServerCall() | ServerResult() if part.native and _is_taken(
            part.native, target
        ):
            return dumps(part.native.data)
        case ServerCall() | ServerResult():
            # Another provider's: the note at the switch tells of it.
            return None
        case Text() | Foreign():
            return dumps({"type": "text", "text": part.text}) if part.text.strip() else None
        case Image():
            return dumps({"type": "image", "source": _source(part)})


def _reads(native: Native, target: Target) -> bool:
    """Return whether the model can read thinking of this origin: its own, on any platform, and that of its like."""
    origin = native.origin
    return origin.api == API and (
        origin.model == target.model or origin.model in (target.facts.reads_thinking_of or ())
    )


def _is_signed(thinking: dict[str, Any]) -> bool:
    """A17: thinking without its signature, which proxies and broken streams lose, is refused for good."""
    return bool(string(thinking.get("data" if thinking.get("type") == "redacted_thinking" else "signature")))


def _source(image: Image) -> dict[str, str]:
    if image.url:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": image.media_type, "data": image.data}


def _result(result: ToolResult, call: ToolCall, target: Target) -> str:
    id = _id(call, target)
    if result.native and _is_ours(result.native, target):
        return dumps(result.native.data | {"tool_use_id": id})
    content: Any = result.content
    if not isinstance(content, str):
        content = [loads(block) for part in result.content if (block := _block(part, target)) is not None]  # type: ignore[union-attr]
    if not content or (isinstance(content, str) and not content.strip()):
        content = "(no output)"
    data = {"type": "tool_result", "tool_use_id": id, "content": content}
    called = call.native.data if call.native and _is_ours(call.native, target) else {}
    if toolset := string(called.get("toolset_name")):
        data["toolset_name"] = toolset
    return dumps(data | {"is_error": True} if result.is_error else data)
