"""Rule A0: bodies that the Messages API cannot parse, in the wording of its validation layer."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_array, as_object
from antiphon.wire.rules.json_access import get_type_tag, is_json_array, is_json_dict
from antiphon.wire.rules.violation import Violation

_NOT_AN_OBJECT = "Input should be a valid dictionary or object to extract fields from"
_REQUIRED_STRINGS = {
    "text": ("text",),
    "tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking",),
}
_ROLE_OF_BLOCK = {"tool_use": "assistant", "tool_result": "user"}


def find_anthropic_shape_violations(body: object, *, has_model: bool) -> Iterator[Violation]:
    """Yield the A0 violations of `body`. `has_model` says that the URL names the model."""
    if not is_json_dict(body):
        yield Violation("A0", f"body: {_NOT_AN_OBJECT}")
        return
    request = as_object(body)
    if not has_model:
        yield from _check_string(request, "model", "model")
    if "max_tokens" not in request:
        yield _make_violation("max_tokens", "Field required")
    yield from _check_list(request, "messages", required=True)
    yield from _check_list(request, "tools", required=False)
    if request.get("messages") == []:
        yield _make_violation("messages", "at least one message is required")
    for index, message in enumerate(as_array(request.get("messages"))):
        yield from _check_message(message, f"messages.{index}")
    for index, tool in enumerate(as_array(request.get("tools"))):
        yield from _check_tool(tool, f"tools.{index}")


def _make_violation(path: str, text: str) -> Violation:
    return Violation("A0", f"{path}: {text}", path)


def _check_string(data: dict[str, object], key: str, path: str) -> Iterator[Violation]:
    if key not in data:
        yield _make_violation(path, "Field required")
    elif not isinstance(data[key], str):
        yield _make_violation(path, "Input should be a valid string")


def _check_list(data: dict[str, object], key: str, *, required: bool) -> Iterator[Violation]:
    if key not in data:
        if required:
            yield _make_violation(key, "Field required")
    elif not is_json_array(data[key]) and (required or data[key] is not None):
        yield _make_violation(key, "Input should be a valid list")


def _check_message(message: object, path: str) -> Iterator[Violation]:
    if not is_json_dict(message):
        yield _make_violation(path, _NOT_AN_OBJECT)
        return
    data = as_object(message)
    role = data.get("role")
    if "role" not in data:
        yield _make_violation(f"{path}.role", "Field required")
    elif role not in ("user", "assistant", "system"):
        yield _make_violation(f"{path}.role", "Input should be 'user' or 'assistant'")
    if "content" not in data:
        yield _make_violation(f"{path}.content", "Field required")
    elif not (isinstance(data["content"], str) or is_json_array(data["content"])):
        yield _make_violation(f"{path}.content", "Input should be a valid list")
    for index, block in enumerate(as_array(data.get("content"))):
        yield from _check_block(block, f"{path}.content.{index}", role)


def _check_block(block: object, path: str, role: object) -> Iterator[Violation]:
    if not is_json_dict(block):
        yield _make_violation(path, _NOT_AN_OBJECT)
        return
    data = as_object(block)
    type_ = get_type_tag(block)
    if not type_:
        yield _make_violation(
            f"{path}.type", "Field required" if "type" not in data else "Input should be a valid string"
        )
    if _ROLE_OF_BLOCK.get(type_, role) != role:
        yield _make_violation(path, f"`{type_}` blocks can only be in `{_ROLE_OF_BLOCK[type_]}` messages")
    for key in _REQUIRED_STRINGS.get(type_, ()):
        yield from _check_string(data, key, f"{path}.{type_}.{key}")
    if type_ == "tool_use" and "input" not in data:
        yield _make_violation(f"{path}.tool_use.input", "Field required")
    if type_ == "thinking" and "signature" in data:
        yield from _check_string(data, "signature", f"{path}.thinking.signature")


def _check_tool(tool: object, path: str) -> Iterator[Violation]:
    if not is_json_dict(tool):
        yield _make_violation(path, _NOT_AN_OBJECT)
        return
    data = as_object(tool)
    if data.get("type") not in (None, "custom"):
        return
    yield from _check_string(data, "name", f"{path}.custom.name")
    where = f"{path}.custom.input_schema"
    if "input_schema" not in data:
        yield _make_violation(where, "Field required")
    elif not is_json_dict(data["input_schema"]):
        yield _make_violation(where, "Input should be a valid dictionary")
    elif "type" not in as_object(data["input_schema"]):
        yield _make_violation(f"{where}.type", "Field required")
    elif get_type_tag(data["input_schema"]) != "object":
        yield _make_violation(f"{where}.type", "Input should be 'object'")
