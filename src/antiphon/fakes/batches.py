"""Fake batch APIs: requests are checked and answered as single ones are, when their batch ends."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.errors import MalformedJSONError, OptionError
from antiphon.fakes.files import Files
from antiphon.fakes.vendors import ErrorReply

#: What happens to a request of a batch other than that it is answered.
BatchFate = Literal["errored", "expired", "canceled", "missing"]
#: Answers a request of a batch with a status and a body.
Answerer = Callable[["FakeBatch", Any], Awaitable[tuple[int, Any]]]
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ENDPOINTS = {"/v1/responses": "openai-responses", "/v1/chat/completions": "openai-chat"}
_MAX_ANTHROPIC, _MAX_OPENAI, _MAX_GEMINI_BYTES = 100_000, 50_000, 20_000_000


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The course of the batches of a fake: after so many polls in progress they end.

    `fates` are what happens to requests in which a text occurs: "errored", "expired", "canceled", or "missing" in the
    results. `failure` fails whole batches, as OpenAI's and Gemini's may, and `refusal` refuses to create them.
    """

    polls: int = 1
    fates: Mapping[str, BatchFate] = field(default_factory=dict[str, BatchFate])
    failure: str = ""
    refusal: ErrorReply | None = None

    def __post_init__(self) -> None:
        for fate in self.fates.values():
            if fate not in get_args(BatchFate):
                raise OptionError(f"the fate of a request is one of {', '.join(get_args(BatchFate))}, not {fate!r}")

    def find_fate(self, body: object) -> BatchFate | None:
        """Return what happens to a request besides that it is answered."""
        text = dump_json(body)
        return next((fate for part, fate in self.fates.items() if part in text), None)


@dataclass(slots=True)
class FakeBatch:
    """A batch at the fake. `results` holds each custom id with its fate, or with status and body of its answer."""

    id: str
    api: str
    path: str
    items: list[tuple[str, Any]]
    owner: str
    model: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    polls: int
    created: float = field(default_factory=time.time)
    state: Literal["running", "cancelled", "ended", "failed"] = "running"
    failure: str = ""
    results: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    @property
    def is_over(self) -> bool:
        """True if nothing of it is processed any more."""
        return self.state != "running"


