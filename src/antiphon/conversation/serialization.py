"""Conversations as versioned JSON files, written atomically and validated when read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, cast

from antiphon._base.files import read_named_file
from antiphon._base.json import dump_json, load_json
from antiphon.conversation.conversation import Conversation, RequestHead
from antiphon.conversation.from_messages import Item, assemble
from antiphon.conversation.media import Audio, Document, File, Image, Media, MediaPart, Video
from antiphon.conversation.parts import (
    Chat,
    Citation,
    HostedTool,
    Note,
    OpaquePart,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Update,
)
from antiphon.conversation.pending_questions import OpenQuestion
from antiphon.conversation.provider_payload import Origin, ProviderPayload
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.repair import RepairAction
from antiphon.conversation.turns import Turn, UserTurn
from antiphon.errors import ContentError, FormatError, VersionError
from antiphon.results import Result

FORMAT = "antiphon/conversation"
#: Version 2 adds notes, updates, bound reasoning, a head, citations, calls of hosted tools, and files other than
#: images. A file that needs none of them is written as version 1.
VERSIONS = (1, 2)

StoredPart = Text | MediaPart | Chat | Note | Update | Reasoning | ServerCall | ServerResult | OpaquePart | ToolCall


def conversation_to_json(conversation: Conversation) -> dict[str, Any]:
    """Return the conversation as JSON data."""
    questions = conversation.questions
    head = _head_to_json(conversation)
    is_new = bool(head) or any(_needs_version_2(part) for turn in conversation.turns for part in _iter_parts(turn))
    is_new = is_new or any(tool.hosted for tool in conversation.tools)
    return {
        "format": FORMAT,
        "version": VERSIONS[is_new],
        "system": conversation.system,
        "tools": [tool_to_json(tool) for tool in conversation.tools],
        "turns": [turn_to_json(turn) for turn in conversation.turns],
        "kept": conversation.kept,
        **({"head": head} if head else {}),
        **({"questions": {id: asdict(each) for id, each in questions.items()}} if questions else {}),
        **({"state": conversation.state.to_json()} if conversation.state else {}),
        **({"auto_assistant_tool_calls": True} if conversation.auto_assistant_tool_calls else {}),
    }


def _iter_parts(turn: Turn) -> Iterator[StoredPart]:
    yield from turn.parts
    for result in () if isinstance(turn, UserTurn) else turn.results:
        yield from () if isinstance(result.content, str) else result.content


def _needs_version_2(part: StoredPart) -> bool:
    if isinstance(part, Text):
        return bool(part.citations)
    if isinstance(part, Image):
        return bool(part.name or part.files)
    is_bound = isinstance(part, Reasoning) and bool(part.bound)
    return is_bound or isinstance(part, Media | File | Note | Update | ServerCall | ServerResult)


def _head_to_json(conversation: Conversation) -> dict[str, Any]:
    """Return the head of the first request as JSON data, or an empty object if it equals the current one."""
    head = conversation.head
    if head == RequestHead(conversation.system, conversation.tools):
        return {}
    tools = [tool_to_json(tool) for tool in head.tools]
    return {"system": head.system, "tools": tools, **_collect_fields(head, "effort", "form")}


def save_conversation(conversation: Conversation, path: str | PathLike[str]) -> None:
    """Save the conversation atomically: write a temporary file, then rename it."""
    write_file_atomically(path, dump_json(conversation_to_json(conversation)).encode() + b"\n")


def load_conversation(path: str | PathLike[str]) -> Conversation:
    """Load a saved conversation. Raise a FormatError if anything in it is broken; nothing is repaired here."""
    content = read_file_bytes(path)
    try:
        return read_conversation(
            load_json(content, "the file", unique=True), f"; `antiphon check --fix {path}` repairs it"
        )
    except VersionError as error:
        raise VersionError(f"{path}: {error}") from None
    except (FormatError, ContentError) as error:
        raise FormatError(f"{path}: {error}") from None


def read_conversation(data: object, hint: str = "") -> Conversation:
    """Read data of `conversation_to_json`. Raise a FormatError with the `hint` if something needs a repair."""
    try:
        conversation, changes = conversation_from_json(data)
    except ContentError as error:
        raise FormatError(str(error)) from None
    if changes:
        first, more = changes[0], f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
        raise FormatError(f"{first.where}: {first.found}{more}{hint}")
    return conversation


def conversation_from_json(data: object) -> tuple[Conversation, list[RepairAction]]:
    """Read data that `conversation_to_json` made, repair it if needed, and return the list of repairs."""
    top = _require_object(data, "the file")
    if top.get("format") != FORMAT:
        raise FormatError(f"this is not a saved conversation: `format` is {top.get('format')!r}, not {FORMAT!r}")
    if top.get("version") not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise VersionError(
            f"this file has version {top.get('version')!r}, and this release reads versions {known}; a newer release"
            " wrote it: read it there"
        )
    tools = [tool_from_json(item, f"tool {n}") for n, item in enumerate(_get_list(top, "tools", "the file"), 1)]
    turns = enumerate(_get_list(top, "turns", "the file"), 1)
    items = [item for number, turn in turns for item in _parse_turn(turn, f"turn {number}")]
    try:
        auto = top.get("auto_assistant_tool_calls") is True
        conversation, changes = assemble(items, _get_text(top, "system", "the file"), tools, auto=auto)
    except ContentError as error:
        raise FormatError(str(error)) from None
    if "head" in top:
        conversation.restore_head(_parse_head(_require_object(top["head"], "`head`")))
    kept = _require_object(top.get("kept", {}), "`kept`")
    for handle in kept:
        conversation.keep(handle, _get_text(kept, handle, "`kept`"))
    for id, question in _require_object(top.get("questions", {}), "`questions`").items():
        # Reading a repaired file the call may no longer exist.
        if any(call.id == id for call in conversation.open_calls):
            conversation.ask(id, _parse_question(question, f"question {id!r}"))
    conversation.state = ProviderState.from_json(top.get("state", []))
    return conversation, changes


def read_file_bytes(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a file. Raise a FormatError with the reason if it cannot be read."""
    try:
        return read_named_file(path)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def write_file_atomically(path: str | PathLike[str], content: bytes) -> None:
    """Replace a file atomically and preserve its permissions. A failure leaves the old file intact."""
    target = Path(path).resolve()
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_read_umask()
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


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Writing

