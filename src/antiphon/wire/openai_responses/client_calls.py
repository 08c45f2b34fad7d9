"""Calls that the client answers and that are not function calls: shell, patch, computer, custom, tool
search.

Each kind has a tool name, a way to read its arguments, and its own form of output. A result that
does not fit that form, such as text instead of a screenshot, is sent as a function's result, with
its call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Image, MediaPart, Origin, ProviderPayload, ToolCall, ToolResult
from antiphon.errors import MalformedJSONError
from antiphon.wire.openai_responses.item_rules import CLIENT_CALLS, get_client_call_id, get_item_type

_Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _CallKind:
    name: str
    arguments: Callable[[Mapping[str, Any]], object]
    #: Returns the output's fields besides type and call id, or None if the result does not fit.
    output: Callable[[Mapping[str, Any], ToolResult, str], _Fields | None]


def _encode_custom_output(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    return None if _find_media(result) else {"output": text}


def _encode_local_shell_output(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    return {"id": as_string(item.get("call_id")), "output": text}


def _encode_shell_output(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:
    streams = {"stdout": "", "stderr": text} if result.is_error else {"stdout": text, "stderr": ""}
    chunk = streams | {"outcome": {"type": "exit", "exit_code": int(result.is_error)}}
    most = as_object(item.get("action")).get("max_output_length")
    return {"output": [chunk]} | ({"max_output_length": most} if most is not None else {})


def _encode_patch_output(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    return {"status": "failed" if result.is_error else "completed", "output": text}


def _encode_screenshot(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    images = _find_images(result)
    # Nobody can confirm pending safety checks here.
    if not images or as_array(item.get("pending_safety_checks")):
        return None
    url = images[-1].url or f"data:{images[-1].media_type};base64,{images[-1].data}"
    return {"output": {"type": "computer_screenshot", "image_url": url}}


def _encode_tool_search_output(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    try:
        tools: object = load_json(text)
    except MalformedJSONError:
        return None
    return {"tools": tools, "execution": "client"} if isinstance(tools, list) and not result.is_error else None


def _find_media(result: ToolResult) -> list[MediaPart]:
    return [part for part in result.parts if isinstance(part, MediaPart)]


def _find_images(result: ToolResult) -> list[Image]:
    return [part for part in result.parts if isinstance(part, Image)]


_CALL_KINDS = {
    "custom_tool_call": _CallKind("", lambda item: {"input": as_string(item.get("input"))}, _encode_custom_output),
    "local_shell_call": _CallKind(
        "local_shell", lambda item: as_object(item.get("action")), _encode_local_shell_output
    ),
    "shell_call": _CallKind("shell", lambda item: as_object(item.get("action")), _encode_shell_output),
    "apply_patch_call": _CallKind("apply_patch", lambda item: as_object(item.get("operation")), _encode_patch_output),
    "computer_call": _CallKind(
        "computer", lambda item: {"actions": as_array(item.get("actions")) or [item.get("action")]}, _encode_screenshot
    ),
    "tool_search_call": _CallKind("tool_search", lambda item: item.get("arguments") or {}, _encode_tool_search_output),
}


def is_client_call(item: Mapping[str, Any], provider: str) -> bool:
    """Return whether the client must answer this item, which is no function call."""
    return get_item_type(item) in _CALL_KINDS and bool(get_client_call_id(item, provider))


def get_client_tool_name(item: Mapping[str, Any]) -> str:
    """Return the name of the tool that answers the call."""
    return _CALL_KINDS[get_item_type(item)].name or as_string(item.get("name"))


def read_client_arguments(item: Mapping[str, Any]) -> object:
    """Return the content of the call as arguments of a function."""
    return _CALL_KINDS[get_item_type(item)].arguments(item)


def read_client_call(item: dict[str, Any], origin: Origin, cut: bool = False) -> ToolCall:
    """Convert the item into a tool call."""
    cut = cut or item.get("status") == "incomplete"
    id = get_client_call_id(item, origin.provider)
    return ToolCall.read(
        id, get_client_tool_name(item), read_client_arguments(item), truncated=cut, native=ProviderPayload(origin, item)
    )


def encode_client_output(item: Mapping[str, Any], id: str, result: ToolResult, text: str) -> dict[str, Any] | None:
    """Return the output item that answers the call, or None if the result does not fit its form."""
    kind = get_item_type(item)
    fields = _CALL_KINDS[kind].output(item, result, text)
    if fields is None:
        return None
    return {"type": CLIENT_CALLS[kind]} | ({} if "id" in fields else {"call_id": id}) | fields
