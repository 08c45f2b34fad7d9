"""Turns as messages of the Chat Completions API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Conversation,
    DerivedKey,
    Foreign,
    Image,
    Native,
    Note,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    UserTurn,
    short_id,
)
from antiphon.wire import body
from antiphon.wire.images import shown
from antiphon.wire.naming import own_id, own_name, with_own_name
from antiphon.wire.openai_chat.reasoning import sent_back
from antiphon.wire.options import Target
from antiphon.wire.prompt import new_instructions

API = "openai-chat"

_BETWEEN = b'{"role":"assistant","content":"Understood."}'
# Bytes that JSON never holds: they mark the end of tool messages and the start of a user message until the assistant
# message that some servers want between the two is put there.
_AFTER_TOOLS, _BEFORE_USER = b"\x1e", b"\x1f"
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}\Z")
#: Where a reply keeps the fields that are not for sending.
RECEIVED = "_received"
#: O6: what the API takes as the name of a called function.
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
#: O5: what OpenAI takes as the id of a call. Others take what they gave.
_ID = re.compile(r".{1,40}", re.DOTALL)
_ANY_ID = re.compile(r".+", re.DOTALL)
_OPENAI = frozenset({"openai", "openai-chat", "azure"})
#: Where a conversation keeps the role of the system text it was read with: the provider, the text and the role.
SYSTEM_ROLE = DerivedKey[tuple[str, str, str]]("system role")


def messages(conversation: Conversation, target: Target) -> tuple[str, body.Messages]:
    """Return the message with the system text, "" for none, and all others."""
    marks = target.profile.assistant_after_tool
    wrap = _marked_message if marks else _message
    found = body.messages(
        conversation, target.key, lambda turn: _segments(shown(turn, target), target), wrap, nothing=_NOTHING
    )
    if marks:
        joined = b"".join(found.pieces).replace(_AFTER_TOOLS + b"," + _BEFORE_USER, b"," + _BETWEEN + b",")
        found = replace(found, pieces=[joined.replace(_AFTER_TOOLS, b"").replace(_BEFORE_USER, b"")])
    text = conversation.head.system if target.facts.mid_system == "yes" else conversation.system
    if not text:
        return "", found
    known = conversation.derived.get(SYSTEM_ROLE) or ("", "", "")
    role = known[2] if known[:2] == (target.provider, text) else target.profile.system_role
    return dumps({"role": role, "content": text}), found


def with_system(system: str, found: body.Messages) -> body.Pieces:
    """Return all messages, the one with the system text first."""
    if not system:
        return found.pieces
    return [system.encode(), b",", *found.pieces] if any(found.pieces) else [system.encode()]


def is_ours(native: Native, target: Target) -> bool:
    """Whether ordinary content came from the same provider, so that it may go back as it came."""
    return native.origin.api == API and native.origin.provider == target.provider


def is_openai(provider: str) -> bool:
    """Whether it is OpenAI itself, whose limits other servers that speak its API do not have."""
    return provider in _OPENAI


def id_form(provider: str) -> re.Pattern[str]:
    """What the provider takes as the id of a call."""
    return _ID if is_openai(provider) else _ANY_ID


def _message(segment: body.Segment) -> bytes:
    if segment.role != "user":
        return segment.blocks
    content = b"[" + segment.blocks + b"]" if segment.text is None else b'"' + segment.text + b'"'
    return b'{"role":"user","content":' + content + b"}"


def _marked_message(segment: body.Segment) -> bytes:
    if segment.role == "tool":
        return segment.blocks + _AFTER_TOOLS
    return (_BEFORE_USER if segment.role == "user" else b"") + _message(segment)


def _segments(turn: Turn, target: Target) -> list[body.Segment]:
    if isinstance(turn, UserTurn):
        return [segment for part in turn.said if (segment := _said(part, target)) is not None]
    message = _assistant_message(turn, target)
    segments = [body.Segment("", message.encode())] if message else []
    tools: list[str] = []
    images: list[str] = []
    calls = {call.id: call for call in turn.calls}
    for result in turn.results:
        call = calls[result.call_id]
        tool, shown = _result(result, call, target)
        tools.append(tool)
        intro = f"Image in the result of call {_id(call, target)} to `{called_name(call, target)}`:"
        for image in shown:
            images += [_text_block(intro), _image_block(image, target)]
    if tools:
        segments.append(body.Segment("tool", ",".join(tools).encode()))
    if images:
        # O3: one message after the last of the tool messages, which nothing may part.
        segments.append(body.Segment("user", ",".join(images).encode()))
    return segments


# The user's side


def _said(part: Text | Image | Foreign | Note | Update, target: Target) -> body.Segment | None:
    match part:
        case Note():
            is_instruction = part.kind == "instruction" and target.facts.mid_system == "yes"
            return _system_segment(part.text, target) if is_instruction else _text_segment(part.text)
        case Update():
            is_told = part.system is not None and target.facts.mid_system == "yes"
            return _system_segment(new_instructions(part.system or ""), target) if is_told else None
        case Foreign() if is_ours(part.native, target):
            return _native_segment(part.native.data, target)
        case Text() if part.native and is_ours(part.native, target):
            return _native_segment(part.native.data, target)
        case Text() | Foreign():
            return _text_segment(part.text) if part.text.strip() else None
        case Image():
            return body.Segment("user", _image_block(part, target).encode())


def _system_segment(text: str, target: Target) -> body.Segment:
    return body.Segment("", dumps({"role": target.profile.system_role, "content": text}).encode())


def _native_segment(data: dict[str, Any], target: Target) -> body.Segment:
    """A content part, or a whole message, which has a role."""
    role, block = data.get("role"), dumps(data).encode()
    if role is None:
        return body.Segment("user", block)
    marked = role == "user" and target.profile.assistant_after_tool
    return body.Segment("", _BEFORE_USER + block if marked else block)


def _text_segment(text: str) -> body.Segment:
    return body.Segment("user", _text_block(text).encode(), dumps(text)[1:-1].encode())


def _text_block(text: str) -> str:
    return dumps({"type": "text", "text": text})


def _image_block(image: Image, target: Target) -> str:
    if image.native and is_ours(image.native, target):
        return dumps(image.native.data)
    url = image.url or f"data:{image.media_type};base64,{image.data}"
    return dumps({"type": "image_url", "image_url": {"url": url}})


# The model's side


@dataclass(slots=True)
class _Draft:
    """An assistant message while its parts are gathered; `content` has each piece's text, if it is plain, and JSON."""

    content: list[tuple[str | None, str]] = field(default_factory=list[tuple[str | None, str]])
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    reasoning: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: list[str] = field(default_factory=list[str])

    def content_json(self) -> str | None:
        """The content, or nothing where there is no message to send."""
        if self.content:
            texts = [text for text, _ in self.content if text is not None]
            if len(texts) == len(self.content):
                return dumps("\n\n".join(texts))
            return "[" + ",".join(block for _, block in self.content) + "]"
        kept = self.fields.get("content")
        if isinstance(kept, str):
            # The API takes text in which there is nothing.
            return dumps(kept)
        if self.calls or self.fields.get("refusal") is not None or self.fields.get("audio") is not None:
            # Null is what OpenAI's own schema and examples have, and what the servers follow. An empty string is text
            # to some of them, which refuse it (Bedrock) or show it to the model (Ollama's templates); others refuse a
            # message that has no such field at all (vLLM, SGLang).
            return "null"
        return None