class BatchServer:
    """The batches and files of a fake, for all vendors."""

    def __init__(self, plan: BatchPlan, answer: Answerer, files: Files) -> None:
        self._plan, self._answer, self._files = plan, answer, files
        self._batches: dict[str, FakeBatch] = {}
        self._outputs: dict[str, bytes] = {}
        self._lock = asyncio.Lock()

    def find(self, id: str, owner: str) -> FakeBatch | None:
        """Return a batch of an API's owner."""
        batch = self._batches.get(id)
        return batch if batch is not None and batch.owner == owner else None

    def list_all(self, owner: str) -> list[FakeBatch]:
        """Return the batches of an API's owner, newest first."""
        return [batch for batch in reversed(self._batches.values()) if batch.owner == owner]

    def get_file(self, id: str) -> bytes | None:
        """Return the content of a file."""
        stored = self._files.get(id)
        return self._outputs.get(id) if stored is None else stored.content

    def create(self, owner: str, body: Any, *, model: str = "", headers: Mapping[str, str]) -> FakeBatch | ErrorReply:
        """Create a batch, or return the error that the real server has."""
        if self._plan.refusal is not None:
            return self._plan.refusal
        read = {"anthropic": _read_anthropic, "openai": self._read_openai, "google": _read_gemini}[owner]
        made = read(as_object(body), model)
        if isinstance(made, ErrorReply):
            return made
        api, path, items, failure = made
        prefix = {"anthropic": "msgbatch_", "openai": "batch_", "google": ""}[owner]
        id, polls = prefix + secrets.token_hex(12), self._plan.polls
        batch = FakeBatch(id, api, path, items, owner, model, headers, as_object(body), polls)
        batch.failure = failure or self._plan.failure
        self._batches[batch.id] = batch
        return batch

    async def poll(self, batch: FakeBatch) -> None:
        """Go on with a batch. It answers its requests when it ends."""
        async with self._lock:
            if batch.is_over:
                return
            if batch.polls > 0:
                batch.polls -= 1
                return
            if batch.failure:
                batch.state = "failed"
                return
            await self._process(batch)
            batch.state = "ended"

    async def cancel(self, batch: FakeBatch) -> None:
        """Cancel a batch: none of its requests is answered."""
        async with self._lock:
            if not batch.is_over:
                batch.results = [(custom_id, "canceled") for custom_id, _ in batch.items]
                batch.state = "cancelled"

    def make_result_file(self, batch: FakeBatch, *, is_error: bool) -> str | None:
        """Return the id of a file of OpenAI's with the results that are answers, or errors; None if there are none."""
        lines = [
            line
            for custom_id, result in batch.results
            if (line := _make_openai_line(custom_id, result)) and (line["error"] is not None) == is_error
        ]
        if not lines:
            return None
        name = f"file-{batch.id}-{'error' if is_error else 'output'}"
        self._outputs[name] = b"".join(dump_json(line).encode() + b"\n" for line in lines)
        return name

    async def _process(self, batch: FakeBatch) -> None:
        # The results are in another order than the requests.
        for custom_id, body in reversed(batch.items):
            fate = self._plan.find_fate(body)
            if fate is None:
                batch.results.append((custom_id, await self._answer(batch, body)))
            elif fate != "missing":
                batch.results.append((custom_id, fate))

    def _read_openai(self, body: dict[str, Any], model: str) -> Any:  # noqa: ARG002
        file, endpoint = self.get_file(as_string(body.get("input_file_id"))), body.get("endpoint")
        if unknown := body.keys() - {
            "input_file_id",
            "endpoint",
            "completion_window",
            "metadata",
            "output_expires_after",
        }:
            return ErrorReply(f"Unknown parameter: '{min(unknown)}'.", param=min(unknown), code="unknown_parameter")
        if file is None:
            return ErrorReply(f"No such File object: {body.get('input_file_id')}", param="input_file_id")
        if endpoint not in _ENDPOINTS:
            return ErrorReply(f"Invalid value: '{endpoint}'.", param="endpoint", code="invalid_value")
        if body.get("completion_window") != "24h":
            return ErrorReply("Invalid value: completion_window must be '24h'.", param="completion_window")
        tags = as_object(body.get("metadata"))
        if len(tags) > 16 or any(not isinstance(v, str) or len(k) > 64 or len(v) > 512 for k, v in tags.items()):
            return ErrorReply("Invalid 'metadata': too many pairs, or too long ones.", param="metadata")
        items, fault = _read_openai_lines(file, endpoint)
        return _ENDPOINTS[endpoint], endpoint, items, fault


