"""The AG-UI 1.0 endpoint `POST /agui`: other pages and servers run a model here and receive its events.

A thread is a saved conversation, and each run of it is a journal run. A question to a person ends the
client's run with an interrupt, while the journal run waits. Whoever answers first, the client, the page
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

from antiphon.errors import AntiphonError, NotReadyError, OptionError
from antiphon.web.json_response import dump_redacted_json, read_json_object

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal, QuestionEntry
    from antiphon.session import ModelProtocol
    from antiphon.tools import Tool
    from antiphon.web.agui_input import AguiResumeEntry, AguiRunInput
    from antiphon.web.agui_runs import Work

#: The largest request body, in bytes; it may contain images.
_MAX_REQUEST_BYTES = 30_000_000
#: Seconds of silence after which a keep-alive comment is sent.
_KEEPALIVE_SECONDS = 15.0
#: A thread id that can be used as the name of a saved conversation, distinct from generated names.
_STORED_THREAD_NAME = re.compile(r"[0-9a-z][0-9a-z-]{8,63}")

AguiEventJson = dict[str, Any]


def agui_routes(
    journal: Journal, model: str | ModelProtocol | None, tools: str | Iterable[Callable[..., Any] | Tool]
) -> list[Route]:
    """Return the routes of the AG-UI endpoint."""
    from starlette.routing import Route

    return [Route("/agui", AguiEndpoint(journal, model, tools).answer, methods=["POST"])]


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
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import StreamingResponse

        from antiphon.web.agui_history import HistoryMismatch
        from antiphon.web.agui_input import parse_run_input

        given = parse_run_input(await read_json_object(request, _MAX_REQUEST_BYTES))
        name = _conversation_name(given.thread_id)
        self._claim(name)
        try:
            stream = self._stream(name, given, await run_in_threadpool(self._begun, name, given))
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
                raise NotReadyError("a run of this thread goes on; wait for its end, or stop it")
            self._active_threads.add(name)

    def _free(self, name: str) -> None:
        with self._lock:
            self._active_threads.discard(name)

    # Starting

    def _begun(self, name: str, given: AguiRunInput) -> Work | list[AguiEventJson]:
        """Start or resume a run; return the events to send instead if there is nothing to do."""
        from antiphon.web.agui_runs import Work, connected

        with self._lock:
            # Connect once, when first needed: the key may not be available earlier.
            asked = self._model = connected(self._model)
        agent = asked, self._tools
        if given.resume:
            id, told = self._settled(given)
            return Work.resumed(self._journal, agent, name, given, id, told)
        left = self._left(name)
        if left is None:
            return Work.begun(self._journal, agent, name, given)
        if self._journal.questions(left, 1):
            # The pending questions still need answers of a person.
            return [*_start_events(given), _finish_event(given, _make_interrupt_outcome(self._journal, left))]
        if given.messages and given.messages[-1].role == "user":
            raise NotReadyError(
                f"run {left!r} of this thread has its answers, and goes on before anything else is said"
            )
        return Work.resumed(self._journal, agent, name, given, left, [])

    def _settled(self, given: AguiRunInput) -> tuple[str, list[AguiEventJson]]:
        """Apply the answers of a resume request; return the run, and events about earlier answers."""
        from antiphon.web.agui_input import resume_answer_json
        from antiphon.web.inbox import settle_as
        from antiphon.web.stored import row_at

        entries = {_parse_interrupt_id(each): each for each in given.resume or ()}
        id = self._find_resumed_run(given, entries)
        rows = {path: row_at(self._journal, id, path) for _, _, path in entries}
        if uncovered := [each.text for each in self._journal.questions(id) if each.path not in rows]:
            raise OptionError(f"`resume` answers every interrupt of a run, or gives it up; missing: {uncovered[0]}")
        answers = [
            (
                each.interrupt_id,
                {"path": path, "hash": hash, **resume_answer_json(_question_kind(self._journal, rows[path]), each)},
            )
            for (_, hash, path), each in entries.items()
        ]
        told: list[AguiEventJson] = []
        for interrupt, said in answers:
            try:
                settle_as(self._journal, id, said)
            except NotReadyError as error:
                if self._journal.find(id).state not in ("waiting", "ready"):
                    raise NotReadyError(f"{error}; run {id!r} has gone on without you") from None
                value = {"interruptId": interrupt, "why": str(error)}
                told.append({"type": "CUSTOM", "name": "antiphon.answered", "value": value})
        return id, told

    def _find_resumed_run(self, given: AguiRunInput, asked: Iterable[tuple[str, str, str]]) -> str:
        runs = {run for run, _, _ in asked}
        if len(runs) != 1 or not self._journal.has(run := runs.pop()):
            raise OptionError("`resume` names interrupts of one run, as its end told them")
        if self._journal.find(run).begun_as.get("thread") != given.thread_id:
            raise OptionError(f"run {run!r} is none of thread {given.thread_id!r}")
        return run

    def _left(self, name: str) -> str | None:
        """Return the run of a thread that waits for a person or already has the answers."""
        rows = self._journal.read(
            "SELECT id FROM runs WHERE kind IN ('agui', 'chat') AND state IN ('waiting', 'ready')"
            " ORDER BY created DESC LIMIT 200",
            (),
        )
        return next((id for (id,) in rows if self._journal.find(id).begun_as.get("conversation") == name), None)

    # Streaming

    async def _stream(self, name: str, given: AguiRunInput, work: Work | list[AguiEventJson]) -> AsyncGenerator[str]:
        from starlette.concurrency import run_in_threadpool

        if isinstance(work, list):
            self._free(name)
            async for line in _iter_lines(work):
                yield line
            return
        is_over = False
        try:
            for each in (*_start_events(given), *work.told):
                yield _format_sse(each)
            async for each in work.happening(_KEEPALIVE_SECONDS):
                yield _format_sse(each) if each else ": still here\n\n"
            ending = await run_in_threadpool(self._ended, given, work)
            is_over = True
            self._free(name)
            yield _format_sse(ending)
        finally:
            if not is_over:
                # The client disconnected. This generator is being closed and cannot wait, so a thread stops the run.
                threading.Thread(target=self._stopped, args=(name, work), daemon=True).start()

    def _ended(self, given: AguiRunInput, work: Work) -> AguiEventJson:
        """Return the final event of a run, after everything is saved."""
        error = work.end()
        usage = {"usage": used} if (used := work.telling.usage) else {}
        if error is not None:
            return {"type": "RUN_ERROR", "message": str(error) or type(error).__name__, **usage}
        if work.state == "waiting":
            return {**_finish_event(given, _make_interrupt_outcome(self._journal, work.id)), **usage}
        pending = {"pendingToolCallIds": work.pending} if work.pending else {}
        outcome = {"type": "cancelled"} if work.state == "cancelled" else {"type": "success", **pending}
        return {**_finish_event(given, outcome), **usage}

    def _stopped(self, name: str, work: Work) -> None:
        with suppress(AntiphonError):
            work.stop()
        self._free(name)

    def _make_snapshot_events(self, name: str, given: AguiRunInput, why: str) -> list[AguiEventJson]:
        from antiphon.web.agui_history import conversation_to_agui
        from antiphon.web.agui_runs import loaded

        ours = loaded(self._journal, name)
        messages = [] if ours is None else conversation_to_agui(ours, name)
        return [
            *_start_events(given),
            {"type": "MESSAGES_SNAPSHOT", "messages": messages},
            {"type": "RUN_ERROR", "message": why, "code": "differs"},
        ]


def _conversation_name(thread: str) -> str:
    """Return the name under which a thread is saved: its id, if that is a valid name."""
    if _STORED_THREAD_NAME.fullmatch(thread):
        return thread
    return f"thread-{hashlib.sha256(thread.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _parse_interrupt_id(entry: AguiResumeEntry) -> tuple[str, str, str]:
    """Return the run, fingerprint and path encoded in an interrupt id."""
    run, _, rest = entry.interrupt_id.partition("/")
    hash, _, path = rest.partition("/")
    return unquote(run), hash, path


def _question_kind(journal: Journal, row: tuple[Any, ...]) -> str:
    from antiphon.web.steps import load_effect_entry

    return str(load_effect_entry(journal, row).asked.get("about"))


def _make_interrupt_outcome(journal: Journal, run: str) -> AguiEventJson:
    return {"type": "interrupt", "interrupts": [_make_interrupt(journal, run, each) for each in journal.questions(run)]}


def _make_interrupt(journal: Journal, run: str, question: QuestionEntry) -> AguiEventJson:
    from antiphon.web.agui_input import ANSWER_SCHEMA, APPROVAL_SCHEMA
    from antiphon.web.steps import get_pending_call, load_effect_entry
    from antiphon.web.stored import row_at

    row = row_at(journal, run, question.path)
    asked = load_effect_entry(journal, row).asked
    about = {"reason": "tool_call", "responseSchema": APPROVAL_SCHEMA}
    if question.about != "approval":
        about = {"reason": "input_required", "responseSchema": ANSWER_SCHEMA}
    private = "this is private: it is answered in a terminal"
    call = {"toolCallId": id} if (id := get_pending_call(asked).get("id")) else {}
    return {
        "id": f"{quote(run, safe='')}/{row[3]}/{question.path}", **about, **call,
        "message": private if asked.get("private") else question.text,
    }  # fmt: skip


def _start_events(given: AguiRunInput) -> list[AguiEventJson]:
    return [
        {"type": "RUN_STARTED", "threadId": given.thread_id, "runId": given.run_id, "protocolVersion": "1.0"},
    ]


def _finish_event(given: AguiRunInput, outcome: AguiEventJson) -> AguiEventJson:
    return {"type": "RUN_FINISHED", "threadId": given.thread_id, "runId": given.run_id, "outcome": outcome}


async def _iter_lines(events: Sequence[AguiEventJson]) -> AsyncGenerator[str]:
    for each in events:
        yield _format_sse(each)


def _format_sse(event: AguiEventJson) -> str:
    return f"data: {dump_redacted_json(event)}\n\n"
