"""Conversations as JSON files: one schema with a version, written atomically, read with care."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, cast

from antiphon._json import dumps, loads
from antiphon.conversation.assembly import Item, assemble
from antiphon.conversation.conversation import Conversation
from antiphon.conversation.parts import (
    Chat,
    Foreign,
    Image,
    Native,
    Origin,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from antiphon.conversation.questions import OpenQuestion
from antiphon.conversation.repair import Change
from antiphon.conversation.turns import Turn, UserTurn
from antiphon.errors import ContentError, FormatError, VersionError
from antiphon.results import Result

FORMAT = "antiphon/conversation"
VERSION = 1

Part = Text | Image | Chat | Reasoning | Foreign | ToolCall


def to_json(conversation: Conversation) -> dict[str, Any]:
    """The conversation as JSON data."""
    questions = conversation.questions
    return {
        "format": FORMAT,
        "version": VERSION,
        "system": conversation.system,
        "tools": [tool_json(tool) for tool in conversation.tools],
        "turns": [turn_json(turn) for turn in conversation.turns],
        "kept": conversation.kept,
        **({"questions": {id: asdict(each) for id, each in questions.items()}} if questions else {}),
        **({"auto_assistant_tool_calls": True} if conversation.auto_assistant_tool_calls else {}),
    }


def save(conversation: Conversation, path: str | PathLike[str]) -> None:
    """Write to a new file beside the old one, then put it in its place."""
    write_atomically(path, dumps(to_json(conversation)).encode() + b"\n")


def load(path: str | PathLike[str]) -> Conversation:
    """Read a saved conversation; anything broken in it is a FormatError, not repaired here."""
    content = read_bytes(path)
    try:
        conversation, changes = from_json(loads(content, "the file"))
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
    if top.get("version") != VERSION:
        raise VersionError(f"this file has version {top.get('version')!r}; this release reads version {VERSION}")
    tools = [tool_from_json(item, f"tool {n}") for n, item in enumerate(_list(top, "tools", "the file"), 1)]
    turns = enumerate(_list(top, "turns", "the file"), 1)
    items = [item for number, turn in turns for item in _items(turn, f"turn {number}")]
    try:
        auto = top.get("auto_assistant_tool_calls") is True
        conversation, changes = assemble(items, _text(top, "system", "the file"), tools, auto=auto)
    except ContentError as error:
        raise FormatError(str(error)) from None
    kept = _object(top.get("kept", {}), "`kept`")
    for handle in kept:
        conversation.keep(handle, _text(kept, handle, "`kept`"))
    for id, question in _object(top.get("questions", {}), "`questions`").items():
        # Of a file that was repaired, the call may be gone.
        if any(call.id == id for call in conversation.open_calls):
            conversation.ask(id, _question(question, f"question {id!r}"))
    return conversation, changes


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The file's bytes; a FormatError says why there are none."""
    try:
        return Path(path).read_bytes()
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
    Reasoning: ("reasoning", ("text", "native")),
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
    return _fields(tool, "name", "description", "parameters", "native")


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
    if isinstance(part, ToolCall) and part.arguments_json != dumps(part.arguments):
        # The model's own spelling, which providers' prompt caches go by.
        data["arguments_json"] = part.arguments_json
    return data


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
        if field not in (None, "", False, {}):
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


_READERS: dict[str, Callable[[dict[str, Any], str], Part]] = {
    "text": lambda data, where: Text(_text(data, "text", where), _native(data, where)),
    "image": lambda data, where: Image(
        _text(data, "data", where), _text(data, "media_type", where), _text(data, "url", where), _native(data, where)
    ),
    "chat": lambda data, where: Chat(_text(data, "author", where), _text(data, "text", where)),
    "reasoning": lambda data, where: Reasoning(_text(data, "text", where), _native(data, where)),
    "foreign": _foreign,
    "call": _call,
}


def tool_from_json(value: object, where: str = "the tool") -> ToolSpec:
    """What `tool_json` made."""
    data = _object(value, where)
    parameters = _object(data.get("parameters", {}), f"{where}: `parameters`")
    try:
        return ToolSpec(_text(data, "name", where), _text(data, "description", where), parameters, _native(data, where))
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
    allowed: tuple[type, ...] = (Text, Image, Chat, Foreign) if role == "user" else (Text, Reasoning, ToolCall, Foreign)
    if role not in ("user", "assistant"):
        raise FormatError(f"{where}: `role` is 'user' or 'assistant', not {role!r}")
    for number, part in enumerate(parts, 1):
        if not isinstance(part, allowed):
            tag = _TAGS[type(part)][0]
            raise FormatError(f"{where}, part {number}: a part of type {tag!r} in a turn of the {role}")
    return [Item(role, where, parts), Item("user", where, results=results)]
