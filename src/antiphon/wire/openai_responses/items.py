"""Turns as input items of the Responses API."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
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
    UserTurn,
)
from antiphon.wire import body
from antiphon.wire.hosted_tools import hosted_json
from antiphon.wire.naming import own_id, own_name, with_own_name
from antiphon.wire.openai_responses import calls
from antiphon.wire.openai_responses.terms import API, Terms, kind_of
from antiphon.wire.options import Options, Target, nearest_effort
from antiphon.wire.prompt import new_instructions
from antiphon.wire.schema import answer_form, is_strict

_NO_OUTPUT = "(no output)"
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
#: R8: what the API takes as the id of a call.
CALL_ID = re.compile(r".{1,64}", re.DOTALL)


def segments(turn: Turn, terms: Terms) -> list[body.Segment]:
    """A turn's items. Only what a user says in neighbouring turns becomes one message."""
    if isinstance(turn, UserTurn):
        return [segment for part in turn.said for segment in _user_segments(part, terms)]
    called = {call.id: call for call in turn.calls}
    results = [_result(result, called[result.call_id], terms) for result in turn.results]
    # A call goes in its own form where its result has one too.
    plain = {result.call_id for result, sent in zip(turn.results, results, strict=True) if _is_functions(sent)}
    items = [*_assistant_items(turn, plain, terms), *results]
    return [body.Segment("", dumps(item).encode()) for item in items]


def message(segment: body.Segment) -> bytes:
    """A finished segment as an item."""
    if not segment.role:
        return segment.blocks
    return f'{{"role":"{segment.role}","content":['.encode() + segment.blocks + b"]}"


def _user(block: dict[str, Any]) -> body.Segment:
    return body.Segment("user", dumps(block).encode())


def is_content(data: Mapping[str, Any]) -> bool:
    """Whether this is a piece of a message or of an output, not an item of its own."""
    return string(data.get("type")).startswith("input_")


def _user_segments(part: Text | Image | Foreign | Note | Update, terms: Terms) -> list[body.Segment]:
    match part:
        case Note():
            if part.kind == "instruction" and terms.target.facts.mid_system == "yes":
                return [_developer(part.text)]
            return [_user({"type": "input_text", "text": part.text})]
        case Update():
            return _update_segments(part, terms.target)
        case _:
            return [_user_segment(part, terms)] if _has_form(part, terms) else []


def _developer(text: str) -> body.Segment:
    return body.Segment("", dumps({"role": "developer", "content": text}).encode())


def _update_segments(update: Update, target: Target) -> list[body.Segment]:
    """Return the items that tell of a change; none for what the head of the request says."""
    facts, found = target.facts, list[body.Segment]()
    if facts.tool_change == "items" and update.added:
        tools = [loads(text) for tool in update.added if (text := tool_json(tool, target)) is not None]
        item = {"type": "additional_tools", "role": "developer", "tools": tools}
        found.append(body.Segment("", dumps(item).encode()))
    if facts.mid_system == "yes" and update.system is not None:
        found.append(_developer(new_instructions(update.system)))
    change: dict[str, Any] = {}
    if facts.config_change in ("items", "effort_only") and update.effort is not None:
        change["reasoning"] = {"effort": update.effort}
    if facts.config_change == "items" and update.form is not None:
        change["text"] = {"format": form_data(update.form, target) if update.form else {"type": "text"}}
    if change:
        found.append(body.Segment("", dumps({"type": "configuration_update", **change}).encode()))
    return found


def head_of(conversation: Conversation, target: Target, options: Options) -> Head:
    """Return what stands before the input: what did so at first, where the model can be told of later changes."""
    facts, first = target.facts, conversation.head
    asked = nearest_effort(target, options.reasoning) if isinstance(options.reasoning, str) else None
    form = dict(options.output_schema) if options.output_schema is not None else None
    can_change_effort = facts.config_change in ("items", "effort_only")
    return Head(
        first.system if facts.mid_system == "yes" else conversation.system,
        first.tools if facts.tool_change == "items" else conversation.declared_tools,
        first.effort if can_change_effort and first.effort is not None else asked,
        first.form if facts.config_change == "items" and first.form is not None else form,
    )