def _read_anthropic(body: dict[str, Any], model: str) -> Any:  # noqa: ARG001
    requests = as_array(body.get("requests"))
    if unknown := body.keys() - {"requests"}:
        return ErrorReply(f"{min(unknown)}: Extra inputs are not permitted")
    if not 1 <= len(requests) <= _MAX_ANTHROPIC:
        return ErrorReply(f"requests: List should have 1 to {_MAX_ANTHROPIC} items, not {len(requests)}")
    items: list[tuple[str, Any]] = []
    for position, each in enumerate(map(as_object, requests)):
        where, custom_id = f"requests.{position}", each.get("custom_id")
        if unknown := each.keys() - {"custom_id", "params"}:
            return ErrorReply(f"{where}.{min(unknown)}: Extra inputs are not permitted")
        if not isinstance(custom_id, str) or not _CUSTOM_ID.fullmatch(custom_id):
            return ErrorReply(f"{where}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        if not isinstance(each.get("params"), dict):
            return ErrorReply(f"{where}.params: Field required")
        items.append((custom_id, each["params"]))
    if len(dict(items)) < len(items):
        return ErrorReply("requests: `custom_id` must be unique within a batch")
    return "anthropic", "/v1/messages", items, ""


def _read_openai_lines(file: bytes, endpoint: str) -> tuple[list[tuple[str, Any]], str]:
    """Return the requests of a file, and why the batch fails, which the real server says later too."""
    items: list[tuple[str, Any]] = []
    for number, line in enumerate(file.splitlines(), 1):
        try:
            each = as_object(load_json(line, "the line"))
        except MalformedJSONError:
            return [], f"Line {number} of the batch input file is not valid JSON."
        if each.get("method") != "POST" or each.get("url") != endpoint or not isinstance(each.get("body"), dict):
            return [], f"Line {number}: method, url and body must be those of the endpoint {endpoint}."
        if not as_string(each.get("custom_id")):
            return [], f"Line {number}: custom_id is missing."
        items.append((each["custom_id"], each["body"]))
    if len({as_string(body.get("model")) for _, body in items}) > 1:
        return [], "The batch input file has requests to several models; a batch has one."
    if len(dict(items)) < len(items):
        return [], "The custom_id of a request is not unique in the batch input file."
    if not 1 <= len(items) <= _MAX_OPENAI:
        return [], f"The batch input file has {len(items)} requests; a batch has 1 to {_MAX_OPENAI}."
    return items, ""


def _read_gemini(body: dict[str, Any], model: str) -> Any:
    batch = as_object(body.get("batch"))
    requests = as_array(as_object(as_object(batch.get("inputConfig")).get("requests")).get("requests"))
    if len(dump_json(body)) > _MAX_GEMINI_BYTES:
        return ErrorReply("Request payload size exceeds the limit: 20971520 bytes.")
    if not requests:
        return ErrorReply("* BatchGenerateContentRequest.batch.input_config: is not specified")
    items = [
        (as_string(as_object(as_object(each).get("metadata")).get("key")), as_object(as_object(each).get("request")))
        for each in requests
    ]
    return "gemini", f"/v1beta/models/{model}:generateContent", items, ""


# What the servers answer


def describe_batch(server: BatchServer, batch: FakeBatch) -> dict[str, Any]:
    """Return a batch in the form of its vendor."""
    describe = {"anthropic": _describe_anthropic, "google": _describe_gemini}.get(batch.owner)
    return _describe_openai(server, batch) if describe is None else describe(batch)


def list_result_lines(batch: FakeBatch) -> bytes:
    """Return the results of a batch of Anthropic's as JSON lines."""
    lines = [{"custom_id": custom_id, "result": _make_anthropic_result(each)} for custom_id, each in batch.results]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _make_anthropic_result(result: Any) -> dict[str, Any]:
    match result:
        case (200, body):
            return {"type": "succeeded", "message": body}
        case (_, error):
            return {"type": "errored", "error": error}
        case "errored":
            error = {"type": "api_error", "message": "Internal server error"}
            return {"type": "errored", "error": {"type": "error", "error": error}}
        case _:
            return {"type": result}


def _describe_anthropic(batch: FakeBatch) -> dict[str, Any]:
    fates = [_make_anthropic_result(each)["type"] for _, each in batch.results]
    names = ("succeeded", "errored", "canceled", "expired")
    counts: dict[str, int] = {name: fates.count(name) if batch.is_over else 0 for name in names}
    counts["processing"] = 0 if batch.is_over else len(batch.items)
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if batch.is_over else "in_progress",
        "request_counts": counts,
        "created_at": _format_time(batch.created),
        "expires_at": _format_time(batch.created + 86_400),
        "ended_at": _format_time(time.time()) if batch.is_over else None,
        "archived_at": None,
        "cancel_initiated_at": _format_time(time.time()) if batch.state == "cancelled" else None,
        "results_url": f"https://api.anthropic.com/v1/messages/batches/{batch.id}/results" if batch.is_over else None,
    }


def _make_openai_line(custom_id: str, result: Any) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"batch_req_{secrets.token_hex(8)}", "custom_id": custom_id}
    match result:
        case (status, body):
            response = {"status_code": status, "request_id": secrets.token_hex(8), "body": body}
            return {**line, "response": response, "error": None}
        case "expired":
            error = {"code": "batch_expired", "message": "This request could not be executed before the time ran out."}
        case "canceled":
            error = {"code": "batch_cancelled", "message": "This request was cancelled with its batch."}
        case _:
            error = {"code": "server_error", "message": "The server had an error."}
    return {**line, "response": None, "error": error}


