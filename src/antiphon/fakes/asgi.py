"""The ASGI application of a fake: routes, and sending of responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from antiphon._base.json import dump_json, load_json
from antiphon.facts import default_model
from antiphon.fakes.api_base import FakeApi, ServerState
from antiphon.fakes.apis import FAKE_APIS
from antiphon.fakes.batch_routes import make_batch_routes
from antiphon.fakes.batches import BatchPlan, BatchServer, FakeBatch
from antiphon.fakes.embeddings import answer_embeddings
from antiphon.fakes.gemini_continuation import resume_answer
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
from antiphon.fakes.vendors import ErrorReply
from antiphon.wire import APIS
from antiphon.wire.apis import PLAIN_API


class FakeApp:
    """The request handlers of one fake."""

    def __init__(self, script: Script, requests: list[Received], memory: ServerState, plan: BatchPlan) -> None:
        self._script = script
        self._requests = requests
        self._state = memory
        self._batches = BatchServer(plan, self._answer_item)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        routes: list[Route] = []
        for version in dict.fromkeys(version for spec in APIS.values() for version in spec.http.versions):
            routes.append(Route(f"/{version}/models", self._list_models, methods=["GET"]))
        routes += make_batch_routes(self._batches, lambda reply: _Response(reply))
        for fake in FAKE_APIS.values():
            http = fake.spec.http
            for root in (f"/{version}" for version in http.versions):
                routes.append(Route(root + http.path, self._make_post_endpoint(fake), methods=["POST"]))
                if http.stream_path:
                    endpoint = self._make_post_endpoint(fake, stream=True)
                    routes.append(Route(root + http.stream_path, endpoint, methods=["POST"]))
                if fake.spec.embeddings is not None:
                    routes.append(
                        Route(root + fake.spec.embeddings.path, self._make_embedding_endpoint(fake), methods=["POST"])
                    )
                for method, below in fake.stored:
                    endpoint = self._make_stored_endpoint(fake, method, below)
                    routes.append(Route(root + http.path + below, endpoint, methods=[method]))
        return Starlette(routes=[*routes, Route("/{path:path}", _NotFound())])

    def _make_post_endpoint(self, fake: FakeApi, *, stream: bool = False) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            return _Response(await self._exchange(fake.spec.name, stream, request))

        return endpoint

    def _make_embedding_endpoint(self, fake: FakeApi) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            received, fault = await _parse(fake.spec.name, False, request)
            answer = fault or answer_embeddings(fake.spec, received)
            if isinstance(answer, ErrorReply):
                self._requests.append(replace(received, rejected=answer.message))
                return _Response(make_error_reply(answer, fake.spec.name))
            self._requests.append(received)
            return _Response(make_json_reply(fake.spec.name, answer))

        return endpoint

    def _make_stored_endpoint(self, fake: FakeApi, method: str, below: str) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            response_id = request.path_params["id"]
            found = fake.stored[method, below](response_id, self._state)
            if found is not None:
                return _Response(make_json_reply(fake.spec.name, found))
            text = f"Response with id '{response_id}' not found."
            return _Response(make_error_reply(ErrorReply(text, 404, code="response_not_found"), fake.spec.name))

        return endpoint

    async def _list_models(self, request: Request) -> _Response:
        api = _guess_api(request)
        fake = FAKE_APIS[api]
        if not _has_key(request, fake.spec.http.key_header):
            return _Response(make_error_reply(fake.vendor.missing_key, api))
        if (failure := self._script.take_failure()) is not None:
            return _Response(make_error_reply(fake.vendor.make_scripted_error(failure, ""), api))
        name = (default_model(fake.spec.owner) or "").partition("/")[2]
        return _Response(make_json_reply(api, fake.vendor.list_models(name)))

    async def _exchange(self, api: str, stream: bool, request: Request) -> HttpReply:
        received, fault = await _parse(api, stream, request)
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

    async def _answer_item(self, batch: FakeBatch, body: Any) -> tuple[int, Any]:
        """Answer a request of a batch as if it had come alone."""
        content = dump_json(body).encode()
        received, fault = parse_request(
            batch.api, batch.path, batch.headers, content, model=batch.model, stream=False, key="batch"
        )
        if received.stream:
            fault = fault or ErrorReply("stream: a request of a batch cannot be streamed")
        received, fault = validate_request(replace(received, batch=batch.id), fault, self._state)
        self._requests.append(received)
        step = None if fault else await self._step(received)
        if fault is None and step is None:
            fault = make_exhausted_error(received, self._script.given)
        reply = make_error_reply(fault, batch.api) if fault else make_step_reply(step, received, self._state)  # type: ignore[arg-type]
        return reply.status, load_json(b"".join(reply.chunks), "the answer")

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


async def _parse(api: str, stream: bool, request: Request) -> tuple[Received, ErrorReply | None]:
    return parse_request(
        api,
        request.url.path,
        dict(request.headers),
        await request.body(),
        model=request.path_params.get("model", ""),
        stream=stream,
        key=request.query_params.get("key", ""),
    )


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
        text = FAKE_APIS[api].vendor.not_found.format(method=request.method, path=request.url.path)
        await _Response(make_error_reply(ErrorReply(text, 404), api))(scope, receive, send)


def _has_key(request: Request, header: str) -> bool:
    given = (request.headers.get(name, "") for name in (header, "authorization"))
    return "key" in request.query_params or any(each.removeprefix("Bearer").strip() for each in given)


def _guess_api(request: Request) -> str:
    """Return the first API whose headers or version of its own a request has."""
    version = request.url.path.split("/")[1]
    for name, spec in APIS.items():
        own = {spec.http.key_header, spec.http.version_header} - {"authorization", ""}
        if own & set(request.headers) or version in set(spec.http.versions) - set(APIS[PLAIN_API].http.versions):
            return name
    return PLAIN_API
