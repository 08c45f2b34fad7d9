"""Encoder of turns as input items of the Responses API."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from antiphon._base.json import dump_json, encode_json, load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Audio,
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
    UserTurn,
    Video,
)
from antiphon.conversation.turns import AttributedPart
from antiphon.wire import body
from antiphon.wire.files import make_upload_name
from antiphon.wire.hosted_tools import encode_hosted_tool
from antiphon.wire.media import find_copy, fits_in_result, get_file_kind
from antiphon.wire.names_and_ids import choose_call_id, choose_tool_name, use_legal_name
from antiphon.wire.openai_responses import client_calls as calls
from antiphon.wire.openai_responses.item_rules import API, ItemRules, get_item_type
from antiphon.wire.options import Options, Target, choose_effort
from antiphon.wire.prompt import format_new_instructions
from antiphon.wire.schema import is_strict_schema, prepare_output_schema

_NO_OUTPUT = "(no output)"
_SEE_FILES = "(see the files that follow)"
RESPONSES_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: R8: the call ids that the API accepts.
CALL_ID = re.compile(r".{1,64}", re.DOTALL)


def encode_turn_items(turn: Turn, terms: ItemRules) -> list[body.MessageSegment]:
    """Return the segments of a turn. Only user content of adjacent turns is merged into one message."""
    if isinstance(turn, UserTurn):
        return [segment for part in turn.said for segment in _encode_user_part(part, terms)]
    called = {call.id: call for call in turn.calls}
    results = [_encode_result(result, called[result.call_id], terms) for result in turn.results]
    # A call is sent in its own form only if its result is too.
    plain = {result.call_id for result, sent in zip(turn.results, results, strict=True) if _is_function_output(sent)}
    items = [*_encode_assistant(turn, plain, terms), *results]
    behind = [each for result in turn.results for each in _encode_media_behind(result, called[result.call_id], terms)]
    return [*(body.MessageSegment("", encode_json(item).encode()) for item in items), *behind]


def encode_item(segment: body.MessageSegment) -> bytes:
    """Return the JSON of a finished segment as an item."""
    if not segment.role:
        return segment.blocks
    return f'{{"role":"{segment.role}","content":['.encode() + segment.blocks + b"]}"


def _encode_user_block(block: dict[str, Any]) -> body.MessageSegment:
    return body.MessageSegment("user", encode_json(block).encode())


def is_content_block(data: Mapping[str, Any]) -> bool:
    """Return whether the data is a piece of a message or output, not an item."""
    return as_string(data.get("type")).startswith("input_")


def _encode_user_part(part: AttributedPart, terms: ItemRules) -> list[body.MessageSegment]:
    match part:
        case Note():
            if part.kind == "instruction" and terms.target.facts.mid_system == "yes":
                return [_encode_developer_message(part.text)]
            return [_encode_user_block({"type": "input_text", "text": part.text})]
        case Update():
            return _encode_update(part, terms.target)
        case _:
            return [_encode_user_segment(part, terms)] if _is_encodable(part, terms) else []


def _encode_developer_message(text: str) -> body.MessageSegment:
    return body.MessageSegment("", encode_json({"role": "developer", "content": text}).encode())


def _encode_update(update: Update, target: Target) -> list[body.MessageSegment]:
    """Return the items that announce a change of tools, system text, effort or format.

    Changes that the request's head already states need none.
    """
    facts, found = target.facts, list[body.MessageSegment]()
    if facts.tool_change == "items" and update.added:
        tools = [load_json(text) for tool in update.added if (text := encode_responses_tool(tool, target)) is not None]
        item = {"type": "additional_tools", "role": "developer", "tools": tools}
        found.append(body.MessageSegment("", encode_json(item).encode()))
    if facts.mid_system == "yes" and update.system is not None:
        found.append(_encode_developer_message(format_new_instructions(update.system)))
    change: dict[str, Any] = {}
    if facts.config_change in ("items", "effort_only") and update.effort is not None:
        change["reasoning"] = {"effort": update.effort}
    if facts.config_change == "items" and update.form is not None:
        change["text"] = {"format": encode_answer_format(update.form, target) if update.form else {"type": "text"}}
    if change:
        found.append(body.MessageSegment("", dump_json({"type": "configuration_update", **change}).encode()))
    return found


def build_head(heads: RequestHeads, target: Target, options: Options) -> RequestHead:
    """Return system text, tools, effort and format that precede the input.

    They are those of the first request if the model accepts later changes as items.
    """
    facts, first = target.facts, heads.first
    asked = choose_effort(target, options.reasoning) if isinstance(options.reasoning, str) else None
    form = dict(options.output_schema) if options.output_schema is not None else None
    can_change_effort = facts.config_change in ("items", "effort_only")
    return RequestHead(
        first.system if facts.mid_system == "yes" else heads.system,
        first.tools if facts.tool_change == "items" else heads.declared,
        first.effort if can_change_effort and first.effort is not None else asked,
        first.form if facts.config_change == "items" and first.form is not None else form,
    )


def encode_answer_format(schema: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return the `format` field for answers that match a schema."""
    form = prepare_output_schema(schema, target)
    return {"type": "json_schema", "name": "answer", "schema": form, "strict": is_strict_schema(form, target)}


