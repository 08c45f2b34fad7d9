"""Conversations as JSON files: one schema with a version, written atomically, read with care."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, cast

from antiphon._files import read_named_file
from antiphon._json import dumps, loads
from antiphon.conversation.assembly import Item, assemble
from antiphon.conversation.conversation import Conversation, Head
from antiphon.conversation.parts import (
    Chat,
    Citation,
    Foreign,
    HostedTool,
    Image,
    Native,
    Note,
    Origin,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Update,
)
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.questions import OpenQuestion
from antiphon.conversation.repair import Change
from antiphon.conversation.turns import Turn, UserTurn
from antiphon.errors import ContentError, FormatError, VersionError
from antiphon.results import Result

FORMAT = "antiphon/conversation"
#: Version 2 has notes, updates, bound reasoning, a head, citations and what a provider's own tools did. A file that
#: needs none of them is written as version 1.
VERSIONS = (1, 2)

Part = Text | Image | Chat | Note | Update | Reasoning | ServerCall | ServerResult | Foreign | ToolCall


def to_json(conversation: Conversation) -> dict[str, Any]:
    """The conversation as JSON data."""
    questions = conversation.questions
    head = _head_json(conversation)
    is_new = bool(head) or any(_is_new(part) for turn in conversation.turns for part in turn.parts)
    is_new = is_new or any(tool.hosted for tool in conversation.tools)
    return {
        "format": FORMAT,
        "version": VERSIONS[is_new],
        "system": conversation.system,
        "tools": [tool_json(tool) for tool in conversation.tools],
        "turns": [turn_json(turn) for turn in conversation.turns],
        "kept": conversation.kept,
        **({"head": head} if head else {}),
        **({"questions": {id: asdict(each) for id, each in questions.items()}} if questions else {}),
        **({"state": conversation.state.to_json()} if conversation.state else {}),
        **({"auto_assistant_tool_calls": True} if conversation.auto_assistant_tool_calls else {}),
    }


def _is_new(part: Part) -> bool:
    if isinstance(part, Text):
        return bool(part.citations)
    is_bound = isinstance(part, Reasoning) and bool(part.bound)
    return is_bound or isinstance(part, Note | Update | ServerCall | ServerResult)


def _head_json(conversation: Conversation) -> dict[str, Any]:
    """Return the head of the first request, where it is not what the conversation has now."""
    head = conversation.head
    if head == Head(conversation.system, conversation.tools):
        return {}
    tools = [tool_json(tool) for tool in head.tools]
    return {"system": head.system, "tools": tools, **_fields(head, "effort", "form")}


def save(conversation: Conversation, path: str | PathLike[str]) -> None:
    """Write to a new file beside the old one, then put it in its place."""
    write_atomically(path, dumps(to_json(conversation)).encode() + b"\n")


def load(path: str | PathLike[str]) -> Conversation:
    """Read a saved conversation; anything broken in it is a FormatError, not repaired here."""
    content = read_bytes(path)
    try:
        conversation, changes = from_json(loads(content, "the file", unique=True))
    except VersionError as error:
        raise VersionError(f"{path}: {error}") from None
    except (FormatError, ContentError) as error:
        raise FormatError(f"{path}: {error}") from None
    if changes:
        first, more = changes[0], f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
        raise FormatError(f"{path}: {first.where}: {first.found}{more}; `antiphon doctor --write {path}` repairs it")
    return conversation


def from_json(data: object) -> tuple[Conversation, list[Change]]:
    """Read what `to_json` made, and repair what somebody else made of it."""
    top = _object(data, "the file")
    if top.get("format") != FORMAT:
        raise FormatError(f"this is not a saved conversation: `format` is {top.get('format')!r}, not {FORMAT!r}")
    if top.get("version") not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise VersionError(
            f"this file has version {top.get('version')!r}, and this release reads versions {known}; a newer release"
            " wrote it: read it there"
        )
    tools = [tool_from_json(item, f"tool {n}") for n, item in enumerate(_list(top, "tools", "the file"), 1)]
    turns = enumerate(_list(top, "turns", "the file"), 1)
    items = [item for number, turn in turns for item in _items(turn, f"turn {number}")]
    try:
        auto = top.get("auto_assistant_tool_calls") is True
        conversation, changes = assemble(items, _text(top, "system", "the file"), tools, auto=auto)
    except ContentError as error:
        raise FormatError(str(error)) from None
    if "head" in top:
        conversation.restore_head(_head(_object(top["head"], "`head`")))
    kept = _object(top.get("kept", {}), "`kept`")
    for handle in kept:
        conversation.keep(handle, _text(kept, handle, "`kept`"))
    for id, question in _object(top.get("questions", {}), "`questions`").items():
        # Of a file that was repaired, the call may be gone.
        if any(call.id == id for call in conversation.open_calls):
            conversation.ask(id, _question(question, f"question {id!r}"))
    conversation.state = ProviderState.from_json(top.get("state", []))
    return conversation, changes


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The file's bytes; a FormatError says why there are none."""
    try:
        return read_named_file(path)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def write_atomically(path: str | PathLike[str], content: bytes) -> None:
    """The old file or the new one, never half of it, and with the old one's permissions."""
    target = Path(path).resolve()
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Out