_MEDIA_FIELDS = ("data", "media_type", "url", "native", "name")
_FILE_FIELDS = ("id", "origin", "media_type", "name", "expires")
_PART_TAGS: dict[type, tuple[str, tuple[str, ...]]] = {
    Text: ("text", ("text", "native")),
    Image: ("image", _MEDIA_FIELDS),
    Document: ("document", (*_MEDIA_FIELDS, "title", "citations")),
    Audio: ("audio", _MEDIA_FIELDS),
    Video: ("video", _MEDIA_FIELDS),
    File: ("file", _FILE_FIELDS),
    Chat: ("chat", ("author", "text")),
    Note: ("note", ("text", "kind")),
    Update: ("update", ("removed", "system", "effort", "form")),
    Reasoning: ("reasoning", ("text", "native", "bound")),
    ServerCall: ("server_call", ("id", "tool", "input", "status", "native")),
    ServerResult: ("server_result", ("call_id", "text", "files", "native")),
    OpaquePart: ("foreign", ("text", "native")),
    ToolCall: ("call", ("id", "name", "arguments", "problem", "native")),
}


def turn_to_json(turn: Turn) -> dict[str, Any]:
    """Return one turn as JSON data, for storage that saves turns one by one."""
    parts = [_part_to_json(part) for part in turn.parts]
    if isinstance(turn, UserTurn):
        return {"role": "user", "parts": parts}
    return {"role": "assistant", "parts": parts, "results": [result_to_json(result) for result in turn.results]}


def tool_to_json(tool: ToolSpec) -> dict[str, Any]:
    """Return one tool declaration as JSON data."""
    data = _collect_fields(tool, "name", "description", "parameters", "native")
    return data | ({"hosted": _collect_fields(tool.hosted, "kind", "options", "extra")} if tool.hosted else {})


def parts_to_json(parts: Iterable[StoredPart]) -> list[dict[str, Any]]:
    """Return the parts of a turn as JSON data."""
    return [_part_to_json(part) for part in parts]


