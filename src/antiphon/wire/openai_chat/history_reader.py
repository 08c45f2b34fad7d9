"""Histories in the shape of the Chat Completions API."""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, string
from antiphon.conversation import Foreign, Image, Item, Native, Origin, Text, ToolCall, ToolResult, UserPart, legal_id
from antiphon.conversation import short_id as made_up_id
from antiphon.wire.openai_chat.messages import NAME, SYSTEM_ROLE, id_form, is_openai
from antiphon.wire.openai_chat.request import plain_tool, without_null_required
from antiphon.wire.openai_chat.response import call_fields, is_plain, list_calls, said
from antiphon.wire.reading import Reader, Reading

_DATA_URL = re.compile(r"data:(image/[^;,\s]+);base64,(.+)\Z", re.DOTALL)


def read(data: object, origin: Origin) -> Reading:
    """A list of messages, or a whole request, as a conversation."""
    top = obj(data) or {"messages": data}
    reader = _ChatReader(Reader(origin, data))
    old_tools = [{"type": "function", "function": function} for function in arr(top.get("functions"))]
    for index, tool in enumerate([*arr(top.get("tools")), *old_tools]):
        reader.read_tool(f"tool {index}", obj(tool))
    for index, message in enumerate(arr(top.get("messages"))):
        reader.read_message(f"message {index}", message)
    reader.let_system_speak()
    rest = {k: v for k, v in top.items() if k not in ("messages", "tools", "functions", "function_call")}
    if top.get("function_call") is not None:
        choice = top["function_call"]
        rest["tool_choice"] = {"type": "function", "function": choice} if isinstance(choice, dict) else choice
    reading = reader.reader.done(rest)
    if reader.system_roles == {"developer"}:
        reading.conversation.derived.set(SYSTEM_ROLE, (origin.provider, reading.conversation.system, "developer"))
    return reading