_TAGS: dict[type, tuple[str, tuple[str, ...]]] = {
    Text: ("text", ("text", "native")),
    Image: ("image", ("data", "media_type", "url", "native")),
    Chat: ("chat", ("author", "text")),
    Note: ("note", ("text", "kind")),
    Update: ("update", ("removed", "system", "effort", "form")),
    Reasoning: ("reasoning", ("text", "native", "bound")),
    ServerCall: ("server_call", ("id", "tool", "input", "status", "native")),
    ServerResult: ("server_result", ("call_id", "text", "files", "native")),
    Foreign: ("foreign", ("text", "native")),
    ToolCall: ("call", ("id", "name", "arguments", "problem", "native")),
}


def turn_json(turn: Turn) -> dict[str, Any]:
    """One turn as JSON data, for whoever keeps turns one by one."""
    parts = [_part_json(part) for part in turn.parts]
    if isinstance(turn, UserTurn):
        return {"role": "user", "parts": parts}
    return {"role": "assistant", "parts": parts, "results": [result_json(result) for result in turn.results]}


def tool_json(tool: ToolSpec) -> dict[str, Any]:
    """One tool as JSON data."""
    data = _fields(tool, "name", "description", "parameters", "native")
    return data | ({"hosted": _fields(tool.hosted, "kind", "options", "extra")} if tool.hosted else {})


