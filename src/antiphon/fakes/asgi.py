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
from antiphon._base.json_access import as_object
from antiphon.errors import MalformedJSONError
from antiphon.facts import default_model
from antiphon.fakes.api_base import FakeApi, ServerState
from antiphon.fakes.apis import FAKE_APIS
from antiphon.fakes.aws_signatures import SignedRequest
from antiphon.fakes.batch_routes import make_batch_routes
from antiphon.fakes.batches import BatchPlan, BatchServer, FakeBatch
from antiphon.fakes.embeddings import answer_embeddings
from antiphon.fakes.faults import FaultSequence
from antiphon.fakes.files import (
    UploadAnswer,
    describe_google_file,
    is_batch_form,
    make_google_missing_error,
    receive_announced,
    receive_form,
)
from antiphon.fakes.gemini_continuation import resume_answer
from antiphon.fakes.identity import FakeIdentity
from antiphon.fakes.identity_routes import make_token_routes
from antiphon.fakes.platforms import ENDPOINTS, PlatformEndpoint
from antiphon.fakes.request_handler import (
    HttpReply,
    describe_request,
    find_key_error,
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

#: The API whose files are announced before they are uploaded.
_RESUMABLE_API = next(name for name, spec in APIS.items() if spec.media.upload and spec.media.upload.is_resumable)


class FakeApp:
    """The request handlers of one fake."""

    def __init__(
        self,
        script: Script,
        requests: list[Received],
        memory: ServerState,
        faults: FaultSequence,
        identity: FakeIdentity,
        plan: BatchPlan,
    ) -> None:
        self._script = script
        self._identity = identity
        self._requests = requests
        self._state = memory
        self._faults = faults
        self._batches = BatchServer(plan, self._answer_item, memory.files)

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
        for platform in ENDPOINTS:
            routes.append(Route(platform.path, self._make_platform_endpoint(platform), methods=["POST"]))
        routes.extend(make_token_routes(self._identity))
        routes.append(Route("/v1/files", self._receive_form, methods=["POST"]))
        for version in APIS[_RESUMABLE_API].http.versions:
            routes.append(Route(f"/upload/{version}/files", self._receive_announced, methods=["POST"]))
            routes.append(Route(f"/{version}/files/{{id}}", self._describe_file, methods=["GET"]))
        return Starlette(routes=[*routes, Route("/{path:path}", _NotFound())])

    def _make_post_endpoint(self, fake: FakeApi, *, stream: bool = False) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            return _Response(await self._exchange(fake.spec.name, stream, request))

        return endpoint

    def _make_platform_endpoint(self, platform: PlatformEndpoint) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            content, headers = await request.body(), dict(request.headers)
            query = request.scope["query_string"].decode()
            url = f"http://{headers.get('host', '')}{request.scope['raw_path'].decode()}{f'?{query}' if query else ''}"
            model = request.path_params.get("model", "")
            received, fault = parse_request(
                platform.api, request.url.path, headers, content, model=model, stream=platform.stream
            )
            signed = SignedRequest(request.method, url, headers, content)
            if (denied := platform.check_access(signed, self._identity, self._state.keys)) is not None:
                self._requests.append(replace(received, rejected=denied.message))
                return _Response(make_error_reply(denied, platform.api, platform.vendor))
            if platform.embeds:
                return self._embed(received, fault)
            read, refusal = (received, fault) if fault else platform.read(received)
            as_array = request.query_params.get("alt") != "sse"
            sending = await self._answer(read, refusal, as_array, sent=received.body, platform=platform)
            return _Response(platform.finish(sending))

        return endpoint

    def _make_embedding_endpoint(self, fake: FakeApi) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            return self._embed(*await self._parse(fake.spec.name, False, request))

        return endpoint

    def _embed(self, received: Received, fault: ErrorReply | None) -> _Response:
        answer = fault or answer_embeddings(FAKE_APIS[received.api].spec, received)
        if isinstance(answer, ErrorReply):
            self._requests.append(replace(received, rejected=answer.message))
            return _Response(make_error_reply(answer, received.api))
        self._requests.append(received)
        return _Response(make_json_reply(received.api, answer))

    def _make_stored_endpoint(self, fake: FakeApi, method: str, below: str) -> Callable[[Request], Awaitable[Any]]:
        async def endpoint(request: Request) -> _Response:
            response_id = request.path_params["id"]
            found = fake.stored[method, below](response_id, self._state)
            if found is not None:
                return _Response(make_json_reply(fake.spec.name, found))
            text = f"Response with id '{response_id}' not found."
            return _Response(make_error_reply(ErrorReply(text, 404, code="response_not_found"), fake.spec.name))

        return endpoint

    async def _receive_form(self, request: Request) -> _Response:
        api = _guess_api(request)
        origin, media_type = FAKE_APIS[api].spec.owner, request.headers.get("content-type", "")
        raw = await request.body()
        return self._answer_upload(
            api,
            request,
            lambda: receive_form(origin, media_type, raw, self._state.files),
            is_batch=is_batch_form(media_type, raw),
        )

    async def _receive_announced(self, request: Request) -> _Response:
        raw, id = await request.body(), request.query_params.get("upload_id", "")
        try:
            body = as_object({} if id else load_json(raw or b"{}", "the body"))
        except MalformedJSONError:
            body = {}
        url = str(request.url).partition("?")[0]

        def receive() -> UploadAnswer | ErrorReply:
            return receive_announced(request.headers, body, raw, url, id, self._state.files)

        return self._answer_upload(_RESUMABLE_API, request, receive)

    def _answer_upload(
        self,
        api: str,
        request: Request,
        receive: Callable[[], UploadAnswer | ErrorReply],
        *,
        is_batch: bool = False,
    ) -> _Response:
        """Answer an upload. The script and the recorded requests are about the requests in a batch, not its file."""
        fake, kept = FAKE_APIS[api], ("content", "x-goog-upload")
        headers = {name: value for name, value in request.headers.items() if name.startswith(kept)}
        # The address of an announced upload needs no key.
        is_open, key = "upload_id" in request.query_params, request.query_params.get("key", "")
        answer: UploadAnswer | ErrorReply
        if not is_open and (fault := find_key_error(fake, request.headers, key, self._state)) is not None:
            answer = fault
        elif not is_batch and (failure := self._script.take_failure()) is not None:
            answer = fake.vendor.make_scripted_error(failure, "")
        else:
            answer = receive()
        if isinstance(answer, ErrorReply):
            self._requests.append(Received(api, request.url.path, headers, None, "", False, answer.message))
            return _Response(make_error_reply(answer, api))
        if not is_batch:
            self._requests.append(Received(api, request.url.path, headers, answer.received, "", False))
        return _Response(make_json_reply(api, answer.body, answer.headers))

    async def _describe_file(self, request: Request) -> _Response:
        id = request.path_params["id"]
        file = self._state.files.get(f"files/{id}")
        if file is None:
            return _Response(make_error_reply(make_google_missing_error(id), _RESUMABLE_API))
        # Whoever asks again finds it processed.
        file.is_ready = True
        return _Response(make_json_reply(_RESUMABLE_API, describe_google_file(id, file)))

    async def _list_models(self, request: Request) -> _Response:
        api = _guess_api(request)
        fake = FAKE_APIS[api]
        key = request.query_params.get("key", "")
        if (fault := find_key_error(fake, request.headers, key, self._state)) is not None:
            return _Response(make_error_reply(fault, api))
        if (failure := self._script.take_failure()) is not None:
            return _Response(make_error_reply(fake.vendor.make_scripted_error(failure, ""), api))
        name = (default_model(fake.spec.owner) or "").partition("/")[2]
        return _Response(make_json_reply(api, fake.vendor.list_models(name)))

    async def _exchange(self, api: str, stream: bool, request: Request) -> HttpReply:
        received, fault = await self._parse(api, stream, request)
        as_array = stream and request.query_params.get("alt") != "sse"
        return await self._answer(received, fault, as_array, sent=received.body)

    async def _answer(
        self,
        received: Received,
        fault: ErrorReply | None,
        as_array: bool,
        *,
        sent: Any,
        platform: PlatformEndpoint | None = None,
    ) -> HttpReply:
        """Return the answer to a request, which is recorded with the body as it was sent."""
        vendor, rule_vendor = (platform.vendor, platform.rule_vendor) if platform is not None else (None, None)
        received, fault = validate_request(received, fault, self._state)
        self._requests.append(replace(received, body=sent))
        if fault:
            return make_error_reply(fault, received.api, rule_vendor)
        chance = self._faults.next()
        step = chance.failure or await self._step(received, keeps=chance.cut_after is not None)
        if step is None:
            self._script.unanswered.append(describe_request(received))
            return make_error_reply(make_exhausted_error(received, self._script.given), received.api, rule_vendor)
        step = chance.change(step)
        sending = make_step_reply(step, received, self._state, as_array=as_array, vendor=vendor)
        await asyncio.sleep(sending.delay)
        return sending

    async def _parse(self, api: str, stream: bool, request: Request) -> tuple[Received, ErrorReply | None]:
        headers, model = dict(request.headers), request.path_params.get("model", "")
        received, fault = parse_request(
            api, request.url.path, headers, await request.body(), model=model, stream=stream
        )
        key = request.query_params.get("key", "")
        return received, find_key_error(FAKE_APIS[api], headers, key, self._state) or fault

    async def _answer_item(self, batch: FakeBatch, body: Any) -> tuple[int, Any]:
        """Answer a request of a batch as if it had come alone."""
        content = dump_json(body).encode()
        received, fault = parse_request(batch.api, batch.path, batch.headers, content, model=batch.model, stream=False)
        if received.stream:
            fault = fault or ErrorReply("stream: a request of a batch cannot be streamed")
        received, fault = validate_request(replace(received, batch=batch.id), fault, self._state)
        self._requests.append(received)
        step = None if fault else await self._step(received, keeps=False)
        if fault is None and step is None:
            self._script.unanswered.append(describe_request(received))
            fault = make_exhausted_error(received, self._script.given)
        reply = make_error_reply(fault, batch.api) if fault else make_step_reply(step, received, self._state)  # type: ignore[arg-type]
        return reply.status, load_json(b"".join(reply.chunks), "the answer")

    async def _step(self, received: Received, *, keeps: bool) -> Answer | Fail | None:
        if (rest := resume_answer(received, self._state)) is not None:
            return rest
        step = self._script.take(received.body, keeps=keeps)
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
        for number, chunk in enumerate(self._reply.chunks):
            if number == self._reply.hold_after and self._reply.hold is not None:
                await asyncio.to_thread(self._reply.hold)
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


def _guess_api(request: Request) -> str:
    """Return the first API whose headers or version of its own a request has."""
    version = request.url.path.split("/")[1]
    for name, spec in APIS.items():
        own = {spec.http.key_header, spec.http.version_header} - {"authorization", ""}
        if own & set(request.headers) or version in set(spec.http.versions) - set(APIS[PLAIN_API].http.versions):
            return name
    return PLAIN_API
