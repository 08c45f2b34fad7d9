"""Calls of this API that are no functions': read as calls like any other, and answered in a form of their own.

Each kind has the name under which a tool answers it, the arguments that its items hold, and the form of its output. A
result that does not fit the form, such as text where a screenshot is wanted, is sent as a function's, with its call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon._json import loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import Image, Native, Origin, ToolCall, ToolResult
from antiphon.errors import MalformedJSONError
from antiphon.wire.openai_responses.terms import CLIENT_CALLS, call_id, kind_of

_Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    arguments: Callable[[Mapping[str, Any]], object]
    #: The fields of an output besides its type and the call's id; `None` where the result does not fit.
    output: Callable[[Mapping[str, Any], ToolResult, str], _Fields | None]


def _custom(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    return None if _images(result) else {"output": text}


def _local_shell(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    return {"id": string(item.get("call_id")), "output": text}


def _shell(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:
    streams = {"stdout": "", "stderr": text} if result.is_error else {"stdout": text, "stderr": ""}
    chunk = streams | {"outcome": {"type": "exit", "exit_code": int(result.is_error)}}
    most = obj(item.get("action")).get("max_output_length")
    return {"output": [chunk]} | ({"max_output_length": most} if most is not None else {})


def _patch(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    return {"status": "failed" if result.is_error else "completed", "output": text}


def _screenshot(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    images = _images(result)
    # Whoever must confirm that an action is safe is not asked here.
    if not images or arr(item.get("pending_safety_checks")):
        return None
    url = images[-1].url or f"data:{images[-1].media_type};base64,{images[-1].data}"
    return {"output": {"type": "computer_screenshot", "image_url": url}}


def _found_tools(item: Mapping[str, Any], result: ToolResult, text: str) -> _Fields | None:  # noqa: ARG001
    try:
        tools: object = loads(text)
    except MalformedJSONError:
        return None
    return {"tools": tools, "execution": "client"} if isinstance(tools, list) and not result.is_error else None


def _images(result: ToolResult) -> list[Image]:
    return [part for part in result.parts if isinstance(part, Image)]


_KINDS = {
    "custom_tool_call": _Kind("", lambda item: {"input": string(item.get("input"))}, _custom),
    "local_shell_call": _Kind("local_shell", lambda item: obj(item.get("action")), _local_shell),
    "shell_call": _Kind("shell", lambda item: obj(item.get("action")), _shell),
    "apply_patch_call": _Kind("apply_patch", lambda item: obj(item.get("operation")), _patch),
    "computer_call": _Kind(
        "computer", lambda item: {"actions": arr(item.get("actions")) or [item.get("action")]}, _screenshot
    ),
    "tool_search_call": _Kind("tool_search", lambda item: item.get("arguments") or {}, _found_tools),
}


def is_call(item: Mapping[str, Any], provider: str) -> bool:
    """Whether the client must answer this item, which is no function's call."""
    return kind_of(item) in _KINDS and bool(call_id(item, provider))


def name_of(item: Mapping[str, Any]) -> str:
    """Under which name a tool answers the call."""
    return _KINDS[kind_of(item)].name or string(item.get("name"))


def arguments_of(item: Mapping[str, Any]) -> object:
    """What the call says, as arguments of a function."""
    return _KINDS[kind_of(item)].arguments(item)


def read_call(item: dict[str, Any], origin: Origin, cut: bool = False) -> ToolCall:
    """The item as a call."""
    cut = cut or item.get("status") == "incomplete"
    id = call_id(item, origin.provider)
    return ToolCall.read(id, name_of(item), arguments_of(item), truncated=cut, native=Native(origin, item))


def answer(item: Mapping[str, Any], id: str, result: ToolResult, text: str) -> dict[str, Any] | None:
    """The output that answers the call; nothing where the result does not fit its form."""
    kind = kind_of(item)
    fields = _KINDS[kind].output(item, result, text)
    if fields is None:
        return None
    return {"type": CLIENT_CALLS[kind]} | ({} if "id" in fields else {"call_id": id}) | fields
