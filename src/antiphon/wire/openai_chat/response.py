"""Decoder of complete answers of the Chat Completions API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn, cast

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Citation,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    normalize_call_id,
    shorten_call_id,
)
from antiphon.errors import (
    AuthenticationFailed,
    BadReply,
    MalformedJSONError,
    NotFound,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StatusError,
)
from antiphon.wire.context_overflow import make_overflow_error
from antiphon.wire.json_shape import as_integers, extract_detail, require_object, sum_known
from antiphon.wire.names_and_ids import is_universally_legal
from antiphon.wire.openai_chat.messages import API, CHAT_TOOL_NAME, RECEIVED_FIELDS
from antiphon.wire.openai_chat.reasoning import (
    REASONING_FIELDS,
    extract_reasoning_fields,
    extract_reasoning_text,
    extract_thinking_text,
)
from antiphon.wire.openai_chat.rejected_calls import read_rejected_calls
from antiphon.wire.quota import make_quota_error
from antiphon.wire.reply import ProviderErrorInfo, Reply, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.server_tools import make_citation
from antiphon.wire.stop_reasons import make_unknown_stop, map_stop_reason

#: The fields of a response that `Reply` has fields for.
_DECODED_FIELDS = frozenset({"id", "object", "created", "model", "choices", "usage", "x_groq", "service_tier", "error"})
_MESSAGE_FIELDS = frozenset({"role", "content", "tool_calls", "function_call", *REASONING_FIELDS})
#: Fields that an assistant message may have when it is sent back; servers reject even their own others.
_REQUEST_FIELDS = _MESSAGE_FIELDS | {"refusal", "audio", "name"}
#: Fields beside the answer, from Perplexity and xAI.
_SIDE_FIELDS = ("citations", "search_results", "related_questions", "images", "videos")
_REJECTED_WORDS = ("invalid", "bad_request", "badrequest", "context_length", "content_filter", "unsupported")


def decode(response: object, origin: Origin) -> Reply:
    """Convert a response body into a reply. Of several choices, the first counts."""
    data = require_object(response, origin.provider)
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    listed: object = data.get("choices")
    found = cast(list[Any], listed) if isinstance(listed, list) else []
    choices: list[dict[str, Any]] = [choice if isinstance(choice, dict) else {} for choice in found]
    if data.get("error") and not choices:
        # Gateways report the failure of the server behind them with status 200.
        return parse_error(data).reply() or raise_chat_error(data, origin, "answered with an error")
    if not isinstance(listed, list):
        if parse_error(data).message:
            raise_chat_error(data, origin, "answered with an error")
        raise BadReply(f"{origin.provider} answered without `choices`", provider=origin.provider)
    choice = next((choice for choice in choices if not choice.get("index")), choices[0] if choices else {})
    if choice.get("error"):
        # OpenRouter reports here why an answer was cut off.
        raise_chat_error({"error": choice["error"]}, origin, "broke off the answer")
    said, word = choice.get("message"), choice.get("finish_reason")
    message = {k: data[k] for k in _SIDE_FIELDS if data.get(k)}
    if isinstance(said, dict):
        message |= cast(dict[str, Any], said)
    reason, id = word if isinstance(word, str) else "", texts.get("id", "")
    # Compatible servers omit the reason after a normal end.
    stop = map_stop_reason(API, reason.lower() or "stop") if choice else "not_done"
    calls = read_chat_calls(message, origin, id, cut=stop == "length")
    parts = (*_add_citations(read_chat_parts(_separate_received(message), origin), message), *calls)
    if stop in ("end", "tool_calls"):
        # Servers differ in whether they report the calls, and there is no reason for a refusal.
        stop = "tool_calls" if calls else "refusal" if message.get("refusal") else "end"
    state, model = _read_reply_state(data, reason, message, stop), texts.get("model", "")
    reply = Reply(parts, stop or "not_done", reason, read_chat_usage(data), model, id, state=state)
    if stop == "failed":
        error = ServerFailed(f"{origin.provider} broke off the answer: {reason}", provider=origin.provider, text=reason)
        error.status, error.reply = 500, reply
        raise error
    if stop is None:
        raise make_unknown_stop(reply, origin)
    return reply


def _add_citations(parts: list[AssistantPart], message: dict[str, Any]) -> list[AssistantPart]:
    """Return the parts with the message's sources added to its last text."""
    if not (message.get("annotations") or message.get("search_results") or message.get("citations")):
        return parts
    found = [_read_citation(as_object(each)) for each in as_array(message.get("annotations"))]
    found += [make_citation(as_object(each)) for each in as_array(message.get("search_results"))]
    known = {each.url for each in found}
    # Perplexity and xAI send plain URLs.
    urls = [url for url in as_array(message.get("citations")) if isinstance(url, str) and url not in known]
    named = tuple(each for each in (*found, *map(Citation, urls)) if each.name)
    places = [place for place, part in enumerate(parts) if isinstance(part, Text)]
    if named and places:
        text = parts[places[-1]]
        parts[places[-1]] = replace(text, citations=named) if isinstance(text, Text) else text
    return parts