class _ChatReader:
    """Reads message by message; what one of them means may depend on those before it."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.note = reader.note
        # Calls without an id of their own, by the ids made up for them, with their names.
        self.nameless: dict[str, str] = {}
        # System messages that stand between calls and results, which have to wait.
        self.waiting: list[Item] = []
        self.system_roles: set[object] = set()

    def native(self, data: dict[str, Any]) -> Native:
        return Native(self.reader.origin, data)

    def read_tool(self, where: str, tool: dict[str, Any]) -> None:
        kind = string(tool.get("type")) or "function"
        function = obj(tool.get(kind))
        name, description = string(function.get("name")), string(function.get("description"))
        if kind != "function":
            self.reader.tool(name, description, {}, self.native(tool))
            return
        schema: object = function.get("parameters")
        if not name or (schema is not None and not isinstance(schema, dict)):
            self.note("unreadable", where, f"{dumps(tool)[:80]} instead of a tool", "it is left out")
            return
        if not NAME.match(name):
            found = f"a tool named {name[:80]!r}, which is no legal name"
            self.note("bad-name", where, found, f"it becomes `{self.reader.name(name)}`")
        clean = without_null_required(tool)
        if clean != tool:
            self.note("unreadable", where, f"`required: null` in the schema of `{name}`", "it is left out")
        plain = plain_tool(name, description, obj(obj(clean["function"]).get("parameters")))
        legal = ToolCall.read("id", name, {}).name == name and plain["function"]["parameters"]["type"] == "object"
        same = legal and plain == clean
        self.reader.tool(name, description, plain["function"]["parameters"], None if same else self.native(clean))

    def read_message(self, where: str, message: object) -> None:
        data = obj(message)
        role = data.get("role")
        if role in ("system", "developer"):
            self.read_system(where, data)
            return
        if role not in ("tool", "function"):
            self.let_system_speak()
        if not isinstance(message, dict):
            self.note("unreadable", where, f"{dumps(message)[:40]} instead of a message", "it is dropped")
        elif role in ("tool", "function"):
            result = self.read_result(where, data)
            self.reader.items.append(Item("user", where, (), (result,)))
        elif role == "assistant":
            self.read_assistant(where, data)
        else:
            if role != "user":
                self.note("unknown-role", where, f"a message of role {dumps(role)[:40]}", "it is read as the user's")
                data = data | {"role": "user"}
            self.read_user(where, data)

    def read_system(self, where: str, message: dict[str, Any]) -> None:
        content: object = message.get("content")
        if not isinstance(content, str):
            blocks = [block for block in arr(content) if isinstance(obj(block).get("text"), str)]
            if len(blocks) < len(arr(content)):
                self.note("unreadable", where, "a system message with more than text", "its text is kept")
            message = message | {"content": blocks}
        texts = [content] if isinstance(content, str) else [obj(block)["text"] for block in arr(message["content"])]
        if not texts:
            self.note("empty-message", where, "a system message without text", "it is dropped")
        elif not self.reader.items and not self.waiting and self.is_system_text(message, texts):
            self.reader.system += texts
            self.system_roles.add(message.get("role"))
        else:
            self.waiting.append(Item("user", where, (Foreign(self.native(message), "\n".join(texts)),)))

    def is_system_text(self, message: dict[str, Any], texts: list[str]) -> bool:
        return is_plain(message, "role", "content") and any(text.strip() for text in texts)

    def let_system_speak(self) -> None:
        self.reader.items += self.waiting
        self.waiting = []

    # The user's messages

    def read_user(self, where: str, message: dict[str, Any]) -> None:
        content = message.get("content")
        if not isinstance(content, str) and not arr(content):
            self.note("empty-message", where, "a message without content", "it is dropped")
            return
        parts: list[UserPart] = [Text(content)] if isinstance(content, str) else [*self.read_parts(where, arr(content))]
        blank = isinstance(content, str) and not content.strip()
        if blank or (not is_plain(message, "role", "content") and _is_sound(content)):
            # The API takes empty text, and names of users; nobody else does.
            text = "\n".join(part.text for part in parts if isinstance(part, Text | Foreign))
            parts = [Foreign(self.native(message), text.strip())]
        self.reader.items.append(Item("user", where, tuple(parts)))

    def read_parts(self, where: str, blocks: list[Any]) -> list[Text | Image | Foreign]:
        only_text = len(blocks) > 1 and all(obj(block).get("type") == "text" for block in blocks)
        return [part for block in blocks if (part := self.read_part(where, block, only_text)) is not None]

    def read_part(self, where: str, block: object, keep: bool) -> Text | Image | Foreign | None:
        """A content part; `keep` is for texts that would become one, and tell of their number by being kept."""
        data = obj(block)
        kind = data.get("type")
        match kind:
            case "text" if isinstance(text := data.get("text"), str):
                if not text.strip():
                    return Foreign(self.native(data))
                return Text(text, self.native(data) if keep or not is_plain(data, "type", "text") else None)
            case "image_url":
                return self.read_image(where, data)
            case str() if kind != "text":
                return Foreign(self.native(data), f"[{kind}]")
            case _:
                self.note("unreadable", where, f"{dumps(block)[:40]} instead of a content part", "it is dropped")
                return None

    def read_image(self, where: str, block: dict[str, Any]) -> Text | Image | Foreign:
        source = block.get("image_url")
        url = source if isinstance(source, str) else string(obj(source).get("url"))
        plain = is_plain(obj(source), "url") and is_plain(block, "type", "image_url") and not isinstance(source, str)
        if found := _DATA_URL.match(url):
            return self.reader.image(where, block, plain, media_type=found[1], data=found[2])
        if url.startswith("data:"):
            return Foreign(self.native(block), "[image_url]")
        return self.reader.image(where, block, plain, url=url)

    # The model's messages, and what its calls gave

    def read_assistant(self, where: str, message: dict[str, Any]) -> None:
        content: object = message.get("content")
        if content is not None and not _is_sound(content):
            found = f"{dumps(content)[:40]} as the content of a message"
            if content != [] or is_openai(self.reader.origin.provider):
                self.note("unreadable", where, found, "what is no content part is dropped")
            message = message | {"content": [block for block in arr(content) if string(obj(block).get("type"))]}
        given = message.get("tool_calls")
        found = list_calls(message)
        if given is not None and not arr(given):
            if is_openai(self.reader.origin.provider):
                self.note("empty-message", where, "an empty list of calls", "it is left out")
        elif len(found) < len(arr(given)):
            self.note("unreadable", where, "a call without id, name and arguments", "it is left out")
        parts = said(message, self.reader.origin)
        calls = [self.read_call(f"{where}, call {n}", call) for n, call in enumerate(found)]
        if not parts and not calls:
            self.note("empty-message", where, "a message without content", "it is dropped")
        self.reader.items.append(Item("assistant", where, (*parts, *calls)))

    def read_call(self, where: str, data: dict[str, Any]) -> ToolCall:
        id, name, arguments, native = call_fields(data, self.reader.origin)
        old = "id" not in data and is_plain(data, "type", "function")
        if not id:
            id = made_up_id(where)
            self.nameless[id] = name
            if not old:
                self.note("bad-id", where, "a call without an id", f"the call becomes {id!r}", id)
        elif not id_form(self.reader.origin.provider).fullmatch(id):
            self.note("bad-id", where, f"call id {id!r} is too long", f"the call becomes {legal_id(id)!r}", id)
        if not isinstance(arguments, str) and string(data.get("type")) != "custom":
            found = f"the arguments of call {id!r} are {type(arguments).__name__}, not text"
            self.note("bad-arguments", where, found, "they are written as text", id)
        return self.reader.call(where, id, name, arguments, native, NAME)

    def read_result(self, where: str, message: dict[str, Any]) -> ToolResult:
        id = string(message.get("tool_call_id")) or self.oldest_nameless(where, message)
        self.nameless.pop(id, None)
        content = message.get("content")
        blocks = arr(content)
        if isinstance(content, str):
            parts = content
            plain = is_plain(message, "role", "content", "tool_call_id") and bool(content.strip())
        elif blocks:
            parts = tuple(self.read_parts(where, blocks))
            plain = len(blocks) == 1 and is_plain(message, "role", "content", "tool_call_id")
            plain = plain and all(isinstance(part, Text) and part.native is None for part in parts)
        else:
            parts, plain = "" if content is None else dumps(content), True
            if message.get("role") == "tool":
                found = f"{dumps(content)[:40]} as the result of call {id!r}"
                self.note("bad-result", where, found, "it is written as text", id)
        keep = not plain and _is_sound(content) and message.get("role") == "tool"
        native = self.native(message) if keep else None
        return ToolResult(legal_id(id) if id else "", parts, name=string(message.get("name")), native=native)

    def oldest_nameless(self, where: str, message: dict[str, Any]) -> str:
        """The call without an id that such a result answers: the first one of its name, if it has a name."""
        name = string(message.get("name"))
        id = next((id for id, called in self.nameless.items() if not name or name == called), "")
        if id and message.get("role") == "tool":
            self.note("bad-id", where, "a result without the id of its call", f"it is read as that of {id!r}", id)
        return id


def _is_sound(content: object) -> bool:
    """Whether it is text or a list of content parts, of whatever kinds."""
    blocks = arr(content)
    return isinstance(content, str) or (bool(blocks) and all(string(obj(block).get("type")) for block in blocks))
