"""What happens, as it happens: one stream for each page, from what the journal has and then what is new in it.

The id of an event is the number of a step up to which all are over and were sent: whoever comes back with it misses
nothing. What was sent since then is sent once more, and takes the place of what is there. What a model says while it
says it has no id: it is sent from its beginning to whoever comes back.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError
from antiphon.web.inbox import inbox
from antiphon.web.sent import written
from antiphon.web.stored import changes, runs
from antiphon.web.watching import Event, RunWatch

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.journal import Journal
    from antiphon.web.going import Going

#: How often the journal is looked at, in seconds, and how often a page hears something though nothing is new.
_PAUSE, _QUIET = 0.3, 15.0
#: How often it is looked for what is being said, between two looks at the journal.
_LISTENS = 3
#: So many runs that are part of the one that is looked at can be open at once.
_PARTS = 50


def events(journal: Journal, going: Going, request: Request, watched: type[Watch] | None = None) -> Response:
    """The stream of a run, or of all that is new; or of what else is `watched`."""
    from starlette.responses import StreamingResponse

    id, asked = request.path_params.get("id"), request.query_params
    after = request.headers.get("last-event-id") or asked.get("after", "")
    parts = zip(asked.getlist("with")[:_PARTS], asked.getlist("since"), strict=False)
    watch = (watched or Watch)(journal, going, id, after, parts)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream(watch), headers=headers, media_type="text/event-stream")


async def _stream(watch: Watch) -> AsyncGenerator[str]:
    import anyio
    from starlette.concurrency import run_in_threadpool

    yield "retry: 2000\n\n"
    quiet = 0.0
    while True:
        found = await run_in_threadpool(watch.new)
        for event in found:
            yield _sent(event)
        quiet = 0.0 if found else quiet + _PAUSE
        if quiet >= _QUIET:
            yield ": still here\n\n"
            quiet = 0.0
        if any(name in ("run", "steps", "part", "messages") for _, name, _ in found):
            # What is read may take its time: what is known is sent first. After a batch there may be the next.
            await anyio.sleep(0)
            continue
        for _ in range(_LISTENS):
            await anyio.sleep(_PAUSE / _LISTENS)
            for event in await run_in_threadpool(watch.heard) if watch.listens else ():
                yield _sent(event)


def _sent(event: Event) -> str:
    id, name, data = event
    return f"{f'id: {id}' + chr(10) if id else ''}event: {name}\ndata: {written(data)}\n\n"


class Watch:
    """Knows what a page was told, and what is new for it: of a run and of those `parts` of it that are open there."""

    def __init__(
        self,
        journal: Journal,
        going: Going,
        run: str | None,
        after: str = "",
        parts: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._journal = journal
        self._run = None if run is None else RunWatch(journal, going, run, after)
        self._parts = [RunWatch(journal, going, id, mark) for id, mark in parts if run is not None]
        self._told: dict[str, Any] = {}

    @property
    def listens(self) -> bool:
        """Whether something may be said that is not over."""
        return any(each.listens for each in self._runs)

    @property
    def _runs(self) -> list[RunWatch]:
        return [*([self._run] if self._run is not None else ()), *self._parts]

    def new(self) -> list[Event]:
        """What has happened since the last time."""
        try:
            return list(self._new())
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def heard(self) -> list[Event]:
        """What is being said, and was not sent yet."""
        try:
            return [("", "live", data) for each in self._runs for data in each.heard()]
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def _new(self) -> Generator[Event]:
        yield from self._own()
        # What is drawn of them is made only where something has changed.
        if self._is_other("changes", changes(self._journal)):
            yield from self._if_other("inbox", inbox(self._journal))
            yield from self._listed()

    def _own(self) -> Generator[Event]:
        """What is new of what is looked at."""
        if self._run is not None:
            yield from self._run.new()
        for part in self._parts:
            for mark, name, data in part.new():
                yield "", "part", {"run": part.id, "mark": mark, "name": name, "data": data}

    def _listed(self) -> Generator[Event]:
        """What is listed where nothing else is looked at."""
        if self._run is None:
            yield from self._if_other("runs", runs(self._journal))

    def _if_other(self, name: str, data: Any) -> Generator[Event]:
        if self._is_other(name, data):
            yield "", name, data

    def _is_other(self, name: str, data: Any) -> bool:
        is_other = name not in self._told or self._told[name] != data
        self._told[name] = data
        return is_other
