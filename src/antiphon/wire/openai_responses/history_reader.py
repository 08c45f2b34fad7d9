"""Reader of histories in the shape of OpenAI's Responses API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import (
    Document,
    Image,
    Item,
    OpaquePart,
    Origin,
    ProviderPayload,
    ResultPart,
    Text,
    ToolResult,
    ToolSpec,
    normalize_call_id,
)
from antiphon.errors import ContentError
from antiphon.wire.files import OPENAI_FILES, make_upload_name
from antiphon.wire.history_reader import HistoryReader, ReadHistory
from antiphon.wire.names_and_ids import is_universally_legal
from antiphon.wire.openai_responses.client_calls import is_client_call
from antiphon.wire.openai_responses.item_rules import CLIENT_CALLS, continues_stored, get_client_call_id, get_item_type
from antiphon.wire.openai_responses.items import (
    CALL_ID,
    RESPONSES_TOOL_NAME,
    declare_responses_function,
    is_content_block,
)
from antiphon.wire.openai_responses.response import (
    get_content_blocks,
    get_message_text,
    has_only_item_fields,
    make_client_part,
    read_opaque_item,
    read_output_item,
)

_FILE_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.+)", re.DOTALL)
_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,(.+)", re.DOTALL)
#: R14: items that are never inside a message.
_MISPLACED_ITEMS = ("function_call", "function_call_output", "tool_call", "tool_calls", "tool_use", "tool_result")
_TEXT_TYPES = ("input_text", "output_text", "text")
# Items that the client writes, besides the outputs of calls.
_CLIENT_ITEMS = ("mcp_approval_response", "additional_tools", "configuration_update", "compaction_trigger")


def build_reasoning(text: str, signature: str, *, is_redacted: bool = False, id: str = "") -> dict[str, Any] | None:  # noqa: ARG001
    """Return the item of encrypted or stored reasoning, or None if it is neither."""
    if not (id or signature):
        return None
    summary = [{"type": "summary_text", "text": text}] if text else []
    data = {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": signature}
    return {key: value for key, value in data.items() if value != ""}


def read(data: object, origin: Origin) -> ReadHistory:
    """Convert a list of items, or a complete request, into a conversation."""
    whole = not isinstance(data, str | list)
    top: dict[str, Any] = as_object(data) if whole else {"input": data}
    given = top.get("input")
    items = (
        [{"role": "user", "content": given}]
        if isinstance(given, str)
        else [as_object(item) for item in as_array(given)]
    )
    reader = _ItemReader(origin, data)
    reader.index_calls(top, items)
    rest = {k: v for k, v in top.items() if k not in ("input", "instructions", "tools")}
    _read_instructions_and_tools(reader, top, rest)
    for index, item in enumerate(items):
        reader.read_item(f"item {index}", item)
    if whole:
        # None keeps the encoder from adding these fields to a request that had none.
        rest = {"store": None, "include": None} | rest
    return reader.done(rest, by_id=True)


def _read_instructions_and_tools(reader: HistoryReader, top: dict[str, Any], rest: dict[str, Any]) -> None:
    if as_string(top.get("instructions")).strip():
        reader.system.append(as_string(top["instructions"]))
    elif "instructions" in top:
        rest["instructions"] = top["instructions"]
    if "tools" in top and not isinstance(top["tools"], list):
        rest["tools"] = top["tools"]
    for tool in map(as_object, as_array(top.get("tools"))):
        if tool.get("type") == "function":
            name, text, schema = (
                as_string(tool.get("name")),
                as_string(tool.get("description")),
                as_object(tool.get("parameters")),
            )
            reader.tool(name, text, schema, reader.native(tool, _declare_if_legal(name, text, schema)))
        elif tool:
            name = as_string(tool.get("name")) if tool.get("type") == "custom" else ""
            reader.tool(name, as_string(tool.get("description")), {}, ProviderPayload(reader.origin, tool))


def _declare_if_legal(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return declare_responses_function(ToolSpec(name, description, parameters))
    except ContentError:
        return None


@dataclass(slots=True)
class _ItemReader(HistoryReader):
    """Reader that also tracks which calls and outputs exist, and whether the server may hold others."""

    called: set[str] = field(default_factory=set[str])
    answered: set[str] = field(default_factory=set[str])
    client_called: set[str] = field(default_factory=set[str])
    client_answered: set[str] = field(default_factory=set[str])
    hidden: bool = False
    #: Function calls read so far whose outputs are still to come.
    open: set[str] = field(default_factory=set[str])

    def index_calls(self, top: dict[str, Any], items: list[dict[str, Any]]) -> None:
        """Collect the ids of calls and outputs, which are paired by id at any position."""
        self.hidden = continues_stored(top)
        for item in items:
            kind, id = get_item_type(item), as_string(item.get("call_id"))
            if kind == "function_call":
                self.called.add(id)
            elif kind == "function_call_output":
                self.answered.add(id)
            elif kind in CLIENT_CALLS and id:
                self.client_called.add(id)
            elif kind.endswith("_output"):
                self.client_answered.add(get_client_call_id(item, self.origin.provider))
            self.hidden = self.hidden or kind in ("item_reference", "compaction")

    def read_item(self, where: str, item: dict[str, Any]) -> None:
        """Read one item."""
        match get_item_type(item):
            case "message":
                self.read_message(where, item)
            case "function_call":
                self.read_call(where, item)
            case "function_call_output":
                self.read_function_output(where, item)
            case "reasoning":
                self.items.append(Item("assistant", where, read_output_item(item, self.origin)))
            case "":
                self.note("unreadable", where, "no item: it has neither a type nor a role", "it is dropped")
            case _ if self.is_open(item):
                self.items.append(Item("assistant", where, read_output_item(item, self.origin)))
            case kind:
                served = item.get("execution") == "server" or kind == "program_output"
                client = kind in _CLIENT_ITEMS or (kind.endswith("_output") and not served)
                if client:
                    self.add_client_item(where, item)
                else:
                    self.items.append(Item("assistant", where, read_opaque_item(item, self.origin)))

    def is_open(self, item: dict[str, Any]) -> bool:
        """Return whether this is an unanswered call of a kind other than function."""
        id = get_client_call_id(item, self.origin.provider)
        return (
            is_client_call(item, self.origin.provider)
            and not self.hidden
            and id not in self.answered | self.client_answered
        )

    def add_client_item(self, where: str, item: dict[str, Any]) -> None:
        """Keep a client's item in its place.

        It belongs to the user, unless function calls are still open: then it must not end the model's
        turn.
        """
        if self.open and self.items and self.items[-1].role == "assistant":
            self.items.append(Item("assistant", where, read_opaque_item(item, self.origin)))
        else:
            self.items.append(Item("user", where, (make_client_part(item, self.origin),)))

    def read_message(self, where: str, item: dict[str, Any]) -> None:
        role = item.get("role")
        if role in ("system", "developer"):
            self.items.append(
                Item("user", where, (OpaquePart(ProviderPayload(self.origin, item), get_message_text(item)),))
            )
            return
        if role not in ("user", "assistant"):
            self.note("unknown-role", where, f"a message of role {role!r}", "it is read as the user's")
        cut = role == "assistant" and item.get("content") == []
        if not get_content_blocks(item) and item.get("content") != "" and not cut:
            self.note("empty-message", where, "a message without content", "it is dropped")
        elif role == "assistant":
            self.items.append(
                Item("assistant", where, read_output_item(self.drop_invalid_output(where, item), self.origin))
            )
        elif role == "user" and not has_only_item_fields(item, "role", "content"):
            # A message that the server knows, such as one left by compaction.
            self.items.append(
                Item("user", where, (OpaquePart(ProviderPayload(self.origin, item), get_message_text(item)),))
            )
        else:
            parts = tuple(self.read_content_block(where, block, message=True) for block in get_content_blocks(item))
            self.items.append(Item("user", where, parts))

    def drop_invalid_output(self, where: str, item: dict[str, Any]) -> dict[str, Any]:
        """Return the message without content that the API does not accept from an assistant (R10)."""
        wrong = [block for block in get_content_blocks(item) if _is_input_block(block)]
        if not wrong:
            return item
        found = f"an assistant's content of type {wrong[0].get('type')!r}"
        self.note("unreadable", where, found, "its text is kept as the assistant's")
        text = "".join(as_string(block.get("text") or block.get("refusal")) for block in get_content_blocks(item))
        return {"role": "assistant", "content": text}

    def read_call(self, where: str, item: dict[str, Any]) -> None:
        id, arguments = as_string(item.get("call_id")), item.get("arguments", "")
        name = as_string(item.get("name"))
        plain = has_only_item_fields(item, "call_id", "name", "arguments") and is_universally_legal(id, name)
        call = self.call(
            where, id, name, arguments, None if plain else ProviderPayload(self.origin, item), RESPONSES_TOOL_NAME
        )
        if not isinstance(arguments, str) and not call.problem:
            self.note("bad-arguments", where, f"call {id!r}: its arguments are no text", "they become JSON text", id)
        if not CALL_ID.fullmatch(id):
            self.note("bad-id", where, f"call id {id!r} is not legal", f"the call becomes {call.id!r}", id)
        self.items.append(Item("assistant", where, (call,)))
        if id in self.answered:
            self.open.add(id)

    def read_function_output(self, where: str, item: dict[str, Any]) -> None:
        id, output = as_string(item.get("call_id")), item.get("output")
        self.open.discard(id)
        if id not in self.called and (id in self.client_called or self.hidden):
            self.add_client_item(where, item)
            return
        if not isinstance(output, str | list):
            self.note("bad-result", where, f"the output of call {id!r} is no text", "it becomes text", id)
            output = "" if output is None else dump_json(output)
            item = {"type": "function_call_output"}
        parts = tuple(self.read_content_block(where, as_object(block)) for block in as_array(item.get("output")))
        # Keep the original if our encoding would replace its blank content.
        content = output if isinstance(output, str) else parts
        blank = not content or any(not part.strip() for part in _extract_texts(content))
        plain = "output" not in item or (has_only_item_fields(item, "call_id", "output") and not blank)
        native = None if plain else ProviderPayload(self.origin, item)
        self.items.append(
            Item("user", where, results=(ToolResult(normalize_call_id(id) if id else "", content, native=native),))
        )

    def read_content_block(self, where: str, block: dict[str, Any], message: bool = False) -> ResultPart:
        """Convert a piece of a user's message or of an output."""
        kind = as_string(block.get("type"))
        if kind in _TEXT_TYPES:
            if kind != "input_text":
                self.note("unreadable", where, f"content of type {kind!r}", "it is read as 'input_text'")
            if message and not as_string(block.get("text")).strip():
                # Only this API accepts empty text; our turns do not either.
                return OpaquePart(
                    ProviderPayload(self.origin, {"type": "input_text", "text": as_string(block.get("text"))})
                )
            plain = kind != "input_text" or has_only_item_fields(block, "text")
            return Text(as_string(block.get("text")), None if plain else ProviderPayload(self.origin, block))
        if kind == "input_image" and block.get("file_id") is None:
            return self.read_image(where, block)
        if kind == "input_image":
            plain = block == {"type": kind, "file_id": block["file_id"], "detail": "auto"}
            return self.file(OPENAI_FILES, block, plain, block["file_id"], "image/*")
        if kind == "input_file" and (found := self.read_file(block)) is not None:
            return found
        if message and kind in _MISPLACED_ITEMS:
            self.note("unreadable", where, f"a {kind!r} inside a message", "it is kept as text")
            return Text(dump_json(block))
        if message and not is_content_block(block):
            # Outside a message it would look like an item.
            block = {"role": "user", "content": [block]}
        name = as_string(block.get("filename"))
        return OpaquePart(
            ProviderPayload(self.origin, block), f"[{kind}: {name}]" if name else f"[{kind or 'content'}]"
        )

    def read_file(self, block: dict[str, Any]) -> ResultPart | None:
        """Return a file, or None if only this API can have it."""
        name, data = as_string(block.get("filename")), as_string(block.get("file_data"))
        plain = has_only_item_fields(block, *(["filename", "file_data"] if data else ["file_url"]))
        if found := _FILE_DATA_URL.fullmatch(data):
            part = self.media(Document, block, plain, data=found[2], media_type=found[1], name=name)
            exact = not isinstance(part, Document) or make_upload_name(part) == name
            return part if exact else replace(part, native=ProviderPayload(self.origin, block))
        if url := as_string(block.get("file_url")):
            return self.media(Document, block, plain, url=url, name=name)
        if block.keys() == {"type", "file_id"}:
            return self.file(OPENAI_FILES, block, True, block["file_id"])
        return None

    def read_image(self, where: str, block: dict[str, Any]) -> Image | Text | OpaquePart:
        url = as_string(block.get("image_url"))
        plain = has_only_item_fields(block, "image_url", "detail") and block.get("detail") == "auto"
        if match := _DATA_URL.fullmatch(url):
            return self.image(where, block, plain, media_type=match[1], data=match[2])
        if url.startswith("data:"):
            return OpaquePart(ProviderPayload(self.origin, block), "[image]")
        return self.image(where, block, plain, url=url)


def _extract_texts(content: str | tuple[ResultPart, ...]) -> list[str]:
    return [content] if isinstance(content, str) else [part.text for part in content if isinstance(part, Text)]


def _is_input_block(block: dict[str, Any]) -> bool:
    kind = as_string(block.get("type"))
    return kind.startswith("input_") or kind in ("", "text", "image_url")
