"""Decoder of complete answers of the Interactions API."""

from __future__ import annotations

from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Citation,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
)
from antiphon.errors import BadReply, RateLimited, RequestRejected, ServerFailed, StatusError
from antiphon.wire.gemini.response import parse_error as parse_google_error
from antiphon.wire.google_interactions import SERVER_STEPS, SPEC, get_contents
from antiphon.wire.json_shape import require_object, sum_known
from antiphon.wire.names_and_ids import is_universally_legal
from antiphon.wire.quota import make_quota_error
from antiphon.wire.reply import ProviderErrorInfo, Reply, Usage
from antiphon.wire.reply_state import ReplyState
from antiphon.wire.server_tools import make_citation, truncate_result
from antiphon.wire.stop_reasons import make_unknown_stop, map_stop_reason

API = SPEC.name
_TOOL_KINDS = {
    "google_search": "web_search",
    "url_context": "web_fetch",
    "google_maps": "maps",
    "mcp_server_tool": "mcp",
}
#: The fields of an interaction that `Reply` has fields for, and those that repeat the request.
_DECODED_FIELDS = frozenset(
    {"id", "status", "steps", "usage", "model", "continuation_token", "object", "created", "updated", "errors"}
    | {"input", "tools", "system_instruction", "generation_config", "response_format", "service_tier", "store"}
    | {"output_text"}
)
_RATE_LIMITS = ("429", "RESOURCE_EXHAUSTED", "resource_exhausted", "too_many_requests")
_OUR_FAULTS = ("400", "INVALID_ARGUMENT", "invalid_argument", "invalid_request", "FAILED_PRECONDITION")


def decode(response: object, origin: Origin) -> Reply:
    """Convert an interaction into a reply. Raise the matching error if it failed."""
    data = require_object(response, origin.provider)
    status = as_string(data.get("status"))
    if not ({"status", "steps"} & data.keys()):
        said = parse_error(data).message
        raise BadReply(
            f"{origin.provider} answered without `steps`{': ' + said if said else ''}", provider=origin.provider
        )
    steps = [step for step in map(as_object, as_array(data.get("steps"))) if step.get("type") != "user_input"]
    stop = map_stop_reason(API, status)
    parts = tuple(
        part
        for place, step in enumerate(steps)
        for part in read_step(step, origin, cut=stop == "length" and place == len(steps) - 1)
    )
    if stop in ("end", "tool_calls"):
        # The status is about calls of functions, those of server tools are answered.
        stop = "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "end"
    reply = Reply(
        parts,
        stop or "not_done",
        status,
        _read_usage(as_object(data.get("usage"))),
        as_string(data.get("model")),
        as_string(data.get("id")),
        state=ReplyState(
            continuation_token=as_string(data.get("continuation_token")),
            service_tier=as_string(data.get("service_tier")),
            other={k: v for k, v in data.items() if k not in _DECODED_FIELDS and v not in (None, {}, [])},
        ),
    )
    if stop == "failed":
        error = make_failure_error(_read_failure(data, steps), origin.provider)
        error.reply = reply
        raise error
    if stop is None:
        raise make_unknown_stop(reply, origin)
    return reply


def read_step(step: dict[str, Any], origin: Origin, *, cut: bool = False) -> tuple[AssistantPart, ...]:
    """Convert a step of the model into its parts: one for each block of its content, else one."""
    kind, native = as_string(step.get("type")), ProviderPayload(origin, step)
    match kind:
        case "model_output":
            return tuple(part for block in get_contents(step) if (part := _read_block(block, origin)) is not None)
        case "thought":
            blocks = [as_object(block) for block in as_array(step.get("summary"))]
            return (Reasoning("\n\n".join(filter(None, (as_string(b.get("text")) for b in blocks))), native),)
        case "function_call":
            id, name = as_string(step.get("id")), as_string(step.get("name"))
            plain = step.keys() <= {"type", "id", "name", "arguments"} and is_universally_legal(id, name)
            arguments = step.get("arguments", {})
            return (ToolCall.read(id, name, arguments, truncated=cut, native=None if plain else native),)
        case _ if kind in SERVER_STEPS:
            return (_read_server_step(step, kind, native),)
        case _:
            return (OpaquePart(native),) if step else ()


