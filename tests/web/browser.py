"""A browser, and the page served to it."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import threading
from typing import Any

import pytest
import uvicorn

from antiphon.durable import Journal
from antiphon.web import app

TOKEN = "the-token-of-the-tests-0123456789abcdef"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
#: How long something may take to appear, in milliseconds: machines are slow at times, and no test depends on speed.
PATIENCE = 90_000


def chromium() -> str:
    """The browser; without one the tests are skipped, unless somebody has said that they must not be."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = "there is no chromium: `apt-get install chromium`, or that of another system, lets these tests run"
        (pytest.fail if os.environ.get("ANTIPHON_BROWSER") == "required" else pytest.skip)(reason)
    return found


class Site:
    """The page of a journal, at a port; stopped and started again it is at the same one."""

    def __init__(self, journal: Journal, **options: Any) -> None:
        self._page = app(journal=journal, token=TOKEN, **options)
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        # With the handlers of pytest, which shows with a failed test what went wrong in the server.
        config = uvicorn.Config(self._page, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(20)
        # A connection that came at the end stays open until it is collected, and its page would wait for an answer.
        gc.collect()
