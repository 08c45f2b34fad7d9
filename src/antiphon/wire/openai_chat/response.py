"""Answers of the Chat Completions API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

from antiphon._json import dumps, loads
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import (
    AssistantPart,
    Citation,
    Foreign,
    Native,
    Origin,
    Reasoning,
    Text,
    ToolCall,
    legal_id,
    short_id,
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
from antiphon.wire.naming import is_universal
from antiphon.wire.openai_chat.messages import API, NAME, RECEIVED
from antiphon.wire.openai_chat.reasoning import FIELDS, fields_of, readable, thought
from antiphon.wire.openai_chat.refused import refused_calls
from antiphon.wire.overflow import overflow
from antiphon.wire.quota import quota_error
from antiphon.wire.reply import ErrorText, Reply, Usage
from antiphon.wire.reply_state import RefusalDetails, ReplyState
from antiphon.wire.server_tools import cite
from antiphon.wire.shape import detail, reply_object, total
from antiphon.wire.stops import find_stop, unknown_stop

#: The fields of a response that a reply has places for.
_KNOWN = frozenset({"id", "object", "created", "model", "choices", "usage", "x_groq", "service_tier", "error"})
_OURS = frozenset({"role", "content", "tool_calls", "function_call", *FIELDS})
#: What an assistant message may hold on the way back; servers refuse others of their own fields.
_REQUEST_FIELDS = _OURS | {"refusal", "audio", "name"}
#: What Perplexity and xAI say about an answer beside it.
_BESIDE = ("citations", "search_results", "related_questions", "images", "videos")
_REFUSED = ("invalid", "bad_request", "badrequest", "context_length", "content_filter", "unsupported")


def decode(response: object, origin: Origin) -> Reply:
    """A response body as a reply; of several choices the first counts."""
    data = reply_object(response, origin.provider)
    choices = [obj(choice) for choice in arr(data.get("choices"))]
    if data.get("error") and not choices:
        # Gateways report the failure of the server behind them with status 200.
        return error_text(data).reply() or fail(data, origin, "answered with an error")
    if not choices and not isinstance(data.get("choices"), list):
        if error_text(data).message:
            fail(data, origin, "answered with an error")
        raise BadReply(f"{origin.provider} answered without `choices`", provider=origin.provider)
    choice = next((choice for choice in choices if not choice.get("index")), (choices or [obj(None)])[0])
    if choice.get("error"):
        # OpenRouter's place for what broke an answer off.
        fail({"error": choice["error"]}, origin, "broke off the answer")
    message = {k: data[k] for k in _BESIDE if data.get(k)} | obj(choice.get("message"))
    reason = string(choice.get("finish_reason"))
    # Compatible servers leave the word out where nothing is left to say.
    stop = find_stop(API, reason.lower() or "stop") if choice else "not_done"
    calls = read_calls(message, origin, string(data.get("id")), cut=stop == "length")
    parts = (*_cite(said(_sendable(message), origin), message), *calls)
    if stop in ("end", "tool_calls"):
        # Servers differ in whether they name the calls, and a refusal has no word here.
        stop = "tool_calls" if calls else "refusal" if message.get("refusal") else "end"
    state, id = _state(data, reason, message, stop), string(data.get("id"))
    reply = Reply(parts, stop or "not_done", reason, usage_of(data), string(data.get("model")), id, state=state)
    if stop == "failed":
        error = ServerFailed(f"{origin.provider} broke off the answer: {reason}", provider=origin.provider, text=reason)
        error.status, error.reply = 500, reply
        raise error
    if stop is None:
        raise unknown_stop(reply, origin)
    return reply


def _cite(parts: list[AssistantPart], message: dict[str, Any]) -> list[AssistantPart]:
    """Return the parts with the sources that the message names on its last text."""
    if not (message.get("annotations") or message.get("search_results") or message.get("citations")):
        return parts
    found = [_citation(obj(each)) for each in arr(message.get("annotations"))]
    found += [cite(obj(each)) for each in arr(message.get("search_results"))]
    known = {each.url for each in found}
    # Perplexity and xAI have plain addresses.
    urls = [url for url in arr(message.get("citations")) if isinstance(url, str) and url not in known]
    named = tuple(each for each in (*found, *map(Citation, urls)) if each.name)
    places = [place for place, part in enumerate(parts) if isinstance(part, Text)]
    if named and places:
        text = parts[places[-1]]
        parts[places[-1]] = replace(text, citations=named) if isinstance(text, Text) else text
    return parts


def _citation(annotation: dict[str, Any]) -> Citation:
    data = obj(annotation.get(string(annotation.get("type")))) or annotation
    return cite(data, string(data.get("content")), number(data.get("start_index")), number(data.get("end_index")))


def _state(data: dict[str, Any], reason: str, message: dict[str, Any], stop: str | None) -> ReplyState:
    words = string(message.get("refusal"))
    refusal = RefusalDetails("" if words else reason, words) if stop == "refusal" else None
    other = {name: value for name, value in data.items() if name not in _KNOWN and not says_nothing(value)}
    return ReplyState(refusal=refusal, service_tier=string(data.get("service_tier")), other=other)


def _sendable(message: dict[str, Any]) -> dict[str, Any]:
    """The message with what no request may hold (citations, a server's own statistics) set apart, but not lost."""
    more = {k: v for k, v in message.items() if k not in _REQUEST_FIELDS and not says_nothing(v)}
    # Servers differ in whether calls come with empty text or with none.
    silent = message.get("content") == "" and bool(list_calls(message))
    kept = {k: v for k, v in message.items() if k in _REQUEST_FIELDS and not (silent and k == "content")}
    return kept | {RECEIVED: more} if more else kept


def said(message: dict[str, Any], origin: Origin) -> list[AssistantPart]:
    """All of an assistant message but its calls: thinking, content, and the fields only this API knows."""
    parts: list[AssistantPart] = []
    if thinking := fields_of(message):
        parts.append(Reasoning(readable(thinking), Native(origin, thinking)))
    content = message.get("content")
    if isinstance(content, str):
        parts.append(Text(content, None if content.strip() else Native(origin, {"content": content})))
    else:
        blocks = content_blocks(content)
        parts += [_said_block(block, origin, len(blocks) > 1) for block in blocks]
    more = {k: v for k, v in message.items() if k not in _OURS and not says_nothing(v)}
    if more:
        transcript = string(obj(message.get("audio")).get("transcript"))
        parts.append(Foreign(Native(origin, more), string(message.get("refusal")) or transcript))
    return parts


def content_blocks(content: object) -> list[dict[str, Any]]:
    """The parts of a content. Where servers send other values, such as the object of a JSON answer, they are text."""
    values: list[object] = [value for value in arr(content) if not says_nothing(value)]
    if not isinstance(content, list) and content not in (None, ""):
        values = [content]
    return [obj(value) if string(obj(value).get("type")) else _text_block(value) for value in values]


def _text_block(value: object) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else dumps(value)}