def parts_json(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Parts of a turn as JSON data."""
    return [_part_json(part) for part in parts]


def parts_from_json(data: Iterable[object]) -> tuple[Part, ...]:
    """What `parts_json` made."""
    return tuple(_part(part, f"part {n}") for n, part in enumerate(data, 1))


def turns_from_json(data: Iterable[object]) -> tuple[Turn, ...]:
    """Turns of which each is what `turn_json` made."""
    items = [item for n, turn in enumerate(data, 1) for item in _items(turn, f"turn {n}")]
    return assemble(items, "", ())[0].turns


def _part_json(part: Part) -> dict[str, Any]:
    tag, names = _TAGS[type(part)]
    data = {"type": tag, **_fields(part, *names)}
    if isinstance(part, Update):
        data |= {"added": [tool_json(tool) for tool in part.added]} if part.added else {}
        # An empty text or form says something here.
        data |= {name: value for name in ("system", "form") if (value := getattr(part, name)) is not None}
    if cited := part.citations if isinstance(part, Text) else part.sources if isinstance(part, ServerResult) else ():
        data["citations" if isinstance(part, Text) else "sources"] = [_citation_json(each) for each in cited]
    if isinstance(part, ToolCall) and part.arguments_json != dumps(part.arguments):
        # The model's own spelling, which providers' prompt caches go by.
        data["arguments_json"] = part.arguments_json
    return data


def _citation_json(citation: Citation) -> dict[str, Any]:
    return {name: value for name, value in asdict(citation).items() if value not in (None, "")}


def result_json(result: ToolResult) -> dict[str, Any]:
    """One result as JSON data."""
    content = result.content if isinstance(result.content, str) else [_part_json(part) for part in result.content]
    semantic = {"semantic": result.semantic.to_json()} if result.semantic else {}
    return {"content": content, **_fields(result, "call_id", "is_error", "native", "handle"), **semantic}


def _fields(value: object, *names: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in names:
        field = getattr(value, name)
        if isinstance(field, Native):
            origin = field.origin
            field = {"origin": [origin.provider, origin.api, origin.model], "data": field.data}
        if field not in (None, "", False, {}, ()):
            out[name] = field
    return out


# In


def _question(value: object, where: str) -> OpenQuestion:
    data = _object(value, where)
    kind = data.get("kind")
    if kind not in ("approval", "question"):
        raise FormatError(f"{where}: `kind` is 'approval' or 'question', not {kind!r}")
    return OpenQuestion(kind, _text(data, "text", where), data.get("allowed") is True)


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is an object, not {type(value).__name__}")
    return cast(dict[str, Any], value)


def _list(data: dict[str, Any], key: str, where: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise FormatError(f"{where}: `{key}` is a list, not {type(value).__name__}")
    return cast(list[Any], value)


def _text(data: dict[str, Any], key: str, where: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise FormatError(f"{where}: `{key}` is text, not {type(value).__name__}")
    return value


def _native(data: dict[str, Any], where: str) -> Native | None:
    if data.get("native") is None:
        return None
    native = _object(data["native"], f"{where}: `native`")
    origin = _list(native, "origin", where)
    if len(origin) != 3 or not all(isinstance(name, str) for name in origin):
        raise FormatError(f"{where}: `origin` is three texts: provider, API and model")
    return Native(Origin(*origin), _object(native.get("data"), f"{where}: `data`"))


def _part(value: object, where: str) -> Part:
    data = _object(value, where)
    tag = _text(data, "type", where)
    reader = _READERS.get(tag)
    if reader is None:
        raise FormatError(f"{where}: there is no part of type {tag!r}; there are {', '.join(_READERS)}")
    try:
        return reader(data, where)
    except ContentError as error:
        raise FormatError(f"{where}: {error}") from None


def _foreign(data: dict[str, Any], where: str) -> Foreign:
    native = _native(data, where)
    if native is None:
        raise FormatError(f"{where}: a foreign part has a `native` field")
    return Foreign(native, _text(data, "text", where))


def _call(data: dict[str, Any], where: str) -> ToolCall:
    arguments = _object(data.get("arguments", {}), f"{where}: `arguments`")
    spelling = _text(data, "arguments_json", where)
    if spelling and loads(spelling, f"{where}: `arguments_json`") != arguments:
        raise FormatError(f"{where}: `arguments` and `arguments_json` differ")
    problem = _text(data, "problem", where) or None
    id, name = _text(data, "id", where), _text(data, "name", where)
    return ToolCall(id, name, arguments, problem, _native(data, where), spelling)


def _server_call(data: dict[str, Any], where: str) -> ServerCall:
    given = _object(data.get("input", {}), f"{where}: `input`")
    id, tool, status = (_text(data, name, where) for name in ("id", "tool", "status"))
    return ServerCall(id, tool, given, status, _native(data, where))


def _server_result(data: dict[str, Any], where: str) -> ServerResult:
    files = tuple(map(str, _list(data, "files", where)))
    id, text = _text(data, "call_id", where), _text(data, "text", where)
    return ServerResult(id, _citations(data, "sources", where), text, files, _native(data, where))


def _citations(data: dict[str, Any], key: str, where: str) -> tuple[Citation, ...]:
    return tuple(_citation(_object(each, f"{where}: `{key}`"), where) for each in _list(data, key, where))


def _citation(data: dict[str, Any], where: str) -> Citation:
    url, title, quote = (_text(data, name, where) for name in ("url", "title", "quote"))
    places = [data.get(name) for name in ("start", "end")]
    if any(place is not None and (not isinstance(place, int) or isinstance(place, bool)) for place in places):
        raise FormatError(f"{where}: `start` and `end` of a citation are numbers")
    return Citation(url, title, quote, *places)


def _note(data: dict[str, Any], where: str) -> Note:
    return Note(_text(data, "text", where), cast(Any, _text(data, "kind", where)))


def _update(data: dict[str, Any], where: str) -> Update:
    added = [tool_from_json(item, f"{where}, tool {n}") for n, item in enumerate(_list(data, "added", where), 1)]
    removed = tuple(map(str, _list(data, "removed", where)))
    system = _text(data, "system", where) if "system" in data else None
    form = _object(data["form"], f"{where}: `form`") if "form" in data else None
    return Update(tuple(added), removed, system, _text(data, "effort", where) or None, form)


def _head(data: dict[str, Any]) -> Head:
    tools = [tool_from_json(item, f"`head`, tool {n}") for n, item in enumerate(_list(data, "tools", "`head`"), 1)]
    form = _object(data["form"], "`head`: `form`") if data.get("form") else None
    return Head(_text(data, "system", "`head`"), tuple(tools), _text(data, "effort", "`head`") or None, form)


_READERS: dict[str, Callable[[dict[str, Any], str], Part]] = {
    "text": lambda data, where: Text(
        _text(data, "text", where), _native(data, where), _citations(data, "citations", where)
    ),
    "image": lambda data, where: Image(
        _text(data, "data", where), _text(data, "media_type", where), _text(data, "url", where), _native(data, where)
    ),
    "chat": lambda data, where: Chat(_text(data, "author", where), _text(data, "text", where)),
    "note": _note,
    "update": _update,
    "reasoning": lambda data, where: Reasoning(
        _text(data, "text", where), _native(data, where), _text(data, "bound", where)
    ),
    "server_call": _server_call,
    "server_result": _server_result,
    "foreign": _foreign,
    "call": _call,
}


def _hosted(data: dict[str, Any], where: str) -> HostedTool | None:
    if data.get("hosted") is None:
        return None
    given = _object(data["hosted"], f"{where}: `hosted`")
    options, extra = (_object(given.get(name, {}), f"{where}: `{name}`") for name in ("options", "extra"))
    return HostedTool(_text(given, "kind", where), options, extra)


def tool_from_json(value: object, where: str = "the tool") -> ToolSpec:
    """What `tool_json` made."""
    data = _object(value, where)
    parameters = _object(data.get("parameters", {}), f"{where}: `parameters`")
    try:
        name, description = _text(data, "name", where), _text(data, "description", where)
        return ToolSpec(name, description, parameters, _native(data, where), _hosted(data, where))
    except ContentError as error:
        raise FormatError(f"{where}: {error}") from None


def result_from_json(value: object, where: str = "the result") -> ToolResult:
    """What `result_json` made."""
    data = _object(value, where)
    content = data.get("content", "")
    if isinstance(content, list):
        parts = cast(list[Any], content)
        content = tuple(_part(part, f"{where}, part {n}") for n, part in enumerate(parts, 1))
    elif not isinstance(content, str):
        raise FormatError(f"{where}: `content` is text or a list of parts, not {type(content).__name__}")
    call_id, is_error = _text(data, "call_id", where), data.get("is_error", False) is True
    try:
        return ToolResult(
            call_id,
            cast(Any, content),
            is_error,
            native=_native(data, where),
            handle=_text(data, "handle", where),
            semantic=_semantic(data, where),
        )
    except ContentError as error:
        raise FormatError(f"{where}: {error}") from None


def _semantic(data: dict[str, Any], where: str) -> Result | None:
    if data.get("semantic") is None:
        return None
    try:
        return Result.from_json(data["semantic"])
    except FormatError as error:
        raise FormatError(f"{where}: `semantic`: {error}") from None


def _items(value: object, where: str) -> list[Item]:
    data = _object(value, where)
    parts = tuple(_part(part, f"{where}, part {n}") for n, part in enumerate(_list(data, "parts", where), 1))
    answers = enumerate(_list(data, "results", where), 1)
    results = tuple(result_from_json(part, f"{where}, result {n}") for n, part in answers)
    role = data.get("role")
    said = (Text, Image, Chat, Note, Update, Foreign)
    given = (Text, Reasoning, ToolCall, ServerCall, ServerResult, Foreign)
    allowed: tuple[type, ...] = said if role == "user" else given
    if role not in ("user", "assistant"):
        raise FormatError(f"{where}: `role` is 'user' or 'assistant', not {role!r}")
    for number, part in enumerate(parts, 1):
        if not isinstance(part, allowed):
            tag = _TAGS[type(part)][0]
            raise FormatError(f"{where}, part {number}: a part of type {tag!r} in a turn of the {role}")
    return [Item(role, where, parts), Item("user", where, results=results)]
