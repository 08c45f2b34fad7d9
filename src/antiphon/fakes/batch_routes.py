"""The routes of the fake batch APIs, and of their result files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from antiphon._base.json import load_json
from antiphon.errors import MalformedJSONError
from antiphon.fakes.apis import FAKE_APIS
from antiphon.fakes.batches import BatchServer, FakeBatch, describe_batch, list_batches, list_result_lines
from antiphon.fakes.request_handler import HttpReply, make_error_reply, make_json_reply
from antiphon.fakes.vendors import ErrorReply

#: Turns a reply into what a route returns.
Responder = Callable[[HttpReply], Any]
_Handler = Callable[[Request], Awaitable[dict[str, Any] | bytes | ErrorReply]]
#: The API whose errors and headers the batches of a vendor have.
_APIS = {"anthropic": "anthropic", "openai": "openai-responses", "google": "gemini"}


def make_batch_routes(server: BatchServer, respond: Responder) -> list[Route]:
    """Return the routes of all vendors."""
    routes: list[Route] = []

    def add(owner: str, method: str, path: str, handler: _Handler) -> None:
        routes.append(Route(path, _make_endpoint(_APIS[owner], handler, respond), methods=[method]))

    async def load_file(request: Request) -> bytes | ErrorReply:
        content = server.get_file(request.path_params["id"])
        return ErrorReply(f"No such File object: {request.path_params['id']}", 404) if content is None else content

    for owner, base, cancel in (
        ("anthropic", "/v1/messages/batches", "/cancel"),
        ("openai", "/v1/batches", "/cancel"),
        ("google", "/v1beta/batches", ":cancel"),
    ):
        handlers = _Handlers(server, owner)
        create = base if owner != "google" else "/v1beta/models/{model}:batchGenerateContent"
        add(owner, "POST", create, handlers.create)
        add(owner, "POST", f"{base}/{{id}}{cancel}", handlers.cancel)
        add(owner, "GET", base, handlers.list)
        add(owner, "GET", f"{base}/{{id}}", handlers.retrieve)
        if owner == "anthropic":
            add(owner, "GET", f"{base}/{{id}}/results", handlers.results)
    add("openai", "GET", "/v1/files/{id}/content", load_file)
    return routes


class _Handlers:
    """The handlers of one vendor's batch API."""

    def __init__(self, server: BatchServer, owner: str) -> None:
        self._server, self._owner = server, owner

    async def create(self, request: Request) -> dict[str, Any] | ErrorReply:
        try:
            body = load_json(await request.body(), "the body")
        except MalformedJSONError as error:
            return ErrorReply(FAKE_APIS[_APIS[self._owner]].vendor.invalid_json.format(fault=error))
        model = request.path_params.get("model", "")
        made = self._server.create(self._owner, body, model=model, headers=dict(request.headers))
        return made if isinstance(made, ErrorReply) else describe_batch(self._server, made)

    async def retrieve(self, request: Request) -> dict[str, Any] | ErrorReply:
        batch = self._find(request)
        if isinstance(batch, ErrorReply):
            return batch
        await self._server.poll(batch)
        return describe_batch(self._server, batch)

    async def cancel(self, request: Request) -> dict[str, Any] | ErrorReply:
        batch = self._find(request)
        if isinstance(batch, ErrorReply):
            return batch
        await self._server.cancel(batch)
        return {} if self._owner == "google" else describe_batch(self._server, batch)

    async def list(self, request: Request) -> dict[str, Any]:
        for batch in self._server.list_all(self._owner):
            await self._server.poll(batch)
        return list_batches(self._server, self._owner, request.query_params)

    async def results(self, request: Request) -> bytes | ErrorReply:
        batch = self._find(request)
        if isinstance(batch, ErrorReply):
            return batch
        return list_result_lines(batch) if batch.is_over else ErrorReply("The batch has not ended.", 400)

    def _find(self, request: Request) -> FakeBatch | ErrorReply:
        id = request.path_params["id"]
        return self._server.find(id, self._owner) or ErrorReply(f"No batch found with id '{id}'.", 404)


def _make_endpoint(api: str, handler: _Handler, respond: Responder) -> Callable[[Request], Awaitable[Any]]:
    async def endpoint(request: Request) -> Any:
        vendor = FAKE_APIS[api].vendor
        given = (request.headers.get(name, "") for name in (FAKE_APIS[api].spec.http.key_header, "authorization"))
        has_key = "key" in request.query_params or any(each.removeprefix("Bearer").strip() for each in given)
        answer = await handler(request) if has_key else vendor.missing_key
        if isinstance(answer, ErrorReply):
            return respond(make_error_reply(answer, api))
        if isinstance(answer, bytes):
            headers = vendor.build_headers(vendor.make_request_id())
            return respond(HttpReply([answer], "application/x-jsonl", headers, length=len(answer)))
        return respond(make_json_reply(api, answer))

    return endpoint
