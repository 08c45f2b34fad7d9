"""Running asynchronous code for callers who are not: one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """An event loop that stays, so that connections and servers outlive single calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="antiphon", daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. Ctrl-C cancels it and waits until it has cleaned up."""
        over = threading.Event()

        async def wrapped() -> T:
            try:
                return await coroutine
            finally:
                over.set()

        future = asyncio.run_coroutine_threadsafe(wrapped(), self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            over.wait()
            raise

    def iterate(self, events: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """The generator's values, one at a time; leaving the iteration closes it."""
        try:
            while True:
                try:
                    yield self.run(_next(events))
                except StopAsyncIteration:
                    return
        finally:
            self.run(events.aclose())


@contextmanager
def entered(context: AbstractAsyncContextManager[T]) -> Generator[T, None, None]:
    """An asynchronous context, such as `McpTools`, for ordinary code: `with entered(McpTools(servers)) as mcp: …`."""
    value = portal().run(_entered(context))
    try:
        yield value
    finally:
        portal().run(_left(context))


async def _entered(context: AbstractAsyncContextManager[T]) -> T:
    return await context.__aenter__()


async def _left(context: AbstractAsyncContextManager[Any]) -> None:
    await context.__aexit__(None, None, None)


async def _next(events: AsyncGenerator[T, None]) -> T:
    return await anext(events)


@cache
def portal() -> Portal:
    """The one of this process."""
    return Portal()
