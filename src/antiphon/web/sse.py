"""Server-sent events for the page: the state in the database first, then changes as they happen.

The id of an event is the number of a step up to which all are finished and sent. A client that
reconnects with it misses nothing. Later steps are sent again and replace those it has. Live model
output has no id and is sent again from its beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError
from antiphon.web.json_response import dump_redacted_json
from antiphon.web.questions import list_questions_json
from antiphon.web.step_events import SseEvent, StepTracker
from antiphon.web.stored import changes, list_sessions_json

if TYPE_CHECKING:
    from starlette.responses import Response

    from antiphon.durable import Journal
    from antiphon.web.run_launcher import RunLauncher

#: Seconds between two polls of the database, between two batches, and of silence before a keep-alive comment.
_POLL_SECONDS, _BATCH_SECONDS, _KEEPALIVE_SECONDS = 0.3, 0.03, 15.0
#: How often live output is polled between two polls of the database.
_LIVE_POLLS = 3
#: Events after which another batch may follow at once, because reading may take long.
_IN_BATCHES = ("session", "steps", "part", "messages")


def sse_response(feed: EventFeed) -> Response:
    """Return the event stream of a feed."""
    from starlette.responses import StreamingResponse

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream_feed(feed), headers=headers, media_type="text/event-stream")


async def _stream_feed(feed: EventFeed) -> AsyncGenerator[str]:
    from starlette.concurrency import run_in_threadpool

    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    leave = feed.subscribe(lambda: loop.call_soon_threadsafe(changed.set))
    quiet = 0.0
    try:
        yield "retry: 2000\n\n"
        while True:
            changed.clear()
            found = await run_in_threadpool(feed.new)
            for event in found:
                yield _format_event(event)
            quiet = 0.0 if found else quiet + _POLL_SECONDS
            if quiet >= _KEEPALIVE_SECONDS:
                yield ": still here\n\n"
                quiet = 0.0
            if feed.is_batched and any(name in _IN_BATCHES for _, name, _ in found):
                await asyncio.sleep(0)
            elif feed.has_live_output:
                for _ in range(_LIVE_POLLS):
                    await asyncio.sleep(_POLL_SECONDS / _LIVE_POLLS)
                    for event in await run_in_threadpool(feed.take_live_output):
                        yield _format_event(event)
            else:
                await _wait(changed)
    finally:
        leave()


async def _wait(changed: asyncio.Event) -> None:
    """Wait for a change, and a moment for more of them, or until it is time to poll."""
    try:
        await asyncio.wait_for(changed.wait(), _POLL_SECONDS)
        await asyncio.sleep(_BATCH_SECONDS)
    except TimeoutError:
        pass


def _format_event(event: SseEvent) -> str:
    id, name, data = event
    return f"{f'id: {id}' + chr(10) if id else ''}event: {name}\ndata: {dump_redacted_json(data)}\n\n"


class EventFeed:
    """Tracks what a page has received of the list of sessions, and produces what is new.

    Subclasses track a session: its steps, its transcript, or its work as a team.
    """

    #: Whether a batch of events may be followed by another one.
    is_batched = False

    def __init__(self, journal: Journal, list_more: Callable[[], list[Any]] = list) -> None:
        self._journal = journal
        #: Returns further sessions, which are not saved.
        self._list_more = list_more
        self._told: dict[str, Any] = {}

    @property
    def has_live_output(self) -> bool:
        """True if a model may be producing output, which is polled."""
        return False

    def subscribe(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call a function on changes of the subject, if it tells of them; return the function that ends this."""
        del wake
        return lambda: None

    def new(self) -> list[SseEvent]:
        """Return the events since the last call."""
        try:
            return list(self._new())
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def take_live_output(self) -> list[SseEvent]:
        """Return live model output not yet sent."""
        return []

    def _new(self) -> Generator[SseEvent]:
        yield from self._own()
        # Rendering is skipped while nothing has changed.
        if self._is_other("changes", (changes(self._journal), self._list_more())):
            yield from self._if_other("questions", list_questions_json(self._journal))
            yield from self._listed()

    def _own(self) -> Generator[SseEvent]:
        """Yield new events of the watched subject."""
        yield from ()

    def _listed(self) -> Generator[SseEvent]:
        """Yield new events that only follow changes of sessions."""
        yield from self._if_other("sessions", [*self._list_more(), *list_sessions_json(self._journal)])

    def _if_other(self, name: str, data: Any) -> Generator[SseEvent]:
        if self._is_other(name, data):
            yield "", name, data

    def _is_other(self, name: str, data: Any) -> bool:
        is_other = name not in self._told or self._told[name] != data
        self._told[name] = data
        return is_other


class StepFeed(EventFeed):
    """Tracks what a page has received of the steps of a session and of its open children."""

    is_batched = True

    def __init__(
        self, journal: Journal, launcher: RunLauncher, id: str, after: str = "", parts: Iterable[tuple[str, str]] = ()
    ) -> None:
        super().__init__(journal)
        self._session = StepTracker(journal, launcher, id, after)
        self._parts = [StepTracker(journal, launcher, part, mark) for part, mark in parts]

    @property
    def has_live_output(self) -> bool:
        """True if a model may be producing output, which is polled."""
        return any(each.has_live_output for each in (self._session, *self._parts))

    def take_live_output(self) -> list[SseEvent]:
        """Return live model output not yet sent."""
        try:
            return [("", "live", data) for each in (self._session, *self._parts) for data in each.take_live_output()]
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def _own(self) -> Generator[SseEvent]:
        yield from self._session.new()
        for part in self._parts:
            for mark, name, data in part.new():
                yield "", "part", {"run": part.id, "mark": mark, "name": name, "data": data}

    def _listed(self) -> Generator[SseEvent]:
        yield from ()
