"""AG-UI 1.0: pages and servers of others have a model answer here, `POST /agui`, and are told what happens.

A thread is a saved conversation, and a run of it one of the journal. What a person is asked ends the run of the client
as an interrupt, while that of the journal waits, for weeks if need be: whoever answers first, there, on the page or in
a terminal, lets it go on.
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
from antiphon.web.sent import json_of, written

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.journal import Journal, QuestionEntry
    from antiphon.session import Asks
    from antiphon.tools import Tool
    from antiphon.web.agui_input import Resume, RunInput
    from antiphon.web.agui_runs import Work

#: What is sent may have images in it, in bytes.
_LARGEST = 30_000_000
#: How long nothing is sent before the client hears that somebody is there, in seconds.
_QUIET = 15.0
#: A name that a saved conversation can have, and that none has which is named here.
_NAME = re.compile(r"[0-9a-z][0-9a-z-]{8,63}")

Sent = dict[str, Any]


def routes(journal: Journal, model: str | Asks | None, tools: str | Iterable[Callable[..., Any] | Tool]) -> list[Route]:
    """Where AG-UI is served."""
    from starlette.routing import Route

    return [Route("/agui", Agui(journal, model, tools).answer, methods=["POST"])]


class Agui:
    """Threads that go on here. `model` and `tools` are those that answer."""

    def __init__(
        self, journal: Journal, model: str | Asks | None, tools: str | Iterable[Callable[..., Any] | Tool]
    ) -> None:
        self._journal = journal
        self._model = model
        self._tools = tools
        self._lock = threading.Lock()
        #: The threads in which somebody is at it: the second has to wait.
        self._busy: set[str] = set()

    async def answer(self, request: Request) -> Response:
        """Begin a run, or go on with one; what is wrong with the request is told before anything is begun."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import StreamingResponse

        from antiphon.web.agui_history import Differs
        from antiphon.web.agui_input import read

        given = read(await json_of(request, _LARGEST))
        name = _saved_as(given.thread_id)
        self._claim(name)
        try:
            stream = self._stream(name, given, await run_in_threadpool(self._begun, name, given))
        except Differs as error:
            self._free(name)
            stream = _of(await run_in_threadpool(self._snapshot, name, given, str(error)))
        except BaseException:
            self._free(name)
            raise
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    def _claim(self, name: str) -> None:
        with self._lock:
            if name in self._busy:
                raise NotReadyError("a run of this thread goes on; wait for its end, or stop it")
            self._busy.add(name)

    def _free(self, name: str) -> None:
        with self._lock:
            self._busy.discard(name)

    # Beginning

    def _begun(self, name: str, given: RunInput) -> Work | list[Sent]:
        """A run that goes; or, where there is nothing to do, all there is to tell."""
        from antiphon.web.agui_runs import Work, connected

        with self._lock:
            # Once, and only when it is needed: its key may not be there before.
            asked = self._model = connected(self._model)
        agent = asked, self._tools
        if given.resume:
            id, told = self._settled(given)
            return Work.resumed(self._journal, agent, name, given, id, told)
        left = self._left(name)
        if left is None:
            return Work.begun(self._journal, agent, name, given)
        if self._journal.questions(left, 1):
            # Nobody has decided it, and it is not for us to do so.
            return [*_first(given), _last(given, _interrupts(self._journal, left))]
        if given.messages and given.messages[-1].role == "user":
            raise NotReadyError(
                f"run {left!r} of this thread has its answers, and goes on before anything else is said"
            )
        return Work.resumed(self._journal, agent, name, given, left, [])

    def _settled(self, given: RunInput) -> tuple[str, list[Sent]]:
        """The run that goes on, with what is said to its questions; and what is to be told of those answered before."""
        from antiphon.web.agui_input import answer_json
        from antiphon.web.inbox import settle_as
        from antiphon.web.stored import row_at

        entries = {_asked(each): each for each in given.resume or ()}
        id = self._run_of(given, entries)
        rows = {path: row_at(self._journal, id, path) for _, _, path in entries}
        if uncovered := [each.text for each in self._journal.questions(id) if each.path not in rows]:
            raise OptionError(f"`resume` answers every interrupt of a run, or gives it up; missing: {uncovered[0]}")
        answers = [
            (each.interrupt_id, {"path": path, "hash": hash, **answer_json(_about(self._journal, rows[path]), each)})
            for (_, hash, path), each in entries.items()
        ]
        told: list[Sent] = []
        for interrupt, said in answers:
            try:
                settle_as(self._journal, id, said)
            except NotReadyError as error:
                if self._journal.find(id).state not in ("waiting", "ready"):
                    raise NotReadyError(f"{error}; run {id!r} has gone on without you") from None
                value = {"interruptId": interrupt, "why": str(error)}
                told.append({"type": "CUSTOM", "name": "antiphon.answered", "value": value})
        return id, told

    def _run_of(self, given: RunInput, asked: Iterable[tuple[str, str, str]]) -> str:
        runs = {run for run, _, _ in asked}
        if len(runs) != 1 or not self._journal.has(run := runs.pop()):
            raise OptionError("`resume` names interrupts of one run, as its end told them")
        if self._journal.find(run).begun_as.get("thread") != given.thread_id:
            raise OptionError(f"run {run!r} is none of thread {given.thread_id!r}")
        return run

    def _left(self, name: str) -> str | None:
        """The run of a thread that waits for a person, or has the answer by now."""
        rows = self._journal.read(
            "SELECT id FROM runs WHERE kind IN ('agui', 'chat') AND state IN ('waiting', 'ready')"
            " ORDER BY created DESC LIMIT 200",
            (),
        )
        return next((id for (id,) in rows if self._journal.find(id).begun_as.get("conversation") == name), None)

    # Telling

    async def _stream(self, name: str, given: RunInput, work: Work | list[Sent]) -> AsyncGenerator[str]:
        from starlette.concurrency import run_in_threadpool

        if isinstance(work, list):
            self._free(name)
            async for line in _of(work):
                yield line
            return
        is_over = False
        try:
            for each in (*_first(given), *work.told):
                yield _line(each)
            async for each in work.happening(_QUIET):
                yield _line(each) if each else ": still here\n\n"
            ending = await run_in_threadpool(self._ended, given, work)
            is_over = True
            self._free(name)
            yield _line(ending)
        finally:
            if not is_over:
                # The client has gone. Nothing can be waited for here: this is being stopped itself.
                threading.Thread(target=self._stopped, args=(name, work), daemon=True).start()

    def _ended(self, given: RunInput, work: Work) -> Sent:
        """How a run ended, once all that came of it is written down."""
        error = work.end()
        usage = {"usage": used} if (used := work.telling.usage) else {}
        if error is not None:
            return {"type": "RUN_ERROR", "message": str(error) or type(error).__name__, **usage}
        if work.state == "waiting":
            return {**_last(given, _interrupts(self._journal, work.id)), **usage}
        pending = {"pendingToolCallIds": work.pending} if work.pending else {}
        outcome = {"type": "cancelled"} if work.state == "cancelled" else {"type": "success", **pending}
        return {**_last(given, outcome), **usage}

    def _stopped(self, name: str, work: Work) -> None:
        with suppress(AntiphonError):
            work.stop()
        self._free(name)

    def _snapshot(self, name: str, given: RunInput, why: str) -> list[Sent]:
        from antiphon.web.agui_history import messages_json
        from antiphon.web.agui_runs import loaded

        ours = loaded(self._journal, name)
        messages = [] if ours is None else messages_json(ours, name)
        return [
            *_first(given),
            {"type": "MESSAGES_SNAPSHOT", "messages": messages},
            {"type": "RUN_ERROR", "message": why, "code": "differs"},
        ]


