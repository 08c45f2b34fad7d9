"""The ASGI application of a fake: routes, and sending of responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from antiphon.facts import default_model
from antiphon.fakes.api_base import ServerState
from antiphon.fakes.continuation import resume_answer
from antiphon.fakes.errors import ErrorReply
from antiphon.fakes.openai_responses import cancel_response, poll_response
from antiphon.fakes.request_handler import (
    HttpReply,
    make_error_reply,
    make_exhausted_error,
    make_json_reply,
    make_step_reply,
    parse_request,
    validate_request,
)
from antiphon.fakes.script import Answer, Fail, Received, Script, resolve_step

_API_OWNERS = {"anthropic": "anthropic", "openai-chat": "openai", "gemini": "google"}


_FindResponse = Callable[[str, ServerState], dict[str, Any] | None]


class FakeApp:
    """The request handlers of one fake."""

    def __init__(self, script: Script, requests: list[Received], memory: ServerState) -> None:
        self._script = script
        self._requests = requests
        self._state = memory

    def app(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/v1/messages", self._make_post_endpoint("anthropic"), methods=["POST"]),
            Route("/v1/chat/completions", self._make_post_endpoint("openai-chat"), methods=["POST"]),
            Route("/v1/responses", self._make_post_endpoint("openai-responses"), methods=["POST"]),
            Route("/v1/responses/{id}", self._stored(poll_response), methods=["GET"]),
            Route("/v1/responses/{id}/cancel", self._stored(cancel_response), methods=["POST"]),
        ]
        for version in ("v1", "v1beta"):
            address = f"/{version}/models/{{model}}"
            routes.append(Route(f"/{version}/models", _list_models, methods=["GET"]))
            routes.append(Route(f"{address}:generateContent", self._make_post_endpoint("gemini"), methods=["POST"]))
            routes.append(
                Route(f"{address}:streamGenerateContent", self._make_post_endpoint("gemini", True), methods=["POST"])
            )
        return Starlette(routes=[*routes, Route("/{path:path}", _NotFound())])

    def _make_post_endpoint(self, api: str, stream: bool = False) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            return _Response(await self._exchange(api, stream, request))

        return endpoint

    def _stored(self, find: _FindResponse) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            response_id = request.path_params["id"]
            found = find(response_id, self._state)
            if found is not None:
                return _Response(make_json_reply("openai-responses", found))
            text = f"Response with id '{response_id}' not found."
            return _Response(make_error_reply(ErrorReply(text, 404, code="response_not_found"), "openai-responses"))

        return endpoint

    async def _exchange(self, api: str, stream: bool, request: Request) -> HttpReply:
        received, fault = parse_request(
            api,
            request.url.path,
            dict(request.headers),
            await request.body(),
            model=request.path_params.get("model", ""),
            stream=stream,
            key=request.query_params.get("key", ""),
        )
        received, fault = validate_request(received, fault, self._state)
        self._requests.append(received)
        if fault:
            return make_error_reply(fault, api)
        step = await self._step(received)
        if step is None:
            return make_error_reply(make_exhausted_error(received, self._script.given), api)
        as_array = stream and request.query_params.get("alt") != "sse"
        sending = make_step_reply(step, received, self._state, as_array=as_array)
        await asyncio.sleep(sending.delay)
        return sending

    async def _step(self, received: Received) -> Answer | Fail | None:
        if (rest := resume_answer(received, self._state)) is not None:
            return rest
        step = self._script.take(received.body)
        if not callable(step):
            return None if step is None else resolve_step(step, received)
        try:
            # A script function may block, so it runs in a thread.
            return await asyncio.to_thread(resolve_step, step, received)
        except Exception as error:
            # Report the error with a 400: clients retry a 500, and the next step would hide the error.
            return Fail(400, f"the script's function raised {type(error).__name__}: {error}")


class _Response:
    """Sends an `HttpReply`. A cut reply is left unfinished, so that the server breaks the connection."""

    def __init__(self, sending: HttpReply) -> None:
        self._reply = sending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        headers = {"content-type": self._reply.media_type} | self._reply.headers
        if self._reply.length is not None:
            headers["content-length"] = str(self._reply.length)
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self._reply.status, "headers": raw})
        for chunk in self._reply.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if not self._reply.is_cut:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _NotFound:
    """Any other address and method: a 404 in the format of the API that the request seems to mean."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        api = _guess_api(request)
        text = {
            "anthropic": "Not found",
            "openai-chat": f"Invalid URL ({request.method} {request.url.path})",
            "gemini": f"The requested URL {request.url.path} was not found on this server.",
        }[api]
        await _Response(make_error_reply(ErrorReply(text, 404), api))(scope, receive, send)


def _guess_api(request: Request) -> str:
    if request.url.path.startswith("/v1beta") or "x-goog-api-key" in request.headers:
        return "gemini"
    return "anthropic" if "anthropic-version" in request.headers or "x-api-key" in request.headers else "openai-chat"


async def _list_models(request: Request) -> Any:
    api = _guess_api(request)
    name = (default_model(_API_OWNERS[api]) or "").partition("/")[2]
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
    return _Response(make_json_reply(api, body))
