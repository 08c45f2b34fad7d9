"""Histories in the shape of OpenAI's Responses API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, string
from antiphon.conversation import Foreign, Image, Item, Native, Origin, Text, ToolResult, ToolSpec, legal_id
from antiphon.errors import ContentError
from antiphon.wire.naming import is_universal
from antiphon.wire.openai_responses.calls import is_call
from antiphon.wire.openai_responses.items import CALL_ID, NAME, is_content, tool_data
from antiphon.wire.openai_responses.response import client_item, content_of, is_plain, read_item, read_own, text_of
from antiphon.wire.openai_responses.terms import CLIENT_CALLS, call_id, continues, kind_of
from antiphon.wire.reading import Reader, Reading

_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,(.+)", re.DOTALL)
#: R14: what stands beside messages, never in them.
_ITEMS = ("function_call", "function_call_output", "tool_call", "tool_calls", "tool_use", "tool_result")
_TEXTS = ("input_text", "output_text", "text")
# Items of the API's own that the client writes, besides the outputs of calls.
_CLIENT = ("mcp_approval_response", "additional_tools", "configuration_update", "compaction_trigger")


def read(data: object, origin: Origin) -> Reading:
    """A list of items, or a whole request, as a conversation."""
    whole = not isinstance(data, str | list)
    top: dict[str, Any] = obj(data) if whole else {"input": data}
    given = top.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else [obj(item) for item in arr(given)]
    reader = _Reader(origin, data)
    reader.look_ahead(top, items)
    rest = {k: v for k, v in top.items() if k not in ("input", "instructions", "tools")}
    _read_frame(reader, top, rest)
    for index, item in enumerate(items):
        reader.read_item(f"item {index}", item)
    if whole:
        # The encoder would add these to a request that does not speak of them.
        rest = {"store": None, "include": None} | rest
    return reader.done(rest, by_id=True)


def _read_frame(reader: Reader, top: dict[str, Any], rest: dict[str, Any]) -> None:
    if string(top.get("instructions")).strip():
        reader.system.append(string(top["instructions"]))
    elif "instructions" in top:
        rest["instructions"] = top["instructions"]
    if "tools" in top and not isinstance(top["tools"], list):
        rest["tools"] = top["tools"]
    for tool in map(obj, arr(top.get("tools"))):
        if tool.get("type") == "function":
            name, text, schema = string(tool.get("name")), string(tool.get("description")), obj(tool.get("parameters"))
            reader.tool(name, text, schema, reader.native(tool, _plain_tool(name, text, schema)))
        elif tool:
            name = string(tool.get("name")) if tool.get("type") == "custom" else ""
            reader.tool(name, string(tool.get("description")), {}, Native(reader.origin, tool))


def _plain_tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return tool_data(ToolSpec(name, description, parameters))
    except ContentError:
        return None


@dataclass(slots=True)
class _Reader(Reader):
    """Knows besides which calls are there, and whether there may be others on the server."""

    called: set[str] = field(default_factory=set[str])
    answered: set[str] = field(default_factory=set[str])
    called_otherwise: set[str] = field(default_factory=set[str])
    answered_otherwise: set[str] = field(default_factory=set[str])
    hidden: bool = False
    #: Functions' calls seen so far whose outputs are still to come.
    open: set[str] = field(default_factory=set[str])

    def look_ahead(self, top: dict[str, Any], items: list[dict[str, Any]]) -> None:
        """Find the calls and outputs, which are paired by id wherever they stand."""
        self.hidden = continues(top)
        for item in items:
            kind, id = kind_of(item), string(item.get("call_id"))
            if kind == "function_call":
                self.called.add(id)
            elif kind == "function_call_output":
                self.answered.add(id)
            elif kind in CLIENT_CALLS and id:
                self.called_otherwise.add(id)
            elif kind.endswith("_output"):
                self.answered_otherwise.add(call_id(item, self.origin.provider))
            self.hidden = self.hidden or kind in ("item_reference", "compaction")

    def read_item(self, where: str, item: dict[str, Any]) -> None:
        """Take in one item."""
        match kind_of(item):
            case "message":
                self.read_message(where, item)
            case "function_call":
                self.read_call(where, item)
            case "function_call_output":
                self.read_output(where, item)
            case "reasoning":
                self.items.append(Item("assistant", where, read_item(item, self.origin)))
            case "":
                self.note("unreadable", where, "no item: it has neither a type nor a role", "it is dropped")
            case _ if self.is_open(item):
                self.items.append(Item("assistant", where, read_item(item, self.origin)))
            case kind:
                served = item.get("execution") == "server" or kind == "program_output"
                client = kind in _CLIENT or (kind.endswith("_output") and not served)
                if client:
                    self.take_client_item(where, item)
                else:
                    self.items.append(Item("assistant", where, read_own(item, self.origin)))

    def is_open(self, item: dict[str, Any]) -> bool:
        """Whether this is a call, though no function's, that nobody has answered: it may still be."""
        id = call_id(item, self.origin.provider)
        return (
            is_call(item, self.origin.provider)
            and not self.hidden
            and id not in self.answered | self.answered_otherwise
        )

    def take_client_item(self, where: str, item: dict[str, Any]) -> None:
        """Keep an item in its place. What the client wrote is the user's, unless functions' calls of the model are
        still open there: then it must not end the model's turn."""
        if self.open and self.items and self.items[-1].role == "assistant":
            self.items.append(Item("assistant", where, read_own(item, self.origin)))
        else:
            self.items.append(Item("user", where, (client_item(item, self.origin),)))

    def read_message(self, where: str, item: dict[str, Any]) -> None:
        role = item.get("role")
        if role in ("system", "developer"):
            self.items.append(Item("user", where, (Foreign(Native(self.origin, item), text_of(item)),)))
            return
        if role not in ("user", "assistant"):
            self.note("unknown-role", where, f"a message of role {role!r}", "it is read as the user's")
        cut = role == "assistant" and item.get("content") == []
        if not content_of(item) and item.get("content") != "" and not cut:
            self.note("empty-message", where, "a message without content", "it is dropped")
        elif role == "assistant":
            self.items.append(Item("assistant", where, read_item(self.as_output(where, item), self.origin)))
        elif role == "user" and not is_plain(item, "role", "content"):
            # One that the server knows, such as compaction leaves.
            self.items.append(Item("user", where, (Foreign(Native(self.origin, item), text_of(item)),)))
        else:
            parts = tuple(self.read_content(where, block, message=True) for block in content_of(item))
            self.items.append(Item("user", where, parts))

    def as_output(self, where: str, item: dict[str, Any]) -> dict[str, Any]:
        """The message without what the API does not take from an assistant (R10)."""
        wrong = [block for block in content_of(item) if _is_no_output(block)]
        if not wrong:
            return item
        found = f"an assistant's content of type {wrong[0].get('type')!r}"
        self.note("unreadable", where, found, "its text is kept as the assistant's")
        text = "".join(string(block.get("text") or block.get("refusal")) for block in content_of(item))
        return {"role": "assistant", "content": text}

    def read_call(self, where: str, item: dict[str, Any]) -> None:
        id, arguments = string(item.get("call_id")), item.get("arguments", "")
        name = string(item.get("name"))
        plain = is_plain(item, "call_id", "name", "arguments") and is_universal(id, name)
        call = self.call(where, id, name, arguments, None if plain else Native(self.origin, item), NAME)
        if not isinstance(arguments, str) and not call.problem:
            self.note("bad-arguments", where, f"call {id!r}: its arguments are no text", "they become JSON text", id)
        if not CALL_ID.fullmatch(id):
            self.note("bad-id", where, f"call id {id!r} is not legal", f"the call becomes {call.id!r}", id)
        self.items.append(Item("assistant", where, (call,)))
        if id in self.answered:
            self.open.add(id)

    def read_output(self, where: str, item: dict[str, Any]) -> None:
        id, output = string(item.get("call_id")), item.get("output")
        self.open.discard(id)
        if id not in self.called and (id in self.called_otherwise or self.hidden):
            self.take_client_item(where, item)
            return
        if not isinstance(output, str | list):
            self.note("bad-result", where, f"the output of call {id!r} is no text", "it becomes text", id)
            output = "" if output is None else dumps(output)
            item = {"type": "function_call_output"}
        parts = tuple(self.read_content(where, obj(block)) for block in arr(item.get("output")))
        # Where our own encoding would put words in place of nothing, theirs is kept.
        content = output if isinstance(output, str) else parts
        blank = not content or any(not part.strip() for part in _texts(content))
        plain = "output" not in item or (is_plain(item, "call_id", "output") and not blank)
        native = None if plain else Native(self.origin, item)
        self.items.append(
            Item("user", where, results=(ToolResult(legal_id(id) if id else "", content, native=native),))
        )

    def read_content(self, where: str, block: dict[str, Any], message: bool = False) -> Text | Image | Foreign:
        """A piece of a user's message or of an output."""
        kind = string(block.get("type"))
        if kind in _TEXTS:
            if kind != "input_text":
                self.note("unreadable", where, f"content of type {kind!r}", "it is read as 'input_text'")
            if message and not string(block.get("text")).strip():
                # This API takes empty text, others and our own turns do not.
                return Foreign(Native(self.origin, {"type": "input_text", "text": string(block.get("text"))}))
            plain = kind != "input_text" or is_plain(block, "text")
            return Text(string(block.get("text")), None if plain else Native(self.origin, block))
        if kind == "input_image" and block.get("file_id") is None:
            return self.read_image(where, block)
        if message and kind in _ITEMS:
            self.note("unreadable", where, f"a {kind!r} inside a message", "it is kept as text")
            return Text(dumps(block))
        if message and not is_content(block):
            # By itself it would look like an item.
            block = {"role": "user", "content": [block]}
        name = string(block.get("filename"))
        return Foreign(Native(self.origin, block), f"[{kind}: {name}]" if name else f"[{kind or 'content'}]")

    def read_image(self, where: str, block: dict[str, Any]) -> Image | Text | Foreign:
        url = string(block.get("image_url"))
        plain = is_plain(block, "image_url", "detail") and block.get("detail") == "auto"
        if match := _DATA_URL.fullmatch(url):
            return self.image(where, block, plain, media_type=match[1], data=match[2])
        if url.startswith("data:"):
            return Foreign(Native(self.origin, block), "[image]")
        return self.image(where, block, plain, url=url)


def _texts(content: str | tuple[Text | Image | Foreign, ...]) -> list[str]:
    return [content] if isinstance(content, str) else [part.text for part in content if isinstance(part, Text)]


def _is_no_output(block: dict[str, Any]) -> bool:
    kind = string(block.get("type"))
    return kind.startswith("input_") or kind in ("", "text", "image_url")