def _said_block(block: dict[str, Any], origin: Origin, several: bool) -> AssistantPart:
    match block.get("type"):
        case "text":
            native = Native(origin, block) if several or not is_plain(block, "type", "text") else None
            return Text(string(block.get("text")), native)
        case "thinking":
            return Reasoning(thought(block), Native(origin, {"content": [block]}))
        case _:
            return Foreign(Native(origin, {"content": [block]}), string(block.get("refusal")))


def is_plain(data: dict[str, Any], *names: str) -> bool:
    """Whether it holds nothing but these fields, so that it need not be kept itself."""
    return all(says_nothing(value) for name, value in data.items() if name not in names)


def says_nothing(value: object) -> bool:
    """Whether a field is there only because a server writes all it knows: empty, or an object of empty fields."""
    fields = obj(value)
    return value in (None, "", [], {}) or (
        bool(fields) and all(inner == 0 or says_nothing(inner) for inner in fields.values())
    )


def read_calls(message: dict[str, Any], origin: Origin, seed: str, *, cut: bool = False) -> list[ToolCall]:
    """The calls of a reply. Ids that are missing or not unique are made up from `seed`."""
    calls = list_calls(message)
    taken: set[str] = set()
    read: list[ToolCall] = []
    for place, call in enumerate(calls):
        id, name, arguments, native = call_fields(call, origin)
        if not id or legal_id(id) in taken:
            id = short_id(f"{seed} {id} {place}")
        taken.add(legal_id(id))
        read.append(ToolCall.read(id, name, arguments, truncated=cut and call is calls[-1], native=native))
    return read


