"""The events of a run and of all runs inside it: written in one order, and read from any point on."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Container, Generator
from queue import SimpleQueue

from antiphon.session.events import Body, Event, RequestEnded
from antiphon.wire import CallDelta, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta

log = logging.getLogger("antiphon.session")
#: What there are thousands of.
_PIECES = frozenset({TextDelta, ReasoningDelta, CallDelta, ProgressDelta, RetryDelta})
#: Whether nothing happens from a number on.
IsPast = Callable[[int], bool]


class Log:
    """One for a run and its whole family, in which each reader reads of a part of it.

    The pieces of an answer are kept while it comes; then the end of its request says all of it.
    """

    __slots__ = ("_facts", "_listeners", "_pieces", "count", "lock")

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.RLock()
        self._facts: list[Event] = []
        self._pieces: dict[str, list[Event]] = {}
        self._listeners: list[Callable[[Event], object]] = []

    def add(self, run: str, body: Body) -> None:
        """Something happened."""
        with self.lock:
            event = Event(run, self.count, time.time(), body)
            self.count += 1
            if type(body) in _PIECES:
                self._pieces.setdefault(run, []).append(event)
            else:
                self._facts.append(event)
                if isinstance(body, RequestEnded):
                    self._pieces.pop(run, None)
            for listener in self._listeners:
                listener(event)

    def subscribe(self, family: Container[str], listener: Callable[[Event], object], since: int) -> Callable[[], None]:
        """Have a function called with each event of these runs, from a number on; gives the function that ends this."""

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
        """The events of these runs, as they happen."""
        queue: SimpleQueue[Event] = SimpleQueue()
        # Whoever looks now misses nothing, whenever he begins to read.
        return _read(queue, self.subscribe(family, queue.put, since), is_past(since), is_past)

    def aread(self, family: Container[str], since: int, is_past: IsPast) -> AsyncGenerator[Event]:
        """`read`, asynchronously."""
        loop, home = asyncio.get_running_loop(), threading.get_ident()
        queue, more = deque[Event](), asyncio.Event()

        def put(event: Event) -> None:
            # The queue keeps the order, wherever the events happen.
            queue.append(event)
            if threading.get_ident() == home:
                more.set()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(more.set)

        return _aread(queue, more, self.subscribe(family, put, since), is_past(since), is_past)


def _read(queue: SimpleQueue[Event], leave: Callable[[], None], is_over: bool, is_past: IsPast) -> Generator[Event]:
    try:
        while not is_over:
            event = queue.get()
            yield event
            is_over = is_past(event.seq + 1)
    finally:
        leave()


async def _aread(
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
