"""Exchanges on file: recorded as they happen, played back without a network."""

from __future__ import annotations

import asyncio
import difflib
import json
import threading
from os import PathLike
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import httpx2

from antiphon._json import dumps, loads
from antiphon.errors import AntiphonError, FormatError, MalformedJSONError

_SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")


class ReplayMismatch(AntiphonError):
    """A request that is not the one recorded; the message shows where they part."""


class Recorder(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Passes requests on and writes each exchange to a file of JSON lines, without headers and without keys."""

    def __init__(self, path: str | PathLike[str], **settings: Any) -> None:
        self._path = Path(path)
        try:
            self._path.write_bytes(b"")
        except OSError as error:
            raise FormatError(f"cannot write {path}: {error.strerror or error}") from None
        self._settings = settings
        self._sync = httpx2.HTTPTransport(**settings)
        # Connections belong to the event loop that opened them.
        self._async: WeakKeyDictionary[Any, httpx2.AsyncHTTPTransport] = WeakKeyDictionary()
        self._lock = threading.Lock()
        #: What requests are passed on to instead of the network.
        self.inner: Any = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and write down what came."""
        response = (self.inner or self._sync).handle_request(request)
        response.read()
        return self._noted(request, response)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and write down what came."""
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            self._async[loop] = httpx2.AsyncHTTPTransport(**self._settings)
        response = await (self.inner or self._async[loop]).handle_async_request(request)
        await response.aread()
        return self._noted(request, response)

    def close(self) -> None:
        """Close the ordinary connections."""
        self._sync.close()

    async def aclose(self) -> None:
        """Close the connections that the running event loop opened."""
        transport = self._async.pop(asyncio.get_running_loop(), None)
        if transport is not None:
            await transport.aclose()

    def _noted(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        entry = {
            "path": request.url.path,
            "request": loads(request.content, "the request"),
            "status": response.status_code,
            "response": response.text,
        }
        line = dumps(entry)
        for name in _SECRET_HEADERS:
            if secret := request.headers.get(name, "").removeprefix("Bearer "):
                line = line.replace(secret, "(key)")
        with self._lock, self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
        return httpx2.Response(response.status_code, headers=_plain(response.headers), content=response.content)


class Replayer(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers from a file that a Recorder wrote. A request that is not in it fails, and says how it differs."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        # Not by `splitlines`, which also splits at characters that JSON may hold.
        lines = text.removesuffix("\n").split("\n") if text else []
        try:
            self._left = [_entry(line, f"line {n}") for n, line in enumerate(lines, 1)]
        except MalformedJSONError as error:
            raise FormatError(f"{path}: {error}") from None
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer. Nobody is made to wait before a retry, which is recorded as well."""
        entry = self._take(request)
        return httpx2.Response(entry["status"], headers={"retry-after": "0"}, content=entry["response"].encode())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer."""
        return self.handle_request(request)

    def _take(self, request: httpx2.Request) -> dict[str, Any]:
        asked = {"path": request.url.path, "request": loads(request.content, "the request")}
        with self._lock:
            for place, entry in enumerate(self._left):
                # Requests made side by side may come in another order than when they were recorded.
                if all(entry[key] == value for key, value in asked.items()):
                    return self._left.pop(place)
            raise self._mismatch(asked)

    def _mismatch(self, asked: dict[str, Any]) -> ReplayMismatch:
        if not self._left:
            return ReplayMismatch(f"{self._path} has no more exchanges, but another request was made")
        recorded, new = _lines({key: self._left[0][key] for key in asked}), _lines(asked)
        changes = [line for line in difflib.ndiff(recorded, new) if line[:1] in "+-"]
        shown = "\n".join(changes[:12]) + ("\n…" if len(changes) > 12 else "")
        return ReplayMismatch(f"a request differs from the one in {self._path} (- recorded, + now):\n{shown}")


def _entry(line: str, what: str) -> dict[str, Any]:
    entry = loads(line, what)
    match entry:
        case {"path": str(), "request": _, "status": int(), "response": str()}:
            return entry
        case _:
            raise MalformedJSONError(f"{what} is not a recorded exchange")


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _plain(headers: httpx2.Headers) -> dict[str, str]:
    """The headers that still hold for content that is no longer compressed or chunked."""
    return {k: v for k, v in headers.items() if k not in ("content-encoding", "content-length", "transfer-encoding")}
