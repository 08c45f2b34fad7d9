"""Reader of histories in the shape of the Chat Completions API."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    Audio,
    Document,
    Image,
    Item,
    OpaquePart,
    Origin,
    ProviderPayload,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    UserPart,
    normalize_call_id,
)
from antiphon.conversation import shorten_call_id as made_up_id
from antiphon.wire.files import OPENAI_FILES, make_upload_name
from antiphon.wire.history_reader import HistoryReader, ReadHistory
from antiphon.wire.openai_chat.messages import CHAT_TOOL_NAME, SYSTEM_ROLE, call_id_pattern, is_openai
from antiphon.wire.openai_chat.request import declare_chat_function, drop_null_required
from antiphon.wire.openai_chat.response import has_only_chat_fields, list_calls, parse_call_fields, read_chat_parts

_FILE_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.+)", re.DOTALL)
_DATA_URL = re.compile(r"data:(image/[^;,\s]+);base64,(.+)\Z", re.DOTALL)


def build_reasoning(text: str, signature: str, *, is_redacted: bool = False, id: str = "") -> dict[str, Any] | None:  # noqa: ARG001
    """Return None: this API has no form for signed reasoning."""
    return None


def read(data: object, origin: Origin) -> ReadHistory:
    """Convert a list of messages, or a complete request, into a conversation."""
    top = as_object(data) or {"messages": data}
    reader = _ChatReader(HistoryReader(origin, data))
    old_tools = [{"type": "function", "function": function} for function in as_array(top.get("functions"))]
    for index, tool in enumerate([*as_array(top.get("tools")), *old_tools]):
        reader.read_tool(f"tool {index}", as_object(tool))
    for index, message in enumerate(as_array(top.get("messages"))):
        reader.read_message(f"message {index}", message)
    reader.flush_system()
    rest = {k: v for k, v in top.items() if k not in ("messages", "tools", "functions", "function_call")}
    if top.get("function_call") is not None:
        choice = top["function_call"]
        rest["tool_choice"] = {"type": "function", "function": choice} if isinstance(choice, dict) else choice
    reading = reader.reader.done(rest)
    if reader.system_roles == {"developer"}:
        reading.conversation.derived.set(SYSTEM_ROLE, (origin.provider, reading.conversation.system, "developer"))
    return reading


class _ChatReader:
    """Reader of one message at a time. Its meaning may depend on the messages before it."""

    def __init__(self, reader: HistoryReader) -> None:
        self.reader = reader
        self.note = reader.note
        # Names of calls without an id, by the ids generated for them.
        self.calls_without_id: dict[str, str] = {}
        # System messages between calls and results, held back until after the results.
        self.waiting: list[Item] = []
        self.system_roles: set[object] = set()

    def native(self, data: dict[str, Any]) -> ProviderPayload:
        return ProviderPayload(self.reader.origin, data)

    def read_tool(self, where: str, tool: dict[str, Any]) -> None:
        kind = as_string(tool.get("type")) or "function"
        function = as_object(tool.get(kind))
        name, description = as_string(function.get("name")), as_string(function.get("description"))
        if kind != "function":
            self.reader.tool(name, description, {}, self.native(tool))
            return
        schema: object = function.get("parameters")
        if not name or (schema is not None and not isinstance(schema, dict)):
            self.note("unreadable", where, f"{dump_json(tool)[:80]} instead of a tool", "it is left out")
            return
        if not CHAT_TOOL_NAME.match(name):
            found = f"a tool named {name[:80]!r}, which is no legal name"
            self.note("bad-name", where, found, f"it becomes `{self.reader.name(name)}`")
        clean = drop_null_required(tool)
        if clean != tool:
            self.note("unreadable", where, f"`required: null` in the schema of `{name}`", "it is left out")
        plain = declare_chat_function(name, description, as_object(as_object(clean["function"]).get("parameters")))
        legal = ToolCall.read("id", name, {}).name == name and plain["function"]["parameters"]["type"] == "object"
        same = legal and plain == clean
        self.reader.tool(name, description, plain["function"]["parameters"], None if same else self.native(clean))

    def read_message(self, where: str, message: object) -> None:
        data = as_object(message)
        role = data.get("role")
        if role in ("system", "developer"):
            self.read_system(where, data)
            return
        if role not in ("tool", "function"):
            self.flush_system()
        if not isinstance(message, dict):
            self.note("unreadable", where, f"{dump_json(message)[:40]} instead of a message", "it is dropped")
        elif role in ("tool", "function"):
            result = self.read_result(where, data)
            self.reader.items.append(Item("user", where, (), (result,)))
        elif role == "assistant":
            self.read_assistant(where, data)
        else:
            if role != "user":
                self.note(
                    "unknown-role", where, f"a message of role {dump_json(role)[:40]}", "it is read as the user's"
                )
                data = data | {"role": "user"}
            self.read_user(where, data)

    def read_system(self, where: str, message: dict[str, Any]) -> None:
        content: object = message.get("content")
        if not isinstance(content, str):
            blocks = [block for block in as_array(content) if isinstance(as_object(block).get("text"), str)]
            if len(blocks) < len(as_array(content)):
                self.note("unreadable", where, "a system message with more than text", "its text is kept")
            message = message | {"content": blocks}
        texts = (
            [content]
            if isinstance(content, str)
            else [as_object(block)["text"] for block in as_array(message["content"])]
        )
        if not texts:
            self.note("empty-message", where, "a system message without text", "it is dropped")
        elif not self.reader.items and not self.waiting and self.is_system_text(message, texts):
            self.reader.system += texts
            self.system_roles.add(message.get("role"))
        else:
            self.waiting.append(Item("user", where, (OpaquePart(self.native(message), "\n".join(texts)),)))

    def is_system_text(self, message: dict[str, Any], texts: list[str]) -> bool:
        return has_only_chat_fields(message, "role", "content") and any(text.strip() for text in texts)

    def flush_system(self) -> None:
        self.reader.items += self.waiting
        self.waiting = []

    # The user's messages

    def read_user(self, where: str, message: dict[str, Any]) -> None:
        content = message.get("content")
        if not isinstance(content, str) and not as_array(content):
            self.note("empty-message", where, "a message without content", "it is dropped")
            return
        parts: list[UserPart] = (
            [Text(content)] if isinstance(content, str) else [*self.read_parts(where, as_array(content))]
        )
        blank = isinstance(content, str) and not content.strip()
        if blank or (not has_only_chat_fields(message, "role", "content") and _is_valid_content(content)):
            # Only this API accepts empty text and names of users.
            text = "\n".join(part.text for part in parts if isinstance(part, Text | OpaquePart))
            parts = [OpaquePart(self.native(message), text.strip())]
        self.reader.items.append(Item("user", where, tuple(parts)))

    def read_parts(self, where: str, blocks: list[Any]) -> list[ResultPart]:
        only_text = len(blocks) > 1 and all(as_object(block).get("type") == "text" for block in blocks)
        return [part for block in blocks if (part := self.read_part(where, block, only_text)) is not None]

    def read_part(self, where: str, block: object, keep: bool) -> ResultPart | None:
        """Read a content part. `keep` preserves texts that would otherwise be merged into one."""
        data = as_object(block)
        kind = data.get("type")
        match kind:
            case "text" if isinstance(text := data.get("text"), str):
                if not text.strip():
                    return OpaquePart(self.native(data))
                return Text(text, self.native(data) if keep or not has_only_chat_fields(data, "type", "text") else None)
            case "image_url":
                return self.read_image(where, data)
            case "input_audio" if set(data) == {"type", kind}:
                return self.read_audio(data)
            case "file" if (found := self.read_file(data)) is not None:
                return found
            case str() if kind != "text":
                return OpaquePart(self.native(data), f"[{kind}]")
            case _:
                self.note("unreadable", where, f"{dump_json(block)[:40]} instead of a content part", "it is dropped")
                return None

    def read_audio(self, block: dict[str, Any]) -> ResultPart:
        source = as_object(block.get("input_audio"))
        form = as_string(source.get("format"))
        plain = source.keys() == {"data", "format"} and form in ("wav", "mp3")
        media_type = "audio/wav" if form == "wav" else "audio/mpeg"
        return self.reader.media(Audio, block, plain, data=as_string(source.get("data")), media_type=media_type)

    def read_file(self, block: dict[str, Any]) -> ResultPart | None:
        """Return a file, or None if only this API can have it."""
        file = as_object(block.get("file"))
        name, whole = as_string(file.get("filename")), has_only_chat_fields(block, "type", "file")
        if found := _FILE_DATA_URL.fullmatch(as_string(file.get("file_data"))):
            plain = whole and has_only_chat_fields(file, "filename", "file_data")
            part = self.reader.media(Document, block, plain, data=found[2], media_type=found[1], name=name)
            exact = not isinstance(part, Document) or (make_upload_name(part) == name and not part.is_text)
            return part if exact else replace(part, native=self.native(block))
        if whole and file.keys() == {"file_id"}:
            return self.reader.file(OPENAI_FILES, block, True, file["file_id"])
        return None

    def read_image(self, where: str, block: dict[str, Any]) -> Text | Image | OpaquePart:
        source = block.get("image_url")
        url = source if isinstance(source, str) else as_string(as_object(source).get("url"))
        plain = (
            has_only_chat_fields(as_object(source), "url")
            and has_only_chat_fields(block, "type", "image_url")
            and not isinstance(source, str)
        )
        if found := _DATA_URL.match(url):
            return self.reader.image(where, block, plain, media_type=found[1], data=found[2])
        if url.startswith("data:"):
            return OpaquePart(self.native(block), "[image_url]")
        return self.reader.image(where, block, plain, url=url)

    # The model's messages and tool results

    def read_assistant(self, where: str, message: dict[str, Any]) -> None:
        content: object = message.get("content")
        if content is not None and not _is_valid_content(content):
            found = f"{dump_json(content)[:40]} as the content of a message"
            if content != [] or is_openai(self.reader.origin.provider):
                self.note("unreadable", where, found, "what is no content part is dropped")
            message = message | {
                "content": [block for block in as_array(content) if as_string(as_object(block).get("type"))]
            }
        given = message.get("tool_calls")
        found = list_calls(message)
        if given is not None and not as_array(given):
            if is_openai(self.reader.origin.provider):
                self.note("empty-message", where, "an empty list of calls", "it is left out")
        elif len(found) < len(as_array(given)):
            self.note("unreadable", where, "a call without id, name and arguments", "it is left out")
        parts = read_chat_parts(message, self.reader.origin)
        calls = [self.read_call(f"{where}, call {n}", call) for n, call in enumerate(found)]
        if not parts and not calls:
            self.note("empty-message", where, "a message without content", "it is dropped")
        self.reader.items.append(Item("assistant", where, (*parts, *calls)))

    def read_call(self, where: str, data: dict[str, Any]) -> ToolCall:
        id, name, arguments, native = parse_call_fields(data, self.reader.origin)
        old = "id" not in data and has_only_chat_fields(data, "type", "function")
        if not id:
            id = made_up_id(where)
            self.calls_without_id[id] = name
            if not old:
                self.note("bad-id", where, "a call without an id", f"the call becomes {id!r}", id)
        elif not call_id_pattern(self.reader.origin.provider).fullmatch(id):
            self.note("bad-id", where, f"call id {id!r} is too long", f"the call becomes {normalize_call_id(id)!r}", id)
        if not isinstance(arguments, str) and as_string(data.get("type")) != "custom":
            found = f"the arguments of call {id!r} are {type(arguments).__name__}, not text"
            self.note("bad-arguments", where, found, "they are written as text", id)
        return self.reader.call(where, id, name, arguments, native, CHAT_TOOL_NAME)

    def read_result(self, where: str, message: dict[str, Any]) -> ToolResult:
        id = as_string(message.get("tool_call_id")) or self.find_call_without_id(where, message)
        self.calls_without_id.pop(id, None)
        content = message.get("content")
        blocks = as_array(content)
        if isinstance(content, str):
            parts = content
            plain = has_only_chat_fields(message, "role", "content", "tool_call_id") and bool(content.strip())
        elif blocks:
            parts = tuple(self.read_parts(where, blocks))
            plain = len(blocks) == 1 and has_only_chat_fields(message, "role", "content", "tool_call_id")
            plain = plain and all(isinstance(part, Text) and part.native is None for part in parts)
        else:
            parts, plain = "" if content is None else dump_json(content), True
            if message.get("role") == "tool":
                found = f"{dump_json(content)[:40]} as the result of call {id!r}"
                self.note("bad-result", where, found, "it is written as text", id)
        keep = not plain and _is_valid_content(content) and message.get("role") == "tool"
        native = self.native(message) if keep else None
        return ToolResult(
            normalize_call_id(id) if id else "", parts, name=as_string(message.get("name")), native=native
        )

    def find_call_without_id(self, where: str, message: dict[str, Any]) -> str:
        """Return the first call without an id that a result may answer, by name if the result has one."""
        name = as_string(message.get("name"))
        id = next((id for id, called in self.calls_without_id.items() if not name or name == called), "")
        if id and message.get("role") == "tool":
            self.note("bad-id", where, "a result without the id of its call", f"it is read as that of {id!r}", id)
        return id


def _is_valid_content(content: object) -> bool:
    """Return whether the content is text or a list of typed content parts."""
    blocks = as_array(content)
    return isinstance(content, str) or (
        bool(blocks) and all(as_string(as_object(block).get("type")) for block in blocks)
    )
