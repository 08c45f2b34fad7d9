"""The events of a run as JSON objects, one per line (`stream-json`), and its end as one object (`--json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from antiphon.conversation import Foreign, Image, Text, ToolCall, ToolResult
from antiphon.results import plain
from antiphon.session import (
    AIResult,
    Asked,
    CallFinished,
    CallStarted,
    Compacted,
    Event,
    ModelUnknown,
    PrefixChanged,
    Question,
    RequestEnded,
    RequestStarted,
    RunEnded,
    RunRecord,
    RunStarted,
    RunWaits,
    Settled,
    UsageChanged,
)
from antiphon.session.events import Body
from antiphon.tools import ToolCallRecord
from antiphon.wire import CallDelta, FactWrong, Healed, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta

# What a terminal could obey, a reader of lines take for a line's end, or an eye not see.
_UNSEEN = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
                     "\ud800-\udfff\U000e0000-\U000e0fff]")  # fmt: skip


def event_json(event: Event) -> dict[str, Any]:
    """One event as JSON data: `run`, `seq`, `at` (seconds since 1970), and `type`, which says what else there is.

    - `run_started`: `kind`, `title`, `model`, `parent` (the id of the run around it, or null)
    - `request_started`: `number`, `model`; `request_ended`: `number`, `text`, `usage`, `cost`, `failed`?,
      `sources`? as a list of {url, title}
    - `text`, `reasoning`: the next piece, `text`
    - `call_delta`: a piece of a call being written, `index`, `name` (only in the first piece), `arguments`
    - `call_started`: `call` {id, name, arguments, problem?}
    - `call_finished`: `call`; `result` {content, is_error, handle?, semantic?}; `record` {tool, args, result, error,
      duration in milliseconds}. `content` is text, or a list of parts {type: text, image or foreign}; `semantic` is a
      result in the schema `antiphon.results.SCHEMA`
    - `usage`: `usage` up to now, and `cost` in dollars; unknown numbers are null
    - `asked`: `question` {id, kind (approval or question), text, who, call?}; `settled`: `question`, `said` {text,
      allowed, always}; `run_waits`: `questions`
    - `compacted`: `dropped`, the number of turns that were left out
    - `fact_wrong`: `model`, `fact`, `ours`, `theirs`, `said`: an answer contradicts a fact about its model
    - `run_ended`: `state`, and what `final_json` gives, or `error` and, where it is known, how far the run had come
    """
    return {"run": event.run, "seq": event.seq, "at": event.at, "type": _TYPES[type(event.body)], **_body(event.body)}


def final_json(result: AIResult) -> dict[str, Any]:
    """How a run ended: `value`, `outcome`, `detail`, `model`, `usage`, `cost`, and `tool_calls` as records.

    Whatever the value is, it has a JSON form here; what has none of its own is described. The conversation is not
    part of it: `Conversation.save` keeps that.
    """
    return {"value": plain(result.value), **record_json(result.run), "tool_calls": _records(result.tool_calls)}


def record_json(run: RunRecord) -> dict[str, Any]:
    """What is to be said of a run, whether or not it has a value."""
    return {
        "outcome": run.outcome,
        "detail": plain(run.detail),
        "model": plain(run.model),
        "usage": asdict(run.usage),
        "cost": plain(run.cost),
        "tool_calls": _records(run.tool_calls),
        **({"waiting": [_question(each) for each in run.waiting]} if run.waiting else {}),
    }


def json_text(data: object, indent: int | None = None, *, ascii: bool = False) -> str:
    """JSON that is safe to print: characters that nobody sees, or that terminals obey, are written as escapes.

    It is one line unless `indent` is given, also for readers that take U+2028 or U+0085 for the end of one. `ascii`
    escapes all that is not ASCII, for outputs that know nothing else.
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, ensure_ascii=ascii, indent=indent, separators=separators, allow_nan=False)
    return text if text.isascii() and "\x7f" not in text else _UNSEEN.sub(_escaped, text)


def event_line(event: Event, *, ascii: bool = False) -> str:
    """One event as a line of `stream-json`, without its end."""
    return json_text(event_json(event), ascii=ascii)


_TYPES: dict[type, str] = {
    RunStarted: "run_started",
    RequestStarted: "request_started",
    RequestEnded: "request_ended",
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    CallDelta: "call_delta",
    ProgressDelta: "progress",
    RetryDelta: "retry",
    CallStarted: "call_started",
    CallFinished: "call_finished",
    UsageChanged: "usage",
    Asked: "asked",
    Settled: "settled",
    RunWaits: "run_waits",
    Compacted: "compacted",
    PrefixChanged: "prefix_changed",
    Healed: "healed",
    FactWrong: "fact_wrong",
    ModelUnknown: "model_unknown",
    RunEnded: "run_ended",
}


def _body(body: Body) -> dict[str, Any]:
    match body:
        case TextDelta(text) | ReasoningDelta(text):
            return {"text": plain(text)}
        case CallDelta(index, name, arguments):
            return {"index": index, **({"name": plain(name)} if name else {}), "arguments": plain(arguments)}
        case ProgressDelta(read, total):
            return {"read": read, "total": total}
        case RunStarted(kind, title, model, parent):
            return {"kind": kind, "title": plain(title), "model": plain(model), "parent": parent}
        case RequestStarted(number, model):
            return {"number": number, "model": plain(model)}
        case RequestEnded(number, text, usage, cost, failed, sources):
            said = {"number": number, "text": plain(text), "usage": asdict(usage), "cost": plain(cost)}
            listed = {"sources": [{"url": plain(each.url), "title": plain(each.title)} for each in sources]}
            return {**said, **({"failed": plain(failed)} if failed else {}), **(listed if sources else {})}
        case CallStarted(call):
            return {"call": _call(call)}
        case CallFinished(call, result, record):
            return {"call": _call(call), "result": _result(result), "record": plain(record)}
        case UsageChanged(usage, cost):
            return {"usage": asdict(usage), "cost": plain(cost)}
        case Asked(question):
            return {"question": _question(question)}
        case Settled(question, said):
            return {"question": _question(question), "said": plain(said)}
        case RunWaits(questions):
            return {"questions": [_question(each) for each in questions]}
        case Compacted(dropped, _):
            return {"dropped": dropped}
        case PrefixChanged() | Healed() | FactWrong() | ModelUnknown() | RetryDelta():
            return plain(asdict(body))
        case RunEnded(state, result, error):
            return {"state": state, **(final_json(result) if result is not None else _error(error))}


def _error(error: BaseException | None) -> dict[str, Any]:
    run = getattr(error, "run", None)
    return {"error": plain(str(error)), **(record_json(run) if isinstance(run, RunRecord) else {})}


def _question(question: Question) -> dict[str, Any]:
    call = {"call": _call(question.call)} if question.call is not None else {}
    return {"id": question.id, "kind": question.kind, "text": plain(question.text), "who": plain(question.who), **call}


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


def _records(records: Iterable[ToolCallRecord]) -> list[dict[str, Any]]:
    return [plain(each) for each in records]


def _escaped(found: re.Match[str]) -> str:
    # The JSON escape of a character beyond the first 65,536 is a pair of surrogates.
    return json.dumps(found[0])[1:-1]
