"""Items of the tools that OpenAI runs itself, and the citations of its messages."""

from __future__ import annotations

from typing import Any

from antiphon._json import loads
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import Citation, Native, Origin, ServerCall, ServerResult
from antiphon.errors import MalformedJSONError
from antiphon.wire.openai_responses.terms import kind_of
from antiphon.wire.server_tools import cite, shorten

ServerParts = tuple[ServerCall | ServerResult, ...]

#: Our names of the tools by the items of their calls.
_CALLS = {
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
_RESULTS = ("tool_search_output", "program_output")


def is_server_item(item: dict[str, Any]) -> bool:
    """Return whether an item is the call of a server's tool or its result; the caller knows it is not the client's."""
    kind = kind_of(item)
    return kind in _CALLS or kind in _RESULTS or (kind.endswith("_call_output") and kind != "function_call_output")


def read_server_item(item: dict[str, Any], origin: Origin) -> ServerParts:
    """Return the parts that an item is: a call, a result, or a call with its result."""
    kind, native = kind_of(item), Native(origin, item)
    id = string(item.get("call_id")) or string(item.get("id"))
    if kind not in _CALLS:
        return (ServerResult(id, (), shorten(_output(item)), (), native),)
    tool = _CALLS[kind] or string(item.get("name"))
    call = ServerCall(id, tool, _input(item, kind), string(item.get("status")), native)
    result = _result(item, id)
    return (call, result) if result.sources or result.text or result.files else (call,)


def _input(item: dict[str, Any], kind: str) -> dict[str, Any]:
    match kind:
        case "web_search_call":
            return {name: value for name, value in obj(item.get("action")).items() if name != "sources" and value}
        case "file_search_call":
            return {"queries": arr(item.get("queries"))}
        case "code_interpreter_call" | "program":
            return {"code": string(item.get("code"))} if item.get("code") else {}
        case "mcp_call":
            asked = {"server": string(item.get("server_label")), "tool": string(item.get("name"))}
            return asked | {"arguments": _arguments(item.get("arguments"))}
        case "image_generation_call":
            prompt = string(item.get("revised_prompt"))
            return {"prompt": prompt} if prompt else {}
        case "tool_search_call":
            return obj(item.get("arguments"))
        case "custom_tool_call":
            return {"input": string(item.get("input"))}
        case _:
            return obj(item.get("action")) or obj(item.get("operation"))


def _arguments(given: object) -> Any:
    try:
        return loads(given) if isinstance(given, str) else given
    except MalformedJSONError:
        return given


def _result(item: dict[str, Any], id: str) -> ServerResult:
    """Return what an item holds besides its call."""
    sources = [cite(obj(each)) for each in arr(obj(item.get("action")).get("sources"))]
    found = [obj(each) for each in arr(item.get("results"))]
    sources += [cite(each, string(each.get("text"))) for each in found]
    outputs = [obj(each) for each in arr(item.get("outputs"))]
    texts = [string(each.get("logs")) for each in outputs]
    # Pictures are kept in the item itself.
    files = [string(each.get("type")) for each in outputs if each.get("type") == "image"]
    files += ["image"] if item.get("type") == "image_generation_call" and item.get("result") else []
    error = item.get("error")
    texts.append(_output(item) or (f"failed: {string(error) or string(obj(error).get('message'))}" if error else ""))
    text = "\n".join(filter(None, texts))
    return ServerResult(id, tuple(each for each in sources if each.name), shorten(text), tuple(files))


def _output(item: dict[str, Any]) -> str:
    output = item.get("output") if "output" in item else item.get("result") if _is_output(item) else None
    if tools := arr(item.get("tools")) if kind_of(item) == "tool_search_output" else []:
        return ", ".join(filter(None, (string(obj(tool).get("name")) for tool in tools)))
    pieces = [obj(piece) for piece in arr(output)]
    texts = (string(piece.get(name)) for piece in pieces for name in ("text", "stdout", "stderr"))
    return string(output) or "\n".join(filter(None, texts))


def _is_output(item: dict[str, Any]) -> bool:
    return kind_of(item).endswith("_output")


def read_citations(blocks: list[dict[str, Any]]) -> tuple[Citation, ...]:
    """Return the sources that the texts of a message name, with their places in the whole text."""
    found: list[Citation] = []
    before = 0
    for block in blocks:
        for given in map(obj, arr(block.get("annotations"))):
            start, end = number(given.get("start_index")), number(given.get("end_index"))
            is_place = start is not None and end is not None and end > start
            places = (before + start, before + end) if is_place and start is not None and end is not None else ()
            found.append(cite(given, string(given.get("quote")), *places))
        before += len(string(block.get("text")) or string(block.get("refusal")))
    return tuple(each for each in found if each.name)