def parts_from_json(data: Iterable[object]) -> tuple[StoredPart, ...]:
    """Read parts from data that `parts_to_json` made."""
    return tuple(_parse_part(part, f"part {n}") for n, part in enumerate(data, 1))


def turns_from_json(data: Iterable[object]) -> tuple[Turn, ...]:
    """Read turns, each from data that `turn_to_json` made."""
    items = [item for n, turn in enumerate(data, 1) for item in _parse_turn(turn, f"turn {n}")]
    return assemble(items, "", ())[0].turns


def _part_to_json(part: StoredPart) -> dict[str, Any]:
    tag, names = _PART_TAGS[type(part)]
    data = {"type": tag, **_collect_fields(part, *names)}
    if isinstance(part, Media) and part.files:
        data["files"] = [_collect_fields(file, *_FILE_FIELDS) for file in part.files]
    if isinstance(part, Update):
        data |= {"added": [tool_to_json(tool) for tool in part.added]} if part.added else {}
        # An empty text or form is meaningful here: it resets the value.
        data |= {name: value for name in ("system", "form") if (value := getattr(part, name)) is not None}
    if cited := part.citations if isinstance(part, Text) else part.sources if isinstance(part, ServerResult) else ():
        data["citations" if isinstance(part, Text) else "sources"] = [_citation_to_json(each) for each in cited]
    if isinstance(part, ToolCall) and part.arguments_json != dump_json(part.arguments):
        # The model's original JSON text, because prompt caches compare it byte by byte.
        data["arguments_json"] = part.arguments_json
    return data


def _citation_to_json(citation: Citation) -> dict[str, Any]:
    return {name: value for name, value in asdict(citation).items() if value not in (None, "")}


def result_to_json(result: ToolResult) -> dict[str, Any]:
    """Return one tool result as JSON data."""
    content = result.content if isinstance(result.content, str) else [_part_to_json(part) for part in result.content]
    semantic = {"semantic": result.semantic.to_json()} if result.semantic else {}
    return {"content": content, **_collect_fields(result, "call_id", "is_error", "native", "handle"), **semantic}


