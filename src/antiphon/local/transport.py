"""HTTP transport that answers Chat Completions requests with a model in this process."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from antiphon._base.json import dump_json, load_json
from antiphon._base.json_access import as_object
from antiphon.local.engine import LocalEngine, LocalGeneration, get_engine, load_runtime
from antiphon.local.prompt_template import LocalPrompt, build_prompt
from antiphon.local.resolve import is_known_weights, resolve_weights_path
from antiphon.local.stream_chunks import ChunkConverter, join_chunks

RuntimePiece = dict[str, Any]
_OVERFLOW_TYPE = "exceed_context_size_error"


class LocalTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Transport to one local model, which is loaded for the first request."""

    def __init__(self, name: str) -> None:
        self._name = name

        self.is_loaded = False

    def path(self, stop: threading.Event | None = None) -> Path:
        """Return the file of the weights. Download a missing one if the user agrees."""
        # Check the runtime first: without it, the download would be useless.
        load_runtime()
        return resolve_weights_path(self._name, stop)

    def engine(self, stop: threading.Event | None = None) -> LocalEngine:
        """Return the engine, loaded on first use."""
        loaded = get_engine(self.path(stop))
        self.is_loaded = True
        return loaded

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Start generating. The answer comes with the response's content."""
        body, model = load_json(request.content), self.engine()
        asked = self._prompt(body, model)
        if isinstance(asked, httpx2.Response):
            return asked
        pieces: queue.SimpleQueue[RuntimePiece | None] = queue.SimpleQueue()
        generation = model.begin(asked, pieces.put)
        try:
            first = pieces.get()
            if refusal := _make_error_response(first):
                return refusal
            stream = _LocalByteStream(generation, first, pieces, ChunkConverter(asked, self._name))
            if body.get("stream"):
                return httpx2.Response(200, stream=stream)
            return httpx2.Response(200, content=dump_json(join_chunks(stream.chunks())).encode())
        except BaseException:
            generation.stop()
            raise

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Start generating asynchronously. The answer comes with the response's content."""
        body, model = load_json(request.content), await self._aget_engine()
        asked = self._prompt(body, model)
        if isinstance(asked, httpx2.Response):
            return asked
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[RuntimePiece | None] = asyncio.Queue()

        def hand_over(piece: RuntimePiece | None) -> None:
            # If the loop is closed, nobody waits for the piece.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        generation = model.begin(asked, hand_over)
        try:
            first = await pieces.get()
            if refusal := _make_error_response(first):
                return refusal
            stream = _AsyncLocalByteStream(generation, first, pieces, ChunkConverter(asked, self._name))
            if body.get("stream"):
                return httpx2.Response(200, stream=stream)
            return httpx2.Response(
                200, content=dump_json(join_chunks([chunk async for chunk in stream.chunks()])).encode()
            )
        except BaseException:
            generation.stop()
            raise

    async def _aget_engine(self) -> LocalEngine:
        """Return the engine asynchronously. Cancellation also ends the question and the download."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self.engine, stop)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _prompt(self, body: dict[str, Any], model: LocalEngine) -> LocalPrompt | httpx2.Response:
        """Return the prompt, or an error response if the request is obviously too long."""
        size = sum(len(str(as_object(message).get("content") or "")) for message in body["messages"])
        if model.is_too_long(size):
            least = size // model.header.longest_token
            return _make_overflow_response(f"at least {least:,}", least, model.context)
        return build_prompt(body, native_tools=model.header.has_tools and not is_known_weights(self._name))


class _LocalByteStream(httpx2.SyncByteStream):
    """An answer while it is generated. Closing it stops the generation."""

    def __init__(
        self,
        generation: LocalGeneration,
        first: RuntimePiece | None,
        pieces: queue.SimpleQueue[RuntimePiece | None],
        speech: ChunkConverter,
    ) -> None:
        self._generation = generation
        self._first = first
        self._pieces = pieces
        self._speech = speech

    def chunks(self) -> Iterator[dict[str, Any]]:
        piece = self._first
        while piece is not None:
            yield from self._speech.chunks(piece)
            piece = self._pieces.get()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks():
            yield _encode_event(chunk)
        yield b"data: [DONE]\n\n"

    def close(self) -> None:
        self._generation.stop()


class _AsyncLocalByteStream(httpx2.AsyncByteStream):
    """Asynchronous counterpart of `_LocalByteStream`."""

    def __init__(
        self,
        generation: LocalGeneration,
        first: RuntimePiece | None,
        pieces: asyncio.Queue[RuntimePiece | None],
        speech: ChunkConverter,
    ) -> None:
        self._generation = generation
        self._first = first
        self._pieces = pieces
        self._speech = speech

    async def chunks(self) -> AsyncIterator[dict[str, Any]]:
        piece = self._first
        while piece is not None:
            for chunk in self._speech.chunks(piece):
                yield chunk
            piece = await self._pieces.get()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.chunks():
            yield _encode_event(chunk)
        yield b"data: [DONE]\n\n"

    async def aclose(self) -> None:
        self._generation.stop()


def _encode_event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + dump_json(chunk).encode() + b"\n\n"


def _make_error_response(piece: RuntimePiece | None) -> httpx2.Response | None:
    """Return the response to a request that the runtime rejects, or None."""
    error = as_object((piece or {}).get("error"))
    if not error:
        return None
    if error.get("type") == _OVERFLOW_TYPE:
        return _make_overflow_response(f"{error['n_prompt_tokens']:,}", error["n_prompt_tokens"], error["n_ctx"])
    return httpx2.Response(int(error.get("code") or 400), content=dump_json({"error": error}).encode())


def _make_overflow_response(size: str, tokens: int, limit: int) -> httpx2.Response:
    message = f"the prompt has {size} tokens, of which {limit:,} fit"
    error = {"message": message, "type": _OVERFLOW_TYPE, "n_prompt_tokens": tokens, "n_ctx": limit}
    return httpx2.Response(400, content=dump_json({"error": error}).encode())