def _read_block(block: dict[str, Any], origin: Origin) -> AssistantPart | None:
    native = ProviderPayload(origin, block)
    if block.get("type") != "text":
        return OpaquePart(native, f"[{as_string(block.get('mime_type')) or as_string(block.get('type'))}]")
    text = as_string(block.get("text"))
    if not text:
        return None
    bare = {name: value for name, value in block.items() if value or name != "annotations"}
    is_plain = bare.keys() == {"type", "text"} and text.strip()
    return Text(text, None if is_plain else native, _read_citations(block, text))


def _read_citations(block: dict[str, Any], text: str) -> tuple[Citation, ...]:
    found: list[Citation] = []
    for note in map(as_object, as_array(block.get("annotations"))):
        title = as_string(note.get("title")) or as_string(note.get("file_name"))
        citation = make_citation({"title": title, "url": as_string(note.get("url"))})
        if not citation.name:
            continue
        start, end = as_integer(note.get("start_index")), as_integer(note.get("end_index"))
        if start is None or end is None:
            found.append(citation)
            continue
        # The API counts bytes.
        raw = text.encode()
        begin, stop = (len(raw[:at].decode(errors="ignore")) for at in (start, end))
        found.append(Citation(citation.url, citation.title, citation.quote, begin, stop))
    return tuple(found)


def _read_server_step(step: dict[str, Any], kind: str, native: ProviderPayload) -> ServerCall | ServerResult:
    tool, _, side = kind.rpartition("_")
    if side == "call":
        name = as_string(step.get("name")) if tool == "mcp_server_tool" else ""
        given = as_object(step.get("arguments"))
        return ServerCall(as_string(step.get("id")), name or _TOOL_KINDS.get(tool, tool), given, native=native)
    result = step.get("result")
    text = result if isinstance(result, str) else dump_json(result) if result else ""
    return ServerResult(as_string(step.get("call_id")), (), truncate_result(text), (), native)


def _read_usage(usage: dict[str, Any]) -> Usage:
    thoughts = as_integer(usage.get("total_thought_tokens"))
    return Usage(
        # The API counts the input of server tools and the thinking separately.
        input_tokens=sum_known(
            as_integer(usage.get("total_input_tokens")), as_integer(usage.get("total_tool_use_tokens"))
        ),
        output_tokens=sum_known(as_integer(usage.get("total_output_tokens")), thoughts),
        cache_read_tokens=as_integer(usage.get("total_cached_tokens")),
        reasoning_tokens=thoughts,
    )


def parse_error(data: object) -> ProviderErrorInfo:
    """Extract message and kind from an error body or an error event."""
    found = parse_google_error(data)
    code = as_object(as_object(data).get("error")).get("code")
    kind = found.kind or (str(code) if isinstance(code, str | int) else "")
    return ProviderErrorInfo(found.message, kind, retry_after=found.retry_after, quota=found.quota)


def _read_failure(data: dict[str, Any], steps: list[dict[str, Any]]) -> ProviderErrorInfo:
    """Return the first error of an interaction, or of one of its steps."""
    errors: list[object] = [*as_array(data.get("errors")), *(step.get("error") for step in steps)]
    return parse_error({"error": next((each for each in map(as_object, errors) if each), None)})


def make_failure_error(error: ProviderErrorInfo, provider: str) -> StatusError:
    """Return the exception for an answer that began well and then failed."""
    kind, status = ServerFailed, 500
    if error.kind in _RATE_LIMITS:
        kind, status = RateLimited, 429
    elif error.kind in _OUR_FAULTS:
        kind, status = RequestRejected, 400
    message = f"{provider} failed to answer: {error.message or error.kind or 'it does not say why'}"
    about: dict[str, Any] = {"provider": provider, "text": error.message}
    return make_quota_error(error, message, status=status, **about) or kind(message, status=status, **about)
