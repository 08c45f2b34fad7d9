"""Reading histories that other programs kept in a provider's shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from antiphon.conversation import Change, Conversation, Foreign, Image, Item, Native, Origin, Text, ToolCall, assemble
from antiphon.conversation import ToolSpec as ToolSpec
from antiphon.conversation.parts import AssistantPart, UserPart
from antiphon.conversation.repair import ChangeCode
from antiphon.conversation.turns import heard
from antiphon.errors import ContentError
from antiphon.wire.naming import free_name


@dataclass(frozen=True, slots=True)
class Reading:
    """What came out of a history: the conversation, what had to be repaired, and the request's other fields."""

    conversation: Conversation
    changes: list[Change]
    rest: dict[str, Any]
    #: Where the model's last message stands, whose calls may still be open.
    last: str = ""


@dataclass(slots=True)
class Reader:
    """Collects a history's messages and what is wrong with them."""

    origin: Origin
    #: All of the file, for the names in it that are taken.
    data: object = None
    items: list[Item] = field(default_factory=list[Item])
    changes: list[Change] = field(default_factory=list[Change])
    system: list[str] = field(default_factory=list[str])
    tools: list[ToolSpec] = field(default_factory=list[ToolSpec])
    #: The legal name of each tool by the name it has in the file.
    names: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, code: ChangeCode, where: str, found: str, action: str, call_id: str = "") -> None:
        """Write down a problem and what is done about it."""
        self.changes.append(Change(code, where, found, action, call_id))

    def native(self, data: dict[str, Any], plain: object = None) -> Native | None:
        """The block itself, where our own encoding of it would not say the same."""
        return None if data == plain else Native(self.origin, data)

    def call(
        self, where: str, id: str, name: str, arguments: object, native: Native | None, legal: re.Pattern[str]
    ) -> ToolCall:
        """A call as the file has it, made legal; a name that is `legal` in its own API is no fault."""
        call = ToolCall.read(id, name, arguments, native=native)
        call = replace(call, name=self.name(name))
        fault = ToolCall.read(id, call.name, arguments).problem
        if not legal.fullmatch(name):
            found = f"a call to {name[:80]!r}, which is no legal name"
            self.note("bad-name", where, found, f"it becomes `{call.name}`")
        elif fault:
            self.note("bad-arguments", where, f"call {id!r}: {fault}", "they are kept as `_malformed`", id)
        return call

    def name(self, theirs: str) -> str:
        """The name of a tool made legal; no two tools become one by it."""
        if theirs not in self.names:
            legal = ToolCall.read("id", theirs, {}).name
            if legal != theirs:
                legal = free_name(legal, {*self.names.values(), *_names_in(self.data)})
            self.names[theirs] = legal
        return self.names[theirs]

    def image(self, where: str, block: dict[str, Any], plain: bool, **source: str) -> Image | Foreign | Text:
        """An image, or a line of text where it cannot be one. Its own API may take data that others do not."""
        native = Native(self.origin, block)
        try:
            return Image(**source, native=None if plain else native)
        except ContentError as error:
            if source.get("data"):
                return Foreign(native, "[image]")
            self.note("unreadable", where, f"an image: {error}", "a line of text takes its place")
            return Text("[an image that could not be read]")

    def tool(self, name: str, description: str, parameters: dict[str, Any], native: Native | None) -> None:
        """A declared tool; what is not a plain function is kept for its own provider only."""
        if name:
            # The same that its calls get.
            name = self.name(name)
        try:
            self.tools.append(ToolSpec(name, description, parameters, native))
        except ContentError:
            self.tools.append(ToolSpec(name or self.new_name(), description, {}, native))

    def new_name(self) -> str:
        """A name for a tool that has none, or none that is legal everywhere."""
        taken = {tool.name for tool in self.tools}
        number = len(self.tools) + 1
        while f"tool_{number}" in taken:
            number += 1
        return f"tool_{number}"

    def settle_tools(self) -> None:
        """Leave no two tools of one name: one that is kept as its provider knows it can have another name for us."""
        owners: dict[str, ToolSpec] = {}
        for tool in self.tools:
            if tool.native is None or owners.get(tool.name, tool).native:
                owners[tool.name] = tool
        self.tools = [tool for tool in self.tools if tool.native or owners[tool.name] is tool]
        for place, tool in enumerate(self.tools):
            if owners[tool.name] is not tool:
                self.tools[place] = replace(tool, name=self.new_name())

    def done(self, rest: dict[str, Any], *, by_id: bool = False, merges: bool = False) -> Reading:
        """The conversation these messages make; `assemble` says what the flags mean."""
        system = "\n\n".join(text for text in self.system if text.strip())
        self.settle_tools()
        items = [replace(item, parts=_heard(item)) for item in self.items]
        conversation, changes = assemble(items, system, self.tools, by_id=by_id, merges=merges)
        places = {item.where: place for place, item in enumerate(self.items)}
        found = sorted(self.changes + changes, key=lambda change: places.get(change.where, -1))
        last = next((item.where for item in reversed(self.items) if item.role == "assistant"), "")
        return Reading(conversation, found, rest, last)


def _names_in(data: object) -> Iterator[str]:
    """Everything that is called something anywhere in the file."""
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


def _heard(item: Item) -> tuple[UserPart | AssistantPart, ...]:
    return item.parts if item.role == "assistant" else tuple(each for part in item.parts for each in heard(part))