def _assistant_message(turn: AssistantTurn, target: Target) -> str | None:
    draft = _Draft()
    for part in turn.parts:
        _gather(draft, part, target)
    content = draft.content_json()
    if content is None:
        return None
    draft.fields.pop("content", None)
    if "audio" in draft.fields:
        # The sound comes back whole but is sent by its id.
        draft.fields["audio"] = {"id": string(obj(draft.fields["audio"]).get("id"))}
    fields = draft.fields | sent_back(draft.reasoning, target.profile, bool(draft.calls))
    message = f'{{"role":"assistant","content":{content}'
    if fields:
        message += "," + dumps(fields)[1:-1]
    if draft.calls:
        message += f',"tool_calls":[{",".join(draft.calls)}]'
    return message + "}"


def _gather(draft: _Draft, part: AssistantPart, target: Target) -> None:
    match part:
        case ToolCall():
            draft.calls.append(_call(part, target))
        case Reasoning():
            if part.native and part.native.origin == target.origin:
                if "content" in target.profile.reasoning_fields:
                    draft.content += [(None, dumps(block)) for block in arr(part.native.data.get("content"))]
                draft.reasoning.append({k: v for k, v in part.native.data.items() if k != "content"})
        case Foreign() if is_ours(part.native, target) and not _has_image(part.native.data.get("content")):
            data = part.native.data
            draft.content += [(None, dumps(block)) for block in arr(data.get("content"))]
            draft.fields |= {k: v for k, v in data.items() if k not in (RECEIVED, "content")}
        case Text() if part.native and is_ours(part.native, target):
            if "content" in part.native.data:
                draft.fields |= part.native.data
            else:
                draft.content.append((None, dumps(part.native.data)))
        case ServerCall() | ServerResult():
            # This API has no such tools: the note at the switch tells of them.
            pass
        case Text() | Foreign():
            if part.text.strip():
                draft.content.append((part.text, _text_block(part.text)))


