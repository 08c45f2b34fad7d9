"""Encoder of turns as messages of the Chat Completions API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon._base.json import encode_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    AssistantTurn,
    Audio,
    Conversation,
    DerivedKey,
    Document,
    File,
    Image,
    Media,
    MediaPart,
    Note,
    OpaquePart,
    ProviderPayload,
    Reasoning,
    RequestHeads,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    UserTurn,
    Video,
    shorten_call_id,
)
from antiphon.conversation.media_types import normalize_type
from antiphon.conversation.turns import AttributedPart
from antiphon.wire import body
from antiphon.wire.files import make_upload_name
from antiphon.wire.media import find_copy, replace_unsupported_media
from antiphon.wire.names_and_ids import choose_call_id, choose_tool_name, use_legal_name
from antiphon.wire.openai_chat import SPEC
from antiphon.wire.openai_chat.reasoning import build_reasoning_fields
from antiphon.wire.options import Target
from antiphon.wire.prompt import format_new_instructions

API = SPEC.name

_FILLER_MESSAGE = b'{"role":"assistant","content":"Understood."}'
# Bytes that JSON never holds. They mark the end of tool messages and the start of a user message, until the
# assistant message that some servers require between the two is inserted.
_AFTER_TOOLS, _BEFORE_USER = b"\x1e", b"\x1f"
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}\Z")
#: Key of the received fields that are not sent back.
RECEIVED_FIELDS = "_received"
#: O6: the names of called functions that the API accepts.
CHAT_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
#: O5: the call ids that OpenAI accepts. Other servers accept any id that they gave.
_ID = re.compile(r".{1,40}", re.DOTALL)
_ANY_ID = re.compile(r".+", re.DOTALL)
_OPENAI = frozenset({"openai", "openai-chat", "azure"})
#: Key in a conversation's cache of the system role that it was read with: provider, text and role.
SYSTEM_ROLE = DerivedKey[tuple[str, str, str]]("system role")


def encode_chat_messages(
    conversation: Conversation, heads: RequestHeads, target: Target
) -> tuple[str, body.EncodedMessages]:
    """Return the system message, or "" for none, and all other messages."""
    marks = target.profile.assistant_after_tool
    wrap = _encode_marked_message if marks else _encode_message
    found = body.encode_messages(
        conversation,
        target.key,
        lambda turn: _encode_turn(replace_unsupported_media(turn, target), target),
        wrap,
        nothing=_UNSHOWABLE_SEGMENT,
    )
    if marks:
        joined = b"".join(found.pieces).replace(_AFTER_TOOLS + b"," + _BEFORE_USER, b"," + _FILLER_MESSAGE + b",")
        found = replace(found, pieces=[joined.replace(_AFTER_TOOLS, b"").replace(_BEFORE_USER, b"")])
    text = heads.first.system if target.facts.mid_system == "yes" else heads.system
    if not text:
        return "", found
    known = conversation.derived.get(SYSTEM_ROLE) or ("", "", "")
    role = known[2] if known[:2] == (target.provider, text) else target.profile.system_role
    return encode_json({"role": role, "content": text}), found


def prepend_system(system: str, found: body.EncodedMessages) -> body.BodyChunks:
    """Return all messages, with the system message first."""
    if not system:
        return found.pieces
    return [system.encode(), b",", *found.pieces] if any(found.pieces) else [system.encode()]


def is_chat_payload(native: ProviderPayload, target: Target) -> bool:
    """Return whether the payload came from the same provider, so that it may be sent back unchanged."""
    return native.origin.api == API and native.origin.provider == target.provider


def is_openai(provider: str) -> bool:
    """Return whether the provider is OpenAI itself. Compatible servers do not have its limits."""
    return provider in _OPENAI


def call_id_pattern(provider: str) -> re.Pattern[str]:
    """Return the pattern of the call ids that the provider accepts."""
    return _ID if is_openai(provider) else _ANY_ID


def _encode_message(segment: body.MessageSegment) -> bytes:
    if segment.role != "user":
        return segment.blocks
    content = b"[" + segment.blocks + b"]" if segment.text is None else b'"' + segment.text + b'"'
    return b'{"role":"user","content":' + content + b"}"


def _encode_marked_message(segment: body.MessageSegment) -> bytes:
    if segment.role == "tool":
        return segment.blocks + _AFTER_TOOLS
    return (_BEFORE_USER if segment.role == "user" else b"") + _encode_message(segment)


def _encode_turn(turn: Turn, target: Target) -> list[body.MessageSegment]:
    if isinstance(turn, UserTurn):
        return [segment for part in turn.said if (segment := _encode_user_part(part, target)) is not None]
    message = _encode_assistant(turn, target)
    segments = [body.MessageSegment("", message.encode())] if message else []
    tools: list[str] = []
    media: list[str] = []
    calls = {call.id: call for call in turn.calls}
    for result in turn.results:
        call = calls[result.call_id]
        tool, shown = _encode_result(result, call, target)
        tools.append(tool)
        for part in shown:
            kind = part.kind.capitalize() if isinstance(part, Media) else "File"
            intro = f"{kind} in the result of call {_choose_id(call, target)} to `{choose_called_name(call, target)}`:"
            media += [_encode_text_block(intro), _encode_media_block(part, target)]
    if tools:
        segments.append(body.MessageSegment("tool", ",".join(tools).encode()))
    if media:
        # O3: one message after the last tool message, because nothing may separate them.
        segments.append(body.MessageSegment("user", ",".join(media).encode()))
    return segments


# The user's side


def _encode_user_part(part: AttributedPart, target: Target) -> body.MessageSegment | None:
    match part:
        case Note():
            is_instruction = part.kind == "instruction" and target.facts.mid_system == "yes"
            return _encode_system(part.text, target) if is_instruction else _encode_text(part.text)
        case Update():
            is_told = part.system is not None and target.facts.mid_system == "yes"
            return _encode_system(format_new_instructions(part.system or ""), target) if is_told else None
        case OpaquePart() if is_chat_payload(part.native, target):
            return _encode_payload(part.native.data, target)
        case Text() if part.native and is_chat_payload(part.native, target):
            return _encode_payload(part.native.data, target)
        case Text() | OpaquePart():
            return _encode_text(part.text) if part.text.strip() else None
        case Media() | File():
            return body.MessageSegment("user", _encode_media_block(part, target).encode())


def _encode_system(text: str, target: Target) -> body.MessageSegment:
    return body.MessageSegment("", encode_json({"role": target.profile.system_role, "content": text}).encode())


def _encode_payload(data: dict[str, Any], target: Target) -> body.MessageSegment:
    """Return the segment of a provider's own content part, or of a complete message, which has a role."""
    role, block = data.get("role"), encode_json(data).encode()
    if role is None:
        return body.MessageSegment("user", block)
    marked = role == "user" and target.profile.assistant_after_tool
    return body.MessageSegment("", _BEFORE_USER + block if marked else block)


