"""The events of a run as JSON objects, one per line (`stream-json`), and its result as one object
(`--json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, get_args

from antiphon.conversation import (
    Audio,
    Document,
    File,
    Image,
    OpaquePart,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    Video,
)
from antiphon.conversation.serialization import parts_to_json
from antiphon.effects import HumanAnswer
from antiphon.results import to_plain_json
from antiphon.session import (
    AIResult,
    AnswerDelta,
    CallFinished,
    CallProgressed,
    CallStarted,
    Compacted,
    Event,
    FellBack,
    FilesOmitted,
    ModelUnknown,
    PrefixChanged,
    Question,
    QuestionAnswered,
    QuestionAsked,
    RequestDelayed,
    RequestEnded,
    RequestStarted,
    RunEnded,
    RunRecord,
    RunStarted,
    RunWaits,
    UsageChanged,
)
from antiphon.session.events import EventBody
from antiphon.tools import ToolCallRecord
from antiphon.wire import CallDelta, FactWrong, Healed, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta

# Control characters, line separators of other readers, and invisible characters.
_UNSAFE_CHARACTERS = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def event_json(event: Event) -> dict[str, Any]:
    """Return one event as JSON data: `run`, `seq`, `at` (seconds since 1970), `type`, and its further fields.

    - `run_started`: `kind`, `title`, `model`, `parent` (the id of the run around it, or null)
    - `request_started`: `number`, `model`; `request_ended`: `number`, `text`, `usage`, `cost`, `failed`?,
      `sources`? as a list of {url, title}
    - `text`, `reasoning`: the next piece, `text`
    - `call_delta`: a piece of a call being written, `index`, `name` (only in the first piece), `arguments`
    - `call_started`: `call` {id, name, arguments, problem?}
    - `call_progressed`: `call`, `done`, `total` (or null), `message`
    - `call_finished`: `call`; `result` {content, is_error, handle?, semantic?}; `record` {tool, args,
      result, error, duration in milliseconds}. `content` is text, or a list of parts {type: text, image or
      foreign}; `semantic` is a result in the schema `antiphon.results.SCHEMA`
    - `usage`: `usage` up to now, and `cost` in dollars; unknown numbers are null
    - `asked`: `question` {id, kind (approval, question or result), text, who, call?}; `settled`: `question`, `said`
      {text, allowed, always}; `run_waits`: `questions`
    - `compacted`: `dropped`, the number of turns that were left out
    - `fact_wrong`: `model`, `fact`, `ours`, `theirs`, `said`: an answer contradicts a fact about its model
    - `request_delayed`: `number`, `seconds`, `reason`: the request waits, for example for a rate limit
    - `fell_back`: `number`, `model`, `reason`, `next`, `text`: the request failed, and the model `next` is asked;
      what was said is no part of the answer
    - `run_ended`: `state`, with the fields of `final_json`, or `error` and, if known, the record of the run
    """
    return {
        "run": event.run,
        "seq": event.seq,
        "at": event.at,
        "type": _EVENT_TYPES[type(event.body)],
        **_encode_body(event.body),
    }


def final_json(result: AIResult) -> dict[str, Any]:
    """Return the result of a run: `value`, `outcome`, `detail`, `model`, `usage`, `cost`, and `tool_calls`.

    Every value has a JSON form here; a value without one of its own is described. The conversation is not
    included: `Conversation.save` stores it.
    """
    return {
        "value": to_plain_json(result.value),
        **record_json(result.run),
        "tool_calls": _encode_records(result.tool_calls),
    }


def record_json(run: RunRecord) -> dict[str, Any]:
    """Return the record of a run, with or without a value."""
    return {
        "outcome": run.outcome,
        "detail": to_plain_json(run.detail),
        "model": to_plain_json(run.model),
        "usage": asdict(run.usage),
        "cost": to_plain_json(run.cost),
        "tool_calls": _encode_records(run.tool_calls),
        **({"waiting": [_encode_question(each) for each in run.waiting]} if run.waiting else {}),
    }


def format_safe_json(data: object, indent: int | None = None, *, ascii: bool = False) -> str:
    """Return JSON that is safe to print: invisible and control characters are escaped.

    It is one line unless `indent` is given, even for readers that treat U+2028 or U+0085 as a line end.
    `ascii` escapes everything that is not ASCII.
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, ensure_ascii=ascii, indent=indent, separators=separators, allow_nan=False)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE_CHARACTERS.sub(_escape_match, text)


def event_line(event: Event, *, ascii: bool = False) -> str:
    """Return one event as a line of `stream-json`, without its line end."""
    return format_safe_json(event_json(event), ascii=ascii)


