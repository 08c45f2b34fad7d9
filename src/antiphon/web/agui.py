"""The AG-UI 1.0 endpoint `POST /agui`: other pages and servers run a model here and receive its events.

A thread is a chat, and each run of it a message, whose key is the id of the run. A question to a person ends the
client's run with an interrupt, while the chat waits. Whoever answers first, the client, the page
or a terminal, lets it resume.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TokenUsage,
)
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from antiphon.errors import AntiphonError, NotReadyError, OptionError
from antiphon.web.agui_history import HistoryMismatch, conversation_to_agui
from antiphon.web.agui_input import ANSWER_SCHEMA, APPROVAL_SCHEMA, parse_run_input, parse_wishes, resume_answer_json
from antiphon.web.agui_runs import ThreadRun, change_thread, connected, find_message, load_thread
from antiphon.web.json_response import dump_redacted_json, read_json_object
from antiphon.web.questions import settle_as
from antiphon.web.steps import get_pending_call, load_effect_entry
from antiphon.web.stored import row_at

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.durable import Journal, QuestionEntry
    from antiphon.session import ModelProtocol
    from antiphon.tools import Tool

#: The largest request body, in bytes; it may contain images.
_MAX_REQUEST_BYTES = 30_000_000
#: Seconds of silence after which a keep-alive comment is sent.
_KEEPALIVE_SECONDS = 15.0
#: A thread id that can be used as the name of a saved conversation, distinct from generated names.
_STORED_THREAD_NAME = re.compile(r"[0-9a-z][0-9a-z-]{8,63}")


class AguiEndpoint:
    """The AG-UI endpoint and its active threads. `model` and `tools` are used to answer."""

    def __init__(
        self, journal: Journal, model: str | ModelProtocol | None, tools: str | Iterable[Callable[..., Any] | Tool]
    ) -> None:
        self._journal = journal
        self._model = model
        self._tools = tools
        self._lock = threading.Lock()
        #: Threads with an active run; a second request for one of them is rejected.
        self._active_threads: set[str] = set()

    async def answer(self, request: Request) -> Response:
        """Start or resume a run; an invalid request is rejected before anything starts."""
        given = parse_run_input(await read_json_object(request, _MAX_REQUEST_BYTES))
        name = _conversation_name(given.thread_id)
        self._claim(name)
        try:
            stream = self._stream(name, given, await run_in_threadpool(self._start_or_resume, name, given))
        except HistoryMismatch as error:
            self._free(name)
            stream = _iter_lines(await run_in_threadpool(self._make_snapshot_events, name, given, str(error)))
        except BaseException:
            self._free(name)
            raise
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    def _claim(self, name: str) -> None:
        with self._lock:
            if name in self._active_threads:
                raise NotReadyError("this thread has an active run; wait until it ends, or cancel it")
            self._active_threads.add(name)

    def _free(self, name: str) -> None:
        with self._lock:
            self._active_threads.discard(name)

    # Starting

    def _start_or_resume(self, name: str, given: RunAgentInput) -> ThreadRun | list[BaseEvent]:
        """Start or resume a run; return the events to send instead if there is nothing to do."""
        with self._lock:
            # Connect once, when first needed: the key may not be available earlier.
            model = self._model = connected(self._model)
        agent = model, self._tools
        if given.resume:
            events = self._apply_answers(name, given, given.resume)
            return ThreadRun.resume(self._journal, agent, name, given, events)
        state = self._journal.find(name).state if self._journal.has_run(name) else ""
        if state not in ("waiting", "ready"):
            known = find_message(self._journal, name, given.run_id)
            if known is not None:
                # The request was sent before.
                return self._make_answered(name, given)
            if (wishes := parse_wishes(given)).action in ("undo", "compact"):
                change_thread(self._journal, agent, name, given, wishes)
                return self._make_answered(name, given)
            return ThreadRun.begin(self._journal, agent, name, given)
        if self._journal.list_questions(name, 1):
            # The pending questions still need answers of a person.
            return [_start_event(given), _finish_event(given, self._make_interrupt_outcome(name))]
        if given.messages and given.messages[-1].role == "user":
            raise NotReadyError(
                "this thread has its answers and must continue first; send the request without a new message"
            )
        return ThreadRun.resume(self._journal, agent, name, given, [])

    def _make_answered(self, name: str, given: RunAgentInput) -> list[BaseEvent]:
        ours = load_thread(self._journal, name)
        messages = [] if ours is None else conversation_to_agui(ours, name)
        outcome = RunFinishedSuccessOutcome()
        return [_start_event(given), MessagesSnapshotEvent(messages=messages), _finish_event(given, outcome)]

    def _apply_answers(self, name: str, given: RunAgentInput, resume: list[ResumeEntry]) -> list[BaseEvent]:
        """Apply the answers of a resume request; return events about earlier answers."""
        entries = {_parse_interrupt_id(each): each for each in resume}
        runs = {run for run, _, _ in entries}
        if len(runs) != 1 or not self._journal.has_run(id := runs.pop()):
            raise OptionError("`resume` must name interrupts of one thread, with the ids from its RUN_FINISHED event")
        if id != name:
            raise OptionError(f"an interrupt of {id!r} does not belong to thread {given.thread_id!r}")
        rows = {path: row_at(self._journal, id, path) for _, _, path in entries}
        if unanswered := [each.text for each in self._journal.list_questions(id) if each.path not in rows]:
            raise OptionError(f"`resume` must answer or cancel every interrupt of the thread; missing: {unanswered[0]}")
        answers: list[tuple[str, dict[str, Any]]] = []
        for (_, hash, path), entry in entries.items():
            about = str(load_effect_entry(self._journal, rows[path]).asked.get("about"))
            answers.append((entry.interrupt_id, {"path": path, "hash": hash, **resume_answer_json(about, entry)}))
        events: list[BaseEvent] = []
        for interrupt, answer in answers:
            try:
                settle_as(self._journal, id, answer)
            except NotReadyError as error:
                if self._journal.find(id).state not in ("waiting", "ready"):
                    raise NotReadyError(f"{error}; thread {id!r} continued without you") from None
                value = {"interruptId": interrupt, "why": str(error)}
                events.append(CustomEvent(name="antiphon.answered", value=value))
        return events

    # Streaming

    async def _stream(self, name: str, given: RunAgentInput, work: ThreadRun | list[BaseEvent]) -> AsyncGenerator[str]:
        if isinstance(work, list):
            self._free(name)
            async for line in _iter_lines(work):
                yield line
            return
        is_over = False
        try:
            for each in (_start_event(given), *work.told):
                yield _format_sse(each)
            async for each in work.happening(_KEEPALIVE_SECONDS):
                yield _format_sse(each) if each else ": still here\n\n"
            last = await run_in_threadpool(self._end, name, given, work)
            is_over = True
            self._free(name)
            yield _format_sse(last)
        finally:
            if not is_over:
                # The client disconnected. This generator is being closed and cannot wait, so a thread stops the run.
                threading.Thread(target=self._stop, args=(name, work), daemon=True).start()

    def _end(self, name: str, given: RunAgentInput, work: ThreadRun) -> BaseEvent:
        """Return the final event of a run, after everything is saved."""
        error, usage = work.end(), work.encoder.usage
        if error is not None:
            return RunErrorEvent(message=str(error) or type(error).__name__, usage=usage)
        match work.state:
            case "waiting":
                outcome = self._make_interrupt_outcome(name)
            case "cancelled":
                outcome = RunFinishedCancelledOutcome()
            case _:
                outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=work.pending or None)
        return _finish_event(given, outcome, usage)

    def _stop(self, name: str, work: ThreadRun) -> None:
        with suppress(AntiphonError):
            work.stop()
        self._free(name)

    def _make_snapshot_events(self, name: str, given: RunAgentInput, why: str) -> list[BaseEvent]:
        ours = load_thread(self._journal, name)
        messages = [] if ours is None else conversation_to_agui(ours, name)
        return [
            _start_event(given), MessagesSnapshotEvent(messages=messages), RunErrorEvent(message=why, code="differs")
        ]  # fmt: skip

    def _make_interrupt_outcome(self, run: str) -> RunFinishedInterruptOutcome:
        interrupts = [_make_interrupt(self._journal, run, each) for each in self._journal.list_questions(run)]
        return RunFinishedInterruptOutcome(interrupts=interrupts)


def _conversation_name(thread: str) -> str:
    """Return the name under which a thread is saved: its id, if that is a valid name."""
    if _STORED_THREAD_NAME.fullmatch(thread):
        return thread
    return f"thread-{hashlib.sha256(thread.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _parse_interrupt_id(entry: ResumeEntry) -> tuple[str, str, str]:
    """Return the run, fingerprint and path encoded in an interrupt id."""
    run, _, rest = entry.interrupt_id.partition("/")
    hash, _, path = rest.partition("/")
    return unquote(run), hash, path


def _make_interrupt(journal: Journal, run: str, question: QuestionEntry) -> Interrupt:
    row = row_at(journal, run, question.path)
    asked = load_effect_entry(journal, row).asked
    is_approval = question.about == "approval"
    return Interrupt(
        id=f"{quote(run, safe='')}/{row[3]}/{question.path}",
        reason="tool_call" if is_approval else "input_required",
        response_schema=APPROVAL_SCHEMA if is_approval else ANSWER_SCHEMA,
        tool_call_id=get_pending_call(asked).get("id") or None,
        message="This question is private. Answer it in a terminal." if asked.get("private") else question.text,
    )


def _start_event(given: RunAgentInput) -> BaseEvent:
    return RunStartedEvent(thread_id=given.thread_id, run_id=given.run_id, protocol_version="1.0")


def _finish_event(
    given: RunAgentInput, outcome: RunFinishedOutcome, usage: list[TokenUsage] | None = None
) -> BaseEvent:
    return RunFinishedEvent(thread_id=given.thread_id, run_id=given.run_id, outcome=outcome, usage=usage)


async def _iter_lines(events: Sequence[BaseEvent]) -> AsyncGenerator[str]:
    for each in events:
        yield _format_sse(each)


def _format_sse(event: BaseEvent) -> str:
    return f"data: {dump_redacted_json(event.model_dump(mode='json', by_alias=True))}\n\n"