def _is_encodable(part: Text | MediaPart | OpaquePart, terms: ItemRules) -> bool:
    return not isinstance(part, OpaquePart) or terms.can_send(part) or bool(part.text.strip())


def _encode_user_segment(part: Text | MediaPart | OpaquePart, terms: ItemRules) -> body.MessageSegment:
    if isinstance(part, OpaquePart) and terms.can_send(part) and not is_content_block(part.native.data):
        return body.MessageSegment("", encode_json(part.native.data).encode())
    return _encode_user_block(_encode_content(part, terms))


def _encode_content(part: Text | MediaPart | OpaquePart, terms: ItemRules) -> dict[str, Any]:
    """Return a part as a piece of a user's message or of a function's output."""
    match part:
        case Text() | Media() if is_content_block(data := terms.ours(part.native) or {}):
            return data
        case Image():
            if (copy := find_copy(part, terms.target)) is not None:
                return {"type": "input_image", "file_id": copy.id, "detail": "auto"}
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case File() if get_file_kind(part) == "image":
            return {"type": "input_image", "file_id": part.id, "detail": "auto"}
        case File():
            return {"type": "input_file", "file_id": part.id}
        case Document() | Audio() | Video():
            return _encode_file(part, terms.target)
        case OpaquePart() if terms.can_send(part):
            return part.native.data
        case Text() | OpaquePart():
            return {"type": "input_text", "text": part.text}


def _encode_file(part: Media, target: Target) -> dict[str, Any]:
    if (copy := find_copy(part, target)) is not None:
        return {"type": "input_file", "file_id": copy.id}
    if part.url:
        return {"type": "input_file", "file_url": part.url}
    data = f"data:{part.media_type};base64,{part.data}"
    return {"type": "input_file", "filename": make_upload_name(part), "file_data": data}


def _is_function_output(output: dict[str, Any]) -> bool:
    return get_item_type(output) == "function_call_output"


def _encode_assistant(turn: AssistantTurn, plain: set[str], terms: ItemRules) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for part in reversed(turn.parts):
        own = _encode_client_call(part, terms) if isinstance(part, ToolCall) and part.id not in plain else None
        item = own or _encode_part(part, terms)
        if item is None:
            continue
        # R3: reasoning is sent only with the item it led to. Read from the end, that is the last item found.
        if isinstance(part, Reasoning) and not any(
            _may_follow_reasoning(follower, terms) for follower in _last_non_reasoning(items)
        ):
            continue
        items.append(item)
    return items[::-1]


def _last_non_reasoning(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if get_item_type(item) != "reasoning"][-1:]


def _may_follow_reasoning(item: dict[str, Any], terms: ItemRules) -> bool:
    kind = get_item_type(item)
    if kind != "message":
        return not kind.endswith("_call_output") and kind != "mcp_approval_response"
    # A server that stored the original message rejects plain text instead of it.
    return not terms.stored or "id" in item or not isinstance(item.get("content"), str)


def _encode_part(part: AssistantPart, terms: ItemRules) -> dict[str, Any] | None:
    """Return the part as an item, or None if this target cannot have it."""
    match part:
        case Reasoning():
            return _encode_reasoning(part, terms)
        case ToolCall():
            return _encode_function_call(part, terms)
        case OpaquePart() if terms.can_send(part) and not is_content_block(part.native.data):
            return part.native.data
        case ServerCall() | ServerResult():
            return part.native.data if part.native and terms.can_send(part) else None
        case Text() if (data := terms.ours(part.native) or {}).get("role") == "assistant":
            return _encode_own_text(part, data, terms)
        case Text() | OpaquePart():
            return {"role": "assistant", "content": part.text} if part.text.strip() else None


def _encode_reasoning(part: Reasoning, terms: ItemRules) -> dict[str, Any] | None:
    if part.native is None or part.native.origin != terms.target.origin:
        return None
    data = part.native.data
    # R11: reasoning that the server did not store must carry its content.
    if not data.get("encrypted_content") and not terms.stored:
        return None
    if as_string(data.get("id")) not in terms.repeated:
        return data
    # R9: repeated ids must be dropped, which is possible only if the server does not look items up by id.
    return None if terms.stored else {k: v for k, v in data.items() if k != "id"}


def _encode_own_text(part: Text, data: dict[str, Any], terms: ItemRules) -> dict[str, Any] | None:
    if part.native and (terms.can_keep_id(part.native, "msg") or (terms.stored and "id" not in data)):
        return data
    if not part.text.strip():
        return None
    blocks = [as_object(block) for block in as_array(data.get("content"))]
    if all(block.get("type") == "output_text" and not block.get("annotations") for block in blocks):
        # Output messages are documented only with an id; use the short form for those without.
        phase = {"phase": data["phase"]} if data.get("phase") else {}
        return {"role": "assistant", "content": part.text, **phase}
    return {k: v for k, v in data.items() if k not in ("id", "status")}