_EVENT_TYPES: dict[type, str] = {
    RunStarted: "run_started",
    RequestStarted: "request_started",
    RequestDelayed: "request_delayed",
    RequestEnded: "request_ended",
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    CallDelta: "call_delta",
    AnswerDelta: "answer_delta",
    ProgressDelta: "progress",
    RetryDelta: "retry",
    CallStarted: "call_started",
    CallProgressed: "call_progressed",
    CallFinished: "call_finished",
    UsageChanged: "usage",
    QuestionAsked: "asked",
    QuestionAnswered: "settled",
    RunWaits: "run_waits",
    Compacted: "compacted",
    PrefixChanged: "prefix_changed",
    Healed: "healed",
    FactWrong: "fact_wrong",
    ModelUnknown: "model_unknown",
    FellBack: "fell_back",
    FilesOmitted: "files_omitted",
    RunEnded: "run_ended",
}
if missing := {*get_args(EventBody)} ^ _EVENT_TYPES.keys():
    raise TypeError(f"no event, or no type in JSON, for {', '.join(sorted(each.__name__ for each in missing))}")


def _encode_body(body: EventBody) -> dict[str, Any]:
    match body:
        case TextDelta(text) | ReasoningDelta(text) | AnswerDelta(text):
            return {"text": to_plain_json(text)}
        case CallDelta(index, name, arguments):
            return {
                "index": index,
                **({"name": to_plain_json(name)} if name else {}),
                "arguments": to_plain_json(arguments),
            }
        case ProgressDelta(read, total):
            return {"read": read, "total": total}
        case RunStarted(kind, title, model, parent):
            return {"kind": kind, "title": to_plain_json(title), "model": to_plain_json(model), "parent": parent}
        case RequestStarted(number, model):
            return {"number": number, "model": to_plain_json(model)}
        case RequestEnded(number, text, usage, cost, failed, sources):
            said = {"number": number, "text": to_plain_json(text), "usage": asdict(usage), "cost": to_plain_json(cost)}
            listed = {
                "sources": [{"url": to_plain_json(each.url), "title": to_plain_json(each.title)} for each in sources]
            }
            return {**said, **({"failed": to_plain_json(failed)} if failed else {}), **(listed if sources else {})}
        case CallStarted(call):
            return {"call": _encode_call(call)}
        case CallProgressed(call, done, total, message):
            return {"call": _encode_call(call), "done": done, "total": total, "message": to_plain_json(message)}
        case CallFinished(call, result, record):
            return {"call": _encode_call(call), "result": _encode_result(result), "record": to_plain_json(record)}
        case UsageChanged(usage, cost):
            return {"usage": asdict(usage), "cost": to_plain_json(cost)}
        case QuestionAsked(question):
            return {"question": _encode_question(question)}
        case QuestionAnswered(question, said):
            return {"question": _encode_question(question), "said": _encode_answer(said)}
        case RunWaits(questions):
            return {"questions": [_encode_question(each) for each in questions]}
        case Compacted(dropped, _):
            return {"dropped": dropped}
        case (
            PrefixChanged()
            | Healed()
            | FactWrong()
            | ModelUnknown()
            | FellBack()
            | FilesOmitted()
            | RequestDelayed()
            | RetryDelta()
        ):
            return to_plain_json(asdict(body))
        case RunEnded(state, result, error):
            return {"state": state, **(final_json(result) if result is not None else _encode_error(error))}


def _encode_error(error: BaseException | None) -> dict[str, Any]:
    run = getattr(error, "run", None)
    return {"error": to_plain_json(str(error)), **(record_json(run) if isinstance(run, RunRecord) else {})}


def _encode_question(question: Question) -> dict[str, Any]:
    call = {"call": _encode_call(question.call)} if question.call is not None else {}
    return {
        "id": question.id,
        "kind": question.kind,
        "text": to_plain_json(question.text),
        "who": to_plain_json(question.who),
        **call,
    }


def _encode_answer(said: HumanAnswer) -> dict[str, Any]:
    result = {} if said.result is None else {"result": _encode_result(said.result)}
    return {"text": to_plain_json(said.text), "allowed": said.allowed, "always": said.always, **result}


def _encode_call(call: ToolCall) -> dict[str, Any]:
    problem = {"problem": to_plain_json(call.problem)} if call.problem is not None else {}
    return {"id": call.id, "name": call.name, "arguments": to_plain_json(call.arguments), **problem}


def _encode_result(result: ToolResult) -> dict[str, Any]:
    content = result.content if isinstance(result.content, str) else [_encode_part(part) for part in result.content]
    return {
        "content": content,
        "is_error": result.is_error,
        **({"handle": to_plain_json(result.handle)} if result.handle else {}),
        **({"semantic": result.semantic.to_json()} if result.semantic else {}),
    }


def _encode_part(part: ResultPart) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(data, media_type, url):
            source = {"url": to_plain_json(url)} if url else {"data": data, "media_type": to_plain_json(media_type)}
            return {"type": "image", **source}
        case Document() | Audio() | Video() | File():
            (data,) = parts_to_json([part])
            return {name: to_plain_json(value) for name, value in data.items() if name != "native"}
        case OpaquePart(native, text):
            return {"type": "foreign", "text": text, "data": to_plain_json(native.data)}


def _encode_records(records: Iterable[ToolCallRecord]) -> list[dict[str, Any]]:
    return [to_plain_json(each) for each in records]


def _escape_match(found: re.Match[str]) -> str:
    # The JSON escape of a character beyond the first 65,536 is a pair of surrogates.
    return json.dumps(found[0])[1:-1]
