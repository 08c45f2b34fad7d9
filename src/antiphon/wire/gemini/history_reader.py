"""Reader of histories in the shape of Google's Gemini API."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Item,
    OpaquePart,
    Origin,
    ProviderPayload,
    ResultPart,
    Text,
    ToolResult,
    ToolSpec,
    UserPart,
)
from antiphon.errors import ContentError
from antiphon.wire.gemini.call_pairing import CallPairing
from antiphon.wire.gemini.contents import FUNCTION_NAME
from antiphon.wire.gemini.field_names import (
    as_object_list,
    camelize_keys,
    find_content_field,
    is_json_object,
    normalize_part,
)
from antiphon.wire.gemini.function_results import read_function_response, read_gemini_medium
from antiphon.wire.gemini.request import declare_gemini_function
from antiphon.wire.gemini.response import describe_part, read_gemini_part
from antiphon.wire.gemini.schema import to_json_schema
from antiphon.wire.gemini.server_tools import pair_server_results
from antiphon.wire.history_reader import HistoryReader, ReadHistory


def build_reasoning(text: str, signature: str, *, is_redacted: bool = False, id: str = "") -> dict[str, Any] | None:  # noqa: ARG001
    """Return the part of a signed thought, or None without a signature."""
    return {"text": text, "thought": True, "thoughtSignature": signature} if signature else None


def read(data: object, origin: Origin) -> ReadHistory:
    """Convert a list of contents, or a complete request, into a conversation."""
    top = camelize_keys(data) if is_json_object(data) else {"contents": data}
    contents = [camelize_keys(content) for content in as_object_list(top.get("contents", top.get("messages")))]
    reader = HistoryReader(origin, data)
    _read_system(reader, top.get("systemInstruction"))
    for tool in as_object_list(top.get("tools")):
        _read_tool(reader, camelize_keys(tool))
    _read_contents(reader, contents)
    rest = {k: v for k, v in top.items() if k not in ("contents", "messages", "systemInstruction", "tools")}
    return reader.done(rest)


def _read_system(reader: HistoryReader, system: object) -> None:
    if isinstance(system, str):
        reader.system.append(system)
    reader.system.extend(
        as_string(as_object(part).get("text")) for part in as_object_list(as_object(system).get("parts"))
    )


def _read_tool(reader: HistoryReader, tool: dict[str, Any]) -> None:
    for name, value in tool.items():
        if name != "functionDeclarations":
            taken = any(name == known.name for known in reader.tools)
            reader.tool("" if taken else name, "", {}, ProviderPayload(reader.origin, {name: value}))
            continue
        for function in as_object_list(value):
            _read_function_declaration(reader, camelize_keys(function))


def _read_function_declaration(reader: HistoryReader, function: dict[str, Any]) -> None:
    name, description = as_string(function.get("name")), as_string(function.get("description"))
    schema = as_object(function.get("parametersJsonSchema")) or to_json_schema(function.get("parameters"))
    plain = declare_gemini_function(name, description, schema)
    try:
        ToolSpec(name, description, schema)
    except ContentError:
        plain = None
    # A declaration kept unchanged gets parameters too, so that it is recognisable as a function.
    native = (
        None if plain == {"description": ""} | function else ProviderPayload(reader.origin, {"name": name} | function)
    )
    reader.tool(name, description, schema or ({"type": "object"} if native else {}), native)


def _read_contents(reader: HistoryReader, contents: list[dict[str, Any]]) -> None:
    numbered = list(_iter_contents(reader, contents))
    pairing = CallPairing(part for _, _, parts in numbered for part in parts)
    # The API treats adjacent contents of the model as one turn.
    for model, group in groupby(numbered, lambda content: content[0]):
        if model:
            pieces = list(group)
            _read_model_content(reader, pairing, pieces[0][1], [part for _, _, parts in pieces for part in parts])
            continue
        for _, where, parts in group:
            _read_user_content(reader, pairing, where, parts)


def _iter_contents(
    reader: HistoryReader, contents: list[dict[str, Any]]
) -> Iterator[tuple[bool, str, list[dict[str, Any]]]]:
    """Yield for each content whether it is the model's, its location, and its parts."""
    for index, content in enumerate(contents):
        where, role = f"content {index}", content.get("role", "user")
        known = role.lower() if isinstance(role, str) else ""
        if known not in ("user", "model", "function", ""):
            side = "model" if known == "assistant" else "user"
            reader.note("unknown-role", where, f"a content of role {role!r}", f"it is read as the {side}'s")
        given = as_object_list(content.get("parts"))
        parts = [part for part in map(normalize_part, given) if part]
        if not given:
            reader.note("empty-message", where, "a content without parts", "it is dropped")
        elif len(parts) < len(given):
            reader.note("unreadable", where, "a part that is nothing", "it is dropped")
        if parts:
            yield known in ("model", "assistant"), where, parts


def _read_model_content(reader: HistoryReader, pairing: CallPairing, where: str, parts: list[dict[str, Any]]) -> None:
    pairing.next_turn()
    given = [part for part in parts if "functionResponse" not in part]
    read = tuple(_read_model_part(reader, pairing, where, part) for part in given)
    reader.items.append(Item("assistant", where, pair_server_results(read)))
    if stray := [part for part in parts if "functionResponse" in part]:
        reader.note("misplaced-result", where, "a result in the model's content", "it is read as the user's")
        _read_user_content(reader, pairing, where, stray)


def _read_model_part(reader: HistoryReader, pairing: CallPairing, where: str, part: dict[str, Any]) -> AssistantPart:
    if "functionCall" not in part:
        return read_gemini_part(part, reader.origin, "")
    call = as_object(part["functionCall"])
    name = as_string(call.get("name"))
    id = pairing.call(as_string(call.get("id")), name)
    native = read_gemini_part(part, reader.origin, id).native
    if reader.name(name) != name:
        native = ProviderPayload(reader.origin, part)
    return reader.call(where, id, name, call.get("args", {}), native, FUNCTION_NAME)


def _read_user_content(reader: HistoryReader, pairing: CallPairing, where: str, parts: list[dict[str, Any]]) -> None:
    responses = [part for part in parts if "functionResponse" in part]
    ids = pairing.answers([as_object(part["functionResponse"]) for part in responses])
    results: list[ToolResult] = []
    for id, part in zip(ids, responses, strict=True):
        result = read_function_response(part, id, reader.origin)
        if "response" in as_object(part["functionResponse"]) and not isinstance(
            part["functionResponse"]["response"], dict
        ):
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


def _read_user_part(reader: HistoryReader, part: dict[str, Any]) -> ResultPart:
    kind = find_content_field(part)
    text = as_string(part.get("text"))
    if kind == "text" and not text.strip():
        # This API accepts empty text, others do not.
        return OpaquePart(ProviderPayload(reader.origin, part))
    if kind == "text":
        return Text(text, None if set(part) == {"text"} else ProviderPayload(reader.origin, part))
    if (medium := read_gemini_medium(part, reader.origin)) is not None:
        return medium
    return OpaquePart(ProviderPayload(reader.origin, part), describe_part(part, kind))