def list_calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls as they stand, the deprecated single one included."""
    given: object = message.get("tool_calls")
    calls = [obj(call) for call in arr(given) or [given]]
    old = {"type": "function", "function": obj(message.get("function_call"))}
    return [call for call in calls if not is_no_call(call)] or [call for call in [old] if not is_no_call(call)]


def is_no_call(call: dict[str, Any]) -> bool:
    """Whether it has no id, no name and no arguments: some servers fill the fields of calls where there is none."""
    functions = [obj(value) for name, value in call.items() if name not in ("id", "type", "index")]
    return not call.get("id") and all(_is_blank(value) for each in functions for value in each.values())


def _is_blank(value: object) -> bool:
    return value in (None, "", "{}", {}) or says_nothing(value)


def call_fields(call: dict[str, Any], origin: Origin) -> tuple[str, str, object, Native | None]:
    """Id, name, arguments, and the call itself where our own form of it would lose something."""
    kind = string(call.get("type")) or "function"
    function = obj(call.get(kind)) or obj(call.get("function"))
    name, arguments = string(function.get("name")), function.get("arguments")
    if kind == "custom":
        arguments = {"input": function.get("input", "")}
    id = string(call.get("id"))
    plain = is_universal(id or "id", name if NAME.match(name) else "none")
    plain = plain and kind == "function" and is_plain(call, "id", "type", "function", "index")
    native = None if plain else Native(origin, {k: v for k, v in call.items() if k != "index"})
    return id, name, "" if arguments is None else arguments, native


def usage_of(data: dict[str, Any]) -> Usage:
    """The tokens of a response, in the words of OpenAI and of those who add their own."""
    usage = obj(data.get("usage")) or obj(obj(data.get("x_groq")).get("usage"))
    prompt, completion = obj(usage.get("prompt_tokens_details")), obj(usage.get("completion_tokens_details"))
    given, made = number(usage.get("prompt_tokens")), number(usage.get("completion_tokens"))
    reasoning = number(completion.get("reasoning_tokens"))
    if reasoning and made is not None and number(usage.get("total_tokens")) == total(given, made, reasoning):
        # xAI counts the reasoning apart.
        made += reasoning
    cached = (prompt.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
    return Usage(
        input_tokens=given,
        output_tokens=made,
        cache_read_tokens=next((n for value in cached if (n := number(value)) is not None), None),
        cache_write_tokens=number(prompt.get("cache_write_tokens")),
        reasoning_tokens=reasoning,
    )


def error_text(data: object) -> ErrorText:
    """What an error body says, in OpenAI's shape or one of those that other servers use."""
    # Google's server for this API puts its errors into a list.
    top = obj(data) or obj(next(iter(arr(data)), None))
    error = obj(top.get("error")) or top
    texts = (error.get("message"), top.get("error"), top.get("message"), detail(top), detail(error))
    message = next((text for text in texts if isinstance(text, str) and text), "")
    # OpenRouter says only that the server behind it said something, and tells that apart.
    if behind := string(obj(error.get("metadata")).get("raw")):
        message = f"{message}: {_inner(behind)}" if message else _inner(behind)
    kind = string(error.get("code")) or string(error.get("type"))
    # llama.cpp tells both sizes in fields of their own.
    sizes = number(error.get("n_prompt_tokens")), number(error.get("n_ctx"))
    return ErrorText(message, kind, string(top.get("request_id")), sizes=sizes, calls=refused_calls(error))


def _inner(raw: str) -> str:
    try:
        return error_text(loads(raw)).message or raw
    except MalformedJSONError:
        return raw


def fail(data: dict[str, Any], origin: Origin, did: str) -> NoReturn:
    """Raise what an error object in place of an answer means."""
    said, status = error_text(data), _status(data)
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
    if used_up := quota_error(said, message, status=status, **about):
        raise used_up
    if status not in kinds and (error := overflow(said, message, status=400, **about)):
        raise error
    raise kind(message, status=status, **about)


def _status(data: dict[str, Any]) -> int:
    error = obj(data.get("error")) or data
    for value in (error.get("code"), error.get("status"), error.get("status_code")):
        code = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else number(value)
        if code is not None and 400 <= code < 600:
            return code
    words = f"{error.get('type')} {error.get('code')}".lower()
    if any(word in words for word in ("rate_limit", "ratelimit", "quota", "too_many")):
        return 429
    return 400 if any(word in words for word in _REFUSED) else 500
