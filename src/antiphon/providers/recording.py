"""Exchanges on file: recorded as they happen, played back without a network."""

from __future__ import annotations

import difflib
import json
import threading
from os import PathLike
from pathlib import Path
from typing import Any

import httpx2

from antiphon._json import dumps, loads
from antiphon.errors import AntiphonError, FormatError, MalformedJSONError


class ReplayMismatch(AntiphonError):
    """A request that is not the one recorded; the message shows where they part."""


class Recorder(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Passes requests on and writes each exchange to a file of JSON lines, without headers and so without keys."""

    def __init__(self, path: str | PathLike[str], **settings: Any) -> None:
        self._path = Path(path)
        self._path.unlink(missing_ok=True)
        self._path.touch()
        self._sync = httpx2.HTTPTransport(**settings)
        self._async = httpx2.AsyncHTTPTransport(**settings)
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and write down what came."""
        response = self._sync.handle_request(request)
        response.read()
        return self._noted(request, response)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and write down what came."""
        response = await self._async.handle_async_request(request)
        await response.aread()
        return self._noted(request, response)

    def _noted(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        entry = {
            "path": request.url.path,
            "request": loads(request.content, "the request"),
            "status": response.status_code,
            "response": response.text,
        }
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(dumps(entry) + "\n")
        return httpx2.Response(response.status_code, headers=_plain(response.headers), content=response.content)


class Replayer(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers from a file that a Recorder wrote. A request that is not in it fails, and says how it differs."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        try:
            self._left: list[dict[str, Any]] = [loads(line, f"line {n}") for n, line in enumerate(lines, 1)]
        except MalformedJSONError as error:
            raise FormatError(f"{path}: {error}") from None
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer."""
        entry = self._take(request)
        return httpx2.Response(entry["status"], content=entry["response"].encode())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer."""
        return self.handle_request(request)

    def _take(self, request: httpx2.Request) -> dict[str, Any]:
        asked = loads(request.content, "the request")
        with self._lock:
            for place, entry in enumerate(self._left):
                # Requests made side by side may come in another order than when they were recorded.
                if entry["request"] == asked and entry["path"] == request.url.path:
                    return self._left.pop(place)
            raise self._mismatch(asked)

    def _mismatch(self, asked: Any) -> ReplayMismatch:
        if not self._left:
            return ReplayMismatch(f"{self._path} has no more exchanges, but another request was made")
        recorded, new = (_lines(value) for value in (self._left[0]["request"], asked))
        changes = [line for line in difflib.ndiff(recorded, new) if line[:1] in "+-"]
        shown = "\n".join(changes[:12]) + ("\n…" if len(changes) > 12 else "")
        return ReplayMismatch(f"a request differs from the one in {self._path} (- recorded, + now):\n{shown}")


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _plain(headers: httpx2.Headers) -> dict[str, str]:
    """The headers that still hold for content that is no longer compressed or chunked."""
    return {k: v for k, v in headers.items() if k not in ("content-encoding", "content-length", "transfer-encoding")}