def _describe_openai(server: BatchServer, batch: FakeBatch) -> dict[str, Any]:
    body, is_open = batch.body, not batch.is_over
    words = {"running": "in_progress", "ended": "completed", "failed": "failed", "cancelled": "cancelled"}
    status = words[batch.state]
    has_expired = any(result == "expired" for _, result in batch.results)
    failed = sum(not isinstance(result, tuple) for _, result in batch.results)
    counts = {"total": len(batch.items), "completed": len(batch.results) - failed, "failed": failed}
    errors = [{"code": "invalid_batch", "message": batch.failure, "param": None, "line": None}]
    now = int(time.time())
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": body.get("endpoint"),
        "errors": {"object": "list", "data": errors} if batch.state == "failed" else None,
        "input_file_id": body.get("input_file_id"),
        "completion_window": "24h",
        "status": "expired" if has_expired and status == "completed" else status,
        "output_file_id": None if is_open else server.make_result_file(batch, is_error=False),
        "error_file_id": None if is_open else server.make_result_file(batch, is_error=True),
        "created_at": int(batch.created),
        "in_progress_at": int(batch.created),
        "expires_at": int(batch.created) + 86_400,
        "completed_at": now if status == "completed" else None,
        "failed_at": now if status == "failed" else None,
        "cancelled_at": now if status == "cancelled" else None,
        "request_counts": counts,
        "metadata": body.get("metadata"),
    }


def _describe_gemini(batch: FakeBatch) -> dict[str, Any]:
    given = as_object(batch.body.get("batch"))
    words = {"running": "RUNNING", "ended": "SUCCEEDED", "failed": "FAILED", "cancelled": "CANCELLED"}
    name, kind = f"batches/{batch.id}", "type.googleapis.com/google.ai.generativelanguage.v1main."
    pending = 0 if batch.is_over else len(batch.items)
    stats = {"requestCount": str(len(batch.items)), "pendingRequestCount": str(pending)}
    about: dict[str, Any] = {
        "@type": f"{kind}GenerateContentBatch",
        "model": f"models/{batch.model}",
        "displayName": given.get("displayName", ""),
        "createTime": _format_time(batch.created),
        "batchStats": stats,
        "state": f"BATCH_STATE_{words[batch.state]}",
        "name": name,
    }
    operation: dict[str, Any] = {"name": name, "metadata": about}
    if batch.state == "ended":
        held = {"inlinedResponses": {"inlinedResponses": [_make_gemini_response(*each) for each in batch.results]}}
        about["output"] = held
        operation |= {"done": True, "response": {"@type": f"{kind}GenerateContentBatchOutput", **held}}
    if batch.state == "failed":
        operation |= {"done": True, "error": {"code": 13, "message": batch.failure}}
    return operation


def _make_gemini_response(custom_id: str, result: Any) -> dict[str, Any]:
    about = {"metadata": {"key": custom_id}}
    match result:
        case (200, body):
            return {**about, "response": body}
        case (_, body):
            error = as_object(as_object(body).get("error"))
            return {**about, "error": {"code": 3, "message": as_string(error.get("message"))}}
        case _:
            codes = {"canceled": 1, "expired": 4}
            return {**about, "error": {"code": codes.get(result, 13), "message": f"The request was {result}."}}


def list_batches(server: BatchServer, owner: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of the list of batches in the form of a vendor."""
    batches: Sequence[FakeBatch] = server.list_all(owner)
    after = given.get("after_id") or given.get("after") or given.get("pageToken")
    if after:
        position = [batch.id for batch in batches].index(after) + 1
        batches = batches[position:]
    count = int(given.get("limit") or given.get("pageSize") or 20)
    page, has_more = batches[:count], len(batches) > count
    shown = [describe_batch(server, batch) for batch in page]
    first, last = (page[0].id, page[-1].id) if page else (None, None)
    if owner == "google":
        return {"operations": shown, **({"nextPageToken": last} if has_more else {})}
    listed = {"object": "list"} if owner == "openai" else {}
    return {**listed, "data": shown, "has_more": has_more, "first_id": first, "last_id": last}


def _format_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