def _has_image(content: object) -> bool:
    """O9: images are the user's alone."""
    return any(obj(block).get("type") == "image_url" for block in arr(content))


def _call(call: ToolCall, target: Target) -> str:
    id = _id(call, target)
    native = call.native if call.native and is_ours(call.native, target) else None
    if native and native.data.get("type", "function") != "function":
        return dumps(native.data | {"id": id})
    function = f'{{"name":"{called_name(call, target)}","arguments":{dumps(call.arguments_json)}}}'
    tail = ""
    if native and native.origin == target.origin:
        # What servers add to a call is the model's own, such as the signature of its thought.
        rest = {k: v for k, v in native.data.items() if k not in ("id", "type", "function", "index")}
        tail = "," + dumps(rest)[1:-1] if rest else ""
    return f'{{"id":{dumps(id)},"type":"function","function":{function}{tail}}}'


def called_name(call: ToolCall, target: Target) -> str:
    """The name under which the call's tool is known there."""
    native = call.native if call.native and is_ours(call.native, target) else None
    theirs = string(obj(native.data.get("function")).get("name")) if native else ""
    return own_name(call.name, theirs, NAME)


def _id(call: ToolCall, target: Target) -> str:
    theirs = call.native.data.get("id") if call.native and is_ours(call.native, target) else ""
    id = own_id(call, string(theirs), id_form(target.provider))
    return short_id(call.id) if target.profile.short_ids and not _SHORT_ID.match(id) else id


def _result(result: ToolResult, call: ToolCall, target: Target) -> tuple[str, list[Image]]:
    """The tool message, and the images that cannot be in it (O9)."""
    id = _id(call, target)
    images = [part for part in result.parts if isinstance(part, Image)]
    native = result.native
    # Models that take images in a tool message do not see them there.
    if native and not images and is_ours(native, target):
        return dumps(with_own_name(native.data, called_name(call, target), NAME) | {"tool_call_id": id}), []
    text = result.text
    if not text.strip():
        text = "(The images follow in the next message.)" if images else "(no output)"
    if result.is_error and not text.startswith("Error: "):
        text = f"Error: {text}"
    return dumps({"role": "tool", "tool_call_id": id, "content": text}), images


_NOTHING = _text_segment(body.NOTHING)
