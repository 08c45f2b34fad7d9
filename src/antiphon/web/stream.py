"""What happens, as it happens: one stream for each page, from what the journal has and then what is new in it.

The id of an event is the number of a step up to which all are over and were sent: whoever comes back with it misses
nothing. What was sent since then is sent once more, and takes the place of what is there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError, NotSavedError
from antiphon.web.inbox import inbox
from antiphon.web.sent import written
from antiphon.web.steps import line
from antiphon.web.stored import STEP, changes, rows_after, run, runs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.journal import Journal
    from antiphon.web.going import Going

#: How often the journal is looked at, in seconds, and how often a page hears something though nothing is new.
_PAUSE, _QUIET = 0.3, 15.0
#: Steps in one event.
_BATCH = 1000
_OPEN = ("begun", "waiting")

Event = tuple[str, str, Any]


def events(journal: Journal, going: Going, request: Request, watched: type[Watch] | None = None) -> Response:
    """The stream of a run, or of all that is new; or of what else is `watched`."""
    from starlette.responses import StreamingResponse

    id = request.path_params.get("id")
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    watch = (watched or Watch)(journal, going, id, after)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream(watch.new), headers=headers, media_type="text/event-stream")


async def _stream(new: Callable[[], list[Event]]) -> AsyncGenerator[str]:
    import anyio
    from starlette.concurrency import run_in_threadpool

    yield "retry: 2000\n\n"
    quiet = 0.0
    while True:
        found = await run_in_threadpool(new)
        for id, name, data in found:
            yield f"{f'id: {id}' + chr(10) if id else ''}event: {name}\ndata: {written(data)}\n\n"
        quiet = 0.0 if found else quiet + _PAUSE
        if quiet >= _QUIET:
            yield ": still here\n\n"
            quiet = 0.0
        # What is read may take its time: what is known is sent first. Where there is a batch, there may be the next.
        await anyio.sleep(0 if any(name in ("run", "steps", "messages") for _, name, _ in found) else _PAUSE)


class Watch:
    """Knows what a page was told, and what is new for it."""

    def __init__(self, journal: Journal, going: Going, run: str | None, after: str = "") -> None:
        self._journal = journal
        self._going = going
        self._run = run
        before, _, seq = after.rpartition("/")
        #: How often what the run did was set aside: then it began anew.
        self._generation = before or "0"
        self._last = int(seq) if seq.isdecimal() and seq.isascii() else -1
        self._open: dict[int, tuple[Any, ...]] = {}
        self._told: dict[str, Any] = {}

    def new(self) -> list[Event]:
        """What has happened since the last time."""
        try:
            return list(self._new())
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def _new(self) -> Generator[Event]:
        if self._run is not None:
            yield from self._of_run(self._run)
        # What is drawn of them is made only where something has changed.
        if self._is_other("changes", changes(self._journal)):
            yield from self._if_other("inbox", inbox(self._journal))
            if self._run is None:
                yield from self._if_other("runs", runs(self._journal))

    def _of_run(self, id: str) -> Generator[Event]:
        try:
            known = {**run(self._journal, id), "stuck": self._going.failure(id)}
        except NotSavedError:
            yield from self._if_other("gone", id)
            return
        yield from self._begun_anew(id)
        if self._is_other("run", known):
            yield "", "run", known
            return
        rows = self._changed(id)
        fresh = rows_after(self._journal, id, self._last, _BATCH)
        if not rows and not fresh:
            return
        for row in (*rows, *fresh):
            self._note(row)
        self._last = max([self._last, *(row[0] for row in fresh)])
        over = min(self._open, default=self._last + 1) - 1
        mark = str(over) if self._generation == "0" else f"{self._generation}/{over}"
        yield mark if over >= 0 else "", "steps", [line(self._journal, row) for row in (*rows, *fresh)]

    def _changed(self, id: str) -> list[tuple[Any, ...]]:
        """Steps that were not over when they were sent, and are not what they were."""
        if not self._open:
            return []
        first, last = min(self._open), max(self._open)
        rows = self._journal.read(
            f"SELECT {STEP} FROM effects WHERE run = ? AND seq >= ? AND seq <= ? ORDER BY seq", (id, first, last)
        )
        return [row for row in map(tuple, rows) if row[0] in self._open and row != self._open[row[0]]]

    def _note(self, row: tuple[Any, ...]) -> None:
        if row[5] in _OPEN:
            self._open[row[0]] = tuple(row)
        else:
            self._open.pop(row[0], None)

    def _begun_anew(self, id: str) -> Generator[Event]:
        ((count,),) = self._journal.read("SELECT count(*) FROM runs WHERE parent = ? AND kind = 'earlier'", (id,)) or [
            (0,)
        ]
        if str(count) != self._generation:
            self._generation, self._last, self._open = str(count), -1, {}
            yield "", "anew", id

    def _if_other(self, name: str, data: Any) -> Generator[Event]:
        if self._is_other(name, data):
            yield "", name, data

    def _is_other(self, name: str, data: Any) -> bool:
        is_other = name not in self._told or self._told[name] != data
        self._told[name] = data
        return is_other
