"""Streams: a run as it happens. Each method reads the same run: its events, its partial answers, or its items."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from antiphon.session.events import Event
from antiphon.session.result import AIResult, T
from antiphon.session.run import Run

if TYPE_CHECKING:
    from antiphon.session.partials import ItemReader, Partial

Item = TypeVar("Item")
#: Called when the model answers again, so that the items so far do not count.
RestartCallback = Callable[[], object]


class Events(Generic[T]):
    """The events of a run, as they happen. `run` is the run itself, which continues when the stream is closed.

    `partials`, `items` and `follow` read the same run, and may be combined. The first reader gets every event; one
    that begins later gets no deltas of requests that have ended.
    """

    def __init__(self, run: Run[T], cancel: bool = False, asked: Any = None) -> None:
        self.run = run
        self._cancels = cancel
        #: The events from the beginning, until somebody reads them.
        self._unread: Generator[Event] | None = run.events()
        self._events: Generator[Event] | None = None
        self._asked = asked
        self._items_since = 0

    @property
    def result(self) -> AIResult[T]:
        """Wait for the result and return it, or raise the error that ended the run."""
        return self.run.wait()

    def __iter__(self) -> Iterator[Event]:
        if self._events is None:
            self._events = self._read()
        return self._events

    def _read(self, since: int = 0) -> Generator[Event]:
        unread, self._unread = self._unread, None
        return self.run.events(since) if unread is None or since else unread

    def follow(self) -> Generator[tuple[Event, Partial[T] | None]]:
        """Yield each event, with the partial answer if the event says more of it."""
        from antiphon.session.partials import AnswerReader

        reader = AnswerReader(self._asked)
        for event in self._read():
            yield event, reader.take(event.body) if event.run == self.run.id else None

    def partials(self) -> Generator[Partial[T]]:
        """Yield the answer each time more of it is said, and at last the complete one.

        Raise the error that ends the run without an answer. A partial with a higher `attempt` begins again.
        """
        from antiphon.session.partials import AnswerReader

        reader = AnswerReader(self._asked)
        for event in self._read():
            if event.run == self.run.id and (partial := reader.take(event.body)) is not None:
                yield partial
        yield reader.finish(self.run.wait())

    def items(self: Events[list[Item]], on_restart: RestartCallback | None = None) -> Generator[Item]:
        """Yield each item of an answer that is a list, once it is complete and valid.

        If the model answers again, `on_restart` is called and the items begin again. Without it, `AnswerRestarted` is
        raised; after that, `items` yields those of the new answer.
        """
        reader = _make_item_reader(self._asked, on_restart)
        for event in self._read(self._items_since):
            if event.run == self.run.id:
                if reader.take(event):
                    self._items_since = event.seq
                    reader.restart()
                yield from reader.take_items()
        yield from reader.finish(self.run.wait().value)

    def close(self) -> None:
        """Stop watching. The run is cancelled only if the stream was created with `cancel`."""
        for events in (self._events, self._unread):
            if events is not None:
                events.close()
        if self._cancels:
            self.run.cancel()
            self.run.wait(raises=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEventStream(Generic[T]):
    """Like `Events`, but asynchronous: `await events.result`."""

    run: Run[T]

    def __init__(self, start: Callable[[], Awaitable[Run[T]]], cancel: bool = False, asked: Any = None) -> None:
        self._start = start
        self._cancels = cancel
        self._unread: AsyncGenerator[Event] | None = None
        self._events: AsyncGenerator[Event] | None = None
        self._asked = asked
        self._items_since = 0

    @property
    def result(self) -> Awaitable[AIResult[T]]:
        """Wait for the result with `await`, or raise the error that ended the run."""
        return self._await_result()

    async def _await_result(self) -> AIResult[T]:
        await self._begin()
        return await self.run

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._events is None:
            self._events = self._read()
        return self._events

    async def _read(self, since: int = 0) -> AsyncGenerator[Event]:
        await self._begin()
        unread, self._unread = self._unread, None
        async with aclosing(self.run.aevents(since) if unread is None or since else unread) as events:
            async for event in events:
                yield event

    async def follow(self) -> AsyncGenerator[tuple[Event, Partial[T] | None]]:
        """Yield each event, with the partial answer if the event says more of it."""
        from antiphon.session.partials import AnswerReader

        reader = AnswerReader(self._asked)
        async for event in self._read():
            yield event, reader.take(event.body) if event.run == self.run.id else None

    async def partials(self) -> AsyncGenerator[Partial[T]]:
        """Like `Events.partials`."""
        from antiphon.session.partials import AnswerReader

        reader = AnswerReader(self._asked)
        async for event in self._read():
            if event.run == self.run.id and (partial := reader.take(event.body)) is not None:
                yield partial
        yield reader.finish(await self.run)

    async def items(
        self: AsyncEventStream[list[Item]], on_restart: RestartCallback | None = None
    ) -> AsyncGenerator[Item]:
        """Like `Events.items`."""
        reader = _make_item_reader(self._asked, on_restart)
        async for event in self._read(self._items_since):
            if event.run == self.run.id:
                if reader.take(event):
                    self._items_since = event.seq
                    reader.restart()
                for item in reader.take_items():
                    yield item
        for item in reader.finish((await self.run).value):
            yield item

    async def _begin(self) -> None:
        if not hasattr(self, "run"):
            self.run = await self._start()
            self._unread = self.run.aevents()

    async def aclose(self) -> None:
        """Stop watching. The run is cancelled only if the stream was created with `cancel`."""
        if not hasattr(self, "run"):
            return
        for events in (self._events, self._unread):
            if events is not None:
                await events.aclose()
        if self._cancels:
            self.run.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await self.run

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _make_item_reader(asked: Any, on_restart: RestartCallback | None) -> ItemReader:
    from antiphon.session.partials import ItemReader

    return ItemReader(asked, on_restart)
