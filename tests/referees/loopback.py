"""A scripted HTTP server on loopback, in a thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.referees.prompts import Ledger
from tests.referees.refusal import Refusal
from tests.referees.script import Answer, Line


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what became of it."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server sends: a JSON body, or the events of a stream."""

    body: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()


class LoopbackServer:
    """Serve one vendor's API; a subclass answers requests and words its errors."""

    def __init__(self, script: Iterable[Line] = ()) -> None:
        self.script = list(script)
        self.exchanges: list[Exchange] = []
        self.ledger = Ledger()
        self._lock = threading.Lock()
        routes = [Route("/{path:path}", self._serve, methods=["POST", "GET"])]
        config = uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=0, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def reply(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Reply:
        """Check the request and return the reply; raise a Refusal to refuse it."""
        raise NotImplementedError

    def word_error(self, refusal: Refusal) -> Mapping[str, Any]:
        """Return the vendor's error body."""
        raise NotImplementedError

    def next_answer(self, body: Mapping[str, Any]) -> Answer:
        """Take the next answer of the script; raise the error that it stands for."""
        line = self.script.pop(0) if self.script else Answer("Done.")
        answer = line if isinstance(line, Answer) else line(body)
        if answer.status != 200:
            raise ScriptedError(answer)
        return answer

    def count_dropped(self) -> int:
        """Return how much reasoning was left out because its prefix had changed."""
        return 0

    @property
    def refused(self) -> list[Exchange]:
        """Return the exchanges that were answered with a 400 of the server's own rules."""
        return [each for each in self.exchanges if each.status == 400 and not each.message.startswith("scripted: ")]

    @property
    def root(self) -> str:
        """Return the address without a path."""
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._server.force_exit = True

    async def _serve(self, request: Request) -> Response:
        raw = await request.body()
        body: dict[str, Any] = json.loads(raw) if raw else {}
        path = request.url.path
        headers = dict(request.headers)
        with self._lock:
            try:
                reply = self.reply(path, headers, body)
            except ScriptedError as scripted:
                refusal = Refusal(scripted.answer.text, status=scripted.answer.status, kind=scripted.kind)
                self.exchanges.append(Exchange(path, headers, body, refusal.status, f"scripted: {refusal.message}"))
                return JSONResponse(self.word_error(refusal), refusal.status, dict(scripted.answer.headers))
            except Refusal as refusal:
                self.exchanges.append(Exchange(path, headers, body, refusal.status, refusal.message))
                return JSONResponse(self.word_error(refusal), refusal.status)
            self.exchanges.append(Exchange(path, headers, body, 200, ""))
        if reply.events:
            return StreamingResponse(_write_events(reply.events), media_type="text/event-stream")
        return JSONResponse(dict(reply.body))


class ScriptedError(Exception):
    """An HTTP error that the script asks for."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.text)
        self.answer = answer
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        self.kind = kinds.get(answer.status, "api_error" if answer.status >= 500 else "invalid_request_error")


def _write_events(events: Iterable[tuple[str, Mapping[str, Any] | str]]) -> Iterator[bytes]:
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        yield (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
