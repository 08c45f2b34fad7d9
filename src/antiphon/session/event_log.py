"""The event log of a run and all runs inside it: one order, readable from any position."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Container, Generator
from queue import SimpleQueue

from antiphon.session.events import AnswerDelta, Event, EventBody, RequestEnded
from antiphon.wire import CallDelta, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta

log = logging.getLogger("antiphon.session")
#: Frequent events, which are not stored after their request has ended.
_DELTA_TYPES = frozenset({TextDelta, ReasoningDelta, CallDelta, AnswerDelta, ProgressDelta, RetryDelta})
#: Tells whether no event with this or a later number will come.
IsPast = Callable[[int], bool]


class EventLog:
    """The event log that a run shares with the runs inside it. Each reader sees the events of some of them.

    The deltas of an answer are stored while it streams. After that, the end of its request has the entire
    text.
    """

    __slots__ = ("_facts", "_listeners", "_pieces", "count", "lock")

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.RLock()
        self._facts: list[Event] = []
        self._pieces: dict[str, list[Event]] = {}
        self._listeners: list[Callable[[Event], object]] = []

    def add(self, run: str, body: EventBody) -> None:
        """Append an event and call the listeners."""
        with self.lock:
            event = Event(run, self.count, time.time(), body)
            self.count += 1
            if type(body) in _DELTA_TYPES:
                self._pieces.setdefault(run, []).append(event)
            else:
                self._facts.append(event)
                if isinstance(body, RequestEnded):
                    self._pieces.pop(run, None)
            for listener in self._listeners:
                listener(event)

    def subscribe(self, family: Container[str], listener: Callable[[Event], object], since: int) -> Callable[[], None]:
        """Call a function with each event of these runs, starting at `since`. Return the function that unsubscribes."""

        def heard(event: Event) -> None:
            if event.run in family:
                try:
                    listener(event)
                except Exception:
                    leave()
                    log.exception("a listener of a run failed, and is not called any more: %r", listener)

        def leave() -> None:
            with self.lock:
                self._listeners = [each for each in self._listeners if each is not heard]

        with self.lock:
            self._listeners = [*self._listeners, heard]
            for event in self._since(since):
                if heard in self._listeners:
                    heard(event)
        return leave

    def _since(self, number: int) -> list[Event]:
        events = [*self._facts, *(event for pieces in self._pieces.values() for event in pieces)]
        return sorted((event for event in events if event.seq >= number), key=lambda event: event.seq)

    def read(self, family: Container[str], since: int, is_past: IsPast) -> Generator[Event]:
        """Yield the events of these runs as they happen."""
        queue: SimpleQueue[Event] = SimpleQueue()
        # Subscribe now, so that a reader misses nothing, even if it iterates later.
        return _iterate_events(queue, self.subscribe(family, queue.put, since), is_past(since), is_past)

    def aread(self, family: Container[str], since: int, is_past: IsPast) -> AsyncGenerator[Event]:
        """Like `read_events`, but asynchronous."""
        loop, home = asyncio.get_running_loop(), threading.get_ident()
        queue, more = deque[Event](), asyncio.Event()

        def put(event: Event) -> None:
            # The queue preserves the order, whichever thread emits the events.
            queue.append(event)
            if threading.get_ident() == home:
                more.set()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(more.set)

        return _aiterate_events(queue, more, self.subscribe(family, put, since), is_past(since), is_past)


def _iterate_events(
    queue: SimpleQueue[Event], leave: Callable[[], None], is_over: bool, is_past: IsPast
) -> Generator[Event]:
    try:
        while not is_over:
            event = queue.get()
            yield event
            is_over = is_past(event.seq + 1)
    finally:
        leave()


async def _aiterate_events(
    queue: deque[Event], more: asyncio.Event, leave: Callable[[], None], is_over: bool, is_past: IsPast
) -> AsyncGenerator[Event]:
    try:
        while not is_over:
            if not queue:
                more.clear()
                if not queue:
                    await more.wait()
                continue
            event = queue.popleft()
            yield event
            is_over = is_past(event.seq + 1)
    finally:
        leave()
