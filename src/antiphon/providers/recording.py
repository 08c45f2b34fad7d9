"""Recording of exchanges to a file, and replay without a network."""

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

from antiphon._base.files import read_named_file
from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object
from antiphon.errors import AntiphonError, FormatError, MalformedJSONError
from antiphon.providers.decompression import make_unpacker
from antiphon.providers.redaction import SecretRedactor, environment_secrets, find_request_secrets
from antiphon.wire.hosted_tools import extract_mcp_tokens
from antiphon.wire.text_conventions import truncate_server_text


class ReplayMismatch(AntiphonError):
    """Raised for a request that differs from the recorded one; the message shows the difference."""


class RecordingTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Transport that forwards requests and writes each exchange to a JSON lines file, without headers or
    keys.
    """

    def __init__(self, path: str | PathLike[str], **settings: Any) -> None:
        self._path = Path(path)
        try:
            _open_private(self._path, os.O_TRUNC).close()
        except OSError as error:
            raise FormatError(f"cannot write {path}: {error.strerror or error}") from None
        self._settings = settings
        self._sync = httpx2.HTTPTransport(**settings)
        # Connections belong to the event loop that opened them.
        self._async: WeakKeyDictionary[Any, httpx2.AsyncHTTPTransport] = WeakKeyDictionary()
        self._lock = threading.Lock()
        #: Transport to use instead of the network.
        self.inner: Any = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and record the response."""
        request.headers["accept-encoding"] = "identity"
        return self._noted(request, (self.inner or self._sync).handle_request(request))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request asynchronously and record the response."""
        request.headers["accept-encoding"] = "identity"
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            self._async[loop] = httpx2.AsyncHTTPTransport(**self._settings)
        return self._noted(request, await (self.inner or self._async[loop]).handle_async_request(request))

    def close(self) -> None:
        """Close the synchronous connections."""
        self._sync.close()

    async def aclose(self) -> None:
        """Close the connections that the running event loop opened."""
        transport = self._async.pop(asyncio.get_running_loop(), None)
        if transport is not None:
            await transport.aclose()

    def _noted(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        def note(content: bytes) -> None:
            unpack = make_unpacker(response.headers, request.url.host)
            text = (b"".join(unpack(content)) if unpack else content).decode("utf-8", "replace")
            self._write(request, response.status_code, text)

        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_CopyingStream(response.stream, note),
            extensions=response.extensions,
        )

    def _write(self, request: httpx2.Request, status: int, text: str) -> None:
        body = load_json(request.content, "the request") if request.content else None
        hide = find_request_secrets(request.headers, *extract_mcp_tokens(body), *environment_secrets()).hide
        entry = {
            "path": request.url.path,
            "request": load_json(hide(request.content.decode()), "the request") if request.content else None,
            "status": status,
            "response": hide(text),
        }
        line = dump_json(entry) + "\n"
        with self._lock, _open_private(self._path, os.O_APPEND) as file:
            file.write(line.encode())


class _CopyingStream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A response stream that is copied as it is read. The copy is recorded at the end, unless the stream
    broke.
    """

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


class ReplayTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Transport that answers from a recorded file. An unrecorded request fails with the difference."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        try:
            text = read_named_file(path).decode()
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        # Not by `splitlines`, which also splits at characters that JSON may hold.
        lines = text.removesuffix("\n").split("\n") if text else []
        try:
            entries = [_parse_entry(line, f"line {n}") for n, line in enumerate(lines, 1)]
        except MalformedJSONError as error:
            raise FormatError(f"{path}: {error}") from None
        # A recording that was made before may still hold what is hidden now.
        hide = SecretRedactor(environment_secrets()).hide
        self._left = [
            {**entry, "request": _drop_cache_diagnostics(load_json(hide(dump_json(entry["request"])), "the request"))}
            for entry in entries
        ]
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the recorded response. Retries, which are recorded as well, happen without a delay."""
        entry = self._take(request)
        return httpx2.Response(entry["status"], headers={"retry-after": "0"}, content=entry["response"].encode())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the recorded response."""
        return self.handle_request(request)

    def _take(self, request: httpx2.Request) -> dict[str, Any]:
        body = load_json(request.content, "the request") if request.content else None
        if body is not None:
            hide = SecretRedactor([*extract_mcp_tokens(body), *environment_secrets()]).hide
            body = load_json(hide(request.content.decode()), "the request")
        asked = {"path": request.url.path, "request": _drop_cache_diagnostics(body)}
        with self._lock:
            for place, entry in enumerate(self._left):
                # Concurrent requests may come in another order than when they were recorded.
                if all(entry[key] == value for key, value in asked.items()):
                    return self._left.pop(place)
            raise self._make_mismatch_error(asked)

    def _make_mismatch_error(self, asked: dict[str, Any]) -> ReplayMismatch:
        if not self._left:
            return ReplayMismatch(f"{self._path} has no more exchanges, but another request was made")
        recorded, new = _format_lines({key: self._left[0][key] for key in asked}), _format_lines(asked)
        # The first two lines name the sides. `ndiff` would look into the lines, of which an image is a very long one.
        changes = [line for line in islice(difflib.unified_diff(recorded, new, n=0), 2, None) if line[0] != "@"]
        shown = "\n".join(f"{line[0]} {truncate_server_text(line[1:])}" for line in changes[:12])
        shown += "\n…" if len(changes) > 12 else ""
        return ReplayMismatch(f"a request differs from the one in {self._path} (- recorded, + now):\n{shown}")


def _parse_entry(line: str, what: str) -> dict[str, Any]:
    entry = load_json(line, what)
    match entry:
        case {"path": str(), "request": _, "status": int(), "response": str()}:
            return entry
        case _:
            raise MalformedJSONError(f"{what} is not a recorded exchange")


def _drop_cache_diagnostics(body: Any) -> Any:
    """Return a request without cache diagnostics, which a resumed run does not request again."""
    request, options = as_object(body), as_object(as_object(body).get("prompt_cache_options"))
    if "diagnostics" not in request and "comparison_response_id" not in options:
        return body
    kept = {name: value for name, value in request.items() if name not in ("diagnostics", "prompt_cache_options")}
    rest = {name: value for name, value in options.items() if name != "comparison_response_id"}
    return kept | ({"prompt_cache_options": rest} if rest else {})


def _format_lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _open_private(path: Path, flags: int) -> BinaryIO:
    """Open a file for writing that only its owner can read, even if it already existed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | flags, 0o600)
    file = os.fdopen(descriptor, "wb")
    if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return file
