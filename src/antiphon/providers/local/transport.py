"""Requests of the Chat Completions API, answered by a model in this process instead of over a connection."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from antiphon._json import dumps, loads
from antiphon._shape import obj
from antiphon.providers.local.engine import Engine, Generation, engine, load_runtime
from antiphon.providers.local.files import is_ours, weights_path
from antiphon.providers.local.prompting import Prompt, prompt
from antiphon.providers.local.speech import Speech, whole

Piece = dict[str, Any]
_TOO_LONG = "exceed_context_size_error"


class LocalTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """The way to the model of one name, which is loaded for the first request."""

    def __init__(self, name: str) -> None:
        self._name = name

        self.is_loaded = False

    def path(self, stop: threading.Event | None = None) -> Path:
        """Return the file of the weights; fetch it, if it is not here and the user agrees."""
        # Nobody should wait for weights that nothing here can run.
        load_runtime()
        return weights_path(self._name, stop)

    def engine(self, stop: threading.Event | None = None) -> Engine:
        """Return the model, loaded when it is first asked for."""
        loaded = engine(self.path(stop))
        self.is_loaded = True
        return loaded

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Begin to generate; the answer comes with the response's content."""
        body, model = loads(request.content), self.engine()
        asked = self._prompt(body, model)
        if isinstance(asked, httpx2.Response):
            return asked
        pieces: queue.SimpleQueue[Piece | None] = queue.SimpleQueue()
        generation = model.begin(asked, pieces.put)
        try:
            first = pieces.get()
            if refusal := _refusal(first):
                return refusal
            stream = _Stream(generation, first, pieces, Speech(asked, self._name))
            if body.get("stream"):
                return httpx2.Response(200, stream=stream)
            return httpx2.Response(200, content=dumps(whole(stream.chunks())).encode())
        except BaseException:
            generation.stop()
            raise

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The same, asynchronously."""
        body, model = loads(request.content), await self._aengine()
        asked = self._prompt(body, model)
        if isinstance(asked, httpx2.Response):
            return asked
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[Piece | None] = asyncio.Queue()

        def hand_over(piece: Piece | None) -> None:
            # A loop that is closed has nobody left who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        generation = model.begin(asked, hand_over)
        try:
            first = await pieces.get()
            if refusal := _refusal(first):
                return refusal
            stream = _AsyncStream(generation, first, pieces, Speech(asked, self._name))
            if body.get("stream"):
                return httpx2.Response(200, stream=stream)
            return httpx2.Response(200, content=dumps(whole([chunk async for chunk in stream.chunks()])).encode())
        except BaseException:
            generation.stop()
            raise

    async def _aengine(self) -> Engine:
        """Return the model as `engine` does; whoever is cancelled ends the question and the fetch, too."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self.engine, stop)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _prompt(self, body: dict[str, Any], model: Engine) -> Prompt | httpx2.Response:
        """What to ask, or the answer to what is too long to be looked at."""
        size = sum(len(str(obj(message).get("content") or "")) for message in body["messages"])
        if model.is_too_long(size):
            least = size // model.header.longest_token
            return _too_long(f"at least {least:,}", least, model.context)
        return prompt(body, native_tools=model.header.has_tools and not is_ours(self._name))


class _Stream(httpx2.SyncByteStream):
    """An answer while it is generated; closing it stops that."""

    def __init__(
        self, generation: Generation, first: Piece | None, pieces: queue.SimpleQueue[Piece | None], speech: Speech
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
            yield _event(chunk)
        yield b"data: [DONE]\n\n"

    def close(self) -> None:
        self._generation.stop()


class _AsyncStream(httpx2.AsyncByteStream):
    """The same, asynchronously."""

    def __init__(
        self, generation: Generation, first: Piece | None, pieces: asyncio.Queue[Piece | None], speech: Speech
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
            yield _event(chunk)
        yield b"data: [DONE]\n\n"

    async def aclose(self) -> None:
        self._generation.stop()


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + dumps(chunk).encode() + b"\n\n"


def _refusal(piece: Piece | None) -> httpx2.Response | None:
    """The response to a request that the runtime does not take."""
    error = obj((piece or {}).get("error"))
    if not error:
        return None
    if error.get("type") == _TOO_LONG:
        return _too_long(f"{error['n_prompt_tokens']:,}", error["n_prompt_tokens"], error["n_ctx"])
    return httpx2.Response(int(error.get("code") or 400), content=dumps({"error": error}).encode())


def _too_long(size: str, tokens: int, limit: int) -> httpx2.Response:
    message = f"the prompt has {size} tokens, of which {limit:,} fit"
    error = {"message": message, "type": _TOO_LONG, "n_prompt_tokens": tokens, "n_ctx": limit}
    return httpx2.Response(400, content=dumps({"error": error}).encode())
