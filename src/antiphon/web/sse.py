"""Server-sent events for the page: the state in the journal first, then changes as they happen.

The id of an event is the number of a step up to which all are finished and sent. A client that
reconnects with it misses nothing. Later steps are sent again and replace those it has. Live model
output has no id and is sent again from its beginning.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError
from antiphon.web.inbox import inbox
from antiphon.web.json_response import dump_redacted_json
from antiphon.web.run_events import RunEventFeed, SseEvent
from antiphon.web.stored import changes, runs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.durable import Journal
    from antiphon.web.run_launcher import RunLauncher

#: Seconds between two polls of the journal, and seconds of silence before a keep-alive comment.
_POLL_SECONDS, _KEEPALIVE_SECONDS = 0.3, 15.0
#: How often live output is polled between two polls of the journal.
_LIVE_POLLS = 3
#: The most nested runs that can be watched at once.
_MAX_PARTS = 50


def sse_response(
    journal: Journal, going: RunLauncher, request: Request, watched: type[EventFeed] | None = None
) -> Response:
    """Return the event stream of a run, of all runs, or of another subject by a subclass of `EventFeed`."""
    from starlette.responses import StreamingResponse

    id, asked = request.path_params.get("id"), request.query_params
    after = request.headers.get("last-event-id") or asked.get("after", "")
    parts = zip(asked.getlist("with")[:_MAX_PARTS], asked.getlist("since"), strict=False)
    watch = (watched or EventFeed)(journal, going, id, after, parts)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream_feed(watch), headers=headers, media_type="text/event-stream")


async def _stream_feed(watch: EventFeed) -> AsyncGenerator[str]:
    import anyio
    from starlette.concurrency import run_in_threadpool

    yield "retry: 2000\n\n"
    quiet = 0.0
    while True:
        found = await run_in_threadpool(watch.new)
        for event in found:
            yield _format_event(event)
        quiet = 0.0 if found else quiet + _POLL_SECONDS
        if quiet >= _KEEPALIVE_SECONDS:
            yield ": still here\n\n"
            quiet = 0.0
        if any(name in ("run", "steps", "part", "messages") for _, name, _ in found):
            # Reading may take long: send what is known first. Another batch may follow.
            await anyio.sleep(0)
            continue
        for _ in range(_LIVE_POLLS):
            await anyio.sleep(_POLL_SECONDS / _LIVE_POLLS)
            for event in await run_in_threadpool(watch.heard) if watch.has_live_output else ():
                yield _format_event(event)


def _format_event(event: SseEvent) -> str:
    id, name, data = event
    return f"{f'id: {id}' + chr(10) if id else ''}event: {name}\ndata: {dump_redacted_json(data)}\n\n"


class EventFeed:
    """Tracks what a page has received, of a run and its open nested runs, and produces what is new."""

    def __init__(
        self,
        journal: Journal,
        going: RunLauncher,
        run: str | None,
        after: str = "",
        parts: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._journal = journal
        self._run = None if run is None else RunEventFeed(journal, going, run, after)
        self._parts = [RunEventFeed(journal, going, id, mark) for id, mark in parts if run is not None]
        self._told: dict[str, Any] = {}

    @property
    def has_live_output(self) -> bool:
        """True if a model may be producing output."""
        return any(each.has_live_output for each in self._runs)

    @property
    def _runs(self) -> list[RunEventFeed]:
        return [*([self._run] if self._run is not None else ()), *self._parts]

    def new(self) -> list[SseEvent]:
        """Return the events since the last call."""
        try:
            return list(self._new())
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def heard(self) -> list[SseEvent]:
        """Return live model output not yet sent."""
        try:
            return [("", "live", data) for each in self._runs for data in each.heard()]
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def _new(self) -> Generator[SseEvent]:
        yield from self._own()
        # Rendering is skipped while nothing has changed.
        if self._is_other("changes", changes(self._journal)):
            yield from self._if_other("inbox", inbox(self._journal))
            yield from self._listed()

    def _own(self) -> Generator[SseEvent]:
        """Yield new events of the watched subject."""
        if self._run is not None:
            yield from self._run.new()
        for part in self._parts:
            for mark, name, data in part.new():
                yield "", "part", {"run": part.id, "mark": mark, "name": name, "data": data}

    def _listed(self) -> Generator[SseEvent]:
        """Yield new events of the list of runs, if no run is watched."""
        if self._run is None:
            yield from self._if_other("runs", runs(self._journal))

    def _if_other(self, name: str, data: Any) -> Generator[SseEvent]:
        if self._is_other(name, data):
            yield "", name, data

    def _is_other(self, name: str, data: Any) -> bool:
        is_other = name not in self._told or self._told[name] != data
        self._told[name] = data
        return is_other
