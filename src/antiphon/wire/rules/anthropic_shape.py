"""A0: bodies the Messages API cannot read at all, in the wording of its validation layer."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import arr, obj
from antiphon.wire.rules.reading import is_array, is_object, kind
from antiphon.wire.rules.violation import Violation

_OBJECT = "Input should be a valid dictionary or object to extract fields from"
_STRINGS = {
    "text": ("text",),
    "tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking",),
}
_HOME = {"tool_use": "assistant", "tool_result": "user"}


def shape_violations(body: object, *, has_model: bool) -> Iterator[Violation]:
    """Yield the A0 violations of `body`; `has_model` says that the model is named outside of it."""
    if not is_object(body):
        yield Violation("A0", f"body: {_OBJECT}")
        return
    request = obj(body)
    if not has_model:
        yield from _string(request, "model", "model")
    if "max_tokens" not in request:
        yield _wrong("max_tokens", "Field required")
    yield from _list(request, "messages", required=True)
    yield from _list(request, "tools", required=False)
    if request.get("messages") == []:
        yield _wrong("messages", "at least one message is required")
    for index, message in enumerate(arr(request.get("messages"))):
        yield from _message(message, f"messages.{index}")
    for index, tool in enumerate(arr(request.get("tools"))):
        yield from _tool(tool, f"tools.{index}")


def _wrong(path: str, text: str) -> Violation:
    return Violation("A0", f"{path}: {text}", path)


def _string(data: dict[str, object], key: str, path: str) -> Iterator[Violation]:
    if key not in data:
        yield _wrong(path, "Field required")
    elif not isinstance(data[key], str):
        yield _wrong(path, "Input should be a valid string")


def _list(data: dict[str, object], key: str, *, required: bool) -> Iterator[Violation]:
    if key not in data:
        if required:
            yield _wrong(key, "Field required")
    elif not is_array(data[key]) and (required or data[key] is not None):
        yield _wrong(key, "Input should be a valid list")


def _message(message: object, path: str) -> Iterator[Violation]:
    if not is_object(message):
        yield _wrong(path, _OBJECT)
        return
    data = obj(message)
    role = data.get("role")
    if "role" not in data:
        yield _wrong(f"{path}.role", "Field required")
    elif role not in ("user", "assistant", "system"):
        yield _wrong(f"{path}.role", "Input should be 'user' or 'assistant'")
    if "content" not in data:
        yield _wrong(f"{path}.content", "Field required")
    elif not (isinstance(data["content"], str) or is_array(data["content"])):
        yield _wrong(f"{path}.content", "Input should be a valid list")
    for index, block in enumerate(arr(data.get("content"))):
        yield from _block(block, f"{path}.content.{index}", role)


def _block(block: object, path: str, role: object) -> Iterator[Violation]:
    if not is_object(block):
        yield _wrong(path, _OBJECT)
        return
    data = obj(block)
    type_ = kind(block)
    if not type_:
        yield _wrong(f"{path}.type", "Field required" if "type" not in data else "Input should be a valid string")
    if _HOME.get(type_, role) != role:
        yield _wrong(path, f"`{type_}` blocks can only be in `{_HOME[type_]}` messages")
    for key in _STRINGS.get(type_, ()):
        yield from _string(data, key, f"{path}.{type_}.{key}")
    if type_ == "tool_use" and "input" not in data:
        yield _wrong(f"{path}.tool_use.input", "Field required")
    if type_ == "thinking" and "signature" in data:
        yield from _string(data, "signature", f"{path}.thinking.signature")


def _tool(tool: object, path: str) -> Iterator[Violation]:
    if not is_object(tool):
        yield _wrong(path, _OBJECT)
        return
    data = obj(tool)
    if data.get("type") not in (None, "custom"):
        return
    yield from _string(data, "name", f"{path}.custom.name")
    where = f"{path}.custom.input_schema"
    if "input_schema" not in data:
        yield _wrong(where, "Field required")
    elif not is_object(data["input_schema"]):
        yield _wrong(where, "Input should be a valid dictionary")
    elif "type" not in obj(data["input_schema"]):
        yield _wrong(f"{where}.type", "Field required")
    elif kind(data["input_schema"]) != "object":
        yield _wrong(f"{where}.type", "Input should be 'object'")
