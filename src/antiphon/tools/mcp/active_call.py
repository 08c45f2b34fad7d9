"""A call of a server's tool while it runs: its time limit, its progress, and the questions of the server."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from antiphon.tools.call_host import NO_HOST, CallHost
from antiphon.tools.mcp.config import McpServer

#: Progress extends the time of a call up to this many times its limit.
_MAX_EXTENSION = 10
#: How many notices of progress of a call are shown, and how much of their messages.
_MAX_NOTICES, _MAX_MESSAGE = 1_000, 300
#: How many questions of a server one call may lead to.
_MAX_QUESTIONS = 50


class ActiveCall:
    """A running call. `can_wait` says that the call can be made again once a person has answered."""

    def __init__(self, server: McpServer, tool: str, host: CallHost = NO_HOST) -> None:
        self.server = server
        self.tool = tool
        self.host = host
        self.can_wait = False
        self._limit: asyncio.Timeout | None = None
        self._pauses = 0
        #: The seconds that are left, and since when they pass.
        self._left = server.timeout * _MAX_EXTENSION
        self._since = 0.0
        self._notices = 0
        self._names = Counter[str]()

    @asynccontextmanager
    async def limited(self) -> AsyncGenerator[None]:
        """Raise a TimeoutError when the time of the call is over."""
        self._since = asyncio.get_running_loop().time()
        async with asyncio.timeout(self.server.timeout) as self._limit:
            yield

    @contextmanager
    def paused(self) -> Generator[None]:
        """Stop the time while a person or a model is asked."""
        now = asyncio.get_running_loop().time()
        if not self._pauses:
            self._left -= now - self._since
            if self._limit is not None and not self._limit.expired():
                self._limit.reschedule(None)
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            self._since = asyncio.get_running_loop().time()
            self._extend()

    async def show_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Show a notice of progress, and give the call more time."""
        self._extend()
        self._notices += 1
        if self._notices > _MAX_NOTICES or not math.isfinite(progress):
            return
        text = " ".join((message or "").split())
        known_total = total if total is not None and math.isfinite(total) else None
        self.host.report(progress, known_total, text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…")

    def name_question(self, text: str) -> str:
        """Return the name of a question, which is the same when the call is made again."""
        mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self._names[mark] += 1
        return f"ask-{mark}" if self._names[mark] == 1 else f"ask-{mark}-{self._names[mark]}"

    @property
    def is_exhausted(self) -> bool:
        """Return whether the server has asked too many questions."""
        return self._names.total() >= _MAX_QUESTIONS

    def _extend(self) -> None:
        """Give the call its full time again, up to a total."""
        limit = self._limit
        if limit is None or self._pauses or limit.expired():
            return
        now = asyncio.get_running_loop().time()
        left = self._left - (now - self._since)
        limit.reschedule(now + max(0.0, min(self.server.timeout, left)))