def _encode_text(text: str) -> body.MessageSegment:
    return body.MessageSegment("user", _encode_text_block(text).encode(), encode_json(text)[1:-1].encode())


def _encode_text_block(text: str) -> str:
    return encode_json({"type": "text", "text": text})


def _encode_media_block(part: MediaPart, target: Target) -> str:
    if isinstance(part, Media) and part.native and is_chat_payload(part.native, target):
        return encode_json(part.native.data)
    match part:
        case Image():
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            return encode_json({"type": "image_url", "image_url": {"url": url}})
        case Audio():
            form = "wav" if normalize_type(part.media_type) == "audio/wav" else "mp3"
            return encode_json({"type": "input_audio", "input_audio": {"data": part.data, "format": form}})
        case File():
            return encode_json({"type": "file", "file": {"file_id": part.id}})
        case Document() | Video():
            if (copy := find_copy(part, target)) is not None:
                return encode_json({"type": "file", "file": {"file_id": copy.id}})
            data = f"data:{part.media_type};base64,{part.data}"
            return encode_json({"type": "file", "file": {"filename": make_upload_name(part), "file_data": data}})


# The model's side


@dataclass(slots=True)
class _AssistantDraft:
    """An assistant message under construction. `content` holds each piece's plain text, if any, and its
    JSON.
    """

    content: list[tuple[str | None, str]] = field(default_factory=list[tuple[str | None, str]])
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    reasoning: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: list[str] = field(default_factory=list[str])

    def encode_content(self) -> str | None:
        """Return the JSON of the content, or None if there is no message to send."""
        if self.content:
            texts = [text for text, _ in self.content if text is not None]
            if len(texts) == len(self.content):
                return encode_json("\n\n".join(texts))
            return "[" + ",".join(block for _, block in self.content) + "]"
        kept = self.fields.get("content")
        if isinstance(kept, str):
            # This API accepts empty text.
            return encode_json(kept)
        if self.calls or self.fields.get("refusal") is not None or self.fields.get("audio") is not None:
            # Null is what OpenAI's own schema and examples have, and what the servers follow. An empty string is text
            # to some of them, which refuse it (Bedrock) or show it to the model (Ollama's templates); others refuse a
            # message that has no such field at all (vLLM, SGLang).
            return "null"
        return None


