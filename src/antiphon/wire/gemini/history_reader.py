"""Histories in the shape of Google's Gemini API."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from antiphon._shape import obj, string
from antiphon.conversation import (
    AssistantPart,
    Foreign,
    Image,
    Item,
    Native,
    Origin,
    Text,
    ToolResult,
    ToolSpec,
    UserPart,
)
from antiphon.errors import ContentError
from antiphon.wire.gemini.contents import CALLED
from antiphon.wire.gemini.keys import camel_keys, is_object, kind_of, part_of, several
from antiphon.wire.gemini.pairing import Pairing
from antiphon.wire.gemini.request import declaration
from antiphon.wire.gemini.response import fallback, read_part
from antiphon.wire.gemini.results import read_image, read_result
from antiphon.wire.gemini.schema import to_json_schema
from antiphon.wire.gemini.server_tools import pair_results
from antiphon.wire.reading import Reader, Reading


def read(data: object, origin: Origin) -> Reading:
    """A list of contents, or a whole request, as a conversation."""
    top = camel_keys(data) if is_object(data) else {"contents": data}
    contents = [camel_keys(content) for content in several(top.get("contents", top.get("messages")))]
    reader = Reader(origin, data)
    _read_system(reader, top.get("systemInstruction"))
    for tool in several(top.get("tools")):
        _read_tool(reader, camel_keys(tool))
    _read_contents(reader, contents)
    rest = {k: v for k, v in top.items() if k not in ("contents", "messages", "systemInstruction", "tools")}
    return reader.done(rest)


def _read_system(reader: Reader, system: object) -> None:
    if isinstance(system, str):
        reader.system.append(system)
    reader.system.extend(string(obj(part).get("text")) for part in several(obj(system).get("parts")))


def _read_tool(reader: Reader, tool: dict[str, Any]) -> None:
    for name, value in tool.items():
        if name != "functionDeclarations":
            taken = any(name == known.name for known in reader.tools)
            reader.tool("" if taken else name, "", {}, Native(reader.origin, {name: value}))
            continue
        for function in several(value):
            _read_function(reader, camel_keys(function))


def _read_function(reader: Reader, function: dict[str, Any]) -> None:
    name, description = string(function.get("name")), string(function.get("description"))
    schema = obj(function.get("parametersJsonSchema")) or to_json_schema(function.get("parameters"))
    plain = declaration(name, description, schema)
    try:
        ToolSpec(name, description, schema)
    except ContentError:
        plain = None
    # One that must be kept as it is has parameters all the same, so that everybody can see it is a function.
    native = None if plain == {"description": ""} | function else Native(reader.origin, {"name": name} | function)
    reader.tool(name, description, schema or ({"type": "object"} if native else {}), native)


def _read_contents(reader: Reader, contents: list[dict[str, Any]]) -> None:
    numbered = list(_with_parts(reader, contents))
    pairing = Pairing(part for _, _, parts in numbered for part in parts)
    # Neighbouring contents of the model are one turn to the API.
    for model, group in groupby(numbered, lambda content: content[0]):
        if model:
            pieces = list(group)
            _read_model(reader, pairing, pieces[0][1], [part for _, _, parts in pieces for part in parts])
            continue
        for _, where, parts in group:
            _read_user(reader, pairing, where, parts)


def _with_parts(reader: Reader, contents: list[dict[str, Any]]) -> Iterator[tuple[bool, str, list[dict[str, Any]]]]:
    """Whether each content is the model's, where it is, and its parts."""
    for index, content in enumerate(contents):
        where, role = f"content {index}", content.get("role", "user")
        known = role.lower() if isinstance(role, str) else ""
        if known not in ("user", "model", "function", ""):
            side = "model" if known == "assistant" else "user"
            reader.note("unknown-role", where, f"a content of role {role!r}", f"it is read as the {side}'s")
        given = several(content.get("parts"))
        parts = [part for part in map(part_of, given) if part]
        if not given:
            reader.note("empty-message", where, "a content without parts", "it is dropped")
        elif len(parts) < len(given):
            reader.note("unreadable", where, "a part that is nothing", "it is dropped")
        if parts:
            yield known in ("model", "assistant"), where, parts


def _read_model(reader: Reader, pairing: Pairing, where: str, parts: list[dict[str, Any]]) -> None:
    pairing.next_turn()
    given = [part for part in parts if "functionResponse" not in part]
    read = tuple(_read_model_part(reader, pairing, where, part) for part in given)
    reader.items.append(Item("assistant", where, pair_results(read)))
    if stray := [part for part in parts if "functionResponse" in part]:
        reader.note("misplaced-result", where, "a result in the model's content", "it is read as the user's")
        _read_user(reader, pairing, where, stray)


def _read_model_part(reader: Reader, pairing: Pairing, where: str, part: dict[str, Any]) -> AssistantPart:
    if "functionCall" not in part:
        return read_part(part, reader.origin, "")
    call = obj(part["functionCall"])
    name = string(call.get("name"))
    id = pairing.call(string(call.get("id")), name)
    native = read_part(part, reader.origin, id).native
    if reader.name(name) != name:
        native = Native(reader.origin, part)
    return reader.call(where, id, name, call.get("args", {}), native, CALLED)


def _read_user(reader: Reader, pairing: Pairing, where: str, parts: list[dict[str, Any]]) -> None:
    responses = [part for part in parts if "functionResponse" in part]
    ids = pairing.answers([obj(part["functionResponse"]) for part in responses])
    results: list[ToolResult] = []
    for id, part in zip(ids, responses, strict=True):
        result = read_result(part, id, reader.origin)
        if "response" in obj(part["functionResponse"]) and not isinstance(part["functionResponse"]["response"], dict):
            found = f"the response of `{result.name}` is no object"
            reader.note("bad-result", where, found, "it becomes the `result` in one", id)
        results.append(result)
    said: list[UserPart] = []
    for part in parts:
        if "functionCall" in part:
            reader.note("unreadable", where, "a call in the user's content", "it is dropped")
        elif "functionResponse" not in part:
            said.append(_read_user_part(reader, part))
    reader.items.append(Item("user", where, tuple(said), tuple(results)))


def _read_user_part(reader: Reader, part: dict[str, Any]) -> Text | Image | Foreign:
    kind = kind_of(part)
    text = string(part.get("text"))
    if kind == "text" and not text.strip():
        # The API takes empty text, others do not.
        return Foreign(Native(reader.origin, part))
    if kind == "text":
        return Text(text, None if set(part) == {"text"} else Native(reader.origin, part))
    if (image := read_image(part, reader.origin)) is not None:
        return image
    return Foreign(Native(reader.origin, part), fallback(part, kind))