def _saved_as(thread: str) -> str:
    """The name under which a thread is saved; its own, where a saved conversation can be called so."""
    if _NAME.fullmatch(thread):
        return thread
    return f"thread-{hashlib.sha256(thread.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _asked(entry: Resume) -> tuple[str, str, str]:
    """The run, the fingerprint and the path of what an interrupt asked."""
    run, _, rest = entry.interrupt_id.partition("/")
    hash, _, path = rest.partition("/")
    return unquote(run), hash, path


def _about(journal: Journal, row: tuple[Any, ...]) -> str:
    from antiphon.web.steps import entry_at

    return str(entry_at(journal, row).asked.get("about"))


def _interrupts(journal: Journal, run: str) -> Sent:
    return {"type": "interrupt", "interrupts": [_interrupt(journal, run, each) for each in journal.questions(run)]}


def _interrupt(journal: Journal, run: str, question: QuestionEntry) -> Sent:
    from antiphon.web.agui_input import ANSWER, APPROVAL
    from antiphon.web.steps import call_of, entry_at
    from antiphon.web.stored import row_at

    row = row_at(journal, run, question.path)
    asked = entry_at(journal, row).asked
    about = {"reason": "tool_call", "responseSchema": APPROVAL}
    if question.about != "approval":
        about = {"reason": "input_required", "responseSchema": ANSWER}
    private = "this is private: it is answered in a terminal"
    call = {"toolCallId": id} if (id := call_of(asked).get("id")) else {}
    return {
        "id": f"{quote(run, safe='')}/{row[3]}/{question.path}", **about, **call,
        "message": private if asked.get("private") else question.text,
    }  # fmt: skip


def _first(given: RunInput) -> list[Sent]:
    return [
        {"type": "RUN_STARTED", "threadId": given.thread_id, "runId": given.run_id, "protocolVersion": "1.0"},
    ]


def _last(given: RunInput, outcome: Sent) -> Sent:
    return {"type": "RUN_FINISHED", "threadId": given.thread_id, "runId": given.run_id, "outcome": outcome}


async def _of(events: Sequence[Sent]) -> AsyncGenerator[str]:
    for each in events:
        yield _line(each)


def _line(event: Sent) -> str:
    return f"data: {written(event)}\n\n"