def _encode_assistant(turn: AssistantTurn, target: Target) -> str | None:
    draft = _AssistantDraft()
    for part in turn.parts:
        _add_to_draft(draft, part, target)
    content = draft.encode_content()
    if content is None:
        return None
    draft.fields.pop("content", None)
    if "audio" in draft.fields:
        # Audio is received with its data but sent back by its id.
        draft.fields["audio"] = {"id": as_string(as_object(draft.fields["audio"]).get("id"))}
    fields = draft.fields | build_reasoning_fields(draft.reasoning, target.profile, bool(draft.calls))
    message = f'{{"role":"assistant","content":{content}'
    if fields:
        message += "," + encode_json(fields)[1:-1]
    if draft.calls:
        message += f',"tool_calls":[{",".join(draft.calls)}]'
    return message + "}"


def _add_to_draft(draft: _AssistantDraft, part: AssistantPart, target: Target) -> None:
    match part:
        case ToolCall():
            draft.calls.append(_encode_call(part, target))
        case Reasoning():
            if part.native and part.native.origin == target.origin:
                if "content" in target.profile.reasoning_fields:
                    draft.content += [(None, encode_json(block)) for block in as_array(part.native.data.get("content"))]
                draft.reasoning.append({k: v for k, v in part.native.data.items() if k != "content"})
        case OpaquePart() if is_chat_payload(part.native, target) and not _has_image(part.native.data.get("content")):
            data = part.native.data
            draft.content += [(None, encode_json(block)) for block in as_array(data.get("content"))]
            draft.fields |= {k: v for k, v in data.items() if k not in (RECEIVED_FIELDS, "content")}
        case Text() if part.native and is_chat_payload(part.native, target):
            if "content" in part.native.data:
                draft.fields |= part.native.data
            else:
                draft.content.append((None, encode_json(part.native.data)))
        case ServerCall() | ServerResult():
            # This API has no server tools: the note about the change of model mentions them.
            pass
        case Text() | OpaquePart():
            if part.text.strip():
                draft.content.append((part.text, _encode_text_block(part.text)))


def _has_image(content: object) -> bool:
    """Return whether the content holds an image. O9: only user messages may."""
    return any(as_object(block).get("type") == "image_url" for block in as_array(content))


def _encode_call(call: ToolCall, target: Target) -> str:
    id = _choose_id(call, target)
    native = call.native if call.native and is_chat_payload(call.native, target) else None
    if native and native.data.get("type", "function") != "function":
        return encode_json(native.data | {"id": id})
    function = f'{{"name":"{choose_called_name(call, target)}","arguments":{encode_json(call.arguments_json)}}}'
    tail = ""
    if native and native.origin == target.origin:
        # Extra fields of a call belong to the model, such as a thought signature.
        rest = {k: v for k, v in native.data.items() if k not in ("id", "type", "function", "index")}
        tail = "," + encode_json(rest)[1:-1] if rest else ""
    return f'{{"id":{encode_json(id)},"type":"function","function":{function}{tail}}}'


def choose_called_name(call: ToolCall, target: Target) -> str:
    """Return the name under which the target knows the call's tool."""
    if call.native is None or not is_chat_payload(call.native, target):
        return call.name
    return choose_tool_name(call.name, as_object(call.native.data.get("function")).get("name"), CHAT_TOOL_NAME)


def _choose_id(call: ToolCall, target: Target) -> str:
    id = call.id
    if call.native and is_chat_payload(call.native, target):
        id = choose_call_id(call, call.native.data.get("id"), call_id_pattern(target.provider))
    return shorten_call_id(call.id) if target.profile.short_ids and not _SHORT_ID.match(id) else id


def _encode_result(result: ToolResult, call: ToolCall, target: Target) -> tuple[str, list[MediaPart]]:
    """Return the tool message, and the files that it cannot hold (O9)."""
    id = _choose_id(call, target)
    content = result.content
    media = [part for part in content if isinstance(part, MediaPart)] if not isinstance(content, str) else []
    native = result.native
    # Even models that accept images in a tool message do not see them there.
    if native and not media and is_chat_payload(native, target):
        return encode_json(
            use_legal_name(native.data, choose_called_name(call, target), CHAT_TOOL_NAME) | {"tool_call_id": id}
        ), []
    text = content if isinstance(content, str) else result.text
    if not text.strip():
        what = "images" if all(isinstance(part, Image) for part in media) else "files"
        text = f"(The {what} follow in the next message.)" if media else "(no output)"
    if result.is_error and not text.startswith("Error: "):
        text = f"Error: {text}"
    return encode_json({"role": "tool", "tool_call_id": id, "content": text}), media


_UNSHOWABLE_SEGMENT = _encode_text(body.UNSHOWABLE_TEXT)
