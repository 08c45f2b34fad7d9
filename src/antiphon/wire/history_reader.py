"""Shared reader of histories that other programs stored in a provider's shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from antiphon.conversation import (
    Audio,
    Conversation,
    Document,
    File,
    Image,
    Item,
    OpaquePart,
    Origin,
    ProviderPayload,
    RepairAction,
    Text,
    ToolCall,
    Video,
    assemble,
)
from antiphon.conversation import ToolSpec as ToolSpec
from antiphon.conversation.repair import RepairCode
from antiphon.conversation.turns import split_attributed_part
from antiphon.errors import ContentError
from antiphon.wire.files import FileForm
from antiphon.wire.names_and_ids import make_unique_name


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """The result of reading a history: the conversation, its repairs, and the request's other fields."""

    conversation: Conversation
    changes: list[RepairAction]
    rest: dict[str, Any]
    #: Location of the model's last message, whose calls may still be open.
    last: str = ""


@dataclass(slots=True)
class HistoryReader:
    """Collector of a history's messages and of what is wrong with them."""

    origin: Origin
    #: The complete file, to find names that are already used.
    data: object = None
    items: list[Item] = field(default_factory=list[Item])
    changes: list[RepairAction] = field(default_factory=list[RepairAction])
    system: list[str] = field(default_factory=list[str])
    tools: list[ToolSpec] = field(default_factory=list[ToolSpec])
    #: The legal name of each tool by the name it has in the file.
    names: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, code: RepairCode, where: str, found: str, action: str, call_id: str = "") -> None:
        """Record a problem and how it was repaired."""
        self.changes.append(RepairAction(code, where, found, action, call_id))

    def native(self, data: dict[str, Any], plain: object = None) -> ProviderPayload | None:
        """Return the original block unless our encoding equals it."""
        return None if data == plain else ProviderPayload(self.origin, data)

    def call(
        self, where: str, id: str, name: str, arguments: object, native: ProviderPayload | None, legal: re.Pattern[str]
    ) -> ToolCall:
        """Return a call from the file with a legal id and name. A name `legal` in its own API is no
        problem.
        """
        call = ToolCall.read(id, name, arguments, native=native)
        fault = call.problem
        if (known := self.name(name)) != name:
            call = replace(call, name=known)
            # A legal name is no problem, but the arguments may be one.
            fault = ToolCall.read(id, known, arguments).problem
        if not legal.fullmatch(name):
            found = f"a call to {name[:80]!r}, which is no legal name"
            self.note("bad-name", where, found, f"it becomes `{call.name}`")
        elif fault:
            self.note("bad-arguments", where, f"call {id!r}: {fault}", "they are kept as `_malformed`", id)
        return call

    def name(self, theirs: str) -> str:
        """Return a tool's name in legal form. Different tools keep different names."""
        if theirs not in self.names:
            legal = ToolCall.read("id", theirs, {}).name
            if legal != theirs:
                legal = make_unique_name(legal, {*self.names.values(), *_iter_names(self.data)})
            self.names[theirs] = legal
        return self.names[theirs]

    def image(
        self, where: str, block: dict[str, Any], plain: bool, *, data: str = "", media_type: str = "", url: str = ""
    ) -> Image | OpaquePart | Text:
        """Return an image, or a line of text if it is invalid. Its own API may accept data that others do
        not.
        """
        native = ProviderPayload(self.origin, block)
        try:
            return Image(data, media_type, url, None if plain else native)
        except ContentError as error:
            if data:
                return OpaquePart(native, "[image]")
            self.note("unreadable", where, f"an image: {error}", "a line of text takes its place")
            return Text("[an image that could not be read]")

    def media(
        self, kind: type[Document | Audio | Video], block: dict[str, Any], plain: bool, **fields: Any
    ) -> Document | Audio | Video | OpaquePart:
        """Return a file, or a block of its own API if it is no valid one."""
        native = ProviderPayload(self.origin, block)
        try:
            return kind(native=None if plain else native, **fields)
        except ContentError:
            return OpaquePart(native, f"[{fields.get('name') or kind.kind}]")

    def file(
        self, form: FileForm, block: dict[str, Any], plain: bool, id: object, media_type: str = ""
    ) -> File | OpaquePart:
        """Return a file that the provider keeps, or its block if another field belongs to it."""
        is_known = plain and isinstance(id, str) and id.strip() and self.origin.provider in form.providers
        if is_known:
            return File(str(id), form.origin, media_type)
        return OpaquePart(ProviderPayload(self.origin, block), "[file]")

    def tool(self, name: str, description: str, parameters: dict[str, Any], native: ProviderPayload | None) -> None:
        """Add a declared tool. What is no plain function is kept for its own provider only."""
        if name:
            # Its calls get the same name.
            name = self.name(name)
        try:
            self.tools.append(ToolSpec(name, description, parameters, native))
        except ContentError:
            self.tools.append(ToolSpec(name or self.new_name(), description, {}, native))

    def new_name(self) -> str:
        """Return a name for a tool that has none, or none that is legal everywhere."""
        taken = {tool.name for tool in self.tools}
        number = len(self.tools) + 1
        while f"tool_{number}" in taken:
            number += 1
        return f"tool_{number}"

    def deduplicate_tools(self) -> None:
        """Give every tool a unique name and drop duplicates.

        A tool kept in its provider's own form can have another name for us.
        """
        owners: dict[str, ToolSpec] = {}
        for tool in self.tools:
            if tool.native is None or owners.get(tool.name, tool).native:
                owners[tool.name] = tool
        self.tools = [tool for tool in self.tools if tool.native or owners[tool.name] is tool]
        for place, tool in enumerate(self.tools):
            if owners[tool.name] is not tool:
                self.tools[place] = replace(tool, name=self.new_name())

    def done(self, rest: dict[str, Any], *, by_id: bool = False, merges: bool = False) -> ReadHistory:
        """Return the conversation of these messages. The flags are those of the assembling function."""
        system = "\n\n".join(text for text in self.system if text.strip())
        self.deduplicate_tools()
        items = [_split_by_author(item) for item in self.items]
        conversation, changes = assemble(items, system, self.tools, by_id=by_id, merges=merges)
        places = {item.where: place for place, item in enumerate(self.items)}
        found = sorted(self.changes + changes, key=lambda change: places.get(change.where, -1))
        last = next((item.where for item in reversed(self.items) if item.role == "assistant"), "")
        return ReadHistory(conversation, found, rest, last)


def _iter_names(data: object) -> Iterator[str]:
    """Yield every `name` anywhere in the file."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            held = cast(dict[str, object], value)
            waiting += held.values()
            if isinstance(name := held.get("name"), str):
                yield name
        elif isinstance(value, list):
            waiting += cast(list[object], value)


def _split_by_author(item: Item) -> Item:
    if item.role == "assistant" or not item.parts:
        return item
    return replace(item, parts=tuple(each for part in item.parts for each in split_attributed_part(part)))
