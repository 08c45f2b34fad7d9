"""A server of one test: it gives the answers that the test wrote, as they are, and keeps the requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from antiphon.fakes.server import LoopbackServer
from antiphon.providers import Model, connect, resolve

_PATHS = {"openai-chat": "/v1", "openai-responses": "/v1"}


@dataclass(frozen=True)
class Got:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Status:
    """An answer with another status than 200."""

    status: int
    body: Any
    headers: dict[str, str] | None = None


#: A whole body, the events of a stream with waits in seconds between them, a status, or a function of the request.
Answer = dict[str, Any] | Sequence[dict[str, Any] | float] | Status | Callable[[Got], Any]


async def _events(told: Sequence[dict[str, Any] | float]) -> AsyncIterator[str]:
    for each in told:
        if isinstance(each, float):
            await asyncio.sleep(each)
        else:
            yield f"data: {json.dumps(each)}\n\n"


class Scripted:
    """Answers in the order of its script; more requests than answers are a failure."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[Got] = []
        self._service: LoopbackServer | None = None

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests."""
        return [got.body for got in self.requests]

    def connect(self, model: str, **settings: Any) -> Model:
        """Connect to this server."""
        assert self._service is not None
        api = resolve(model)[0].api
        return connect(model, url=self._service.url + _PATHS.get(api, ""), key="k", **settings)

    async def _answer(self, request: Request) -> Response:
        content = await request.body()
        got = Got(request.method, request.url.path, dict(request.headers), json.loads(content) if content else None)
        self.requests.append(got)
        if not self.answers:
            return Response('{"error": {"message": "the script is over"}}', 418)
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer(got)
        if isinstance(answer, Status):
            return Response(json.dumps(answer.body), answer.status, answer.headers, "application/json")
        if isinstance(answer, list):
            return StreamingResponse(_events(answer), media_type="text/event-stream")
        return Response(json.dumps(answer), media_type="application/json")

    def __enter__(self) -> Self:
        self._service = LoopbackServer(Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])]))
        return self

    def __exit__(self, *_: object) -> None:
        assert self._service is not None
        self._service.stop()
