"""A server on a free loopback port, in its own thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import uvicorn


class _StoppableServer(uvicorn.Server):
    """A server that stops at once when told to; uvicorn's own polls ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)
        self.ready.set()
        await self._stop.wait()

    def stop(self) -> None:
        self.should_exit = self.force_exit = True
        if self._loop:
            self._loop.call_soon_threadsafe(self._stop.set)


class LoopbackServer:
    """An application served on a loopback port; `url` is its root."""

    def __init__(self, app: Any) -> None:
        # asyncio disables Nagle's delay of 40 ms an answer only for a socket whose protocol is TCP.
        self._socket = socket.socket(proto=socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            # Do not change the logging of the program under test.
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
        )
        self._server = _StoppableServer(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="antiphon-fake", daemon=True
        )
        self._thread.start()
        self._server.ready.wait(10)

    def stop(self) -> None:
        """Stop serving at once; pending requests get no answer."""
        self._server.stop()
        self._thread.join(5)
        self._socket.close()