def _collect_fields(value: object, *names: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in names:
        field = getattr(value, name)
        if isinstance(field, ProviderPayload):
            origin = field.origin
            field = {"origin": [origin.provider, origin.api, origin.model], "data": field.data}
        if field not in (None, "", False, {}, ()):
            out[name] = field
    return out


# Reading


def _parse_question(value: object, where: str) -> OpenQuestion:
    data = _require_object(value, where)
    kind = data.get("kind")
    if kind not in ("approval", "question", "result"):
        raise FormatError(f"{where}: `kind` is 'approval', 'question' or 'result', not {kind!r}")
    return OpenQuestion(kind, _get_text(data, "text", where), data.get("allowed") is True)


def _require_object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is an object, not {type(value).__name__}")
    return cast(dict[str, Any], value)


def _get_list(data: dict[str, Any], key: str, where: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise FormatError(f"{where}: `{key}` is a list, not {type(value).__name__}")
    return cast(list[Any], value)


def _get_text(data: dict[str, Any], key: str, where: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise FormatError(f"{where}: `{key}` is text, not {type(value).__name__}")
    return value


def _parse_payload(data: dict[str, Any], where: str) -> ProviderPayload | None:
    if data.get("native") is None:
        return None
    native = _require_object(data["native"], f"{where}: `native`")
    origin = _get_list(native, "origin", where)
    if len(origin) != 3 or not all(isinstance(name, str) for name in origin):
        raise FormatError(f"{where}: `origin` is three texts: provider, API and model")
    return ProviderPayload(Origin(*origin), _require_object(native.get("data"), f"{where}: `data`"))


def _parse_part(value: object, where: str) -> StoredPart:
    data = _require_object(value, where)
    tag = _get_text(data, "type", where)
    reader = _PART_PARSERS.get(tag)
    if reader is None:
        raise FormatError(f"{where}: there is no part of type {tag!r}; there are {', '.join(_PART_PARSERS)}")
    try:
        return reader(data, where)
    except ContentError as error:
        raise FormatError(f"{where}: {error}") from None


def _parse_opaque_part(data: dict[str, Any], where: str) -> OpaquePart:
    native = _parse_payload(data, where)
    if native is None:
        raise FormatError(f"{where}: a foreign part has a `native` field")
    return OpaquePart(native, _get_text(data, "text", where))


def _parse_call(data: dict[str, Any], where: str) -> ToolCall:
    arguments = _require_object(data.get("arguments", {}), f"{where}: `arguments`")
    spelling = _get_text(data, "arguments_json", where)
    if spelling and load_json(spelling, f"{where}: `arguments_json`") != arguments:
        raise FormatError(f"{where}: `arguments` and `arguments_json` differ")
    problem = _get_text(data, "problem", where) or None
    id, name = _get_text(data, "id", where), _get_text(data, "name", where)
    return ToolCall(id, name, arguments, problem, _parse_payload(data, where), spelling)


def _parse_server_call(data: dict[str, Any], where: str) -> ServerCall:
    given = _require_object(data.get("input", {}), f"{where}: `input`")
    id, tool, status = (_get_text(data, name, where) for name in ("id", "tool", "status"))
    return ServerCall(id, tool, given, status, _parse_payload(data, where))


def _parse_server_result(data: dict[str, Any], where: str) -> ServerResult:
    files = tuple(map(str, _get_list(data, "files", where)))
    id, text = _get_text(data, "call_id", where), _get_text(data, "text", where)
    return ServerResult(id, _parse_citations(data, "sources", where), text, files, _parse_payload(data, where))


def _parse_citations(data: dict[str, Any], key: str, where: str) -> tuple[Citation, ...]:
    return tuple(
        _parse_citation(_require_object(each, f"{where}: `{key}`"), where) for each in _get_list(data, key, where)
    )


def _parse_citation(data: dict[str, Any], where: str) -> Citation:
    url, title, quote = (_get_text(data, name, where) for name in ("url", "title", "quote"))
    places = [data.get(name) for name in ("start", "end")]
    if any(place is not None and (not isinstance(place, int) or isinstance(place, bool)) for place in places):
        raise FormatError(f"{where}: `start` and `end` of a citation are numbers")
    return Citation(url, title, quote, *places)


def _parse_media(data: dict[str, Any], where: str) -> dict[str, Any]:
    texts: dict[str, Any] = {name: _get_text(data, name, where) for name in _MEDIA_FIELDS if name != "native"}
    files = [_parse_file(_require_object(each, f"{where}: `files`"), where) for each in _get_list(data, "files", where)]
    return texts | {"native": _parse_payload(data, where), "files": tuple(files)}


def _parse_file(data: dict[str, Any], where: str) -> File:
    expires = data.get("expires")
    if expires is not None and (not isinstance(expires, int | float) or isinstance(expires, bool)):
        raise FormatError(f"{where}: `expires` is a number")
    id, origin, media_type, name = (_get_text(data, field, where) for field in _FILE_FIELDS[:4])
    return File(id, origin, media_type, name, expires)


def _parse_note(data: dict[str, Any], where: str) -> Note:
    return Note(_get_text(data, "text", where), cast(Any, _get_text(data, "kind", where)))


def _parse_update(data: dict[str, Any], where: str) -> Update:
    added = [tool_from_json(item, f"{where}, tool {n}") for n, item in enumerate(_get_list(data, "added", where), 1)]
    removed = tuple(map(str, _get_list(data, "removed", where)))
    system = _get_text(data, "system", where) if "system" in data else None
    form = _require_object(data["form"], f"{where}: `form`") if "form" in data else None
    return Update(tuple(added), removed, system, _get_text(data, "effort", where) or None, form)


def _parse_head(data: dict[str, Any]) -> RequestHead:
    tools = [tool_from_json(item, f"`head`, tool {n}") for n, item in enumerate(_get_list(data, "tools", "`head`"), 1)]
    form = _require_object(data["form"], "`head`: `form`") if data.get("form") else None
    return RequestHead(
        _get_text(data, "system", "`head`"), tuple(tools), _get_text(data, "effort", "`head`") or None, form
    )


_PART_PARSERS: dict[str, Callable[[dict[str, Any], str], StoredPart]] = {
    "text": lambda data, where: Text(
        _get_text(data, "text", where), _parse_payload(data, where), _parse_citations(data, "citations", where)
    ),
    "image": lambda data, where: Image(**_parse_media(data, where)),
    "document": lambda data, where: Document(
        **_parse_media(data, where), title=_get_text(data, "title", where), citations=data.get("citations") is True
    ),
    "audio": lambda data, where: Audio(**_parse_media(data, where)),
    "video": lambda data, where: Video(**_parse_media(data, where)),
    "file": _parse_file,
    "chat": lambda data, where: Chat(_get_text(data, "author", where), _get_text(data, "text", where)),
    "note": _parse_note,
    "update": _parse_update,
    "reasoning": lambda data, where: Reasoning(
        _get_text(data, "text", where), _parse_payload(data, where), _get_text(data, "bound", where)
    ),
    "server_call": _parse_server_call,
    "server_result": _parse_server_result,
    "foreign": _parse_opaque_part,
    "call": _parse_call,
}


def _parse_hosted_tool(data: dict[str, Any], where: str) -> HostedTool | None:
    if data.get("hosted") is None:
        return None
    given = _require_object(data["hosted"], f"{where}: `hosted`")
    options, extra = (_require_object(given.get(name, {}), f"{where}: `{name}`") for name in ("options", "extra"))
    return HostedTool(_get_text(given, "kind", where), options, extra)


def tool_from_json(value: object, where: str = "the tool") -> ToolSpec:
    """Read a tool declaration from data that `tool_to_json` made."""
    data = _require_object(value, where)
    parameters = _require_object(data.get("parameters", {}), f"{where}: `parameters`")
    try:
        name, description = _get_text(data, "name", where), _get_text(data, "description", where)
        return ToolSpec(name, description, parameters, _parse_payload(data, where), _parse_hosted_tool(data, where))
    except ContentError as error:
        raise FormatError(f"{where}: {error}") from None


def result_from_json(value: object, where: str = "the result") -> ToolResult:
    """Read a tool result from data that `result_to_json` made."""
    data = _require_object(value, where)
    content = data.get("content", "")
    if isinstance(content, list):
        parts = cast(list[Any], content)
        content = tuple(_parse_part(part, f"{where}, part {n}") for n, part in enumerate(parts, 1))
    elif not isinstance(content, str):
        raise FormatError(f"{where}: `content` is text or a list of parts, not {type(content).__name__}")
    call_id, is_error = _get_text(data, "call_id", where), data.get("is_error", False) is True
    try:
        return ToolResult(
            call_id,
            cast(Any, content),
            is_error,
            native=_parse_payload(data, where),
            handle=_get_text(data, "handle", where),
            semantic=_parse_semantic(data, where),
        )
    except ContentError as error:
        raise FormatError(f"{where}: {error}") from None


def _parse_semantic(data: dict[str, Any], where: str) -> Result | None:
    if data.get("semantic") is None:
        return None
    try:
        return Result.from_json(data["semantic"])
    except FormatError as error:
        raise FormatError(f"{where}: `semantic`: {error}") from None


def _parse_turn(value: object, where: str) -> list[Item]:
    data = _require_object(value, where)
    parts = tuple(_parse_part(part, f"{where}, part {n}") for n, part in enumerate(_get_list(data, "parts", where), 1))
    answers = enumerate(_get_list(data, "results", where), 1)
    results = tuple(result_from_json(part, f"{where}, result {n}") for n, part in answers)
    role = data.get("role")
    said = (Text, Media, File, Chat, Note, Update, OpaquePart)
    given = (Text, Reasoning, ToolCall, ServerCall, ServerResult, OpaquePart)
    allowed: tuple[type, ...] = said if role == "user" else given
    if role not in ("user", "assistant"):
        raise FormatError(f"{where}: `role` is 'user' or 'assistant', not {role!r}")
    for number, part in enumerate(parts, 1):
        if not isinstance(part, allowed):
            tag = _PART_TAGS[type(part)][0]
            raise FormatError(f"{where}, part {number}: a part of type {tag!r} in a turn of the {role}")
    return [Item(role, where, parts), Item("user", where, results=results)]
