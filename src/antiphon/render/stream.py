"""The events of a run as JSON objects, one per line (`stream-json`), and its end as one object (`--json`)."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from antiphon.conversation import Foreign, Image, Text, ToolCall, ToolResult
from antiphon.results import plain
from antiphon.session import AIResult, CallFinished, CallStarted, Done, Event, UsageChanged, Waiting
from antiphon.tools import Decision, ToolCallRecord
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta

# What a terminal could obey, a reader of lines take for a line's end, or an eye not see.
_UNSEEN = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
                     "\ud800-\udfff\U000e0000-\U000e0fff]")  # fmt: skip


def event_json(event: Event, depth: int = 0) -> dict[str, Any]:
    """One event as JSON data. `type` says which; a nested run's events have a `depth` of 1 or more.

    - `text`, `reasoning`: the next piece, `text`
    - `call_delta`: a piece of a call being written, `index`, `name` (only in the first piece), `arguments`
    - `call_started`: `call` {id, name, arguments, problem?}
    - `call_finished`: `call`; `result` {content, is_error, handle?, semantic?}; `record` {tool, args, result, error,
      duration in milliseconds}. `content` is text, or a list of parts {type: text, image or foreign}; `semantic` is a
      result in the schema `antiphon.results.SCHEMA`
    - `usage`: `usage` up to now, and `cost` in dollars; unknown numbers are null
    - `waiting`: `kind` (approval or question), `call`, `question`, and `decision` or `reply` once they are there
    - `done`: what `final_json` gives
    """
    nested = {"depth": depth} if depth else {}
    return {"type": _TYPES[type(event)], **nested, **_body(event)}


def final_json(result: AIResult) -> dict[str, Any]:
    """How a run ended: `value`, `outcome`, `detail`, `model`, `usage`, `cost`, and `tool_calls` as records.

    Whatever the value is, it has a JSON form here; what has none of its own is described. The conversation is not
    part of it: `Conversation.save` keeps that.
    """
    return {
        "value": plain(result.value),
        "outcome": result.run.outcome,
        "detail": plain(result.run.detail),
        "model": plain(result.run.model),
        "usage": asdict(result.run.usage),
        "cost": plain(result.run.cost),
        "tool_calls": [_record(record) for record in result.tool_calls],
    }


def json_text(data: object, indent: int | None = None, *, ascii: bool = False) -> str:
    """JSON that is safe to print: characters that nobody sees, or that terminals obey, are written as escapes.

    It is one line unless `indent` is given, also for readers that take U+2028 or U+0085 for the end of one. `ascii`
    escapes all that is not ASCII, for outputs that know nothing else.
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, ensure_ascii=ascii, indent=indent, separators=separators, allow_nan=False)
    return text if text.isascii() and "\x7f" not in text else _UNSEEN.sub(_escaped, text)


def event_line(event: Event, depth: int = 0, *, ascii: bool = False) -> str:
    """One event as a line of `stream-json`, without its end."""
    return json_text(event_json(event, depth), ascii=ascii)


_TYPES: dict[type, str] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    CallDelta: "call_delta",
    CallStarted: "call_started",
    CallFinished: "call_finished",
    UsageChanged: "usage",
    Waiting: "waiting",
    Done: "done",
}


def _body(event: Event) -> dict[str, Any]:
    match event:
        case TextDelta(text) | ReasoningDelta(text):
            return {"text": plain(text)}
        case CallDelta(index, name, arguments):
            return {"index": index, **({"name": plain(name)} if name else {}), "arguments": plain(arguments)}
        case CallStarted(call):
            return {"call": _call(call)}
        case CallFinished(call, result, record):
            return {"call": _call(call), "result": _result(result), "record": _record(record)}
        case UsageChanged(usage, cost):
            return {"usage": asdict(usage), "cost": plain(cost)}
        case Waiting():
            return _waiting(event)
        case Done(result):
            return final_json(result)


def _call(call: ToolCall) -> dict[str, Any]:
    problem = {"problem": plain(call.problem)} if call.problem is not None else {}
    return {"id": call.id, "name": call.name, "arguments": plain(call.arguments), **problem}


def _result(result: ToolResult) -> dict[str, Any]:
    content = result.content if isinstance(result.content, str) else [_part(part) for part in result.content]
    return {
        "content": content,
        "is_error": result.is_error,
        **({"handle": plain(result.handle)} if result.handle else {}),
        **({"semantic": result.semantic.to_json()} if result.semantic else {}),
    }


def _part(part: Text | Image | Foreign) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(data, media_type, url):
            source = {"url": plain(url)} if url else {"data": data, "media_type": plain(media_type)}
            return {"type": "image", **source}
        case Foreign(native, text):
            return {"type": "foreign", "text": text, "data": plain(native.data)}


def _record(record: ToolCallRecord) -> dict[str, Any]:
    return plain(record)


def _waiting(event: Waiting) -> dict[str, Any]:
    decision: Decision | None = event.decision
    return {
        "kind": event.kind,
        "call": _call(event.call),
        "question": plain(event.question),
        **({"decision": plain(decision)} if decision is not None else {}),
        **({"reply": plain(event.reply)} if event.reply is not None else {}),
    }


def _escaped(found: re.Match[str]) -> str:
    # The JSON escape of a character beyond the first 65,536 is a pair of surrogates.
    return json.dumps(found[0])[1:-1]
