"""Exchanges on file: recorded as they happen, played back without a network."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import stat
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakKeyDictionary

import httpx2

from antiphon._files import read_named_file
from antiphon._json import dumps, loads
from antiphon._shape import obj
from antiphon.errors import AntiphonError, FormatError, MalformedJSONError
from antiphon.providers.decompression import unpacking
from antiphon.providers.secrets import Secrets, environment_secrets, secrets_in
from antiphon.wire.hosted_tools import tokens_in
from antiphon.wire.wording import short


class ReplayMismatch(AntiphonError):
    """A request that is not the one recorded; the message shows where they part."""


class Recorder(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Passes requests on and writes each exchange to a file of JSON lines, without headers and without keys."""

    def __init__(self, path: str | PathLike[str], **settings: Any) -> None:
        self._path = Path(path)
        try:
            _opened(self._path, os.O_TRUNC).close()
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
        """Send, and write down what comes."""
        request.headers["accept-encoding"] = "identity"
        return self._noted(request, (self.inner or self._sync).handle_request(request))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and write down what comes."""
        request.headers["accept-encoding"] = "identity"
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            self._async[loop] = httpx2.AsyncHTTPTransport(**self._settings)
        return self._noted(request, await (self.inner or self._async[loop]).handle_async_request(request))

    def close(self) -> None:
        """Close the ordinary connections."""
        self._sync.close()

    async def aclose(self) -> None:
        """Close the connections that the running event loop opened."""
        transport = self._async.pop(asyncio.get_running_loop(), None)
        if transport is not None:
            await transport.aclose()

    def _noted(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        def note(content: bytes) -> None:
            unpack = unpacking(response.headers.get("content-encoding", ""), request.url.host)
            text = (b"".join(unpack(content)) if unpack else content).decode("utf-8", "replace")
            self._write(request, response.status_code, text)

        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Copied(response.stream, note),
            extensions=response.extensions,
        )

    def _write(self, request: httpx2.Request, status: int, text: str) -> None:
        body = loads(request.content, "the request") if request.content else None
        hide = secrets_in(request.headers, *tokens_in(body), *environment_secrets()).hide
        entry = {
            "path": request.url.path,
            "request": loads(hide(request.content.decode()), "the request") if request.content else None,
            "status": status,
            "response": hide(text),
        }
        line = dumps(entry) + "\n"
        with self._lock, _opened(self._path, os.O_APPEND) as file:
            file.write(line.encode())


class _Copied(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """An answer on its way to whoever reads it. What was read is noted when it ends or is left, unless it broke."""

    def __init__(self, stream: Any, note: Callable[[bytes], None]) -> None:
        self._stream = stream
        self._note = note
        self._copy: bytearray | None = bytearray()

    def __iter__(self) -> Iterator[bytes]:
        with self._kept():
            for chunk in self._stream:
                self._keep(chunk)
                yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._kept():
            async for chunk in self._stream:
                self._keep(chunk)
                yield chunk

    def close(self) -> None:
        self._done()
        self._stream.close()

    async def aclose(self) -> None:
        self._done()
        await self._stream.aclose()

    def _keep(self, chunk: bytes) -> None:
        if self._copy is not None:
            self._copy += chunk

    @contextmanager
    def _kept(self) -> Generator[None]:
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException:
            self._copy = None
            raise
        self._done()

    def _done(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            self._note(bytes(copy))


class Replayer(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers from a file that a Recorder wrote. A request that is not in it fails, and says how it differs."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        try:
            text = read_named_file(path).decode()
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        # Not by `splitlines`, which also splits at characters that JSON may hold.
        lines = text.removesuffix("\n").split("\n") if text else []
        try:
            entries = [_entry(line, f"line {n}") for n, line in enumerate(lines, 1)]
        except MalformedJSONError as error:
            raise FormatError(f"{path}: {error}") from None
        # A recording that was made before may still hold what is hidden now.
        hide = Secrets(environment_secrets()).hide
        self._left = [
            {**entry, "request": _without_diagnostics(loads(hide(dumps(entry["request"])), "the request"))}
            for entry in entries
        ]
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer. Nobody is made to wait before a retry, which is recorded as well."""
        entry = self._take(request)
        return httpx2.Response(entry["status"], headers={"retry-after": "0"}, content=entry["response"].encode())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer."""
        return self.handle_request(request)

    def _take(self, request: httpx2.Request) -> dict[str, Any]:
        body = loads(request.content, "the request") if request.content else None
        if body is not None:
            hide = Secrets([*tokens_in(body), *environment_secrets()]).hide
            body = loads(hide(request.content.decode()), "the request")
        asked = {"path": request.url.path, "request": _without_diagnostics(body)}
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
        # The first two lines name the sides. `ndiff` would look into the lines, of which an image is a very long one.
        changes = [line for line in islice(difflib.unified_diff(recorded, new, n=0), 2, None) if line[0] != "@"]
        shown = "\n".join(f"{line[0]} {short(line[1:])}" for line in changes[:12])
        shown += "\n…" if len(changes) > 12 else ""
        return ReplayMismatch(f"a request differs from the one in {self._path} (- recorded, + now):\n{shown}")


def _entry(line: str, what: str) -> dict[str, Any]:
    entry = loads(line, what)
    match entry:
        case {"path": str(), "request": _, "status": int(), "response": str()}:
            return entry
        case _:
            raise MalformedJSONError(f"{what} is not a recorded exchange")


def _without_diagnostics(body: Any) -> Any:
    """Return a request without the question why the cache was missed, which a resumed run does not ask again."""
    request, options = obj(body), obj(obj(body).get("prompt_cache_options"))
    if "diagnostics" not in request and "comparison_response_id" not in options:
        return body
    kept = {name: value for name, value in request.items() if name not in ("diagnostics", "prompt_cache_options")}
    rest = {name: value for name, value in options.items() if name != "comparison_response_id"}
    return kept | ({"prompt_cache_options": rest} if rest else {})


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _opened(path: Path, flags: int) -> BinaryIO:
    """The file for writing, which nobody but its owner can read, also where it was there before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | flags, 0o600)
    file = os.fdopen(descriptor, "wb")
    if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return file
