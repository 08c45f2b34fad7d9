"""Batches of requests in the forms of Anthropic, OpenAI and Gemini: what is sent, and what comes back.

Sources: the types of anthropic 2.9, openai 3.49 and google-genai 3.1, and the vendors' guides, read on 2026-11-20.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string

BatchOutcome = Literal["succeeded", "errored", "expired", "cancelled"]
#: The boundary of an uploaded form; requests are JSON lines, in which no line begins with a hyphen.
_BOUNDARY = "antiphon-batch-of-requests"


class BatchItem(NamedTuple):
    """A request of a batch: the id that its result will have, and its body."""

    custom_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a request of a batch: the body of its answer, or why there is none."""

    custom_id: str
    outcome: BatchOutcome
    body: Any = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch at its provider.

    `done` of `total` requests are finished, as far as the provider says. `failure` is why no request was processed.
    The results are in the files at the paths `files`, or `inline`; `rest` is what happened to requests without one.
    `key` is the name that the sender gave the batch,
    where the API keeps one, and `created` the time in seconds.
    """

    id: str
    is_ended: bool
    done: int | None = None
    total: int | None = None
    failure: str = ""
    files: tuple[str, ...] = ()
    inline: tuple[BatchResult, ...] = ()
    rest: BatchOutcome | None = None
    key: str = ""
    created: float | None = None


class BatchPost(NamedTuple):
    """A request to a batch API: its path, its body and its own headers."""

    path: str
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})


class BatchList(NamedTuple):
    """A page of the list of batches, newest first, and the path of the next page; empty at the end."""

    states: tuple[BatchState, ...]
    next_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchForm:
    """The form of the batch API of one API.

    `keeps_key` tells whether a batch has a name by which it is found again. Requests are uploaded first if there is
    an `upload`, which returns the id of a file. `create` takes the path of an ordinary request, the key and that id or
    the items.
    """

    list_path: str
    keeps_key: bool
    #: Separates the id of a batch from the word for its cancellation.
    cancel_suffix: str
    #: The number of bytes that a request takes besides its body.
    item_overhead: int
    upload: Callable[[str, Iterable[BatchItem]], BatchPost] | None = None
    create: Callable[[str, str, str, Iterable[BatchItem]], BatchPost]
    read_state: Callable[[dict[str, Any]], BatchState]
    read_list: Callable[[dict[str, Any]], BatchList]
    read_result: Callable[[dict[str, Any]], BatchResult]

    def get_path(self, id: str) -> str:
        """Return the path of a batch."""
        return f"{self.list_path.partition('?')[0]}/{quote(id, safe='')}"


#: What happened to requests without a result, by the state of their batch.
_RESTS: dict[str, BatchOutcome] = {"expired": "expired", "cancelled": "cancelled"}

# Anthropic

_ANTHROPIC_PATH = "/v1/messages/batches"
_ANTHROPIC_OUTCOMES = {"succeeded": "succeeded", "expired": "expired", "canceled": "cancelled"}


def _create_anthropic(path: str, key: str, file: str, items: Iterable[BatchItem]) -> BatchPost:  # noqa: ARG001
    requests = (b'{"custom_id":"%s","params":%s}' % (each.custom_id.encode(), each.body) for each in items)
    return BatchPost(_ANTHROPIC_PATH, b'{"requests":[' + b",".join(requests) + b"]}")


def _read_anthropic_state(data: dict[str, Any]) -> BatchState:
    counts = {name: as_integer(each) or 0 for name, each in as_object(data.get("request_counts")).items()}
    id, total = as_string(data.get("id")), sum(counts.values())
    is_ended = data.get("processing_status") == "ended"
    # The address of the results in the answer might be any; a key goes only where requests go.
    files = (f"{_ANTHROPIC_PATH}/{quote(id, safe='')}/results",) if is_ended else ()
    created = _parse_time(data.get("created_at"))
    return BatchState(id, is_ended, total - counts.get("processing", 0), total, files=files, created=created)


def _read_anthropic_list(data: dict[str, Any]) -> BatchList:
    states = tuple(_read_anthropic_state(as_object(each)) for each in as_array(data.get("data")))
    last = as_string(data.get("last_id"))
    more = f"{_ANTHROPIC_PATH}?limit=100&after_id={quote(last, safe='')}" if data.get("has_more") and last else ""
    return BatchList(states, more)


def _read_anthropic_result(data: dict[str, Any]) -> BatchResult:
    result, id = as_object(data.get("result")), as_string(data.get("custom_id"))
    outcome: Any = _ANTHROPIC_OUTCOMES.get(as_string(result.get("type")), "errored")
    error = as_object(as_object(result.get("error")).get("error")) or as_object(result.get("error"))
    return BatchResult(id, outcome, result.get("message"), as_string(error.get("message")))


# OpenAI

_OPENAI_PATH = "/batches"
_OPENAI_ENDED = ("completed", "expired", "cancelled", "failed")
#: Why a request of a batch has no answer, by the code of its error.
_OPENAI_OUTCOMES = {"batch_expired": "expired", "batch_cancelled": "cancelled"}


def _upload_openai(path: str, items: Iterable[BatchItem]) -> BatchPost:
    prefix = b'","method":"POST","url":"/v1%s","body":' % path.encode()
    lines = b"".join(b'{"custom_id":"%s%s%s}\n' % (each.custom_id.encode(), prefix, each.body) for each in items)
    head = (
        f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{_BOUNDARY}\r\n'
        'content-disposition: form-data; name="file"; filename="batch.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n'
    )
    body = b"%s%s\r\n--%s--\r\n" % (head.encode(), lines, _BOUNDARY.encode())
    return BatchPost("/files", body, {"content-type": f"multipart/form-data; boundary={_BOUNDARY}"})


def _create_openai(path: str, key: str, file: str, items: Iterable[BatchItem]) -> BatchPost:  # noqa: ARG001
    body = {
        "input_file_id": file,
        "endpoint": f"/v1{path}",
        "completion_window": "24h",
        "metadata": {"antiphon": key},
    }
    return BatchPost(_OPENAI_PATH, dump_json(body).encode())


def _read_openai_state(data: dict[str, Any]) -> BatchState:
    counts, status = as_object(data.get("request_counts")), data.get("status")
    names = [as_string(data.get(name)) for name in ("output_file_id", "error_file_id")]
    files = tuple(f"/files/{quote(name, safe='')}/content" for name in names if name)
    done, failed = as_integer(counts.get("completed")), as_integer(counts.get("failed"))
    errors = [as_object(each) for each in as_array(as_object(data.get("errors")).get("data"))]
    said = "; ".join(as_string(each.get("message")) for each in errors[:3]) or "no reason was given"
    created = as_integer(data.get("created_at"))
    return BatchState(
        as_string(data.get("id")),
        status in _OPENAI_ENDED,
        None if done is None else done + (failed or 0),
        as_integer(counts.get("total")),
        failure=said if status == "failed" else "",
        files=files if status in _OPENAI_ENDED else (),
        rest=_RESTS.get(as_string(status)),
        key=as_string(as_object(data.get("metadata")).get("antiphon")),
        created=None if created is None else float(created),
    )


def _read_openai_list(data: dict[str, Any]) -> BatchList:
    states = tuple(_read_openai_state(as_object(each)) for each in as_array(data.get("data")))
    last = as_string(data.get("last_id")) or (states[-1].id if states else "")
    more = f"{_OPENAI_PATH}?limit=100&after={quote(last, safe='')}" if data.get("has_more") and last else ""
    return BatchList(states, more)


def _read_openai_result(data: dict[str, Any]) -> BatchResult:
    response, error = as_object(data.get("response")), as_object(data.get("error"))
    id, body = as_string(data.get("custom_id")), response.get("body")
    if not error and response.get("status_code") == 200:
        return BatchResult(id, "succeeded", body)
    outcome: Any = _OPENAI_OUTCOMES.get(as_string(error.get("code")), "errored")
    message = as_string(error.get("message")) or as_string(as_object(as_object(body).get("error")).get("message"))
    return BatchResult(id, outcome, None, message)


# Gemini

_GEMINI_PATH = "/v1beta/batches"
_GEMINI_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


def _create_gemini(path: str, key: str, file: str, items: Iterable[BatchItem]) -> BatchPost:  # noqa: ARG001
    requests = (b'{"request":%s,"metadata":{"key":"%s"}}' % (each.body, each.custom_id.encode()) for each in items)
    inside = b'"inputConfig":{"requests":{"requests":[' + b",".join(requests) + b"]}}"
    body = b'{"batch":{"displayName":%s,%s}}' % (dump_json(key).encode(), inside)
    return BatchPost(path.replace(":generateContent", ":batchGenerateContent"), body)


def _read_gemini_state(data: dict[str, Any]) -> BatchState:
    about = as_object(data.get("metadata"))
    state = as_string(about.get("state")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
    counts = {name: _parse_count(each) for name, each in as_object(about.get("batchStats")).items()}
    total, pending = counts.get("requestCount"), counts.get("pendingRequestCount")
    output = as_object(data.get("response")) or as_object(about.get("output"))
    held = as_object(output.get("inlinedResponses")) or as_object(
        as_object(output.get("output")).get("inlinedResponses")
    )
    inline = tuple(_read_gemini_result(as_object(each)) for each in as_array(held.get("inlinedResponses")))
    said = as_string(as_object(data.get("error")).get("message")) or "no reason was given"
    return BatchState(
        (as_string(data.get("name")) or as_string(about.get("name"))).removeprefix("batches/"),
        state in _GEMINI_ENDED,
        None if total is None or pending is None else total - pending,
        total,
        failure=said if state == "FAILED" else "",
        inline=inline,
        rest=_RESTS.get(state.lower()),
        key=as_string(about.get("displayName")),
        created=_parse_time(about.get("createTime")),
    )


def _read_gemini_list(data: dict[str, Any]) -> BatchList:
    states = tuple(_read_gemini_state(as_object(each)) for each in as_array(data.get("operations")))
    token = as_string(data.get("nextPageToken"))
    return BatchList(states, f"{_GEMINI_PATH}?pageSize=100&pageToken={quote(token, safe='')}" if token else "")


def _read_gemini_result(data: dict[str, Any]) -> BatchResult:
    id, error = as_string(as_object(data.get("metadata")).get("key")), as_object(data.get("error"))
    if not error and data.get("response") is not None:
        return BatchResult(id, "succeeded", data["response"])
    code = as_integer(error.get("code"))
    # The codes of google.rpc: 1 is cancelled, 4 is past the deadline.
    outcome: Any = {1: "cancelled", 4: "expired"}.get(-1 if code is None else code, "errored")
    return BatchResult(id, outcome, None, as_string(error.get("message")))


def _parse_count(value: object) -> int | None:
    """Return a count; Google writes 64-bit numbers as texts."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value) else as_integer(value)


def _parse_time(value: object) -> float | None:
    from datetime import datetime

    try:
        return datetime.fromisoformat(as_string(value)).timestamp()
    except (ValueError, OverflowError):
        return None


ANTHROPIC_BATCHES = BatchForm(
    list_path=f"{_ANTHROPIC_PATH}?limit=100",
    keeps_key=False,
    cancel_suffix="/cancel",
    item_overhead=100,
    create=_create_anthropic,
    read_state=_read_anthropic_state,
    read_list=_read_anthropic_list,
    read_result=_read_anthropic_result,
)
OPENAI_BATCHES = BatchForm(
    list_path=f"{_OPENAI_PATH}?limit=100",
    keeps_key=True,
    cancel_suffix="/cancel",
    item_overhead=160,
    upload=_upload_openai,
    create=_create_openai,
    read_state=_read_openai_state,
    read_list=_read_openai_list,
    read_result=_read_openai_result,
)
GEMINI_BATCHES = BatchForm(
    list_path=f"{_GEMINI_PATH}?pageSize=100",
    keeps_key=True,
    cancel_suffix=":cancel",
    item_overhead=120,
    create=_create_gemini,
    read_state=_read_gemini_state,
    read_list=_read_gemini_list,
    read_result=_read_gemini_result,
)