def form_data(schema: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return the format of answers that fit a schema."""
    form = answer_form(schema, target)
    return {"type": "json_schema", "name": "answer", "schema": form, "strict": is_strict(form, target)}


def _has_form(part: Text | Image | Foreign, terms: Terms) -> bool:
    return not isinstance(part, Foreign) or terms.sends(part) or bool(part.text.strip())


def _user_segment(part: Text | Image | Foreign, terms: Terms) -> body.Segment:
    if isinstance(part, Foreign) and terms.sends(part) and not is_content(part.native.data):
        return body.Segment("", dumps(part.native.data).encode())
    return _user(_content(part, terms))


def _content(part: Text | Image | Foreign, terms: Terms) -> dict[str, Any]:
    """A part as a piece of a user's message or of a function's output."""
    match part:
        case Text() | Image() if is_content(data := terms.ours(part.native) or {}):
            return data
        case Image():
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case Foreign() if terms.sends(part):
            return part.native.data
        case Text() | Foreign():
            return {"type": "input_text", "text": part.text}


def _is_functions(output: dict[str, Any]) -> bool:
    return kind_of(output) == "function_call_output"


def _assistant_items(turn: AssistantTurn, plain: set[str], terms: Terms) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for part in reversed(turn.parts):
        own = _own_call(part, terms) if isinstance(part, ToolCall) and part.id not in plain else None
        item = own or _item(part, terms)
        if item is None:
            continue
        # R3: reasoning goes only with what it led to. Read from the end, that is the item found last.
        if isinstance(part, Reasoning) and not any(_may_follow(follower, terms) for follower in _nearest(items)):
            continue
        items.append(item)
    return items[::-1]


def _nearest(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if kind_of(item) != "reasoning"][-1:]


def _may_follow(item: dict[str, Any], terms: Terms) -> bool:
    kind = kind_of(item)
    if kind != "message":
        return not kind.endswith("_call_output") and kind != "mcp_approval_response"
    # A server that stored the real message takes no plain text in its place.
    return not terms.stored or "id" in item or not isinstance(item.get("content"), str)


def _item(part: AssistantPart, terms: Terms) -> dict[str, Any] | None:
    """The part as an item, or nothing where this target cannot have it."""
    match part:
        case Reasoning():
            return _reasoning(part, terms)
        case ToolCall():
            return _call(part, terms)
        case Foreign() if terms.sends(part) and not is_content(part.native.data):
            return part.native.data
        case ServerCall() | ServerResult():
            return part.native.data if part.native and terms.sends(part) else None
        case Text() if (data := terms.ours(part.native) or {}).get("role") == "assistant":
            return _said(part, data, terms)
        case Text() | Foreign():
            return {"role": "assistant", "content": part.text} if part.text.strip() else None


def _reasoning(part: Reasoning, terms: Terms) -> dict[str, Any] | None:
    if part.native is None or part.native.origin != terms.target.origin:
        return None
    data = part.native.data
    # R11: what the server did not store must carry its content.
    if not data.get("encrypted_content") and not terms.stored:
        return None
    if string(data.get("id")) not in terms.repeated:
        return data
    # R9: two of the same id can only go without it, where that is not how the server finds them.
    return None if terms.stored else {k: v for k, v in data.items() if k != "id"}


def _said(part: Text, data: dict[str, Any], terms: Terms) -> dict[str, Any] | None:
    if part.native and (terms.keeps_id(part.native, "msg") or (terms.stored and "id" not in data)):
        return data
    if not part.text.strip():
        return None
    blocks = [obj(block) for block in arr(data.get("content"))]
    if all(block.get("type") == "output_text" and not block.get("annotations") for block in blocks):
        # An output message is documented with an id only; the short form is for those without.
        phase = {"phase": data["phase"]} if data.get("phase") else {}
        return {"role": "assistant", "content": part.text, **phase}
    return {k: v for k, v in data.items() if k not in ("id", "status")}


def _own_call(call: ToolCall, terms: Terms) -> dict[str, Any] | None:
    """A call that is no function's, as it came."""
    data = terms.ours(call.native) or {}
    if not calls.is_call(data, terms.target.provider):
        return None
    kept = {k: v for k, v in data.items() if k != "id" or string(v) not in terms.repeated}
    return kept | {"call_id": _call_id(call, terms)}


def _call(call: ToolCall, terms: Terms) -> dict[str, Any]:
    data = terms.ours(call.native) or {}
    if kind_of(data) != "function_call":
        data = {}
    name = own_name(call.name, string(data.get("name")), NAME)
    item: dict[str, Any] = {
        "type": "function_call",
        "call_id": _call_id(call, terms),
        "name": name,
        "arguments": call.arguments_json,
    }
    left_out = ["id", "status"]
    if call.native and terms.keeps_id(call.native, "fc") and data.get("call_id") == item["call_id"]:
        left_out.remove("id")
    if terms.stored and data.get("status") in (None, "completed") and "_malformed" not in call.arguments:
        left_out.remove("status")
    return item | {k: v for k, v in data.items() if k not in item and k not in left_out}


def _call_id(call: ToolCall, terms: Terms) -> str:
    return own_id(call, string((terms.ours(call.native) or {}).get("call_id")), CALL_ID)


def _result(result: ToolResult, call: ToolCall, terms: Terms) -> dict[str, Any]:
    id = _call_id(call, terms)
    if result.native and (data := terms.ours(result.native)) is not None:
        kept = data if terms.keeps_id(result.native, "fc") else {k: v for k, v in data.items() if k != "id"}
        return kept | {"call_id": id}
    if called := _own_call(call, terms):
        text = ("Error: " if result.is_error else "") + (result.text if result.text.strip() else _NO_OUTPUT)
        if (own := calls.answer(called, id, result, text)) is not None:
            return own
    called = terms.ours(call.native) or {}
    # A call that a program made goes back to that program.
    caller = {"caller": called["caller"]} if called.get("caller") else {}
    return {"type": "function_call_output", "call_id": id, "output": _output(result, terms), **caller}


def _output(result: ToolResult, terms: Terms) -> str | list[dict[str, Any]]:
    # The API has no flag for errors, so the text says it.
    mark = "Error: " if result.is_error else ""
    if isinstance(result.content, str):
        return mark + (result.content if result.content.strip() else _NO_OUTPUT)
    parts = [part for part in result.content if not isinstance(part, Text) or part.text.strip()]
    blocks = [_content(part, terms) for part in parts if _has_form(part, terms)]
    if not blocks:
        return mark + _NO_OUTPUT
    if not mark:
        return blocks
    first = string(blocks[0].get("text")) if blocks[0].get("type") == "input_text" else ""
    return [{"type": "input_text", "text": mark + (first or "the tool failed")}, *blocks[1 if first else 0 :]]


# Tools and forms


def is_ours(native: Native, target: Target) -> bool:
    """Return whether this is the same provider's own."""
    return native.origin.api == API and native.origin.provider == target.provider


def tool_json(tool: ToolSpec, target: Target, deferred: Collection[str] = ()) -> str | None:
    """Return the declaration of a tool, or nothing for one that another provider runs."""
    if tool.hosted:
        return hosted_json(tool, target)
    if tool.native and is_ours(tool.native, target):
        return dumps(with_own_name(tool.native.data, tool.name, NAME))
    # Another provider's own tool has nothing to call it with; another provider's function has.
    if tool.is_provider_defined:
        return None
    return dumps(tool_data(tool) | ({"defer_loading": True} if tool.name in deferred else {}))


def tool_data(tool: ToolSpec) -> dict[str, Any]:
    """The declaration of a plain function."""
    schema: dict[str, Any] = {"type": "object", "properties": dict[str, Any]()} | tool.parameters
    # The API takes no alternatives at the top. The properties of all of them are offered instead, none required.
    for word in ("anyOf", "oneOf", "allOf"):
        for variant in arr(schema.pop(word, None)):
            schema["properties"] = obj(obj(variant).get("properties")) | obj(schema["properties"])
    described = {"description": tool.description} if tool.description else {}
    # Without the word the API would rewrite the schema to its strict form.
    return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": False}