def _read_citation(annotation: dict[str, Any]) -> Citation:
    data = as_object(annotation.get(as_string(annotation.get("type")))) or annotation
    return make_citation(
        data, as_string(data.get("content")), as_integer(data.get("start_index")), as_integer(data.get("end_index"))
    )


def _read_reply_state(data: dict[str, Any], reason: str, message: dict[str, Any], stop: str | None) -> ReplyState:
    refusal, tier = None, data.get("service_tier")
    if stop == "refusal":
        words = as_string(message.get("refusal"))
        refusal = RefusalDetails("" if words else reason, words)
    other = {name: value for name, value in data.items() if name not in _DECODED_FIELDS and not is_empty_value(value)}
    return ReplyState(refusal=refusal, service_tier=tier if isinstance(tier, str) else "", other=other)


def _separate_received(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with fields that no request may hold moved under `RECEIVED_FIELDS`."""
    more = {k: v for k, v in message.items() if k not in _REQUEST_FIELDS and not is_empty_value(v)}
    # Servers differ in whether calls come with empty text or with none.
    silent = message.get("content") == "" and bool(list_calls(message))
    kept = {k: v for k, v in message.items() if k in _REQUEST_FIELDS and not (silent and k == "content")}
    return kept | {RECEIVED_FIELDS: more} if more else kept


def read_chat_parts(message: dict[str, Any], origin: Origin) -> list[AssistantPart]:
    """Return all parts of an assistant message but its calls: thinking, content, and unknown fields."""
    parts: list[AssistantPart] = []
    if thinking := extract_reasoning_fields(message):
        parts.append(Reasoning(extract_reasoning_text(thinking), ProviderPayload(origin, thinking)))
    content = message.get("content")
    if isinstance(content, str):
        parts.append(Text(content, None if content.strip() else ProviderPayload(origin, {"content": content})))
    else:
        blocks = normalize_content(content)
        parts += [_read_block(block, origin, len(blocks) > 1) for block in blocks]
    more = {k: v for k, v in message.items() if k not in _MESSAGE_FIELDS and not is_empty_value(v)}
    if more:
        transcript = as_string(as_object(message.get("audio")).get("transcript"))
        parts.append(OpaquePart(ProviderPayload(origin, more), as_string(message.get("refusal")) or transcript))
    return parts


def normalize_content(content: object) -> list[dict[str, Any]]:
    """Return a content as blocks. Other values, such as the object of a JSON answer, become text."""
    if content is None or content == "":
        return []
    given = cast(list[object], content) if isinstance(content, list) else [content]
    values = [value for value in given if not isinstance(content, list) or not is_empty_value(value)]
    return [
        as_object(value) if as_string(as_object(value).get("type")) else _make_text_block(value) for value in values
    ]


def _make_text_block(value: object) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else dump_json(value)}


def _read_block(block: dict[str, Any], origin: Origin, several: bool) -> AssistantPart:
    match block.get("type"):
        case "text":
            native = (
                ProviderPayload(origin, block) if several or not has_only_chat_fields(block, "type", "text") else None
            )
            return Text(as_string(block.get("text")), native)
        case "thinking":
            return Reasoning(extract_thinking_text(block), ProviderPayload(origin, {"content": [block]}))
        case _:
            return OpaquePart(ProviderPayload(origin, {"content": [block]}), as_string(block.get("refusal")))


def has_only_chat_fields(data: dict[str, Any], *names: str) -> bool:
    """Return whether the data has no other meaningful fields than these, so its original need not be kept."""
    return all(is_empty_value(value) for name, value in data.items() if name not in names)


def is_empty_value(value: object) -> bool:
    """Return whether a value is empty, or an object of empty fields. Some servers write every field they
    know.
    """
    if value in (None, "", [], {}):
        return True
    if not isinstance(value, dict):
        return False
    return all(inner == 0 or is_empty_value(inner) for inner in cast(dict[str, Any], value).values())


def read_chat_calls(message: dict[str, Any], origin: Origin, seed: str, *, cut: bool = False) -> list[ToolCall]:
    """Return the calls of a reply. Missing and duplicate ids are replaced by ids derived from `seed`."""
    calls = list_calls(message)
    taken: set[str] = set()
    read: list[ToolCall] = []
    for place, call in enumerate(calls):
        id, name, arguments, native = parse_call_fields(call, origin)
        legal = normalize_call_id(id)
        if not id or legal in taken:
            id = legal = shorten_call_id(f"{seed} {id} {place}")
        taken.add(legal)
        read.append(ToolCall.read(id, name, arguments, truncated=cut and call is calls[-1], native=native))
    return read


def list_calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a message, including the deprecated single one."""
    given: object = message.get("tool_calls")
    listed = cast(list[Any], given) if isinstance(given, list) else [given]
    calls = [cast(dict[str, Any], call) for call in listed if isinstance(call, dict)]
    if found := [call for call in calls if not is_empty_call(call)]:
        return found
    old = {"type": "function", "function": as_object(message.get("function_call"))}
    return [] if is_empty_call(old) else [old]


def is_empty_call(call: dict[str, Any]) -> bool:
    """Return whether a call has no id, name or arguments. Some servers send such placeholders."""
    if call.get("id"):
        return False
    functions = [as_object(value) for name, value in call.items() if name not in ("id", "type", "index")]
    return all(_is_empty_argument(value) for each in functions for value in each.values())


def _is_empty_argument(value: object) -> bool:
    return value in (None, "", "{}", {}) or is_empty_value(value)


def parse_call_fields(call: dict[str, Any], origin: Origin) -> tuple[str, str, object, ProviderPayload | None]:
    """Return id, name and arguments of a call, and the original if our form would lose something."""
    texts = {name: value for name, value in call.items() if isinstance(value, str)}
    objects: dict[str, dict[str, Any]] = {name: value for name, value in call.items() if isinstance(value, dict)}
    kind, id = texts.get("type") or "function", texts.get("id", "")
    function = objects.get(kind) or objects.get("function", {})
    named, arguments = function.get("name"), function.get("arguments")
    name = named if isinstance(named, str) else ""
    if kind == "custom":
        arguments = {"input": function.get("input", "")}
    plain = is_universally_legal(id or "id", name if CHAT_TOOL_NAME.match(name) else "none")
    plain = plain and kind == "function" and has_only_chat_fields(call, "id", "type", "function", "index")
    native = None if plain else ProviderPayload(origin, {k: v for k, v in call.items() if k != "index"})
    return id, name, "" if arguments is None else arguments, native


def read_chat_usage(data: dict[str, Any]) -> Usage:
    """Return the token counts of a response, including the extra fields of compatible servers."""
    usage = as_object(data.get("usage")) or as_object(as_object(data.get("x_groq")).get("usage"))
    details: dict[str, dict[str, Any]] = {name: each for name, each in usage.items() if isinstance(each, dict)}
    prompt, completion = details.get("prompt_tokens_details", {}), details.get("completion_tokens_details", {})
    given, made, total, reasoning, written, *cached = as_integers(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        usage.get("total_tokens"),
        completion.get("reasoning_tokens"),
        prompt.get("cache_write_tokens"),
        prompt.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    if reasoning and made is not None and total == sum_known(given, made, reasoning):
        # xAI counts the reasoning separately.
        made += reasoning
    return Usage(
        input_tokens=given,
        output_tokens=made,
        cache_read_tokens=next((count for count in cached if count is not None), None),
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def parse_error(data: object) -> ProviderErrorInfo:
    """Extract message, kind and sizes from an error body in OpenAI's shape or that of another server."""
    # Google's server for this API puts its errors into a list.
    top = as_object(data) or as_object(next(iter(as_array(data)), None))
    error = as_object(top.get("error")) or top
    texts = (error.get("message"), top.get("error"), top.get("message"), extract_detail(top), extract_detail(error))
    message = next((text for text in texts if isinstance(text, str) and text), "")
    # OpenRouter's message is generic; the upstream error is in the metadata.
    if behind := as_string(as_object(error.get("metadata")).get("raw")):
        message = f"{message}: {_extract_inner_message(behind)}" if message else _extract_inner_message(behind)
    kind = as_string(error.get("code")) or as_string(error.get("type"))
    # llama.cpp has separate fields for both sizes.
    sizes = as_integer(error.get("n_prompt_tokens")), as_integer(error.get("n_ctx"))
    return ProviderErrorInfo(
        message, kind, as_string(top.get("request_id")), sizes=sizes, calls=read_rejected_calls(error)
    )


def _extract_inner_message(raw: str) -> str:
    try:
        return parse_error(load_json(raw)).message or raw
    except MalformedJSONError:
        return raw


def raise_chat_error(data: dict[str, Any], origin: Origin, did: str) -> NoReturn:
    """Raise the exception that an error object in place of an answer stands for."""
    said, status = parse_error(data), _find_status(data)
    kinds: dict[int, type[StatusError]] = {
        401: AuthenticationFailed,
        403: AuthenticationFailed,
        404: NotFound,
        429: RateLimited,
    }
    kind = kinds.get(status, RequestRejected if status < 500 else ServerFailed)
    text = said.message or said.kind
    message = f"{origin.provider} {did}: {text}"
    about: dict[str, Any] = {"provider": origin.provider, "text": text, "request_id": said.request_id}
    if used_up := make_quota_error(said, message, status=status, **about):
        raise used_up
    if status not in kinds and (error := make_overflow_error(said, message, status=400, **about)):
        raise error
    raise kind(message, status=status, **about)


def _find_status(data: dict[str, Any]) -> int:
    error = as_object(data.get("error")) or data
    for value in (error.get("code"), error.get("status"), error.get("status_code")):
        code = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else as_integer(value)
        if code is not None and 400 <= code < 600:
            return code
    words = f"{error.get('type')} {error.get('code')}".lower()
    if any(word in words for word in ("rate_limit", "ratelimit", "quota", "too_many")):
        return 429
    return 400 if any(word in words for word in _REJECTED_WORDS) else 500
