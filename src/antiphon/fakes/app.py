"""The ASGI application: addresses, and sending what an exchange says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from antiphon.facts import default_model
from antiphon.fakes.continuation import resume_answer
from antiphon.fakes.errors import Refusal
from antiphon.fakes.exchange import Sending, answered, judge, listing, receive, refuse_exhausted, refused
from antiphon.fakes.openai_responses import cancel_response, poll_response
from antiphon.fakes.script import Answer, Fail, Received, Script, resolve
from antiphon.fakes.speaker import Memory

_OWNERS = {"anthropic": "anthropic", "openai-chat": "openai", "gemini": "google"}


_Find = Callable[[str, Memory], dict[str, Any] | None]


class Desk:
    """Takes the requests of one fake."""

    def __init__(self, script: Script, requests: list[Received], memory: Memory) -> None:
        self._script = script
        self._requests = requests
        self._memory = memory

    def app(self) -> Starlette:
        """The application."""
        routes = [
            Route("/v1/messages", self._post("anthropic"), methods=["POST"]),
            Route("/v1/chat/completions", self._post("openai-chat"), methods=["POST"]),
            Route("/v1/responses", self._post("openai-responses"), methods=["POST"]),
            Route("/v1/responses/{id}", self._stored(poll_response), methods=["GET"]),
            Route("/v1/responses/{id}/cancel", self._stored(cancel_response), methods=["POST"]),
        ]
        for version in ("v1", "v1beta"):
            address = f"/{version}/models/{{model}}"
            routes.append(Route(f"/{version}/models", _models, methods=["GET"]))
            routes.append(Route(f"{address}:generateContent", self._post("gemini"), methods=["POST"]))
            routes.append(Route(f"{address}:streamGenerateContent", self._post("gemini", True), methods=["POST"]))
        return Starlette(routes=[*routes, Route("/{path:path}", _Anything())])

    def _post(self, api: str, stream: bool = False) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            return _Response(await self._exchange(api, stream, request))

        return endpoint

    def _stored(self, find: _Find) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            response_id = request.path_params["id"]
            found = find(response_id, self._memory)
            if found is not None:
                return _Response(listing("openai-responses", found))
            text = f"Response with id '{response_id}' not found."
            return _Response(refused(Refusal(text, 404, code="response_not_found"), "openai-responses"))

        return endpoint

    async def _exchange(self, api: str, stream: bool, request: Request) -> Sending:
        received, fault = receive(
            api,
            request.url.path,
            dict(request.headers),
            await request.body(),
            model=request.path_params.get("model", ""),
            stream=stream,
            key=request.query_params.get("key", ""),
        )
        received, fault = judge(received, fault, self._memory)
        self._requests.append(received)
        if fault:
            return refused(fault, api)
        step = await self._step(received)
        if step is None:
            return refused(refuse_exhausted(received, self._script.given), api)
        as_array = stream and request.query_params.get("alt") != "sse"
        sending = answered(step, received, self._memory, as_array=as_array)
        await asyncio.sleep(sending.delay)
        return sending

    async def _step(self, received: Received) -> Answer | Fail | None:
        if (rest := resume_answer(received, self._memory)) is not None:
            return rest
        step = self._script.take(received.body)
        if not callable(step):
            return None if step is None else resolve(step, received)
        try:
            # A function may take its time; the other requests do not wait for it.
            return await asyncio.to_thread(resolve, step, received)
        except Exception as error:
            # The server has no other way to tell the test. Clients retry a 500, and the next step would hide the fault.
            return Fail(400, f"the script's function raised {type(error).__name__}: {error}")


class _Response:
    """Sends a `Sending`. One that is cut is left unfinished, upon which the server breaks the connection."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        headers = {"content-type": self._sending.media_type} | self._sending.headers
        if self._sending.length is not None:
            headers["content-length"] = str(self._sending.length)
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self._sending.status, "headers": raw})
        for chunk in self._sending.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if not self._sending.is_cut:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Anything:
    """Every other address and method: not found, in the words of the API that seems to be meant."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        api = _meant(request)
        text = {
            "anthropic": "Not found",
            "openai-chat": f"Invalid URL ({request.method} {request.url.path})",
            "gemini": f"The requested URL {request.url.path} was not found on this server.",
        }[api]
        await _Response(refused(Refusal(text, 404), api))(scope, receive, send)


def _meant(request: Request) -> str:
    if request.url.path.startswith("/v1beta") or "x-goog-api-key" in request.headers:
        return "gemini"
    return "anthropic" if "anthropic-version" in request.headers or "x-api-key" in request.headers else "openai-chat"


async def _models(request: Request) -> Any:
    api = _meant(request)
    name = (default_model(_OWNERS[api]) or "").partition("/")[2]
    match api:
        case "anthropic":
            model = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
            body = {"data": [model], "has_more": False, "first_id": name, "last_id": name}
        case "gemini":
            methods = ["generateContent"]
            body = {"models": [{"name": f"models/{name}", "supportedGenerationMethods": methods}]}
        case _:
            model = {"id": name, "object": "model", "created": 1767225600, "owned_by": "system"}
            body = {"object": "list", "data": [model]}
    return _Response(listing(api, body))