def _encode_client_call(call: ToolCall, terms: ItemRules) -> dict[str, Any] | None:
    """Return a call that is no function call, in its original form, or None."""
    data = terms.ours(call.native)
    if data is None or not calls.is_client_call(data, terms.target.provider):
        return None
    kept = {k: v for k, v in data.items() if k != "id" or as_string(v) not in terms.repeated}
    return kept | {"call_id": choose_call_id(call, data.get("call_id"), CALL_ID)}


def _encode_function_call(call: ToolCall, terms: ItemRules) -> dict[str, Any]:
    own = terms.ours(call.native) or {}
    data = own if own and get_item_type(own) == "function_call" else {}
    name = choose_tool_name(call.name, data.get("name"), RESPONSES_TOOL_NAME)
    item: dict[str, Any] = {
        "type": "function_call",
        "call_id": choose_call_id(call, own.get("call_id"), CALL_ID),
        "name": name,
        "arguments": call.arguments_json,
    }
    left_out = ["id", "status"]
    if call.native and terms.can_keep_id(call.native, "fc") and data.get("call_id") == item["call_id"]:
        left_out.remove("id")
    if terms.stored and data.get("status") in (None, "completed") and "_malformed" not in call.arguments:
        left_out.remove("status")
    return item | {k: v for k, v in data.items() if k not in item and k not in left_out}


def _encode_result(result: ToolResult, call: ToolCall, terms: ItemRules) -> dict[str, Any]:
    called = terms.ours(call.native) or {}
    id = choose_call_id(call, called.get("call_id"), CALL_ID)
    if result.native and (data := terms.ours(result.native)) is not None:
        kept = data if terms.can_keep_id(result.native, "fc") else {k: v for k, v in data.items() if k != "id"}
        return kept | {"call_id": id}
    if called and (own_call := _encode_client_call(call, terms)):
        text = ("Error: " if result.is_error else "") + (result.text if result.text.strip() else _NO_OUTPUT)
        if (own := calls.encode_client_output(own_call, id, result, text)) is not None:
            return own
    # The result of a program's call is returned to that program.
    caller = {"caller": called["caller"]} if called.get("caller") else {}
    return {"type": "function_call_output", "call_id": id, "output": _encode_output(result, terms), **caller}


def _encode_output(result: ToolResult, terms: ItemRules) -> str | list[dict[str, Any]]:
    # The API has no error flag, so the text states it.
    mark = "Error: " if result.is_error else ""
    if isinstance(result.content, str):
        return mark + (result.content if result.content.strip() else _NO_OUTPUT)
    parts = [
        part
        for part in result.content
        if (fits_in_result(part, terms.target) if isinstance(part, MediaPart) else part.text.strip() or part.native)
    ]
    if not parts and result.content and not mark:
        return _SEE_FILES
    blocks = [_encode_content(part, terms) for part in parts if _is_encodable(part, terms)]
    if not blocks:
        return mark + _NO_OUTPUT
    if not mark:
        return blocks
    first = as_string(blocks[0].get("text")) if blocks[0].get("type") == "input_text" else ""
    return [{"type": "input_text", "text": mark + (first or "the tool failed")}, *blocks[1 if first else 0 :]]


def _encode_media_behind(result: ToolResult, call: ToolCall, terms: ItemRules) -> list[body.MessageSegment]:
    """Return the files of a result that outputs cannot hold, as content of the user."""
    own = result.native is not None and terms.ours(result.native) is not None
    media = [part for part in result.parts if isinstance(part, MediaPart) and not fits_in_result(part, terms.target)]
    if own or not media:
        return []
    intro = {"type": "input_text", "text": f"[What `{call.name}` returned:]"}
    return [_encode_user_block(block) for block in (intro, *(_encode_content(part, terms) for part in media))]


# Tools and forms


def is_responses_payload(native: ProviderPayload, target: Target) -> bool:
    """Return whether the payload came from the same provider's Responses API."""
    return native.origin.api == API and native.origin.provider == target.provider


def encode_responses_tool(tool: ToolSpec, target: Target, deferred: Collection[str] = ()) -> str | None:
    """Return the JSON declaration of a tool, or None if another provider runs it."""
    if tool.hosted:
        return encode_hosted_tool(tool, target)
    if tool.native and is_responses_payload(tool.native, target):
        return encode_json(use_legal_name(tool.native.data, tool.name, RESPONSES_TOOL_NAME))
    # Another provider's server tool has no schema to call it with; its functions have.
    if tool.is_provider_defined:
        return None
    return encode_json(declare_responses_function(tool) | ({"defer_loading": True} if tool.name in deferred else {}))


def declare_responses_function(tool: ToolSpec) -> dict[str, Any]:
    """Return the declaration of a plain function."""
    schema: dict[str, Any] = {"type": "object", "properties": dict[str, Any]()} | tool.parameters
    # The API rejects alternatives at the top level. Declare the properties of all of them, none required.
    for word in ("anyOf", "oneOf", "allOf"):
        for variant in as_array(schema.pop(word, None)):
            schema["properties"] = as_object(as_object(variant).get("properties")) | as_object(schema["properties"])
    described = {"description": tool.description} if tool.description else {}
    # Without `strict: false` the API rewrites the schema to its strict form.
    return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": False}
