"""Decoding of the items of server tools, which OpenAI runs itself, and of citations."""

from __future__ import annotations

from typing import Any

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import Citation, Origin, ProviderPayload, ServerCall, ServerResult
from antiphon.errors import MalformedJSONError
from antiphon.wire.openai_responses.item_rules import get_item_type
from antiphon.wire.server_tools import make_citation, truncate_result

ServerParts = tuple[ServerCall | ServerResult, ...]

#: Our name for each tool, by the item type of its calls.
_TOOL_OF_CALL = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_execution",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcp",
    "image_generation_call": "image_generation",
    "tool_search_call": "tool_search",
    "shell_call": "shell",
    "local_shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "custom_tool_call": "",
    "computer_call": "computer",
    "program": "code_execution",
}
_RESULT_TYPES = ("tool_search_output", "program_output")


def is_server_item(item: dict[str, Any]) -> bool:
    """Return whether an item's type is that of a server tool's call or result.

    The caller must exclude items that the client answers.
    """
    kind = get_item_type(item)
    return (
        kind in _TOOL_OF_CALL
        or kind in _RESULT_TYPES
        or (kind.endswith("_call_output") and kind != "function_call_output")
    )


def read_server_item(item: dict[str, Any], origin: Origin) -> ServerParts:
    """Convert an item into a call, a result, or a call with its result."""
    kind, native = get_item_type(item), ProviderPayload(origin, item)
    id = as_string(item.get("call_id")) or as_string(item.get("id"))
    if kind not in _TOOL_OF_CALL:
        return (ServerResult(id, (), truncate_result(_extract_output(item)), (), native),)
    tool = _TOOL_OF_CALL[kind] or as_string(item.get("name"))
    call = ServerCall(id, tool, _read_input(item, kind), as_string(item.get("status")), native)
    result = _read_result(item, id)
    return (call, result) if result.sources or result.text or result.files else (call,)


def _read_input(item: dict[str, Any], kind: str) -> dict[str, Any]:
    match kind:
        case "web_search_call":
            return {name: value for name, value in as_object(item.get("action")).items() if name != "sources" and value}
        case "file_search_call":
            return {"queries": as_array(item.get("queries"))}
        case "code_interpreter_call" | "program":
            return {"code": as_string(item.get("code"))} if item.get("code") else {}
        case "mcp_call":
            asked = {"server": as_string(item.get("server_label")), "tool": as_string(item.get("name"))}
            return asked | {"arguments": _parse_arguments(item.get("arguments"))}
        case "image_generation_call":
            prompt = as_string(item.get("revised_prompt"))
            return {"prompt": prompt} if prompt else {}
        case "tool_search_call":
            return as_object(item.get("arguments"))
        case "custom_tool_call":
            return {"input": as_string(item.get("input"))}
        case _:
            return as_object(item.get("action")) or as_object(item.get("operation"))


def _parse_arguments(given: object) -> Any:
    try:
        return load_json(given) if isinstance(given, str) else given
    except MalformedJSONError:
        return given


def _read_result(item: dict[str, Any], id: str) -> ServerResult:
    """Return the result data in a call item: sources, text and files."""
    sources = [make_citation(as_object(each)) for each in as_array(as_object(item.get("action")).get("sources"))]
    found = [as_object(each) for each in as_array(item.get("results"))]
    sources += [make_citation(each, as_string(each.get("text"))) for each in found]
    outputs = [as_object(each) for each in as_array(item.get("outputs"))]
    texts = [as_string(each.get("logs")) for each in outputs]
    # Images stay in the item itself.
    files = [as_string(each.get("type")) for each in outputs if each.get("type") == "image"]
    files += ["image"] if item.get("type") == "image_generation_call" and item.get("result") else []
    error = item.get("error")
    texts.append(
        _extract_output(item)
        or (f"failed: {as_string(error) or as_string(as_object(error).get('message'))}" if error else "")
    )
    text = "\n".join(filter(None, texts))
    return ServerResult(id, tuple(each for each in sources if each.name), truncate_result(text), tuple(files))


def _extract_output(item: dict[str, Any]) -> str:
    output = item.get("output") if "output" in item else item.get("result") if _is_output_item(item) else None
    if tools := as_array(item.get("tools")) if get_item_type(item) == "tool_search_output" else []:
        return ", ".join(filter(None, (as_string(as_object(tool).get("name")) for tool in tools)))
    pieces = [as_object(piece) for piece in as_array(output)]
    texts = (as_string(piece.get(name)) for piece in pieces for name in ("text", "stdout", "stderr"))
    return as_string(output) or "\n".join(filter(None, texts))


def _is_output_item(item: dict[str, Any]) -> bool:
    return get_item_type(item).endswith("_output")


def read_responses_citations(blocks: list[dict[str, Any]]) -> tuple[Citation, ...]:
    """Return the sources that a message cites, with positions in its complete text."""
    found: list[Citation] = []
    before = 0
    for block in blocks:
        for given in map(as_object, as_array(block.get("annotations"))):
            start, end = as_integer(given.get("start_index")), as_integer(given.get("end_index"))
            is_place = start is not None and end is not None and end > start
            places = (before + start, before + end) if is_place and start is not None and end is not None else ()
            found.append(make_citation(given, as_string(given.get("quote")), *places))
        before += len(as_string(block.get("text")) or as_string(block.get("refusal")))
    return tuple(each for each in found if each.name)
